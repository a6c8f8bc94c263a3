#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bail.h"
#include "graph/call_numbers.h"
#include "graph/graph.h"
#include "graph/interpreter.h"
#include "graph/name_scopes.h"
#include "graph/tape_base.h"
#include "guards/expr.h"
#include "passes/pass.h"
#include "reprise/compile.h"
#include "runtime/call/call_frame.h"
#include "runtime/trace/decisions.h"
#include "runtime/trace/function_bytes.h"
#include "runtime/trace/made_sizes.h"
#include "runtime/trace/result_wrappers.h"
#include "runtime/trace/variables.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"

namespace reprise::passes {
struct Registered;
struct TracedInput;
}  // namespace reprise::passes
namespace reprise::autograd {
class TraceTape;
}

namespace reprise::detail {

class Tracer;
class WrittenMemory;
struct Gradients;  // joint.h

/// The first two values of every call: where the random numbers stand. Filled in only for programs that draw some.
inline constexpr std::uint32_t kSeedValue = 0, kOffsetValue = 1;

/// What views of one storage share while traced: its identity.
struct TracedStorage {
  Tracer* tracer = nullptr;  ///< null once the trace is over
  graph::ValueId whole;      ///< the value that it was made with, which shows all of it
  std::int32_t input = -1;   ///< the graph input whose storage this is, or -1
  /// of the graph that it is traced in: 0, of a branch of cond one more than of the graph around it
  std::size_t depth = 0;
  std::shared_ptr<TracedStorage> outer;  ///< of a branch's input: what it stands for in the graph around it
  std::shared_ptr<TracedStorage> grown;  ///< what it is now (Note [Storages that grow])
  bool has_grown = false;                ///< it is such a one, which counts as a write
  bool perhaps_written = false;          ///< what it may be one with has been written (Note [Copies that nobody sees])
  std::int32_t grown_of = -1;            ///< of such a one: the graph input whose storage it was, or -1

  std::uint64_t writes = 0;  ///< calls that wrote to it

  const TracedStorage& outermost() const { return outer ? outer->outermost() : *this; }
};

/// A tensor inside a trace.
struct TracedRef final : TracedTensor {
  TensorMeta user_meta;  ///< as the user's program sees it: layout relative to the storage's first element
  std::shared_ptr<TracedStorage> storage;
  /// in the traced graph; unset for an argument on a storage that is an input, until it is used
  graph::ValueId value;
  bool is_storage = false;                ///< a handle of the tracer's own, of all of a storage
  bool by_place = false;                  ///< as_strided made it, or what it is a view of: elements may share a place
  const graph::OpDef* one_way = nullptr;  ///< a view it was made by that was not told how a write is put back
  std::int32_t input = -1;                ///< this very tensor is graph input number ... (metadata mutations matter)
  TensorImpl* impl = nullptr;             ///< whose it is
  std::int32_t origin = -1;               ///< the input at which its chain of views begins; -1: at the storage
  /// user_meta, but the strides are right in dimensions of size 0 and 1, too; null: nobody has asked
  std::unique_ptr<TensorMeta> exact;

  graph::OutputSpec::Role role = graph::OutputSpec::Role::Result;  ///< what it is to the caller, if it is returned
  std::int32_t gradient_of = -1;                                   ///< a Gradient: of which input; -1: of none

  void take(const TracedRef& other);  ///< becomes that view of that storage

  mutable bool looked_at = false;  ///< somebody has asked what it is, or used it

  const TensorMeta& meta() const override { return looked_at = true, user_meta; }
  const TensorMeta& meta_with_strides(SourceLoc) const override;
  [[noreturn]] void reads_value(const char* what, SourceLoc loc) const override;
  const void* storage_id() const override { return &storage->outermost(); }
  std::uint64_t writes() const override { return storage->writes; }
  void count_write() const override { ++storage->writes; }
  bool is_input() const override { return input >= 0; }
  bool is_live() const override { return storage->tracer != nullptr; }

  explicit TracedRef(std::list<TracedRef*>& live) : live_(&live), place_(live.insert(live.end(), this)) {}
  ~TracedRef() override {
    if (live_) live_->erase(place_);
  }
  void forget_trace() { live_ = nullptr; }

 private:
  std::list<TracedRef*>* live_;  // the trace's list of them in the order they were made, while it lasts
  std::list<TracedRef*>::iterator place_;
};

/// How the inputs of a trace are seen where the tensors themselves are not enough. A trace that cannot do without says
/// what it wants (Tracer::wanted), and the function is traced again. Each list only grows.
struct InputPlan {
  struct Whole {
    Storage* storage;
    DType dtype;
  };
  /// storages that are an input each, flat; all tensors on them are views of it
  std::vector<Whole> whole;
  /// row-major or dense but for strides of dimensions of size 0 and 1: these count, too
  std::vector<const TensorImpl*> strided;
  bool by_identity = false;  ///< one tensor passed twice is one input
  /// reshapes of which it is asked whether they copy, by their number in the trace
  std::vector<std::int32_t> decided;
  int times_decided = 0;  ///< how often there was another one
  /// Tensors of which one is written, and whose memory is one: why their storages are among `whole`. Calls in which it
  /// is not need no storage.
  std::vector<std::pair<const TensorImpl*, const TensorImpl*>> overlapping;
  bool bases_in_branches = false;  ///< branches of cond see storages, of which tensors from outside are views
  /// lines of calls of `region` whose function runs in its place
  std::vector<SourceLoc> inlined_regions;
  bool may_grow = true;  ///< false: give up instead

  int whole_of(const TensorImpl&) const;  ///< index in `whole`, or -1
  bool is_strided(const TensorImpl&) const;
  bool sees_tensors() const { return whole.empty() && strided.empty() && !by_identity; }  ///< each as itself
  std::size_t size() const {
    return whole.size() + strided.size() + by_identity + decided.size() + bases_in_branches + inlined_regions.size();
  }
};

/// The values that stand for an input behind those of its structure word.
struct ExtraValues {
  bool offset = false, strides = false;
};
/// Appends them.
void add_extra_values(CallFrame&, const TensorImpl&, ExtraValues);

/// Does its storage begin and end with the tensor's elements (if they are row-major)?
inline bool covers_its_storage(const TensorImpl& t) {
  return t.offset == 0 && t.storage->bytes == t.numel() * item_size(t.dtype);
}

/// A trace that has this many operators is given up: what goes on so long is a loop over data, and would be compiled
/// for minutes.
constexpr std::size_t kMostOperators = std::size_t{1} << 17;

/// Among the tensors that a call gives: an input's own handle. The same function takes it back.
constexpr std::int32_t input_itself(std::size_t i) { return -2 - static_cast<std::int32_t>(i); }

/// What a trace saw of its call's tensors, beside their structure and sizes, before it was given up: a call of which it
/// is not true may well be compiled. Tensors are numbered as in the call's frame.
struct TensorFact {
  /// a and b share bytes (a == b: a with itself); a is b; a alone is not all of its storage
  enum class Kind { Overlap, Same, PartOfStorage };
  Kind kind;
  std::uint32_t a = 0, b = 0;
};

/// What a program asked of two inputs, or what decided how they are seen, and must be true of them again.
struct Relation {
  enum class Kind { NotSame, SameStorage, OtherStorage, Overlap } kind;  ///< Overlap, a == b: with itself
  std::uint32_t a, b;
  bool holds(const TensorImpl& x, const TensorImpl& y) const {
    switch (kind) {
      case Kind::NotSame: return &x != &y;
      case Kind::Overlap: return a == b ? overlaps_itself(x) : overlaps(x, y);
      default: return (x.storage == y.storage) == (kind == Kind::SameStorage);
    }
  }
};

/// A number that a part of the call computes (Note [Sizes that depend on data]).
struct DataNumber {
  Int symbol;
  std::uint32_t word;  ///< which of the call's values it is, once it is there
  bool is_float;       ///< the symbol is a double's bits
  SourceLoc loc;
};

/// What a trace makes.
struct Traced {
  graph::Graph graph;                        ///< functional
  std::size_t operators = 0;                 ///< nodes of the traced graph
  std::string traced_text;                   ///< that graph, if somebody reads logs
  std::vector<Captured> captured;            ///< implicit inputs, after the arguments
  std::vector<std::uint32_t> whole_storage;  ///< inputs that must start and end with their storage (as_strided)
  /// row-major and dense inputs whose strides must follow from the sizes in dimensions of size 0 and 1, too
  std::vector<std::uint32_t> exact_strides;
  /// strided inputs whose strides the function or its caller sees, also those that their class says
  std::vector<std::uint32_t> shown_strides;
  /// A storage that is an input: flat, all of it. `members` are the inputs that are views of it.
  struct Whole {
    std::uint32_t input;
    std::vector<std::uint32_t> members;
  };
  std::vector<Whole> wholes;               ///< their inputs stand between the arguments and the captured
  std::vector<std::uint64_t> input_words;  ///< by input: its structure word
  std::vector<ExtraValues> extra_values;   ///< by input
  /// inputs that have a storage of their own after the call, to which the function wrote
  std::vector<std::uint32_t> written_anew;
  std::vector<Relation> relations;  ///< of inputs, that the program asked for
  /// by input, where one tensor may not be two inputs: the first that is it; else empty
  std::vector<std::uint32_t> same_as;
  std::vector<std::uint32_t> frozen;                  ///< inputs on frozen storages that it does not write, ascending
  std::vector<std::uint32_t> frozen_written;          ///< those that it does
  std::vector<passes::PatternRecord> joint_patterns;  ///< that were replaced in the joint graph, or came near
  /// what is captured and not written is declared frozen (Freeze::Captured)
  bool freezes_captured = false;
  /// arguments of which the function looked at nothing, ascending: any tensor may stand there
  std::vector<std::uint32_t> unused;
  /// Where the caller has gradients off: arguments that the function uses, or writes, where it turns them on, or of
  /// which it asks their place on the tape. None of them may want one: that place is not followed. Captured tensors
  /// that it uses so: whether they want one is guarded.
  std::vector<std::uint32_t> turned_on;
  /// By input (arguments, then captured): where its sizes and strides stand among the call's values.
  struct ValueRange {
    std::uint32_t first, count;
  };
  std::vector<ValueRange> input_values;
  /// Result leaves in order: tensors are graph outputs (-1: undefined; the same twice: one tensor) or inputs
  /// (input_itself), numbers are expressions.
  std::vector<std::int32_t> tensor_results;
  std::vector<Int> int_results;
  std::vector<ResultWrapper> result_wrappers;  ///< of most functions none
  /// Float arguments: which of the call's values has its bits, and the symbol that stands for it.
  std::vector<std::pair<std::uint32_t, Int>> floats;
  bool uses_random = false;
  Int random_count = 0;        ///< numbers taken from the generator
  bool draws_of_data = false;  ///< how many depends on data
  std::shared_ptr<void> result_template;
  /// The function did what a replay would not do: why, as a message continues. What was made serves this one call,
  /// because running the function again would do it twice.
  std::optional<Bail> unrepeatable;
  /// May the function run once more, if nothing comes of this?
  bool takes_back() const {
    return unrepeatable != Bail::destroys_variable && unrepeatable != Bail::leaves_tensor &&
           unrepeatable != Bail::changes_itself;
  }
  /// Tensors made by the function that outlive it (it assigned a captured variable, a member, a global): the last of
  /// tensor_results. They become real once the call's results are there.
  std::vector<Tensor> kept;
  std::unique_ptr<VariableLog> variables;  ///< commit() once the function's effects are to stay
  std::vector<Asked> asked;
  /// of an unrepeatable one: VariableLog::unknown, to be watched from now on
  std::vector<std::shared_ptr<Variable>> met;
  /// Variables that the function assigns: what they get are the last of tensor_results (Note [Assigned variables]).
  std::vector<std::shared_ptr<Variable>> assigned;
  std::vector<DataNumber> data;     ///< by the number that its read_back has
  std::vector<Decision> decisions;  ///< in the order in which they were taken
  /// What calls from this one on may rely on: the assumptions of its environment that are not always true.
  std::vector<std::pair<std::int32_t, const guards::Expr*>> assumed;
  std::vector<runtime::MadeSizes> sizes;  ///< of what it makes
  /// By call (graph::NodeInfo::sequence): expressions of numbers of data in its arguments and sizes, as they were
  /// traced. What is assumed later may put a number of the call in their place.
  std::unordered_map<std::int32_t, Ints> named;
  graph::Settings settings;            ///< of the thread, that it depends on
  std::vector<graph::TapeBase> bases;  ///< by output: of aliases, what they are views of on the tape
  std::vector<graph::ViewMade> made;   ///< by tensor_results; empty: the tape was not followed
  /// by captured tensor: does it want a gradient? (Note [Differentiable calls])
  std::vector<std::uint8_t> captured_wants;
  std::shared_ptr<const Gradients> gradients;  ///< null: no result does
  std::vector<FunctionSeen> functions;         ///< the function itself and compiled ones that it calls, each once
};

/// What a region is to the program that is traced, for messages.
struct RegionKind {
  const char* op;    ///< "cond"
  const char* part;  ///< "a branch"
  bool decides_turns = false;
  bool is_joint = false;  ///< with marks of the derivative (Note [Joint graphs])
};
inline constexpr RegionKind kBranchOfCond{"cond", "a branch"}, kBodyOfScan{"scan", "a body"},
    kBodyOfWhile{"while_loop", "a body", true}, kBodyOfRegion{"region", "a body"},
    kJointOfRegion{"region", "a body", false, true};

/// What a region is (Note [Branches] in runtime/trace/tracer_regions.cc).
struct TracedBranch {
  graph::Graph graph;                   ///< functional; its outputs are what it gives
  std::vector<Tensor> operands;         ///< by input: the traced tensor outside
  std::vector<graph::ValueId> written;  ///< by input: its new value, unset where it has none
  std::vector<bool> defined;            ///< by result: is it a tensor? The outputs are those that are
  std::vector<std::int32_t> calls_off;  ///< calls (NodeInfo::sequence) that were made while gradients were off
  bool views_want = false;  ///< an operand is the storage of a tensor that wants a gradient, beside the tape
  /// Which input says where the numbers that it draws begin, and how many these are; -1: it draws none.
  std::int32_t draws = -1;
  Int drawn = 0;
  /// it writes where the tape does not see it: through detach(), or while gradients are off
  bool writes_unseen = false;
  bool turns_on = false;  ///< it calls an operator with gradients on, while they are off around it
  bool hooked = false;    ///< it calls one while the program's SavedTensorHooks are set
};

/// Runs a function once with tensors that have metadata and no data, and writes down what it does
/// (graph::Form::Traced): an interpreter of operator calls. What that means to the caller, passes/functionalize finds
/// out in the end. One thread; dies with the trace.
class Tracer final : public graph::Interpreter, public TraceHook, public TraceQuestions {
 public:
  /// `frame`: the call being traced; symbols are its values. `handles`, if not null, is given the handles in function
  /// objects.
  Tracer(std::string name, const CallFrame& frame, FunctionBytes::Handles* handles = nullptr, InputPlan plan = {});
  ~Tracer() override;

  // ---- arguments, in the frame's order
  Tensor argument(const TensorImpl* concrete, std::uint64_t word, std::size_t first_value, const std::string& name,
                  FieldKind = FieldKind::None);
  Int integer_argument(std::size_t value, const std::string& name);
  /// One of the kind of `given`, whose word is that value.
  Scalar number_argument(Scalar given, std::size_t value, const std::string& name);

  // ---- results, in leaf order
  void result(const Tensor&);
  void result(Int);
  void result_wrapper(ResultWrapper w) { out_.result_wrappers.push_back(std::move(w)); }
  bool is_input(const Tensor&) const;  ///< of a traced one: is it the tensor of an input, as it was given?

  /// An argument's leaf after the function has run: it must be what the function was given, or the caller would not see
  /// what was assigned to it. Throws NotTraceable.
  void check_unchanged(bool same) const;

  /// The user's function runs from the one to the other: only what it does with handles counts, not what is done around
  /// it.
  bool function_runs(bool now) {
    if (now) bind_wholes();
    return std::exchange(in_function_, now);
  }
  /// The same of what the tape does meanwhile.
  bool aside(bool now) noexcept { return std::exchange(in_function_, now); }
  void function_seen(const std::weak_ptr<const void>& owner, ObjectBytes, const std::vector<char>& bytes);
  /// Which of its bytes are handles is known once it has run.
  void function_ended(ObjectBytes) noexcept;
  /// Its bytes were these before it ran: if they are others now, but for handles that it assigns, it holds a value that
  /// it changes.
  void check_bytes(ObjectBytes, const std::vector<char>& before);

  /// When the function has run: what it assigned to variables is read from others, also where that changes nothing in
  /// this call.
  void capture_assigned();
  /// Does a tensor that it has assigned to a variable want a gradient, or show memory of one that does?
  bool assigns_on_tape() const;
  /// What it has assigned to variables: the last results. Before the tape is walked, where they are on it.
  void give_assigned();
  /// The same of what is on the tape in handles that the function has made and left (a container has grown).
  void give_left();
  /// Behind a trace that has failed: what the function has done that cannot be taken back, so that it does not run
  /// again in this call. None: it may, once function objects that it has `changed` are as they were.
  std::optional<Bail> runs_once(std::vector<FunctionSeen>& changed) noexcept;

  // ---- derivatives (joint.h)
  const std::vector<Tensor>& results() const { return results_; }
  std::size_t inputs() const { return inputs_.size(); }
  const Tensor& input(std::size_t i) const { return inputs_[i].tensor; }
  const TensorImpl* concrete(std::size_t i) const { return inputs_[i].concrete; }
  bool of_function() const { return handles_ != nullptr; }  ///< of a user's, rather than of one operator
  int captured_input(const Tensor& real) const;             ///< -1: none was captured as that
  /// Of a traced tensor the one that the function has: the real one, of a captured tensor.
  Tensor as_seen(const Tensor& traced) const;
  Tensor captured(std::size_t input) const;              ///< the real tensor; undefined for an argument
  std::vector<std::uint8_t> captured_that_want() const;  ///< by captured tensor
  bool computes_with(std::uint32_t input) const;         ///< is it an operand of what has been traced?
  autograd::TraceTape* tape = nullptr;                   ///< the trace's
  Tensor second_handle(const Tensor&);                   ///< of a traced tensor: the same value on the same storage
  void drop_places() noexcept;                           ///< the tape forgets the trace's tensors

  // ---- regions: branches of cond (tracer_regions.cc), bodies of scan and while_loop (tracer_loops.cc)
  std::size_t begin_branch(RegionKind = kBranchOfCond);  ///< gives how many there are around it
  /// Begins a body, which is given these: carried state, then slices along dimension 0. Gives what they are in it.
  std::size_t begin_body(const std::vector<Tensor>& carried, const std::vector<Tensor>& stacked, SourceLoc,
                         std::vector<Tensor>& inside, RegionKind = kBodyOfScan);
  bool in_region() const { return depth_ > 0; }
  /// Of a traced tensor: is it in a region into which one goes that wants a gradient?
  static bool region_wants_gradients(const TensorImpl&) noexcept;
  /// graph::ask_place
  static void place_asked(const TensorImpl&, const char* what);
  TracedBranch end_branch(std::vector<Tensor> results, SourceLoc);
  /// Do regions see storages, of which tensors from outside are views? Or this trace ends, and the next one's do.
  bool sees_bases() const { return plan_.bases_in_branches; }
  [[noreturn]] void want_bases(SourceLoc, const char* why);
  /// After a throw since the begin_branch() that gave `around`.
  void abandon_branch(std::size_t around) noexcept;
  /// The call, of which both are branches. Gives its results, undefined where theirs are.
  std::vector<Tensor> add_cond(const Tensor& pred, TracedBranch then, TracedBranch otherwise, SourceLoc);
  /// The call whose body it is, begun with begin_body(). Gives its results: the last state, what was stacked; with
  /// `states` the states that turns began with, stacked. Of while_loop the first of the state decides, and there are at
  /// most `turns`.
  std::vector<Tensor> add_loop(TracedBranch body, std::size_t carried, std::size_t stacked, Int turns, SourceLoc,
                               RegionKind = kBodyOfScan, bool states = false);
  /// The call of `region` whose body it is. Gives its results, undefined where the body's are.
  std::vector<Tensor> add_region(TracedBranch body, const std::string& name, SourceLoc);
  /// The same of a body that writes nothing, with these operands; each result is there.
  std::vector<Tensor> add_region(graph::Region body, const std::vector<Tensor>& operands, const std::string& name,
                                 SourceLoc);
  /// Does the function of a call of `region` at that line run in its place? Or it is to, where the function can be
  /// traced again: gives whether it is.
  bool inlines_region(SourceLoc) const;
  bool inline_region(SourceLoc, const std::string& name, const Error& why);
  std::shared_ptr<void> region_cuts;  ///< runtime/trace/region.cc
  /// A number of the generator as data, int64 without dimensions: the place that `count` numbers begin at, drawn here.
  Tensor place_of_draws(Int count, SourceLoc);
  /// A leaf of what a branch gives: its handle is left empty, and is none of the function's any more. Or it is filled.
  void take_leaf(Tensor&, std::vector<Tensor>& into);
  Tensor shared_leaf(const Tensor&);  ///< another handle, which is none of the function's
  void fill_leaf(Tensor&, Tensor with);

  /// After a NotTraceable: with which plan the function should be traced again, if with another.
  const InputPlan& wanted() const { return wanted_; }

  /// Closes the trace and functionalizes it.
  Traced finish();
  std::shared_ptr<void> result_template;
  std::vector<std::uint64_t> words;  ///< by defined tensor: as what it is seen; empty: as itself
  bool static_sizes = false;         ///< each size is a constant
  /// Arguments that want gradients may be written, and each result is a value of its own on the tape, also where it is
  /// a view (export_joint): the derivative is by the values that arguments had.
  bool by_value = false;
  bool second_order = false;                       ///< CompileOptions::second_order
  Freeze freeze = Freeze::Nothing;                 ///< CompileOptions::freeze
  const passes::Registered* registered = nullptr;  ///< passes that the traced graph goes through; null: none

  // ---- branches on values (tracer_data.cc)
  const std::string& name() const { return out_.graph.name; }
  const std::vector<DataNumber>& data() const { return out_.data; }
  const std::vector<Decision>& decisions() const { return out_.decisions; }
  void decided(Decision);  ///< and assumed by the environment
  /// What the call has done so far, for whoever runs it to know its numbers: nothing but what these need is an output.
  /// Throws as finish() does where inputs must be seen in another way.
  struct Prefix {
    Traced traced;                     ///< its graph, numbers and assumptions
    std::vector<TensorImpl*> inputs;   ///< of this call
    std::vector<std::int64_t> values;  ///< likewise, without the numbers
  };
  Prefix prefix();
  /// Of the call being traced, with room for its numbers of data.
  std::vector<std::int64_t> call_values();
  bool decides = false;  ///< may it branch on values?

  /// For a trace that is given up: the symbols and guards so far, and what else it depended on.
  const std::shared_ptr<guards::ShapeEnv>& env() const { return env_; }
  const std::vector<TensorFact>& tensor_facts() const { return tensor_facts_; }
  bool may_fail() const;  ///< may the call itself go on where the trace throws (TraceFacts::may_fail)?
  bool depends_on_more() const { return lost_track_ || out_.variables->assigns() || !out_.captured.empty(); }

  // ---- Interpreter
  void call(const graph::OpCall&, std::vector<Tensor>& results) override;
  void mutate_metadata(const graph::OpCall&) override;
  std::pair<Int, Int> next_random(Int count) override;

  // ---- TraceQuestions (tracer_inputs.cc)
  bool are_same(const Tensor&, const Tensor&) override;
  bool share_storage(const Tensor&, const Tensor&) override;
  Int storage_offset_of(const Tensor&) override;
  void strides_decide(const Tensor&) override;
  bool leaves_copy_open(const Tensor& self, bool asked, bool copies) override;
  void copied_perhaps(const Tensor& self, const Tensor& made) override;
  Scalar element_of(const Tensor&, SourceLoc) override;  // tracer_data.cc

  // ---- TraceHook
  [[noreturn]] void not_traceable(Bail, const char* what, SourceLoc) override;
  std::uint64_t writes_of(const TensorImpl& real) const noexcept override;
  const TracedTensor& traced_of_captured(const Tensor& t) override;
  void note_loss(const Tensor&) override;
  void note_gradient(const Tensor& gradient, const Tensor& of) override;
  void handle_read(const Tensor& from) noexcept override;
  void handle_made(const Tensor& at, const Tensor& from) noexcept override;
  void handle_asked(const Tensor& at) noexcept override;
  void handle_assigned(const Tensor& to, TensorImpl* before) noexcept override;
  void handle_destroyed(const Tensor& at) noexcept override;

 private:
  /// While it lives the tracer works, and what is done to handles is not the function's doing; what it asks for still
  /// is.
  struct Work {
    Tracer& t;
    const bool in_function, asked;
    guards::LibraryScope operators;
    explicit Work(Tracer& tracer)
        : t(tracer), in_function(std::exchange(t.in_function_, false)), asked(std::exchange(t.asked_, in_function)) {}
    ~Work() { t.in_function_ = in_function, t.asked_ = asked; }
  };
  /// A region that is being traced, and what it is traced in.
  struct RegionTrace {
    RegionKind kind;
    std::size_t carried = 0, stacked = 0;  ///< the first of `lifted`, of a body of scan
    graph::Graph below;                    ///< the graph around it: out_.graph is the innermost
    struct Lifted {
      Tensor outer, inner;
    };
    std::vector<Lifted> lifted;  ///< traced tensors from outside, and the inputs that stand for them
    std::vector<Lifted> views;   ///< those that are views of these in the branch, too (InputPlan::bases_in_branches)
    std::unordered_map<const TracedRef*, TracedRef*> of;          ///< outer -> inner, of both
    std::unordered_map<const TracedStorage*, TracedRef*> bases;   ///< outer -> the input that shows all of it
    std::size_t first_storage = 0;                                ///< in storages_
    std::vector<std::pair<const TracedRef*, std::int32_t>> held;  ///< at the beginning
    std::unordered_set<const Tensor*> assigned;  ///< handles that the branch assigned, and which are still there
    bool tape_recorded = false;                  ///< TraceTape::recorded at the beginning
    graph::ValueId seed, draws_from;             ///< inputs: of the generator, and where its numbers begin
    Int drawn = 0;                               ///< so far
    std::vector<std::int32_t> calls_off;         ///< TracedBranch::calls_off
    bool began_off = false;                      ///< gradients are off around it
    bool turns_on = false, hooked = false;       ///< the same of TracedBranch
  };
  /// While it lives, the graph that is written is the one at that depth.
  struct AtDepth {
    Tracer& t;
    const std::size_t depth, before;
    AtDepth(Tracer&, std::size_t depth);
    ~AtDepth();
    AtDepth(const AtDepth&) = delete;
  };

  /// in the log, whose own handles are none of the function's
  template <class F>
  void note(bool now, F&& what) noexcept;
  void add_outliving();                        ///< what outlives the function becomes results
  TracedRef& found(const Tensor&, SourceLoc);  ///< a real tensor becomes a captured input
  /// the same; in a branch, what comes from outside is an input of it
  TracedRef& ref_of(const Tensor&, SourceLoc);
  TracedRef& lifted(TracedRef& from_outside);
  TracedRef& lift(RegionTrace&, std::size_t below, Tensor outer);  ///< makes it an input of the branch
  /// Makes its base one, and it a view of that.
  TracedRef& lift_view(RegionTrace&, std::size_t below, TracedRef& outer);
  /// Makes it one of these metadata. `own`: on a storage of its own, which the tensor outside is not seen on.
  TracedRef& lift(RegionTrace&, std::size_t below, Tensor outer, TensorMeta, bool own);
  /// A region's new value of a tensor from outside that is written there, part by part if parts are named.
  void write_back(const Tensor&, std::span<const graph::ViewStep> parts, std::span<const graph::ValueId> made,
                  RegionKind, SourceLoc);
  Tensor base_of(TracedRef&);       ///< all of its storage
  Tensor base_on_tape(TracedRef&);  ///< the same, as the program has it where it does
  /// Does it see what wants a gradient beside the base through which its gradient would pass?
  bool views_want_beside_bases(const RegionTrace&) const;
  bool shows_storage(const TracedStorage&) const;  ///< of a branch's input: is it, row by row, all of its storage?
  [[noreturn]] void want_covering_in_branch(const TracedStorage&, const char* what, SourceLoc loc,
                                            const std::string& why);
  graph::Graph leave_branch() noexcept;
  void note_gradients_in_regions();  ///< of a call: are they on, and do hooks keep what its derivative needs?
  /// Traced tensors, and how often the function holds each.
  std::vector<std::pair<const TracedRef*, std::int32_t>> held_by_function() const;
  void record(const graph::OpCall&, std::vector<Tensor>& results);
  void record_draw(const graph::OpCall&, const graph::OpDef& at, std::vector<Tensor>& results);  ///< in a region
  void give_generator(RegionTrace&, SourceLoc);
  /// its elements are where it wants them, or the trace is given up
  void check_stays(const graph::OpCall& transfer);
  Int number_input(graph::NumberInput::Kind, std::uint32_t value, const std::string& name, const std::string& symbol);
  void record_writes(const graph::OpCall&, std::vector<Tensor>& made);  ///< tracer_writes.cc
  void check_disjoint(const TracedRef&, const TracedRef&, const graph::OpCall&);
  graph::NodeInfo info(SourceLoc loc) {
    if (!out_.data.empty()) [[unlikely]]
      note_assumed();
    graph::NodeInfo made(loc, calls_);
    made.forward_of = graph::call_numbers.forward_of;
    if (handles_) made.scope = NameScopes::current();  // an eager operator's code serves calls in any scope
    return made;
  }
  graph::ValueId value_of(TracedRef&);
  void check_writable(TracedRef&, const std::string& op, SourceLoc);
  void prepare_scatter(const graph::OpCall& as_strided_scatter, std::vector<graph::NodeArg>& args);
  /// of one whose elements' places are known, or the trace is given up
  Int storage_elements(TracedStorage&, SourceLoc);
  void grow(TracedRef&, Int have, Int want, SourceLoc);
  void move_onto(const std::shared_ptr<TracedStorage>& grown, TracedRef&, SourceLoc);
  void follow_growth(std::size_t input, SourceLoc);  ///< of one that is met after its storage has grown
  void check_grown();
  std::vector<graph::NodeArg> node_args(const graph::OpCall&);
  void check_own(Int, SourceLoc) const;
  void check_own(const graph::OpCall&) const;
  void note_turned_on(const graph::OpCall&);  ///< Traced::turned_on
  void add_turned_on(std::size_t input);
  std::unordered_set<const TensorImpl*> turned_on_captured_;  ///< the same of real tensors, which may be captured
  bool may_not_want(std::size_t argument);                    ///< notes it there; false: it wants a gradient
  Tensor make_view(const graph::OpCall&);
  Tensor fresh(graph::ValueId);
  Tensor add_input(const TensorImpl* concrete, std::uint64_t word, std::size_t first_value, const std::string& name,
                   graph::InputSpec::Kind kind, bool captured, std::uint32_t extra_at);

  // ---- inputs that are seen in another way (tracer_inputs.cc)
  void bind_wholes();
  void bind(std::size_t input, int whole);
  void check_not_reshaped(std::size_t input, SourceLoc);
  [[noreturn]] void want_identity(std::size_t input, std::size_t other, SourceLoc);
  bool as_first(std::size_t input);  ///< it is the tensor of an earlier input, and becomes that
  [[noreturn]] void want_whole(const TensorImpl&, Bail, const char* what, SourceLoc, const std::string& why);
  [[noreturn]] void want_covering(std::uint32_t input, const char* what, SourceLoc, const std::string& why);
  const TensorMeta& exact_meta(TracedRef&, SourceLoc, bool read = false);
  Layout start_of(const TracedRef&, SourceLoc, bool read);
  bool strides_from_sizes(std::uint32_t input) const;
  Ints made_strides(std::uint32_t input, const Ints& sizes) const;  ///< of one whose do, also where a size is 0
  void need_exact_strides(std::uint32_t input, SourceLoc);
  std::shared_ptr<TracedStorage> new_storage_of(graph::ValueId whole);

  // ---- copies that may be none (tracer_copies.cc)
  struct OpenCopy {
    std::int32_t reshape;            ///< its number in the trace
    const TracedStorage *of, *made;  ///< held by storages_
  };
  bool is_open(const TracedStorage&) const;  ///< was it made by one?
  std::vector<const TracedStorage*> perhaps_one_with(const TracedStorage&) const;
  /// it matters of those that have to do with it: gives the trace up if there are any
  void settle(const TracedStorage&);
  void settle_if_open(const TracedStorage& s) {
    if (!open_copies_.empty() && is_open(s)) settle(s);
  }
  void note_write(const TracedStorage&);

  // ---- results (tracer_finish.cc)
  void add_results();
  void functionalize();
  std::vector<passes::TracedInput> input_facts();
  void run_registered_passes();
  void check_written();
  void find_overlaps(std::uint32_t written, const WrittenMemory& of_inputs);
  void check_passed_once(std::uint32_t input);
  void find_frozen();
  void find_kinds();
  void check_marks() const;
  bool is_whole(std::int32_t input) const;  ///< a storage, rather than a tensor
  int input_of(const TracedRef&) const;     ///< whose own handle it is, or -1
  void depends_on(TensorFact::Kind kind, std::size_t a, std::size_t b) {
    tensor_facts_.push_back({kind, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
  }

  // ---- numbers that depend on data (tracer_data.cc)
  void place_data();
  void place_numbers();
  void note_assumed();
  static void note_named(const graph::Graph&, std::unordered_map<std::int32_t, Ints>& named);
  std::unordered_map<std::string, std::size_t> data_of_;  ///< numbers, by what their tensors were computed of
  std::vector<std::uint32_t> writes_before_{0};           ///< by node, and behind the last: nodes that write before it
  std::size_t assumptions_seen_ = 0;

  friend struct TracedRef;

  const CallFrame& frame_;
  FunctionBytes::Handles* const handles_;
  const InputPlan plan_;
  InputPlan wanted_;
  /// by argument, by plan_.whole: where their values stand in the frame
  std::vector<std::uint32_t> extra_at_, whole_at_;
  std::vector<Tensor> whole_tensors_;  ///< real: what stands for them in this call
  std::vector<std::shared_ptr<TracedStorage>> whole_storages_;
  bool bound_ = false, reshapes_ = false;  // an input has had its sizes or strides changed
  const std::uint64_t errors_before_;
  const std::shared_ptr<guards::ShapeEnv> env_;  ///< the graph's
  std::vector<TensorFact> tensor_facts_;
  std::list<TracedRef*> live_;  ///< every traced tensor that somebody holds
  Traced out_;
  bool in_function_ = false, asked_ = false, noting_ = false, lost_track_ = false;
  std::vector<std::shared_ptr<TracedStorage>> storages_;
  struct Input {
    Tensor tensor;  ///< traced
    const TensorImpl* concrete;
    Layout layout;                           ///< at the start
    std::shared_ptr<TracedStorage> storage;  ///< likewise
    graph::ValueId value;                    ///< likewise, as TracedRef::value
    bool again = false;                      ///< the same tensor as an earlier one
  };
  std::vector<Input> inputs_;
  std::vector<Tensor> results_;                                         ///< traced; undefined where the user's is
  std::unordered_map<const TensorImpl*, std::size_t> captured_inputs_;  ///< which input a captured tensor is
  std::int32_t calls_ = 0;                                              ///< of operators so far
  const bool caller_off_;                                               ///< gradients are off around the call
  std::vector<std::uint32_t> listed_;  ///< captured inputs of which a module says what they are
  std::size_t captured_values_ = 0;    ///< values that captured tensors append after the frame's own
  std::optional<std::pair<Int, Int>> random_;
  bool draws_ = false;  ///< a region has taken numbers, and the operator that it draws them for comes next
  std::vector<OpenCopy> open_copies_;
  std::int32_t reshapes_met_ = 0;
  std::vector<std::unique_ptr<RegionTrace>> regions_;  ///< branches of cond, each in the one before
  std::size_t depth_ = 0;                              ///< of out_.graph: how many of them it stands in
};

}  // namespace reprise::detail
