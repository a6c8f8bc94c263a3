#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace reprise::runtime {

/// The sizes of a value that the function makes, called eagerly. They are counted at each new size, also where no
/// launch makes the value any more.
struct MadeSizes {
  Ints sizes;
  std::int64_t item_size;
  std::string op;
};
/// Of a graph as it was traced: all that depend on numbers of the call or of its data, each once.
std::vector<MadeSizes> made_sizes(const graph::Graph&);

}  // namespace reprise::runtime
