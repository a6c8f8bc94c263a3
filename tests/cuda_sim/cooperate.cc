#include <algorithm>
#include <bit>
#include <map>

#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/race.h"

/// Where threads wait for each other: barriers of a block, operations of a warp.
namespace sim {

namespace {

enum Operation : std::uint32_t {
  kWarpBarrier,
  kShuffle,
  kVote,
  kReduce = kVote + 4,
  kMatchAny = kReduce + 8,
  kShuffleLast = 64
};

Thread& self() { return *g_exec.current; }
std::uint32_t thread_count() { return static_cast<std::uint32_t>(g_exec.threads.size()); }

/// Every thread of a warp must be at the same instruction (the barriers are the .aligned ones).
void check_alignment(std::uint32_t barrier) {
  auto& threads = g_exec.threads;
  for (std::uint32_t first = 0; first < thread_count(); first += 32) {
    const Thread* seen = nullptr;
    for (std::uint32_t i = first; i < std::min(first + 32, thread_count()); ++i) {
      const Thread& t = threads[i];
      if (t.state != Thread::State::Barrier || t.barrier != barrier) continue;
      if (seen && seen->site != t.site)
        refuse(cat("barrier ", barrier, " in divergent code: thread ", seen - threads.data(),
                   " of the same warp waits at", site_text(seen->site), ", thread ", i, " at"),
               t.site);
      seen = &t;
    }
  }
}

void wait_at_barrier(std::uint32_t id, std::uint32_t count, std::uint32_t site) {
  if (id >= 16) refuse(cat("barrier ", id, ": there are 16"), site);
  auto& bar = g_exec.barriers[id];
  const std::uint32_t expected = count ? count : thread_count();
  if (count % 32) refuse(cat("barrier ", id, " for ", count, " threads: no multiple of 32"), site);
  if (bar.arrived && bar.expected != expected)
    refuse(cat("barrier ", id, " for ", expected, " threads, while ", bar.arrived, " wait at it for ", bar.expected),
           site);
  Thread& t = self();
  t.state = Thread::State::Barrier;
  t.barrier = id;
  t.site = site;
  bar.expected = expected;
  if (++bar.arrived == expected) {
    check_alignment(id);
    for (Thread& o : g_exec.threads)
      if (o.state == Thread::State::Barrier && o.barrier == id) o.state = Thread::State::Ready;
    bar = {};
    race_barrier();
    g_exec.restart = true;
  }
  yield();
}

void barrier(std::uint32_t id, std::uint32_t count, std::uint32_t site) { wait_at_barrier(id, count, site); }

/// Barrier 0 with a count, an and, or an or of everybody's predicate.
std::uint32_t barrier_reduce(std::uint32_t kind, std::uint32_t predicate, std::uint32_t site) {
  self().in[0] = predicate;
  wait_at_barrier(0, 0, site);
  // Everybody's value stays until everybody has read it.
  std::uint32_t set = 0;
  for (const Thread& t : g_exec.threads) set += t.in[0] != 0;
  wait_at_barrier(0, 0, site);
  return kind == 0 ? set : kind == 1 ? set == thread_count() : set != 0;
}

void complete(std::uint32_t warp, std::uint32_t lane);

void block_leaves() { g_exec.leaves = true; }

}  // namespace

[[gnu::noinline]] void refuse(std::string text, std::uint32_t site) {
  static std::string line;
  line = std::move(text);
  kernel_error(CUDA_ERROR_LAUNCH_FAILED, line.c_str(), site);
}

std::uint64_t together(std::uint32_t operation, std::uint32_t mask, std::uint32_t site) {
  Thread& t = self();
  if (!(mask >> t.lane & 1))
    refuse(cat("its lane ", t.lane, " is not in the mask ", hex(mask), " that it gives"), site);
  t.operation = operation;
  t.mask = mask;
  t.site = site;
  t.state = Thread::State::Warp;
  g_exec.warps[t.warp].waiting |= 1u << t.lane;
  complete(t.warp, t.lane);
  if (t.state == Thread::State::Warp || g_exec.failed) yield();
  return t.result;
}

namespace {

std::uint32_t reduced(std::uint32_t kind, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (kind) {
    case 0: return a + b;
    case 1: return std::min(a, b);
    case 2: return std::max(a, b);
    case 3: return static_cast<std::uint32_t>(std::min(sa, sb));
    case 4: return static_cast<std::uint32_t>(std::max(sa, sb));
    case 5: return a & b;
    case 6: return a | b;
    default: return a ^ b;
  }
}

/// in: value, b, c as PTX shfl.sync has them.
std::uint64_t shuffled(const Thread& t, std::uint32_t mode, Thread* warp, std::uint32_t members) {
  const int lane = static_cast<int>(t.lane), b = t.in[1] & 31, c = t.in[2] & 31, segment = t.in[2] >> 8 & 31;
  const int last = (lane & segment) | (c & ~segment), first = lane & segment;
  int from = mode == 0 ? lane - b : mode == 1 ? lane + b : mode == 2 ? lane ^ b : (first | (b & ~segment));
  const bool inside = mode == 0 ? from >= last : from <= last;
  if (!inside) from = lane;
  if (!(members >> from & 1)) {
    // The scheduler may be the one that finds it, when a lane ends: the caller leaves the kernel.
    report_kernel_error(
        CUDA_ERROR_LAUNCH_FAILED,
        cat("a shuffle in which lane ", lane, " reads from lane ", from, ", which takes no part").c_str(), t.site);
    return 0;
  }
  return static_cast<std::uint64_t>(inside) << 32 | warp[from].in[0];
}

/// The operation of the lanes in `members`, all of which have arrived.
void perform(Thread* warp, std::uint32_t members) {
  const std::uint32_t op = warp[std::countr_zero(members)].operation;
  std::uint32_t ballot = 0, sum = 0;
  bool some = false;
  if (op >= kTensorOperation) perform_tensor(op - kTensorOperation, warp, members);
  for (std::uint32_t m = members; m; m &= m - 1) {
    const std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(m));
    ballot |= (warp[lane].in[0] != 0) << lane;
    if (op >= kReduce && op < kMatchAny) sum = some ? reduced(op - kReduce, sum, warp[lane].in[0]) : warp[lane].in[0];
    some = true;
  }
  for (std::uint32_t m = members; m; m &= m - 1) {
    Thread& t = warp[std::countr_zero(m)];
    if (op >= kTensorOperation) continue;
    else if (op >= kShuffleLast) t.result = shuffled(t, op - kShuffleLast, warp, members);
    else if (op == kVote) t.result = ballot;
    else if (op == kVote + 1) t.result = ballot != 0;
    else if (op == kVote + 2) t.result = ballot == members;
    else if (op == kVote + 3) t.result = ballot == members || ballot == 0;
    else if (op >= kReduce && op < kMatchAny) t.result = sum;
    else if (op == kMatchAny) {
      t.result = 0;
      for (std::uint32_t o = members; o; o &= o - 1)
        if (warp[std::countr_zero(o)].wide == t.wide) t.result |= o & (~o + 1);
    }
  }
  for (std::uint32_t m = members; m; m &= m - 1) warp[std::countr_zero(m)].state = Thread::State::Ready;
}

/// The lanes that `lane` waits for go on with it if all of them have arrived. Lanes that have ended take no part.
void complete(std::uint32_t warp_number, std::uint32_t lane) {
  Execution::Warp& w = g_exec.warps[warp_number];
  Thread* warp = &g_exec.threads[warp_number * 32];
  const Thread& t = warp[lane];
  const std::uint32_t members = t.mask & w.present & ~w.ended;
  if (members & ~w.waiting) return;
  for (std::uint32_t m = members; m; m &= m - 1) {
    const Thread& o = warp[std::countr_zero(m)];
    if (o.operation != t.operation || o.mask != t.mask) return;
  }
  w.waiting &= ~members;
  if (t.operation == kWarpBarrier && members == (w.present & ~w.ended)) race_warp_barrier(warp_number);
  perform(warp, members);
}

void warp_barrier(std::uint32_t mask, std::uint32_t site) { together(kWarpBarrier, mask, site); }
std::uint64_t shuffle(std::uint32_t mode, std::uint32_t mask, std::uint32_t value, std::uint32_t b, std::uint32_t c,
                      std::uint32_t site) {
  Thread& t = self();
  t.in[0] = value, t.in[1] = b, t.in[2] = c;
  return together(kShuffleLast + mode, mask, site);
}
/// kind: ballot, any, all, uniform. Without a mask (the old forms): every lane.
std::uint32_t vote(std::uint32_t kind, std::uint32_t mask, std::uint32_t predicate, std::uint32_t site) {
  self().in[0] = predicate;
  return static_cast<std::uint32_t>(together(kVote + kind, mask, site));
}
std::uint32_t reduce(std::uint32_t kind, std::uint32_t mask, std::uint32_t value, std::uint32_t site) {
  self().in[0] = value;
  return static_cast<std::uint32_t>(together(kReduce + kind, mask, site));
}
std::uint32_t match_any(std::uint32_t mask, std::uint64_t value, std::uint32_t site) {
  self().wide = value;
  return static_cast<std::uint32_t>(together(kMatchAny, mask, site));
}

void end_thread() {
  self().state = Thread::State::Done;
  yield();
}

std::uint32_t active_mask() {
  std::uint32_t m = 0;
  const std::uint32_t first = self().warp * 32;
  for (std::uint32_t i = first; i < std::min(first + 32, thread_count()); ++i)
    if (g_exec.threads[i].state != Thread::State::Done) m |= 1u << (i - first);
  return m;
}

std::uint32_t lanemask_eq() { return 1u << g_ids.lane; }
std::uint32_t lanemask_lt() { return (1u << g_ids.lane) - 1; }
std::uint32_t lanemask_le() { return lanemask_lt() | lanemask_eq(); }
std::uint32_t lanemask_gt() { return ~lanemask_le(); }
std::uint32_t lanemask_ge() { return ~lanemask_lt(); }

template <class F>
RuntimeFunction entry(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

}  // namespace

void end_lane(const Thread& t) {
  Execution::Warp& w = g_exec.warps[t.warp];
  w.ended |= 1u << t.lane;
  for (std::uint32_t lane = 0; lane < 32 && w.waiting; ++lane)
    if (w.waiting >> lane & 1) complete(t.warp, lane);
}

std::string describe_waiting() {
  // By place: how many threads, and one of them.
  std::map<std::pair<std::uint32_t, int>, std::pair<std::uint32_t, std::uint32_t>> places;
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < thread_count(); ++i) {
    const Thread& t = g_exec.threads[i];
    if (t.state == Thread::State::Done) {
      ++ended;
      continue;
    }
    auto& p = places[{t.site, static_cast<int>(t.state)}];
    if (p.first++ == 0) p.second = i;
  }
  std::string s;
  for (auto& [place, who] : places) {
    const Thread& t = g_exec.threads[who.second];
    s += cat(s.empty() ? "" : "; ", who.first, " threads (thread ", who.second, " the first) wait ",
             t.state == Thread::State::Barrier ? cat("at barrier ", t.barrier)
                                               : cat("for lanes ", hex(t.mask), " of their warp"),
             site_text(place.first));
  }
  return cat("barrier or warp operation in divergent code: ", s, "; ", ended, " have ended");
}

std::span<const RuntimeFunction> cooperation_functions() {
  static const RuntimeFunction all[] = {
      entry("sim_barrier", barrier),
      entry("sim_barrier_reduce", barrier_reduce),
      entry("sim_warp_barrier", warp_barrier),
      entry("sim_wait_for_earlier", race_wait),
      entry("sim_fence", race_fence),
      entry("sim_shuffle", shuffle),
      entry("sim_vote", vote),
      entry("sim_reduce", reduce),
      entry("sim_match_any", match_any),
      entry("sim_exit", end_thread),
      entry("sim_block_leaves", block_leaves),
      entry("sim_active_mask", active_mask),
      entry("sim_lanemask_eq", lanemask_eq),
      entry("sim_lanemask_lt", lanemask_lt),
      entry("sim_lanemask_le", lanemask_le),
      entry("sim_lanemask_gt", lanemask_gt),
      entry("sim_lanemask_ge", lanemask_ge),
  };
  return all;
}

}  // namespace sim
