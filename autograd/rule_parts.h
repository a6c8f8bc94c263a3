#pragma once
#include <vector>

#include "autograd/derivative.h"
#include "reprise/ops.h"

/// What several rules are made of.
namespace reprise::autograd::rules {

/// `g` where `condition` holds, or does not, 0 elsewhere, whatever g is there: 0 * inf does not arise.
inline Tensor only(const Tensor& condition, const Operand& g, SourceLoc loc) { return where(condition, g, 0, loc); }
inline Tensor unless(const Tensor& condition, const Operand& g, SourceLoc loc) { return where(condition, 0, g, loc); }

/// float16 and bfloat16 as float32: what sums many terms rounds once, when it is given.
inline Tensor wide(const Tensor& t, SourceLoc loc) {
  return t.dtype() == kFloat16 || t.dtype() == kBFloat16 ? to(t, kFloat32, loc) : t;
}

/// A dimension, counted from the front. Dimensions are constants of a trace.
inline int wrapped(Int dim, int rank) { return static_cast<int>(dim.hint() < 0 ? dim.hint() + rank : dim.hint()); }

/// The dimensions that a reduction goes over, rising: argument `dims` of it; all where that is None or empty.
std::vector<int> reduced_dims(const Backward& b, int dims);
/// What a reduction over `reduced` gave, as it stands beside argument 0: with its dimensions of size 1 again.
Tensor kept(const Backward& b, const Tensor& t, const std::vector<int>& reduced, bool keepdim);
/// The product of sizes, symbolic where they are.
Int numel_of(const Ints& sizes);
Int numel_of(const Ints& sizes, const std::vector<int>& dims);
inline OptionalDims dims_of(const std::vector<int>& dims) { return dims; }

/// Zeros of argument `arg`'s sizes and of the dtype of `like`, where a gradient is written into.
inline Tensor zeros_for(const Backward& b, int arg, const Tensor& like) {
  return zeros(b.sizes(arg), like.options(), b.loc());
}

inline Tensor mean_of(const Tensor& t, const OptionalDims& dims, SourceLoc loc) {
  return mean(t, dims, true, std::nullopt, loc);
}

/// The gradient of a row x that became `row` = (x - centre) * scale, where the row's is g: what the centre and the
/// scale take away from it again.
inline Tensor through_row(const Tensor& g, const Tensor& row, const Tensor& scale, bool centred,
                          const OptionalDims& dims, SourceLoc loc) {
  Tensor r = g - row * mean_of(g * row, dims, loc);
  if (centred) r = r - mean_of(g, dims, loc);
  return r * scale;
}

}  // namespace reprise::autograd::rules
