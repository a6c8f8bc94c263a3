// The front door: find a specialization for a call, or make one, or say why the call is served eagerly.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/thread_object.h"
#include "graph/interpreter.h"
#include "runtime/check.h"
#include "runtime/compiled.h"
#include "runtime/seen_as.h"
#include "runtime/structure_names.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {

// The second to eighth call and then every 64th is timed: reading the clock twice costs about as much as a dispatch.
bool is_sampled(std::int64_t call) { return (call >= 1 && call < 8) || call % 64 == 63; }
thread_local std::chrono::steady_clock::time_point t_sample_start;
thread_local bool t_sampling = false;

void end_sample(Compiled& c) {
  if (!t_sampling) return;
  t_sampling = false;
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - t_sample_start).count();
  c.dispatch_ns.fetch_add(ns, std::memory_order_relaxed);
  c.dispatch_samples.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Compiled::Compiled(CompileOptions o) : options(std::move(o)) {
  mode = options.mode.empty() ? knobs().mode : options.mode;
  if (mode != "off" && mode != "interpret" && mode != "no-fuse" && mode != "full")
    fail(ErrorCode::InvalidArgument, "compile", {}, "mode is '", mode, "', expected off, interpret, no-fuse or full");
  if (options.max_specializations < 1) fail(ErrorCode::InvalidArgument, "compile", {}, "max_specializations is ", options.max_specializations, ", expected at least 1");
  if (options.recordings_max < 0 || options.recordings_bytes < 0) fail(ErrorCode::InvalidArgument, "compile", {}, "a bound on recordings is negative");
  if (options.recordings_max == 0) options.recordings_max = std::max(static_cast<int>(knobs().recordings_max), options.max_specializations);  // each may keep one
  if (options.recordings_bytes == 0) options.recordings_bytes = knobs().recordings_bytes;
  recordings = std::make_shared<runtime::RecordingBudget>(options.recordings_max, options.recordings_bytes);
  check = std::max<std::int64_t>(options.check ? options.check : knobs().check, 0);
  published = std::make_unique<Table>();
  table.store(published.get());
}

std::unique_ptr<Compiled::Table> Compiled::prepare(std::size_t n) {
  auto next = std::make_unique<Table>();
  std::unordered_map<std::uint64_t, std::vector<const Specialization*>> all;
  for (std::size_t i = 0; i < n; ++i) all[owned[i]->hash].push_back(owned[i].get());
  for (auto& [hash, those] : all) {
    const Specialization* one = those.front();
    next->structures.emplace_back(one, &next->by_structure.emplace(hash, Candidates(std::move(those))).first->second);
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
      const runtime::RecordingCache::Counts counts = s->recordings->counts();
      freed.replays += s->replays, freed.copied_bytes += s->copied_bytes;
      freed.recordings_made += counts.made, freed.evictions += counts.evicted;
    }
  return out;
}

std::shared_ptr<Compiled> new_compiled(CompileOptions o) { return std::make_shared<Compiled>(std::move(o)); }

Around around() {
  graph::Interpreter& now = graph::Interpreter::current();
  if (&now == &graph::eager_interpreter()) [[likely]] return {};
  auto* tracer = dynamic_cast<Tracer*>(&now);
  return {tracer, tracer || dynamic_cast<CheckInterpreter*>(&now)};
}

CallFrame& begin_frame(Compiled& c) {
  CallFrame& frame = thread_object<CallFrame, Compiled>();
  frame.clear();
  const std::int64_t call = c.calls.fetch_add(1, std::memory_order_relaxed);
  frame.checked = c.check && (call + 1) % c.check == 0;
  if (is_sampled(call)) {
    t_sampling = true;
    t_sample_start = std::chrono::steady_clock::now();
  }
  return frame;
}

namespace {

const Specialization* first_of(const Candidates& all, CallFrame& f, const Specialization* but = nullptr) {
  return all.first([&](std::uint32_t i) { return f.values[i]; }, f.values.size(), [&](const Specialization& tried) { return &tried != but && admits(tried, f); });
}

// A call that would have had another structure but for dimensions of size 0 and 1. Its frame becomes one of that structure.
[[gnu::noinline]] const Specialization* lookup_in_other_classes(const Compiled::Table& table, CallFrame& f) {
  if (!has_small_dims(f)) return nullptr;
  auto try_one = [&](const Specialization& s, auto&& find) -> const Specialization* {
    SeenAs seen(s, f);
    const Specialization* found = seen ? find() : nullptr;
    if (found) seen.keep();
    return found;
  };
  if (const Specialization* last = table.last_other.load(std::memory_order_relaxed))
    if (try_one(*last, [&] { return admits(*last, f) ? last : nullptr; })) return last;
  for (const auto& [like, candidates] : table.structures)
    if (const Specialization* s = try_one(*like, [&, all = candidates] { return first_of(*all, f); })) {
      table.last_other.store(s, std::memory_order_relaxed);
      return s;
    }
  return nullptr;
}

}  // namespace

const Specialization* lookup(Compiled& c, CallFrame& f) {
  const Compiled::Table& table = *c.table.load(std::memory_order_acquire);
  const Specialization* last = table.last.load(std::memory_order_relaxed);
  if (last && admits(*last, f)) return last;
  auto it = table.by_structure.find(f.hash());
  if (it != table.by_structure.end())
    if (const Specialization* s = first_of(it->second, f, last)) {
      table.last.store(s, std::memory_order_relaxed);
      return s;
    }
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

namespace {

// Which guard of which specialization came closest, in words.
struct Nearest {
  const Specialization* specialization = nullptr;  // while the state is locked
  std::string name, failed, remedy;
};

// Of other structures the one that differs in the fewest arguments, the latest first.
Nearest nearest_miss(const Compiled& c, CallFrame& f, const StructureNames& names) {
  Nearest n;
  std::size_t differ = ~std::size_t{0};
  for (auto it = c.owned.rbegin(); it != c.owned.rend(); ++it) {
    const Specialization& s = **it;
    const SeenAs seen(s, f);
    if (!seen && !(s.structure == f.structure)) {
      if (differ == 0) continue;
      StructureDifference d = difference_of(*s.names, s.structure, names, f.structure);
      if (d.arguments < differ) differ = d.arguments, n = {&s, {}, std::move(d.failed), std::move(d.remedy)};
      continue;
    }
    std::uint32_t miss = ~0u;
    if (admits(s, f, &miss)) continue;
    if (s.function && !s.function->same())
      return {&s, {}, "a value that the function object holds has changed (a member, or what a lambda captured by value)", "take it as an argument, reprise::Int or reprise::Scalar"};
    if (std::any_of(s.asked.begin(), s.asked.end(), [](const Asked& a) { return !a.holds(); }))
      return {&s, {}, "a variable that was asked whether it is defined has become defined, undefined, or is gone", "keep such variables alive, and as they are"};
    if (miss != ~0u) return {&s, {}, s.guards.explain(miss, f.values.data()), s.guards.remedy(miss)};
    if (differ == 0) continue;
    differ = 0;
    n = {&s, {}, "a captured variable is gone or holds a tensor of another dtype, rank or layout, or a written argument overlaps another",
         "keep captured variables alive, and pass tensors that do not overlap"};
  }
  return n;
}

void log_compiled(const Compiled& c, const Specialization& s, const Nearest& before) {
  if (log::on(log::Channel::Compile))
    log::event(log::Event::compiled, s.name,
               "compiled: " + std::to_string(s.guards.size()) + " guards, " + std::to_string(s.program.steps.size()) + " launches; trace " +
                   std::to_string(s.trace_ns / 1000) + " us, passes and code " + std::to_string(s.build_ns / 1000) + " us",
               {{"guards", s.guards.size()}, {"launches", s.program.steps.size()}, {"trace_us", s.trace_ns / 1000}, {"build_us", s.build_ns / 1000}});
  if (!before.name.empty() && log::on(log::Channel::Recompiles))
    log::event(log::Event::recompiled, s.name,
               "new specialization (" + std::to_string(c.owned.size()) + " of " + std::to_string(c.options.max_specializations) + "): " + before.name +
                   " does not fit: " + before.failed + "; to avoid it: " + before.remedy,
               {{"against", before.name}, {"failed", before.failed}, {"remedy", before.remedy}, {"specializations", c.owned.size()}});
  if (log::on(log::Channel::Epilogue))
    for (std::size_t i = 0; i < s.program.graph.outputs.size(); ++i) {
      const graph::OutputSpec& o = s.program.graph.outputs[i];
      if (o.kind != graph::OutputSpec::Kind::NewValueOfInput) continue;
      const std::string& input = s.program.graph.values[s.program.graph.inputs[o.source].value.v].name;
      bool in_place = s.program.lowered.outputs[i].in_place;
      log::event(log::Event::mutation, s.name, input + (in_place ? " is written in place: " : " is written in the epilogue: ") + s.program.lowered.outputs[i].why,
                 {{"input", input}, {"in_place", in_place}, {"why", s.program.lowered.outputs[i].why}});
    }
  if (log::on(log::Channel::Fusion))
    log::event(log::Event::launches, s.name, kernels::print(s.program.lowered), {{"launches", s.program.steps.size()}});
}

// With `mu` held.
void count_fallback(Compiled& c, Bail bail) noexcept {
  ++c.fallbacks[static_cast<std::size_t>(bail)];
  reprise::counters().eager_fallbacks.add();
}
const Specialization* serve_eagerly(Compiled& c, Bail bail, const std::string& reason) {
  count_fallback(c, bail);
  c.last_fallback_reason = reason;
  return nullptr;
}

// Those whose variables are gone make room, if they served so many calls at least.
constexpr std::int64_t kWorthMaking = 16;
void retire_gone(Compiled& c) {
  if (std::none_of(c.owned.begin(), c.owned.end(), [](const auto& s) { return is_gone(*s); })) return;
  auto gone = std::stable_partition(c.owned.begin(), c.owned.end(), [](const auto& s) { return !is_gone(*s); });
  std::unique_ptr<Compiled::Table> next = c.prepare(static_cast<std::size_t>(gone - c.owned.begin()));
  std::vector<std::unique_ptr<Specialization>> out;
  out.reserve(static_cast<std::size_t>(c.owned.end() - gone));  // nothing fails from here on
  std::move(gone, c.owned.end(), std::back_inserter(out));
  c.owned.erase(gone, c.owned.end());
  c.in_vain += std::count_if(out.begin(), out.end(), [](const auto& s) { return s->replays.load(std::memory_order_relaxed) < kWorthMaking; });
  c.publish(std::move(next), std::move(out));
}

// Bytes of the function object that a trace has meanwhile found to be tensor handles keep nobody from a specialization.
bool leave_out_handles(const Compiled& c, const CallFrame& f) {
  bool any = false;
  for (const auto& s : c.owned)
    if (s->function && s->structure == f.structure && !s->function->same()) any |= s->function->leave_out(c.handles);
  return any;
}

Compiled::Refusal* refusal_of(Compiled& c, const CallFrame& f) {
  auto it = std::find_if(c.refusals.begin(), c.refusals.end(), [&](const Compiled::Refusal& r) { return r.structure == f.structure && r.seen.holds_for(f); });
  return it == c.refusals.end() ? nullptr : &*it;
}

// `seen` says which calls are meant beside this one.
void refuse(Compiled& c, const CallFrame& f, Seen seen, Bail bail, const std::string& reason) {
  constexpr int kFurtherTries = 2;
  Compiled::Refusal* r = refusal_of(c, f);
  if (!r) r = &c.refusals.emplace_back(Compiled::Refusal{f.structure, {}, bail, "", kFurtherTries + 1});
  r->seen = std::move(seen);
  r->bail = bail;
  r->reason = reason;
  if (--r->tries_left > 0 && bail == Bail::compile_failed) r->tries_left = 0;  // it would fail again
  if (log::on(log::Channel::Recompiles))
    log::event(bail == Bail::compile_failed ? log::Event::compile_failed : log::Event::not_traceable, c.options.name, (r->tries_left ? "served eagerly: " : "served eagerly from now on: ") + reason, {{"kind", bail_name(bail)}, {"reason", reason}});
}

}  // namespace

const Specialization* compile(Compiled& c, CallFrame& f, void (*body)(void*, Tracer&), void (*name_words)(void*, StructureNames&), void* ctx,
                              std::shared_ptr<const Specialization>& once) {
  if (c.mode == "off") {
    LockedCompiled lock(c);
    return serve_eagerly(c, Bail::mode_off, bail_text(Bail::mode_off));
  }
  std::vector<Compiled::Retired> unread;  // freed behind the lock
  // What is given stays while this thread reads. Nothing goes out of sight without the lock, so reading may begin at the end.
  auto stays = [](const Specialization* s) {
    epochs::begin(epochs::mine());
    return s;
  };
  CompileTurn turn(c);
  std::shared_ptr<StructureNames> known_names;
  auto names = [&] {
    if (!known_names) name_words(ctx, *(known_names = std::make_shared<StructureNames>(c.options.arguments)));
    return known_names;
  };
  Nearest nearest;
  std::string name;
  FunctionBytes::Handles handles;
  {
    LockedCompiled lock(c);
    if (const Specialization* s = lookup(c, f)) return stays(s);  // somebody else compiled it meanwhile
    if (leave_out_handles(c, f))
      if (const Specialization* s = lookup(c, f)) return stays(s);
    if (!turn.taken()) return serve_eagerly(c, Bail::waits_for_trace, bail_text(Bail::waits_for_trace));
    const Compiled::Refusal* refused = refusal_of(c, f);
    if (refused && (c.sealed || !refused->tries_left)) {
      if (c.sealed) fail(ErrorCode::Sealed, c.options.name.c_str(), {}, "the function is sealed, and this call could only be served eagerly: ", refused->reason);
      return serve_eagerly(c, refused->bail, refused->reason);
    }
    // Asked for only where somebody reads it: past the limit every call comes here.
    const bool told = c.sealed || !c.warned_full || log::on(log::Channel::Recompiles);
    if (told) nearest = nearest_miss(c, f, *names());
    if (c.sealed)
      fail(ErrorCode::Sealed, c.options.name.c_str(), {}, "the function is sealed and no specialization admits this call",
           nearest.specialization ? ": " + nearest.specialization->name + ": " + nearest.failed : " (none was compiled)");
    if (nearest.specialization) nearest.name = nearest.specialization->name;  // it may be one that goes
    retire_gone(c);
    unread = c.take_unread();
    if (!refused && static_cast<std::int64_t>(c.owned.size() + c.refusals.size()) + c.in_vain >= c.options.max_specializations) {
      if (!c.warned_full) {
        c.warned_full = true;
        log::warn(c.options.name + " has " + std::to_string(c.owned.size()) + " specializations" +
                  (c.refusals.empty() ? "" : " and " + std::to_string(c.refusals.size()) + " kinds of calls that cannot be compiled") +
                  (c.in_vain ? " and " + std::to_string(c.in_vain) + " of captured variables that are gone (pass as arguments what is made anew for every call)" : "") +
                  ", its limit: calls that fit none are served eagerly. " +
                  (nearest.specialization ? "The latest miss: " + nearest.failed + "; to avoid it: " + nearest.remedy : c.refusals.empty() ? "" : "Why they cannot: " + c.refusals.back().reason));
      }
      return serve_eagerly(c, Bail::specialization_limit, "the limit of " + std::to_string(c.options.max_specializations) + " specializations is reached");
    }
    name = c.options.name + "/" + std::to_string(c.named++);
    handles = c.handles;
  }

  std::unique_ptr<Specialization> made;
  Seen seen;
  try {
    made = specialize(name, c.mode, f, body, ctx, &seen, &handles);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::NotTraceable && e.code() != ErrorCode::Internal) throw;
    std::string reason = e.code() == ErrorCode::Internal ? "compilation failed: " + std::string(e.what()) : std::string(e.what());
    LockedCompiled lock(c);
    c.handles.merge(handles);
    refuse(c, f, std::move(seen), bail_of(e), reason);
    return serve_eagerly(c, bail_of(e), reason);
  }
  made->recordings->keep_within(c.recordings);
  LockedCompiled lock(c);
  c.handles.merge(handles);
  const Specialization* s = made.get();
  if (!admits(*s, f)) {  // what was just traced must admit the call it was traced for
    const std::string reason = "the new specialization does not admit the call it was made for";
    refuse(c, f, Seen(), Bail::compile_failed, reason);
    return serve_eagerly(c, Bail::compile_failed, reason);
  }
  if (made->unrepeatable) {  // to run the function again would do twice what it did: what was made of it serves this call
    const std::string reason = std::string("the function ") + bail_text(*made->unrepeatable);
    refuse(c, f, std::move(seen), *made->unrepeatable, reason);
    serve_eagerly(c, *made->unrepeatable, reason);
    once = std::move(made);
    return stays(s);
  }
  std::erase_if(c.refusals, [&](const Compiled::Refusal& r) { return r.structure == f.structure && r.seen.holds_for(f); });
  made->names = names();
  made->tensor_words = tensor_words_of(*made->names);
  if (!c.owned.empty() && c.owned.back()->names->leaves == made->names->leaves) made->names = c.owned.back()->names;
  c.owned.push_back(std::move(made));
  try {
    std::unique_ptr<Compiled::Table> next = c.prepare(c.owned.size());
    next->last.store(s, std::memory_order_relaxed);
    c.publish(std::move(next), {});
  } catch (...) {
    made = std::move(c.owned.back());  // goes behind the lock
    c.owned.pop_back();
    throw;
  }
  c.compilations.fetch_add(1, std::memory_order_relaxed);
  log_compiled(c, *s, nearest);
  return stays(s);
}

void run(const Specialization& s, CallFrame& f, Outputs& outputs) {
  outputs.reading = true;  // as find() and compile() began
  run_specialization(s, f, outputs);
  if (!s.unrepeatable) return;
  fill_kept(s, outputs);
  s.variables->commit();
}

void serve_again(Compiled& c, const Error& e, void (*function)(void*), void* ctx) {
  if (e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory || e.code() == ErrorCode::DeviceFailed) throw;
  std::string caught = std::string("the function catches an error: ") + e.what(), alone = std::string("only the replay throws: ") + e.what();
  CheckInterpreter run(CheckInterpreter::Random::Own);
  const std::uint64_t errors = errors_made();
  try {
    graph::InterpreterScope scope(&run);
    function(ctx);
  } catch (...) {
    run.restore();
    throw;
  }
  LockedCompiled lock(c);  // nothing fails from here on: what the function did stays
  const bool catches = errors_made() != errors;
  count_fallback(c, catches ? Bail::catches_error : Bail::replay_throws);
  c.last_fallback_reason.swap(catches ? caught : alone);
}

const void* result_template(const Specialization& s) { return s.result_template.get(); }
const std::vector<std::string>& argument_names(const Compiled& c) { return c.options.arguments; }

Outputs::~Outputs() {
  for (TensorImpl* t : tensors)
    if (t) release(t);
  if (reading) epochs::end(epochs::mine());
}

double measure_dispatch(Compiled& c, void (*flatten)(void*, CallFrame&), void* ctx, int times) {
  CallFrame f;
  const Specialization* s = nullptr;
  epochs::Reading reading;
  // Of several specializations another has served the call before: the latest hit is tried in vain.
  const Specialization* other = nullptr;
  flatten(ctx, f);
  {
    LockedCompiled lock(c);
    s = lookup(c, f);
    for (const auto& o : c.owned)
      if (o.get() != s) other = o.get();
  }
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (other) c.table.load(std::memory_order_acquire)->last.store(other, std::memory_order_relaxed);
    f.clear();
    flatten(ctx, f);
    s = lookup(c, f);
  }
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  if (!s) fail(ErrorCode::InvalidArgument, "measure_dispatch", {}, "no specialization admits this call: make it once first");
  return static_cast<double>(ns) / std::max(times, 1);
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
  c.handles.clear();
  c.sealed = c.warned_full = false;
  c.in_vain = c.named = 0;
  c.freed = {};
  c.last_fallback_reason.clear();
  c.fallbacks = {};
  c.calls = c.compilations = c.checks = c.dispatch_ns = c.dispatch_samples = 0;
}

// ---- the walkers' out-of-line parts

void ArgumentTracer::tensor(Tensor& t) {
  if (!t.defined()) return;
  const TensorImpl* concrete = frame_.tensors[next_tensor_++];
  std::uint64_t word = runtime::structure_word(*concrete);
  t = tracer_.argument(concrete, word, 2 + next_value_, path_.text());
  next_value_ += runtime::value_count(word);
}

void ArgumentTracer::integer(Int& i) { i = tracer_.integer_argument(2 + next_value_++, path_.text()); }
void ArgumentTracer::number(Scalar& s) {
  if (s.kind() != Scalar::Kind::Bool) s = tracer_.number_argument(s, 2 + next_value_++, path_.text());
}

FunctionScope::FunctionScope(Tracer& t, std::weak_ptr<const void> owner, ObjectBytes o)
    : tracer_(t), object_(o), before_(static_cast<const char*>(o.at), static_cast<const char*>(o.at) + o.size) {
  t.function_seen(owner, o, before_);
  outer_ = t.function_runs(true);
}
FunctionScope::~FunctionScope() {
  tracer_.function_runs(outer_);
  tracer_.function_ended(object_);
  if (!std::equal(before_.begin(), before_.end(), static_cast<const char*>(object_.at))) tracer_.function_changed_itself();
}

void ArgumentCheck::tensor(const Tensor& t) {
  if (recording_) tensors_.push_back(t);
  else compare(at_tensor_ < tensors_.size() && t.impl() == tensors_[at_tensor_++].impl());
}
void ArgumentCheck::integer(const Int& i) {
  if (recording_) integers_.push_back(i);
  else compare(at_integer_ < integers_.size() && identical(i, integers_[at_integer_++]));
}
void ArgumentCheck::number(const Scalar& s) {
  if (recording_) numbers_.push_back(s);
  else compare(at_number_ < numbers_.size() && identical(s, numbers_[at_number_++]));
}
void ArgumentCheck::constant(std::uint64_t word, ConstantKind) {
  if (recording_) words_.push_back(word);
  else compare(at_word_ < words_.size() && words_[at_word_++] == word);
}
void ArgumentCheck::text(std::string_view s) { constant(hash_text(s)); }
void ArgumentCheck::compare(bool same) const { tracer_.check_unchanged(same); }

void ResultTracer::tensor(Tensor& t) {
  tracer_.result(t);
  t = Tensor();
}
void ResultTracer::integer(Int& i) {
  tracer_.result(i);
  i = 0;
}
void ResultTracer::number(Scalar& s) {
  if (s.kind() == Scalar::Kind::Bool) return;
  tracer_.result(s.word());
  s = s.with_word(0);
}
void set_result_template(Tracer& t, std::shared_ptr<void> p) { t.result_template = std::move(p); }

}  // namespace reprise::detail
