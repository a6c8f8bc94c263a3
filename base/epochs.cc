#include "base/epochs.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/futex.h"

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
         detail::care.load(std::memory_order_relaxed) & detail::kFence;
}

bool closed() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return detail::care.load(std::memory_order_relaxed) & detail::kClosed;
}
void wait_until_open() noexcept {
  for (std::uint32_t care; (care = detail::care.load(std::memory_order_acquire)) & detail::kClosed;)
    futex_wait(detail::care, care, std::chrono::milliseconds(20));
}

}  // namespace

Reader* detail::take() {
  if (care.load(std::memory_order_relaxed) & kFence && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    care.fetch_and(~kFence, std::memory_order_relaxed);
  for (Reader* r = all.load(std::memory_order_acquire); r; r = r->next)
    if (!r->taken.exchange(true, std::memory_order_acquire)) return r;
  auto* r = new Reader;
  r->next = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(r->next, r, std::memory_order_acq_rel)) {
  }
  return r;
}

void detail::give(Reader* r) noexcept { r->taken.store(false, std::memory_order_release); }

void detail::begin_reading_with_care(Reader& r) noexcept {
  while (closed() && !r.working_depth) {
    r.since.store(0, std::memory_order_release);
    wait_until_open();
    r.since.store(now.load(std::memory_order_acquire), std::memory_order_relaxed);
  }
}

void detail::begin_working_with_care(Reader& r) noexcept {
  while (closed() && !r.reading_depth) {
    r.working.store(false, std::memory_order_release);
    wait_until_open();
    r.working.store(true, std::memory_order_relaxed);
  }
}

void let_fork_pass() noexcept {
  if (!(detail::care.load(std::memory_order_relaxed) & detail::kClosed)) return;
  Reader& r = mine();
  if (r.reading_depth || r.working_depth != 1 || r.for_another) return;
  r.working.store(false, std::memory_order_release);
  wait_until_open();
  r.working.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  detail::begin_working_with_care(r);
}

std::uint64_t advance() noexcept { return detail::now.fetch_add(1, std::memory_order_seq_cst); }

std::uint64_t oldest() noexcept {
  if (!fence_everywhere()) return 0;
  std::uint64_t first = UINT64_MAX;
  for (const Reader* r = all.load(std::memory_order_acquire); r; r = r->next)
    if (std::uint64_t since = r->since.load(std::memory_order_acquire)) first = std::min(first, since);
  return first;
}

bool close() noexcept {
  constexpr auto kLongest = std::chrono::seconds(60);
  const Reader* self = &mine();
  const auto start = std::chrono::steady_clock::now();
  detail::care.fetch_or(detail::kClosed, std::memory_order_seq_cst);
  bool sure = fence_everywhere();
  for (const Reader* r = all.load(std::memory_order_acquire); r; r = r->next)
    while (r != self && (r->since.load(std::memory_order_acquire) || r->working.load(std::memory_order_acquire))) {
      if (std::chrono::steady_clock::now() - start > kLongest) return false;
      usleep(50);
    }
  return sure;
}

void open() noexcept {
  detail::care.fetch_and(~detail::kClosed, std::memory_order_release);
  futex_wake(detail::care);
}

void only_this_thread_is_left() noexcept {
  const Reader* self = &mine();
  for (Reader* r = all.load(std::memory_order_relaxed); r; r = r->next) {
    if (r == self) continue;
    r->since = 0, r->working = false, r->tracing = false;
    r->reading_depth = r->working_depth = 0;
    r->taken = false;
  }
}

}  // namespace reprise::epochs
