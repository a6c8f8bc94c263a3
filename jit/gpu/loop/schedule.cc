#include "jit/gpu/loop/schedule.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "guards/shape_env.h"
#include "jit/emit/cost.h"
#include "jit/emit/loop_nodes.h"

namespace reprise::jit {

using kernels::BodyNode;
using kernels::is_plain;
using kernels::LoopKernel;

bool is_run_access(const LoopKernel& k, const kernels::LoopAnalysis& info, std::size_t access, int dim) {
  const kernels::Access& a = k.accesses[access];
  if (dim < 0 || !is_plain(a.strides[static_cast<std::size_t>(dim)], 1)) return false;
  return std::none_of(a.gathers.begin(), a.gathers.end(), [&](const auto& g) { return info.dims[g.node] >> dim & 1; });
}

namespace {

/// The number that a size had in the traced call; nothing where its trace is gone. What is chosen by it is right for
/// all numbers.
std::optional<std::int64_t> at_hand(Int i) {
  if (!i.is_symbolic()) return i.hint();
  try {
    const guards::Expr* e = i.living();
    return e->env().evaluate_hint(e);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Values of an element that a later walk over a row needs from an earlier one, at most; 0: it is walked once, or what
/// a walk needs cannot be kept (loads where a reduction's value says).
int carried_values(const LoopKernel& k, const kernels::LoopAnalysis& info) {
  const auto nodes = static_cast<std::uint32_t>(k.body.size());
  const Stores stores(k, info);
  const int walks = info.max_depth + (stores.inside.empty() ? 0 : 1);
  if (walks < 2 || k.n_parts > 0) return 0;
  std::vector<int> first(nodes, walks);  // the walk that computes a node
  for (int walk = walks; walk-- > 0;) {
    std::vector<std::uint32_t> roots = walk == info.max_depth ? stores.inside : std::vector<std::uint32_t>();
    for (std::uint32_t i = 0; i < nodes; ++i)
      if (k.body[i].kind == BodyNode::Kind::Reduce && info.depth[i] == walk + 1) roots.push_back(k.body[i].a);
    const std::vector<bool> need = needed_by(k, info, roots, walk);
    for (std::uint32_t i = 0; i < nodes; ++i)
      if (need[i] && info.dims[i] & info.reduced_mask) first[i] = walk;
    if (walk == info.max_depth) continue;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      if (!need[i] || k.body[i].kind != BodyNode::Kind::Load || !(info.dims[i] & info.reduced_mask)) continue;
      if (!k.accesses[k.body[i].access].gathers.empty()) return 0;
      first[i] = 0;  // all that is reduced is loaded before the first walk
    }
  }
  int most = 1;
  for (int after = 0; after + 1 < walks; ++after) {
    std::vector<bool> lives(nodes, false);
    for (std::uint32_t j = 0; j < nodes; ++j) {
      for (std::uint32_t o : {k.body[j].a, k.body[j].b, k.body[j].c}) {
        if (o == ~0u || first[o] > after) continue;
        const bool later = k.body[j].kind == BodyNode::Kind::Reduce
                               ? info.depth[j] > after + 1
                               : k.body[j].kind == BodyNode::Kind::Store || first[j] > after;
        if (later) lives[o] = true;
      }
    }
    most = std::max(most, static_cast<int>(std::count(lives.begin(), lives.end(), true)));
  }
  return most;
}

/// Elements that a thread may keep, all values together: with them it still has registers for the rest.
constexpr int kMostKept = 32;

void keep_rows(const LoopKernel& k, const kernels::LoopAnalysis& info, GpuSchedule& s) {
  const int carried = carried_values(k, info);
  if (carried == 0) return;
  std::int64_t kept = 1, runs = 1;
  for (std::size_t d = 0; d < k.extents.size(); ++d) {
    const std::optional<std::int64_t> extent = at_hand(k.extents[d]);
    if (!extent) return;
    if (d < static_cast<std::size_t>(k.n_kept)) kept *= *extent;
    else runs *= static_cast<int>(d) == s.vector_dim ? (*extent + s.run - 1) / s.run : *extent;
  }
  const std::int64_t team_log2 = row_team_log2(HostMath{}, s, runs, kept), team = std::int64_t{1} << team_log2,
                     each = (runs + team - 1) / team;
  if (each == 0 || each * s.run * carried > kMostKept) return;
  s.kept_runs = static_cast<int>(each), s.kept_team_log2 = static_cast<int>(team_log2),
  s.kept_whole = each << team_log2 == runs;
}

}  // namespace

GpuSchedule gpu_schedule(const LoopKernel& k) {
  GpuSchedule s;
  s.vector_dim = kernels::vector_dim(k);
  const int rank = static_cast<int>(k.extents.size());
  s.kind = k.n_kept == rank           ? GpuSchedule::Kind::Pointwise
           : s.vector_dim >= k.n_kept ? GpuSchedule::Kind::Rows
                                      : GpuSchedule::Kind::Columns;
  s.threads = s.kind == GpuSchedule::Kind::Pointwise ? 128 : 256;
  if (s.vector_dim < 0 || (s.kind == GpuSchedule::Kind::Columns && k.n_parts > 0)) return s;
  const kernels::LoopAnalysis info = kernels::analyse(k);
  int least = 16, cost = 0, widest = 1;
  bool runs = false;
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    cost += cost_of(k, i);
    if (n.access == ~0u || !is_run_access(k, info, n.access, s.vector_dim)) continue;
    const int size = item_size(k.buffers[k.accesses[n.access].buffer].dtype);
    least = std::min(least, size), widest = std::max(widest, size), runs = true;
  }
  // 64 registers for each thread: enough for few values and few addresses (tests/gpu_loop asks ptxas).
  if (s.kind == GpuSchedule::Kind::Rows && cost <= 40 && rank <= 2 && k.accesses.size() <= 2) s.resident = 4;
  if (!runs) return s;
  // All values of a run live at once: long bodies have shorter runs, but no shorter than one access of the widest.
  const int most = cost > 120 ? 2 : cost > 40 ? 4 : 8;
  s.run = std::max(std::min(16 / least, most), std::min(16 / widest, 4));
  // Columns of which runs cannot be accessed at once stand side by side one by one.
  if (s.kind == GpuSchedule::Kind::Columns &&
      at_hand(k.extents[static_cast<std::size_t>(s.vector_dim)]).value_or(1) % s.run != 0)
    s.run = 1;
  if (s.kind == GpuSchedule::Kind::Rows && s.run > 1) keep_rows(k, info, s);
  return s;
}

device::Dim3 grid_blocks(const LoopKernel& k, const kernels::ParamSlots& slots, const GpuSchedule& s,
                         const std::int64_t* params) {
  std::int64_t kept = 1, reduced = 1;
  auto extent = [&](std::size_t d) { return params[slots.extents[d]]; };
  for (std::size_t d = 0; d < k.extents.size(); ++d)
    (d < static_cast<std::size_t>(k.n_kept) ? kept : reduced) *= extent(d);
  auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  std::int64_t blocks = 0;
  switch (s.kind) {
    case GpuSchedule::Kind::Pointwise: blocks = ceil(kept, std::int64_t{s.threads} * s.run); break;
    case GpuSchedule::Kind::Rows: {
      const std::int64_t v = extent(static_cast<std::size_t>(s.vector_dim));
      const std::int64_t runs = v == 0 ? 0 : reduced / v * ceil(v, s.run);
      blocks = ceil(kept << row_team_log2(HostMath{}, s, runs, kept), s.threads);
      break;
    }
    case GpuSchedule::Kind::Columns: {
      const std::int64_t runs = ceil(kept, s.run);
      blocks = ceil(runs, std::int64_t{1} << column_width_log2(HostMath{}, s, reduced, runs));
      break;
    }
  }
  if (blocks > INT32_MAX)
    fail(ErrorCode::InvalidArgument, k.name.empty() ? "loop kernel" : k.name.c_str(), {}, kept,
         " elements are more than one launch can cover");
  return {static_cast<std::uint32_t>(blocks), 1, 1};
}

}  // namespace reprise::jit
