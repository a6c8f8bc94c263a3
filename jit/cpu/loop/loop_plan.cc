#include "jit/cpu/loop/loop_plan.h"

#include <algorithm>

#include "jit/emit/cost.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

using kernels::BodyNode;

Steps LoopPlan::steps(int cost) const {
  Steps s;
  s.unroll = std::min(most_unroll, cost <= 12 ? 4 : cost <= 24 ? 2 : 1);
  s.masked_only = s.unroll == 1;
  s.twice = cost <= 3 && effort == Effort::Fast;
  return s;
}

int LoopPlan::accumulators(DType t) const {
  const int virtual_lanes = t == DType::Float64 ? 32 : is_floating(t) ? 64 : 4 * lanes;
  return std::max(1, virtual_lanes / lanes);
}

/// Does it read rows that an index picks? What little effort leaves in memory between one row and the next then stands
/// between what is fetched of both.
static bool reads_rows_of_tables(const kernels::LoopKernel& k) {
  const int v = kernels::vector_dim(k);
  if (v < 0) return false;
  const kernels::LoopAnalysis info = kernels::analyse(k);
  for (const BodyNode& n : k.body) {
    if (n.kind != BodyNode::Kind::Load || k.accesses[n.access].gathers.empty() ||
        !kernels::is_plain(k.accesses[n.access].strides[static_cast<std::size_t>(v)], 1))
      continue;
    bool row = true;
    for (const kernels::Access::Gather& g : k.accesses[n.access].gathers) row = row && !(info.dims[g.node] >> v & 1);
    if (row) return true;
  }
  return false;
}

LoopPlan plan_of(const kernels::LoopKernel& k, const Host& host, LoopUse use) {
  LoopPlan p;
  int cost = 0;
  bool reduces = false, any4 = false, any8 = false;
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    cost += cost_of(k, i);
    reduces |= n.kind == BodyNode::Kind::Reduce;
    if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) continue;
    const int size = item_size(kernels::register_dtype(n.dtype));
    any4 |= size == 4, any8 |= size == 8;
  }
  // One count of lanes for all: that of 4-byte elements, unless everything is wider or narrower.
  const int element = any4 ? 4 : any8 ? 8 : 1;
  p.lanes = std::min(host.vector_bits / 8 / element, 32);
  for (const BodyNode& n : k.body)
    if (n.kind == BodyNode::Kind::Reduce) p.most_unroll = std::min(p.most_unroll, p.accumulators(n.dtype));
  p.short_rows = use == LoopUse::Fragment;
  p.effort = cost <= 24 && !reduces && use == LoopUse::Launch && !reads_rows_of_tables(k) ? Effort::Fast : Effort::Full;
  return p;
}

}  // namespace reprise::jit
