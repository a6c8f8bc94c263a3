#include "kernels/plan/index_bounds.h"

#include <algorithm>

#include "kernels/launch/layout.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpId;
using graph::ValueId;

namespace {

using Bound = std::optional<Int>;

const Ints& sizes_of(const Graph& g, const Node& node) { return g.meta(std::get<ValueId>(node.args[0])).layout.sizes; }

/// Places along the dim that argument `arg` names.
Bound along(const Graph& g, const Node& node, std::size_t arg) {
  const Ints& sizes = sizes_of(g, node);
  if (sizes.empty()) return Int(1);
  return sizes[static_cast<std::size_t>(
      wrap_dim(std::get<Int>(node.args[arg]).hint(), static_cast<int>(sizes.size()), "index bound", node.info.loc))];
}
Bound arg_reduction(const Graph& g, const Node& node, std::size_t) {
  if (std::holds_alternative<Int>(node.args[1])) return along(g, node, 1);
  return numel(sizes_of(g, node));
}
Bound topk(const Graph& g, const Node& node, std::size_t result) {
  return result == 1 ? along(g, node, 2) : std::nullopt;
}
Bound sort(const Graph& g, const Node& node, std::size_t result) {
  return result == 1 ? along(g, node, 1) : std::nullopt;
}
/// Weights of which none can be drawn end the call; what is drawn then is read nowhere but at good places
/// (check_on_device).
Bound multinomial(const Graph& g, const Node& node, std::size_t) { return sizes_of(g, node).back(); }
Bound moved(const Graph& g, const Node& node, std::size_t) { return index_bound(g, std::get<ValueId>(node.args[0])); }
/// Of integers that hold them.
Bound cast(const Graph& g, const Node& node, std::size_t) {
  const DType t = g.meta(node.results[0]).dtype;
  return t == DType::Int64 ? moved(g, node, 0) : std::nullopt;
}

constinit graph::OpColumn<IndexBoundRule> g_column("bound of its integers", {
                                                                                {OpId::argmax, arg_reduction},
                                                                                {OpId::argmin, arg_reduction},
                                                                                {OpId::topk, topk},
                                                                                {OpId::sort, sort},
                                                                                {OpId::multinomial, multinomial},
                                                                                {OpId::clone, moved},
                                                                                {OpId::to, cast},
                                                                            });

}  // namespace

graph::OpColumn<IndexBoundRule>& index_bound_rules() { return g_column; }

std::optional<Int> index_bound(const Graph& g, ValueId v) {
  for (;;) {
    const std::int32_t maker = g.values[v.v].node;
    if (maker < 0 || is_floating(g.meta(v).dtype)) return std::nullopt;
    const Node& node = g.nodes[static_cast<std::size_t>(maker)];
    if (graph::op(node.op).cls == graph::OpClass::View) {
      v = std::get<ValueId>(node.args[0]);
      continue;
    }
    const IndexBoundRule* rule = g_column.find(node.op);
    if (!rule) return std::nullopt;
    const auto at = std::find(node.results.begin(), node.results.end(), v);
    return (*rule)(g, node, static_cast<std::size_t>(at - node.results.begin()));
  }
}

}  // namespace reprise::kernels
