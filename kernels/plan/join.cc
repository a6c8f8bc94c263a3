#include "kernels/plan/join.h"

#include "graph/view_column.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

std::optional<JoinPlan> plan_cat(const Graph& g, const Node& node, const Layout& result) {
  JoinPlan plan;
  const auto& parts = std::get<std::vector<ValueId>>(node.args[0]);
  int rank = result.dim();
  int dim = wrap_dim(std::get<Int>(node.args[1]).hint(), rank, "cat", node.info.loc);
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

bool is_region_join(const Graph& g, const Node& node) {
  return graph::is_scatter_in_storage(node.op) &&
         graph::known_apart(std::get<Ints>(node.args[2]), std::get<Ints>(node.args[3])) &&
         std::holds_alternative<Int>(node.args[4]) && known_contiguous(g.meta(std::get<ValueId>(node.args[0])).layout);
}

bool is_row_major(const Layout& l) {
  Layout at_start = l;
  at_start.offset = 0;
  return same_layout(at_start, contiguous_layout(l.sizes));
}

namespace {

/// The part goes where the view of the same arguments is.
std::optional<JoinPlan> part_at_view(const Graph& g, const Node& node, const Layout& result) {
  const std::optional<OpId> view = graph::view_of_scatter(node.op);
  REPRISE_CHECK(view);
  std::vector<NodeArg> args = node.args;
  args.erase(args.begin() + 1);
  JoinPlan plan;
  plan.base = std::get<ValueId>(node.args[0]);
  ValueId part = std::get<ValueId>(node.args[1]);
  plan.parts.push_back({part, known_view_of(g, *view, args, result, g.meta(part).layout.sizes, node.info.loc)});
  return plan;
}

std::optional<JoinPlan> part_at_place(const Graph& g, const Node& node, const Layout& result) {
  if (!is_region_join(g, node) || !is_row_major(result)) return std::nullopt;
  JoinPlan plan;
  plan.base = std::get<ValueId>(node.args[0]);
  plan.parts.push_back(
      {std::get<ValueId>(node.args[1]),
       {std::get<Ints>(node.args[2]), std::get<Ints>(node.args[3]), result.offset + std::get<Int>(node.args[4])}});
  return plan;
}

constinit graph::OpColumn<JoinRule> g_column("plan of its parts",
                                             {
                                                 {OpId::cat, {plan_cat, true, false}},
                                                 {OpId::slice_scatter, {part_at_view}},
                                                 {OpId::select_scatter, {part_at_view}},
                                                 {OpId::diagonal_scatter, {part_at_view}},
                                                 {OpId::as_strided_scatter, {part_at_place, false}},
                                             },
                                             graph::is_of<graph::OpClass::Join>);

}  // namespace

graph::OpColumn<JoinRule>& join_rules() { return g_column; }

bool has_parts(OpId op) {
  const JoinRule* rule = g_column.find(op);
  return rule && rule->always;
}

bool has_base(OpId op) { return g_column.at(op).base; }

std::optional<JoinPlan> plan_join(const Graph& g, const Node& node, const Layout& result) {
  const JoinRule* rule = g_column.find(node.op);
  return rule ? rule->plan(g, node, result) : std::nullopt;
}

}  // namespace reprise::kernels
