#include "jit/emit/cost.h"

#include "kernels/loop/analysis.h"

namespace reprise::jit {

using kernels::BodyNode;

int cost_of(const kernels::LoopKernel& k, std::size_t i) {
  const BodyNode& n = k.body[i];
  if (n.kind == BodyNode::Kind::Const || n.kind == BodyNode::Kind::Param) return 0;
  if (n.access != ~0u) {
    const kernels::Access& a = k.accesses[n.access];
    const int v = kernels::vector_dim(k);
    const bool run = v < 0 || kernels::is_plain(a.strides[static_cast<std::size_t>(v)], 0) ||
                     kernels::is_plain(a.strides[static_cast<std::size_t>(v)], 1);
    return run && a.gathers.empty() ? 1 : 8;
  }
  if (n.kind != BodyNode::Kind::Op) return 1;
  switch (kernels::scalar_op(n.op).cost) {
    case kernels::ScalarCost::Simple: return 1;
    case kernels::ScalarCost::Division:
    case kernels::ScalarCost::Function2: return 30;
    case kernels::ScalarCost::Function: return n.dtype == DType::Float32 ? 16 : 40;
  }
  return 1;
}

}  // namespace reprise::jit
