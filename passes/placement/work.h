#pragma once
#include <vector>

#include "graph/graph.h"
#include "passes/placement/costs.h"

namespace reprise::passes::placement {

/// Floating-point operations of a node on operands and results of these sizes: of products and attention what they
/// multiply and add, of others one for each element of the largest tensor.
double flops_of(const graph::Node&, const std::vector<Sizes>& operands, const std::vector<Sizes>& results);

/// What a rank's part of a node takes: as long as its operations or its memory traffic, whichever is more. Views take
/// nothing.
Cost compute_cost(const graph::Graph&, const graph::Node&, const std::vector<Placements>& operands,
                  const std::vector<Placements>& results, const MeshShape&, const PlacementCosts&);

}  // namespace reprise::passes::placement
