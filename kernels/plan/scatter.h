#pragma once
#include <optional>
#include <vector>

#include "kernels/plan/fuse_map.h"
#include "kernels/plan/gather.h"

namespace reprise::kernels {

// Note [Scatters in loops]
// index_put that replaces (index_copy_, a paged cache) is a store of a loop kernel: the rows of what is written are
// found through the index tensors, as a gather finds what it reads, and what they get may be computed in that loop.
// That is so where
//   - the values are made by an operator of loops (rows that stand in memory already are copied by the operator's own
//   kernel, as well),
//   - the old value stands where the new one shall (nothing but the rows is written), and nothing that the store itself
//   reads stands there.
// What else the loop reads cannot stand there either: it would have to come before (EdgeKind::Anti), and never shares
// such a loop. All index values are checked before. Where two name one place, the last one's row stays, as eagerly; but
// the points of a loop have no order. So a small launch before the loop tells of each position whether it is the last
// one that names its place (Item::Kind::Last), and the store has that as its predicate.

/// Such a write as a store: it runs over the elements of self[indices], the walk.
struct ScatterForm {
  graph::ValueId self, values;
  std::vector<GatherForm::Index> indices;  ///< each broadcast over the positions, the walk's dims [at, at + rank)
  Ints walk;                               ///< sizes
  std::vector<int> walk_dim;               ///< by self's dim: the walk's dim that moves it, or -1 where it is indexed
  int at = 0, rank = 0;
  Ints positions() const { return Ints(walk.begin() + at, walk.begin() + at + rank); }
};

/// Its store of a part of what is stored (Item::part_dim), which runs over that part alone: the walk's element.
IndexMap whole_map(IndexMap map, int part_dim, Int part_at);
/// nullopt: another operator, one that accumulates, or of forms that its own kernel serves.
std::optional<ScatterForm> scatter_form(const graph::Graph&, const graph::Node&);
/// The element of the values, of an index tensor, of a tensor of the positions' sizes, and self's coordinates (0 where
/// it is indexed), for the walk's element at `map`.
IndexMap values_map(const graph::Graph&, const ScatterForm&, const IndexMap& map);
IndexMap index_map(const graph::Graph&, const ScatterForm&, const GatherForm::Index&, const IndexMap& map);
IndexMap positions_map(const ScatterForm&, const IndexMap& map);
IndexMap self_map(const ScatterForm&, const IndexMap& map);

}  // namespace reprise::kernels
