#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace reprise::graph {

/// Where parts of values are, in elements of a value that stands row by row: so they can be compared. Asks nothing that
/// the graph has not asked (what it takes to make a view was known when the view was made).

/// Are they the same expressions throughout?
bool identical(const Ints&, const Ints&);
bool identical(const Layout&, const Layout&);

/// What a chain of views shows of the value that it ends at.
struct PartSeen {
  ValueId of;
  Layout at;
};
/// Of a value that stands otherwise: only views of any strides (passes/view_chains.h).
PartSeen part_seen(const Graph&, ValueId);
/// Where a scatter puts its part in what it gives; nullopt for other nodes.
std::optional<Layout> part_written(const Graph&, const Node&);

/// Conditions, true in the traced call, under which two views of one storage have no element in common: one ends before
/// the other begins, or they are different parts of the same rows (of one dimension, or of one that neither of them
/// has). nullopt: it is none of these.
std::optional<std::vector<Bool>> disjoint_conditions(const Layout& a, const Layout& b, SourceLoc);
/// Is it known that they have none, whatever the symbols are?
bool known_disjoint(const Layout& a, const Layout& b);

}  // namespace reprise::graph
