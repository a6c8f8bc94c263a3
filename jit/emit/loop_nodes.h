#pragma once
#include <vector>

#include "kernels/loop/analysis.h"

namespace llvm {
class Value;
}

namespace reprise::jit {

class Emitter;

// What the emitters of loop kernels for the host and for GPUs share: questions about a body's nodes, and their values
// that do not depend on how the loops stand.

/// The nodes that `roots` need when the reductions of depth <= stage are finished, and those within parts of depth <=
/// part_stage; what `stashed` needs is left out.
std::vector<bool> needed_by(const kernels::LoopKernel&, const kernels::LoopAnalysis&,
                            const std::vector<std::uint32_t>& roots, int stage, std::uint32_t stashed = ~0u,
                            int part_stage = 0);
/// Of these nodes the reductions within parts of depth `part_depth`.
std::vector<std::uint32_t> within_parts(const kernels::LoopKernel&, const kernels::LoopAnalysis&,
                                        const std::vector<bool>& need, int part_depth);
/// Stores by how often they happen in the last run: at every index inside a part, once for each part, once.
struct Stores {
  std::vector<std::uint32_t> inside, per_part, here;
  explicit Stores(const kernels::LoopKernel&, const kernels::LoopAnalysis&);
};
/// A scalar in registers.
llvm::Value* constant_of(Emitter&, const kernels::BodyNode&);
/// What a reduction starts from: a scalar constant.
llvm::Value* identity_of(Emitter&, const kernels::BodyNode&);
/// One step of a reduction: scalars or vectors of its dtype.
llvm::Value* combine_into(Emitter&, const kernels::BodyNode&, llvm::Value* x, llvm::Value* acc);
/// total + correction += x, the correction taking what the addition to the total lost.
void add_compensated(Emitter&, llvm::Value*& total, llvm::Value*& correction, llvm::Value* x);
/// Their sum: an infinite total has a NaN for its correction.
llvm::Value* compensated_sum(Emitter&, llvm::Value* total, llvm::Value* correction);

}  // namespace reprise::jit
