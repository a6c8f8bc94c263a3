#include "kernels/plan/scatter.h"

#include <algorithm>

#include "kernels/plan/places.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::ValueId;

std::optional<ScatterForm> scatter_form(const Graph& g, const Node& node) {
  const std::optional<PlaceIndices> places = place_indices(g, node);
  if (!places || !places->rows) return std::nullopt;
  ScatterForm f;
  f.self = std::get<ValueId>(node.args[0]), f.values = places->rows;
  const Ints& sizes = g.meta(f.self).layout.sizes;
  f.walk_dim.assign(sizes.size(), 0);
  Ints common;
  int first = -1, last = -1;
  for (const PlaceIndices::Index& index : places->all) {
    f.indices.push_back({index.value, index.dim, 0, 0});
    f.walk_dim[static_cast<std::size_t>(index.dim)] = -1;
    if (first < 0) first = index.dim;
    last = index.dim;
    const Ints& own = g.meta(index.value).layout.sizes;
    while (common.size() < own.size()) common.insert(common.begin(), Int(1));
    for (std::size_t k = 0; k < own.size(); ++k) {
      Int& c = common[common.size() - own.size() + k];
      if (!is_number(own[k], 1)) c = own[k];
    }
  }
  if (f.indices.empty()) return std::nullopt;
  // The positions stand where the indexed dims were when those are neighbours, otherwise in front.
  f.rank = static_cast<int>(common.size());
  const int place = last - first + 1 == static_cast<int>(f.indices.size()) ? first : 0;
  for (std::size_t d = 0; d <= sizes.size(); ++d) {
    if (static_cast<int>(d) == place)
      f.at = static_cast<int>(f.walk.size()), f.walk.append(common.begin(), common.end());
    if (d == sizes.size() || f.walk_dim[d] < 0) continue;
    f.walk_dim[d] = static_cast<int>(f.walk.size());
    f.walk.push_back(sizes[d]);
  }
  for (GatherForm::Index& i : f.indices) i.at = f.at, i.rank = f.rank;
  const TensorMeta& values = g.meta(f.values);
  if (f.walk.size() > static_cast<std::size_t>(kMaxRank) || values.layout.sizes.size() > f.walk.size() ||
      values.dtype != g.meta(f.self).dtype)
    return std::nullopt;
  return f;
}

IndexMap whole_map(IndexMap map, int part_dim, Int part_at) {
  if (part_dim >= 0)
    map.dims[static_cast<std::size_t>(part_dim)].offset = map.dims[static_cast<std::size_t>(part_dim)].offset + part_at;
  return map;
}

IndexMap values_map(const Graph& g, const ScatterForm& f, const IndexMap& map) {
  return through_broadcast(map, f.walk, g.meta(f.values).layout.sizes);
}

IndexMap positions_map(const ScatterForm& f, const IndexMap& map) { return dims_of(map, f.at, f.rank); }

IndexMap index_map(const Graph& g, const ScatterForm& f, const GatherForm::Index& index, const IndexMap& map) {
  return through_broadcast(positions_map(f, map), f.positions(), g.meta(index.value).layout.sizes);
}

IndexMap self_map(const ScatterForm& f, const IndexMap& map) { return picked_dims(map, f.walk_dim); }

}  // namespace reprise::kernels
