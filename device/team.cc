#include "device/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/float_state.h"
#include "base/futex.h"
#include "base/thread_object.h"

namespace reprise::device {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kSpin{40};  // between calls: five times what waking costs
constexpr std::chrono::microseconds kSpinInReplay{250};
constexpr std::int64_t kChunks = 4;        // of each part
constexpr std::int64_t kWorthWaking = 16;  // so many least chunks that were not shared
constexpr std::size_t kStack = std::size_t{2} << 20;

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

inline std::uint32_t this_core() { return static_cast<std::uint32_t>(sched_getcpu()) & 0xffff; }

/// Lets a thread run on all of `cores` but one. Where the system does not allow that, nothing changes.
void keep_off(pid_t thread, const cpu_set_t& cores, std::uint32_t one) {
  cpu_set_t others = cores;
  if (one < CPU_SETSIZE) CPU_CLR(one, &others);
  if (CPU_COUNT(&others)) sched_setaffinity(thread, sizeof others, &others);
}

/// Waits for another thread: some microseconds with pauses, then the system may run others here, perhaps the very one.
class Spin {
 public:
  void once() {
    pause();
    if (++n_ % kPauses == 0) sched_yield();
  }
  bool yielded() const { return n_ % kPauses == 0; }

 private:
  static constexpr unsigned kPauses = 64;
  unsigned n_ = 0;
};

constinit thread_local bool is_inside = false;

// State of a worker: waiting for a caller, by spinning or asleep; a caller's, who has not said yet what there is to do,
// or for whom it has done that. Otherwise it is the address of the caller's job, with the lowest bit set once the
// worker has begun.
constexpr std::uintptr_t kFree = 0, kAsleep = 2, kClaimed = 4;

}  // namespace

/// Chunks [next, end) of a range, and all that is needed to run them: one line of the cache, so that a worker finds
/// everything where it waits.
struct Team::Part {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0, n = 0, chunks = 0;
  RangeFn fn = nullptr;
  void* ctx = nullptr;

  void assign(const Range& r, std::int64_t of, int at, int parts) {
    next.store(of * at / parts, std::memory_order_relaxed);
    end = of * (at + 1) / parts, n = r.n, chunks = of, fn = r.fn, ctx = r.ctx;
  }
  bool left() const { return next.load(std::memory_order_relaxed) < end; }
  void work() {
    auto at = [each = n / chunks, more = n % chunks](std::int64_t c) { return each * c + std::min(c, more); };
    while (left()) {
      const std::int64_t c = next.fetch_add(1, std::memory_order_relaxed);
      if (c < end) fn(ctx, at(c), at(c + 1));
    }
  }
};

struct alignas(64) Team::Worker {
  std::atomic<std::uintptr_t> state{kFree};
  // guarded by state: a claimer's until it offers it; then all take from it that take part, until the claimer lets go
  // of all of them
  Part part;
  std::uint32_t place : 15 = 0, others_sleep : 1 = 0;  // the part's; of those who take part
  std::uint32_t beside : 16 = 0;                       // the caller's core
  std::atomic<std::uint32_t> wakes{0};                 // what it sleeps on; odd: somebody has to call the system for it
  alignas(64) Team* team = nullptr;
  // It is woken on another core than the caller's. The system likes to put it there, behind the caller in the queue,
  // for milliseconds while other cores are idle.
  pid_t thread = 0;
  cpu_set_t cores{};  // that it may use as it began
};

/// One thread's range, while it shares it.
struct alignas(64) Team::Job {
  Part part;                     // the caller's own, the first
  std::vector<Worker*> workers;  // of the others
  bool asleep = false;           // some of them, perhaps
  std::int64_t alone = 0;        // work that was not shared because all slept, in least chunks

  std::uintptr_t offered() { return reinterpret_cast<std::uintptr_t>(this); }
  std::uintptr_t begun() { return offered() | 1; }
  bool make_room(int threads) noexcept {
    try {
      workers.reserve(static_cast<std::size_t>(threads));
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  Part& at(int place) { return place ? workers[static_cast<std::size_t>(place) - 1]->part : part; }
  void work(int first) {
    const bool before = std::exchange(is_inside, true);
    at(first).work();
    // Where each part is one chunk, whatever has not begun is left to the caller: the others' look at all parts would
    // cost more than it gives.
    const int parts = static_cast<int>(workers.size()) + 1;
    if (first == 0 || part.chunks > parts)
      for (int i = 1; i < parts; ++i) at((first + i) % parts).work();
    is_inside = before;
  }
};

bool Team::inside() noexcept { return is_inside; }

Team::Team(int most) : most_(most), workers_(std::make_unique<Worker[]>(static_cast<std::size_t>(most))) {}
Team::~Team() = default;

int Team::asleep() const {
  int n = 0;
  for (int i = 0; i < made(); ++i) {
    const Worker& w = workers_[static_cast<std::size_t>(i)];
    const std::uintptr_t state = w.state.load(std::memory_order_relaxed);
    n += state == kAsleep || (state == kFree && w.wakes.load(std::memory_order_relaxed) & 1);
  }
  return n;
}

void Team::make_workers(int n) {
  std::unique_lock lock(making_, std::try_to_lock);
  if (!lock) return;  // another caller does; this one takes what there is
  for (int i = made(); i < std::min(n, most_); ++i) {
    Worker& w = workers_[static_cast<std::size_t>(i)];
    w.team = this;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, kStack);
    sigset_t all, before;  // the program's signals are not for these threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    const bool ok = pthread_create(&id, &attr, &Team::begin, &w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attr);
    if (!ok) return;  // asked again at the next call: the system may have room then
    count_.store(i + 1, std::memory_order_release);
  }
}

bool Team::claim(Worker& w, Job& job, bool may_wake) {
  std::uintptr_t state = w.state.load(std::memory_order_relaxed);
  do {
    // One that was let go before anybody woke it is free, and sleeps all the same.
    const bool asleep = state == kAsleep || w.wakes.load(std::memory_order_relaxed) & 1;
    if ((state != kFree && state != kAsleep) || (asleep && !may_wake)) return false;
    // Once more where it falls asleep just now.
  } while (!w.state.compare_exchange_weak(state, kClaimed, std::memory_order_acquire, std::memory_order_relaxed));
  job.workers.push_back(&w);                                             // there is room
  if (state == kAsleep) w.wakes.fetch_or(1, std::memory_order_release);  // behind the state: next_job
  job.asleep |= w.wakes.load(std::memory_order_relaxed) & 1;
  return true;
}

void Team::claim_some(Job& job, const Range& r, int threads) {
  job.asleep = false;
  const int share = static_cast<int>(std::min<std::int64_t>(threads, r.n / r.least));
  if (share < 2) return;
  int wake = static_cast<int>(std::min<std::int64_t>(threads, r.n / r.wake));
  if (job.alone >= kWorthWaking) wake = std::max(wake, 2);
  if (made() < wake - 1) make_workers(wake - 1);
  int got = 0;
  for (int i = 0; i < made() && got < share - 1; ++i)
    got += claim(workers_[static_cast<std::size_t>(i)], job, got < wake - 1);
  job.alone = got ? 0 : job.alone + r.n / r.least;
}

void Team::run(const Range& r, int threads) {
  Job* own = nullptr;
  try {
    own = &thread_object<Job>();
  } catch (const std::bad_alloc&) {
  }
  if (!own) return r.fn(r.ctx, 0, r.n);
  Job& job = *own;
  job.workers.clear();
  threads = std::min(threads, most_ + 1);
  const int others = at_work_.fetch_add(1, std::memory_order_relaxed);
  if (job.make_room(threads)) claim_some(job, r, threads - others);
  const int got = static_cast<int>(job.workers.size()), parts = got + 1;
  if (got == 0) {
    r.fn(r.ctx, 0, r.n);
  } else {
    at_work_.fetch_add(got, std::memory_order_relaxed);
    const std::int64_t chunks = std::clamp<std::int64_t>(r.n / r.wake, parts, kChunks * parts);
    job.part.assign(r, chunks, 0, parts);
    const std::uint32_t core = this_core();
    for (int i = 1; i < parts; ++i) {
      Worker& w = *job.workers[static_cast<std::size_t>(i) - 1];
      w.part.assign(r, chunks, i, parts);
      w.place = static_cast<std::uint32_t>(i) & 0x7fff;
      w.others_sleep = job.asleep;
      w.beside = core;
    }
    for (Worker* w : job.workers) w->state.store(job.offered(), std::memory_order_release);
    if (job.asleep) wake_some(job);
    job.work(0);
    finish(job);
  }
  at_work_.fetch_sub(parts, std::memory_order_relaxed);
}

void Team::finish(Job& job) {
  for (Worker* w : job.workers) {
    std::uintptr_t state = w->state.load(std::memory_order_acquire);
    // it has not begun
    if (state == job.offered())
      w->state.compare_exchange_strong(state, kClaimed, std::memory_order_acquire, std::memory_order_acquire);
    for (Spin spin; state == job.begun(); state = w->state.load(std::memory_order_acquire)) spin.once();
  }
  for (Worker* w : job.workers) w->state.store(kFree, std::memory_order_release);
}

/// Two of those who take part and sleep. Each who begins does the same, so that many are awake after few steps.
void Team::wake_some(Job& job) {
  int left = 2;
  for (Worker* w : job.workers) {
    std::uint32_t wakes = w->wakes.load(std::memory_order_relaxed);
    if (!(wakes & 1) || !w->wakes.compare_exchange_strong(wakes, wakes + 1, std::memory_order_relaxed)) continue;
    keep_off(w->thread, w->cores, this_core());
    futex_wake(w->wakes);
    if (--left == 0) return;
  }
}

void* Team::begin(void* worker) {
  Worker& w = *static_cast<Worker*>(worker);
  pthread_setname_np(pthread_self(), "reprise");
  FloatState::set();
  w.thread = gettid();
  // The process's cores, not those that the caller who made this thread may be bound to.
  // more cores than the set has places: they are not kept off any
  if (sched_getaffinity(getpid(), sizeof w.cores, &w.cores) != 0) CPU_ZERO(&w.cores);
  else sched_setaffinity(0, sizeof w.cores, &w.cores);
  w.team->serve(w);
  return nullptr;
}

void Team::serve(Worker& me) {
  for (;;) {
    Job& job = next_job(me);
    if (me.others_sleep) wake_some(job);
    if (me.beside == this_core()) {
      keep_off(me.thread, me.cores, this_core());
      sched_setaffinity(me.thread, sizeof me.cores, &me.cores);
    }
    job.work(static_cast<int>(me.place));
    me.state.store(kClaimed, std::memory_order_release);  // the job may be gone from here on
  }
}

Team::Job& Team::next_job(Worker& me) {
  Clock::time_point since = Clock::now();
  for (Spin spin;; spin.once()) {
    std::uintptr_t state = me.state.load(std::memory_order_relaxed);
    if (state > kClaimed &&
        me.state.compare_exchange_strong(state, state | 1, std::memory_order_acquire, std::memory_order_relaxed))
      return *reinterpret_cast<Job*>(state);
    if (!spin.yielded() || state != kFree) continue;
    if (Clock::now() - since < (expecting_.load(std::memory_order_relaxed) ? kSpinInReplay : kSpin)) continue;
    if (!me.state.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel, std::memory_order_relaxed))
      continue;
    // `wakes` first: whoever ends this changes the state before it.
    for (std::uint32_t wakes = me.wakes.load(std::memory_order_acquire);
         me.state.load(std::memory_order_acquire) == kAsleep; wakes = me.wakes.load(std::memory_order_acquire))
      futex_wait(me.wakes, wakes, std::chrono::hours(1));
    std::uint32_t odd = me.wakes.load(std::memory_order_relaxed);
    if (odd & 1) me.wakes.compare_exchange_strong(odd, odd + 1, std::memory_order_relaxed);
    if (CPU_COUNT(&me.cores)) sched_setaffinity(0, sizeof me.cores, &me.cores);
    since = Clock::now();
  }
}

}  // namespace reprise::device
