#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

/// What depends on frozen inputs alone, cut out of a graph: Note [Frozen tensors] in runtime/build/freeze.h.
namespace reprise::passes {

/// By value of the graph: is it a frozen input, or computed of frozen inputs alone in a way that may be done once?
/// `frozen`: which inputs.
std::vector<bool> of_frozen_alone(const graph::Graph&, const std::vector<std::uint32_t>& frozen);

/// A graph whose inputs are some of the whole's, and whose outputs are the values that the rest takes. Functional.
struct FrozenPart {
  graph::Graph graph;
  std::vector<std::uint32_t> inputs;  ///< by input: which of the whole's
};
struct SplitFrozen {
  graph::Graph rest;              ///< functional; behind the whole's inputs it has the parts' outputs, in order
  std::vector<FrozenPart> parts;  ///< no value is computed in two of them
};
/// None: there is nothing worth to be computed once. What is larger than its inputs by much, or costs less to compute
/// than to read, stays in the rest; so do views, and results of the graph get memory of their own.
std::optional<SplitFrozen> split_frozen(const graph::Graph&, const std::vector<std::uint32_t>& frozen);

}  // namespace reprise::passes
