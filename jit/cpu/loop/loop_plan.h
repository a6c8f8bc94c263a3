#pragma once
#include "jit/engine/engine.h"
#include "kernels/loop/ir.h"

namespace reprise::jit {

// Note [Masked steps]
// A long body comes once, each step under a mask that has all lanes but in the last step. Masked loads and stores are
// not like others: on some processors nothing is fetched ahead of them (out of memory they take twice the time), and
// where there are no masks for elements of 8 and 16 bits these are moved one by one. So an access asks whether all
// lanes are there, and needs no mask then.

/// How a loop over the vector dim steps.
struct Steps {
  int unroll = 1;  ///< vectors of an unmasked step
  /// where nothing is carried: first by twice as many. Code made with little effort keeps its counter in memory, where
  /// its stores wait behind those of results
  bool twice = false;
  bool masked_only = false;  ///< one body, each step under a mask: half the code, where the body is long
};

/// What a loop kernel is for. Fragments run over rows of a few vectors, of blocks in the nearest caches, so often that
/// what they do for each row counts.
enum class LoopUse { Launch, Fragment };

/// How a loop kernel is emitted: how wide, with how much effort. A function of the kernel's text, its use and the host
/// alone.
struct LoopPlan {
  int lanes = 16;       ///< elements of a vector, the same for all dtypes of the kernel
  int most_unroll = 4;  ///< divides every count of accumulators
  Effort effort = Effort::Full;
  bool short_rows = false;  ///< between whole groups of vectors and the step under a mask stand whole vectors
  /// Of a loop whose body costs `cost`.
  Steps steps(int cost) const;
  /// Vectors that take turns in a reduction along the vector dim; see Note [Sums do not depend on the code].
  int accumulators(DType) const;
};
LoopPlan plan_of(const kernels::LoopKernel&, const Host&, LoopUse = LoopUse::Launch);

}  // namespace reprise::jit
