#include "runtime/replay/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "base/fork.h"
#include "base/knobs.h"
#include "base/line_text.h"
#include "base/watch.h"
#include "device/parallel.h"
#include "runtime/replay/program.h"

namespace reprise::runtime {

namespace {

ForkMutex& mu() {
  static ForkMutex* m = new ForkMutex;  // never destroyed: programs end in static objects' destructors, too
  return *m;
}

}  // namespace

void Profile::set(bool on, std::size_t launches) {
  {
    std::lock_guard lock(mu());
    if (on && !owned_) {
      owned_ = std::make_unique<std::vector<Sums>>(launches);
      sums_.store(owned_.get(), std::memory_order_release);
    }
    if (on_.exchange(on, std::memory_order_relaxed) == on) return;
  }
  watchers::add(on ? 1 : -1);
}

void Profile::add(std::size_t launch, std::int64_t ns, const kernels::Work& work, std::uint32_t in_graph) noexcept {
  std::vector<Sums>* sums = sums_.load(std::memory_order_acquire);
  if (!sums || launch >= sums->size()) return;
  Sums& s = (*sums)[launch];
  s.calls.fetch_add(1, std::memory_order_relaxed);
  s.ns.fetch_add(ns, std::memory_order_relaxed);
  s.bytes.fetch_add(work.bytes, std::memory_order_relaxed);
  s.flops.fetch_add(work.flops, std::memory_order_relaxed);
  s.in_graph.store(in_graph, std::memory_order_relaxed);
}

std::vector<Stats::Launch> Profile::launches(const Program& p, const std::string& specialization) const {
  std::vector<Stats::Launch> out;
  const std::vector<Sums>* sums = sums_.load(std::memory_order_acquire);
  for (std::size_t i = 0; sums && i < sums->size(); ++i) {
    const Sums& s = (*sums)[i];
    if (s.calls == 0) continue;
    const kernels::Launch& launch = p.lowered.launches[i];
    Stats::Launch l{specialization, launch.name, {}, {}, s.calls, s.ns, s.bytes, s.flops};
    if (const std::uint32_t n = s.in_graph; n > 0) {
      l.name = "graph of " + std::to_string(n) + (n == 1 ? " launch: " : " launches, the first: ") + launch.name;
    }
    for (std::uint32_t n : launch.nodes)
      l.operators += (l.operators.empty() ? "" : " ") + std::string(graph::op(p.graph.nodes[n].op).name());
    l.line = line_text(launch.loc);
    out.push_back(std::move(l));
  }
  return out;
}

double copy_rate() {
  static const double rate = [] {
    constexpr std::int64_t kBytes = std::int64_t{64} << 20;  // no cache holds both
    struct Copy {
      std::unique_ptr<char[]> from, to;
    } copy{std::make_unique<char[]>(kBytes), std::make_unique_for_overwrite<char[]>(kBytes)};
    double best = 0;
    for (int i = 0; i < 4; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      device::parallel_for(
          kBytes >> 16, 16,
          [](void* c, std::int64_t from, std::int64_t to) {
            auto& of = *static_cast<Copy*>(c);
            std::memcpy(of.to.get() + (from << 16), of.from.get() + (from << 16),
                        static_cast<std::size_t>((to - from) << 16));
          },
          &copy);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      best = std::max(best, 2 * static_cast<double>(kBytes) / seconds);
    }
    return best;
  }();
  return rate;
}

std::string print_launches(std::vector<Stats::Launch> all, std::size_t rows) {
  std::stable_sort(all.begin(), all.end(), [](const Stats::Launch& a, const Stats::Launch& b) { return a.ns > b.ns; });
  double total = 0;
  for (const Stats::Launch& l : all) total += static_cast<double>(l.ns);
  const double rate = copy_rate();
  std::string out;
  char line[160];
  std::snprintf(line, sizeof line, "%10s %6s %9s %11s %11s %8s %6s %8s  %s\n", "ms", "%", "calls", "us a call",
                "KB a call", "GB/s", "of rate", "Gflop/s", "launch");
  out += line;
  Stats::Launch rest;
  std::size_t left_out = 0;
  auto add = [&](const Stats::Launch& l, const std::string& what) {
    const double ns = std::max(static_cast<double>(l.ns), 1.0),
                 calls = static_cast<double>(std::max<std::int64_t>(l.calls, 1));
    const double bytes = static_cast<double>(l.bytes) / ns;  // a nanosecond: GB a second
    std::snprintf(line, sizeof line, "%10.3f %6.1f %9lld %11.2f %11.1f %8.2f %6.0f%% %8.2f  ", ns / 1e6,
                  100 * ns / std::max(total, 1.0), static_cast<long long>(l.calls), ns / calls / 1e3,
                  static_cast<double>(l.bytes) / calls / 1024, bytes, 100 * bytes * 1e9 / rate,
                  static_cast<double>(l.flops) / ns);
    out += line + what + "\n";
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stats::Launch& l = all[i];
    if (i >= rows) {
      rest.calls += l.calls, rest.ns += l.ns, rest.bytes += l.bytes, rest.flops += l.flops;
      ++left_out;
      continue;
    }
    std::string what = l.specialization.empty() ? l.name : l.specialization + ": " + l.name;
    if (!l.operators.empty() && l.operators != l.name)
      what += " [" + (l.operators.size() > 80 ? l.operators.substr(0, 77) + "..." : l.operators) + "]";
    if (!l.line.empty()) what += " (" + l.line + ")";
    add(l, what);
  }
  if (left_out) add(rest, std::to_string(left_out) + " others");
  std::snprintf(line, sizeof line, "this machine copies %.1f GB/s (read and written)\n", rate / 1e9);
  return out + line;
}

}  // namespace reprise::runtime
