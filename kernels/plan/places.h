#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"

namespace reprise::kernels {

/// The index values by which a kernel finds the elements of its first operand that it changes (HostKernel::over_self).
/// Where all of them are within range it does not fail: they are checked before anything is written, and then it may
/// write into what others see.
struct PlaceIndices {
  struct Index {
    graph::ValueId value;
    int dim = 0;  ///< of the first operand
  };
  std::vector<Index> all;
  bool wraps = false;     ///< negative values count from the end
  graph::ValueId rows{};  ///< what the elements that self[indices] names become, broadcast; unset: not just that
};

/// nullopt: not one of these operators, or a 0-dim operand (the kernel checks by itself).
std::optional<PlaceIndices> place_indices(const graph::Graph&, const graph::Node&);

using PlaceRule = PlaceIndices (*)(const graph::Graph&, const graph::Node&);
graph::OpColumn<PlaceRule>& place_rules();

}  // namespace reprise::kernels
