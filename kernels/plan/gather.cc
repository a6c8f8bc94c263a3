#include "kernels/plan/gather.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpId;
using graph::ValueId;

namespace {

int rank_of_table(const Graph& g, const Node& node) { return g.meta(std::get<ValueId>(node.args[0])).dim(); }
int dim_arg(const Graph& g, const Node& node) {
  return wrap_dim(std::get<Int>(node.args[1]).hint(), rank_of_table(g, node), "gather", node.info.loc);
}

/// The table, each of its dims walked by the result's dim of the same number.
GatherForm whole_table(const Graph& g, const Node& node) {
  GatherForm f;
  f.table = std::get<ValueId>(node.args[0]);
  for (int d = 0; d < rank_of_table(g, node); ++d) f.result_dim.push_back(d);
  return f;
}

std::optional<GatherForm> embedding(const Graph& g, const Node& node) {
  GatherForm f = whole_table(g, node);
  ValueId index = std::get<ValueId>(node.args[1]);
  int k = g.meta(index).dim();
  f.result_dim = {-1, k};
  f.indices = {{index, 0, 0, k}};
  return f;
}

std::optional<GatherForm> index_select(const Graph& g, const Node& node) {
  GatherForm f = whole_table(g, node);
  int dim = dim_arg(g, node);
  f.result_dim[dim] = -1;
  f.indices = {{std::get<ValueId>(node.args[2]), dim, dim, 1}};
  return f;
}

std::optional<GatherForm> gather(const Graph& g, const Node& node) {
  GatherForm f = whole_table(g, node);
  const int rank = rank_of_table(g, node);
  ValueId index = std::get<ValueId>(node.args[2]);
  if (g.meta(index).dim() != rank || g.meta(node.results[0]).dim() != rank) return std::nullopt;
  int dim = dim_arg(g, node);
  f.result_dim[dim] = -1;
  f.indices = {{index, dim, 0, rank}};
  return f;
}

std::optional<GatherForm> index(const Graph& g, const Node& node) {
  GatherForm f = whole_table(g, node);
  const auto& list = std::get<std::vector<ValueId>>(node.args[1]);
  int first = -1, last = -1, common = 0;
  for (std::size_t d = 0; d < list.size(); ++d) {
    if (!list[d]) continue;
    f.indices.push_back({list[d], static_cast<int>(d), 0, 0});
    f.result_dim[d] = -1;
    common = std::max(common, g.meta(list[d]).dim());
    if (first < 0) first = static_cast<int>(d);
    last = static_cast<int>(d);
  }
  if (f.indices.empty()) return std::nullopt;
  // The broadcast index dims stand where the indexed dims were when those are neighbours, otherwise in front.
  bool neighbours = last - first + 1 == static_cast<int>(f.indices.size());
  int place = neighbours ? first : 0, next = 0;
  for (int& d : f.result_dim) {
    if (d < 0) continue;
    if (next == place) next += common;
    d = next++;
  }
  for (GatherForm::Index& i : f.indices) i.at = place, i.rank = common;
  f.wraps = true;
  return f;
}

constinit graph::OpColumn<GatherRule> g_column("form of its indices",
                                               {
#define REPRISE_ROW_Gather(id) {OpId::id, id},
#include "graph/op_rows.inc"
                                               },
                                               graph::is_of<graph::OpClass::Gather>);

}  // namespace

graph::OpColumn<GatherRule>& gather_rules() { return g_column; }

std::optional<GatherForm> gather_form(const Graph& g, const Node& node) {
  const GatherRule* rule = g_column.find(node.op);
  if (!rule || rank_of_table(g, node) == 0) return std::nullopt;
  return (*rule)(g, node);
}

IndexMap index_map(const Graph& g, const Node& node, const GatherForm::Index& index, const IndexMap& map) {
  const Ints& sizes = g.meta(node.results[0]).layout.sizes;
  return through_broadcast(dims_of(map, index.at, index.rank),
                           Ints(sizes.begin() + index.at, sizes.begin() + index.at + index.rank),
                           g.meta(index.value).layout.sizes);
}

IndexMap table_map(const GatherForm& f, const IndexMap& map) { return picked_dims(map, f.result_dim); }

}  // namespace reprise::kernels
