#include "reprise/stats.h"

#include <algorithm>
#include <iterator>

#include "base/counters.h"
#include "base/epochs.h"
#include "device/host_memory.h"
#include "jit/engine/code.h"
#include "runtime/front/backward.h"
#include "runtime/front/code_count.h"
#include "runtime/front/compiled.h"
#include "runtime/replay/boxed.h"
#include "runtime/replay/pool.h"
#include "runtime/replay/profile.h"

namespace reprise {

ProcessStats stats() {
  epochs::Working working;
  ProcessStats s;
  jit::CacheStats code = jit::cache_stats();
  s.kernels_compiled = code.compiled;
  s.kernel_cache_hits = code.hits;
  CounterSnapshot c = counter_snapshot();
  s.traces = static_cast<std::int64_t>(c.traces);
  s.replays = static_cast<std::int64_t>(c.replays);
  s.recordings_made = static_cast<std::int64_t>(c.recordings_made);
  s.eager_calls = static_cast<std::int64_t>(c.eager_calls);
  s.library_products = static_cast<std::int64_t>(c.library_products);
  s.product_captures = static_cast<std::int64_t>(c.product_captures);
  s.product_updates = static_cast<std::int64_t>(c.product_updates);
  s.bytes_released_early = runtime::BoxedReplay::released_bytes();
  s.pool_bytes = runtime::pool_bytes();
  device::HostMemoryStats m = device::host_memory_stats();
  s.result_bytes_live = m.live_bytes;
  s.result_bytes_cached = m.cached_bytes;
  return s;
}

namespace detail {

namespace {
void add_backward(Stats& to, const Compiled& backward) {
  Stats s = stats_of(backward);
  Stats::Backward& b = to.backward;
  b.calls += s.calls, b.compilations += s.compilations, b.specializations += s.specializations;
  b.building += s.building, b.code_bytes += s.code_bytes;
  b.recordings += s.recordings, b.recordings_made += s.recordings_made, b.evictions += s.evictions;
  b.recording_bytes += s.recording_bytes;
  b.replays += s.replays, b.eager_fallbacks += s.eager_fallbacks, b.checks += s.checks;
  b.copied_tangents += backward.copied_tangents;
  std::move(s.launches.begin(), s.launches.end(), std::back_inserter(to.launches));
}
}  // namespace

Stats stats_of(const Compiled& c) {
  Stats s;
  LockedCompiled lock(c);  // what is counted once a specialization serves calls is counted under it, too
  s.calls = c.calls;
  s.compilations = c.compilations;
  s.checks = c.checks;
  for (std::size_t i = 0; i < kBails; ++i) {
    s.eager_fallbacks += c.fallbacks[i];
    if (c.fallbacks[i]) s.fallbacks.push_back({bail_name(static_cast<Bail>(i)), c.fallbacks[i]});
  }
  std::stable_sort(s.fallbacks.begin(), s.fallbacks.end(),
                   [](const Stats::Fallback& a, const Stats::Fallback& b) { return a.calls > b.calls; });
  s.specializations = static_cast<std::int64_t>(c.owned.size());
  s.building = c.building();
  s.replaced = c.replaced;
  s.replays = c.freed.replays;
  s.branches = {std::count_if(c.owned.begin(), c.owned.end(), [](const auto& p) { return !p->branches.empty(); }),
                c.branch_dispatches, c.branch_traces};
  s.recordings_made = c.freed.recordings_made;
  s.evictions = c.freed.evictions;
  s.copied_bytes = c.freed.copied_bytes;
  CodeCount code;
  auto add = [&](const Specialization& p, bool counted) {
    code.add(p);
    p.for_each_stage([&](const runtime::Program&, const runtime::RecordingCache& recordings) {
      const runtime::RecordingCache::Counts r = recordings.counts();
      s.recordings += r.live;
      s.recording_bytes += r.bytes;
      if (counted) s.recordings_made += r.made, s.evictions += r.evicted;
    });
    if (p.folding) {
      const runtime::Folding::Size folded = p.folding->kept();
      s.folded_values += folded.values, s.folded_bytes += folded.bytes;
    }
    if (counted) s.replays += p.replays, s.copied_bytes += p.copied_bytes;
  };
  for (const auto& p : c.owned) {
    add(*p, true);
    std::vector<Stats::Launch> took = p->launches(p->name);
    std::move(took.begin(), took.end(), std::back_inserter(s.launches));
  }
  for (const auto& b : backwards_of(c)) add_backward(s, *b);
  std::stable_sort(s.launches.begin(), s.launches.end(),
                   [](const Stats::Launch& a, const Stats::Launch& b) { return a.ns > b.ns; });
  for (const Compiled::Retired& r : c.retired)
    for (const auto& p : r.made) {
      ++s.retired;
      add(*p, r.counted);
    }
  for (const auto& p : c.owned)
    for (const passes::PatternRecord& of : p->patterns) {
      if (!of.matches) continue;
      auto it =
          std::find_if(s.matches.begin(), s.matches.end(), [&](const Stats::Match& m) { return m.pattern == of.name; });
      if (it == s.matches.end()) s.matches.push_back({of.name, of.matches});
      else it->matches += of.matches;
    }
  std::stable_sort(s.matches.begin(), s.matches.end(),
                   [](const Stats::Match& a, const Stats::Match& b) { return a.matches > b.matches; });
  s.code_bytes = code.bytes();
  s.pool_bytes = runtime::pool_bytes();
  std::int64_t samples = c.dispatch_samples;
  s.dispatch_ns = samples ? static_cast<double>(c.dispatch_ns) / static_cast<double>(samples) : 0;
  s.last_fallback_reason = c.last_fallback_reason;
  return s;
}

}  // namespace detail

}  // namespace reprise
