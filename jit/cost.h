#pragma once
#include "jit/engine.h"
#include "kernels/loop_ir.h"

namespace reprise::jit {

/// How a loop kernel is emitted: how wide, how far unrolled, with how much effort. A function of the kernel's text and
/// the host alone.
struct LoopPlan {
  int lanes = 16;            ///< elements of a vector, the same for all dtypes of the kernel
  int unroll = 1;            ///< vectors of an unmasked step; divides every count of accumulators
  bool masked_only = false;  ///< one body, each step under a mask: half the code, where the body is long
  Effort effort = Effort::Full;
  /// Vectors that take turns in a reduction along the vector dim; see Note [Sums do not depend on the code].
  int accumulators(DType) const;
};
LoopPlan plan_of(const kernels::LoopKernel&, const Host&);

}  // namespace reprise::jit
