#include "device/cuda/context.h"

namespace reprise::device::cuda {

Context::Context(int i) : index(i) {
  check(cu().cuDeviceGet(&device, i), "finding device");
  char text[256] = {};
  check(cu().cuDeviceGetName(text, sizeof text, device), "naming the device");
  name = text;
  auto attribute = [&](CUdevice_attribute a) {
    int v = 0;
    check(cu().cuDeviceGetAttribute(&v, a, device), "asking the device");
    return v;
  };
  major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  std::size_t bytes = 0;
  check(cu().cuDeviceTotalMem(&bytes, device), "measuring the device's memory");
  total_bytes = static_cast<std::int64_t>(bytes);
  check(cu().cuDevicePrimaryCtxRetain(&handle, device), "opening the device");
}

// Other libraries of the process change the current context, too, so what was set last is not remembered.
void Context::enter() const {
  check_usable();
  check(cu().cuCtxSetCurrent(handle), "entering the device's context");
}
CUresult Context::synchronize() const {
  std::shared_lock lock(capturing);
  return cu().cuCtxSynchronize();
}
void Context::enter_quietly() const noexcept { warn(cu().cuCtxSetCurrent(handle), "entering the device's context"); }

}  // namespace reprise::device::cuda
