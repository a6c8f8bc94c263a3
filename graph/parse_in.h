#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "graph/graph.h"

namespace reprise::graph {

/// As parse(), of a text whose symbols are known: `new_env` makes an environment that has them. It is called twice,
/// since the shape rules note what they ask in one.
Graph parse_in(std::string_view text, const std::function<std::shared_ptr<guards::ShapeEnv>()>& new_env);

}  // namespace reprise::graph
