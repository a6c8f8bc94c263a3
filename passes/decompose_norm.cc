// Reductions and normalisations in primitives. Half types are summed in float32 and rounded once, at the end.
#include <cmath>
#include <limits>

#include "passes/decompose_builder.h"

namespace reprise::passes {

using graph::OpId;
using V = Build::V;

namespace {

// The floating dtype in which a composite over `v` is computed.
DType compute_dtype(Build& b, V v, DType result) {
  DType t = b.meta(v).dtype;
  return Build::accumulator(is_floating(t) && !is_floating(result) ? t : result);
}

V mean_of(Build& b, V x, const Ints& dims, bool keepdim) {
  return b.div(b.reduce(OpId::sum, x, dims, keepdim), Scalar(b.count(x, dims)));
}

// Sum of squared distances from the mean over n - correction. x is in the accumulator's dtype.
V variance(Build& b, V x, V mean_kept, const Ints& dims, Scalar correction, bool keepdim) {
  V d = b.sub(x, mean_kept);
  V squares = b.reduce(OpId::sum, b.mul(d, d), dims, keepdim);
  Int n = b.count(x, dims);
  const double c = correction.is_float() ? correction.to_double() : 0;
  if (c == std::floor(c)) {
    Int corrected = correction.is_float() ? n - static_cast<std::int64_t>(c) : n - correction.to_int();
    return b.div(squares, Scalar(Int::max(corrected, 0)));
  }
  V count = b.emit(OpId::full, {Ints{}, Scalar(n), b.meta(x).dtype, b.meta(x).device.str()});
  V corrected = b.emit(OpId::maximum, {b.sub(count, correction), Scalar(0.0)});
  return b.div(squares, corrected);
}

double epsilon(DType t) {
  switch (t) {
    case DType::Float64: return std::numeric_limits<double>::epsilon();
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

Ints last_dims(int rank, std::size_t k) {
  Ints dims;
  for (std::size_t i = 0; i < k; ++i) dims.push_back(rank - static_cast<int>(k) + static_cast<int>(i));
  return dims;
}

}  // namespace

V decompose_nansum(Build& b, DType result) {
  V x = b.tensor(0);
  if (is_floating(b.meta(x).dtype)) x = b.emit(OpId::where, {b.unary(OpId::isnan, x), Scalar(0.0), x});
  return b.emit(OpId::sum, {x, b.reduced_dims(1, x), b.flag(2), result});
}

V decompose_mean(Build& b, DType result) {
  V x = b.to(b.tensor(0), Build::accumulator(result));
  return b.to(mean_of(b, x, b.reduced_dims(1, x), b.flag(2)), result);
}

namespace {
V var_or_root(Build& b, DType result, bool root) {
  V x = b.to(b.tensor(0), Build::accumulator(result));
  Ints dims = b.reduced_dims(1, x);
  V v = variance(b, x, mean_of(b, x, dims, true), dims, b.scalar(2), b.flag(3));
  return b.to(root ? b.unary(OpId::sqrt, v) : v, result);
}
}  // namespace
V decompose_var(Build& b, DType result) { return var_or_root(b, result, false); }
V decompose_std(Build& b, DType result) { return var_or_root(b, result, true); }

// log(sum(exp(x - m))) + m with m = max(x), so that nothing overflows; an infinite maximum is not subtracted
// (inf - inf), which leaves log(sum(exp(x))) = +-inf, as it should be.
V decompose_logsumexp(Build& b, DType result) {
  V x = b.to(b.tensor(0), Build::accumulator(result));
  Ints dims = b.reduced_dims(1, x);
  bool keepdim = b.flag(2);
  if (b.is_empty(x, dims))
    return b.to(b.unary(OpId::log, b.reduce(OpId::sum, b.unary(OpId::exp, x), dims, keepdim)), result);
  auto finite = [&](V m) { return b.emit(OpId::where, {b.unary(OpId::isinf, m), Scalar(0.0), m}); };
  V shifted = b.unary(OpId::exp, b.sub(x, finite(b.reduce(OpId::amax, x, dims, true))));
  V m = finite(b.reduce(OpId::amax, x, dims, keepdim));
  return b.to(b.add(b.unary(OpId::log, b.reduce(OpId::sum, shifted, dims, keepdim)), m), result);
}

V decompose_norm(Build& b, DType result) {
  V x = b.to(b.tensor(0), compute_dtype(b, b.tensor(0), result));
  Ints dims = b.reduced_dims(2, x);
  bool keepdim = b.flag(3);
  double p = b.scalar(1).to_double();
  V made;
  if (p == 2) {
    made = b.unary(OpId::sqrt, b.reduce(OpId::sum, b.mul(x, x), dims, keepdim));
  } else if (p == 0) {
    V nonzero = b.emit(OpId::ne, {x, Scalar(0.0)});
    made = b.reduce(OpId::sum, b.to(nonzero, b.meta(x).dtype), dims, keepdim);
  } else {
    V a = b.unary(OpId::abs, x);
    if (std::isinf(p)) made = b.reduce(p > 0 ? OpId::amax : OpId::amin, a, dims, keepdim);
    else if (p == 1) made = b.reduce(OpId::sum, a, dims, keepdim);
    else
      made =
          b.emit(OpId::pow, {b.reduce(OpId::sum, b.emit(OpId::pow, {a, Scalar(p)}), dims, keepdim), Scalar(1.0 / p)});
  }
  return b.to(made, result);
}

namespace {
V softmax_or_log(Build& b, DType result, bool log) {
  V x = b.to(b.tensor(0), Build::accumulator(result));
  int rank = b.dim(x);
  Ints dims;
  if (rank > 0) dims.push_back(wrap_dim(b.integer(1).value(b.loc()), rank, log ? "log_softmax" : "softmax", b.loc()));
  if (b.is_empty(x, dims)) return b.to(b.unary(OpId::clone, x), result);  // no element, so no maximum to take
  V shifted = b.sub(x, b.reduce(OpId::amax, x, dims, true));
  V e = b.unary(OpId::exp, shifted);
  V total = b.reduce(OpId::sum, e, dims, true);
  // By the reciprocal, one division a row: the total is at least 1, so nothing is lost but half a unit in the last
  // place.
  return b.to(log ? b.sub(shifted, b.unary(OpId::log, total)) : b.mul(e, b.unary(OpId::reciprocal, total)), result);
}
}  // namespace
V decompose_softmax(Build& b, DType result) { return softmax_or_log(b, result, false); }
V decompose_log_softmax(Build& b, DType result) { return softmax_or_log(b, result, true); }

V decompose_layer_norm(Build& b, DType result) {
  DType acc = Build::accumulator(result);
  V x = b.to(b.tensor(0), acc);
  Ints dims = last_dims(b.dim(x), b.ints(1).size());
  V mean = mean_of(b, x, dims, true);
  V var = variance(b, x, mean, dims, Scalar(0), true);
  V y = b.mul(b.sub(x, mean), b.unary(OpId::rsqrt, b.add(var, b.scalar(4))));
  if (b.has(2)) y = b.mul(y, b.to(b.tensor(2), acc));
  if (b.has(3)) y = b.add(y, b.to(b.tensor(3), acc));
  return b.to(y, result);
}

V decompose_rms_norm(Build& b, DType result) {
  DType acc = Build::accumulator(result);
  V x = b.to(b.tensor(0), acc);
  Ints dims = last_dims(b.dim(x), b.ints(1).size());
  Scalar eps = b.has(3) ? b.scalar(3) : Scalar(epsilon(b.meta(b.tensor(0)).dtype));
  V scale = b.unary(OpId::rsqrt, b.add(mean_of(b, b.mul(x, x), dims, true), eps));
  V y = b.mul(x, scale);
  if (b.has(2)) y = b.mul(y, b.to(b.tensor(2), acc));
  return b.to(y, result);
}

}  // namespace reprise::passes
