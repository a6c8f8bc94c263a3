#pragma once
#include "graph/graph.h"

namespace reprise::graph {

/// reprise::region(Region body, Tensor[] operands, str name) -> Tensor[]: runs `body`, whose inputs the operands
/// become, once. Calls of equal bodies share one (passes/regions.h); the scopes of a body's nodes (NodeInfo::scope) are
/// counted from that of the node that calls it.
OpId region_op();
bool calls_region(const Node&);

}  // namespace reprise::graph
