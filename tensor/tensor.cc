#include "base/checked_math.h"
#include "base/errors.h"
#include "reprise/arguments.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"
#include "tensor/wrapped.h"

namespace reprise {

constinit thread_local TraceHook* current_trace = nullptr;

namespace {
/// What a trace sees: of a traced tensor, and of a real one that a function being traced asks. Null: there is no trace.
const TracedTensor* traced(const Tensor& t, const TensorImpl& impl) {
  if (impl.trace) return impl.trace;
  return current_trace ? &current_trace->traced_of_captured(t) : nullptr;
}
const TensorMeta* traced_meta(const Tensor& t, const TensorImpl& impl) {
  const TracedTensor* seen = traced(t, impl);
  return seen ? &seen->meta() : nullptr;
}
}  // namespace

TensorMeta meta_of(const Tensor& tensor) {
  const TensorImpl& t = defined_impl(tensor, "metadata");
  if (const TensorMeta* traced = traced_meta(tensor, t)) return *traced;
  TensorMeta m;
  m.dtype = t.dtype;
  m.device = t.device;
  m.layout.sizes = Ints(t.sizes, t.sizes + t.rank);
  m.layout.strides = Ints(t.strides, t.strides + t.rank);
  m.layout.offset = t.offset;
  return m;
}

DType Tensor::dtype() const {
  const TensorImpl& t = defined_impl(*this, "dtype");
  return t.trace ? t.trace->meta().dtype : t.dtype;  // a trace notes what it is asked
}
Device Tensor::device() const {
  const TensorImpl& t = defined_impl(*this, "device");
  return t.trace ? t.trace->meta().device : t.device;
}
TensorOptions Tensor::options() const { return {dtype(), device()}; }
int Tensor::dim() const {
  const TensorImpl& t = defined_impl(*this, "dim");
  const TensorMeta* m = traced_meta(*this, t);
  return m ? m->dim() : t.rank;
}

TraceQuestions* trace_questions() { return current_trace ? dynamic_cast<TraceQuestions*>(current_trace) : nullptr; }

namespace {
/// ATen: a 0-dim tensor has no dimension to ask for, though operators treat it as 1-dim.
int existing_dim(int d, int dim, const char* op, SourceLoc loc) {
  if (dim == 0) fail(ErrorCode::IndexOutOfRange, op, loc, "dimension ", d, " of a tensor that has no dimensions");
  return wrap_dim(d, dim, op, loc);
}
}  // namespace

Int Tensor::size(int d, SourceLoc loc) const {
  const TensorImpl& t = defined_impl(*this, "size", loc);
  if (const TensorMeta* m = traced_meta(*this, t)) return m->layout.sizes[existing_dim(d, m->dim(), "size", loc)];
  return t.sizes[existing_dim(d, t.rank, "size", loc)];
}
Int Tensor::stride(int d, SourceLoc loc) const {
  const TensorImpl& t = defined_impl(*this, "stride", loc);
  if (const TracedTensor* seen = traced(*this, t))
    return seen->meta_with_strides(loc).layout.strides[existing_dim(d, seen->meta().dim(), "stride", loc)];
  return t.strides[existing_dim(d, t.rank, "stride", loc)];
}
Ints Tensor::sizes() const {
  const TensorImpl& t = defined_impl(*this, "sizes");
  const TensorMeta* m = traced_meta(*this, t);
  return m ? m->layout.sizes : Ints(t.sizes, t.sizes + t.rank);
}
Ints Tensor::strides() const {
  const TensorImpl& t = defined_impl(*this, "strides");
  const TracedTensor* seen = traced(*this, t);
  return seen ? seen->meta_with_strides({}).layout.strides : Ints(t.strides, t.strides + t.rank);
}
Int Tensor::storage_offset() const {
  const TensorImpl& t = defined_impl(*this, "storage_offset");
  if (TraceQuestions* trace = trace_questions()) return trace->storage_offset_of(*this);
  if (t.trace) t.trace->reads_value("storage_offset", {});
  return t.offset;
}
Int Tensor::numel() const {
  const TensorImpl& t = defined_impl(*this, "numel");
  const TensorMeta* m = traced_meta(*this, t);
  return m ? reprise::numel(m->layout.sizes) : Int(t.numel());
}

bool Tensor::is_contiguous() const {
  const TensorImpl& t = defined_impl(*this, "is_contiguous");
  if (const TensorMeta* m = traced_meta(*this, t)) {
    if (TraceQuestions* trace = trace_questions()) trace->strides_decide(*this);
    return reprise::is_contiguous(m->layout);
  }
  std::int64_t expected = 1;
  bool dense = true;
  for (int i = t.rank - 1; i >= 0; --i) {
    if (t.sizes[i] == 0) return true;
    if (t.sizes[i] == 1) continue;
    dense &= t.strides[i] == expected;
    expected = times(expected, t.sizes[i]);
  }
  return dense;
}

bool Tensor::shares_storage_with(const Tensor& o) const {
  const TensorImpl &a = defined_impl(*this, "shares_storage_with"), &b = defined_impl(o, "shares_storage_with");
  if (TraceQuestions* trace = trace_questions()) return trace->share_storage(*this, o);
  if (const TracedTensor* t = a.trace ? a.trace : b.trace) t->reads_value("shares_storage_with", {});
  return a.storage == b.storage;
}

bool Tensor::is_same(const Tensor& o) const {
  if (impl_ && o.impl_)
    if (TraceQuestions* trace = trace_questions()) return trace->are_same(*this, o);
  if (current_trace) detail::asked(*this), detail::asked(o);
  return impl_ == o.impl_;
}

std::uint64_t Tensor::version() const {
  const TensorImpl& t = defined_impl(*this, "version");
  if (t.trace) t.trace->reads_value("version", {});
  if (current_trace) current_trace->not_traceable(Bail::asks_state, "version", {});
  if (has_no_bytes(t)) return version_of_wrapper.load()(t);
  return t.storage->version.load(std::memory_order_relaxed);
}

}  // namespace reprise
