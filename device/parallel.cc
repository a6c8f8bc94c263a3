#include "device/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/fork.h"
#include "base/knobs.h"
#include "device/cpu_info.h"
#include "device/cpu_quota.h"
#include "device/team.h"

namespace reprise::device {
namespace {

int machine_threads() {
  static const int n = std::max(1, cpu_info().cores);
  return n;
}

std::atomic<int>& thread_limit() {
  static std::atomic<int> n{[] {
    std::int64_t wanted = knobs().threads;
    if (wanted > 0) return static_cast<int>(std::min<std::int64_t>(wanted, machine_threads()));
    const int quota = quota_cores();
    return quota ? std::min(quota, machine_threads()) : machine_threads();
  }()};
  return n;
}

// The process's, never destroyed: its threads do not end. A child of fork() has none of them, and begins anew.
constinit std::atomic<Team*> the_team{nullptr};
const InForkedChild child([] { the_team.store(nullptr); });

Team* team() {
  Team* t = the_team.load(std::memory_order_acquire);
  if (t) return t;
  try {
    auto made = std::make_unique<Team>(machine_threads() - 1);
    if (the_team.compare_exchange_strong(t, made.get(), std::memory_order_acq_rel)) t = made.release();
  } catch (const std::bad_alloc&) {
  }  // this range is the caller's
  return t;
}

constinit thread_local Launches* launches = nullptr;

}  // namespace

int num_threads() { return thread_limit().load(std::memory_order_relaxed); }
void set_num_threads(int n) { thread_limit().store(std::clamp(n, 1, machine_threads()), std::memory_order_relaxed); }

void parallel_for(std::int64_t n, std::int64_t grain, RangeFn fn, void* ctx) {
  if (n <= 0) return;
  constexpr std::int64_t kParts = 4;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t least = std::max<std::int64_t>(grain / kParts, 1);
  const int threads = num_threads();
  Team* t = n / least < 2 || threads == 1 || Team::inside() ? nullptr : team();
  if (!t) return fn(ctx, 0, n);
  if (launches && launches->several_ && !launches->told_) {
    launches->told_ = t;
    t->expect_more(1);
  }
  t->run({n, least, grain, fn, ctx}, threads);
}

Launches::Launches(bool several) : outer_(launches), several_(several) { launches = this; }
Launches::~Launches() {
  launches = outer_;
  if (told_) told_->expect_more(-1);
}

}  // namespace reprise::device
