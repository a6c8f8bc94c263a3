#include "device/cuda/captures.h"

#include "base/errors.h"
#include "base/mutex.h"

namespace reprise::device::cuda {

namespace {

constexpr std::size_t kGraphsMax = 4096;

}  // namespace

void Captures::with(const CapturedNode& n, const std::vector<void*>& addresses, bool flat,
                    const std::function<void(CapturedGraph&)>& use) {
  const MutexLock lock(mu_);  // while it is used, too: the driver's graphs are not for two threads at a time
  if (n.work.key.empty()) {
    CapturedGraph own(captured(n, addresses), flat);
    return use(own);
  }
  Key key{n.work.key, addresses, flat};
  auto it = graphs_.find(key);
  if (it == graphs_.end()) {
    if (graphs_.size() >= kGraphsMax) graphs_.clear();
    it = graphs_.emplace(std::move(key), std::make_unique<CapturedGraph>(captured(n, addresses), flat)).first;
  }
  use(*it->second);
}

void Captures::queue(const CapturedNode& n, const std::vector<void*>& addresses, CUstream stream) {
  const MutexLock lock(mu_);  // works are for one thread at a time
  n.work.enqueue(stream, addresses.data());
}

CUgraph Captures::captured(const CapturedNode& n, const std::vector<void*>& addresses) {
  context_.enter();
  if (!side_) side_ = std::make_unique<CudaStream>(context_, 0);
  const MutexLock capturing(context_.capturing);
  // Relaxed: a library that loads its code late may call what the other modes forbid, and nothing else is in this
  // stream.
  check(cu().cuStreamBeginCapture(side_->handle(), CU_STREAM_CAPTURE_MODE_RELAXED), "capturing the work of", n.name);
  CUgraph graph = nullptr;
  CUresult ended = CUDA_SUCCESS;
  try {
    n.work.enqueue(side_->handle(), addresses.data());
  } catch (...) {
    cu().cuStreamEndCapture(side_->handle(), &graph);  // whatever it says of work that has failed
    if (graph) warn(cu().cuGraphDestroy(graph), "destroying a graph");
    throw;
  }
  ended = cu().cuStreamEndCapture(side_->handle(), &graph);
  check(ended, "capturing the work of", n.name);
  return graph;
}

}  // namespace reprise::device::cuda
