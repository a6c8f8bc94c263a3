#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace reprise::runtime {

class RecordingCache;

/// How many recordings all specializations of a compiled function keep together. At the bound, the one goes that was
/// used longest ago, of whichever specialization. Ages are counted in recordings made, so that a replay of what was
/// used since the last one writes nothing.
///
/// Threads: any. A cache's lock may be held where this one's is taken; with this one's held, a cache's is only tried.
/// Caches that have joined are looked at, and recordings of theirs dropped, with this lock held: so one that is freed
/// leaves first (Note [Who frees what] in runtime/front/compiled.h).
class RecordingBudget {
 public:
  RecordingBudget(std::int64_t max_count, std::int64_t max_bytes, bool late_faults = false)
      : max_count(max_count), max_bytes(max_bytes), late_faults(late_faults) {}
  const std::int64_t max_count, max_bytes;
  const bool late_faults;  ///< CompileOptions::late_faults, of the recordings
  /// Set: recordings on devices of their own make no executable graphs any more (CompiledFunction::seal).
  std::atomic<bool> sealed{false};

  std::int64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Are there as many as may be?
  bool is_full() const { return count() >= max_count; }
  std::uint64_t now() const { return now_.load(std::memory_order_relaxed); }
  /// A recording is made.
  void tick() { now_.fetch_add(1, std::memory_order_relaxed); }
  /// So many more are kept, or fewer.
  void add(std::int64_t count, std::int64_t bytes) {
    count_.fetch_add(count, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Has none of the others a recording that was used longer ago than what `cache` would give up?
  bool is_oldest(const RecordingCache& cache) const;
  /// Drops the oldest ones until the bounds hold, but never the last. The caller holds no lock of a cache; what another
  /// thread is looking at is passed over, and goes with the next recording.
  void trim();

  void join(RecordingCache&);
  void leave(RecordingCache&) noexcept;

 private:
  mutable Mutex mu_;
  std::vector<RecordingCache*> caches_ REPRISE_GUARDED_BY(mu_);
  std::atomic<std::uint64_t> now_{1};
  std::atomic<std::int64_t> count_{0}, bytes_{0};
};

}  // namespace reprise::runtime
