#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "device/backend.h"
#include "device/cuda/captures.h"
#include "device/cuda/cells.h"
#include "device/cuda/context.h"
#include "device/cuda/launch_params.h"
#include "device/cuda/module.h"

namespace reprise::device::cuda {

struct GraphNode {
  std::variant<KernelNode, CapturedNode> what;
  std::vector<Graph::Node> after;

  const std::string& name() const {
    return std::visit([](const auto& n) -> const std::string& { return n.name; }, what);
  }
  const std::vector<std::uint32_t>& cells() const {
    return std::visit([](const auto& n) -> const std::vector<std::uint32_t>& { return n.cells; }, what);
  }
};

/// An executable CUDA graph of explicit kernel nodes, and of other libraries' work as child graphs, or as the nodes
/// that were captured.
///
/// Addresses that move from run to run reach the kernels in one of two ways. Direct: they are parameters of the nodes,
/// and a run changes the nodes whose addresses moved. Indirect: the nodes' parameters are the addresses of cells in a
/// block of device memory, and the graph's first node, whose own parameters hold the values, writes them there; a run
/// in which anything moved changes that node alone, and where nothing moves for a while it is disabled (of several,
/// each for its part of the block). Both take effect for the runs launched afterwards and leave earlier ones be.
/// Captured work has its addresses in what was captured, in either way: where one of them moved its child graph, or its
/// nodes, are changed to what is captured with the new ones. A graph with such work is made by its first run, when
/// addresses are known.
class CudaGraphExec final : public GraphExec {
 public:
  CudaGraphExec(const GraphHome&, std::uint32_t cells, std::vector<GraphNode>);
  ~CudaGraphExec() override;
  bool prepare(void* const* cells, bool may_make) override;
  void launch(Stream&, void* const* cells) override;
  void upload(Stream&) override;
  std::int64_t bytes() const override { return bytes_; }

  /// Changes sizes and grids to those of `nodes`. False, and nothing has changed, when the graph is of another shape.
  bool change_to(std::uint32_t cells, const std::vector<GraphNode>& nodes);

 private:
  void make();  ///< graph_ and exec_, with the latest addresses
  void start_early(CUgraphNode before, CUgraphNode, std::string_view name);
  void release_graphs() noexcept;
  void release() noexcept;
  /// A kernel that writes a part of the block.
  struct Upload {
    CUgraphNode node;
    bool on = true, stale = false;  // stale: it has other cells than it should
    int unmoved = 0;                // runs launched since it was changed
  };
  void add_uploads();
  bool set_uploads();   ///< of the stale ones; false: as set_node
  void rest_uploads();  ///< of what has not moved for a while
  void enable(Upload&, bool);
  /// The executable node takes nodes_[i]'s sizes and the latest addresses. False: it cannot, the graph must be made
  /// anew.
  bool set_node(std::size_t i);
  void capture(const CapturedNode&, const std::function<void(CapturedGraph&)>& use) const;
  void add_captured(std::size_t i, const std::vector<CUgraphNode>& after);

  GraphHome home_;
  LaunchParams params_;
  std::uint32_t n_cells_;
  std::vector<GraphNode> nodes_;
  // by cell, the nodes that have its address: all when direct, else captured ones
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<void*> last_;          // cells of the latest run
  std::vector<bool> stale_;          // by node: it has other addresses or sizes than it should
  void* const* prepared_ = nullptr;  // prepare() was called for these, and no launch since
  bool any_stale_ = true;            // of the nodes, or the uploads
  bool nodes_stale_ = false;         // some of the nodes may be
  bool starts_early_ = false;        // some nodes start while the one before them ends
  CUgraph graph_ = nullptr;          // lives as long as the executable one: its nodes name those
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> handles_;       // by node; null: it is several
  std::map<std::size_t, FlatNodes> flat_;  // by node, of captured work: those
  std::vector<Upload> uploads_;            // indirect
  void* block_ = nullptr;                  // indirect: n_cells_ addresses
  // id of the stream of the latest run, which earlier ones precede; 0: none
  std::uint64_t ran_in_ = 0;
  std::int64_t bytes_ = 0;
};

class CudaGraph final : public Graph {
 public:
  CudaGraph(const GraphHome& home, std::uint32_t cells) : home_(home), cells_(cells) {}
  Node add(KernelNode, std::span<const Node> after) override;
  Node add(CapturedNode, std::span<const Node> after) override;
  std::unique_ptr<GraphExec> instantiate(std::unique_ptr<GraphExec> reuse) override;
  std::unique_ptr<GraphExec> queue(std::unique_ptr<GraphExec> reuse) override;

 private:
  /// `reuse`, changed to this graph; null where it cannot be.
  std::unique_ptr<GraphExec> changed(std::unique_ptr<GraphExec> reuse) const;
  GraphHome home_;
  std::uint32_t cells_;
  std::vector<GraphNode> nodes_;
};

}  // namespace reprise::device::cuda
