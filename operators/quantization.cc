// Quantization as compositions, which fuse with what makes their operand.
#include "reprise/quantization.h"

#include <limits>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/region_gradients.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

namespace {

struct Range {
  std::int64_t low, high;
};
Range range_of(DType t, const char* op, SourceLoc loc) {
  switch (t) {
    case DType::Int8: return {-128, 127};
    case DType::UInt8: return {0, 255};
    case DType::Int32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default: fail(ErrorCode::DTypeMismatch, op, loc, "quantizes to int8, uint8 or int32, not to ", dtype_name(t));
  }
}

Tensor wide(const Tensor& t, SourceLoc loc) {
  return t.dtype() == kFloat64 || t.dtype() == kFloat32 ? t : to(t, kFloat32, loc);
}

void need_positive(double scale, const char* op, SourceLoc loc) {
  if (!(scale > 0)) fail(ErrorCode::InvalidArgument, op, loc, "scale must be above 0, got ", scale);
}
void need_within(Int zero_point, Int low, Int high, const char* op, SourceLoc loc) {
  if (!graph::require(detail::compare_le(low, zero_point, loc), "zero_point in range") ||
      !graph::require(detail::compare_le(zero_point, high, loc), "zero_point in range"))
    fail(ErrorCode::InvalidArgument, op, loc, "zero_point must lie in [", low, ", ", high, "], got ", zero_point);
}

/// t [n] along axis of m.
Tensor along(const Tensor& t, const TensorMeta& m, Int axis, const char* what, const char* op, SourceLoc loc) {
  const int d = graph::api::wrapped(m, axis, op, loc);
  const TensorMeta own = checked_meta(t, op, loc);
  if (m.dim() == 0 || own.dim() != 1 || !graph::same(own.size(0), m.size(d), loc, "quantize: one for each slice"))
    fail(ErrorCode::ShapeMismatch, op, loc, what, " has sizes ", graph::sizes_text(own.layout.sizes), " for dimension ",
         d, " of sizes ", graph::sizes_text(m.layout.sizes));
  Ints sizes(m.layout.sizes.size(), Int(1));
  sizes[static_cast<std::size_t>(d)] = own.size(0);
  return reshape(t, sizes, loc);
}

/// clamp(round(x * inverse) + zero, low, high), a float. NaN stays.
Tensor rounded(const Tensor& x, const Operand& inverse, const Operand& zero, Int low, Int high, SourceLoc loc) {
  return clamp(add(round(mul(x, inverse, loc), loc), zero, 1, loc), Scalar(low), Scalar(high), loc);
}

/// `made` of x, whose gradient is made's where x was not bounded (Bengio, Leonard and Courville: Estimating or
/// propagating gradients through stochastic neurons, 2013: the "straight-through" estimator, since that of rounding is
/// 0). free: before rounding; q: as rounded() gives it.
Tensor straight_through(const Tensor& x, const Tensor& made, const Tensor& q, const Tensor& free, const Operand& zero,
                        SourceLoc loc) {
  if (!graph::may_want_gradient(x)) return made;
  const Tensor inside = eq(add(round(free, loc), zero, 1, loc), q, loc);
  return add(detach(made, loc), where(inside, sub(x, detach(x, loc), 1, loc), 0, loc), 1, loc);
}

Tensor out_of(const Tensor& q, const Operand& scale, const Operand& zero, std::optional<DType> out_dtype,
              const char* op, SourceLoc loc) {
  const DType t = checked_meta(q, op, loc).dtype, out = out_dtype.value_or(kFloat32);
  if (!is_integral(t)) fail(ErrorCode::DTypeMismatch, op, loc, "wants integers, got ", dtype_name(t));
  if (!is_floating(out)) fail(ErrorCode::DTypeMismatch, op, loc, "gives floats, not ", dtype_name(out));
  // The difference of integers is exact where int32 holds it.
  const Tensor apart = sub(to(q, t == kInt64 ? kInt64 : kInt32, loc), zero, 1, loc);
  return to(mul(to(apart, out == kFloat64 ? kFloat64 : kFloat32, loc), scale, loc), out, loc);
}

}  // namespace

Tensor quantize_per_tensor(const Tensor& self, double scale, Int zero_point, DType dtype, SourceLoc loc) {
  const char* op = "quantize_per_tensor";
  return named(op, [&] {
    const Range r = range_of(dtype, op, loc);
    operators::need_float(op, loc, checked_meta(self, op, loc).dtype), need_positive(scale, op, loc),
        need_within(zero_point, r.low, r.high, op, loc);
    return to(rounded(wide(self, loc), 1 / scale, Scalar(zero_point), r.low, r.high, loc), dtype, loc);
  });
}
Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, Int axis, DType dtype,
                            SourceLoc loc) {
  const char* op = "quantize_per_channel";
  return named(op, [&] {
    const Range r = range_of(dtype, op, loc);
    operators::need_float(op, loc, checked_meta(self, op, loc).dtype);
    const TensorMeta m = checked_meta(self, op, loc);
    const Tensor x = wide(self, loc),
                 inverse = reciprocal(to(along(scales, m, axis, "scales", op, loc), x.dtype(), loc), loc);
    return to(rounded(x, inverse, to(along(zero_points, m, axis, "zero_points", op, loc), x.dtype(), loc), r.low,
                      r.high, loc),
              dtype, loc);
  });
}
Tensor dequantize_per_tensor(const Tensor& self, double scale, Int zero_point, std::optional<DType> out_dtype,
                             SourceLoc loc) {
  return named("dequantize_per_tensor",
               [&] { return out_of(self, scale, Scalar(zero_point), out_dtype, "dequantize_per_tensor", loc); });
}
Tensor dequantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, Int axis,
                              std::optional<DType> out_dtype, SourceLoc loc) {
  const char* op = "dequantize_per_channel";
  return named(op, [&] {
    const TensorMeta m = checked_meta(self, op, loc);
    const Tensor zero = along(zero_points, m, axis, "zero_points", op, loc);
    return out_of(self, along(scales, m, axis, "scales", op, loc),
                  is_integral(zero.dtype()) ? zero : to(zero, kInt32, loc), out_dtype, op, loc);
  });
}
Tensor fake_quantize_per_tensor_affine(const Tensor& self, double scale, Int zero_point, Int quant_min, Int quant_max,
                                       SourceLoc loc) {
  const char* op = "fake_quantize_per_tensor_affine";
  return named(op, [&] {
    operators::need_float(op, loc, checked_meta(self, op, loc).dtype), need_positive(scale, op, loc);
    if (!graph::require(detail::compare_le(quant_min, quant_max, loc), "quant_min to quant_max"))
      fail(ErrorCode::InvalidArgument, op, loc, "quant_min ", quant_min, " is above quant_max ", quant_max);
    need_within(zero_point, quant_min, quant_max, op, loc);
    const Tensor x = wide(self, loc), q = rounded(x, 1 / scale, Scalar(zero_point), quant_min, quant_max, loc);
    return to(straight_through(x, mul(sub(q, Scalar(zero_point), 1, loc), scale, loc), q, mul(x, 1 / scale, loc),
                               Scalar(zero_point), loc),
              self.dtype(), loc);
  });
}
Tensor fake_quantize_per_channel_affine(const Tensor& self, const Tensor& scale, const Tensor& zero_point, Int axis,
                                        Int quant_min, Int quant_max, SourceLoc loc) {
  const char* op = "fake_quantize_per_channel_affine";
  return named(op, [&] {
    operators::need_float(op, loc, checked_meta(self, op, loc).dtype);
    if (!graph::require(detail::compare_le(quant_min, quant_max, loc), "quant_min to quant_max"))
      fail(ErrorCode::InvalidArgument, op, loc, "quant_min ", quant_min, " is above quant_max ", quant_max);
    const TensorMeta m = checked_meta(self, op, loc);
    const Tensor x = wide(self, loc), s = to(along(scale, m, axis, "scale", op, loc), x.dtype(), loc),
                 zero = to(along(zero_point, m, axis, "zero_point", op, loc), x.dtype(), loc);
    const Tensor by = reciprocal(s, loc), q = rounded(x, by, zero, quant_min, quant_max, loc);
    return to(straight_through(x, mul(sub(q, zero, 1, loc), s, loc), q, mul(x, by, loc), zero, loc), self.dtype(), loc);
  });
}

}  // namespace reprise
