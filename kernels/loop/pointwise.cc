#include "kernels/loop/pointwise.h"

#include "kernels/loop/formula_writer.h"

namespace reprise::kernels {

using graph::ArgType;
using graph::OpId;
using graph::RuleArg;

DType computation_dtype(OpId id, std::span<const RuleArg> args, DType result) {
  const Formula& f = pointwise_formulas().at(id);
  if (f.as_result) return result;
  const graph::Schema& schema = graph::op(id).schema;
  std::vector<RuleArg> operands;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (f.apart >> i & 1) continue;
    ArgType t = schema.args[i].type;
    bool operand = t == ArgType::Tensor || t == ArgType::TensorOrScalar || t == ArgType::OptionalTensorOrScalar;
    if (operand && !std::holds_alternative<std::monostate>(args[i])) operands.push_back(args[i]);
  }
  return promote(graph::result_dtype(operands), result);
}

std::uint32_t emit_pointwise(BodyBuilder& b, OpId id, const std::vector<PointwiseArg>& args, DType result) {
  std::vector<RuleArg> values;
  for (const PointwiseArg& a : args) values.push_back(a.value);
  FormulaWriter e(b, graph::op(id), args, computation_dtype(id, values, result));
  const std::uint32_t made = pointwise_formulas().at(id).write(e);
  DType held = is_low_precision(result) ? DType::Float32 : result;
  return b.dtype(made) == held ? made : b.cast(made, result);
}

}  // namespace reprise::kernels
