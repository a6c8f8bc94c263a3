#pragma once
#include <cstddef>

#include "kernels/loop/ir.h"

namespace reprise::jit {

/// Instructions a vector of body node `i` takes, roughly.
int cost_of(const kernels::LoopKernel&, std::size_t i);

}  // namespace reprise::jit
