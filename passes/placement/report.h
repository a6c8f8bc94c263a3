#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "passes/placement/check.h"
#include "passes/placement/plan.h"

namespace reprise::passes::placement {

/// A plan beside its graph: a line a node, sums, the most expensive redistributions, memory, the bound, and whether
/// `violations` (check_plan) are none. Costs are microseconds to the last nanosecond: those of the lines add up to the
/// plan's. The nodes' lines are those of the graph's text without types, with the plan as a comment:
///
///   %12 = linear(%4, %7)  # placement=(S(0)R, RR) -> S(0)R, cost=[27.190, 0.000], compute 310.200, memory 12.6 MiB
///     ; #8 layers[3].mlp net.cc:41                               (in one line)
std::string report_text(const graph::Graph&, const Plan&, const PlanConstraints&, const std::vector<Violation>&);
/// The same as data.
nlohmann::json report_data(const graph::Graph&, const Plan&, const PlanConstraints&, const std::vector<Violation>&);

/// By node: "%12 = linear(%4, %7)" and "#8 layers[3].mlp net.cc:41".
struct NodeText {
  std::string call, place;
};
std::vector<NodeText> node_texts(const graph::Graph&);

}  // namespace reprise::passes::placement
