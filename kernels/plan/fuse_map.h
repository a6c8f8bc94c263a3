#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/layout.h"
#include "kernels/loop/ir.h"

namespace reprise::kernels {

/// One coordinate of a value as an affine form of the loop indices: offset + sum of index[l] * coefs[l].
struct Coord {
  Int offset = 0;
  Ints coefs;  ///< one for each loop
};
/// Which element of a value a loop nest looks at: a coordinate for each of the value's dims.
struct IndexMap {
  std::size_t loops = 0;
  std::vector<Coord> dims;
};

Coord constant_coord(Int at, std::size_t loops);
Coord loop_coord(std::size_t loop, std::size_t loops);
bool identical_maps(const IndexMap& a, const IndexMap& b);
/// The loop this coordinate is (coefficient 1, offset 0, nothing else), or -1.
int single_loop(const Coord&);
bool is_zero(const Coord&);
/// The loops, whose extents are given, that this coordinate counts through in mixed radix so that it runs over 0 ..
/// size - 1; empty: they do not.
std::vector<std::size_t> loops_through(const Coord&, Int size, const Ints& extents);
/// By loop: does no coordinate move with it?
std::vector<bool> left_out(const IndexMap&);

/// Dims [at, at + rank) of a map.
IndexMap dims_of(const IndexMap& map, int at, int rank);
/// By each of `dims` that dim of a map, or 0 for -1.
IndexMap picked_dims(const IndexMap& map, const std::vector<int>& dims);
/// Element of operand `to` that a pointwise operator over `from` reads: ATen's broadcasting.
IndexMap through_broadcast(const IndexMap& map, const Ints& from, const Ints& to);
/// Element of a view's operand; nullopt when it is not affine (dims merged by `view`, unless the loops, whose extents
/// are given, already run over the unmerged dims) or depends on strides (`as_strided`).
std::optional<IndexMap> through_view(const graph::Graph&, const graph::Node& view, const IndexMap& map,
                                     const Ints& extents);
/// The loop that must be split into loops over `into` for through_view to succeed; -1 when that would not help.
int loop_to_split(const graph::Graph&, const graph::Node& view, const IndexMap& map, const Ints& extents, Ints& into);
/// Rewrites a map for loop l being replaced by loops over `into` (row-major).
void split_loop(IndexMap& map, int l, const Ints& into);
/// The same element as an access of `layout` (strides by loop and offset; buffer left 0).
Access access_of(const IndexMap& map, const Layout& layout);
bool same_access(const Access& a, const Access& b);
/// Do these parts of one buffer share no element, whatever the sizes are? One ends before the other begins, or they are
/// blocks of the same shape beside each other in one dimension (two column blocks of a matrix).
bool known_disjoint(const Layout& a, const Layout& b);

}  // namespace reprise::kernels
