// A compiled function's state: what it has made, what it serves eagerly, and the table that calls read.
#include "runtime/front/compiled.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/timeline.h"
#include "runtime/front/background.h"
#include "runtime/front/backward.h"
#include "runtime/front/code_count.h"
#include "runtime/replay/profile.h"
#include "runtime/trace/joint.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {

constexpr std::int64_t kWorthMaking = 16;  // calls served
constexpr std::int64_t kMostPatience = std::int64_t{1} << 40;

std::optional<kernels::Mode> mode_of(const std::string& name) {
  if (name == "off") return std::nullopt;
  const std::optional<kernels::Mode> mode = kernels::mode_named(name);
  if (!mode)
    fail(ErrorCode::InvalidArgument, "compile", {}, "mode is '", name, "', expected off, interpret, no-fuse or full");
  return mode;
}

}  // namespace

std::shared_ptr<Compiled> new_compiled(CompileOptions o) {
  const std::optional<kernels::Mode> mode = mode_of(o.mode.empty() ? knobs().mode : o.mode);
  if (o.max_specializations < 1)
    fail(ErrorCode::InvalidArgument, "compile", {}, "max_specializations is ", o.max_specializations,
         ", expected at least 1");
  if (o.recordings_max < 0)
    fail(ErrorCode::InvalidArgument, "compile", {}, "recordings_max is ", o.recordings_max,
         ", expected at least 0 (0: REPRISE_RECORDINGS_MAX)");
  if (o.recordings_bytes < 0)
    fail(ErrorCode::InvalidArgument, "compile", {}, "recordings_bytes is ", o.recordings_bytes,
         ", expected at least 0 (0: REPRISE_RECORDINGS_BYTES)");
  // each may keep one
  if (o.recordings_max == 0)
    o.recordings_max = std::max(static_cast<int>(knobs().recordings_max), o.max_specializations);
  if (o.recordings_bytes == 0) o.recordings_bytes = knobs().recordings_bytes;
  if (o.code_bytes < 0)
    fail(ErrorCode::InvalidArgument, "compile", {}, "code_bytes is ", o.code_bytes,
         ", expected a bound, or 0 for REPRISE_CODE_BYTES");
  if (o.code_bytes == 0) o.code_bytes = knobs().code_bytes;
  if (o.branches < 0)
    fail(ErrorCode::InvalidArgument, "compile", {}, "branches is ", o.branches, ", expected at least 0");
  o.check = std::max<std::int64_t>(o.check ? o.check : knobs().check, 0);
  return std::make_shared<Compiled>(std::move(o), mode);
}

Compiled::Compiled(CompileOptions o, std::optional<kernels::Mode> m)
    : options(std::move(o)), mode(m), table(nullptr),
      recordings(std::make_shared<runtime::RecordingBudget>(options.recordings_max, options.recordings_bytes,
                                                            options.late_faults)),
      published(std::make_unique<Table>()), check(options.check) {
  table.store(published.get());
}

Compiled::~Compiled() { count_code(0); }

Compiled::Table::Table(const std::vector<const Specialization*>& all) : others(all) {
  std::map<std::uint64_t, std::vector<const Specialization*>> of_hash;
  for (const Specialization* s : all) of_hash[s->hash].push_back(s);
  by_hash.resize(std::bit_ceil(2 * of_hash.size() + 1));
  for (auto& [hash, those] : of_hash) {
    Alike& a = alike.emplace_back();
    const Specialization* newest = those.back();
    a.alone = others.are_alone(newest->structure);
    a.all = Candidates::of_structure(std::move(those));
    if (!a.all.are_hashed()) a.last.store(newest, std::memory_order_relaxed);
    std::size_t i = hash & (by_hash.size() - 1);
    while (by_hash[i].those) i = (i + 1) & (by_hash.size() - 1);
    by_hash[i] = {hash, &a};
  }
}

std::unique_ptr<Compiled::Table> Compiled::prepare(std::size_t n) {
  std::vector<const Specialization*> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(owned[i].get());
  auto next = std::make_unique<Table>(all);
  CodeCount code;
  for (const Specialization* one : all) code.add(*one);
  next->code_bytes = code.bytes();
  retired.reserve(retired.size() + 1);
  return next;
}

void Compiled::publish(std::unique_ptr<Table> next, std::vector<std::unique_ptr<Specialization>> gone) noexcept {
  table.store(next.get(), std::memory_order_release);
  count_code(next->code_bytes);
  retired.push_back({epochs::advance(), std::exchange(published, std::move(next)), std::move(gone)});
}

std::vector<Compiled::Retired> Compiled::take_unread() {
  if (retired.empty()) return {};
  const std::uint64_t oldest = epochs::oldest();
  auto unread =
      std::stable_partition(retired.begin(), retired.end(), [&](const Retired& r) { return r.epoch >= oldest; });
  std::vector<Retired> out(std::make_move_iterator(unread), std::make_move_iterator(retired.end()));
  retired.erase(unread, retired.end());
  for (const Retired& r : out)
    for (const auto& s : r.made) {
      if (!r.counted) break;
      freed.replays += s->replays, freed.copied_bytes += s->copied_bytes;
      s->for_each_stage([&](const runtime::Program&, const runtime::RecordingCache& recordings) {
        const runtime::RecordingCache::Counts counts = recordings.counts();
        freed.recordings_made += counts.made, freed.evictions += counts.evicted;
      });
    }
  return out;
}

void Compiled::count_fallback(Bail bail) noexcept {
  ++fallbacks[static_cast<std::size_t>(bail)];
  reprise::counters().eager_fallbacks.add();
}

const Specialization* Compiled::serve_eagerly(Bail bail, const std::string& reason) {
  count_fallback(bail);
  if (timeline::on())
    timeline::instant("eager", options.name + " is served eagerly", {{"kind", bail_name(bail)}, {"reason", reason}});
  last_fallback_reason = reason;
  return nullptr;
}

namespace {
void profile_with_backward(const Specialization& s, bool on) {
  s.profile(on);
  if (Compiled* b = s.gradients ? backward_of(*s.gradients) : nullptr) profile(*b, on);
}
}  // namespace

template <class F>
void Compiled::retire_if(const F& go) {
  if (std::none_of(owned.begin(), owned.end(), [&](const auto& s) { return go(*s); })) return;
  auto gone = std::stable_partition(owned.begin(), owned.end(), [&](const auto& s) { return !go(*s); });
  std::unique_ptr<Table> next = prepare(static_cast<std::size_t>(gone - owned.begin()));
  std::vector<std::unique_ptr<Specialization>> out;
  out.reserve(static_cast<std::size_t>(owned.end() - gone));  // nothing fails from here on
  std::move(gone, owned.end(), std::back_inserter(out));
  owned.erase(gone, owned.end());
  if (timeline::on())
    for (const auto& s : out) timeline::instant("eviction", s->name + " goes");
  publish(std::move(next), std::move(out));
}

void Compiled::retire_gone() {
  const std::int64_t hardly_used = std::count_if(owned.begin(), owned.end(), [](const auto& s) {
    return is_gone(*s) && s->replays.load(std::memory_order_relaxed) < kWorthMaking;
  });
  retire_if([](const Specialization& s) { return is_gone(s); });
  in_vain += hardly_used;
  if (hardly_used) in_vain_until = calls.load(std::memory_order_relaxed) + patience;
}

// Note [Making room]
//
// Past the limit, of their number or of the bytes of their code, a call that nothing admits takes the place of what has
// served no call for longest, be it a specialization or the memory of a refusal, if that is at least `patience` calls
// of the function. Kinds of calls that take turns faster are not compiled again and again: what does not fit runs
// eagerly. Nor are those that come once and never again: each that goes without having served kWorthMaking calls
// doubles the patience, one that was worth it halves it. That a specialization is used costs a call nothing: its
// replays are counted anyway, and somebody looks, now and then, whether they have become more.
bool Compiled::make_room() {
  auto is_full = [&] {
    const auto taken = static_cast<std::int64_t>(owned.size() + refusals.size()) + building() + in_vain;
    return is_full_of_code() || taken >= options.max_specializations;
  };
  const std::int64_t now = calls.load(std::memory_order_relaxed);
  for (bool looked = false; is_full(); looked = true) {
    if (!looked) {
      if (now < look_at) return false;
      look_at = now + patience / 8;
      for (const auto& s : owned)
        if (const std::int64_t replays = s->replays.load(std::memory_order_relaxed); replays != s->use.replays)
          s->use = {replays, now};
    }
    auto idle = std::min_element(owned.begin(), owned.end(),
                                 [](const auto& a, const auto& b) { return a->use.since < b->use.since; });
    auto refused = std::min_element(refusals.begin(), refusals.end(),
                                    [](const Refusal& a, const Refusal& b) { return a.since < b.since; });
    if (!is_full_of_code() && refused != refusals.end() && now - refused->since >= patience &&
        (idle == owned.end() || refused->since <= (*idle)->use.since)) {
      refusals.erase(refused);
    } else if (idle != owned.end() && now - (*idle)->use.since >= patience) {
      replace(**idle, now);
    } else if (!is_full_of_code() && in_vain > 0 && now >= in_vain_until) {
      in_vain /= 2;
      patience = std::min(patience * 2, kMostPatience);
      in_vain_until = now + patience;
      look_at = now;
      return !is_full();
    } else {
      return false;
    }
    look_at = now;
  }
  return true;
}

void Compiled::replace(const Specialization& idle, std::int64_t now) {
  const std::int64_t replays = idle.use.replays, idle_for = now - idle.use.since;
  const std::string name = idle.name;
  retire_if([&](const Specialization& s) { return &s == &idle; });
  ++replaced;
  patience = replays < kWorthMaking ? std::min(patience * 2, kMostPatience) : std::max(patience / 2, kPatience);
  if (logs::on(logs::Channel::Recompiles))
    logs::event(logs::Event::replaced, name,
                "makes room: it has served " + std::to_string(replays) + " calls, and none of the last " +
                    std::to_string(idle_for),
                {{"idle_calls", idle_for}, {"replays", replays}});
}

void Compiled::add(std::unique_ptr<Specialization>& made) {
  const Specialization* s = made.get();
  if (profiled) profile_with_backward(*s, true);
  made->use = {0, calls.load(std::memory_order_relaxed)};
  owned.push_back(std::move(made));
  try {
    std::unique_ptr<Table> next = prepare(owned.size());
    next->latest.store(next->of_hash(s->hash), std::memory_order_relaxed);
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

namespace {
/// Was a trace that took the path `of` one of a call of which `known` is known?
bool is_of_path(const Outcomes& of, const Outcomes& known) {
  return known.empty() || (known.size() <= of.size() && std::equal(known.begin(), known.end(), of.begin()));
}
}  // namespace

Compiled::Refusal* Compiled::refusal_of(const CallFrame& f, const Outcomes& path) {
  auto it = std::find_if(refusals.begin(), refusals.end(), [&](const Refusal& r) {
    return is_of_path(r.path, path) && r.structure == f.structure && r.seen.holds_for(f);
  });
  return it == refusals.end() ? nullptr : &*it;
}

void Compiled::refuse(const CallFrame& f, Seen seen, Bail bail, const std::string& reason, SourceLoc where,
                      const Outcomes& path) {
  auto same = std::find_if(refusals.begin(), refusals.end(), [&](const Refusal& r) {
    return r.path == path && r.structure == f.structure && r.seen.holds_for(f);
  });
  if (same != refusals.end()) note_refused(*same, std::move(seen), bail, reason), same->where = where;
  else refuse(f.structure, std::move(seen), bail, reason, where, path);
}

void Compiled::refuse(const FrameArray<std::uint64_t>& structure, Seen seen, Bail bail, const std::string& reason,
                      SourceLoc where, const Outcomes& path) {
  constexpr int kFurtherTries = 2;
  Refusal& made = refusals.emplace_back(Refusal{structure, {}, bail, "", where, kFurtherTries + 1});
  made.path = path;
  note_refused(made, std::move(seen), bail, reason);
}

void Compiled::note_refused(Refusal& r, Seen seen, Bail bail, const std::string& reason) {
  r.since = calls.load(std::memory_order_relaxed);
  r.seen = std::move(seen);
  r.bail = bail;
  r.reason = reason;
  if (--r.tries_left > 0 && bail == Bail::compile_failed) r.tries_left = 0;  // it would fail again
  if (logs::on(logs::Channel::Recompiles))
    logs::event(bail == Bail::compile_failed ? logs::Event::compile_failed : logs::Event::not_traceable, options.name,
                (r.tries_left ? "served eagerly: " : "served eagerly from now on: ") + reason,
                {{"kind", bail_name(bail)}, {"reason", reason}});
}

void Compiled::watch_met(std::vector<std::shared_ptr<Variable>> more) {
  constexpr std::size_t kMost = 4096;
  std::erase_if(met, [](const auto& v) { return v->is_gone(); });
  for (auto& v : more)
    if (met.size() < kMost) met.push_back(std::move(v));
}

Compiled::Thrown* Compiled::thrown_of(const CallFrame& f, const Outcomes& path) {
  auto it = std::find_if(thrown.begin(), thrown.end(), [&](const Thrown& t) {
    return is_of_path(t.path, path) && t.structure == f.structure && t.values == f.values && t.seen.holds_for(f);
  });
  return it == thrown.end() ? nullptr : &*it;
}

void Compiled::note_thrown(const CallFrame& f, Seen seen, const std::string& what, const Outcomes& path) {
  constexpr int kLongest = 1024;
  Thrown* t = thrown_of(f, path);
  if (t && t->path == path) {
    t->wait = std::min(t->wait * 2, kLongest);
  } else {
    if (thrown.size() >= kMostThrown) thrown.erase(thrown.begin());
    t = &thrown.emplace_back(Thrown{f.structure, f.values, {}, ++thrown_ids, ""});
    t->path = path;
  }
  t->left = t->wait;
  t->seen = std::move(seen);
  t->reason = "the function throws while it is traced: " + what;
  if (logs::on(logs::Channel::Recompiles))
    logs::event(
        logs::Event::not_traceable, options.name,
        "such calls are served eagerly until " + std::to_string(t->wait) + " of them have not thrown: " + t->reason,
        {{"kind", bail_name(Bail::throws)}, {"reason", t->reason}});
}

// Paths take turns as specializations do (Note [Making room]), among those of one structure.
bool Compiled::make_room_for_path(const FrameArray<std::uint64_t>& structure) {
  const std::int64_t now = calls.load(std::memory_order_relaxed);
  const Specialization* idle = nullptr;
  std::int64_t paths = 0;
  for (const auto& s : owned) {
    if (s->branches.empty() || !(s->structure == structure)) continue;
    ++paths;
    if (const std::int64_t replays = s->replays.load(std::memory_order_relaxed); replays != s->use.replays)
      s->use = {replays, now};
    if (!idle || s->use.since < idle->use.since) idle = s.get();
  }
  if (paths < options.branches) return true;
  if (!idle || now - idle->use.since < patience) return false;
  replace(*idle, now);
  return true;
}

Compiled::BuildsOf Compiled::builds_of(const CallFrame& f, const Outcomes& path) {
  std::erase_if(builds, [](const auto& b) { return !b->ended && b->process != fork_generation(); });
  BuildsOf of;
  for (const auto& b : builds)
    if (b->path == path && b->structure == f.structure && b->seen.holds_for(f))
      b->ended ? ++of.ended : of.going_on = true;
  return of;
}

std::int64_t Compiled::building() const {
  const std::uint32_t here = fork_generation();
  return std::count_if(builds.begin(), builds.end(), [&](const auto& b) { return !b->ended && b->process == here; });
}

namespace {
/// What goes on for the backwards is waited for, too.
void wait_for_backwards(const Compiled& c) {
  std::vector<std::shared_ptr<Compiled>> all;
  {
    const LockedCompiled lock(c);
    all = backwards_of(c);
  }
  for (const auto& b : all) wait_for_builds(*b);
}
}  // namespace

void wait_for_builds(Compiled& c) {
  if (runtime::is_background())
    fail(ErrorCode::InvalidArgument, c.options.name.c_str(), {},
         "wait(), seal() and warm_up() on the thread that compiles (from a callback for misses) would wait for ever");
  for (;;) {
    const std::uint32_t ended = c.builds_ended.load(std::memory_order_acquire);
    {
      LockedCompiled lock(c);
      if (c.building() == 0) break;
    }
    futex_wait(c.builds_ended, ended, std::chrono::seconds(1));
  }
  wait_for_backwards(c);
}

void set_miss_callback(Compiled& c, std::function<void(const Miss&)> callback) { c.callback->set(std::move(callback)); }

void profile(Compiled& c, bool on) {
  LockedCompiled lock(c);
  c.profiled = on;
  for (const auto& s : c.owned) profile_with_backward(*s, on);
}

void seal(Compiled& c) {
  wait_for_builds(c);
  struct ToLoad {
    Device on;
    std::shared_ptr<runtime::Program::LazyKernel> kernel;
    device::ImagePtr image;
  };
  std::vector<ToLoad> to_load;  // what a device loads otherwise when a recording first needs it
  auto set = [&](bool sealed) { c.recordings->sealed.store(sealed, std::memory_order_relaxed); };
  {
    LockedCompiled lock(c);
    auto add = [&](const Compiled& of) {
      for (const auto& s : of.owned)
        s->for_each_stage([&](const runtime::Program& p, const runtime::RecordingCache&) {
          for (const runtime::Program::GpuStep& step : p.gpu_steps)
            to_load.push_back({p.device, step.kernel, step.image});
        });
    };
    add(c);
    for (const auto& b : backwards_of(c)) {
      const LockedCompiled of_backward(*b);
      add(*b);
    }
    set(true);
  }
  try {
    for (const ToLoad& l : to_load) l.kernel->get(device::backend(l.on), l.image);
  } catch (...) {
    LockedCompiled lock(c);
    set(false);
    throw;
  }
}

void reset(Compiled& c) {
  std::vector<Compiled::Retired> unread;  // freed behind the lock
  LockedCompiled lock(c);
  std::unique_ptr<Compiled::Table> empty = c.prepare(0);  // may fail, and then nothing has happened
  c.publish(std::move(empty), std::exchange(c.owned, {}));
  unread = c.take_unread();
  for (Compiled::Retired& r : c.retired) r.counted = false;  // calls are in them
  c.refusals.clear();
  c.thrown.clear();
  c.handles.clear();
  c.met.clear();
  c.declared.clear();
  c.strides_asked.clear();
  c.recordings->sealed.store(false, std::memory_order_relaxed);
  c.in_vain = c.named = c.replaced = c.look_at = 0;
  c.patience = Compiled::kPatience;
  c.builds.clear();  // what they make is not wanted any more, nor waited for
  c.builds_ended.fetch_add(1, std::memory_order_release);
  futex_wake(c.builds_ended);
  c.freed = {};
  c.last_fallback_reason.clear();
  c.fallbacks = {};
  c.calls = c.compilations = c.checks = c.dispatch_ns = c.dispatch_samples = 0;
  c.branch_dispatches = c.branch_traces = 0;
}

void describe_traces(Compiled& c, std::function<void(Traced&)> describe) { c.describe = std::move(describe); }

}  // namespace reprise::detail
