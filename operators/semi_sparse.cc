// Matrices that keep two of each four elements.
#include "reprise/semi_sparse.h"

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"

namespace reprise {

namespace {

constexpr const char* kSemiSparse = "SemiSparse24";

/// Of four tensors the one that stands at `place`.
Tensor at_place(const Tensor& place, const Tensor (&four)[4], SourceLoc loc) {
  const Tensor low = where(eq(place, 0, loc), four[0], four[1], loc),
               high = where(eq(place, 2, loc), four[2], four[3], loc);
  return where(lt(place, 2, loc), low, high, loc);
}
Tensor first_place(const Tensor& places, SourceLoc loc) { return bitwise_and(places, 3, loc); }
Tensor second_place(const Tensor& places, SourceLoc loc) { return bitwise_right_shift(places, 2, loc); }

/// x [k] times each row: what is kept, times the elements of x that stand there. These are copied into planes first, by
/// an operator that is not fused into the sum, so that a row's groups stand side by side in registers; places are as
/// wide as the elements that they choose.
Tensor row_product(const SemiSparse24& w, const Tensor& x, SourceLoc loc) {
  const Tensor fours = x.reshape({-1, 4}, loc);
  Tensor four[4];
  for (int i = 0; i < 4; ++i) four[i] = fours.select(1, i, loc);
  const Tensor planes = cat({four[0], four[1], four[2], four[3]}, 0, loc).view({4, 1, w.values.size(2)}, loc);
  for (int i = 0; i < 4; ++i) four[i] = planes.select(0, i, loc);
  const Tensor places = w.places.to(kInt32, loc);
  const Tensor a = mul(w.values.select(0, 0, loc), at_place(first_place(places, loc), four, loc), loc),
               b = mul(w.values.select(0, 1, loc), at_place(second_place(places, loc), four, loc), loc);
  return add(a, b, 1, loc).sum({1}, false, std::nullopt, loc);
}

Tensor linear_of(WrapperCall& c) {
  const SemiSparse24* const w = c.as<SemiSparse24>(1);
  const Tensor& x = c.tensor(0);
  if (!w || is_wrapper(x) || (c.tensor(2).defined() && is_wrapper(c.tensor(2))) || x.dim() < 1) return {};
  const Int k = x.size(-1);
  if (x.dtype() != kFloat32 || !graph::require(detail::compare_eq(x.numel(), k, c.loc()), "SemiSparse24: one row"))
    return {};
  Tensor y = row_product(*w, x, c.loc());
  if (c.tensor(2).defined()) y = add(y, c.tensor(2), 1, c.loc());
  return y.reshape(c.expected().sizes, c.loc());
}

}  // namespace

Tensor SemiSparse24::prune(const Tensor& x, SourceLoc loc) {
  if (!x.defined()) fail(ErrorCode::InvalidArgument, kSemiSparse, loc, "x is undefined");
  if (!is_floating(x.dtype()) || is_storage_only(x.dtype()))
    fail(ErrorCode::DTypeMismatch, kSemiSparse, loc, "x is ", x.dtype(), ", not a float");
  if (x.dim() != 2 || !graph::require(detail::compare_eq(x.size(1) % 4, 0, loc), "SemiSparse24: rows of fours"))
    fail(ErrorCode::ShapeMismatch, kSemiSparse, loc, "wants a matrix whose rows are a multiple of 4 long, got ",
         graph::sizes_text(x.sizes()));
  const Tensor fours = x.reshape({x.size(0), x.size(1) / 4, 4}, loc);
  const Tensor largest = fours.abs(loc).topk(2, -1, true, true, loc).second;
  const Tensor first = largest.amin({-1}, true, loc), second = largest.amax({-1}, true, loc);
  const Tensor kept = fours.gather(2, cat({first, second}, 2, loc), loc);
  SemiSparse24 s;
  s.values = kept.permute({2, 0, 1}, loc).contiguous(loc);
  s.places = add(first, second, 4, loc).squeeze(2, loc).to(kUInt8, loc);
  return s.tensor(loc);
}

Tensor SemiSparse24::plain(SourceLoc loc) const {
  const Tensor place = arange(0, 4, 1, {.dtype = kUInt8, .device = values.device()}, loc);
  const Tensor first = first_place(places, loc).unsqueeze(2, loc), second = second_place(places, loc).unsqueeze(2, loc);
  const Tensor fours = where(eq(place, first, loc), values.select(0, 0, loc).unsqueeze(2, loc),
                             where(eq(place, second, loc), values.select(0, 1, loc).unsqueeze(2, loc), 0, loc), loc);
  return fours.reshape({values.size(1), values.size(2) * 4}, loc);
}

void SemiSparse24::store(const Tensor& value, SourceLoc loc) const {
  const Tensor fours = value.reshape({values.size(1), values.size(2), 4}, loc);
  Tensor four[4];
  for (int i = 0; i < 4; ++i) four[i] = fours.select(2, i, loc);
  values.copy_(
      stack({at_place(first_place(places, loc), four, loc), at_place(second_place(places, loc), four, loc)}, 0, loc),
      loc);
}

void SemiSparse24::dispatch(WrapperCall& c) {
  c.on("linear", linear_of);
  c.otherwise(unwrap);
}

}  // namespace reprise
