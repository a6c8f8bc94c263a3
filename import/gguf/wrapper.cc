// Weights of GGUF files as wrapper tensors.
#include "reprise/gguf_wrapper.h"

#include <utility>

#include "base/errors.h"
#include "reprise/ops.h"

namespace reprise {

namespace {

Tensor linear_of(WrapperCall& c) {
  const Quantized4* const w = c.as<Quantized4>(1);
  const Tensor& x = c.tensor(0);
  if (!w || w->transposed || is_wrapper(x) || is_wrapper(c.tensor(2))) return {};
  return gguf::linear(x, w->blocks, c.tensor(2), w->activations, c.loc());
}

/// Of x and a transpose: the product that linear() is.
Tensor matmul_of(WrapperCall& c) {
  const Quantized4* const w = c.as<Quantized4>(1);
  const Tensor& x = c.tensor(0);
  if (!w || !w->transposed || is_wrapper(x) || x.dim() < 1) return {};
  return gguf::linear(x, w->blocks, {}, w->activations, c.loc());
}

Tensor embedding_of(WrapperCall& c) {
  const Quantized4* const w = c.as<Quantized4>(0);
  if (!w || w->transposed || is_wrapper(c.tensor(1))) return {};
  return w->blocks.rows(c.tensor(1), w->looks_like, c.loc());
}

Tensor permute_of(WrapperCall& c) {
  const Quantized4* const w = c.as<Quantized4>(0);
  const Ints dims = c.ints(1);
  if (!w || dims.size() != 2 || (dims[0].value() + 2) % 2 != 1) return {};
  Quantized4 t = *w;
  t.transposed = !t.transposed;
  return t.tensor(c.loc());
}

}  // namespace

Tensor Quantized4::of_blocks(const gguf::Blocks& blocks, DType looks_like, Activations activations, SourceLoc loc) {
  if (!blocks.defined()) fail(ErrorCode::InvalidArgument, "Quantized4", loc, "the blocks are undefined");
  if (!is_floating(looks_like) || is_storage_only(looks_like))
    fail(ErrorCode::DTypeMismatch, "Quantized4", loc, looks_like, " is no float that is computed with");
  Quantized4 q;
  q.blocks = blocks, q.looks_like = looks_like, q.activations = activations;
  return q.tensor(loc);
}

Looks Quantized4::looks() const {
  Ints sizes = blocks.sizes();
  if (transposed) std::swap(sizes[0], sizes[1]);
  return {sizes, looks_like};
}

Tensor Quantized4::plain(SourceLoc loc) const {
  const Tensor all = blocks.dequantize(looks_like, loc);
  return transposed ? all.t(loc) : all;
}

void Quantized4::dispatch(WrapperCall& c) {
  c.on("linear", linear_of);
  c.on({"matmul", "mm"}, matmul_of);
  c.on("embedding", embedding_of);
  c.on("permute", permute_of);
  c.otherwise(unwrap);
}

}  // namespace reprise
