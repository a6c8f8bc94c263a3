#include "device/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/fork.h"
#include "base/knobs.h"
#include "base/thread_object.h"

namespace reprise::device {
namespace {

int machine_threads() {
  static const int n = std::max(1, tbb::info::default_concurrency());
  return n;
}

std::atomic<int>& thread_limit() {
  static std::atomic<int> n{[] {
    std::int64_t wanted = knobs().threads;
    return wanted <= 0 ? machine_threads() : static_cast<int>(std::min<std::int64_t>(wanted, machine_threads()));
  }()};
  return n;
}

// A child of fork() has none of oneTBB's threads, and what its parent's were amid: it works on the thread that asks.
std::atomic<bool> used{false}, left_behind{false};
const InForkedChild child([] { left_behind = used.load(); });

/// An arena of this calling thread, so that callers do not queue for each other's slots and the limit is ours alone
/// (tbb::global_control would also bind the rest of the program).
tbb::task_arena& arena(int threads) {
  auto& mine = thread_object<std::unique_ptr<tbb::task_arena>>();
  used.store(true, std::memory_order_relaxed);
  if (!mine || mine->max_concurrency() != threads) mine = std::make_unique<tbb::task_arena>(threads);
  return *mine;
}

// A range inside a range runs on its thread: waiting there could pick up a foreign chunk, in the middle of a kernel
// that uses thread-local scratch.
thread_local bool inside = false;
struct Inside {
  bool before = std::exchange(inside, true);
  ~Inside() { inside = before; }
};

// oneTBB as packaged is not instrumented, so ThreadSanitizer does not see that its tasks happen after the call that
// made them and before its return. Under it, these say so; otherwise they are nothing.
#if defined(__SANITIZE_THREAD__)
struct Order {
  std::atomic<int> begun{0}, ended{0};
  void publish() { begun.store(1, std::memory_order_release); }
  void enter() { (void)begun.load(std::memory_order_acquire); }
  void leave() { ended.fetch_add(1, std::memory_order_release); }
  void collect() { (void)ended.load(std::memory_order_acquire); }
};
#else
struct Order {
  void publish() {}
  void enter() {}
  void leave() {}
  void collect() {}
};
#endif

}  // namespace

int num_threads() { return thread_limit().load(std::memory_order_relaxed); }
void set_num_threads(int n) { thread_limit().store(std::clamp(n, 1, machine_threads()), std::memory_order_relaxed); }

void parallel_for(std::int64_t n, std::int64_t grain, RangeFn fn, void* ctx) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  int threads = num_threads();
  if (n <= grain || threads == 1 || inside || left_behind.load(std::memory_order_relaxed) || n / grain < 2) return fn(ctx, 0, n);
  // A few chunks for each thread: one that is held up elsewhere then costs little.
  std::int64_t chunks = std::min<std::int64_t>(n / grain, std::int64_t{4} * threads);
  Order order;
  order.publish();
  arena(threads).execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, chunks, 1),
        [=, &order](const tbb::blocked_range<std::int64_t>& r) {
          order.enter();
          Inside guard;
          auto at = [=](std::int64_t c) { return n / chunks * c + std::min(c, n % chunks); };
          fn(ctx, at(r.begin()), at(r.end()));
          order.leave();
        },
        tbb::simple_partitioner());
  });
  order.collect();
}

}  // namespace reprise::device
