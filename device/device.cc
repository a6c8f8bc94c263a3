#include "reprise/device.h"

#include <ostream>

#include "base/errors.h"
#include "device/backend.h"
#include "device/cuda/cuda.h"
#include "device/device_memory.h"
#include "device/host_memory.h"
#include "device/null/null_device.h"

namespace reprise {

std::string Device::str() const {
  switch (type) {
    case DeviceType::Cpu: return "cpu";
    case DeviceType::Cuda: return "cuda:" + std::to_string(index);
    case DeviceType::Null: return "null";
    case DeviceType::ShapeOnly: return "shape_only";
  }
  return "device " + std::to_string(static_cast<int>(type));
}
std::ostream& operator<<(std::ostream& s, Device d) { return s << d.str(); }

std::uint8_t detail::no_such_cuda(int index) {
  fail(ErrorCode::InvalidArgument, "device", {}, "there is no device cuda:", index,
       "; numbers from 0 to 255 are possible");
}

namespace device {

std::string why_unavailable(Device d) {
  switch (d.type) {
    case DeviceType::Cpu: return d.index == 0 ? "" : "the host is one device, cpu";
    case DeviceType::Cuda: return why_no_cuda(d.index);
    case DeviceType::Null: return "";
    case DeviceType::ShapeOnly: return "tensors on it have sizes and no elements";
  }
  return "no such kind of device";
}

Backend& backend(Device d, const char* op, SourceLoc loc) {
  require_available(d, op, loc);
  REPRISE_CHECK(d.type != DeviceType::Cpu, " the host has no backend");
  return d.type == DeviceType::Cuda ? cuda_backend(d.index) : null_backend();
}

void require_available(Device d, const char* op, SourceLoc loc) {
  if (d == Device::cpu()) return;
  std::string why = why_unavailable(d);
  if (!why.empty()) fail(ErrorCode::DeviceUnavailable, op, loc, "device ", d.str(), " is not available: ", why);
}

void* allocate(Device d, std::int64_t bytes) {
  if (d == Device::cpu()) return host_allocate(bytes);
  return backend(d, "allocate").allocate(bytes);
}
void deallocate(Device d, void* p, std::int64_t bytes) noexcept {
  if (d == Device::cpu()) return host_free(p, bytes);
  backend(d).deallocate(p, bytes);  // made when the bytes were, so it throws nothing
}

}  // namespace device
}  // namespace reprise
