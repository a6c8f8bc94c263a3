// Derivatives of normalisations. Sums over a row are float32 where the row is of halves, as the operators' own are.
#include <limits>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

void softmax(Backward& b) {
  const Tensor r = wide(b.result(), b.loc()), g = wide(b.grad(), b.loc()) * r;
  b.give(0, g - r * sum(g, b.integer(1), true, std::nullopt, b.loc()));
}
void log_softmax(Backward& b) {
  const Tensor g = wide(b.grad(), b.loc());
  b.give(0, g - exp(wide(b.result(), b.loc()), b.loc()) * sum(g, b.integer(1), true, std::nullopt, b.loc()));
}

namespace {

/// The last dimensions, those of normalized_shape.
OptionalDims normalized(const Backward& b) {
  Ints dims;
  for (int d = b.dim(0) - static_cast<int>(b.ints(1).size()); d < b.dim(0); ++d) dims.push_back(d);
  return IntArrayRef(dims);
}
double epsilon_of(DType t) {
  switch (t) {
    case DType::Float64: return std::numeric_limits<double>::epsilon();
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

}  // namespace

void layer_norm(Backward& b) {
  const Tensor g = wide(b.grad(), b.loc());
  if (b.wants(3)) b.give(3, g);
  if (!b.wants(0) && !b.wants(2)) return;
  const OptionalDims dims = normalized(b);
  const Tensor x = wide(b.tensor(0), b.loc()), centred = x - mean_of(x, dims, b.loc());
  const Tensor scale = rsqrt(mean_of(centred * centred, dims, b.loc()) + b.number(4), b.loc()), row = centred * scale;
  if (b.wants(2)) b.give(2, g * row);
  if (b.wants(0)) b.give(0, through_row(b.has(2) ? g * b.tensor(2) : g, row, scale, true, dims, b.loc()));
}

void rms_norm(Backward& b) {
  const OptionalDims dims = normalized(b);
  const Tensor g = wide(b.grad(), b.loc()), x = wide(b.tensor(0), b.loc());
  const Scalar eps = b.has(3) ? b.number(3) : Scalar(epsilon_of(b.dtype(0)));
  const Tensor scale = rsqrt(mean_of(x * x, dims, b.loc()) + eps, b.loc()), row = x * scale;
  if (b.wants(2)) b.give(2, g * row);
  if (b.wants(0)) b.give(0, through_row(b.has(2) ? g * b.tensor(2) : g, row, scale, false, dims, b.loc()));
}

}  // namespace reprise::autograd::rules
