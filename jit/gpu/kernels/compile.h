#pragma once
#include <cstdint>
#include <vector>

#include "device/backend.h"
#include "kernels/launch/code.h"

namespace reprise::jit {

/// A kernel of kernels/gpu/kernels.h for a device that runs blocks of threads: compiled, or found by content. Any
/// thread. Throws Internal for an unknown kind. `guarded`: with a record of faults as one more buffer, after which it
/// does nothing. `words`: of the number of blocks and then of the numbers in the order of Args: which are words of a
/// recording. They stand behind the buffers, each in a pointer's place: the "address" is the number, so that it may
/// move from run to run as addresses do; the others come after them. Blocks behind the number of blocks do nothing.
/// None where it is empty.
device::ImagePtr compile_gpu(const kernels::KernelCode&, const device::CodeTarget& target, bool guarded = false,
                             const std::vector<bool>& words = {});

/// What a device says of the products of its warpgroups (Note [Trial of warpgroups] in
/// runtime/replay/warpgroup_trial.h).
struct WarpgroupTrial {
  device::ImagePtr image;  ///< of one block; its buffer is an Int32 for each thread
  std::int32_t agreed;     ///< what each is where all of a thread's sums are right
};
/// A kernel that multiplies, by warpgroups, matrices that lie in all the ways in which kernels have them, and counts
/// the sums that are what they must be. `target`: of sm_90.
WarpgroupTrial warpgroup_trial(const device::CodeTarget& target);

}  // namespace reprise::jit
