#pragma once
#include <span>

#include "device/backend.h"
#include "kernels/launch/launch.h"

namespace reprise::runtime {

/// What code for these launches is made for on a device that is not the host.
///
/// Note [Trial of warpgroups]
/// The products of warpgroups (jit/gpu/kernels/warpgroup_cores.h) exist on one architecture alone, and say by a few
/// numbers how matrices lie swizzled in shared memory. Nobody is to have a wrong result because a device takes these
/// numbers otherwise than its manual. So the first program that would use them lets one block of the device multiply
/// matrices whose products are known (jit/gpu/kernels/warpgroup_trial.cc), once a process and device: some tens of
/// microseconds. Where they are not what they must be, or the driver refuses the kernel, the tensor cores of warps
/// serve as they do on other architectures, and a warning says so once.
device::CodeTarget code_target(Device, std::span<const kernels::Launch>);

/// Where code is made for any launch that there may be.
device::CodeTarget code_target(Device);

}  // namespace reprise::runtime
