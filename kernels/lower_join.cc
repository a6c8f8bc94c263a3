#include "kernels/lower_join.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

JoinPlan plan_cat(const Graph& g, const Node& node, const Layout& result) {
  JoinPlan plan;
  const auto& parts = std::get<std::vector<ValueId>>(node.args[0]);
  int rank = result.dim();
  int dim = wrap_dim(std::get<Int>(node.args[1]).hint(), rank, "cat", node.loc);
  Int at = 0;
  for (ValueId p : parts) {
    const Ints& sizes = g.meta(p).layout.sizes;
    if (static_cast<int>(sizes.size()) != rank) continue;  // ATen's legacy: an empty 1-dim tensor is skipped
    Layout region{sizes, result.strides, result.offset + at * result.strides[dim]};
    for (int d = 0; d < rank; ++d) {
      if (d != dim) region.sizes[d] = result.sizes[d];
    }
    plan.parts.push_back({p, std::move(region)});
    at = at + sizes[dim];
  }
  return plan;
}

}  // namespace

bool has_parts(OpId op) { return graph::op(op).cls == graph::OpClass::Join && op != OpId::as_strided_scatter; }

std::optional<JoinPlan> plan_join(const Graph& g, const Node& node, const Layout& result) {
  OpId view;
  switch (node.op) {
    case OpId::cat: return plan_cat(g, node, result);
    case OpId::slice_scatter: view = OpId::slice; break;
    case OpId::select_scatter: view = OpId::select; break;
    case OpId::diagonal_scatter: view = OpId::diagonal; break;
    default: return std::nullopt;
  }
  std::vector<NodeArg> args = node.args;
  args.erase(args.begin() + 1);
  JoinPlan plan;
  plan.base = std::get<ValueId>(node.args[0]);
  ValueId part = std::get<ValueId>(node.args[1]);
  plan.parts.push_back({part, known_view_of(g, view, args, result, g.meta(part).layout.sizes, node.loc)});
  return plan;
}

}  // namespace reprise::kernels
