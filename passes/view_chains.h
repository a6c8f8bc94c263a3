#pragma once
#include <vector>

#include "graph/graph.h"

namespace reprise::passes {

/// Views in a traced graph: each stands on its operand, and the chain of them on a storage.

inline bool is_view(const graph::Node& n) { return !n.inplace && graph::op(n.op).cls == graph::OpClass::View; }
inline graph::ValueId operand(const graph::Node& n) { return std::get<graph::ValueId>(n.args[0]); }
/// The view operator that made it; null: it is all that its storage shows.
const graph::Node* view_of(const graph::Graph&, graph::ValueId);
/// The views from `from`, or from the storage, to v, v last; what comes before as_strided does not count.
std::vector<graph::ValueId> chain_of(const graph::Graph&, graph::ValueId v, graph::ValueId from = {});
/// Does a view of these sizes only split dimensions, in order? That is possible whatever the strides are.
bool only_splits(const Ints& of, const Ints& to);
/// Would the views that v is made by show the same elements if what they are of had other strides? Others cannot be
/// made then (view), or name places in a storage (as_strided).
bool any_strides(const graph::Graph&, graph::ValueId v);

/// The layout that `v` has eagerly, also in dimensions of size 0 and 1, where the layouts in a traced graph are those
/// of elements alone: the rules of its chain of views once more, beginning with `start` at the value `from` (unset:
/// where the storage begins).
Layout replay_layout(const graph::Graph& traced, graph::ValueId v, graph::ValueId from, Layout start, SourceLoc);

}  // namespace reprise::passes
