#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/bail.h"
#include "base/phases.h"
#include "guards/general.h"
#include "guards/guard_set.h"
#include "passes/pass.h"
#include "runtime/build/backend.h"
#include "runtime/build/call_check.h"
#include "runtime/build/freeze.h"
#include "runtime/build/miss_callback.h"
#include "runtime/build/stages.h"
#include "runtime/replay/recording.h"
#include "runtime/trace/tape_views.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// Guards, and the program for every call that they admit. Immutable but for its recordings and what is set before it
/// is published; never moves.
struct Specialization {
  /// Of the structure of a call, what was traced of it, and what was built of that. `function`: may be null.
  Specialization(std::string name, FrameArray<std::uint64_t> structure, Traced&&, runtime::GuardedProgram&&,
                 std::unique_ptr<FunctionBytes> function);
  ~Specialization();
  Specialization(const Specialization&) = delete;
  Specialization& operator=(const Specialization&) = delete;

  const std::string name;                     ///< "attend/2" in logs
  const FrameArray<std::uint64_t> structure;  ///< of the frame it was made for: compared word by word
  const std::uint64_t hash;
  /// of the structure's words; shared by those of a function that have the same
  std::shared_ptr<const StructureNames> names;
  /// where those of tensors, or undefined ones, stand among them; empty: nobody has told
  std::vector<std::uint32_t> tensor_words;
  /// implicit inputs: what they are now is appended to every call's frame
  const std::vector<Captured> captured;
  const std::vector<std::uint64_t> input_words;   ///< Traced::input_words: of captured tensors what they must be
  const std::vector<Asked> asked;                 ///< variables that must be defined, or undefined, as they were
  const std::unique_ptr<FunctionBytes> function;  ///< what must be as it was in the function object; null: nothing
  /// `plain`, and writes no argument: admission checks only `settings` and `guards`
  bool at_once = false;
  /// `at_once`, with few words and short guards: admission makes no call
  bool quick = false;
  bool decides = false;            ///< has `branches`
  const graph::Settings settings;  ///< of the thread, as far as the function depends on them
  const guards::GuardSet guards;
  const runtime::Program program;
  const std::vector<std::int32_t> tensor_results;
  const std::shared_ptr<void> result_template;
  const std::vector<std::uint32_t> written_inputs;   ///< must not overlap any other input of the call
  const std::vector<std::uint32_t> reshaped_inputs;  ///< whose sizes or strides are changed: must not be passed twice
  const std::vector<std::uint32_t> whole_storage;    ///< must start and end with their storage
  /// whose strides must follow from the sizes (runtime::has_strides_of)
  const std::vector<std::uint32_t> exact_strides;
  const std::vector<std::uint32_t> shown_strides;  ///< Traced::shown_strides
  bool shows_strides_of(std::size_t input) const;
  const std::vector<Traced::Whole> wholes;        ///< inputs that are the storages of others
  const std::vector<ExtraValues> extra_values;    ///< by input, where there are any; else empty
  const std::vector<Relation> relations;          ///< Traced::relations
  const std::vector<std::uint32_t> same_as;       ///< Traced::same_as
  const std::vector<std::uint32_t> written_anew;  ///< Traced::written_anew
  const std::vector<std::uint32_t> unused;        ///< Traced::unused
  const std::vector<std::uint32_t> turned_on;     ///< Traced::turned_on
  bool uses(std::size_t argument) const { return !std::binary_search(unused.begin(), unused.end(), argument); }
  /// Admission checks only the structure, the guards and the memory of written inputs, and none of the members above.
  const bool plain;
  bool are_one_input(std::size_t i, std::size_t j) const;  ///< one tensor, or a storage and what is on it
  /// Traced::assigned: a call that went well assigns them (assign_variables)
  const std::vector<std::shared_ptr<Variable>> assigned;
  guards::Generality generality;  ///< of its trace
  /// why it serves only the call that it was made for; none if it serves all
  const std::optional<Bail> unrepeatable;
  const std::vector<ResultWrapper> result_wrappers;  ///< Traced::result_wrappers
  const bool finishes;             ///< `unrepeatable`, or has `result_wrappers`: a call is not over with its replay
  const std::vector<Tensor> kept;  ///< Traced::kept: the last results; such a call fills them (fill_kept)
  std::vector<std::shared_ptr<Variable>> met;          ///< Traced::met
  std::unique_ptr<VariableLog> variables;              ///< of one that serves one call: what to put back if that fails
  const std::vector<Traced::ValueRange> input_values;  ///< by input: where its sizes stand among the values
  std::int64_t trace_ns = 0, build_ns = 0;
  PhaseTimes phases;                                          ///< where these went
  std::vector<passes::PatternRecord> patterns;                ///< that were replaced in its graph, or came near
  std::shared_ptr<const runtime::BackendProgram> by_backend;  ///< what its graph calls; null: Reprise has compiled it
  const std::uint64_t serial;  ///< unique in the process: keys what threads remember about it
  mutable runtime::RecordingCache recordings;
  /// Branches on values that its program relies on, in order (Note [Branches on values] in runtime/build/branches.h).
  struct Branch {
    Outcome outcome;
    std::string condition;
    bool is_number;
  };
  std::vector<Branch> branches;
  /// Of a call's frame before admission has appended to it.
  std::size_t own_values = 0, own_tensors = 0;
  bool is_on_path(const Outcomes&) const;      ///< are its first decisions these?
  runtime::Stages before;                      ///< of `program`, whose numbers they give; of most functions none
  std::vector<std::uint8_t> captured_wants;    ///< Traced::captured_wants
  std::shared_ptr<const Gradients> gradients;  ///< Traced::gradients
  std::unique_ptr<const TapeViews> views;      ///< null: no result is a view of floats
  /// values of frozen tensors, which `program` takes behind its other inputs; null: none
  std::unique_ptr<runtime::Folding> folding;
  guards::ExprProgram random_count;  ///< where there are stages: of numbers taken from the generator
  bool draws_of_data = false;        ///< Traced::draws_of_data: counted behind the stages
  /// f(program, recordings), in the order in which a call runs them.
  template <class F>
  void for_each_stage(F&& f) const {
    for (const auto& stage : before) f(stage->program, stage->recordings);
    f(program, recordings);
  }
  void keep_within(const std::shared_ptr<runtime::RecordingBudget>& budget) {
    for_each_stage([&](const runtime::Program&, runtime::RecordingCache& r) { r.keep_within(budget); });
  }
  void profile(bool on) const;
  /// What their launches took, while that was of interest.
  std::vector<Stats::Launch> launches(const std::string& under) const;
  std::shared_ptr<const MissCallback> callback;  ///< of the function it is of; null: of none (an operator's)
  /// what its first calls are compared with (REPRISE_VERIFY=2); null: nothing
  std::unique_ptr<CallCheck> check;
  mutable std::atomic<std::int64_t> copied_bytes{0}, replays{0};
  /// Note [Making room] in runtime/front/compiled.cc: how many replays there were when somebody looked, and of which
  /// call of the function that was the first look at so many.
  struct {
    std::int64_t replays = 0, since = 0;
  } use;
};

/// Where those of tensors that it does not use stand in its structure.
std::vector<std::uint32_t> unused_words(const Specialization&);

/// Will it never serve a call again, because a variable that the function read is gone?
bool is_gone(const Specialization&);

/// Does it serve this call? On a miss says which guard failed (`miss` as GuardSet numbers them, or ~0u: structure,
/// captured metadata or overlap). On a hit the frame has the captured tensors appended.
bool admits(const Specialization&, CallFrame&, std::uint32_t* miss = nullptr);
/// The same of a call that is known to have its structure.
bool admits_alike(const Specialization&, CallFrame&);
/// The same as admits(), asked for its own sake: the frame is as before also on a hit.
bool would_admit(const Specialization&, CallFrame&, std::uint32_t* miss);

/// What a trace that was given up had seen of its call: of calls that differ in it nothing is known. It says nothing of
/// captured tensors, of which calls may then differ unnoticed.
struct Seen {
  graph::Settings settings;
  guards::GuardSet guards;
  std::vector<TensorFact> tensors;
  bool more = false;                       ///< it had assigned or destroyed variables, or met captured tensors
  bool holds_for(const CallFrame&) const;  ///< of a call with the same structure
};

/// How a call is traced.
struct TraceOptions {
  /// collects the tensor handles in function objects, also of a trace that throws; null: no user's function
  FunctionBytes::Handles* handles = nullptr;
  bool may_retrace = true;          ///< the body may run again, with inputs seen in another way (InputPlan)
  bool static_sizes = false;        ///< CompileOptions::static_sizes
  Freeze freeze = Freeze::Nothing;  ///< CompileOptions::freeze
  BackwardKeeps keeps = BackwardKeeps::MinimumCut;                 ///< CompileOptions::keeps
  PartitionFunction partition = {};                                ///< CompileOptions::partition
  bool second_order = false;                                       ///< CompileOptions::second_order
  std::shared_ptr<const passes::Registered> registered = nullptr;  ///< the users' passes and patterns; null: none
  Backend backend = {};                                            ///< CompileOptions::backend
  std::vector<std::uint64_t> words = {};                           ///< Tracer::words
  const std::function<void(Traced&)>* describe = nullptr;          ///< Compiled::describe; null: the graph says it all
  guards::Generality generality = {};                              ///< what it leaves open (Note [General traces])
  bool branches = false;                                           ///< it may branch on values; false: that ends it
  Outcomes path = {};                                              ///< decisions that are known
  kernels::Mode mode = kernels::Mode::Full;                        ///< of what runs to know others
  /// takes the text of the joint graph, which is exported (Tracer::by_value); null: it is not
  std::string* joint = nullptr;
};

/// What a trace had seen by its end, whichever that was.
struct TraceFacts {
  std::shared_ptr<guards::ShapeEnv> env;
  std::vector<TensorFact> tensors;
  graph::Settings settings;
  bool more = false;
  /// it had met operators that fail by their elements (an index out of range), or it took for granted what the data
  /// decide: an error that it ends with may be none of the call's
  bool may_fail = false;
  std::optional<Bail> runs_once;  ///< Tracer::runs_once
  std::vector<FunctionSeen> changed;
  void take_back();         ///< before the function runs again
  std::uint32_t words = 0;  ///< values of the call
  std::uint32_t call_tensors = 0;
  Outcomes path;  ///< decisions that it has taken
  /// Of calls that are no different in it the trace would have been the same.
  Seen seen() const;
};

/// A call that was traced. What is left to do needs neither the call nor its thread.
struct TracedCall {
  std::string name;
  kernels::Mode mode;
  FrameArray<std::uint64_t> structure;
  Traced traced;
  std::unique_ptr<FunctionBytes> function;
  std::shared_ptr<const passes::Registered> registered;
  bool of_user = false;                         ///< a user's function, rather than one operator
  std::size_t own_values = 0, own_tensors = 0;  ///< Specialization::own_values
  std::int64_t trace_ns = 0;
  PhaseTimes phases{};
  guards::Generality generality = {};
  runtime::Makers makers = runtime::Makers::All;  ///< of its code
  Backend backend = {};                           ///< none: Reprise compiles it
};

/// Traces `body` for this call. Throws NotTraceable where the call can only be served eagerly, and whatever `body`
/// throws.
TracedCall trace_call(const std::string& name, kernels::Mode, CallFrame&, void (*body)(void*, Tracer&), void* ctx,
                      const TraceOptions&, TraceFacts&);
/// Compiles what was traced. Throws NotTraceable where that cannot be, Internal where we failed. Any thread.
std::unique_ptr<Specialization> build(TracedCall);
/// The two, one after the other. Nothing is kept of what throws.
std::unique_ptr<Specialization> specialize(const std::string& name, kernels::Mode, CallFrame&,
                                           void (*body)(void*, Tracer&), void* ctx, const TraceOptions& = {});

/// Makes real tensors of `kept`, of the outputs behind the user's.
void fill_kept(const Specialization&, Outputs&);

/// Gives the variables that the function assigns what it assigns to them, of the outputs behind the user's. `values`
/// has room for that: nothing fails here.
void assign_variables(const Specialization&, const Outputs&, std::vector<Tensor>& values) noexcept;

/// Of one with stages: runs these, and says which assumption of data does not hold in this call; none if all do, or if
/// a kernel fails, which who runs it will hear. Nothing is changed: neither an argument nor the generator, and the
/// frame is as before.
std::optional<std::string> wrong_of_data(const Specialization&, CallFrame&);
/// The same for its decisions: where the call takes another path behind `path`. What else is wrong is not told.
std::optional<runtime::PathMissed> missed_path(const Specialization&, CallFrame&, const Outcomes& path);

/// Runs it on a frame that admits() has accepted. `path`: as run_stages() takes it; what it gives says that nothing has
/// been done. `hand`: of the specialization that the call has left, and is leaving.
std::optional<runtime::PathMissed> run_specialization(const Specialization&, CallFrame&, Outputs&,
                                                      const Outcomes* path = nullptr,
                                                      std::shared_ptr<runtime::Handover>* hand = nullptr);

}  // namespace reprise::detail
