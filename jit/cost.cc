#include "jit/cost.h"

#include <algorithm>

#include "kernels/loop_analysis.h"

namespace reprise::jit {

using kernels::BodyNode;
using kernels::ScalarOp;

namespace {

/// Instructions a vector of one operation takes, roughly.
int cost_of(const BodyNode& n) {
  if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) return 0;
  if (n.kind != BodyNode::Kind::Op) return 1;
  if (n.op >= ScalarOp::Exp && n.op <= ScalarOp::Lgamma) return is_floating(n.dtype) && n.dtype == DType::Float32 ? 14 : 40;
  switch (n.op) {
    case ScalarOp::Pow: case ScalarOp::Atan2: case ScalarOp::Hypot: case ScalarOp::FloorDiv: case ScalarOp::Remainder:
    case ScalarOp::Fmod: case ScalarOp::TruncDiv:
      return 30;
    default: return 1;
  }
}

}  // namespace

int LoopPlan::accumulators(DType t) const {
  const int virtual_lanes = t == DType::Float64 ? 32 : is_floating(t) ? 64 : 4 * lanes;
  return std::max(1, virtual_lanes / lanes);
}

LoopPlan plan_of(const kernels::LoopKernel& k, const Host& host) {
  int widest = 1;  // bytes of the widest value
  int cost = 0;
  bool reduces = false;
  for (const BodyNode& n : k.body) {
    if (n.kind != BodyNode::Kind::Index) widest = std::max(widest, item_size(kernels::register_dtype(n.dtype)));
    cost += cost_of(n);
    if (n.access != ~0u)
      for (std::size_t d = 0; d < k.extents.size(); ++d)
        if (static_cast<int>(d) == kernels::vector_dim(k) && !kernels::is_plain(k.accesses[n.access].strides[d], 0) &&
            !kernels::is_plain(k.accesses[n.access].strides[d], 1))
          cost += 6;
    reduces |= n.kind == BodyNode::Kind::Reduce;
  }
  LoopPlan p;
  // One count of lanes for all: that of 4-byte elements, unless everything is wider or narrower.
  bool any4 = false, any8 = false;
  for (const BodyNode& n : k.body) {
    if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) continue;
    const int size = item_size(kernels::register_dtype(n.dtype));
    any4 |= size == 4 || (is_low_precision(n.dtype));
    any8 |= size == 8;
  }
  const int element = any4 ? 4 : any8 ? 8 : 1;
  p.lanes = std::min(host.vector_bits / 8 / element, 32);
  p.unroll = cost <= 12 ? 4 : cost <= 24 ? 2 : 1;
  p.masked_only = p.unroll == 1;
  for (const BodyNode& n : k.body)
    if (n.kind == BodyNode::Kind::Reduce) p.unroll = std::min(p.unroll, p.accumulators(n.dtype));
  p.effort = cost <= 24 && !reduces ? Effort::Fast : Effort::Full;
  return p;
}

}  // namespace reprise::jit
