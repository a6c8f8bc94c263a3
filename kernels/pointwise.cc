#include "kernels/pointwise.h"

#include "kernels/lower_join.h"
#include "kernels/formula_writer.h"

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

std::string list_computed_by(OpId id) {
  switch (graph::op(id).cls) {
    case graph::OpClass::Pointwise:
    case graph::OpClass::Reduction:
      return "fused loop kernel";
    case graph::OpClass::Gather:
      return "fused loop kernel, after a check of the index values";
    case graph::OpClass::Join:
      return has_parts(id) ? "fused loop kernels, one for each part" : "reference kernel";
    case graph::OpClass::Creation:
      return "fused loop kernel over the output index";
    case graph::OpClass::View:
      return "view: no kernel";
    case graph::OpClass::Composite:
      return "composite: rewritten into other operators";
    case graph::OpClass::Matmul:
      return "matrix product";
    case graph::OpClass::Attention:
      return "attention kernel";
    case graph::OpClass::Random:
    case graph::OpClass::Reference:
      return "reference kernel";
  }
  return "";
}

}  // namespace reprise::kernels
