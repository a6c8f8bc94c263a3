#include "base/errors.h"
#include "tensor/impl.h"

namespace reprise {

TensorMeta meta_of(const Tensor& tensor) {
  const TensorImpl& t = defined_impl(tensor, "metadata");
  if (t.trace) return t.trace->meta();
  TensorMeta m;
  m.dtype = t.dtype;
  m.device = t.device;
  m.layout.sizes = Ints(t.sizes, t.sizes + t.rank);
  m.layout.strides = Ints(t.strides, t.strides + t.rank);
  m.layout.offset = t.offset;
  return m;
}

DType Tensor::dtype() const { return defined_impl(*this, "dtype").dtype; }
Device Tensor::device() const { return defined_impl(*this, "device").device; }
int Tensor::dim() const {
  const TensorImpl& t = defined_impl(*this, "dim");
  return t.trace ? t.trace->meta().dim() : t.rank;
}

namespace {
/// ATen: a 0-dim tensor has no dimension to ask for, though operators treat it as 1-dim.
int existing_dim(int d, int dim, const char* op, SourceLoc loc) {
  if (dim == 0) fail(ErrorCode::IndexOutOfRange, op, loc, "dimension ", d, " of a tensor that has no dimensions");
  return wrap_dim(d, dim, op, loc);
}
}  // namespace

Int Tensor::size(int d, SourceLoc loc) const {
  const TensorImpl& t = defined_impl(*this, "size", loc);
  if (t.trace) return t.trace->meta().layout.sizes[existing_dim(d, t.trace->meta().dim(), "size", loc)];
  return t.sizes[existing_dim(d, t.rank, "size", loc)];
}
Int Tensor::stride(int d, SourceLoc loc) const {
  const TensorImpl& t = defined_impl(*this, "stride", loc);
  if (t.trace) return t.trace->meta().layout.strides[existing_dim(d, t.trace->meta().dim(), "stride", loc)];
  return t.strides[existing_dim(d, t.rank, "stride", loc)];
}
Ints Tensor::sizes() const {
  const TensorImpl& t = defined_impl(*this, "sizes");
  return t.trace ? t.trace->meta().layout.sizes : Ints(t.sizes, t.sizes + t.rank);
}
Ints Tensor::strides() const {
  const TensorImpl& t = defined_impl(*this, "strides");
  return t.trace ? t.trace->meta().layout.strides : Ints(t.strides, t.strides + t.rank);
}
Int Tensor::storage_offset() const {
  const TensorImpl& t = defined_impl(*this, "storage_offset");
  return t.trace ? t.trace->meta().layout.offset : Int(t.offset);
}
Int Tensor::numel() const {
  const TensorImpl& t = defined_impl(*this, "numel");
  return t.trace ? reprise::numel(t.trace->meta().layout.sizes) : Int(t.numel());
}

bool Tensor::is_contiguous() const {
  const TensorImpl& t = defined_impl(*this, "is_contiguous");
  if (t.trace) return reprise::is_contiguous(t.trace->meta().layout);
  std::int64_t expected = 1;
  bool dense = true;
  for (int i = t.rank - 1; i >= 0; --i) {
    if (t.sizes[i] == 0) return true;
    if (t.sizes[i] == 1) continue;
    dense &= t.strides[i] == expected;
    expected *= t.sizes[i];
  }
  return dense;
}

bool Tensor::shares_storage_with(const Tensor& o) const {
  const TensorImpl &a = defined_impl(*this, "shares_storage_with"), &b = defined_impl(o, "shares_storage_with");
  if (a.trace || b.trace) return a.trace && b.trace && a.trace->storage_id() == b.trace->storage_id();
  return a.storage == b.storage;
}

std::uint64_t Tensor::version() const {
  const TensorImpl& t = defined_impl(*this, "version");
  if (t.trace) t.trace->reads_value("version", {});
  return t.storage->version.load(std::memory_order_relaxed);
}

}  // namespace reprise
