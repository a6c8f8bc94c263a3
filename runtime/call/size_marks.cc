// What the user says of an argument's sizes before the call.
#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "reprise/compile.h"
#include "tensor/impl.h"

namespace reprise {

namespace {

TensorImpl& marked(const Tensor& x, const char* op, SourceLoc loc) {
  TensorImpl& t = defined_impl(x, op, loc);
  if (t.trace)
    fail(ErrorCode::InvalidArgument, op, loc, "a traced tensor cannot be marked: mark the argument before the call");
  return t;
}

const DimMark* mark_of(const TensorImpl& t, int d) {
  return t.notes && (t.notes->marks.set >> d & 1) ? &t.notes->marks.dims[d] : nullptr;
}

void set_mark(TensorImpl& t, int d, DimMark mark) {
  if (!t.notes) t.notes = new TensorNotes;
  t.notes->marks.dims[d] = mark;
  t.notes->marks.set = static_cast<std::uint8_t>(t.notes->marks.set | 1 << d);
}

std::string range_text(const DynamicRange& r) {
  return std::to_string(r.min) + " to " + (r.max == INT64_MAX ? "any size" : std::to_string(r.max)) +
         (r.multiple_of == 1 ? "" : ", a multiple of " + std::to_string(r.multiple_of));
}

}  // namespace

void mark_dynamic(const Tensor& x, int dim, DynamicRange r, SourceLoc loc) {
  TensorImpl& t = marked(x, "mark_dynamic", loc);
  int d = wrap_dim(dim, t.rank, "mark_dynamic", loc);
  if (r.min < 0 || r.max < r.min || r.multiple_of < 1 || r.max - r.max % r.multiple_of < r.min)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "no size is from ", range_text(r));
  std::int64_t n = t.sizes[d];
  if (n < r.min || n > r.max || n % r.multiple_of != 0)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "size ", n, " of dimension ", d, " is not from ",
         range_text(r));
  DimMark mark{r.min, r.max, r.multiple_of, false, r.outside == Outside::Recompiles, loc};
  if (const DimMark* before = mark_of(t, d)) {
    if (before->is_static)
      fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "dimension ", d,
           " was marked static: it is a constant, or it varies");
    mark.min = std::max(mark.min, before->min), mark.max = std::min(mark.max, before->max);  // the size is within both
    const std::int64_t common = std::gcd(mark.multiple_of, before->multiple_of);
    if (__builtin_mul_overflow(mark.multiple_of / common, before->multiple_of, &mark.multiple_of))
      fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "steps of ", r.multiple_of, " and of ", before->multiple_of,
           ", as dimension ", d, " was marked, have no multiple that 63 bits count");
  }
  set_mark(t, d, mark);
}

void mark_static(const Tensor& x, int dim, SourceLoc loc) {
  TensorImpl& t = marked(x, "mark_static", loc);
  int d = wrap_dim(dim, t.rank, "mark_static", loc);
  if (const DimMark* before = mark_of(t, d); before && !before->is_static)
    fail(ErrorCode::InvalidArgument, "mark_static", loc, "dimension ", d,
         " was marked dynamic: it varies, or it is a constant");
  set_mark(t, d, {t.sizes[d], t.sizes[d], 1, true, false, loc});
}

}  // namespace reprise
