#include "device/cuda/pinned.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"
#include "base/mutex.h"
#include "device/host_accounts.h"

namespace reprise::device::cuda {

namespace {

/// Powers of two from a page on: few classes, since blocks are few and large.
std::int64_t class_bytes(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 4096))));
}

}  // namespace

bool PinnedMemory::is_idle(Block& b) {
  std::erase_if(b.uses, [](const Use& u) {
    if (cu().cuEventQuery(u.event) == CUDA_ERROR_NOT_READY) return false;
    warn(cu().cuEventDestroy(u.event), "destroying an event");
    return true;
  });
  return b.uses.empty();
}

void* PinnedMemory::allocate(std::int64_t wanted) {
  context_.enter();
  const std::int64_t bytes = class_bytes(wanted);
  const MutexLock lock(mu_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.bytes != bytes || !is_idle(it->second)) continue;
    auto [p, block] = std::move(*it);
    free_.erase(it);
    live_.emplace(p, std::move(block));
    return p;
  }
  void* p = nullptr;
  CUresult r = cu().cuMemHostAlloc(&p, static_cast<std::size_t>(bytes), CU_MEMHOSTALLOC_PORTABLE);
  if (r == CUDA_ERROR_OUT_OF_MEMORY)
    fail(ErrorCode::OutOfMemory, "pin_memory", {}, bytes_text(bytes), " of the host's memory cannot be page-locked");
  check(r, "page-locking memory");
  live_.emplace(static_cast<char*>(p), Block{bytes, {}});
  return p;
}

void PinnedMemory::free(void* p) noexcept {
  const MutexLock lock(mu_);
  auto it = live_.find(static_cast<const char*>(p));
  if (it == live_.end()) return;
  free_.emplace_back(static_cast<char*>(p), std::move(it->second));
  live_.erase(it);
}

void PinnedMemory::used(const void* p, CudaStream& stream) {
  const char* at = static_cast<const char*>(p);
  const MutexLock lock(mu_);
  auto it = live_.upper_bound(at);
  REPRISE_CHECK(it != live_.begin() && at < std::prev(it)->first + std::prev(it)->second.bytes,
                " the memory is not pinned");
  std::vector<Use>& uses = std::prev(it)->second.uses;
  auto use = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.stream == stream.id(); });
  if (use == uses.end()) {
    CUevent event = nullptr;
    check(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
    use = uses.insert(uses.end(), {stream.id(), event});
  }
  check(cu().cuEventRecord(use->event, stream.handle()), "marking a stream");
}

}  // namespace reprise::device::cuda
