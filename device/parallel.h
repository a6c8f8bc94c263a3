#pragma once
#include <cstdint>
#include <functional>

namespace reprise::device {

class Team;

/// Threads the host device may use, the caller included. Default: REPRISE_THREADS, or the cores whose time this process
/// may use.
int num_threads();
void set_num_threads(int n);  ///< n >= 1; clamps to the machine's limit

using RangeFn = void (*)(void* ctx, std::int64_t begin, std::int64_t end);
/// Runs fn over [0, n) in chunks, on threads of the library's own (Note [The team]) where it pays, otherwise on the
/// caller. `grain`: so many elements take about 10 microseconds. For two of them sleeping threads are woken; those that
/// are awake get chunks of at least a quarter of it. Chunks are disjoint and cover [0, n) exactly. A range inside of
/// another one runs on its thread. fn must not throw.
void parallel_for(std::int64_t n, std::int64_t grain, RangeFn fn, void* ctx);

/// While it lives, its thread replays several launches, one soon after the other: threads that it shares ranges with
/// stay awake between them.
class Launches {
 public:
  explicit Launches(bool several);
  ~Launches();
  Launches(const Launches&) = delete;

 private:
  friend void parallel_for(std::int64_t, std::int64_t, RangeFn, void*);
  Launches* const outer_;
  const bool several_;
  Team* told_ = nullptr;
};

}  // namespace reprise::device
