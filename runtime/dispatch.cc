// A call that something was compiled for: its frame, and the specialization that admits it.
#include <algorithm>
#include <chrono>

#include "base/epochs.h"
#include "base/errors.h"
#include "base/thread_object.h"
#include "base/timeline.h"
#include "runtime/compiled.h"
#include "runtime/seen_as.h"
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

const Specialization* first_of(const Candidates& all, CallFrame& f, const Specialization* but = nullptr) {
  return all.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(), [&](const Specialization& tried) { return &tried != but && admits(tried, f); });
}

// A call that would have had another structure but for dimensions of size 0 and 1, or tensors that are not used, or that has a layout which
// only code for any strides serves. Its frame becomes one of that structure.
[[gnu::noinline]] const Specialization* lookup_in_other_classes(const Compiled::Table& table, CallFrame& f) {
  const bool small_dims = has_small_dims(f);
  if (table.partly.empty() && !table.any_strides && !small_dims) return nullptr;
  auto try_one = [&](const Specialization& s, bool others, auto&& find) -> const Specialization* {
    SeenAs seen(s, f, others);
    const Specialization* found = seen ? find() : nullptr;
    if (found) seen.keep();
    return found;
  };
  if (const Specialization* last = table.last_other.load(std::memory_order_relaxed); last && !(last->generality.layouts && small_dims))
    if (try_one(*last, true, [&] { return admits(*last, f) ? last : nullptr; })) return last;
  auto among = [&](const auto& structures, std::uint64_t hash, bool others, bool any_strides) -> const Specialization* {
    auto [it, end] = structures.equal_range(hash);
    for (; it != end; ++it) {
      const auto [like, candidates] = it->second;
      if (like->generality.layouts != any_strides) continue;
      if (const Specialization* s = try_one(*like, others, [&, all = candidates] { return first_of(*all, f); })) {
        table.last_other.store(s, std::memory_order_relaxed);
        return s;
      }
    }
    return nullptr;
  };
  // Those of one structure differ in what they use; those of one `unused` do not.
  const std::uint64_t hash = runtime::hash_beside_layouts(f.structure);
  for (bool any_strides : {false, true}) {
    if (any_strides && !table.any_strides) break;
    if (const Specialization* s = among(table.structures, hash, false, any_strides)) return s;
    for (const Compiled::Table::Partly& p : table.partly)
      if (const Specialization* s = among(p.structures, runtime::hash_beside_layouts(f.structure, p.unused), true, any_strides)) return s;
  }
  return nullptr;
}

}  // namespace

const Specialization* lookup(Compiled& c, CallFrame& f) {
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Specialization* last = table.last.load(std::memory_order_relaxed);
  const Candidates* among = table.last_among.load(std::memory_order_relaxed);
  const bool hashed = among && among->are_hashed();
  if (!hashed && last && admits(*last, f)) return last;
  auto find_among = [&](const Candidates& all) {
    const Specialization* s = first_of(all, f, hashed ? nullptr : last);
    if (s) {
      table.last.store(s, std::memory_order_relaxed);
      table.last_among.store(&all, std::memory_order_relaxed);
    }
    return s;
  };
  // Calls that differ in sizes alone need no hash of their structure.
  if (last && among && last->structure == f.structure)
    if (const Specialization* s = find_among(*among)) return s;
  if (auto it = table.by_structure.find(f.hash()); it != table.by_structure.end())
    if (const Specialization* s = find_among(it->second)) return s;
  return lookup_in_other_classes(table, f);
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
  bool all = true;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (other) c.table.load(std::memory_order_acquire)->last.store(other, std::memory_order_relaxed);
    f.clear();
    flatten(ctx, f);
    all &= lookup(c, f) != nullptr;
  }
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  if (!all) fail(ErrorCode::InvalidArgument, "measure_dispatch", {}, "no specialization admits this call: make it once first");
  return static_cast<double>(ns) / std::max(times, 1);
}

}  // namespace reprise::detail
