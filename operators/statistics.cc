// Medians and quantiles: a sort, and the elements at the ranks.
#include "reprise/statistics.h"

#include <cmath>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

namespace {

/// How many are NaN along dim, which stays with size 1.
Tensor count_nan(const Tensor& x, Int dim, SourceLoc loc) { return sum(isnan(x, loc), dim, true, kInt64, loc); }

/// Along dim, which stays with size 1 if keepdim. A 0-dim tensor is its own.
TensorPair median_along(const Tensor& self, Int dim, bool keepdim, bool ignore_nan, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (m.dtype == kBool)
    fail(ErrorCode::DTypeMismatch, op, loc, "not defined for bool (wanted integers or floats; cast with to())");
  const int d = graph::api::wrapped(m, dim, op, loc);
  if (m.dim() == 0) return {clone(self, loc), zeros({}, {kInt64, m.device}, loc)};
  const Int n = m.size(d);
  if (!graph::require(detail::compare_lt(0, n, loc), "median: at least one element"))
    fail(ErrorCode::ShapeMismatch, op, loc, "dimension ", d, " of sizes ", graph::sizes_text(m.layout.sizes),
         " has no elements");
  return named(op, [&]() -> TensorPair {
    const auto [values, places] = sort(self, d, false, loc);
    Tensor v, p;
    if (!is_floating(m.dtype)) {
      v = narrow(values, d, (n - 1) / 2, 1, loc), p = narrow(places, d, (n - 1) / 2, 1, loc);
    } else {
      const Tensor numbers = sub(Scalar(n), count_nan(self, d, loc), 1, loc);
      const Tensor middle = clamp_min(div(sub(numbers, 1, 1, loc), 2, "floor", loc), 0, loc);
      // NaN are the last: the first of them stands where the numbers end.
      const Tensor rank = ignore_nan ? middle : where(lt(numbers, Scalar(n), loc), numbers, middle, loc);
      v = gather(values, d, rank, loc), p = gather(places, d, rank, loc);
    }
    if (keepdim) return {v, p};
    return {squeeze(v, d, loc), squeeze(p, d, loc)};
  });
}

Tensor median_of_all(const Tensor& self, bool ignore_nan, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  const Tensor all = reshape(self, {-1}, loc);
  if (graph::ask(detail::compare_eq(all.size(0), 0, loc), "of nothing")) {
    if (!is_floating(m.dtype))
      fail(ErrorCode::ShapeMismatch, op, loc, "sizes ", graph::sizes_text(m.layout.sizes), " have no elements");
    return full({}, std::numeric_limits<double>::quiet_NaN(), {m.dtype, m.device}, loc);
  }
  return median_along(all, 0, false, ignore_nan, op, loc).first;
}

Tensor quantile_of(const Tensor& self, const Operand& given_q, std::optional<Int> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (!graph::require(detail::compare_lt(0, numel(m.layout.sizes), loc), "quantile: at least one element"))
    fail(ErrorCode::ShapeMismatch, op, loc, "sizes ", graph::sizes_text(m.layout.sizes), " have no elements");
  if (m.dtype != kFloat32 && m.dtype != kFloat64)
    fail(ErrorCode::DTypeMismatch, op, loc, "wants float32 or float64, got ", dtype_name(m.dtype));
  for (std::string_view known : {"linear", "lower", "higher", "midpoint", "nearest", ""})
    if (known.empty())
      fail(ErrorCode::InvalidArgument, op, loc, "interpolation is '", interpolation,
           "', expected linear, lower, higher, midpoint or nearest");
    else if (known == interpolation) break;
  Tensor q;
  if (given_q.tensor()) {
    const TensorMeta of = checked_meta(*given_q.tensor(), op, loc);
    if (of.dim() > 1)
      fail(ErrorCode::ShapeMismatch, op, loc, "q must have one dimension at most, got sizes ",
           graph::sizes_text(of.layout.sizes));
    if (of.dtype != m.dtype)
      fail(ErrorCode::DTypeMismatch, op, loc, "q is ", dtype_name(of.dtype), " and self is ", dtype_name(m.dtype),
           "; cast with to()");
    q = *given_q.tensor();
  } else {
    const double number = given_q.number().to_double(loc);
    if (!(number >= 0 && number <= 1)) fail(ErrorCode::InvalidArgument, op, loc, "q must lie in [0, 1], got ", number);
    q = full({}, number, {m.dtype, m.device}, loc);
  }
  return named(op, [&] {
    const int rank = m.dim();
    // The row is the last dimension of [..., n]; ranks are [..., m].
    const int d = dim ? graph::api::wrapped(m, *dim, op, loc) : -1;
    const Tensor rows = !dim || rank == 0 ? reshape(self, {-1}, loc) : movedim(self, d, -1, loc);
    const Int n = rows.size(-1);
    const Tensor sorted = sort(rows, -1, false, loc).first;
    const Tensor numbers = sub(Scalar(n), count_nan(rows, -1, loc), 1, loc);  // [..., 1]
    const Tensor parts = q.dim() == 0 ? unsqueeze(q, 0, loc) : q;
    Tensor at = mul(parts, to(clamp_min(sub(numbers, 1, 1, loc), 0, loc), m.dtype, loc), loc);
    // A row with a NaN shows its last element, which is one.
    if (!ignore_nan) at = where(lt(numbers, Scalar(n), loc), Scalar(n - 1), at, loc);
    if (interpolation == "lower") at = floor(at, loc);
    else if (interpolation == "higher") at = ceil(at, loc);
    else if (interpolation == "nearest") at = round(at, loc);
    const Tensor below = to(floor(at, loc), kInt64, loc);
    Tensor r = gather(sorted, -1, below, loc);
    if (interpolation == "linear" || interpolation == "midpoint") {
      const Tensor above = gather(sorted, -1, to(ceil(at, loc), kInt64, loc), loc);
      const Tensor weight =
          interpolation == "linear" ? sub(at, to(below, m.dtype, loc), 1, loc) : full_like(at, 0.5, {}, loc);
      r = lerp(r, above, weight, loc);
    }
    if (keepdim) {  // [..., m, 1 in place of dim]
      if (!dim) {
        for (int i = 0; i < rank; ++i) r = unsqueeze(r, 0, loc);
        r = movedim(r, -1, 0, loc);
      } else {
        r = movedim(rank == 0 ? r : unsqueeze(r, d, loc), -1, 0, loc);
      }
    } else {
      r = movedim(r, -1, 0, loc);
    }
    return q.dim() == 0 ? squeeze(r, 0, loc) : contiguous(r, loc);
  });
}

}  // namespace

Tensor median(const Tensor& self, SourceLoc loc) { return median_of_all(self, false, "median", loc); }
Tensor nanmedian(const Tensor& self, SourceLoc loc) { return median_of_all(self, true, "nanmedian", loc); }
TensorPair median(const Tensor& self, Int dim, bool keepdim, SourceLoc loc) {
  return median_along(self, dim, keepdim, false, "median", loc);
}
TensorPair nanmedian(const Tensor& self, Int dim, bool keepdim, SourceLoc loc) {
  return median_along(self, dim, keepdim, true, "nanmedian", loc);
}

Tensor quantile(const Tensor& self, const Operand& q, std::optional<Int> dim, bool keepdim,
                std::string_view interpolation, SourceLoc loc) {
  return quantile_of(self, q, dim, keepdim, interpolation, false, "quantile", loc);
}
Tensor nanquantile(const Tensor& self, const Operand& q, std::optional<Int> dim, bool keepdim,
                   std::string_view interpolation, SourceLoc loc) {
  return quantile_of(self, q, dim, keepdim, interpolation, true, "nanquantile", loc);
}

Tensor nanmean(const Tensor& self, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) {
  return named("nanmean", [&] {
    const TensorMeta m = checked_meta(self, "nanmean", loc);
    operators::need_float("nanmean", loc, m.dtype);
    const DType t = dtype.value_or(m.dtype), wide = is_low_precision(t) ? kFloat32 : t;
    const Tensor total = nansum(self, dim, keepdim, wide, loc),
                 count = sum(logical_not(isnan(self, loc), loc), dim, keepdim, std::nullopt, loc);
    return to(div(total, count, {}, loc), t, loc);
  });
}

}  // namespace reprise
