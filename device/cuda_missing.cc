// In place of device/cuda/ when the build found no cuda.h.
#include "base/errors.h"
#include "device/cuda/cuda.h"
#include "device/cuda/driver_times.h"
#include "reprise/cuda_code.h"

namespace reprise::device {

std::string why_no_cuda(int) { return "this build has no CUDA support (no cuda.h was found when it was configured)"; }
Backend& cuda_backend(int index) { fail(ErrorCode::DeviceUnavailable, "cuda", {}, why_no_cuda(index)); }

namespace cuda {
DriverTimes::DriverTimes() {}
DriverTimes::~DriverTimes() {}
void DriverTimes::set_counting(bool) {}
std::vector<DriverTimes::Entry> DriverTimes::entries() const { return {}; }
}  // namespace cuda

}  // namespace reprise::device

namespace reprise {

CudaCode::CudaCode(std::string, std::vector<std::string>) {}
void CudaCode::queue(const KernelCall& call, const char*, const Launch&, void**) const noexcept {
  call.fail(ErrorCode::DeviceUnavailable, device::why_no_cuda(0));
}

}  // namespace reprise
