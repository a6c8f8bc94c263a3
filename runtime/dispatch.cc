// A call that something was compiled for: its frame, and the specialization that admits it.
#include <algorithm>
#include <chrono>

#include "base/epochs.h"
#include "base/thread_object.h"
#include "base/timeline.h"
#include "runtime/compiled.h"
#include "runtime/told.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

// The second to eighth call and then every 64th is timed: reading the clock twice costs about as much as a dispatch.
bool is_sampled(std::uint64_t call) { return (call >= 1 && call < 8) || (~call & timeline::timed_calls()) == 0; }
thread_local std::chrono::steady_clock::time_point t_sample_start;
thread_local bool t_sampling = false;

void end_sample(Compiled& c) {
  if (!t_sampling) return;
  t_sampling = false;
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - t_sample_start).count();
  c.dispatch_ns.fetch_add(ns, std::memory_order_relaxed);
  c.dispatch_samples.fetch_add(1, std::memory_order_relaxed);
  if (timeline::on()) timeline::slice("call", "guards", call_began());
}

}  // namespace

timeline::Time call_began() { return std::chrono::duration_cast<std::chrono::nanoseconds>(t_sample_start.time_since_epoch()).count(); }

CallFrame& begin_frame(Compiled& c) {
  CallFrame& frame = thread_object<CallFrame, Compiled>();
  frame.clear();
  const std::int64_t call = c.calls.fetch_add(1, std::memory_order_relaxed);
  frame.checked = c.check && (call + 1) % c.check == 0;
  if (is_sampled(static_cast<std::uint64_t>(call))) {
    t_sampling = true;
    t_sample_start = std::chrono::steady_clock::now();
  }
  return frame;
}

namespace {

/// `alike`: they have the call's structure.
[[gnu::always_inline]] inline const Specialization* first_of(const Candidates& all, CallFrame& f, bool alike, const Specialization* but) {
  return all.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(),
                   [&](const Specialization& s) { return &s != but && (alike || s.structure == f.structure) && admits_alike(s, f); });
}

// `tried`: does not admit the call. `alike`: `among` have its structure.
[[gnu::noinline]] const Specialization* lookup_further(const Compiled::Table& table, CallFrame& f, const Specialization* tried, const Candidates* among, bool alike) {
  auto find_among = [&](const Candidates& all, bool of_structure) {
    const Specialization* s = first_of(all, f, of_structure, tried);
    if (s) {
      table.last.store(s, std::memory_order_relaxed);
      table.last_among.store(&all, std::memory_order_relaxed);
    }
    return s;
  };
  // Calls that differ in sizes alone need no hash of their structure.
  if (alike)
    if (const Specialization* s = find_among(*among, true)) return s;
  const std::uint64_t hash = f.hash();
  if (auto it = table.by_structure.find(hash); it != table.by_structure.end() && !(alike && &it->second == among))
    if (const Specialization* s = find_among(it->second, it->second.are_of(f.structure))) return s;
  return table.others.first(f, hash);
}

}  // namespace

const Specialization* lookup(Compiled& c, CallFrame& f) {
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Candidates* among = table.last_among.load(std::memory_order_relaxed);
  const Specialization* tried = nullptr;
  bool alike = false;
  if (among && among->are_hashed()) {
    alike = among->are_of(f.structure);
  } else if (const Specialization* last = table.last.load(std::memory_order_relaxed); last && last->structure == f.structure) {
    if (admits_alike(*last, f)) [[likely]] return last;
    tried = last;
    alike = among && among->are_of(f.structure);
  }
  return lookup_further(table, f, tried, among, alike);
}

const Specialization* find(Compiled& c, CallFrame& f) {
  epochs::Reader& reader = epochs::mine();
  epochs::begin(reader);
  const Specialization* s = nullptr;
  try {
    s = lookup(c, f);
  } catch (...) {
    epochs::end(reader);
    throw;
  }
  if (!s) epochs::end(reader);
  end_sample(c);
  return s;
}

double measure_dispatch(Compiled& c, void (*flatten)(void*, CallFrame&), void* ctx, int times, bool in_turn) {
  CallFrame f;
  epochs::Reading reading;
  // Of several specializations another has served the call before: the latest hit is tried in vain.
  const Specialization* other = nullptr;
  if (!in_turn) {
    flatten(ctx, f);
    LockedCompiled lock(c);
    const Specialization* s = lookup(c, f);
    for (const auto& o : c.owned)
      if (o.get() != s) other = o.get();
  }
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (other) c.table.load(std::memory_order_acquire)->last.store(other, std::memory_order_relaxed);
    f.clear();
    flatten(ctx, f);
    lookup(c, f);
  }
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(ns) / std::max(times, 1);
}

}  // namespace reprise::detail
