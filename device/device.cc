#include "reprise/device.h"

#include <ostream>

#include "base/errors.h"
#include "device/device_memory.h"
#include "device/host_memory.h"

namespace reprise {

std::string Device::str() const {
  switch (type) {
    case DeviceType::Cpu:
      return "cpu";
    case DeviceType::Cuda:
      return "cuda:" + std::to_string(index);
    case DeviceType::Null:
      return "null";
  }
  return "device " + std::to_string(static_cast<int>(type));
}
std::ostream& operator<<(std::ostream& s, Device d) { return s << d.str(); }

namespace device {

void require_available(Device d, const char* op, SourceLoc loc) {
  if (d.type == DeviceType::Cpu && d.index == 0) return;
  const char* why = d.type == DeviceType::Cpu    ? "the host is one device, cpu"
                    : d.type == DeviceType::Cuda ? "this build has no CUDA device support"
                                                 : "this build keeps no tensors on the recording device";
  fail(ErrorCode::DeviceUnavailable, op, loc, "device ", d.str(), " is not available: ", why);
}

void* allocate(Device d, std::int64_t bytes) {
  require_available(d, "allocate");
  return host_allocate(bytes);
}
void deallocate(Device, void* p, std::int64_t bytes) noexcept { host_free(p, bytes); }

}  // namespace device
}  // namespace reprise
