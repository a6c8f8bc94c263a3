#include "device/cuda/queue.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace reprise::device::cuda {

CudaQueue::CudaQueue(const GraphHome& home, std::uint32_t cells, std::vector<GraphNode> nodes) : home_(home), nodes_(std::move(nodes)), last_(cells, nullptr) {
  home_.context.enter();
  if (home_.indirect) block_ = home_.blocks.take(cells);
}

CudaQueue::~CudaQueue() {
  home_.context.enter_quietly();
  if (block_) home_.blocks.give_back(block_, static_cast<std::uint32_t>(last_.size()), ran_in_);
}

std::vector<void*> CudaQueue::addresses_of(const CapturedNode& n) const {
  std::vector<void*> addresses;
  for (std::uint32_t c : n.cells) addresses.push_back(last_[c]);
  return addresses;
}

bool CudaQueue::prepare(void* const* cells, bool) {
  home_.context.enter();
  if (known_ && std::equal(last_.begin(), last_.end(), cells)) return true;
  known_ = false;
  std::copy(cells, cells + last_.size(), last_.begin());
  for (const GraphNode& n : nodes_)
    if (const auto* other = std::get_if<CapturedNode>(&n.what)) home_.captures.with(*other, addresses_of(*other), [](CUgraph) {});
  known_ = true;
  return true;
}

// Runs in one stream read the block one after the other; those in another may still be reading.
void* CudaQueue::block_for(const Stream& stream) {
  if (block_ && ran_in_ && ran_in_ != stream.id()) {
    const auto cells = static_cast<std::uint32_t>(last_.size());
    void* other = home_.blocks.take(cells);
    home_.blocks.give_back(std::exchange(block_, other), cells, ran_in_);
  }
  ran_in_ = stream.id();
  return block_;
}

void CudaQueue::launch(Stream& stream, void* const* cells) {
  prepare(cells, false);
  const CUstream into = static_cast<CudaStream&>(stream).handle();
  auto start = [&](const CUDA_KERNEL_NODE_PARAMS& p, std::string_view name) {
    check(cu().cuLaunchKernel(p.func, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes, into, p.kernelParams, nullptr), "launching kernel", name);
  };
  void* block = block_for(stream);
  if (block)
    for (std::size_t part = 0; part < uploads_of(static_cast<std::uint32_t>(last_.size())); ++part) start(params_.upload(home_, block, last_, part), "reprise_upload_cells");
  for (const GraphNode& n : nodes_) {
    if (const auto* other = std::get_if<CapturedNode>(&n.what)) {
      home_.captures.queue(*other, addresses_of(*other), into);
    } else if (const auto& kernel = std::get<KernelNode>(n.what); kernel.grid.count() != 0) {
      start(params_.of(kernel, home_, block, last_), kernel.name);
    }
  }
}

}  // namespace reprise::device::cuda
