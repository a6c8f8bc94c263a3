#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/mutex.h"

/// A child of fork() has one thread, and a copy of what all threads held. So a fork waits until no other thread of the
/// process is working (base/epochs.h), and until it has every ForkMutex itself: in the child everything is whole and
/// nothing is locked.
namespace reprise {

/// A mutex of the process as a whole: never destroyed, and free in a child.
class REPRISE_THREAD_ATTRIBUTE(capability("mutex")) ForkMutex {
 public:
  constexpr ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  void lock() REPRISE_THREAD_ATTRIBUTE(acquire_capability()) {
    if (!known_.load(std::memory_order_relaxed)) [[unlikely]]
      enlist();
    mu_.lock();
  }
  bool try_lock() REPRISE_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mu_.try_lock(); }
  void unlock() REPRISE_THREAD_ATTRIBUTE(release_capability()) { mu_.unlock(); }

 private:
  friend struct ForkHandlers;
  void enlist();
  std::mutex mu_;
  std::atomic<bool> known_{false};
  ForkMutex* next_ = nullptr;
};

/// How many forks there are between this process and the one that was begun anew. What is marked with another number
/// was done by threads that are not there.
std::uint32_t fork_generation() noexcept;

/// Runs in every child, while nothing is locked. Of namespace scope, or of a function that runs once.
struct InForkedChild {
  explicit InForkedChild(void (*f)());
  void (*const run)();
  InForkedChild* next = nullptr;
};

}  // namespace reprise
