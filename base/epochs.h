#pragma once
#include <atomic>
#include <cstdint>

#include "base/thread_object.h"

/// When what readers look at without a lock may be freed. A reader marks the time in which it reads; whoever takes something
/// out of their sight notes the epoch that ends with that, and frees it when nobody reads since that epoch or an earlier one.
///
/// A reader's mark is two plain moves: the fence that it would need is the writer's (membarrier), and where the system
/// has none, readers take it themselves. Nobody waits for anybody: what cannot be freed yet is freed by a later attempt.
namespace reprise::epochs {

/// One thread's marks. Never destroyed: threads that end leave theirs to others.
struct Reader {
  std::atomic<std::uint64_t> since{0};   ///< the epoch in which it began to read; 0: it does not
  std::atomic<bool> taken{true};
  int depth = 0;                         ///< its thread's alone
  Reader* next = nullptr;                ///< in the list of all, which only grows
};

namespace detail {
inline constinit std::atomic<std::uint64_t> now{1};
inline constinit std::atomic<bool> readers_fence{true};  ///< until membarrier is known to be there
Reader* take();
void give(Reader*) noexcept;
struct Mine {
  Reader* const reader = take();
  ~Mine() { give(reader); }
};
}  // namespace detail

inline Reader& mine() { return *thread_object<detail::Mine>().reader; }

inline void begin(Reader& r) noexcept {
  if (r.depth++) return;
  r.since.store(detail::now.load(std::memory_order_acquire), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (detail::readers_fence.load(std::memory_order_relaxed)) [[unlikely]] std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void end(Reader& r) noexcept {
  if (--r.depth == 0) r.since.store(0, std::memory_order_release);
}

/// While it lives, its thread may look at what is published.
class Reading {
 public:
  Reading() : reader_(mine()) { begin(reader_); }
  ~Reading() { end(reader_); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Reader& reader_;
};

/// Ends an epoch and gives its number: what has been taken out of sight before is not seen by who begins to read from now on.
std::uint64_t advance() noexcept;
/// What went out of sight in an epoch before this one, nobody looks at any more.
std::uint64_t oldest() noexcept;

}  // namespace reprise::epochs
