#pragma once
#include "kernels/loop/ir.h"
#include "reprise/source_location.h"

namespace reprise::kernels {

/// Are 32 bits enough for every index of this kernel and for every offset from where its accesses start? True when that
/// is proved, or when it holds for the sizes being traced and a guard (of the line `where`) makes sure of it: calls
/// with more elements get a specialization of their own, which then counts in 64 bits.
bool fits_in_32_bits(const LoopKernel&, SourceLoc where);

}  // namespace reprise::kernels
