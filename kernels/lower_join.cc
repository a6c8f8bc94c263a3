#include "kernels/lower_join.h"

#include "graph/shape_rules.h"

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

bool is_region_join(const Graph& g, const Node& node) {
  return node.op == OpId::as_strided_scatter && graph::known_apart(std::get<Ints>(node.args[2]), std::get<Ints>(node.args[3])) &&
         std::holds_alternative<Int>(node.args[4]) && known_contiguous(g.meta(std::get<ValueId>(node.args[0])).layout);
}

bool is_row_major(const Layout& l) {
  Layout at_start = l;
  at_start.offset = 0;
  return same_layout(at_start, contiguous_layout(l.sizes));
}

std::optional<JoinPlan> plan_join(const Graph& g, const Node& node, const Layout& result) {
  OpId view;
  switch (node.op) {
    case OpId::cat: return plan_cat(g, node, result);
    case OpId::slice_scatter: view = OpId::slice; break;
    case OpId::select_scatter: view = OpId::select; break;
    case OpId::diagonal_scatter: view = OpId::diagonal; break;
    case OpId::as_strided_scatter: {
      if (!is_region_join(g, node) || !is_row_major(result)) return std::nullopt;
      JoinPlan plan;
      plan.base = std::get<ValueId>(node.args[0]);
      plan.parts.push_back({std::get<ValueId>(node.args[1]), {std::get<Ints>(node.args[2]), std::get<Ints>(node.args[3]), result.offset + std::get<Int>(node.args[4])}});
      return plan;
    }
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
