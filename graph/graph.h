#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/op.h"
#include "guards/shape_env.h"

namespace reprise::graph {

struct ValueId {
  std::uint32_t v = ~0u;
  explicit operator bool() const { return v != ~0u; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

class Graph;
struct ViewStep;

/// A view of a value as an argument: `base`, seen through `steps` one after another. What an operator writes through
/// it, it writes into the base.
struct ViewArg {
  ValueId base;
  std::vector<ViewStep> steps;
};

/// A graph as an argument: what the node may run. It sees none of the outer graph's values (they are its inputs), and
/// shares its environment.
using Region = std::shared_ptr<const Graph>;

/// An argument of a node: schema order; tensors are values; integers may be symbolic.
using NodeArg = std::variant<std::monostate, ValueId, std::vector<ValueId>, Int, Ints, Scalar, bool, DType, std::string,
                             ViewArg, Region>;

/// One view after another: an operator and what it takes behind the tensor.
struct ViewStep {
  OpId op;
  std::vector<NodeArg> args;
};

/// Where a node comes from. Never identity: passes that merge, and keys of caches, do not see it; who makes a node of a
/// node hands it on.
struct NodeInfo {
  SourceLoc loc;
  /// the call of the traced program that it is made of, counted from 0 in each trace; -1: of none
  std::int32_t sequence = -1;
  /// of a node that computes a derivative: the sequence number of the one that it belongs to; -1: of none
  std::int32_t forward_of = -1;

  /// the names of the scopes that the call was made in, "layers[3].attention"; kept for good; null: none
  const std::string* scope = nullptr;

  NodeInfo(SourceLoc l = {}, std::int32_t n = -1) : loc(l), sequence(n) {}
};

struct Node {
  OpId op;
  std::vector<NodeArg> args;
  /// of an operator that writes arguments, in a traced graph: what it makes; what it returns of them is no result
  std::vector<ValueId> results;
  NodeInfo info;
  /// the `name_` twin, which writes into its first argument and has no result (traced graphs only)
  bool inplace = false;
  /// Form::InPlace, by result: the value in whose memory it is asked to lie; unset: nothing is asked. Empty: of no
  /// result.
  std::vector<ValueId> tied = {};
  // Of what functionalization makes of writes, for the account of copies (kernels::Copy); no identity.
  /// eager copies nothing of the first operand: that is written into, or only seen in another way
  bool keeps_self = false;
  bool keeps_part = false;  ///< a join beside that: eager makes the part in its place (any write but copy_)
};

inline constexpr std::int32_t kErasedNode = -2;  ///< Value::node of a result whose node was erased (until compact())

/// A tensor value. `meta.layout` is the layout the user's program would see (contiguous but for views and inputs),
/// counted from the first element of its storage; of an input from its own.
struct Value {
  TensorMeta meta;
  std::int32_t node = -1;    ///< index into Graph::nodes of its maker, -1: graph input, kErasedNode: no longer made
  std::uint32_t result = 0;  ///< which result of that node, or which input
  std::string name;          ///< inputs: "x", "arg0.layers[1].wq"; others: ""
};

/// What the signature says of an input that is a tensor.
struct InputSpec {
  ValueId value;
  enum class Kind : std::uint8_t {
    User,       ///< an argument, or what stands for one
    Parameter,  ///< a weight: a field of a module, frozen memory, or a captured tensor that is only read
    Buffer,     ///< state of a module, or a captured tensor that is written
    Saved,      ///< backwards: a value of the forward
    Tangent,    ///< backwards: the gradient that comes in for a result
  } kind = Kind::User;
  bool mutates_data = false, mutates_metadata = false;
  bool captured = false;  ///< an implicit input: no argument
};

/// What the signature says of an input that is a number. It is a symbol of the environment, not a value.
struct NumberInput {
  enum class Kind : std::uint8_t {
    Size,  ///< an Int
    Integer,
    Float,  ///< a Scalar; of a float the symbol is its bits
    Seed,
    Offset,  ///< where the generator of random numbers stands; the last two, if the program draws any
  } kind = Kind::Size;
  std::uint32_t symbol = 0;
  std::string name;
};

/// What the signature says of an output of the graph.
struct OutputSpec {
  enum class Kind : std::uint8_t {
    User,             ///< a user result with its own storage
    AliasOfInput,     ///< user result: view `layout` (in elements of the storage) of input `source`
    AliasOfOutput,    ///< user result: view `layout` of the buffer of output `source`
    NewValueOfInput,  ///< new contents of input `source`; `value` has the input's sizes
    Intermediate,     ///< a base that only aliases of it are returned from
    /// traced graphs: what the handle that was given as input `source` is after the call, where it is another view
    HandleOfInput,
  } kind = Kind::User;
  ValueId value;             ///< unset for AliasOfInput / AliasOfOutput
  std::uint32_t source = 0;  ///< input or output index
  Layout layout;             ///< aliases: relative to the source's storage
  bool grows = false;        ///< HandleOfInput: it is on the storage that the input's has grown to be
  bool is_view = false;      ///< User: eager returns a view of an intermediate, which nothing else shows
  /// What the program means by it. No pass asks for it; who makes outputs of outputs hands it on.
  enum class Role : std::uint8_t {
    Result,
    CustomView,  ///< a view that a custom Function has returned
    Loss,        ///< backward() or grad() started from it
    Gradient,    ///< of the tensor that `of` says
    Saved,       ///< for the backward
  } role = Role::Result;
  std::int32_t of = -1;          ///< Gradient: of which input (of a backward: of the forward's); -1: of no input
  std::vector<ViewStep> recipe;  ///< aliases: the views that lead from the source to it, as the program made them
};

/// Metadata an input has after the call (transpose_ and friends).
struct MetadataMutation {
  std::uint32_t input;
  Layout layout;                  ///< over the same storage, unless `new_storage_of_output`
  std::int32_t from_output = -1;  ///< set_/resize_: the input now shares this output's storage
  /// the other way round: what the input's storage was, that output is now, for all tensors on it
  bool grows = false;
};

/// What a graph can say; verify() knows the rules of each.
enum class Form : std::uint8_t {
  /// calls as the program made them: a view shares its operand's storage, in-place nodes write through it, as_strided
  /// names
  /// any place of the storage. Outputs are User and HandleOfInput. passes/functionalize.h makes the other form of it
  Traced,
  Functional,  ///< SSA: no mutation, no aliasing a pass needs to know of
  /// the same with requests: results that are asked to lie in another value's memory (Node::tied). kernels/plan carries
  /// out
  /// what it can prove and copies otherwise; passes do not take it
  InPlace,
};

/// The IR. Nodes stand in a valid order. Values are never removed, only unused; compact() renumbers. Copyable (shares
/// the ShapeEnv).
class Graph {
 public:
  Form form = Form::Functional;
  std::string name = "f";
  std::shared_ptr<guards::ShapeEnv> env;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<InputSpec> inputs;
  std::vector<NumberInput> numbers;
  std::vector<OutputSpec> outputs;
  std::vector<MetadataMutation> metadata_mutations;

  const TensorMeta& meta(ValueId v) const { return values[v.v].meta; }
  ValueId add_input(TensorMeta, std::string name, InputSpec::Kind = InputSpec::Kind::User, bool captured = false);
  /// Appends a node; result types come from the operator's shape rule. Returns the first result, if there is one.
  ValueId add(OpId, std::vector<NodeArg> args, NodeInfo = {});
  /// The same, of which the results are known: copies of nodes need not ask the shape rule again.
  ValueId append(OpId, std::vector<NodeArg> args, std::vector<TensorMeta> results, NodeInfo = {});
  /// Appends an in-place node to a traced graph. Throws what the call would (check_inplace), and then adds nothing.
  void add_inplace(OpId, std::vector<NodeArg> args, NodeInfo = {});
  /// As add(), inserted before node index `at` (later nodes move; Value::node is kept right).
  ValueId insert(std::size_t at, OpId, std::vector<NodeArg> args, NodeInfo = {});
  /// Removes nodes for which keep[i] is false; their results must be unused.
  void erase_nodes(const std::vector<bool>& keep);
  /// Drops unused values and renumbers in node order.
  void compact();

 private:
  void add_results(Node&, std::size_t at, std::vector<TensorMeta>);
};

/// Visits the values among a node's arguments, of views their bases; missing elements of a Tensor?[] are passed over.
template <class F>
void for_each_value(const NodeArg& a, F&& f) {
  if (auto* v = std::get_if<ValueId>(&a)) f(*v);
  if (auto* l = std::get_if<std::vector<ValueId>>(&a))
    for (ValueId x : *l)
      if (x) f(x);
  if (auto* w = std::get_if<ViewArg>(&a)) f(w->base);
}
template <class F>
void for_each_value(const Node& n, F&& f) {
  for (const NodeArg& a : n.args) for_each_value(a, f);
}

/// What a node does beside computing its results: what its operator does, and what happens in its regions.
Effects effects_of(const Node&);
/// How often a node of OpClass::Control runs its one region; null: each of its regions runs at most once.
const Int* turns_of(const Node&);
/// f(region) for each of a node's; f gives another one, or null for it to stay. Whether any is another.
template <class F>
bool replace_regions(Node& n, F&& f) {
  bool changed = false;
  for (NodeArg& a : n.args)
    if (auto* r = std::get_if<Region>(&a))
      if (Region made = f(**r)) *r = std::move(made), changed = true;
  return changed;
}

/// Rule arguments of a node (metadata of its values), for shape rules and apply_view. Keeps the storage it points to.
class NodeRuleArgs {
 public:
  NodeRuleArgs(const Graph&, const std::vector<NodeArg>&);
  std::span<const RuleArg> args() const { return args_; }

 private:
  std::vector<RuleArg> args_;
  std::vector<std::vector<const TensorMeta*>> lists_;
};

/// The text form (docs/graph_text.md):
///   graph step(%0 "x": f32[s0, 8], %1 "bias": f32[s0]) {
///     %2 = add(%0, %1, 1)  : f32[s0, 8]   ; #0 loop.cpp:41
///     return user %2, new_value_of 0 %2, alias_of_input 0 [s0] [1] 0
///   }
/// A traced graph: `graph step(...) traced {`, `add_(%0, %1, 1)`, `return user %2, handle_of 0 %3`.
/// Numbered in order; non-contiguous layouts are written `f32[s0, 8]{1, s0}` (+offset); never an address.
std::string print(const Graph&, bool with_locations = true);
Graph parse(std::string_view text);  ///< throws InvalidArgument with line and column
/// Structure: SSA order, argument kinds match schemas, result metas equal the shape rules', what the form allows,
/// outputs in range, inputs' metas symbolic-consistent, a signature that says of each input what the outputs say.
/// Throws Internal naming the node and `after`.
void verify(const Graph&, std::string_view after);

}  // namespace reprise::graph
