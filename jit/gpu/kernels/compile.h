#pragma once
#include <vector>

#include "device/backend.h"
#include "kernels/launch/code.h"

namespace reprise::jit {

/// A kernel of kernels/gpu/kernels.h for a device that runs blocks of threads: compiled, or found by content. Any thread. Throws Internal
/// for an unknown kind.
/// `guarded`: with a record of faults as one more buffer, after which it does nothing.
/// `words`: of the number of blocks and then of the numbers in the order of Args: which are words of a recording. They stand behind the buffers, each in a pointer's place: the
/// "address" is the number, so that it may move from run to run as addresses do; the others come after them. Blocks behind the number of
/// blocks do nothing. None where it is empty.
device::ImagePtr compile_gpu(const kernels::KernelCode&, const device::CodeTarget& target, bool guarded = false, const std::vector<bool>& words = {});

}  // namespace reprise::jit
