#pragma once
#include <string>
#include <vector>

#include "device/cuda/graph.h"

namespace reprise::device::cuda {

/// A graph that the driver is told node by node at each run, in the order in which they were added: what a sealed
/// function has for sizes that are new to it. A stream keeps that order, so nobody needs to know who waits for whom.
/// And any graph, each kernel of which is waited for, with REPRISE_CUDA_DEBUG=serial: what fails then is that kernel.
class CudaQueue final : public GraphExec {
 public:
  CudaQueue(const GraphHome&, std::uint32_t cells, std::vector<GraphNode>);
  ~CudaQueue() override;
  /// Has other libraries' work captured, which shows whether they can do it.
  bool prepare(void* const* cells, bool may_make) override;
  void launch(Stream&, void* const* cells) override;
  std::int64_t bytes() const override { return 0; }

 private:
  void* block_for(const Stream&);
  std::vector<void*> addresses_of(const CapturedNode&) const;
  /// For messages: the node's kernel, its place, its grid.
  std::string node_text(std::size_t i) const;

  GraphHome home_;
  LaunchParams params_;
  std::vector<GraphNode> nodes_;
  std::vector<void*> last_;   // cells of the latest run that was prepared
  bool known_ = false;        // that it can be done with them
  void* block_ = nullptr;     // indirect: an address a cell
  std::uint64_t ran_in_ = 0;  // id of the stream of the latest run; 0: none
};

/// REPRISE_CUDA_DEBUG=serial. Throws InvalidArgument where it is something else.
bool runs_serially();

}  // namespace reprise::device::cuda
