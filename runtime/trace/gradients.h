#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/saved.h"
#include "graph/graph.h"
#include "guards/shape_env.h"
#include "reprise/compile.h"
#include "runtime/trace/joint.h"

namespace reprise::detail {

// What a cut joint graph leaves (joint_cut.cc) for compilations of the backward ahead (backward_arguments.cc) and for
// the tape (backward_node.cc).

struct ForwardCall {
  graph::OpId op;
  SourceLoc loc;
};

/// The backward as a function: of saved tensors and tangents, and the integers that it computes with.
struct BackwardGraph {
  graph::Graph graph;
  std::vector<const guards::Expr*> numbers;
  std::vector<graph::NumberInput> described;  ///< what the numbers are: names, kinds
  DType default_dtype = DType::Float32;       ///< of the forward's trace
  /// by call of the forward (graph::NodeInfo::sequence)
  std::unordered_map<std::int32_t, ForwardCall> calls;
};
struct BackwardFunction {
  std::shared_ptr<const BackwardGraph> of;
  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors, const std::vector<Int>& numbers) const;
};

/// What backward reads, and where it is after a replay.
struct SavedValue {
  enum class Where { Input, Result, Base, Own } where;
  std::uint32_t index = 0;   ///< of the input, of the results' leaf, of what results are views of
  std::uint32_t output = 0;  ///< of a Result or Base: which differentiable one, or ~0
};

/// The gradients as a function of the arguments (joint_again.cc).
struct DerivativeAgain {
  std::string why_not;  ///< empty: it can be called
  std::shared_ptr<const BackwardGraph> graph;
  std::unique_ptr<const CompiledFunction<BackwardFunction>> function;
  std::vector<std::uint32_t> inputs;    ///< of the forward, that it takes
  std::vector<std::string> names;       ///< of these
  std::vector<std::uint32_t> tangents;  ///< behind them: which
  std::vector<std::int32_t> gradients;  ///< as Gradients::gradients
  guards::ExprProgram exprs;            ///< its numbers, of the forward's values
  std::vector<std::uint32_t> slots;
  std::size_t n_values = 0;  ///< of the forward's, that these depend on
};
/// Of a functional joint graph, before its normal form is made.
std::shared_ptr<DerivativeAgain> derivative_again(const graph::Graph&, const Joint&, const autograd::OffTape&,
                                                  DType default_dtype);
/// What a call keeps for it, beside what its backward keeps. `all`: whatever it needs.
struct KeptForAgain {
  KeptForAgain() = default;
  KeptForAgain(const DerivativeAgain&, const CallFrame&, bool all);
  std::vector<std::int64_t> values;
  std::vector<autograd::Saved> inputs;
};
/// By DerivativeAgain::gradients' results. `saved`: an input that the backward keeps; undefined where it does not.
std::vector<Tensor> call_again(const DerivativeAgain&, const KeptForAgain&,
                               const std::function<Tensor(std::uint32_t input)>& saved, std::vector<Tensor> tangents,
                               autograd::Node&);

struct Gradients : std::enable_shared_from_this<Gradients> {
  Joint joint;
  std::vector<SavedValue> saved;  ///< by input of backward
  std::size_t own = 0;            ///< of them: Own, the last tensors of a replay
  std::size_t numbers = 0;        ///< the last integers of a replay
  std::vector<std::uint32_t> tangents;
  std::vector<std::int32_t> gradients;
  /// By gradient: which results' tangents it is computed of (bit_of_result). Of none that is there, it is undefined.
  std::vector<std::uint64_t> reached;
  std::unique_ptr<const CompiledFunction<BackwardFunction>> backward;
  std::shared_ptr<const BackwardGraph> graph;
  /// of the backward's tensors, in the forward's environment: saved ones, then tangents, which lie as the results do
  std::vector<TensorMeta> expected;
  /// their sizes and strides, then the numbers; empty: something depends on data
  std::optional<guards::ExprProgram> exprs;
  std::vector<std::uint32_t> slots;
  std::shared_ptr<const DerivativeAgain> again;
  bool second_order = false;  ///< CompileOptions::second_order
  std::string name;
  std::int64_t bytes_saved = 0, bytes_of_all = 0;
};

/// Names and kinds of its numbers, as the forward knows them; where the generator stands comes last among them.
void describe_numbers(BackwardGraph&, const graph::Graph& forward);

/// The 64th and all behind it share one.
inline std::uint64_t bit_of_result(std::size_t k) { return std::uint64_t{1} << std::min<std::size_t>(k, 63); }
/// Does it say where the generator stands?
bool is_random(const graph::NumberInput&);
/// What a tangent is expected to have where its result has these: the same where no two elements share a place and none
/// is left free; else those of a contiguous tensor.
void expect_strides(const std::int64_t* sizes, std::int64_t* strides, int rank);
/// Once the backward is cut and described.
void expect_arguments(Gradients&);

}  // namespace reprise::detail
