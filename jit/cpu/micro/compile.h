#pragma once
#include "jit/engine/code.h"
#include "kernels/launch/code.h"

namespace reprise::jit {

struct Host;

/// A kernel of kernels/cpu/micro_kernels.h; as of loop kernels (jit/cpu/loop/compile.h). Throws Error(Internal) for an
/// unknown kind.
CodePtr compile(const kernels::KernelCode&);
/// Its assembly for another machine (jit/engine/engine.h).
std::string assembly_text(const kernels::KernelCode&, const Host&);

}  // namespace reprise::jit
