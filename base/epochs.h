#pragma once
#include <atomic>
#include <cstdint>

#include "base/thread_object.h"

/// What threads are doing, as far as others must know.
///
/// Reading: when what readers look at without a lock may be freed. A reader marks the time in which it reads; whoever
/// takes something out of their sight notes the epoch that ends with that, and frees it when nobody reads since that
/// epoch or an earlier one. Nobody waits for that: what cannot be freed yet is freed by a later attempt. (What is freed
/// so: Note [Who frees what] in runtime/front/compiled.h.)
///
/// Working: it is amid something that a fork must not interrupt (it holds locks, it is inside LLVM). Reading is
/// working, too. A fork waits until no other thread is (base/fork.h), and lets none begin meanwhile. The user's code
/// runs outside of both.
///
/// A mark is two plain moves: the fence that it would need is taken by whoever asks (membarrier); where the system has
/// no such thing, by those who mark.
namespace reprise::epochs {

/// One thread's marks. Never destroyed: threads that end leave theirs to others.
struct Reader {
  std::atomic<std::uint64_t> since{0};  ///< the epoch in which it began to read; 0: it does not
  std::atomic<bool> working{false};
  std::atomic<bool> tracing{false};     ///< it runs the user's function to write down what it does
  std::atomic<std::uint64_t> steps{0};  ///< pieces of work it has done: while it traces, a sign that it goes on
  std::atomic<bool> taken{true};
  int reading_depth = 0, working_depth = 0;  ///< its thread's alone, and:
  bool for_another = false;                  ///< it works for a thread that waits
  Reader* next = nullptr;                    ///< in the list of all, which only grows
};

namespace detail {
inline constinit std::atomic<std::uint64_t> now{1};
constexpr std::uint32_t kFence = 1, kClosed = 2;
/// kFence: until membarrier is known to be there; kClosed: a fork waits
inline constinit std::atomic<std::uint32_t> care{kFence};
Reader* take();
void give(Reader*) noexcept;
void begin_reading_with_care(Reader&) noexcept;
void begin_working_with_care(Reader&) noexcept;
struct Mine {
  Reader* const reader = take();
  ~Mine() { give(reader); }
};
}  // namespace detail

inline Reader& mine() { return *thread_object<detail::Mine>().reader; }

inline void begin(Reader& r) noexcept {
  if (r.reading_depth++) return;
  r.since.store(detail::now.load(std::memory_order_acquire), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (detail::care.load(std::memory_order_relaxed)) [[unlikely]]
    detail::begin_reading_with_care(r);
}
inline void end(Reader& r) noexcept {
  if (--r.reading_depth == 0) r.since.store(0, std::memory_order_release);
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

class Working {
 public:
  Working() : Working(mine(), false) {}
  /// Of a thread that does a part of what another one, which is working, waits for: a fork that waits does not keep it.
  struct ForAnother {};
  explicit Working(ForAnother) : Working(mine(), true) {}
  ~Working() {
    reader_.steps.store(reader_.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (--reader_.working_depth == 0) reader_.working.store(false, std::memory_order_release);
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Working(Reader& r, bool for_another) : reader_(r) {
    if (r.working_depth++) return;
    r.for_another = for_another;
    r.working.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!for_another && detail::care.load(std::memory_order_relaxed)) [[unlikely]]
      detail::begin_working_with_care(r);
  }
  Reader& reader_;
};

/// Between two pieces of long work: lets a fork pass that waits, if this thread holds nothing but one Working.
void let_fork_pass() noexcept;

/// Ends an epoch and gives its number: what has been taken out of sight before is not seen by who begins to read from
/// now on.
std::uint64_t advance() noexcept;
/// What went out of sight in an epoch before this one, nobody looks at any more.
std::uint64_t oldest() noexcept;

// ---- for base/fork.cc
/// Lets no thread begin to work, and waits until no other one works. False: one did so for too long.
bool close() noexcept;
void open() noexcept;
void only_this_thread_is_left() noexcept;

}  // namespace reprise::epochs
