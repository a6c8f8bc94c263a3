// A compiled function's state: what it has made, what it serves eagerly, and the table that calls read.
#include "runtime/compiled.h"

#include <algorithm>
#include <iterator>

#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {

constexpr std::int64_t kWorthMaking = 16;  // calls served

std::optional<kernels::Mode> mode_of(const std::string& name) {
  if (name == "off") return std::nullopt;
  const std::optional<kernels::Mode> mode = kernels::mode_named(name);
  if (!mode) fail(ErrorCode::InvalidArgument, "compile", {}, "mode is '", name, "', expected off, interpret, no-fuse or full");
  return mode;
}

}  // namespace

std::shared_ptr<Compiled> new_compiled(CompileOptions o) {
  const std::optional<kernels::Mode> mode = mode_of(o.mode.empty() ? knobs().mode : o.mode);
  if (o.max_specializations < 1) fail(ErrorCode::InvalidArgument, "compile", {}, "max_specializations is ", o.max_specializations, ", expected at least 1");
  if (o.recordings_max < 0 || o.recordings_bytes < 0) fail(ErrorCode::InvalidArgument, "compile", {}, "a bound on recordings is negative");
  if (o.recordings_max == 0) o.recordings_max = std::max(static_cast<int>(knobs().recordings_max), o.max_specializations);  // each may keep one
  if (o.recordings_bytes == 0) o.recordings_bytes = knobs().recordings_bytes;
  o.check = std::max<std::int64_t>(o.check ? o.check : knobs().check, 0);
  return std::make_shared<Compiled>(std::move(o), mode);
}

Compiled::Compiled(CompileOptions o, std::optional<kernels::Mode> m)
    : options(std::move(o)), mode(m), table(nullptr), recordings(std::make_shared<runtime::RecordingBudget>(options.recordings_max, options.recordings_bytes)),
      published(std::make_unique<Table>()), check(options.check) {
  table.store(published.get());
}

std::unique_ptr<Compiled::Table> Compiled::prepare(std::size_t n) {
  auto next = std::make_unique<Table>();
  std::unordered_map<std::uint64_t, std::vector<const Specialization*>> all;
  for (std::size_t i = 0; i < n; ++i) all[owned[i]->hash].push_back(owned[i].get());
  for (auto& [hash, those] : all) {
    const Specialization* one = those.front();
    const Candidates* candidates = &next->by_structure.emplace(hash, Candidates(std::move(those))).first->second;
    next->structures.emplace(runtime::hash_beside_layouts(one->structure), std::pair(one, candidates));
  }
  retired.reserve(retired.size() + 1);
  return next;
}

void Compiled::publish(std::unique_ptr<Table> next, std::vector<std::unique_ptr<Specialization>> gone) noexcept {
  table.store(next.get(), std::memory_order_release);
  retired.push_back({epochs::advance(), std::exchange(published, std::move(next)), std::move(gone)});
}

std::vector<Compiled::Retired> Compiled::take_unread() {
  if (retired.empty()) return {};
  const std::uint64_t oldest = epochs::oldest();
  auto unread = std::stable_partition(retired.begin(), retired.end(), [&](const Retired& r) { return r.epoch >= oldest; });
  std::vector<Retired> out(std::make_move_iterator(unread), std::make_move_iterator(retired.end()));
  retired.erase(unread, retired.end());
  for (const Retired& r : out)
    for (const auto& s : r.made) {
      const runtime::RecordingCache::Counts counts = s->recordings.counts();
      freed.replays += s->replays, freed.copied_bytes += s->copied_bytes;
      freed.recordings_made += counts.made, freed.evictions += counts.evicted;
    }
  return out;
}

void Compiled::count_fallback(Bail bail) noexcept {
  ++fallbacks[static_cast<std::size_t>(bail)];
  reprise::counters().eager_fallbacks.add();
}

const Specialization* Compiled::serve_eagerly(Bail bail, const std::string& reason) {
  count_fallback(bail);
  last_fallback_reason = reason;
  return nullptr;
}

void Compiled::retire_gone() {
  if (std::none_of(owned.begin(), owned.end(), [](const auto& s) { return is_gone(*s); })) return;
  auto gone = std::stable_partition(owned.begin(), owned.end(), [](const auto& s) { return !is_gone(*s); });
  std::unique_ptr<Table> next = prepare(static_cast<std::size_t>(gone - owned.begin()));
  std::vector<std::unique_ptr<Specialization>> out;
  out.reserve(static_cast<std::size_t>(owned.end() - gone));  // nothing fails from here on
  std::move(gone, owned.end(), std::back_inserter(out));
  owned.erase(gone, owned.end());
  in_vain += std::count_if(out.begin(), out.end(), [](const auto& s) { return s->replays.load(std::memory_order_relaxed) < kWorthMaking; });
  publish(std::move(next), std::move(out));
}

void Compiled::add(std::unique_ptr<Specialization>& made) {
  const Specialization* s = made.get();
  owned.push_back(std::move(made));
  try {
    std::unique_ptr<Table> next = prepare(owned.size());
    next->last.store(s, std::memory_order_relaxed);
    publish(std::move(next), {});
  } catch (...) {
    made = std::move(owned.back());
    owned.pop_back();
    throw;
  }
  compilations.fetch_add(1, std::memory_order_relaxed);
}

bool Compiled::leave_out_handles(const CallFrame& f) const {
  bool any = false;
  for (const auto& s : owned)
    if (s->function && s->structure == f.structure && !s->function->same()) any |= s->function->leave_out(handles);
  return any;
}

Compiled::Refusal* Compiled::refusal_of(const CallFrame& f) {
  auto it = std::find_if(refusals.begin(), refusals.end(), [&](const Refusal& r) { return r.structure == f.structure && r.seen.holds_for(f); });
  return it == refusals.end() ? nullptr : &*it;
}

void Compiled::refuse(const CallFrame& f, Seen seen, Bail bail, const std::string& reason) {
  constexpr int kFurtherTries = 2;
  Refusal* r = refusal_of(f);
  if (!r) r = &refusals.emplace_back(Refusal{f.structure, {}, bail, "", kFurtherTries + 1});
  r->seen = std::move(seen);
  r->bail = bail;
  r->reason = reason;
  if (--r->tries_left > 0 && bail == Bail::compile_failed) r->tries_left = 0;  // it would fail again
  if (log::on(log::Channel::Recompiles))
    log::event(bail == Bail::compile_failed ? log::Event::compile_failed : log::Event::not_traceable, options.name, (r->tries_left ? "served eagerly: " : "served eagerly from now on: ") + reason, {{"kind", bail_name(bail)}, {"reason", reason}});
}

void Compiled::watch_met(std::vector<std::shared_ptr<Variable>> more) {
  constexpr std::size_t kMost = 4096;
  std::erase_if(met, [](const auto& v) { return v->is_gone(); });
  for (auto& v : more)
    if (met.size() < kMost) met.push_back(std::move(v));
}

Compiled::Thrown* Compiled::thrown_of(const CallFrame& f) {
  auto it = std::find_if(thrown.begin(), thrown.end(), [&](const Thrown& t) { return t.structure == f.structure && t.values == f.values && t.seen.holds_for(f); });
  return it == thrown.end() ? nullptr : &*it;
}

void Compiled::note_thrown(const CallFrame& f, Seen seen, const std::string& what) {
  constexpr int kLongest = 1024;
  Thrown* t = thrown_of(f);
  if (t) {
    t->wait = std::min(t->wait * 2, kLongest);
  } else {
    if (thrown.size() >= kMostThrown) thrown.erase(thrown.begin());
    t = &thrown.emplace_back(Thrown{f.structure, f.values, {}, ++thrown_ids, ""});
  }
  t->left = t->wait;
  t->seen = std::move(seen);
  t->reason = "the function throws while it is traced: " + what;
  if (log::on(log::Channel::Recompiles))
    log::event(log::Event::not_traceable, options.name, "such calls are served eagerly until " + std::to_string(t->wait) + " of them have not thrown: " + t->reason,
               {{"kind", bail_name(Bail::throws)}, {"reason", t->reason}});
}

void seal(Compiled& c) {
  LockedCompiled lock(c);
  c.sealed = true;
}

void reset(Compiled& c) {
  std::vector<Compiled::Retired> unread;  // freed behind the lock
  LockedCompiled lock(c);
  std::unique_ptr<Compiled::Table> empty = c.prepare(0);  // may fail, and then nothing has happened
  c.publish(std::move(empty), std::exchange(c.owned, {}));
  unread = c.take_unread();
  c.refusals.clear();
  c.thrown.clear();
  c.handles.clear();
  c.met.clear();
  c.sealed = c.warned_full = false;
  c.in_vain = c.named = 0;
  c.freed = {};
  c.last_fallback_reason.clear();
  c.fallbacks = {};
  c.calls = c.compilations = c.checks = c.dispatch_ns = c.dispatch_samples = 0;
}

}  // namespace reprise::detail
