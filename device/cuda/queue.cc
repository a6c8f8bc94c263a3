#include "device/cuda/queue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/knobs.h"

namespace reprise::device::cuda {

CudaQueue::CudaQueue(const GraphHome& home, std::uint32_t cells, std::vector<GraphNode> nodes)
    : home_(home), nodes_(std::move(nodes)), last_(cells, nullptr) {
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
    if (const auto* other = std::get_if<CapturedNode>(&n.what))
      home_.captures.with(*other, addresses_of(*other), false, [](CapturedGraph&) {});
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
  const bool serial = runs_serially();
  auto done = [&](std::string_view what) {
    if (serial) check(cu().cuStreamSynchronize(into), "running", what);
  };
  done("what was queued before");
  auto start = [&](const CUDA_KERNEL_NODE_PARAMS& p, std::string_view name) {
    check(cu().cuLaunchKernel(p.func, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                              p.sharedMemBytes, into, p.kernelParams, nullptr),
          "launching kernel", name);
  };
  void* block = block_for(stream);
  if (block) {
    for (std::size_t part = 0; part < uploads_of(static_cast<std::uint32_t>(last_.size())); ++part)
      start(params_.upload(home_, block, last_, part), "reprise_upload_cells");
    done("kernel reprise_upload_cells");
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& n = nodes_[i];
    if (const auto* other = std::get_if<CapturedNode>(&n.what)) {
      home_.captures.queue(*other, addresses_of(*other), into);
    } else if (const auto& kernel = std::get<KernelNode>(n.what); kernel.grid.count() != 0) {
      start(params_.of(kernel, home_, block, last_), kernel.name);
    }
    if (serial) done(node_text(i));
  }
}

std::string CudaQueue::node_text(std::size_t i) const {
  const GraphNode& n = nodes_[i];
  const std::string place = "node " + std::to_string(i + 1) + " of " + std::to_string(nodes_.size());
  const auto* k = std::get_if<KernelNode>(&n.what);
  if (!k) return "another library's work for " + n.name() + " (" + place + ")";
  auto dim = [](Dim3 d) { return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z); };
  return "kernel " + static_cast<const CudaKernel&>(*k->kernel).image().entry + " of " + n.name() + " (" + place +
         ", grid " + dim(k->grid) + ", block " + dim(k->block) +
         (k->shared_bytes ? ", " + std::to_string(k->shared_bytes) + " bytes of shared memory" : "") + ")";
}

bool runs_serially() {
  const std::string& how = knobs().cuda_debug;
  if (how.empty()) return false;
  if (how != "serial")
    fail(ErrorCode::InvalidArgument, "REPRISE_CUDA_DEBUG", {}, "\"", how, "\" is not serial, which is all there is");
  return true;
}

}  // namespace reprise::device::cuda
