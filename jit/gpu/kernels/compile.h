#pragma once
#include "device/backend.h"
#include "kernels/launch/code.h"

namespace reprise::jit {

/// A kernel of kernels/gpu/kernels.h for a device that runs blocks of threads: compiled, or found by content. Any thread. Throws Internal
/// for an unknown kind.
/// `guarded`: with a record of faults as one more buffer, after which it does nothing.
device::ImagePtr compile_gpu(const kernels::KernelCode&, const device::CodeTarget& target, bool guarded = false);

}  // namespace reprise::jit
