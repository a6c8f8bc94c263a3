#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "import/onnx/format.h"
#include "reprise/arguments.h"
#include "reprise/ops.h"
#include "runtime/trace/region_inline.h"

/// What the graph of a model is run with. A value is a tensor, or numbers: the small tensors of integers that sizes are
/// computed of (`Shape`, `Gather`, `Concat`, ...) are kept as Ints, which are symbolic inside a trace, so that a
/// dynamic dimension stays one on its way into a `Reshape`.
namespace reprise::onnx {

struct Numbers {
  static constexpr std::size_t kMost = 1024;  ///< more elements are a tensor's affair
  DType dtype = kInt64;
  std::vector<std::int64_t> dims{};
  std::vector<Scalar> values{};  ///< row by row
};

struct Value;
using Sequence = std::vector<Value>;
/// Several may be set: of a constant of the file tensor and numbers.
struct Value {
  Tensor tensor{};
  std::shared_ptr<const Numbers> numbers{};
  std::shared_ptr<const Sequence> sequence{};
  bool has_tensor = false;  ///< `tensor` is defined: asking itself would be noted by a trace
  Value() = default;
  Value(Tensor t) : tensor(std::move(t)), has_tensor(true) {}
  Value(Numbers n) : numbers(std::make_shared<const Numbers>(std::move(n))) {}
  Value(Sequence s) : sequence(std::make_shared<const Sequence>(std::move(s))) {}
  bool given() const { return has_tensor || numbers || sequence; }
};

/// A tensor of them. Inside a trace it is made by operators.
Tensor to_tensor(const Numbers&);
/// The elements of a small tensor that has data, read from it: inside a trace that ends the capture.
Numbers read_numbers(const Tensor&);
/// Of a constant, or nothing where it is too large, or no sizes are computed with its dtype.
std::shared_ptr<const Numbers> numbers_of_constant(const Tensor&);
/// As the dtype has it: integers wrap, floats become integers towards zero.
Scalar converted(const Scalar&, DType);

struct Graph;
struct Node;
struct Program;

/// Bounds one call of a model: nodes that run, and turns of loops.
struct Budget {
  std::int64_t most = 0, left = 0;
  void spend(std::int64_t steps) {
    if ((left -= steps) < 0) exceeded();
  }

 private:
  [[noreturn]] void exceeded() const;
};

/// Values of one run, by slot. Graphs inside others share it.
struct Frame {
  const Program& program;
  std::vector<Value> values;
  Budget* budget = nullptr;      ///< null: while a model is loaded
  const Node* caller = nullptr;  ///< of a function's body: the node that calls it
  const Frame* outer = nullptr;
  const Value& at(int slot) const;
};

/// One node that is run: what an operator's function sees. Everything wrong here is an InvalidArgument that names the
/// operator.
class Call {
 public:
  Call(const Node& node, Frame& frame) : node_(node), frame_(frame) {}
  const Node& node() const { return node_; }
  Frame& frame() { return frame_; }
  int version() const;
  const char* op() const;
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::InvalidArgument, op(), {}, parts...);
  }

  int inputs() const;
  int outputs() const;
  /// What the file says of an input's elements where they are held wider; 0 otherwise.
  std::int32_t held_wider(int input) const;
  bool has(int input) const;
  bool wants(int output) const;
  const Value& value(int input) const;  ///< throws where it was left out
  Tensor x(int input) const;
  /// What meets x elementwise: a tensor, put into `room`, or a number where it is a constant of one float that widens
  /// nothing, so that patterns see which.
  Operand beside(int input, const Tensor& x, Tensor& room) const;
  /// As numbers; of a tensor it reads them.
  std::shared_ptr<const Numbers> numbers(int input) const;
  std::vector<Int> ints(int input) const;
  std::vector<std::int64_t> constants(int input) const;  ///< pins symbolic ones
  Scalar scalar(int input) const;                        ///< its one element
  const Sequence& sequence(int input) const;
  bool all_known() const;  ///< numbers without reading?

  const Attribute* attribute(std::string_view name) const;
  std::int64_t i(std::string_view name, std::int64_t otherwise) const;
  double f(std::string_view name, double otherwise) const;
  std::string s(std::string_view name, std::string otherwise) const;
  std::optional<std::vector<std::int64_t>> list(std::string_view name) const;
  std::vector<std::int64_t> list(std::string_view name, std::vector<std::int64_t> otherwise) const;
  std::vector<double> floats(std::string_view name) const;
  const Graph* graph(std::string_view name) const;

  void give(Value v, int output = 0);
  void spend(std::int64_t steps) {
    if (frame_.budget) frame_.budget->spend(steps);
  }
  std::int64_t steps_left() const { return frame_.budget ? frame_.budget->left : INT64_MAX; }

 private:
  const Attribute* typed(std::string_view name, Attribute::Kind) const;
  const Node& node_;
  Frame& frame_;
};

/// A row of the table of operators: what computes an operator from one version of its domain's set to another.
struct Row {
  const char* name;
  int since;  ///< first version of the operator set
  int until;  ///< last; 0: the newest
  void (*run)(Call&);
  std::uint32_t numbers = 0;      ///< bit i: input i decides sizes, and is taken as numbers
  bool (*fold)(Call&) = nullptr;  ///< of inputs that are numbers; false: run it
  bool moves = false;             ///< no larger than the input: of constants, computed at loading
  const char* domain = "";
  /// What its attributes say, checked and as tables, made when the model is loaded: Node::prepared. Throws FileFormat
  /// where they contradict each other, InvalidArgument where they are not supported.
  std::shared_ptr<const void> (*prepare)(Call&) = nullptr;
};
inline constexpr int kNewest = 28;
inline constexpr std::int64_t kMostTraced = 10'000;  ///< turns of a loop in a trace
/// The row for a version; null where there is none. With `any` set, whether there is one for another version.
const Row* find_row(std::string_view domain, std::string_view op, std::int64_t version, bool* any = nullptr);
std::vector<std::string> operator_names();  ///< sorted, each once

std::span<const Row> elementwise_rows();
std::span<const Row> reduce_rows();
std::span<const Row> shape_rows();
std::span<const Row> index_rows();
std::span<const Row> matmul_rows();
std::span<const Row> norm_rows();
std::span<const Row> conv_rows();
std::span<const Row> resize_rows();
std::span<const Row> image_rows();
std::span<const Row> quantize_rows();
std::span<const Row> control_rows();
std::span<const Row> sequence_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> loss_rows();
std::span<const Row> signal_rows();
std::span<const Row> random_rows();
std::span<const Row> data_rows();
std::span<const Row> attention_rows();
std::span<const Row> tree_rows();
std::span<const Row> ml_rows();
std::span<const Row> ml_linear_rows();

// ---- plans: graphs with names resolved to slots (plan.cc), and how they are run (run.cc)

struct Function;
struct Node {
  const Row* row = nullptr;  ///< null: a function of the model
  const Function* function = nullptr;
  NodeData data{};
  std::string scope{};
  std::vector<int> in{}, out{};  ///< slots; -1: left out
  std::vector<std::pair<std::string, std::unique_ptr<Graph>>> graphs{};
  std::vector<int> dead{};  ///< slots that nothing after this node reads
  std::int64_t version = 0;
  std::shared_ptr<const Numbers> value{};  ///< of its attribute "value", a small tensor
  std::shared_ptr<const void> prepared{};  ///< what Row::prepare made
  std::vector<std::int32_t>
      elements{};          ///< of inputs that are held wider than the file says (is_held_wider), where known
  std::int32_t wraps = 0;  ///< the kind of integers that its result is of: it wraps as they do
};
struct Graph {
  std::string name{};
  std::vector<int> in{}, out{};
  std::vector<ValueInfo> declared{};  ///< of a graph inside: what the file says of its results
  std::vector<Node> nodes{};
  std::vector<int> own{};  ///< slots of its nodes' results and inputs: emptied before it runs again
};
struct Program {
  Graph graph{};
  /// by slot; only these are set when a run begins. Never moves: traces follow its tensors
  std::vector<Value> constants{};
  std::vector<std::shared_ptr<Function>> functions{};
};
struct Function {
  Program body{};
  std::vector<Attribute> defaults{};
  std::string name{}, domain{};
};

void run_graph(const Graph&, Frame&);
/// A name of its own for what may be a region of a node; `which`: one that it is run by, or another one.
SourceLoc region_name(const Node&, std::uint32_t which);
/// What it gives, of values for its inputs.
std::vector<Value> run_inner(const Graph&, Frame&, std::vector<Value> inputs);

/// A loop or a branch of this node. Inside a trace it is one operator (scan, while_loop, cond), for any number of turns
/// and either side, if `as_operator` can make one of it. Otherwise the trace follows `as_it_runs`: turn by turn, or on
/// the side that this call takes.
template <class AsOperator, class AsItRuns>
void run_region(Call& c, AsOperator&& as_operator, AsItRuns&& as_it_runs, std::uint32_t which = 0) {
  const SourceLoc where = region_name(c.node(), which);
  if (!reprise::detail::becomes_region(where)) return as_it_runs();
  try {
    as_operator();
  } catch (const Error& e) {
    reprise::detail::is_no_region(
        where, std::string(c.op()) + (c.node().data.name.empty() ? "" : " '" + c.node().data.name + "'"), e);
    throw;
  }
}

// ---- small things that several families share
inline int axis_of(const Call& c, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) c.bad("axis ", axis, " of a tensor of ", rank, " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
/// The attribute `axis` from which on dimensions are one: the rank itself is allowed, and a negative one counts from
/// the last dimension.
inline int flattened_from(const Call& c, int rank) {
  const std::int64_t axis = c.i("axis", 1);
  return axis_of(c, axis, axis < 0 ? rank : rank + 1);
}
/// As elements of the file's kind hold it, whatever dtype has them here. Throws InvalidArgument where there is no such
/// dtype.
Tensor cast_to_element(Call&, const Tensor&, std::int32_t element, bool saturates);
inline Ints sizes_of(const std::vector<Int>& v) { return Ints(v.data(), v.data() + v.size()); }
/// Axes as an attribute up to a version and as an input since; none: all.
std::optional<std::vector<std::int64_t>> axes_of(const Call&, int input, int since);

}  // namespace reprise::onnx
