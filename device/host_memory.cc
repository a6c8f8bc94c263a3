#include "device/host_memory.h"
#include "device/host_peak.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "device/host_accounts.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace reprise::device {
namespace {

// Debug builds put a canary behind every block and fill blocks with a pattern that reads as NaN, both when they are
// handed out and when they come back.
constexpr std::int64_t kCanaryBytes = kDebugBuild ? 64 : 0;
constexpr unsigned char kCanary = 0xa5, kPoison = 0xff;

// ---- size classes: multiples of 64 up to 1 KiB, then eight steps to each power of two (at most 12.5 % unused).
constexpr int kSmallClasses = 16, kSteps = 8, kMaxLog = 46;
constexpr int kClasses = kSmallClasses + kSteps * (kMaxLog - 10) + 1;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << kMaxLog;

inline int class_of(std::int64_t bytes) {
  std::uint64_t n = static_cast<std::uint64_t>(bytes);
  if (n <= 1024) return n ? static_cast<int>((n - 1) / 64) : 0;
  int log = 63 - std::countl_zero(n - 1);  // n is in (2^log, 2^(log+1)]
  return kSmallClasses + (log - 10) * kSteps + static_cast<int>(((n - 1) >> (log - 3)) & 7);
}
constexpr std::int64_t class_bytes(int c) {
  if (c < kSmallClasses) return (c + 1) * std::int64_t{64};
  int log = (c - kSmallClasses) / kSteps + 10, step = (c - kSmallClasses) % kSteps;
  return (std::int64_t{8 + step + 1}) << (log - 3);
}

struct Block {
  Block* next;
};

// Cached blocks are poisoned for AddressSanitizer but for their link, which it must still follow to see no leak.
void hide(void* p, std::int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(static_cast<char*>(p) + 8, static_cast<std::size_t>(bytes - 8));
#endif
  (void)p, (void)bytes;
}
void unhide(void* p, std::int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(p, static_cast<std::size_t>(bytes));
#endif
  (void)p, (void)bytes;
}

// ---- the system. Blocks of a megabyte and more are mapped, aligned so that huge pages can back them.
constexpr std::int64_t kMapFrom = std::int64_t{1} << 20, kHuge = std::int64_t{2} << 20;

void* system_allocate(std::int64_t bytes) {
  if (bytes < kMapFrom) return std::aligned_alloc(64, static_cast<std::size_t>(bytes));
  std::int64_t slack = bytes >= kHuge ? kHuge : 0;
  void* m = mmap(nullptr, static_cast<std::size_t>(bytes + slack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  if (m == MAP_FAILED) return nullptr;
  if (!slack) return m;
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(m), up = (at + kHuge - 1) / kHuge * kHuge;
  if (up > at) munmap(m, up - at);
  std::int64_t tail = slack - static_cast<std::int64_t>(up - at);
  if (tail > 0) munmap(reinterpret_cast<char*>(up) + bytes, static_cast<std::size_t>(tail));
  madvise(reinterpret_cast<void*>(up), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // advice: may be refused
  return reinterpret_cast<void*>(up);
}
void system_free(void* p, std::int64_t bytes) {
  unhide(p, bytes);
  if (bytes < kMapFrom) std::free(p);
  else munmap(p, static_cast<std::size_t>(bytes));
}

// ---- caches. Each thread keeps blocks up to kThreadMax without locking; the rest, and what overflows, is shared.
constexpr std::int64_t kThreadMax = std::int64_t{256} << 10;
constexpr int kThreadClasses = kSmallClasses + kSteps * 8;  // 1 KiB << 8
static_assert(class_bytes(kThreadClasses - 1) == kThreadMax);

constexpr std::uint32_t thread_capacity(int c) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>((std::int64_t{512} << 10) / class_bytes(c), 4, 64));
}
inline constexpr auto kCapacity = [] {
  std::array<std::uint32_t, kThreadClasses> a{};
  for (int c = 0; c < kThreadClasses; ++c) a[static_cast<std::size_t>(c)] = thread_capacity(c);
  return a;
}();

/// Written by its thread alone; the counts are atomic (plain moves) so that statistics may read them.
struct ThreadCache {
  Block* heads[kThreadClasses];
  std::atomic<std::uint32_t> counts[kThreadClasses];
  std::atomic<std::int64_t> allocations;
  bool registered, dead;
  void set_count(int c, std::uint32_t n) { counts[c].store(n, std::memory_order_relaxed); }
  std::uint32_t count(int c) const { return counts[c].load(std::memory_order_relaxed); }
};
constinit thread_local ThreadCache tls{};

struct Shared {
  ForkMutex mu;
  Block* heads[kClasses] REPRISE_GUARDED_BY(mu) = {};
  std::int64_t counts[kClasses] REPRISE_GUARDED_BY(mu) = {};
  std::vector<ThreadCache*> threads REPRISE_GUARDED_BY(mu);
  std::int64_t held REPRISE_GUARDED_BY(mu) = 0, peak REPRISE_GUARDED_BY(mu) = 0, limit REPRISE_GUARDED_BY(mu) = 0;
  std::int64_t allocations_of_dead REPRISE_GUARDED_BY(mu) = 0, system_allocations REPRISE_GUARDED_BY(mu) = 0;
  std::int64_t shared_bytes REPRISE_GUARDED_BY(mu) = 0;       // of the blocks in `heads`
  std::uint64_t asked[kClasses] REPRISE_GUARDED_BY(mu) = {};  // by class: when it was last asked for here, on `clock`
  std::uint64_t clock REPRISE_GUARDED_BY(mu) = 0;
  // In use at once, in this stretch of the clock and in the one before.
  std::int64_t most_now REPRISE_GUARDED_BY(mu) = 0, most_before REPRISE_GUARDED_BY(mu) = 0;

  std::int64_t cached() const REPRISE_REQUIRES(mu) {
    std::int64_t n = 0;
    for (int c = 0; c < kClasses; ++c) n += counts[c] * class_bytes(c);
    for (const ThreadCache* t : threads)
      for (int c = 0; c < kThreadClasses; ++c) n += t->count(c) * class_bytes(c);
    return n;
  }
  void push(int c, Block* b) REPRISE_REQUIRES(mu) {
    b->next = heads[c];
    heads[c] = b;
    ++counts[c];
    shared_bytes += class_bytes(c);
  }
  Block* pop(int c) REPRISE_REQUIRES(mu) {
    Block* b = heads[c];
    if (b) heads[c] = b->next, --counts[c], shared_bytes -= class_bytes(c);
    return b;
  }
  void drop(int c) REPRISE_REQUIRES(mu) {
    system_free(pop(c), class_bytes(c));
    held -= class_bytes(c);
  }
  // What threads keep for themselves counts as in use: it is bounded by itself.
  void tick() REPRISE_REQUIRES(mu) {
    constexpr std::uint64_t kStretch = 4096;
    const std::int64_t in_use = held - shared_bytes;
    if (++clock % kStretch == 0) most_before = std::exchange(most_now, in_use);
    most_now = std::max(most_now, in_use);
  }
  /// A tensor that grows, or sizes that come once, would leave blocks of every class behind.
  void keep_within_bounds() REPRISE_REQUIRES(mu) {
    constexpr std::int64_t kAlways = std::int64_t{64} << 20;
    const std::int64_t most = std::max(most_now, most_before) / 2 + kAlways;
    while (shared_bytes > most) {
      int stalest = -1;
      for (int c = 0; c < kClasses; ++c)
        if (counts[c] && (stalest < 0 || asked[c] < asked[stalest])) stalest = c;
      while (counts[stalest] && shared_bytes > most) drop(stalest);
    }
  }
  void trim() REPRISE_REQUIRES(mu) {
    for (int c = 0; c < kClasses; ++c)
      while (counts[c]) drop(c);
    most_now = most_before = held;
  }
};
// Never destroyed: results may outlive static destructors.
Shared& shared() {
  static Shared* s = new Shared;
  // In a child the caches of the parent's other threads belong to nobody, and may have been amid a change.
  static const InForkedChild child([]() REPRISE_UNCHECKED_THREADS {
    std::erase_if(shared().threads, [](const ThreadCache* t) { return t != &tls; });
  });
  return *s;
}

void flush(ThreadCache& t, Shared& s) REPRISE_REQUIRES(s.mu) {
  for (int c = 0; c < kThreadClasses; ++c) {
    while (Block* b = t.heads[c]) {
      t.heads[c] = b->next;
      s.push(c, b);
    }
    t.set_count(c, 0);
  }
}

/// Gives a thread's blocks to the others when it ends.
struct ThreadEnd {
  ~ThreadEnd() {
    Shared& s = shared();
    const MutexLock lock(s.mu);
    flush(tls, s);
    tls.dead = true;
    s.allocations_of_dead += tls.allocations.load(std::memory_order_relaxed);
    std::erase(s.threads, &tls);
  }
};
void register_thread(Shared& s) REPRISE_REQUIRES(s.mu) {
  static thread_local ThreadEnd end;
  (void)end;
  tls.registered = true;
  s.threads.push_back(&tls);
}

[[noreturn]] void out_of_memory(Shared& s, std::int64_t bytes) REPRISE_REQUIRES(s.mu) {
  std::int64_t cached = s.cached(), live = s.held - cached, limit = s.limit;
  std::string limit_text = limit ? ", limit " + bytes_text(limit) : std::string();
  fail(ErrorCode::OutOfMemory, "", {}, "no host memory for ", bytes_text(bytes), ": ", bytes_text(live),
       " live in tensors, ", bytes_text(cached), " cached, ", bytes_text(backed_range_bytes()), " in recordings' pools",
       limit_text);
}

[[gnu::noinline]] void* allocate_slow(int c, std::int64_t bytes) {
  Shared& s = shared();
  const MutexLock lock(s.mu);
  if (!tls.registered && !tls.dead) register_thread(s);
  if (tls.dead) ++s.allocations_of_dead;
  s.asked[c] = s.clock + 1;
  if (Block* b = s.pop(c)) {
    s.tick();
    if (c < kThreadClasses && !tls.dead)  // bring some more: the next calls then need no lock
      for (std::uint32_t n = kCapacity[static_cast<std::size_t>(c)] / 2; tls.count(c) < n && s.heads[c];) {
        Block* extra = s.pop(c);
        extra->next = tls.heads[c];
        tls.heads[c] = extra;
        tls.set_count(c, tls.count(c) + 1);
      }
    return b;
  }
  std::int64_t size = class_bytes(c);
  if (s.limit && s.held + size > s.limit) {
    if (!tls.dead) flush(tls, s);
    s.trim();
    if (s.held + size > s.limit) out_of_memory(s, bytes);
  }
  void* p = system_allocate(size);
  if (!p) {
    if (!tls.dead) flush(tls, s);
    s.trim();
    p = system_allocate(size);
    if (!p) out_of_memory(s, bytes);
  }
  ++s.system_allocations;
  s.held += size;
  s.peak = std::max(s.peak, s.held);
  s.tick();
  return p;
}

[[gnu::noinline]] void free_slow(int c, Block* b) noexcept {
  Shared& s = shared();
  const MutexLock lock(s.mu);
  s.push(c, b);
  s.tick();
  s.keep_within_bounds();
  if (c >= kThreadClasses || tls.dead) return;
  if (!tls.registered) register_thread(s);
  for (std::uint32_t keep = kCapacity[static_cast<std::size_t>(c)] / 2; tls.count(c) > keep;) {
    Block* over = tls.heads[c];
    tls.heads[c] = over->next;
    tls.set_count(c, tls.count(c) - 1);
    s.push(c, over);
  }
}

std::atomic<std::int64_t> overruns{0};

void* hand_out(void* p, int c, std::int64_t bytes) {
  unhide(p, class_bytes(c));
  if constexpr (kDebugBuild) {
    std::memset(p, kPoison, static_cast<std::size_t>(bytes));
    std::memset(static_cast<char*>(p) + bytes, kCanary, static_cast<std::size_t>(kCanaryBytes));
  }
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(static_cast<char*>(p) + (bytes + 7) / 8 * 8,
                              static_cast<std::size_t>(class_bytes(c) - (bytes + 7) / 8 * 8));
#endif
  return p;
}
void take_back(void* p, int c, std::int64_t bytes) noexcept {
  unhide(p, class_bytes(c));
  if constexpr (kDebugBuild) {
    const unsigned char* canary = static_cast<unsigned char*>(p) + bytes;
    if (std::any_of(canary, canary + kCanaryBytes, [](unsigned char b) { return b != kCanary; })) {
      overruns.fetch_add(1, std::memory_order_relaxed);
      logs::warn("a block of " + std::to_string(bytes) + " bytes was written past its end");
    }
    std::memset(p, kPoison, static_cast<std::size_t>(bytes));
  }
  hide(p, class_bytes(c));
}

}  // namespace

void* host_allocate(std::int64_t bytes) {
  if (bytes < 0) fail(ErrorCode::InvalidArgument, "", {}, "cannot allocate ", bytes, " bytes");
  if (bytes > kMaxBytes - kCanaryBytes) {
    Shared& s = shared();
    const MutexLock lock(s.mu);
    out_of_memory(s, bytes);
  }
  int c = class_of(bytes + kCanaryBytes);
  ThreadCache& t = tls;
  t.allocations.store(t.allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  void* p;
  if (c < kThreadClasses && t.heads[c]) [[likely]] {
    Block* b = t.heads[c];
    t.heads[c] = b->next;
    t.set_count(c, t.count(c) - 1);
    p = b;
  } else {
    p = allocate_slow(c, bytes);
  }
  return hand_out(p, c, bytes);
}

void host_free(void* p, std::int64_t bytes) noexcept {
  if (!p) return;
  int c = class_of(bytes + kCanaryBytes);
  take_back(p, c, bytes);
  ThreadCache& t = tls;
  Block* b = static_cast<Block*>(p);
  if (c < kThreadClasses && t.registered && !t.dead && t.count(c) < kCapacity[static_cast<std::size_t>(c)]) [[likely]] {
    b->next = t.heads[c];
    t.heads[c] = b;
    t.set_count(c, t.count(c) + 1);
    return;
  }
  free_slow(c, b);
}

void host_reset_peak() {
  Shared& s = shared();
  const MutexLock lock(s.mu);
  s.peak = s.held;
}

HostMemoryStats host_memory_stats() {
  Shared& s = shared();
  const MutexLock lock(s.mu);
  HostMemoryStats r{};
  r.cached_bytes = s.cached();
  r.live_bytes = s.held - r.cached_bytes;
  r.peak_bytes = s.peak;
  r.allocations = s.allocations_of_dead;
  for (const ThreadCache* t : s.threads) r.allocations += t->allocations.load(std::memory_order_relaxed);
  r.system_allocations = s.system_allocations;
  return r;
}

void host_trim() {
  Shared& s = shared();
  const MutexLock lock(s.mu);
  if (!tls.dead) flush(tls, s);
  s.trim();
}

void set_host_memory_limit(std::int64_t bytes) {
  {
    Shared& s = shared();
    const MutexLock lock(s.mu);
    s.limit = bytes;
  }
  host_trim();
}

std::int64_t host_memory_overruns() { return overruns.load(std::memory_order_relaxed); }

}  // namespace reprise::device
