#include "tensor/transfer.h"

#include <cstring>

#include "device/backend.h"

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
  } else if (to_device == from_device) {
    device::Backend& d = device::backend(to_device);
    d.copy(to, from, bytes, d.current_stream());
  } else {
    Tensor between = empty_concrete(&bytes, 1, DType::UInt8, Device::cpu());  // from one device to another: by the host
    copy_bytes(between.impl()->data(), Device::cpu(), from, from_device, bytes);
    copy_bytes(to, to_device, between.impl()->data(), Device::cpu(), bytes);
  }
}

Tensor transfer(const Tensor& t, Device to, const char* what, SourceLoc loc) {
  checked_storage(t, what, loc);
  const TensorImpl& from = *t.impl();
  const std::int64_t bytes = byte_extent(from);
  Storage* storage = new_storage(to, bytes);
  Tensor out = Tensor::adopt(new_impl(from.dtype, to, from.sizes, from.strides, from.rank, 0, storage));
  if (bytes) copy_bytes(storage->data, to, from.data(), from.device, bytes);
  return out;
}

Tensor on_host(const Tensor& t, const char* what, SourceLoc loc) {
  checked_storage(t, what, loc);
  return device::runs_host_code(t.impl()->device) ? t : transfer(t, Device::cpu(), what, loc);
}

}  // namespace reprise
