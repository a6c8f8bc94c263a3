#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "device/parallel.h"

namespace reprise::device {

/// Note [The team]
/// ~~~~~~~~~~~~~~~
/// A model is hundreds of kernels of 5 to 50 microseconds, one after the other. What such a kernel gains from a second
/// core, general schedulers of tasks lose again: workers that find nothing to steal go to sleep, and a meeting of two
/// threads costs 1 to 1.5 microseconds even while both are awake. So the library has threads of its own, all that the
/// process may use, in one team for all who call:
///
/// - A caller *claims* workers that are free, gives each a part of the range, and begins with the first part itself.
/// The same worker has the same part
///   of the next kernel, whose data lie in its core's cache. Who is done with a part goes on with chunks of others', so
///   a thread that the system holds up costs little; a worker that has not begun in the end is not waited for.
/// - A worker that has done its part *spins* (with pauses, and yields to other processes) for some microseconds, longer
/// while a replay goes on
///   (Launches), and then *sleeps*. Giving something to a worker that is awake costs a tenth of a microsecond, waking
///   one 8 for the caller and up to 100 until it runs. So short work is shared with who is awake alone; what was not
///   shared for that is added up, and when it is as much as waking costs, one is woken.
/// - All callers together are not given more threads than the limit says: a second one gets what the first has left, or
/// nothing, and computes alone.
///
/// Results do not depend on any of this: who computes an element, and in which chunk, never decides how.
class Team {
 public:
  /// Workers are made when they are first wanted, `most` at most, and never end.
  explicit Team(int most);
  ~Team();  ///< only of one that has made none
  Team(const Team&) = delete;

  /// What a caller knows of its work.
  struct Range {
    std::int64_t n;
    std::int64_t least;  ///< elements of a chunk, so that handing it over pays
    std::int64_t wake;   ///< elements for which waking a worker pays
    RangeFn fn;
    void* ctx;
  };
  /// Runs it on at most `threads`, the caller included. Returns when all is done. Does not throw, nor does fn.
  void run(const Range&, int threads);

  /// Is this thread amid its part of a range? Ranges inside of it are this thread's alone.
  static bool inside() noexcept;

  int made() const { return count_.load(std::memory_order_acquire); }
  int asleep() const;
  /// A replay goes on whose launches want the team: workers spin longer.
  void expect_more(int by) { expecting_.fetch_add(by, std::memory_order_relaxed); }

 private:
  struct Part;
  struct Job;
  struct Worker;
  /// Makes workers this job's that shall take part in it.
  void claim_some(Job&, const Range&, int threads);
  bool claim(Worker&, Job&, bool may_wake);
  void make_workers(int n);
  static void wake_some(Job&);
  void finish(Job&);
  static void* begin(void* worker);
  void serve(Worker&);
  Job& next_job(Worker&);

  const int most_;
  const std::unique_ptr<Worker[]> workers_;
  std::atomic<int> count_{0};                // workers that there are, the first of workers_
  alignas(64) std::atomic<int> at_work_{0};  // callers, and the workers they have claimed
  alignas(64) std::atomic<int> expecting_{0};
  Mutex making_;  // a child of fork() makes a team of its own
};

}  // namespace reprise::device
