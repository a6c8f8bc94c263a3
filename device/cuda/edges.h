#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "device/backend.h"

namespace reprise::device::cuda {

struct GraphNode;

/// What comes before what in a graph, told with as few edges as that takes: none beside a longer way. A node that comes
/// after one kernel alone, as the only one after it, may start early, while that one ends, where both kernels know of
/// it (Note [Early launches] in jit/gpu/module.h).
struct Edges {
  /// `early`: the device and its driver can do that.
  Edges(const std::vector<GraphNode>&, bool early);
  std::vector<std::vector<Graph::Node>> after;  ///< by node
  std::vector<bool> early;                      ///< by node: it starts while the one before it ends
  /// Why the others do not: "linear: it comes after 3 nodes".
  std::vector<std::string> why(const std::vector<GraphNode>&) const;

 private:
  std::vector<std::uint32_t> next_;  ///< by node: how many come right after it
};

}  // namespace reprise::device::cuda
