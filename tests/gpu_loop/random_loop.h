#pragma once
#include <cstdint>

#include "kernels/loop/ir.h"

namespace reprise::test {

/// A random loop kernel: any dims and strides, gathers, predicates, indices, parameters, reductions one after another.
/// On small integers it is exact: products and sums are clamped.
kernels::LoopKernel random_loop(std::uint32_t seed);

}  // namespace reprise::test
