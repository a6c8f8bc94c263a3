#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/off_tape.h"
#include "autograd/trace_tape.h"
#include "graph/graph.h"
#include "guards/shape_env.h"
#include "passes/partition.h"
#include "passes/registered.h"
#include "reprise/compile.h"
#include "runtime/trace/tape_views.h"

namespace reprise::detail {

class Tracer;
struct Traced;
struct Specialization;

// Note [Differentiable calls]
// A call whose tensors want gradients, where gradients are on, is traced with the tape above the trace: traced
// arguments are leaves of it (or results from outside), so that what the function does with hooks, custom functions,
// scopes without gradients and in-place operators means what it means eagerly. In the end (trace_gradients) the tape is
// walked, in the same trace, from the differentiable results to the inputs: the traced graph is a joint one (Note
// [Joint graphs]). Guards that the derivative's rules ask are guards of the call. Functionalized, it is cut
// (cut_gradients): the forward is compiled as any function, with saved values as further results behind the user's; the
// backward is a compiled function of its own, of saved tensors, tangents and the integers that it computes with. A
// replay's results then stand on the caller's tape as those of one node (BackwardNode), which calls it. An argument
// that is a view on the caller's tape is one of a tensor that stands for its base (follow_argument): eagerly, what is
// written has the base's old place behind it, not the view's, whose hooks do not run. Such an argument may have two
// gradients, one for each place. Derivatives of such derivatives are not on the tape: asking for them (create_graph) is
// an error that says so.

/// What of a joint trace is on the tape.
struct Joint {
  /// A differentiable result: a leaf of the function's results, or what an input is after the call.
  struct Output {
    enum class Of : std::uint8_t {
      Result,
      Base,     ///< what the result is a view of, which is none itself (Note [Views on the tape] in tape_views.h)
      OwnBase,  ///< what the result alone is a view of, made while gradients were off; as the result shows it
      Input,
    } of;
    std::uint32_t index;  ///< among the results' leaves, or of the input
  };
  std::vector<Output> outputs;
  std::vector<std::uint32_t> views;  ///< leaves that are views of inputs, or of an Output
  /// What a gradient is of.
  struct Input {
    std::uint32_t index;
    bool by_base;  ///< of what a write has gone by: the value that the view's base has there, not that which hooks know
  };
  std::vector<Input> inputs;  ///< by gradient
  std::vector<autograd::TraceTape::CheckpointOf> checkpoints;
  bool by_value = false;  ///< Tracer::by_value
};

/// How a call's results come onto the tape, and what runs behind them. Shared by a specialization and the nodes that it
/// has made.
struct Gradients;

/// Lets `describe` complete what each trace of the function says of itself. (runtime/front/compiled.cc)
void describe_traces(Compiled&, std::function<void(Traced&)> describe);

/// Does it want a gradient, or is it a view of what does? Whatever the thread's settings are.
bool wants_or_shows(const TensorImpl&);
/// An argument that wants a gradient, as the trace sees it.
void follow_argument(Tracer&, std::uint32_t input, const Tensor& traced, const TensorImpl& concrete);
/// At the end of a trace, while its scopes stand: walks the tape. None: no result wants a gradient. Afterwards the tape
/// has forgotten the trace's tensors. `made`: by result.
std::optional<Joint> trace_gradients(Tracer&, autograd::TraceTape&, std::vector<graph::ViewMade>& made);
/// How a joint graph is cut.
struct CutBy {
  passes::Partitioner partitioner = passes::Partitioner::MinimumCut;
  PartitionFunction choose = {};                   ///< CompileOptions::partition
  bool second_order = false;                       ///< CompileOptions::second_order
  const passes::Registered* registered = nullptr;  ///< passes and patterns before the cut; null: none
  autograd::OffTape off_tape = {};                 ///< what the function has done that the graph does not say
};
/// What a partitioner or a checkpoint's rule asks for cannot be. It says what the program's choice is worth, so it is
/// told at every such call.
struct PartitionRefused : Error {
  using Error::Error;
  explicit PartitionRefused(const Error& e) : Error(e) {}
};
/// Of what finish() gave. Null: there are views alone, whose derivatives are those of arguments.
std::shared_ptr<const Gradients> cut_gradients(Traced&, const Joint&, const CutBy&);

/// How many of a replay's last tensors and integers are not the function's results.
std::size_t saved_tensors(const Gradients&);
/// Before a replay: throws what the tape would have thrown at a write, or where it is asked for an argument's place.
void check_on_tape(const Gradients&, const CallFrame&);
/// After a replay: takes what is saved off the outputs, and puts the results onto the tape, and what they are views of
/// (`bases`; `views` null: there are none).
void put_on_tape(const Gradients&, const CallFrame&, Outputs&, const TapeViews* views,
                 const std::vector<Tensor>& bases);

// Note [Backwards of a function]
// The backward of a specialization is a compiled function of its own, called with saved tensors, tangents and numbers,
// but it keeps what was promised of the forward's: it has the options, is within the budgets of recordings and code, is
// sealed, profiled, waited for and counted with it (own_backward in runtime/front/backward.h). It is compiled at its
// first call, or before: with the forward where CompileOptions::backward says so, and by warm_up(). Then its arguments
// are *expected* ones: saved tensors have the layouts of their values, tangents those of the results, and none of them
// holds anything. What the derivative asks of sizes in its own trace becomes a guard of the forward where it is
// compiled with that: so a call that the forward admits finds a backward that admits it.

/// The backward; null: no gradient flows.
Compiled* backward_of(const Gradients&);
/// The derivative as a function that can be derived again; null: it cannot, or no gradient flows.
Compiled* again_of(const Gradients&);
/// Does it compute with numbers of the call, other than where the generator stands?
bool takes_sizes(const Gradients&);
/// A backward's arguments.
struct BackwardArguments {
  std::vector<Tensor> tensors;
  std::vector<Int> numbers;
};
/// The traced call's values, also of what is no value of its frame yet: sizes of captured tensors, say.
std::vector<std::int64_t> traced_values(const guards::ShapeEnv&);
/// Of a call of the forward with these values; where they depend on data, which is not known ahead, of the traced call.
/// `frozen`: by input, the tensor itself where it is one on frozen memory, else undefined; may be shorter.
BackwardArguments expected_arguments(const Gradients&, std::span<const std::int64_t> values,
                                     std::span<const Tensor> frozen);
/// What the backward's arguments are in the forward's environment: tensors, then numbers.
struct BackwardTerms {
  const std::vector<TensorMeta>& tensors;
  const std::vector<const guards::Expr*>& numbers;
};
BackwardTerms backward_terms(const Gradients&);
/// Makes what a backward needs that is called with these, as CompiledFunction::warm_up().
WarmedUp warm_up_backward(const Gradients&, const BackwardArguments&);

// Of a backward as runtime/front knows it:
bool is_sealed(const Compiled&);
void count_copied_tangent(Compiled&);

/// What there is to tell of the backward: which results and inputs it stands between, and its explain().
std::string explain_backward(const Gradients&, Detail);
/// The backward's, as signature() of any function; "" where there is none.
std::string signature_of_backward(const Gradients&);

/// Appends to the frame's structure which of its tensors want gradients, where some do and gradients are on.
void add_gradients(CallFrame&);
/// Does it want one, in a call of this thread?
bool wants_gradient(const TensorImpl&);

}  // namespace reprise::detail
