#pragma once
#include <string>
#include <vector>

#include "passes/placement/plan.h"

namespace reprise::passes::placement {

/// Where a plan is not right.
struct Violation {
  std::int32_t node = -1;  ///< -1: of an input or output
  std::string text;
};

/// Follows the placements of all values through the plan's collectives, as they would be carried out, and knows nothing
/// of how they were chosen: each step starts from what is there and is one that its collective does, each node's
/// operands arrive as the node wants them, the operator gives the results that the plan says (by its dimension relation
/// along each axis, and by its shape rule on a rank's sizes), constraints are kept, and no output is left partial.
/// Empty: the plan is respected.
std::vector<Violation> check_plan(const graph::Graph&, const Plan&, const PlanConstraints&);

}  // namespace reprise::passes::placement
