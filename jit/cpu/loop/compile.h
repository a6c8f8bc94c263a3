#pragma once
#include <string>

#include "jit/engine/code.h"
#include "kernels/loop/ir.h"

namespace reprise::jit {

/// Compiles, or finds by content (canonical_text + code_key + host CPU). Any thread; the same kernel asked for twice at
/// once is compiled once. Throws Error(Internal) with the kernel's text when LLVM refuses it.
CodePtr compile(const kernels::LoopKernel&);
/// The LLVM IR of a kernel as text (tests).
std::string llvm_ir(const kernels::LoopKernel&);

}  // namespace reprise::jit
