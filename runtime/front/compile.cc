// The front door: find a specialization for a call, or make one, or say why the call is served eagerly.
//
//   arguments.cc           leaves of arguments and results, in a frame and in a trace
//   dispatch.cc            a call that something admits
//   call.cc                and all others: a call without its types
//   compile.cc             one that nothing admits: what becomes of it
//   serve.cc               what serves it in the end
//   miss_callback.cc              who is told
//   nearest_miss.cc        why nothing did
//   generality.cc          and how much the next trace therefore leaves open
//   compiled.cc            the state of a compiled function
//   specialization.cc      traces a call, compiles what it did, and runs that
//   admits.cc              which calls a specialization serves
#include <algorithm>
#include <chrono>

#include "base/epochs.h"
#include "base/errors.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/timeline.h"
#include "device/late_faults.h"
#include "graph/interpreter.h"
#include "passes/registered.h"
#include "runtime/call/call.h"
#include "runtime/call/structure_names.h"
#include "runtime/front/background.h"
#include "runtime/front/backward.h"
#include "runtime/front/compiled.h"
#include "runtime/front/generality.h"
#include "runtime/front/nearest_miss.h"
#include "runtime/trace/left_trace.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

Around around() {
  const graph::ThreadState& t = graph::thread_state;
  if (!(t.modes & bit(graph::Key::Trace))) [[likely]]
    return {};
  if (has_left_trace()) refuse_left_trace("compile", {});
  return {dynamic_cast<Tracer*>(t.top[static_cast<std::size_t>(graph::Key::Trace)]->by), true};
}

namespace {

void log_compiled(const Compiled& c, const Specialization& s, const NearestMiss& before) {
  if (logs::on(logs::Channel::Compile))
    logs::event(logs::Event::compiled, s.name,
                "compiled: " + std::to_string(s.guards.size()) + " guards, " + std::to_string(s.program.steps.size()) +
                    " launches; trace " + std::to_string(s.trace_ns / 1000) + " us, passes and code " +
                    std::to_string(s.build_ns / 1000) + " us",
                {{"guards", s.guards.size()},
                 {"launches", s.program.steps.size()},
                 {"trace_us", s.trace_ns / 1000},
                 {"build_us", s.build_ns / 1000},
                 {"functionalize_us", s.phases.us(Phase::Functionalize)},
                 {"passes_us", s.phases.us(Phase::Passes)},
                 {"lower_us", s.phases.us(Phase::Lower)},
                 {"code_us", s.phases.us(Phase::MachineCode)},
                 {"load_us", s.phases.us(Phase::Load)}});
  if (!before.name.empty() && logs::on(logs::Channel::Recompiles))
    logs::event(logs::Event::recompiled, s.name,
                "new specialization (" + std::to_string(c.owned.size()) + " of " +
                    std::to_string(c.options.max_specializations) + "): " + before.name +
                    " does not fit: " + before.failed + "; to avoid it: " + before.remedy,
                {{"against", before.name},
                 {"failed", before.failed},
                 {"remedy", before.remedy},
                 {"specializations", c.owned.size()}});
  if (logs::on(logs::Channel::Epilogue))
    for (std::size_t i = 0; i < s.program.graph.outputs.size(); ++i) {
      const graph::OutputSpec& o = s.program.graph.outputs[i];
      if (o.kind != graph::OutputSpec::Kind::NewValueOfInput) continue;
      const std::string& input = s.program.graph.values[s.program.graph.inputs[o.source].value.v].name;
      bool in_place = s.program.lowered.outputs[i].in_place;
      logs::event(logs::Event::mutation, s.name,
                  input + (in_place ? " is written in place: " : " is written in the epilogue: ") +
                      s.program.lowered.outputs[i].why,
                  {{"input", input}, {"in_place", in_place}, {"why", s.program.lowered.outputs[i].why}});
    }
  if (logs::on(logs::Channel::Fusion))
    s.for_each_stage([&](const runtime::Program& p, const runtime::RecordingCache&) {
      logs::event(logs::Event::launches, s.name, kernels::print(p.lowered), {{"launches", p.steps.size()}});
    });
}

/// What a specialization is published with: made of the call that it is for.
struct Introduction {
  NearestMiss nearest;                    // what did not admit the call
  std::shared_ptr<StructureNames> names;  // of the call's words
  std::vector<std::uint32_t> tensor_words;
};

/// With `mu` held: from now on calls find it. What throws leaves it with the caller.
void introduce(Compiled& c, std::unique_ptr<Specialization>& made, Introduction& with) {
  const Specialization& s = *made;
  made->tensor_words = std::move(with.tensor_words);
  const auto& latest = c.owned.empty() ? with.names : c.owned.back()->names;
  made->names = latest->leaves == with.names->leaves ? latest : with.names;
  made->callback = c.callback;
  c.add(made);
  log_compiled(c, s, with.nearest);
}

Miss miss_of(const Compiled& c, Miss::Kind kind, NearestMiss nearest, double ms) {
  return {.kind = kind,
          .function = c.options.name,
          .nearest = std::move(nearest.name),
          .reason = std::move(nearest.failed),
          .argument = std::move(nearest.argument),
          .seen = std::move(nearest.seen),
          .expected = std::move(nearest.expected),
          .line = std::move(nearest.line),
          .remedy = std::move(nearest.remedy),
          .ms = ms};
}
Miss miss_compiled(const Compiled& c, const std::string& specialization, NearestMiss nearest, double ms) {
  Miss m = miss_of(c, Miss::Kind::Compiled, std::move(nearest), ms);
  m.specialization = specialization;
  if (m.nearest.empty()) m.reason = "nothing was compiled before", m.remedy = "warm_up() compiles ahead";
  return m;
}

/// What is left of a miss, on the thread that makes code.
struct BackgroundBuild {
  std::weak_ptr<Compiled> of;
  std::shared_ptr<Compiled::Build> entry;
  TracedCall call;
  Introduction with;
  std::optional<BackwardAhead> backward;
  std::string name = call.name;
  bool of_any_strides = call.generality.layouts;

  void run() noexcept;
};

void BackgroundBuild::run() noexcept {
  std::unique_ptr<Specialization> made;
  std::optional<std::pair<Bail, std::string>> refused;
  SourceLoc where;
  auto warn = [&](const char* why) noexcept {
    try {
      logs::warn(name + " was not compiled in the background: " + why);
    } catch (const std::exception&) {  // there is no memory to say so
    }
  };
  try {
    try {
      if (backward) backward->make(call);
      made = build(std::move(call));
    } catch (const Error& e) {
      // says nothing of the next call
      if (e.code() != ErrorCode::NotTraceable && e.code() != ErrorCode::Internal) throw;
      where = e.where();
      refused.emplace(bail_of(e),
                      (e.code() == ErrorCode::Internal ? "compilation failed: " : "") + std::string(e.what()));
    }
  } catch (const std::exception& e) {
    warn(e.what());
  } catch (...) {
    warn("what is no std::exception was thrown");
  }
  const std::shared_ptr<Compiled> c = of.lock();
  if (!c) return;
  // else the function was reset
  const auto is_wanted = [&] { return std::find(c->builds.begin(), c->builds.end(), entry) != c->builds.end(); };
  std::shared_ptr<const MissCallback::Function> whom;
  std::string specialization;
  double ms = 0;
  try {
    LockedCompiled lock(*c);
    if (made && is_wanted()) {
      ms = static_cast<double>(made->trace_ns + made->build_ns) / 1e6;
      specialization = made->name;
      made->keep_within(c->recordings);
      introduce(*c, made, with);
      whom = c->callback->get();
    }
  } catch (const std::exception& e) {
    warn(e.what());
  }
  try {
    // before who waits goes on
    if (whom) tell_miss(*whom, miss_compiled(*c, specialization, std::move(with.nearest), ms));
  } catch (const std::bad_alloc&) {  // then it is not told
  }
  try {
    LockedCompiled lock(*c);
    entry->ended = true;
    if (is_wanted()) {
      if (refused && !of_any_strides) {
        c->refuse(entry->structure, entry->seen, refused->first, refused->second, where, entry->path);
        c->refusals.back().tries_left = 0;  // nothing but what was traced decides
      }
      constexpr std::ptrdiff_t kMostEnded = 32;
      if (std::count_if(c->builds.begin(), c->builds.end(), [](const auto& b) { return b->ended; }) > kMostEnded)
        c->builds.erase(std::find_if(c->builds.begin(), c->builds.end(), [](const auto& b) { return b->ended; }));
    }
  } catch (const std::exception& e) {
    warn(e.what());
  }
  c->builds_ended.fetch_add(1, std::memory_order_release);
  futex_wake(c->builds_ended);
}

/// A call that nothing admits, on its way to a specialization. Destroy it without the lock.
class MissedCall {
 public:
  /// `outputs`: of the call. Null: of none, it is compiled for ahead (warm_up), and what would be served eagerly is an
  /// error.
  /// `path`: what is known of the call's branches on values; null: nothing.
  MissedCall(Compiled& c, CallFrame& f, void (*name_words)(void*, StructureNames&), void* ctx, Outputs* outputs,
             const PathOfCall* path = nullptr)
      : c_(c), frame_(f), name_words_(name_words), ctx_(ctx), outputs_(outputs), path_(path) {
    if (path) known_ = path->known;
  }

  /// With `mu` held: null. Counted and told.
  const Specialization* serve_eagerly(Bail, const std::string& reason, SourceLoc where = {});
  /// False: it is served() with what there is meanwhile, or eagerly. Throws Sealed. `turn`: nobody else compiles.
  bool is_to_be_compiled(bool turn);
  const Specialization* served() const { return served_; }
  Eagerly how() const { return {thrown_, meanwhile_}; }
  /// Traces and compiles. Null: that was in vain, or is done in the background, and the call is served eagerly. Throws
  /// what the user's function throws.
  std::unique_ptr<Specialization> specialize(void (*body)(void*, Tracer&));
  /// Gives what was made to all calls, or as `once` to this one. Null: it does not even admit this one, which is served
  /// eagerly.
  const Specialization* publish(std::unique_ptr<Specialization> made, std::shared_ptr<const Specialization>& once);
  /// What serves this call alone: is it right for it? Else it goes, with what its trace has assigned, and the call is
  /// served eagerly.
  bool is_right(std::shared_ptr<const Specialization>& once);

 private:
  // What is given stays while this thread reads. Nothing goes out of sight without the lock, so reading may begin at
  // the end.
  static const Specialization* stays(const Specialization* s) {
    epochs::begin(epochs::mine());
    return s;
  }
  bool eagerly(Bail bail, const std::string& reason, SourceLoc where = {}) {
    meanwhile_ = bail == Bail::compiled_meanwhile;
    serve_eagerly(bail, reason, where);
    return false;
  }
  bool is_ahead() const { return !outputs_; }
  double ms() const {
    return static_cast<double>(
               std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began_)
                   .count()) /
           1e6;
  }
  const std::shared_ptr<StructureNames>& names() {
    if (!names_) name_words_(ctx_, *(names_ = std::make_shared<StructureNames>(c_.options.arguments)));
    return names_;
  }
  Introduction introduction() { return {std::move(nearest_), names(), tensor_words_of(*names())}; }
  bool hand_over(TracedCall&, Seen, std::optional<BackwardAhead>);
  void warn_full();
  std::string limit() const {
    return c_.is_full_of_code() ? std::to_string(c_.options.code_bytes) + " bytes of code"
                                : std::to_string(c_.options.max_specializations) + " specializations";
  }
  void note_thrown(const std::string& what);
  [[noreturn]] void refuse_second_run(Bail why, const Error&);

  Compiled& c_;
  CallFrame& frame_;
  void (*const name_words_)(void*, StructureNames&);
  void* const ctx_;
  Outputs* const outputs_;
  const PathOfCall* const path_;
  Outcomes known_, taken_;  // decisions: before the trace, by the trace
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool tried_ = false;  // to compile it
  const Specialization* served_ = nullptr;
  std::uint64_t thrown_ = 0;               // Compiled::Thrown::id, where that is why
  bool meanwhile_ = false;                 // it is served while it is compiled
  std::vector<Compiled::Retired> unread_;  // goes behind the lock
  std::shared_ptr<StructureNames> names_;  // of the call's words, once somebody has asked
  NearestMiss nearest_;
  std::string name_;  // of the specialization to be made
  FunctionBytes::Handles handles_;
  Seen seen_;                      // by its trace
  bool in_background_ = false;     // it may be built there
  guards::Generality generality_;  // of its trace
  StridesAside strides_aside_;     // how it is seen by that, if in another way
  CallFrame own_;                  // the frame as the call's own, where it is kept in that way
};

bool MissedCall::is_to_be_compiled(bool turn) {
  LockedCompiled lock(c_);
  // somebody else may have compiled it meanwhile
  const Specialization* s = path_ ? lookup_path(c_, frame_, frame_.hash(), known_, path_->tried) : lookup(c_, frame_);
  if (!s && !path_ && c_.leave_out_handles(frame_)) s = lookup(c_, frame_);
  if (s) {
    served_ = stays(s);
    return false;
  }
  c_.declared.check(frame_, c_.options.name, [this]() -> const StructureNames& { return *names(); });
  const bool meanwhile = c_.options.on_miss == OnMiss::ServeMeanwhile;
  if (!turn)
    return eagerly(meanwhile ? Bail::compiled_meanwhile : Bail::waits_for_trace,
                   bail_text(meanwhile ? Bail::compiled_meanwhile : Bail::waits_for_trace));
  Compiled::Refusal* refused = c_.refusal_of(frame_, known_);
  if (refused) refused->since = c_.calls.load(std::memory_order_relaxed);
  if (refused && (c_.is_sealed() || !refused->tries_left)) {
    if (c_.is_sealed())
      fail(ErrorCode::Sealed, c_.options.name.c_str(), {},
           "the function is sealed, and this call could only be served eagerly: ", refused->reason);
    return eagerly(refused->bail, refused->reason, refused->where);
  }
  // Asked for only where somebody reads it: past the limit every call comes here.
  if (c_.is_sealed() || !c_.warned_full || logs::on(logs::Channel::Recompiles) || c_.callback->is_set())
    nearest_ = path_ ? nearest_of_path(*path_) : nearest_miss(c_, frame_, *names());
  if (c_.is_sealed())
    fail(ErrorCode::Sealed, c_.options.name.c_str(), {},
         "the function is sealed and no specialization admits this call",
         nearest_.name.empty() ? " (none was compiled)" : ": " + nearest_.name + ": " + nearest_.failed,
         c_.is_backward ? "; warm_up() with tensors that want gradients compiles backwards before seal()" : "");
  if (const Compiled::Thrown* t = is_ahead() ? nullptr : c_.thrown_of(frame_, known_);
      t && t->left > 0 && (!path_ || t->path == known_)) {
    thrown_ = t->id;
    return false;
  }
  if (meanwhile && !is_ahead()) {
    const Compiled::BuildsOf builds = c_.builds_of(frame_, known_);
    if (builds.going_on) return eagerly(Bail::compiled_meanwhile, bail_text(Bail::compiled_meanwhile));
    in_background_ = builds.ended < 2;
  }
  c_.retire_gone();
  const bool room = refused || c_.make_room();
  const bool room_for_path = c_.options.branches == 0 || c_.make_room_for_path(frame_.structure);
  unread_ = c_.take_unread();
  if (!room) {
    // Builds that go on take places, too; how many stay is known when they have ended.
    if (!c_.warned_full && c_.building() == 0) c_.warned_full = true, warn_full();
    return eagerly(Bail::specialization_limit, "the limit of " + limit() + " is reached");
  }
  if (!room_for_path)
    return eagerly(Bail::specialization_limit, too_many_paths(c_, path_), path_ ? path_->where : SourceLoc());
  name_ = c_.options.name + "/" + std::to_string(c_.named++);
  if (timeline::on()) {
    if (nearest_.name.empty()) nearest_ = path_ ? nearest_of_path(*path_) : nearest_miss(c_, frame_, *names());
    timeline::instant("miss", "miss: " + name_,
                      {{"against", nearest_.name}, {"failed", nearest_.failed}, {"remedy", nearest_.remedy}});
  }
  handles_ = c_.handles;
  generality_ = generality_for(c_, frame_);
  strides_aside_ = strides_aside_for(c_, frame_);
  return tried_ = true;
}

// With mu held.
const Specialization* MissedCall::serve_eagerly(Bail bail, const std::string& reason, SourceLoc where) {
  if (is_ahead())
    fail(ErrorCode::NotTraceable, "warm_up", {}, c_.options.name, " would serve such calls eagerly: ", reason);
  c_.serve_eagerly(bail, reason);
  if (!c_.callback->is_set()) return nullptr;
  try {
    // What came nearest tells nothing where it does not decide.
    Miss m = miss_of(c_, Miss::Kind::ServedEagerly, bail == Bail::specialization_limit ? nearest_ : NearestMiss{},
                     tried_ ? ms() : 0);
    m.reason = m.reason.empty() ? reason : reason + "; " + m.reason;
    m.fallback = bail_name(bail);
    if (where) m.line = std::string(where.file) + ":" + std::to_string(where.line);
    if (bail == Bail::compiled_meanwhile) m.remedy = "warm_up() compiles ahead";
    note_miss(*outputs_, *c_.callback, std::move(m));
  } catch (const std::bad_alloc&) {  // then it is not told
  }
  return nullptr;
}

void MissedCall::warn_full() {
  logs::warn(
      c_.options.name + " has " + std::to_string(c_.owned.size()) + " specializations" +
      (c_.refusals.empty() ? ""
                           : " and " + std::to_string(c_.refusals.size()) + " kinds of calls that cannot be compiled") +
      (c_.in_vain ? " and " + std::to_string(c_.in_vain) +
                        " of captured variables that are gone (pass as arguments what is made anew for every call)"
                  : "") +
      ", its limit" +
      (c_.is_full_of_code() ? " since their code takes " + std::to_string(c_.code_of_all->load()) + " bytes of " +
                                  std::to_string(c_.options.code_bytes)
                            : "") +
      ": calls that fit none are served eagerly. " +
      (!nearest_.name.empty() ? "The latest miss: " + nearest_.failed + "; to avoid it: " + nearest_.remedy
       : c_.refusals.empty()  ? ""
                              : "Why they cannot: " + c_.refusals.back().reason));
}

// The call is served eagerly, and what was traced is built behind its back.
bool MissedCall::hand_over(TracedCall& call, Seen seen, std::optional<BackwardAhead> backward) {
  auto entry = std::make_shared<Compiled::Build>(
      Compiled::Build{call.generality.layouts ? own_.structure : call.structure, std::move(seen), fork_generation()});
  entry->path = known_;
  call.makers = runtime::Makers::Caller;
  auto task = std::make_shared<BackgroundBuild>(
      BackgroundBuild{c_.weak_from_this(), entry, std::move(call), introduction(), std::move(backward)});
  {
    LockedCompiled lock(c_);
    c_.handles.merge(handles_);
    c_.builds.push_back(entry);
  }
  if (runtime::in_background([task] { task->run(); })) {
    LockedCompiled lock(c_);
    eagerly(Bail::compiled_meanwhile, bail_text(Bail::compiled_meanwhile));
    return true;
  }
  LockedCompiled lock(c_);
  std::erase(c_.builds, entry);
  call = std::move(task->call), call.makers = runtime::Makers::All, nearest_ = std::move(task->with.nearest);
  return false;
}

std::unique_ptr<Specialization> MissedCall::specialize(void (*body)(void*, Tracer&)) {
  TraceFacts facts;
  try {
    TracedCall call;
    std::optional<AnyStrides> any;
    const auto trace = [&] {
      call = trace_call(name_, *c_.mode, frame_, body, ctx_,
                        {.handles = &handles_,
                         .static_sizes = c_.options.static_sizes,
                         .freeze = c_.options.freeze,
                         .keeps = c_.options.keeps,
                         .partition = c_.options.partition,
                         .second_order = c_.options.second_order,
                         .registered = passes::registered(),
                         .backend = c_.options.backend,
                         .words = any ? any->words() : std::vector<std::uint64_t>(),
                         .describe = c_.describe ? &c_.describe : nullptr,
                         .generality = generality_,
                         .branches = c_.options.branches > 0,
                         .path = known_,
                         .mode = *c_.mode},
                        facts);
    };
    if (!strides_aside_.any.empty()) {
      const guards::Generality before = std::exchange(
          generality_,
          {.slices = generality_.slices, .broadcasts = generality_.broadcasts, .reshapes = true, .layouts = true});
      own_.structure = frame_.structure, own_.values = frame_.values, own_.tensors = frame_.tensors;
      any.emplace(frame_, strides_aside_);
      bool traced = false;
      try {
        trace();
        traced = true;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {  // also an error of the function's: it is told of the call as it is
        if (facts.runs_once) throw;
      }
      if (!traced || !call.traced.decisions.empty() ||
          (!call.traced.unrepeatable && guards::asks_strides(*call.traced.graph.env))) {
        any.reset();
        call = {};
        facts.take_back();
        facts = {};
        generality_ = before;
        generality_.layouts = false;
        LockedCompiled lock(c_);
        c_.strides_asked.insert(runtime::hash_beside_layouts(frame_.structure));
      }
    }
    if (any) {
      // It is traced.
    } else if (!generality_.any()) {
      trace();
    } else try {
        trace();
      } catch (const Error& e) {
        if (facts.runs_once || e.code() != ErrorCode::NotTraceable) throw;
        facts.take_back();
        generality_ = {};  // what is known of this very call may be needed
        trace();
      }
    const bool repeatable = !call.traced.unrepeatable;
    taken_ = facts.path;
    if (path_) c_.branch_traces.fetch_add(1, std::memory_order_relaxed);
    if (has_marks(frame_)) {
      LockedCompiled lock(c_);
      c_.declared.note(frame_, *names());
    }
    if (call.traced.gradients) own_backward(c_, *call.traced.gradients);
    if (c_.is_backward) c_.traced_guards = facts.env->guards().size();
    const std::optional<BackwardAhead> backward = BackwardAhead::of(c_.options, call, frame_);
    if (in_background_ && repeatable) {
      call.traced.variables = nullptr;  // belongs to this thread
      if (hand_over(call, any ? Seen() : facts.seen(), backward)) return nullptr;
    }
    if (backward) backward->make(call);
    std::unique_ptr<Specialization> made = build(std::move(call));
    made->keep_within(c_.recordings);
    if (!repeatable) seen_ = any ? Seen() : facts.seen();
    if (any) any->keep();
    return made;
  } catch (const MarkPinned&) {
    throw;
  } catch (const PartitionRefused&) {
    throw;
  } catch (const device::LateFault&) {  // of an earlier call
    throw;
  } catch (const Error& e) {
    const bool is_given_up = e.code() == ErrorCode::NotTraceable || e.code() == ErrorCode::Internal;
    if (facts.runs_once && is_given_up) refuse_second_run(*facts.runs_once, e);
    if (is_given_up || facts.may_fail) facts.take_back();
    switch (e.code()) {
      case ErrorCode::NotTraceable:
        if (is_ahead())
          fail(ErrorCode::NotTraceable, "warm_up", {}, c_.options.name, " would serve such calls eagerly: ", e.what());
        break;
      case ErrorCode::Internal:
        if (is_ahead()) throw;
        break;
      case ErrorCode::OutOfMemory:
      case ErrorCode::DeviceFailed:
      case ErrorCode::DeviceUnavailable:
      case ErrorCode::Sealed: throw;  // says nothing of the next call
      default:
        seen_ = facts.seen(), taken_ = facts.path;
        note_thrown(e.what());
        if (!facts.may_fail || facts.runs_once || is_ahead()) throw;
        // Eagerly, what fails by its elements comes before the mistake that the trace has found, which may be none
        // where it took for granted what the data decide: the function itself says which it is.
        LockedCompiled lock(c_);
        const Compiled::Thrown* t = c_.thrown_of(frame_, taken_);
        thrown_ = t ? t->id : ++c_.thrown_ids;
        return nullptr;
    }
    seen_ = facts.seen();
    const std::string reason =
        e.code() == ErrorCode::Internal ? "compilation failed: " + std::string(e.what()) : std::string(e.what());
    LockedCompiled lock(c_);
    c_.handles.merge(handles_);
    c_.refuse(frame_, std::move(seen_), bail_of(e), reason, e.where(), facts.path);
    serve_eagerly(bail_of(e), reason, e.where());
    return nullptr;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    seen_ = facts.seen(), taken_ = facts.path;
    note_thrown(e.what());
    throw;
  } catch (...) {
    seen_ = facts.seen(), taken_ = facts.path;
    note_thrown("what is no std::exception");
    throw;
  }
}

// Eager execution would take out, or leave behind, once more. It is not tried again.
void MissedCall::refuse_second_run(Bail why, const Error& e) {
  {
    LockedCompiled lock(c_);
    c_.handles.merge(handles_);
    c_.runs_once = why;
  }
  bail(why, "compile", e.where(), "its trace is given up (", e.message(), "), and the function cannot run again: it ",
       bail_text(why), why == Bail::leaves_tensor ? "; what it has left holds no data" : "",
       "; later calls run eagerly");
}

// A trace that throws takes back what it has assigned, which eager execution does not, and of captured tensors the call
// tells nothing: such a call is always traced.
void MissedCall::note_thrown(const std::string& what) {
  if (seen_.more || is_ahead()) return;
  LockedCompiled lock(c_);
  c_.handles.merge(handles_);
  c_.note_thrown(frame_, std::move(seen_), what, taken_);
}

const Specialization* MissedCall::publish(std::unique_ptr<Specialization> made,
                                          std::shared_ptr<const Specialization>& once) {
  LockedCompiled lock(c_);
  c_.handles.merge(handles_);
  const Specialization* s = made.get();
  const CallFrame& own = s->generality.layouts ? own_ : frame_;
  if (!admits(*s, frame_)) {  // what was just traced must admit the call it was traced for
    const std::string reason = "the new specialization does not admit the call it was made for";
    c_.refuse(own, Seen(), Bail::compile_failed, reason);
    return serve_eagerly(Bail::compile_failed, reason);
  }
  // to run the function again would do twice what it did: what was made of it serves this call
  if (made->unrepeatable) {
    const std::string reason = std::string("the function ") + bail_text(*made->unrepeatable);
    if (is_ahead()) return serve_eagerly(*made->unrepeatable, reason);  // throws
    c_.refuse(own, std::move(seen_), *made->unrepeatable, reason, {}, taken_);
    serve_eagerly(*made->unrepeatable, reason);
    c_.watch_met(std::move(made->met));
    once = std::move(made);
    return stays(s);
  }
  std::erase_if(c_.refusals, [&](const Compiled::Refusal& r) {
    return (r.path.empty() || r.path == taken_) && r.structure == own.structure && r.seen.holds_for(own);
  });
  Introduction with = introduction();
  introduce(c_, made, with);
  if (outputs_ && c_.callback->is_set()) {
    try {
      note_miss(*outputs_, *c_.callback, miss_compiled(c_, s->name, std::move(with.nearest), ms()));
    } catch (const std::bad_alloc&) {  // then it is not told
    }
  }
  return stays(s);
}

// What fails in a replay is run again by the function. One that does not run twice is asked first, before anything is
// changed: then its trace is given up, as others are. But not where running it again would be another call: what it has
// taken out, or counted, is not put back.
bool MissedCall::is_right(std::shared_ptr<const Specialization>& once) {
  if (!once || once->before.empty()) return true;
  const std::optional<std::string> wrong = wrong_of_data(*once, frame_);
  if (!wrong) return true;
  const Bail why = *once->unrepeatable;
  once.reset();
  epochs::end(epochs::mine());
  if (why == Bail::destroys_variable || why == Bail::changes_itself)
    bail(Bail::asks_of_data, "compile", {}, *wrong, ", and the function cannot run again: it ", bail_text(why));
  LockedCompiled lock(c_);
  c_.last_fallback_reason = *wrong;
  if (logs::on(logs::Channel::Recompiles))
    logs::event(logs::Event::not_traceable, c_.options.name, "a call was served eagerly: " + *wrong,
                {{"kind", bail_name(Bail::asks_of_data)}, {"reason", *wrong}});
  return false;
}

/// Such a call runs eagerly, by shape rules (Note [Shape-only calls] in runtime/front/shape_only_call.h).
bool has_shape_only(const CallFrame& f) {
  return any_shape_only.load(std::memory_order_relaxed) &&
         std::any_of(f.tensors.data(), f.tensors.data() + f.tensors.size(),
                     [](const TensorImpl* t) { return is_shape_only(t->device); });
}

}  // namespace

const Specialization* compile(Compiled& c, CallFrame& f, void (*body)(void*, Tracer&),
                              void (*name_words)(void*, StructureNames&), void* ctx,
                              std::shared_ptr<const Specialization>& once, Eagerly& how, Outputs& outputs,
                              PathOfCall* path) {
  if (has_shape_only(f)) return nullptr;
  MissedCall miss(c, f, name_words, ctx, &outputs, path);
  if (!c.mode) {
    LockedCompiled lock(c);
    return miss.serve_eagerly(Bail::mode_off, bail_text(Bail::mode_off));
  }
  {
    LockedCompiled lock(c);
    if (c.runs_once)
      return miss.serve_eagerly(*c.runs_once, std::string("the function ") + bail_text(*c.runs_once) +
                                                  ", and its trace was given up behind that");
  }
  const timeline::Time asked = timeline::on() ? timeline::now() : 0;
  CompileTurn turn(c, c.options.on_miss == OnMiss::Wait);
  if (asked) timeline::slice("compile", "turn to compile", asked);
  if (!miss.is_to_be_compiled(turn.taken())) {
    how = miss.how();
    return miss.served();
  }
  std::unique_ptr<Specialization> made = miss.specialize(body);
  how = miss.how();
  const Specialization* s = made ? miss.publish(std::move(made), once) : nullptr;
  return miss.is_right(once) ? s : nullptr;
}

WarmedUp warm_up(Compiled& c, CallFrame& f, void (*body)(void*, Tracer&), void (*name_words)(void*, StructureNames&),
                 void* ctx) {
  if (around().tracer) bail(Bail::asks_state, "warm_up", {});
  if (!c.mode)
    fail(ErrorCode::NotTraceable, "warm_up", {}, c.options.name,
         " would serve such calls eagerly: ", bail_text(Bail::mode_off));
  if (has_shape_only(f))
    fail(
        ErrorCode::InvalidArgument, "warm_up", {}, c.options.name,
        " is given a shape-only tensor, for which nothing is compiled: give tensors of the device that it will run on");
  const bool amid_build = c.is_backward && runtime::is_background();  // nobody else knows it yet
  if (c.options.on_miss == OnMiss::ServeMeanwhile && !amid_build) wait_for_builds(c);
  WarmedUp made;
  Outputs reads;
  const Specialization* s = find(c, f);
  for (PathOfCall path;;) {
    if (!s) {
      MissedCall miss(c, f, name_words, ctx, nullptr, path.missing ? &path : nullptr);
      const CompileTurn turn(c, true);
      if (miss.is_to_be_compiled(turn.taken())) {
        std::shared_ptr<const Specialization> once;
        s = miss.publish(miss.specialize(body), once);
        made.compiled = true;
      } else {
        s = miss.served();
      }
    }
    if (s->decides) s = find_path(c, *s, f, path);  // the path that such a call takes
    if (s) break;
  }
  reads.reading = true;  // as find() and publish() began
  made.specialization = s->name;
  // what follows it depends on data
  runtime::RecordingCache& first = s->before.empty() ? s->recordings : s->before.front()->recordings;
  if (!first.has(f.values.data())) {
    {
      const LockedCompiled lock(c);
      if (c.is_sealed())
        fail(ErrorCode::Sealed, "warm_up", {}, c.options.name, " is sealed, and has no recording for these sizes");
    }
    first.get(f.values.data(), s->name, &made.recorded, true)->reserve();
  }
  if (s->folding && s->folding->folds) runtime::Folding::Added(*s->folding, f);
  else if (s->folding) s->folding->note_what_stands(f);
  warm_up_backward(*s, f, made);
  return made;
}

}  // namespace reprise::detail

namespace reprise {

bool is_compiling() noexcept {
  const graph::ThreadState& t = graph::thread_state;
  if (!(t.modes & bit(graph::Key::Trace))) return false;
  const auto* tracer = dynamic_cast<const detail::Tracer*>(t.top[static_cast<std::size_t>(graph::Key::Trace)]->by);
  return tracer && tracer->of_function();
}

}  // namespace reprise
