// What the user says of an argument's sizes before the call.
#include "base/errors.h"
#include "reprise/compile.h"
#include "tensor/impl.h"

namespace reprise {

void mark_dynamic(const Tensor& x, int dim, DynamicRange r, SourceLoc loc) {
  TensorImpl& t = defined_impl(x, "mark_dynamic", loc);
  if (t.trace) fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "a traced tensor cannot be marked: mark the argument before the call");
  int d = wrap_dim(dim, t.rank, "mark_dynamic", loc);
  if (r.min < 0 || r.max < r.min || r.multiple_of < 1)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "the range [", r.min, ", ", r.max, "] in steps of ", r.multiple_of, " is empty");
  std::int64_t n = t.sizes[d];
  if (n < r.min || n > r.max || n % r.multiple_of != 0)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", loc, "size ", n, " of dimension ", d, " is not in [", r.min, ", ", r.max, "] in steps of ", r.multiple_of);
  if (!t.notes) t.notes = new TensorNotes;
  t.notes->marks.dims[d] = {r.min, r.max, r.multiple_of, false};
  t.notes->marks.set = static_cast<std::uint8_t>(t.notes->marks.set | 1 << d);
}

void mark_static(const Tensor& x, int dim, SourceLoc loc) {
  TensorImpl& t = defined_impl(x, "mark_static", loc);
  if (t.trace) fail(ErrorCode::InvalidArgument, "mark_static", loc, "a traced tensor cannot be marked: mark the argument before the call");
  int d = wrap_dim(dim, t.rank, "mark_static", loc);
  if (!t.notes) t.notes = new TensorNotes;
  t.notes->marks.dims[d] = {t.sizes[d], t.sizes[d], 1, true};
  t.notes->marks.set = static_cast<std::uint8_t>(t.notes->marks.set | 1 << d);
}

}  // namespace reprise
