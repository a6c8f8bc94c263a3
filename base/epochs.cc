#include "base/epochs.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace reprise::epochs {
namespace {

constinit std::atomic<Reader*> all{nullptr};

bool membarrier(int command) noexcept { return syscall(__NR_membarrier, command, 0, 0) == 0; }

/// Every other thread of the process has passed a fence when it returns. False: the system has no such thing.
bool fence_everywhere() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // After a fork the child may have to register anew.
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) ||
         detail::readers_fence.load(std::memory_order_relaxed);
}

}  // namespace

Reader* detail::take() {
  if (readers_fence.load(std::memory_order_relaxed) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    readers_fence.store(false, std::memory_order_relaxed);
  for (Reader* r = all.load(std::memory_order_acquire); r; r = r->next)
    if (!r->taken.exchange(true, std::memory_order_acquire)) return r;
  auto* r = new Reader;
  r->next = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(r->next, r, std::memory_order_acq_rel)) {}
  return r;
}

void detail::give(Reader* r) noexcept { r->taken.store(false, std::memory_order_release); }

std::uint64_t advance() noexcept { return detail::now.fetch_add(1, std::memory_order_seq_cst); }

std::uint64_t oldest() noexcept {
  if (!fence_everywhere()) return 0;
  std::uint64_t first = UINT64_MAX;
  for (const Reader* r = all.load(std::memory_order_acquire); r; r = r->next)
    if (std::uint64_t since = r->since.load(std::memory_order_acquire)) first = std::min(first, since);
  return first;
}

}  // namespace reprise::epochs
