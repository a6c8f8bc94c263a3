#pragma once
#include <string>

#include "graph/graph.h"

namespace reprise::passes {

/// Its text, and the lines of its nodes, by which faults are told: what equal ones share.
std::string text_with_lines(const graph::Graph&);

/// Calls of `region` (graph/region_call.h) whose bodies say the same, at the same lines, share one. A call becomes what
/// it calls where a body of its own would save nothing or cost more than it saves: there is no other call of it, it
/// computes elementwise and reductions alone, so that it may be fused with what stands around it, or it writes into its
/// operands, which only the graph around it can do in their place. Regions of other operators that say the same are
/// shared, too. Of a functional graph, and before other passes of the pipeline have put names to what is shared.
bool share_regions(graph::Graph&);

}  // namespace reprise::passes
