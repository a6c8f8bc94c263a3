#pragma once
#include <optional>

#include "graph/graph.h"
#include "graph/op_column.h"

namespace reprise::kernels {

/// A size that all of an integer result's elements are below, from 0 on, whatever the tensors hold: of places that an
/// operator finds, and of what only moves them. nullopt: nothing is known.
std::optional<Int> index_bound(const graph::Graph&, graph::ValueId);

/// Of a node's result of this number.
using IndexBoundRule = std::optional<Int> (*)(const graph::Graph&, const graph::Node&, std::size_t result);
graph::OpColumn<IndexBoundRule>& index_bound_rules();

}  // namespace reprise::kernels
