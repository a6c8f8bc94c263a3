#pragma once
#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"

namespace reprise::graph {

/// All that a caller of a functional graph must know, as data (docs/graph_text.md, "The signature"): what each input is
/// and what happens to it, what each result is, where it shares memory and by which views, and what the symbols stand
/// for.
nlohmann::json signature(const Graph&);

}  // namespace reprise::graph
