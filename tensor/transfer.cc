#include "tensor/transfer.h"

#include <cstring>

#include "device/backend.h"
#include "device/late_faults.h"

namespace reprise {

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  if (bytes == 0) return;
  bool to_host = device::runs_host_code(to_device), from_host = device::runs_host_code(from_device);
  if (to_host && from_host) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (from_host) {
    device::Backend& d = device::backend(to_device);
    d.copy_from_host(to, from, bytes, d.current_stream());
  } else if (to_host) {
    device::Backend& d = device::backend(from_device);
    d.copy_to_host(to, from, bytes, d.current_stream());
    device::throw_late(d.current_stream());
  } else if (to_device == from_device) {
    device::Backend& d = device::backend(to_device);
    d.copy(to, from, bytes, d.current_stream());
  } else {
    Tensor between = empty_concrete(&bytes, 1, DType::UInt8, Device::cpu());  // from one device to another: by the host
    copy_bytes(between.impl()->data(), Device::cpu(), from, from_device, bytes);
    copy_bytes(to, to_device, between.impl()->data(), Device::cpu(), bytes);
  }
}

bool copy_unwaited(const TensorImpl& to, const TensorImpl& from) {
  const std::int64_t bytes = byte_extent(from);
  bool fits = to.dtype == from.dtype && to.rank == from.rank && bytes == from.numel() * item_size(from.dtype);
  for (int d = 0; fits && d < to.rank; ++d)
    fits = to.sizes[d] == from.sizes[d] && (to.sizes[d] == 1 || to.strides[d] == from.strides[d]);
  if (!fits) return false;
  if (!device::runs_host_code(to.device) && from.storage->pinned == to.device) {
    device::Backend& d = device::backend(to.device);
    if (bytes) d.copy_from_pinned(to.data(), from.data(), bytes, d.current_stream());
    return true;
  }
  if (!device::runs_host_code(from.device) && to.storage->pinned == from.device) {
    device::Backend& d = device::backend(from.device);
    if (bytes) d.copy_to_pinned(to.data(), from.data(), bytes, d.current_stream());
    return true;
  }
  return false;
}

Tensor transfer(const Tensor& t, Device to, const char* what, SourceLoc loc, bool non_blocking) {
  checked_storage(t, what, loc);
  const TensorImpl& from = *t.impl();
  const std::int64_t bytes = byte_extent(from);
  const bool pins = non_blocking && device::runs_host_code(to) && !device::runs_host_code(from.device);
  Storage* storage = pins ? new_pinned_storage(from.device, bytes) : new_storage(to, bytes);
  Tensor out = Tensor::adopt(new_impl(from.dtype, to, from.sizes, from.strides, from.rank, 0, storage));
  if (non_blocking && copy_unwaited(*out.impl(), from)) return out;
  if (bytes) copy_bytes(storage->data, to, from.data(), from.device, bytes);
  return out;
}

Tensor pinned_copy(const Tensor& t, Device device, SourceLoc loc) {
  checked_storage(t, "pin_memory", loc);
  const TensorImpl& from = *t.impl();
  const std::int64_t bytes = byte_extent(from);
  Tensor out = Tensor::adopt(
      new_impl(from.dtype, Device::cpu(), from.sizes, from.strides, from.rank, 0, new_pinned_storage(device, bytes)));
  if (bytes) std::memcpy(out.impl()->data(), from.data(), static_cast<std::size_t>(bytes));
  return out;
}

Tensor on_host(const Tensor& t, const char* what, SourceLoc loc) {
  checked_storage(t, what, loc);
  return device::runs_host_code(t.impl()->device) ? t : transfer(t, Device::cpu(), what, loc);
}

}  // namespace reprise
