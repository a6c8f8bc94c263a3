// Products with weights that stay in blocks: a node of graphs, for what reads files of quantized weights (import/gguf,
// import/grouped).
#include "operators/block_linear.h"
#include "operators/derivatives.h"

#include <string>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/cpu/block_linear.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/reference/reference.h"
#include "operators/families.h"

namespace reprise {

using graph::sizes_text;
using graph::api::arg;

namespace {

void block_linear_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta &x = c.tensor(0), &w = c.tensor(1);
  const auto format = kernels::block_format(c.str(2));
  if (!format) {
    std::string known;
    for (const kernels::BlockFacts& f : kernels::kBlockFacts)
      known += (known.empty() ? "" : ", ") + std::string(f.name);
    fail(ErrorCode::InvalidArgument, name, c.loc, "'", c.str(2), "' is no format of blocks: there are ", known);
  }
  if (const std::string_view activations = c.str(3);
      activations != kernels::host::kFloatActivations && activations != kernels::host::kInt8Activations)
    fail(ErrorCode::InvalidArgument, name, c.loc, "activations are '", activations, "', expected '",
         kernels::host::kFloatActivations, "' or '", kernels::host::kInt8Activations, "'");
  if (x.dtype != DType::Float32 || w.dtype != DType::UInt8)
    fail(ErrorCode::DTypeMismatch, name, c.loc, "wants an input of float32 and a weight of uint8, got ",
         dtype_name(x.dtype), " and ", dtype_name(w.dtype));
  if (x.dim() != 2 || w.dim() != 2)
    fail(ErrorCode::ShapeMismatch, name, c.loc, "wants matrices, got sizes ", sizes_text(x.layout.sizes), " and ",
         sizes_text(w.layout.sizes));
  const kernels::BlockFacts& f = kernels::facts_of(*format);
  const std::int64_t bytes = w.size(1).value(c.loc);
  if (bytes % f.bytes != 0)
    fail(ErrorCode::ShapeMismatch, name, c.loc, "rows of ", bytes, " bytes are no whole blocks of ", f.bytes, " (",
         f.name, ")");
  if (!graph::same(x.size(1), bytes / f.bytes * f.elements, c.loc, "block_linear: equal columns"))
    fail(ErrorCode::ShapeMismatch, name, c.loc, "an input of sizes ", sizes_text(x.layout.sizes), " and a weight of ",
         bytes / f.bytes * f.elements, " columns (", bytes, " bytes of ", f.name, ")");
  c.result(DType::Float32, {x.size(0), w.size(0)});
}

graph::OpId block_linear_op() {
  static const graph::OpId id = graph::register_op(
      {.schema = "block_linear(Tensor input, Tensor weight, str format, str activations='float32') -> Tensor",
       .cls = graph::OpClass::Reference,
       .shape = block_linear_shape},
      {kernels::reference_kernels().fact({kernels::host::block_linear_reference}),
       kernels::host_launches().fact(kernels::host::block_linear),
       operators::derivative(operators::derivatives::block_linear, autograd::in(1), autograd::of(0))});
  return id;
}

}  // namespace

namespace operators {

Tensor block_linear(const Tensor& x, const Tensor& rows, kernels::BlockFormat format, Activations activations,
                    SourceLoc loc) {
  return graph::call1(
      block_linear_op(),
      {arg(x), arg(rows), kernels::name_of(format),
       activations == Activations::Int8 ? kernels::host::kInt8Activations : kernels::host::kFloatActivations},
      loc);
}

void register_block_linear() { static_cast<void>(block_linear_op()); }

}  // namespace operators

}  // namespace reprise
