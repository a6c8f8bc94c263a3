// A specialization is made, and run.
#include "runtime/build/specialization.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "autograd/off_tape.h"
#include "autograd/saved_hooks.h"
#include "base/counters.h"
#include "base/epochs.h"
#include "base/errors.h"
#include "base/float_state.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/stack.h"
#include "graph/call_numbers.h"
#include "graph/random_log.h"
#include "graph/tape_seam.h"
#include "passes/layouts.h"
#include "passes/pass.h"
#include "runtime/build/branches.h"
#include "runtime/build/call_slice.h"
#include "runtime/build/folding.h"
#include "runtime/build/process_profile.h"
#include "runtime/build/recipe.h"
#include "runtime/build/shipped_patterns.h"
#include "runtime/build/validation.h"
#include "runtime/replay/profile.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/left_trace.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {

/// Others see that this thread traces, and whether the trace goes on (epochs::Reader::steps).
struct Tracing {
  std::atomic<bool>& mark = epochs::mine().tracing;
  const bool before = mark.exchange(true);
  ~Tracing() { mark.store(before); }
};

std::int64_t since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - t).count();
}

std::vector<std::uint32_t> written_inputs_of(const graph::Graph& g) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < g.inputs.size(); ++i)
    if (g.inputs[i].mutates_data) out.push_back(i);
  return out;
}

std::vector<std::uint32_t> reshaped_inputs_of(const graph::Graph& g) {
  std::vector<std::uint32_t> out;
  for (const graph::MetadataMutation& m : g.metadata_mutations) out.push_back(m.input);
  return out;
}

std::vector<ExtraValues> where_any(std::vector<ExtraValues> extra) {
  if (std::none_of(extra.begin(), extra.end(), [](ExtraValues e) { return e.offset || e.strides; })) extra.clear();
  return extra;
}

std::atomic<std::uint64_t> g_serials{0};

/// A trace counts its calls from 0, and what was around it goes on counting its own.
class CallNumbersScope {
 public:
  CallNumbersScope() : before_(std::exchange(graph::call_numbers, {})) {}
  ~CallNumbersScope() { graph::call_numbers = before_; }

 private:
  const graph::CallNumbers before_;
};

}  // namespace

Specialization::Specialization(std::string its_name, FrameArray<std::uint64_t> its_structure, Traced&& t,
                               runtime::GuardedProgram&& built, std::unique_ptr<FunctionBytes> f)
    : name(std::move(its_name)), structure(std::move(its_structure)), hash(runtime::hash_of(structure)),
      captured(std::move(t.captured)), input_words(std::move(t.input_words)), asked(std::move(t.asked)),
      function(std::move(f)), settings(t.settings), guards(std::move(built.guards)), program(std::move(built.program)),
      tensor_results(std::move(t.tensor_results)), result_template(std::move(t.result_template)),
      written_inputs(written_inputs_of(program.graph)), reshaped_inputs(reshaped_inputs_of(program.graph)),
      whole_storage(std::move(t.whole_storage)), exact_strides(std::move(t.exact_strides)),
      shown_strides(std::move(t.shown_strides)), wholes(std::move(t.wholes)),
      extra_values(where_any(std::move(t.extra_values))), relations(std::move(t.relations)),
      same_as(std::move(t.same_as)), written_anew(std::move(t.written_anew)), unused(std::move(t.unused)),
      turned_on(std::move(t.turned_on)),
      plain(!function && asked.empty() && extra_values.empty() && captured.empty() && same_as.empty() &&
            wholes.empty() && reshaped_inputs.empty() && whole_storage.empty() && exact_strides.empty() &&
            relations.empty() && turned_on.empty()),
      assigned(std::move(t.assigned)), unrepeatable(t.unrepeatable), result_wrappers(std::move(t.result_wrappers)),
      finishes(unrepeatable || !result_wrappers.empty()), kept(std::move(t.kept)),
      input_values(std::move(t.input_values)), serial(++g_serials), recordings(program) {
  at_once = plain && written_inputs.empty();
  quick = at_once && structure.size() <= kFewWords && guards.is_short();
}

Specialization::~Specialization() { profile_ends(*this); }

bool Specialization::is_on_path(const Outcomes& path) const {
  return path.size() <= branches.size() && std::equal(path.begin(), path.end(), branches.begin(),
                                                      [](const Outcome& a, const Branch& b) { return a == b.outcome; });
}

namespace {

/// The caller's hooks, a checkpoint's say, are for what a call keeps, not for what its trace does.
struct NoSavedHooks {
  const autograd::SavedHooks* const before = autograd::exchange_saved_hooks(nullptr);
  ~NoSavedHooks() { autograd::exchange_saved_hooks(before); }
};

/// What a trace's function does is its own.
struct OffTapeScope {
  const autograd::OffTape before = std::exchange(autograd::off_tape, {});
  ~OffTapeScope() { autograd::off_tape = before; }
};

passes::Partitioner partitioner(BackwardKeeps keeps) {
  switch (keeps) {
    case BackwardKeeps::MinimumCut: return passes::Partitioner::MinimumCut;
    case BackwardKeeps::All: return passes::Partitioner::SaveAll;
    case BackwardKeeps::Nothing: return passes::Partitioner::RecomputeAll;
  }
  return passes::Partitioner::MinimumCut;
}

Traced trace(const std::string& name, CallFrame& frame, void (*body)(void*, Tracer&), void* ctx,
             const TraceOptions& options, TraceFacts& facts) {
  InputPlan plan;
  plan.may_grow = options.may_retrace;
  facts.words = static_cast<std::uint32_t>(frame.values.size());
  facts.call_tensors = static_cast<std::uint32_t>(frame.tensors.size());
  auto note = [&](const Tracer& tracer, const graph::SettingsWatch& settings) {
    facts.tensors = tracer.tensor_facts();
    facts.settings = settings.seen();
    facts.more = tracer.depends_on_more();
    facts.may_fail = tracer.may_fail();
    facts.path.clear();
    for (const Decision& d : tracer.decisions()) facts.path.push_back({d.outcome, d.loc});
  };
  for (;;) {
    Tracer tracer(name, frame, options.handles, plan);
    tracer.registered = options.registered.get();
    tracer.words = options.words;
    tracer.static_sizes = options.static_sizes;
    tracer.freeze = options.freeze;
    tracer.by_value = options.joint != nullptr;
    tracer.decides = options.branches;
    tracer.second_order = options.second_order;
    facts.env = tracer.env();
    graph::SettingsWatch settings;
    bool finished = false;  // from then on the tracer has nothing to tell
    try {
      graph::ModeScope scope(tracer);
      TraceScope hook(&tracer);
      Tracing mark;
      const TraceStack stack(name);
      guards::ShowHints numbers;  // errors that the user's function meets name sizes, not symbols
      const CallNumbersScope calls;
      autograd::TraceTape tape;
      tracer.tape = &tape;
      runtime::BranchTracer branches(tracer, options.mode, options.path);
      const guards::DataDeciderScope decides(*tracer.env(), options.branches ? &branches : nullptr);
      const OffTapeScope off_tape;
      const NoSavedHooks no_hooks;
      body(ctx, tracer);
      const autograd::OffTape off = autograd::off_tape;
      if (settings.changed()) bail(Bail::sets_for_thread, "compile", {});
      tracer.capture_assigned();
      if (tape.recorded && tracer.assigns_on_tape()) tracer.give_assigned();
      if (tape.recorded) tracer.give_left();
      std::vector<std::uint8_t> captured_wants;
      std::optional<Joint> joint;
      std::vector<graph::ViewMade> made;
      if (graph::tape.load(std::memory_order_relaxed)) {
        captured_wants = tracer.captured_that_want();
        joint = trace_gradients(tracer, tape, made);
      }
      note(tracer, settings);
      Traced traced = tracer.finish();
      finished = true;
      if (const auto& once = traced.unrepeatable; once && !traced.takes_back()) facts.runs_once = once;
      traced.captured_wants = std::move(captured_wants);
      traced.made = std::move(made);
      for (std::size_t i = 0; i < traced.made.size() && i < traced.tensor_results.size(); ++i)
        if (const std::int32_t o = traced.tensor_results[i]; o >= 0 && traced.made[i] == graph::ViewMade::InFunction)
          traced.graph.outputs[static_cast<std::size_t>(o)].role = graph::OutputSpec::Role::CustomView;
      if (joint && options.joint) *options.joint = graph::print(traced.graph);
      if (joint)
        traced.gradients = cut_gradients(
            traced, *joint,
            {partitioner(options.keeps), options.partition, options.second_order, options.registered.get(), off});
      if (options.describe) (*options.describe)(traced);
      traced.settings = facts.settings = settings.seen();
      return traced;
    } catch (const Error& e) {
      if (finished) throw;
      note(tracer, settings);
      facts.runs_once = tracer.runs_once(facts.changed);
      if (facts.runs_once || e.code() != ErrorCode::NotTraceable || tracer.wanted().size() == plan.size()) throw;
      plan = tracer.wanted();
      facts.take_back();
    } catch (...) {
      if (!finished) note(tracer, settings);
      throw;
    }
  }
}

void log_graph(logs::Event event, const std::string& name, const char* what, const graph::Graph& g) {
  if (!logs::on(logs::Channel::Graph)) return;
  std::string text = graph::print(g);
  logs::event(event, name, what + text, {{"nodes", g.nodes.size()}, {"graph", text}});
}

}  // namespace

void TraceFacts::take_back() {
  for (const FunctionSeen& f : changed)
    if (const auto alive = f.owner.lock()) std::memcpy(const_cast<void*>(f.object.at), f.bytes.data(), f.bytes.size());
  changed.clear();
}

Seen TraceFacts::seen() const {
  Seen s;
  if (!env) return s;
  s.tensors = tensors, s.settings = settings, s.more = more;
  try {
    s.guards = guards::GuardSet(*env, words);
  } catch (const Error&) {  // guards too long to be checked: then none of them is
  }
  return s;
}

TracedCall trace_call(const std::string& name, kernels::Mode mode, CallFrame& frame, void (*body)(void*, Tracer&),
                      void* ctx, const TraceOptions& options, TraceFacts& facts) {
  const guards::GeneralScope rules(options.generality);
  const auto begin = std::chrono::steady_clock::now();
  const timeline::Slice slice("compile", timeline::on() ? "trace " + name : std::string());
  PhaseTimes phases;
  const PhaseClock clock(phases);
  Traced traced = [&] {
    const InPhase phase(Phase::Trace);
    return trace(name, frame, body, ctx, options, facts);
  }();
  // takes back what the trace has assigned
  if (!traced.assigned.empty()) traced.variables = std::make_unique<VariableLog>();
  reprise::counters().traces.add();
  const std::int64_t trace_ns = since(begin);
  if (logs::on(logs::Channel::Trace))
    logs::event(logs::Event::traced, name,
                "traced " + std::to_string(traced.operators) + " operators in " + std::to_string(trace_ns / 1000) +
                    " us\n" + traced.traced_text,
                {{"nodes", traced.operators}, {"us", trace_ns / 1000}, {"graph", traced.traced_text}});
  log_graph(logs::Event::functionalized, name, "functionalized:\n", traced.graph);
  std::unique_ptr<FunctionBytes> function;
  if (options.handles && !traced.unrepeatable && !traced.functions.empty())
    function = std::make_unique<FunctionBytes>(std::move(traced.functions), *options.handles);
  TracedCall call{name,
                  mode,
                  frame.structure,
                  std::move(traced),
                  std::move(function),
                  options.registered,
                  options.handles != nullptr,
                  facts.words,
                  facts.call_tensors,
                  trace_ns,
                  phases,
                  options.generality};
  call.backend = options.backend;
  return call;
}

namespace {
/// Of what a program asks for. The trace has accepted all of that: passes and lowering have nothing to complain of but
/// themselves. (A fact that a registered operator lacks is an InvalidArgument.)
bool is_complaint(ErrorCode code) {
  switch (code) {
    case ErrorCode::ShapeMismatch:
    case ErrorCode::DTypeMismatch:
    case ErrorCode::DeviceMismatch:
    case ErrorCode::IndexOutOfRange:
    case ErrorCode::AliasConflict: return true;
    default: return false;
  }
}

/// Empty: another process may trace the same.
std::string why_no_recipe(const TracedCall& call) {
  if (!call.of_user) return "it is one operator";
  if (call.traced.unrepeatable) return "it serves one call";
  if (call.backend) return "it has a compiler of its own";
  if (call.registered && !(call.registered->passes.empty() && call.registered->patterns.empty()))
    return "the program has registered passes or patterns";
  return "";
}
}  // namespace

std::unique_ptr<Specialization> build(TracedCall call) {
  const FloatState ours;
  const guards::GeneralScope rules(call.generality);
  const auto begin = std::chrono::steady_clock::now();
  const timeline::Slice slice("compile", timeline::on() ? "build " + call.name : std::string());
  Traced& traced = call.traced;
  const bool draws_of_data = traced.draws_of_data;
  epochs::Working working;
  std::unique_ptr<CallCheck> check;
  std::optional<runtime::GuardedProgram> built;
  runtime::Stages before;
  guards::ExprProgram random_count;
  std::unique_ptr<runtime::Folding> folding;
  std::vector<passes::PatternRecord> patterns;
  std::shared_ptr<const runtime::BackendProgram> by_backend;
  const passes::Registered* registered = call.registered.get();
  std::optional<passes::Registered> with_shipped;
  if (call.of_user)
    if (auto shipped = shipped_for(traced.graph); !shipped.empty()) {
      with_shipped = registered ? *registered : passes::Registered{};
      with_shipped->shipped = std::move(shipped);
      registered = &*with_shipped;
    }
  // Passes and LLVM need more stack than threads of a server may have (the user's function has been on its own).
  constexpr std::size_t kStackForCode = std::size_t{1} << 20;
  with_stack(kStackForCode, [&, caller = &epochs::mine()] {
    guards::LibraryScope operators;                          // the program's own arithmetic is over
    const guards::GeneralScope same_rules(call.generality);  // this may be another thread
    std::optional<epochs::Working> for_caller;
    if (&epochs::mine() != caller) for_caller.emplace(epochs::Working::ForAnother{});
    const PhaseClock clock(call.phases);
    if (knobs().verify >= 2) check = CallCheck::make(traced);
    try {
      runtime::RecipePlace place(call.name, traced, call.mode, call.generality,
                                 traced.data.empty() ? why_no_recipe(call) : "it is cut into stages");
      std::optional<runtime::Recipe> recipe = place.find();
      if (recipe) {
        log_graph(logs::Event::optimized, call.name, "after passes:\n", recipe->graph);
      } else {
        recipe.emplace();
        recipe->patterns = std::move(traced.joint_patterns);
        if (call.backend && traced.data.empty())
          by_backend = runtime::ask_backend(traced.graph, call.backend, call.name);
        {
          const InPhase phase(Phase::Passes);
          const passes::FrozenInputs frozen(traced.graph, traced.frozen);
          for (passes::PassRecord& r : passes::run_pipeline(traced.graph, registered))
            std::move(r.patterns.begin(), r.patterns.end(), std::back_inserter(recipe->patterns));
        }
        log_graph(logs::Event::optimized, call.name, "after passes:\n", traced.graph);
        const InPhase phase(Phase::Lower);
        if (!traced.frozen.empty() || !traced.frozen_written.empty())
          recipe->folded = runtime::fold_frozen(traced.graph, traced, call.mode);
        if (!traced.data.empty()) {
          if (recipe->folded.any())
            folding = std::make_unique<runtime::Folding>(std::move(recipe->folded), call.makers);
          patterns = std::move(recipe->patterns);
          runtime::StagedProgram staged = runtime::build_staged(traced, call.mode, call.makers);
          before = std::move(staged.before), random_count = std::move(staged.random_count);
          built = std::move(staged.last);
          return;
        }
        recipe->lowered = runtime::lower_graph(traced.graph, call.mode);
        recipe->graph = std::move(traced.graph);
        place.made(*recipe);
      }
      patterns = std::move(recipe->patterns);
      const InPhase phase(Phase::Lower);
      if (recipe->folded.any()) folding = std::make_unique<runtime::Folding>(std::move(recipe->folded), call.makers);
      built = runtime::build_guarded(std::move(recipe->graph), std::move(recipe->lowered),
                                     recipe->kept ? &*recipe->kept : nullptr, traced.int_results, traced.floats,
                                     traced.uses_random, traced.random_count, call.makers, traced.sizes);
      place.keep(built->guards.kept());
    } catch (const Error& e) {
      if (!is_complaint(e.code())) throw;
      throw Error(ErrorCode::Internal, e.op(), e.message(), e.where());
    }
  });
  std::unique_ptr<VariableLog> variables = std::move(traced.variables);
  std::vector<std::uint8_t> captured_wants = std::move(traced.captured_wants);
  std::shared_ptr<const Gradients> gradients = std::move(traced.gradients);
  const std::vector<graph::TapeBase> bases = std::move(traced.bases);
  const std::vector<graph::ViewMade> made = std::move(traced.made);
  std::vector<Specialization::Branch> branches;
  for (Decision& d : traced.decisions)
    branches.push_back({{d.outcome, d.loc}, std::move(d.condition), d.number != nullptr});
  std::vector<std::shared_ptr<Variable>> met = std::move(traced.met);
  auto s = std::make_unique<Specialization>(std::move(call.name), std::move(call.structure), std::move(traced),
                                            *std::move(built), std::move(call.function));
  s->branches = std::move(branches), s->decides = !s->branches.empty();
  s->own_values = call.own_values, s->own_tensors = call.own_tensors;
  s->before = std::move(before), s->random_count = std::move(random_count), s->draws_of_data = draws_of_data;
  s->folding = std::move(folding);
  if (knobs().profile) profile_from_start(*s);
  if (knobs().validate && runtime::validator) {
    const std::vector<guards::Claim> claims = s->program.graph.env->take_claims();
    constexpr std::size_t kStackForProofs = std::size_t{16} << 20;
    with_stack(kStackForProofs, [&] { runtime::validator(*s, claims); });
  }
  s->check = std::move(check);
  s->patterns = std::move(patterns);
  s->by_backend = std::move(by_backend);
  s->captured_wants = std::move(captured_wants), s->gradients = std::move(gradients);
  s->views = TapeViews::of(s->program.graph, s->tensor_results, bases, made);
  s->met = std::move(met);
  s->generality = call.generality;
  s->trace_ns = call.trace_ns;
  s->build_ns = since(begin);
  s->phases = call.phases;
  reprise::counters().compiles.add();
  if (s->unrepeatable) s->variables = std::move(variables);
  else if (variables) variables->commit();
  return s;
}

std::unique_ptr<Specialization> specialize(const std::string& name, kernels::Mode mode, CallFrame& frame,
                                           void (*body)(void*, Tracer&), void* ctx, const TraceOptions& options) {
  TraceFacts facts;
  return build(trace_call(name, mode, frame, body, ctx, options, facts));
}

void Specialization::profile(bool on) const {
  for_each_stage([&](const runtime::Program& p, const runtime::RecordingCache&) {
    p.profile->set(on, p.lowered.launches.size());
  });
}

std::vector<Stats::Launch> Specialization::launches(const std::string& under) const {
  std::vector<Stats::Launch> all;
  for_each_stage([&](const runtime::Program& p, const runtime::RecordingCache&) {
    std::vector<Stats::Launch> took = p.profile->launches(p, under);
    std::move(took.begin(), took.end(), std::back_inserter(all));
  });
  return all;
}

void fill_kept(const Specialization& s, Outputs& outputs) {
  for (std::size_t i = 0; i < s.kept.size(); ++i) {
    TensorImpl& to = *s.kept[i].impl();
    TensorImpl& from = *outputs.tensors[outputs.tensors.size() - s.kept.size() + i];
    delete std::exchange(to.trace, nullptr);
    to.dtype = from.dtype, to.device = from.device, to.rank = from.rank, to.offset = from.offset;
    std::copy(std::begin(from.sizes), std::end(from.sizes), to.sizes);
    std::copy(std::begin(from.strides), std::end(from.strides), to.strides);
    retain(from.storage);
    to.storage = from.storage;
    to.structure_word.store(0, std::memory_order_relaxed);
    s.variables->replace(&to, Tensor::share(&from));  // the result's own handle
  }
}

// All are known before the first is assigned: they may change places.
void assign_variables(const Specialization& s, const Outputs& outputs, std::vector<Tensor>& values) noexcept {
  for (std::size_t i = outputs.tensors.size() - s.assigned.size(); i < outputs.tensors.size(); ++i)
    values.push_back(outputs.tensors[i] ? Tensor::share(outputs.tensors[i]) : Tensor());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (Tensor* at = s.assigned[i]->handle()) *at = std::move(values[i]);
}

namespace {
void note_recorded(const Specialization& s, const CallFrame& f, Outputs& outputs, double ms) noexcept {
  try {
    Miss m{.kind = Miss::Kind::Recorded,
           .function = s.name.substr(0, s.name.rfind('/')),
           .specialization = s.name,
           .ms = ms};
    m.reason = "the sizes are new: " + values_of(s, f);
    m.remedy = "warm_up() with such arguments makes it ahead";
    note_miss(outputs, *s.callback, std::move(m));
  } catch (const std::bad_alloc&) {  // then it is not told
  }
}

/// The recording of the last program, made if its sizes are new.
inline void replay_last(const Specialization& s, CallFrame& f, TensorImpl* const* tensors, Outputs& outputs,
                        std::int64_t& copied) {
  // a call that was compiled for has been noted
  const bool asked = s.callback && s.callback->is_set() && !outputs.missed;
  bool made = false;
  const auto begin = asked ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  std::shared_ptr<runtime::Recording> r = s.recordings.get(f.values.data(), s.name, &made);
  if (asked && made) [[unlikely]]
    note_recorded(s, f, outputs, static_cast<double>(since(begin)) / 1e6);
  r->replay(f.values.data(), tensors, outputs, s.tensor_results, &copied);
}

/// The numbers that a call takes from the generator: they go back unless it keeps them.
struct Numbers {
  std::int64_t seed = 0, offset = 0, count = 0;
  bool counts_later = false;  ///< nothing is taken yet: data decide how many
  ~Numbers() {
    if (count) graph::give_back_random(offset, count);
  }
  void keep() { count = 0; }
  void take(std::int64_t n) {
    std::tie(seed, offset) = graph::take_random(n);
    count = n;
  }
  /// Behind the stages, which have drawn from where the generator stood. Throws NotTraceable if another thread has
  /// drawn meanwhile.
  void take_counted(std::int64_t n) {
    const std::int64_t its_seed = seed, its_offset = offset;
    take(n);
    if (seed != its_seed || offset != its_offset)
      bail(Bail::data_decides, "compile", {},
           "another thread has drawn random numbers while it was found how many the call draws");
  }
};

std::int64_t random_count(const Specialization& s, const CallFrame& f) {
  const guards::ExprProgram& exprs = s.before.empty() ? s.program.exprs : s.random_count;
  std::vector<std::int64_t> slots(exprs.size());
  exprs.evaluate(f.values.data(), slots.data());
  return s.before.empty() ? runtime::SlotValues(slots.data())[s.program.random_count]
                          : slots.back();  // the only one that was added
}

/// The same behind the stages that give the numbers of data. These are the frame's while it runs.
[[gnu::noinline]] std::optional<runtime::PathMissed> replay_in_stages(const Specialization& s, CallFrame& f,
                                                                      Outputs& outputs, std::int64_t& copied,
                                                                      const Outcomes* path,
                                                                      std::shared_ptr<runtime::Handover>* hand,
                                                                      Numbers& numbers) {
  std::size_t results = 0;
  for (const auto& stage : s.before) results += stage->results.size();
  std::vector<Tensor> made;
  std::vector<TensorImpl*> tensors;
  made.reserve(results), tensors.reserve(f.tensors.size() + results);
  tensors.assign(f.tensors.begin(), f.tensors.end());
  runtime::Handover local, *use = nullptr;
  if (hand && !s.folding) {
    use = *hand ? hand->get() : &local;
    if (*hand && (use->inputs != tensors || use->values.size() != f.values.size() ||
                  !std::equal(f.values.begin(), f.values.end(), use->values.begin())))
      *use = {};
  }
  const std::size_t own = f.values.size(), given = tensors.size();
  runtime::make_room(s.before, f.values);
  std::optional<runtime::PathMissed> missed =
      runtime::run_stages(s.before, s.name, f.values.data(), made, tensors, path, use);
  if (missed && use) {
    use->inputs.assign(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(given));
    use->values.assign(f.values.begin(), f.values.begin() + own);
    if (!*hand) *hand = std::make_shared<runtime::Handover>(std::move(local));
  }
  if (missed) return missed;
  if (numbers.counts_later) numbers.take_counted(random_count(s, f));
  replay_last(s, f, tensors.data(), outputs, copied);
  return missed;
}

/// A replay, beside which the traced program runs if it is one of the first (REPRISE_VERIFY=2).
template <class F>
inline void replay_checked(const Specialization& s, CallFrame& f, Outputs& outputs, F replay) {
  // that reads all inputs as they stand
  if (s.check && !any_discarded.load(std::memory_order_relaxed) && s.check->wanted()) [[unlikely]]
    s.check->run(
        s, f, outputs, [](void* b) { (*static_cast<F*>(b))(); }, &replay);
  else replay();
}

/// While it lives, the numbers of the stages may stand behind a call's values.
struct StageValues {
  CallFrame& frame;
  const std::size_t before = frame.values.size();
  ~StageValues() { frame.values.resize(before); }
};

/// None but the stages, whose numbers go again.
std::optional<std::string> run_stages_alone(const Specialization& s, CallFrame& f, const Outcomes* path,
                                            std::optional<runtime::PathMissed>& missed) {
  Numbers numbers;
  try {
    if (s.program.uses_random) {
      numbers.take(s.draws_of_data ? 0 : random_count(s, f));
      f.values[kSeedValue] = numbers.seed, f.values[kOffsetValue] = numbers.offset;
    }
    if (any_discarded.load(std::memory_order_relaxed)) return std::nullopt;  // that is an error
    const StageValues values{f};
    std::optional<runtime::Folding::Added> folded;
    if (s.folding && s.folding->folds) folded.emplace(*s.folding, f);
    runtime::make_room(s.before, f.values);
    std::vector<Tensor> made;
    std::vector<TensorImpl*> tensors(f.tensors.begin(), f.tensors.end());
    missed = runtime::run_stages(s.before, s.name, f.values.data(), made, tensors, path);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::NotTraceable) return e.message();
  }
  return std::nullopt;
}
}  // namespace

std::optional<std::string> wrong_of_data(const Specialization& s, CallFrame& f) {
  std::optional<runtime::PathMissed> missed;
  return run_stages_alone(s, f, nullptr, missed);
}
std::optional<runtime::PathMissed> missed_path(const Specialization& s, CallFrame& f, const Outcomes& path) {
  std::optional<runtime::PathMissed> missed;
  run_stages_alone(s, f, &path, missed);
  return missed;
}

std::optional<runtime::PathMissed> run_specialization(const Specialization& s, CallFrame& f, Outputs& outputs,
                                                      const Outcomes* path, std::shared_ptr<runtime::Handover>* hand) {
  Numbers numbers;
  if (s.program.uses_random) {
    const std::int64_t count = s.draws_of_data ? 0 : random_count(s, f);
    const auto [seed, offset] = graph::random_by_log([&]() -> std::pair<Int, Int> {
      numbers.take(count);
      numbers.counts_later = s.draws_of_data;
      return {numbers.seed, numbers.offset};
    });
    f.values[kSeedValue] = seed.hint(), f.values[kOffsetValue] = offset.hint();
  }
  if (any_discarded.load(std::memory_order_relaxed)) [[unlikely]]
    runtime::Folding::refuse_discarded_inputs(s.folding.get(), s.name, f);
  if (s.gradients) [[unlikely]]
    check_on_tape(*s.gradients, f);
  const bool views = s.views && TapeViews::is_followed();
  const std::vector<graph::MetadataMutation>& reshaped = s.program.graph.metadata_mutations;
  const bool reshapes = !reshaped.empty() && TapeViews::is_followed();
  if (reshapes) [[unlikely]]
    check_reshaped(reshaped, f, s.name);
  // What is compared with the traced program is read again behind the replay, and so is what stages pass on, and what a
  // backend's function was called with if that throws.
  if (s.check || s.by_backend || !s.before.empty()) [[unlikely]]
    outputs.given = nullptr;
  std::vector<std::int64_t> view_numbers;
  std::int64_t copied = 0;
  const bool folds = s.folding && s.folding->folds;
  if (s.folding && !folds) s.folding->note_what_stands(f);
  if (s.before.empty() && !folds) [[likely]] {
    replay_checked(s, f, outputs, [&] { replay_last(s, f, f.tensors.data(), outputs, copied); });
  } else if (s.before.empty()) {
    replay_checked(s, f, outputs, [&] {
      const runtime::Folding::Added folded(*s.folding, f);
      replay_last(s, f, f.tensors.data(), outputs, copied);
    });
  } else {
    const StageValues values{f};
    std::optional<runtime::PathMissed> missed;
    auto replay = [&] {
      std::optional<runtime::Folding::Added> folded;
      if (folds) folded.emplace(*s.folding, f);
      missed = replay_in_stages(s, f, outputs, copied, path, hand, numbers);
    };
    if (path && s.check) [[unlikely]] {  // what takes another path is nothing to compare
      std::optional<runtime::Folding::Added> folded;
      if (folds) folded.emplace(*s.folding, f);
      std::vector<Tensor> made;
      std::vector<TensorImpl*> tensors(f.tensors.begin(), f.tensors.end());
      runtime::make_room(s.before, f.values);
      missed = runtime::run_stages(s.before, s.name, f.values.data(), made, tensors, path);
    }
    if (!missed) replay_checked(s, f, outputs, replay);
    if (missed) return missed;
    if (views) view_numbers = s.views->numbers(f.values.data());
  }
  numbers.keep();  // they are used
  if (s.gradients || views) [[unlikely]] {
    if (views && s.before.empty()) view_numbers = s.views->numbers(f.values.data());
    const std::vector<Tensor> bases = views ? s.views->bases(f, outputs, view_numbers) : std::vector<Tensor>();
    if (s.gradients) put_on_tape(*s.gradients, f, outputs, views ? s.views.get() : nullptr, bases);
    if (views) s.views->follow(f, outputs, bases, view_numbers);
  }
  if (reshapes) [[unlikely]]
    note_reshaped(reshaped, f);
  for (std::uint32_t i : s.written_anew) count_write(*f.tensors[i]->storage);
  s.replays.fetch_add(1, std::memory_order_relaxed);
  if (copied) s.copied_bytes.fetch_add(copied, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace reprise::detail
