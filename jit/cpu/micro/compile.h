#pragma once
#include "jit/engine/code.h"
#include "kernels/launch/code.h"

namespace reprise::jit {

/// A kernel of kernels/cpu/micro_kernels.h; as of loop kernels (jit/cpu/loop/compile.h). Throws Error(Internal) for an unknown kind.
CodePtr compile(const kernels::KernelCode&);

}  // namespace reprise::jit
