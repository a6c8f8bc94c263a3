// Products with weights that stay as they are stored.
#include "import/gguf/linear.h"
#include "base/errors.h"
#include "device/backend.h"
#include "graph/shape_rules.h"
#include "import/gguf/types.h"
#include "import/gguf/unpack.h"
#include "operators/block_linear.h"
#include "reprise/ops.h"

namespace reprise::gguf {

namespace {

kernels::BlockFormat format_of(Type t) {
  const TypeFacts* f = facts_of(t);
  if (!f || !f->format)
    fail(ErrorCode::DTypeMismatch, "gguf::Blocks", {}, type_name(t), " is no type of blocks that is unpacked");
  return *f->format;
}

}  // namespace

Ints Blocks::sizes() const {
  Ints all = data.sizes();
  if (const TypeFacts* f = facts_of(type); f && f->format) all.back() = all.back().value() / f->bytes * f->elements;
  return all;
}
std::int64_t Blocks::bytes() const { return data.nbytes().value(); }

Tensor Blocks::dequantize(DType dtype, SourceLoc loc) const {
  if (!defined()) fail(ErrorCode::InvalidArgument, "gguf::Blocks::dequantize", loc, "undefined");
  return is_quantized(type) ? unpack(format_of(type), data, halves, loc).to(dtype, loc) : data.to(dtype, loc);
}

Tensor Blocks::rows(const Tensor& index, DType dtype, SourceLoc loc) const {
  if (!defined() || data.dim() != 2)
    fail(ErrorCode::ShapeMismatch, "gguf::Blocks::rows", loc, defined() ? "wants a matrix" : "undefined");
  const Tensor flat = index.reshape({-1}, loc);
  const Tensor found = is_quantized(type) ? unpack(format_of(type), index_select(data, 0, flat, loc),
                                                   index_select(halves, 0, flat, loc), loc)
                                          : index_select(data, 0, flat, loc);
  Ints sizes = index.sizes();
  sizes.push_back(found.size(1));
  return found.to(dtype, loc).view(sizes, loc);
}

Blocks Blocks::to(Device device, SourceLoc loc) const {
  const Tensor there = data.to(device, loc);
  if (!halves.defined()) return {type, there, {}};
  return {type, there, bytes() > 0 ? there.view(kFloat16, loc) : halves.to(device, loc)};
}

Tensor linear(const char* op, const Tensor& x, const Rows& weight, const Ints& of_weight, const Tensor& bias,
              Activations activations, SourceLoc loc) {
  if (!x.defined()) fail(ErrorCode::InvalidArgument, op, loc, "x is undefined");
  if (!is_floating(x.dtype()) || is_storage_only(x.dtype()))
    fail(ErrorCode::DTypeMismatch, op, loc, "x is ", x.dtype(), ", not a float");
  Ints sizes = x.sizes();
  if (of_weight.size() != 2 || sizes.empty() || !graph::same(sizes.back(), of_weight[1], loc, "linear: equal columns"))
    fail(ErrorCode::ShapeMismatch, op, loc, "x of sizes ", graph::sizes_text(sizes), " and a weight of sizes ",
         graph::sizes_text(of_weight));
  if (bias.defined() && (bias.dim() != 1 || !graph::same(bias.size(0), of_weight[0], loc, "linear: the bias' size")))
    fail(ErrorCode::ShapeMismatch, op, loc, "a bias of sizes ", graph::sizes_text(bias.sizes()),
         " and a weight of sizes ", graph::sizes_text(of_weight));
  const Tensor rows = x.reshape({-1, of_weight[1]}, loc).to(kFloat32, loc);
  // As operators the unpacked matrix stands in memory, four to eight times what is stored, and is written and read
  // again in each call.
  Tensor y = device::runs_host_code(x.device())
                 ? operators::block_linear(rows, weight.data, weight.format, activations, loc)
                 : reprise::linear(rows, unpack(weight.format, weight.data, weight.halves, loc), {}, loc);
  sizes.back() = of_weight[0];
  y = y.view(sizes, loc);
  if (bias.defined()) y = add(y, bias.to(kFloat32, loc), 1, loc);
  return y.to(x.dtype(), loc);
}

Tensor linear(const Tensor& x, const Blocks& weight, const Tensor& bias, Activations activations, SourceLoc loc) {
  constexpr const char* op = "gguf::linear";
  if (!weight.defined()) fail(ErrorCode::InvalidArgument, op, loc, "the weight is undefined");
  if (is_quantized(weight.type))
    return linear(op, x, {format_of(weight.type), weight.data, weight.halves}, weight.sizes(), bias, activations, loc);
  if (!x.defined()) fail(ErrorCode::InvalidArgument, op, loc, "x is undefined");
  if (!is_floating(x.dtype()) || is_storage_only(x.dtype()))
    fail(ErrorCode::DTypeMismatch, op, loc, "x is ", x.dtype(), ", not a float");
  return reprise::linear(x, weight.data.to(x.dtype(), loc), bias, loc);
}

}  // namespace reprise::gguf
