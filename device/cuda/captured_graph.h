#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/driver.h"

namespace reprise::device::cuda {

/// What another library's work was captured as: a graph, and, where it is taken apart, the nodes that it consists of,
/// so that they can stand in other graphs as nodes like all others. Taken apart costs less than a graph within a graph
/// where executable graphs are made, and a node is changed for itself. One thread.
class CapturedGraph {
 public:
  /// Takes the graph over. `flat`: it is taken apart, if its nodes are kernels and memsets and the driver tells all
  /// about them.
  CapturedGraph(CUgraph, bool flat);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;

  /// What of a node cannot be changed in an executable graph.
  struct Shape {
    /// Attributes go with a node and not with its parameters: clusters of blocks, priority and the like.
    // CUlaunchAttributeID, those of graph nodes
    static constexpr std::array<int, 9> kAttributes{1, 2, 4, 5, 8, 9, 10, 11, 14};
    struct Before {
      std::uint32_t step;
      CUgraphEdgeData how;  ///< programmatic: its kernel waits for that one by itself
    };
    CUgraphNodeType type{};
    std::vector<Before> after;  ///< earlier steps
    std::array<CUlaunchAttributeValue, kAttributes.size()> attributes{};
    friend bool operator==(const Shape&, const Shape&);
  };
  struct Step {
    CUgraphNode node;  ///< in the captured graph, which owns what the parameters point to
    Shape shape;
    CUDA_KERNEL_NODE_PARAMS kernel;  ///< of a kernel
    CUDA_MEMSET_NODE_PARAMS memset;  ///< of a memset
  };

  CUgraph graph() const { return graph_; }
  bool flat() const { return why_whole_.empty(); }
  const std::vector<Step>& steps() const { return steps_; }
  /// Why it is not taken apart, in words. Empty: it is.
  const std::string& why_whole() const { return why_whole_; }
  void keep_whole(std::string why) { why_whole_ = std::move(why), steps_.clear(); }

 private:
  std::string take_apart();           ///< why not; empty: done
  std::string describe(Step&) const;  ///< the same, of one node

  CUgraph graph_;
  std::vector<Step> steps_;  // each behind those that it comes after
  std::string why_whole_;
};

/// The nodes in a graph that stand for captured work.
struct FlatNodes {
  std::vector<CUgraphNode> nodes;            ///< by step
  std::vector<CUgraphNode> ends;             ///< what comes after the work comes after these
  std::vector<CapturedGraph::Shape> shapes;  ///< by step
};

/// Adds the steps to `into`, behind `after`. Where the driver refuses one, none is added, and the captured graph stays
/// whole from then on: nodes is empty then.
FlatNodes add_steps(CapturedGraph&, CUgraph into, std::span<const CUgraphNode> after);
/// Gives the nodes, in an executable graph, the parameters of what was captured anew.
/// CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE where that has another shape, or what the driver says.
CUresult set_steps(const CapturedGraph&, CUgraphExec, const FlatNodes&, CUcontext);

}  // namespace reprise::device::cuda
