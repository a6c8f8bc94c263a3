#include "kernels/lower_gather.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpId;
using graph::ValueId;

std::optional<GatherForm> gather_form(const Graph& g, const Node& node) {
  GatherForm f;
  if (node.args.empty() || !std::holds_alternative<ValueId>(node.args[0])) return std::nullopt;
  f.table = std::get<ValueId>(node.args[0]);
  int rank = g.meta(f.table).dim(), result_rank = g.meta(node.results[0]).dim();
  if (rank == 0) return std::nullopt;
  auto dim_arg = [&] { return wrap_dim(std::get<Int>(node.args[1]).hint(), rank, "gather", node.loc); };
  for (int d = 0; d < rank; ++d) f.result_dim.push_back(d);
  switch (node.op) {
    case OpId::embedding: {
      ValueId index = std::get<ValueId>(node.args[1]);
      int k = g.meta(index).dim();
      f.result_dim = {-1, k};
      f.indices = {{index, 0, 0, k}};
      return f;
    }
    case OpId::index_select: {
      int dim = dim_arg();
      f.result_dim[dim] = -1;
      f.indices = {{std::get<ValueId>(node.args[2]), dim, dim, 1}};
      return f;
    }
    case OpId::gather: {
      ValueId index = std::get<ValueId>(node.args[2]);
      if (g.meta(index).dim() != rank || result_rank != rank) return std::nullopt;
      int dim = dim_arg();
      f.result_dim[dim] = -1;
      f.indices = {{index, dim, 0, rank}};
      return f;
    }
    case OpId::index: {
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
      for (int d = 0; d < rank; ++d) {
        if (f.result_dim[d] < 0) continue;
        if (next == place) next += common;
        f.result_dim[d] = next++;
      }
      for (GatherForm::Index& i : f.indices) i.at = place, i.rank = common;
      f.wraps = true;
      return f;
    }
    default: return std::nullopt;
  }
}

IndexMap index_map(const Graph& g, const Node& node, const GatherForm::Index& index, const IndexMap& map) {
  const Ints& sizes = g.meta(node.results[0]).layout.sizes;
  IndexMap part;
  part.loops = map.loops;
  part.dims.assign(map.dims.begin() + index.at, map.dims.begin() + index.at + index.rank);
  return through_broadcast(part, Ints(sizes.begin() + index.at, sizes.begin() + index.at + index.rank), g.meta(index.value).layout.sizes);
}

IndexMap table_map(const GatherForm& f, const IndexMap& map) {
  IndexMap out;
  out.loops = map.loops;
  for (int d : f.result_dim) out.dims.push_back(d < 0 ? constant_coord(0, map.loops) : map.dims[static_cast<std::size_t>(d)]);
  return out;
}

}  // namespace reprise::kernels
