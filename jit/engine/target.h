#pragma once
#include <string>

#include "device/cpu_info.h"

namespace reprise::jit {

/// Has the processor that this thread makes code for the instructions of x86-64 (device/cpu_level.h)? Else there are
/// those of LLVM alone.
inline bool makes_x86() { return device::cpu_info().family == device::CpuInfo::Family::X86_64; }
/// LLVM's name of the system that it is made for.
std::string target_triple();

}  // namespace reprise::jit
