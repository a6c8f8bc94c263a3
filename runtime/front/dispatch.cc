// A call that something was compiled for: its frame, and the specialization that admits it.
#include <algorithm>
#include <chrono>

#include "base/epochs.h"
#include "base/thread_object.h"
#include "base/timeline.h"
#include "runtime/build/call_slice.h"
#include "runtime/call/call.h"
#include "runtime/front/compiled.h"
#include "runtime/trace/joint.h"
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
  auto ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - t_sample_start).count();
  c.dispatch_ns.fetch_add(ns, std::memory_order_relaxed);
  c.dispatch_samples.fetch_add(1, std::memory_order_relaxed);
  if (timeline::on()) timeline::slice("call", "guards", call_began());
}

}  // namespace

timeline::Time call_began() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t_sample_start.time_since_epoch()).count();
}

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

using Alike = Compiled::Table::Alike;

bool has_structure(const Specialization& s, const CallFrame& f) {
  return runtime::same_words(s.structure, f.structure);
}

/// Who of them admits the call, but `tried`. `of_structure`: all have its structure.
[[gnu::always_inline]] inline const Specialization* first_of(const Alike& among, CallFrame& f, bool of_structure,
                                                             const Specialization* tried) {
  if (tried && among.all.are_only(*tried)) return nullptr;
  const Specialization* s =
      among.all.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(),
                      [&](const Specialization& one) {
                        return &one != tried && (of_structure || has_structure(one, f)) && admits_alike(one, f);
                      });
  if (s && !among.all.are_hashed()) among.last.store(s, std::memory_order_relaxed);
  return s;
}

[[gnu::noinline]] const Specialization* lookup_by_hash(const Compiled::Table& table, CallFrame& f) {
  const std::uint64_t hash = f.hash();
  if (const Alike* of_hash = table.of_hash(hash)) {
    const Alike& among = *of_hash;
    const bool of_structure = among.all.are_of(f.structure);
    const Specialization* last = among.last.load(std::memory_order_relaxed);
    const Specialization* s = last && (of_structure || has_structure(*last, f)) && admits_alike(*last, f)
                                  ? last
                                  : first_of(among, f, of_structure, last);
    if (s) {
      table.latest.store(&among, std::memory_order_relaxed);
      return s;
    }
    if (of_structure && among.alone) return nullptr;
  }
  return table.others.first(f, hash);
}

// Calls that differ from the latest in sizes alone need no hash of their structure. `tried` has it, and does not admit
// the call; null: nobody was tried.
[[gnu::noinline]] const Specialization* lookup_further(const Compiled& c, CallFrame& f, const Specialization* tried) {
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Alike* among = table.latest.load(std::memory_order_relaxed);
  if (!among) return lookup_by_hash(table, f);
  const Specialization* last = among->last.load(std::memory_order_relaxed);
  if (tried ? last != tried || !among->all.structure() : !among->all.are_of(f.structure))
    return lookup_by_hash(table, f);
  if (last && !tried && admits_alike(*last, f)) return last;
  const Specialization* s = first_of(*among, f, true, last);
  return s || among->alone ? s : table.others.first(f, f.hash());
}

}  // namespace

// Fast path: no calls and few live values, so no callee-saved registers are spilled.
const Specialization* lookup(Compiled& c, CallFrame& f) {
  const std::uint64_t settings = graph::thread_state.word;
  const Alike* among = c.table.load(std::memory_order_acquire)->latest.load(std::memory_order_relaxed);
  const Specialization* last = among ? among->last.load(std::memory_order_relaxed) : nullptr;
  if (!last || !last->quick || last->structure.size() != f.structure.size()) return lookup_further(c, f, nullptr);
  if (!few_words_same(last->structure.data(), f.structure.data(), f.structure.size()))
    return lookup_further(c, f, nullptr);
  if (((settings ^ last->settings.word) & last->settings.mask) == 0 && last->guards.short_hold(f.values.data()))
      [[likely]]
    return last;
  return lookup_further(c, f, last);
}

const Specialization* lookup_path(Compiled& c, CallFrame& f, std::uint64_t hash, const Outcomes& path,
                                  const std::vector<const Specialization*>& tried) {
  const Alike* among = c.table.load(std::memory_order_acquire)->of_hash(hash);
  if (!among) return nullptr;
  return among->all.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(),
                          [&](const Specialization& one) {
                            return one.decides && one.is_on_path(path) &&
                                   std::find(tried.begin(), tried.end(), &one) == tried.end() &&
                                   has_structure(one, f) && admits_alike(one, f);
                          });
}

void note_hit(Compiled& c, const Specialization& s) {
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Alike* among = table.of_hash(s.hash);
  if (!among) return;
  if (!among->all.are_hashed()) among->last.store(&s, std::memory_order_relaxed);
  table.latest.store(among, std::memory_order_relaxed);
}

namespace {

[[gnu::always_inline]] inline const Specialization* find_here(Compiled& c, CallFrame& f) {
  epochs::Reader& reader = epochs::mine();
  epochs::begin(reader);
  const Specialization* s = nullptr;
  try {
    add_gradients(f);
    s = lookup(c, f);
  } catch (...) {
    epochs::end(reader);
    throw;
  }
  if (!s) epochs::end(reader);
  end_sample(c);
  return s;
}

}  // namespace

const Specialization* find(Compiled& c, CallFrame& f) { return find_here(c, f); }

const Specialization* serve(Compiled& c, CallFrame& f, const Call& call, Outputs& outputs) {
  const Specialization* s = find_here(c, f);
  if (!s || (static_cast<int>(f.checked) | static_cast<int>(s->decides))) [[unlikely]]
    return serve_miss(c, f, s, call, outputs);
  try {
    run(*s, f, outputs);
  } catch (const Error& e) {
    serve_error(c, e, call, outputs);
    return nullptr;
  }
  return s;
}

double measure_dispatch(Compiled& c, void (*flatten)(void*, CallFrame&), void* ctx, int times, bool in_turn) {
  CallFrame f;
  epochs::Reading reading;
  // Of several specializations another has served the call before: the latest hit is tried in vain.
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Alike* among = nullptr;
  const Specialization* other = nullptr;
  if (!in_turn) {
    flatten(ctx, f);
    LockedCompiled lock(c);
    const Specialization* s = lookup(c, f);
    for (const auto& o : c.owned)
      if (o.get() != s) other = o.get();
    among = other ? table.of_hash(other->hash) : nullptr;
    if (!among) other = nullptr;  // it has come meanwhile
  }
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (other) {
      table.latest.store(among, std::memory_order_relaxed);
      if (!among->all.are_hashed()) among->last.store(other, std::memory_order_relaxed);
    }
    f.clear();
    flatten(ctx, f);
    lookup(c, f);
  }
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(ns) / std::max(times, 1);
}

}  // namespace reprise::detail
