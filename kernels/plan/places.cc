#include "kernels/plan/places.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpId;
using graph::ValueId;

namespace {

PlaceIndices along_dim(const Graph& g, const Node& node) {
  const int rank = g.meta(std::get<ValueId>(node.args[0])).dim();
  return {{{std::get<ValueId>(node.args[2]),
            wrap_dim(std::get<Int>(node.args[1]).hint(), rank, "scatter", node.info.loc)}}};
}

PlaceIndices of_list(const Graph&, const Node& node) {
  PlaceIndices p;
  p.wraps = true;
  const auto& list = std::get<std::vector<ValueId>>(node.args[1]);
  for (std::size_t d = 0; d < list.size(); ++d)
    if (list[d]) p.all.push_back({list[d], static_cast<int>(d)});
  if (!std::get<bool>(node.args[3])) p.rows = std::get<ValueId>(node.args[2]);
  return p;
}

constinit graph::OpColumn<PlaceRule> g_column("indices of what it changes", {
                                                                                {OpId::scatter, along_dim},
                                                                                {OpId::scatter_add, along_dim},
                                                                                {OpId::scatter_reduce, along_dim},
                                                                                {OpId::index_put, of_list},
                                                                            });

}  // namespace

graph::OpColumn<PlaceRule>& place_rules() { return g_column; }

std::optional<PlaceIndices> place_indices(const Graph& g, const Node& node) {
  const PlaceRule* rule = g_column.find(node.op);
  if (!rule || g.meta(std::get<ValueId>(node.args[0])).dim() == 0) return std::nullopt;
  return (*rule)(g, node);
}

}  // namespace reprise::kernels
