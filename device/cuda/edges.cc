#include "device/cuda/edges.h"

#include <algorithm>

#include "device/cuda/graph.h"

namespace reprise::device::cuda {

namespace {

/// A kernel that has something to do and waits for what comes before it. A disabled node would hand its start on before
/// that has ended.
bool waits(const GraphNode& n) {
  const auto* k = std::get_if<KernelNode>(&n.what);
  return k && k->grid.count() != 0 && static_cast<const CudaKernel&>(*k->kernel).waits();
}

}  // namespace

Edges::Edges(const std::vector<GraphNode>& nodes, bool may)
    : after(nodes.size()), early(nodes.size()), next_(nodes.size()) {
  const std::size_t words = (nodes.size() + 63) / 64;
  std::vector<std::uint64_t> before(nodes.size() * words);  // by node: the nodes before it, bit by bit
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::uint64_t* mine = &before[i * words];
    // The latest first: what lies before one that is there already needs no edge. Nodes stand behind those that they
    // come after.
    std::vector<Graph::Node> wanted = nodes[i].after;
    std::sort(wanted.rbegin(), wanted.rend());
    for (Graph::Node a : wanted) {
      if (mine[a / 64] >> (a % 64) & 1) continue;
      after[i].push_back(a);
      for (std::size_t w = 0; w < words; ++w) mine[w] |= before[a * words + w];
      mine[a / 64] |= std::uint64_t{1} << (a % 64);
    }
    for (Graph::Node a : after[i]) ++next_[a];
  }
  for (std::size_t i = 0; i < nodes.size() && may; ++i)
    early[i] = after[i].size() == 1 && next_[after[i][0]] == 1 && waits(nodes[i]) && waits(nodes[after[i][0]]);
}

std::vector<std::string> Edges::why(const std::vector<GraphNode>& nodes) const {
  std::vector<std::string> r;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (early[i]) continue;
    const std::size_t n = after[i].size();
    r.push_back(nodes[i].name() + ": " +
                (n == 0  ? "nothing comes before it"
                 : n > 1 ? "it comes after " + std::to_string(n) + " nodes"
                 : next_[after[i][0]] > 1
                     ? nodes[after[i][0]].name() + " has " + std::to_string(next_[after[i][0]]) + " nodes after it"
                 : !waits(nodes[i]) ? "it does not wait by itself"
                                    : nodes[after[i][0]].name() + ", which it comes after, does not let it start"));
  }
  return r;
}

}  // namespace reprise::device::cuda
