#pragma once
#include <cstdint>

#include "device/backend.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

// Note [Threads of a loop kernel]
// Pointwise (nothing is reduced): a thread computes a run of `run` neighbouring elements along the vector dim, with
//   accesses as wide as the run, where all extents, strides and addresses are multiples of it. Where they are not, the
//   same threads take single elements of the flat index space, neighbours next to each other in each step.
// Rows (the vector dim is reduced): a team of threads computes one kept point. The reduced space is cut into runs along
// the
//   vector dim; run c belongs to member c mod team. A team is a part of a warp, a warp, or the whole block, by the
//   number of runs.
//   Where a row is walked more than once and its runs are few for each member, by the sizes at hand when the code is
//   made, each member keeps what later walks need of its `kept_runs` runs in registers: a row is read once, and nothing
//   is computed twice. Rows of other lengths are walked again, in the same order.
// Columns (the vector dim is kept): `width` neighbouring threads stand at neighbouring runs of kept points, and the
// rest of the
//   block's threads above them share the reduced space: index r belongs to member r mod team. Where runs cannot be
//   accessed at once, the block takes its points in `run` turns, neighbours side by side.
//
// Parts of a row (LoopKernel::n_parts) are taken by groups of a team, part p by group p mod groups; a group is as many
// members as a part has runs, a warp at most (Columns: one member), so what is reduced within a part needs no barrier.
//
// Which element is added where depends on sizes only, not on how memory is aligned: results are the same bits.

/// How a loop kernel is spread over threads: a function of its structure and, as said, of the sizes at hand. It serves
/// all sizes: what depends on these is computed by the functions below, on the host for the grid and in the code for
/// the rest.
struct GpuSchedule {
  enum class Kind : std::uint8_t { Pointwise, Rows, Columns } kind = Kind::Pointwise;
  int vector_dim = -1;  ///< -1: there are no dims
  /// elements along the vector dim that a thread takes at once; a power of two. Columns: by the sizes at hand
  int run = 1;
  int threads = 256;  ///< of a block
  /// Rows: of each member, in registers from walk to walk, by the sizes at hand; 0: they are walked again
  int kept_runs = 0;
  int kept_team_log2 = 0;   ///< of such rows: the team
  bool kept_whole = false;  ///< and that each member has all of these runs
  int resident = 1;  ///< blocks that a processor holds at once, for bodies that are known to fit into its registers
};
GpuSchedule gpu_schedule(const kernels::LoopKernel&);

/// Does the access step by single elements along `dim`, wherever else it goes?
bool is_run_access(const kernels::LoopKernel&, const kernels::LoopAnalysis&, std::size_t access, int dim);

/// log2 of the threads of a team: Rows. M: arithmetic on the host or in code.
template <class M>
typename M::N row_team_log2(M m, const GpuSchedule& s, typename M::N runs, typename M::N kept) {
  const auto narrow = m.min(m.log2_ceil(runs), m.number(5));
  const auto many =
      m.min(m.number(256), m.max(m.number(64), m.shift_right(kept, 4)));  // few rows: more threads for each
  return m.select_less(many, runs, m.log2_ceil(m.number(s.threads)), narrow);
}
/// log2 of the threads of a block that stand side by side: Columns. `kept`: runs of kept points.
template <class M>
typename M::N column_width_log2(M m, const GpuSchedule& s, typename M::N reduced, typename M::N kept) {
  const auto all = m.log2_ceil(m.number(s.threads));
  const auto share = m.min(all, m.log2_ceil(m.max(m.number(1), m.shift_right(reduced, 2))));  // members that have work
  // A line of the cache or more, whatever a thread takes of it.
  const auto least = s.run > 1 ? m.number(3) : m.select_less(m.number(8191), kept, m.number(5), m.number(4));
  return m.max(m.subtract(all, share), m.min(least, m.log2_ceil(m.max(m.number(1), kept))));
}

/// The arithmetic of the host.
struct HostMath {
  using N = std::int64_t;
  N number(std::int64_t v) const { return v; }
  N min(N a, N b) const { return a < b ? a : b; }
  N max(N a, N b) const { return a > b ? a : b; }
  N subtract(N a, N b) const { return a - b; }
  N shift_right(N a, int by) const { return a >> by; }
  N select_less(N a, N b, N yes, N no) const { return a < b ? yes : no; }
  /// Of what is at least 0; 0 for 0.
  N log2_ceil(N a) const { return a <= 1 ? 0 : 64 - __builtin_clzll(static_cast<unsigned long long>(a - 1)); }
};

/// Blocks for these sizes.
device::Dim3 grid_blocks(const kernels::LoopKernel&, const kernels::ParamSlots&, const GpuSchedule&,
                         const std::int64_t* params);

}  // namespace reprise::jit
