#pragma once
#include <vector>

#include "device/backend.h"
#include "jit/engine/code.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/launch/launch.h"

namespace reprise::runtime {

/// The code of one launch, as far as it has some.
struct LaunchCode {
  jit::CodePtr loop;                ///< of a loop kernel that the host runs
  std::vector<jit::CodePtr> micro;  ///< NativeLaunch::micro
  jit::GpuKernelPtr gpu;            ///< of a loop kernel that the device runs
  device::ImagePtr image;           ///< of a GpuLaunch
};

/// Who makes code.
enum class Makers : std::uint8_t {
  All,     ///< as many threads as kernels may use: the caller waits for a call's result
  Caller,  ///< this thread alone: others serve calls meanwhile
};

/// By launch. `target`: whose loop kernels are made where it has an architecture; null code there is the host's. Throws
/// what the first launch that cannot be compiled throws.
std::vector<LaunchCode> compile_launches(const std::vector<kernels::Launch>&, const device::CodeTarget& target, Makers);

}  // namespace reprise::runtime
