#include "jit/gpu/loop/schedule.h"

#include <algorithm>

#include "base/errors.h"
#include "jit/emit/cost.h"

namespace reprise::jit {

using kernels::BodyNode;
using kernels::is_plain;
using kernels::LoopKernel;

bool is_run_access(const LoopKernel& k, const kernels::LoopAnalysis& info, std::size_t access, int dim) {
  const kernels::Access& a = k.accesses[access];
  if (dim < 0 || !is_plain(a.strides[static_cast<std::size_t>(dim)], 1)) return false;
  return std::none_of(a.gathers.begin(), a.gathers.end(), [&](const auto& g) { return info.dims[g.node] >> dim & 1; });
}

GpuSchedule gpu_schedule(const LoopKernel& k) {
  GpuSchedule s;
  s.vector_dim = kernels::vector_dim(k);
  const int rank = static_cast<int>(k.extents.size());
  s.kind = k.n_kept == rank           ? GpuSchedule::Kind::Pointwise
           : s.vector_dim >= k.n_kept ? GpuSchedule::Kind::Rows
                                      : GpuSchedule::Kind::Columns;
  s.threads = s.kind == GpuSchedule::Kind::Pointwise ? 128 : 256;
  if (s.kind == GpuSchedule::Kind::Columns || s.vector_dim < 0) return s;
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
    case GpuSchedule::Kind::Pointwise:
      blocks = ceil(kept, std::int64_t{s.threads} * s.run);
      break;
    case GpuSchedule::Kind::Rows: {
      const std::int64_t v = extent(static_cast<std::size_t>(s.vector_dim));
      const std::int64_t runs = v == 0 ? 0 : reduced / v * ceil(v, s.run);
      blocks = ceil(kept << row_team_log2(HostMath{}, s, runs, kept), s.threads);
      break;
    }
    case GpuSchedule::Kind::Columns:
      blocks = ceil(kept, std::int64_t{1} << column_width_log2(HostMath{}, s, reduced, kept));
      break;
  }
  if (blocks > INT32_MAX)
    fail(ErrorCode::InvalidArgument, k.name.empty() ? "loop kernel" : k.name.c_str(), {}, kept,
         " elements are more than one launch can cover");
  return {static_cast<std::uint32_t>(blocks), 1, 1};
}

}  // namespace reprise::jit
