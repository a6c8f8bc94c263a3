#pragma once
#include <functional>

#include "graph/graph.h"

namespace reprise::passes {

/// Calls of `region` for which `which` says so become what they call. What stands in their bodies keeps its calls'
/// numbers, and is in the scopes of both.
void inline_calls(graph::Graph&, const std::function<bool(const graph::Node&)>& which);

}  // namespace reprise::passes
