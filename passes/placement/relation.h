#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"
#include "reprise/placement.h"

/// How an operator's dimensions depend on each other, and so on which parts of its operands a rank can compute its part
/// of the results.
namespace reprise::passes::placement {

// Note [Dimension relations]
// A relation says what the ranks along *one* axis of a mesh may do; an axis more is another choice of the same list.
// A way gives a placement to each operand and each result:
//
//   mm of [m, k] and [k, n]    S(0), R -> S(0)     rows        R, S(1) -> S(1)   columns
//                              S(1), S(0) -> P     contracted  P, R -> P         linear in an operand
//
// It promises: operands so placed, and the operator called on each rank's parts with local_arguments(), give results so
// placed. The first way is always all replicated. Ways come from the operator's kind: broadcasting (pointwise),
// reduced dimensions, products as sums over labels, layouts (views), dimensions that are worked on whole. An operator
// without a kind here has the first way alone, and known is false. tests/placement runs each way of each operator on
// parts and compares with the whole.

/// One way to compute a node along an axis. Operands are the node's tensors in order, those of lists too, missing ones
/// left out.
struct Way {
  Placements operands, results;
  bool operator==(const Way&) const = default;
};

struct Relation {
  std::vector<Way> ways;  ///< all replicated first; none stands twice
  bool known = true;      ///< false: nothing is known of the operator, replicated is all there is
};

/// Sizes are taken at their hints.
Relation relation_of(const graph::Graph&, const graph::Node&);

/// The tensors of a node in the order of Way::operands.
std::vector<graph::ValueId> operands_of(const graph::Node&);

std::vector<std::int64_t> hints_of(const Ints&);

/// The node's arguments as a rank calls it, whose first result has these sizes: those that name the result's sizes
/// (view, expand, full) say the local ones, those that ask for sizes of 1 (squeeze) say which they are. Values stay.
std::vector<graph::NodeArg> local_arguments(const graph::Graph&, const graph::Node&,
                                            const std::vector<std::int64_t>& result_sizes);

/// One relation being made.
class RelationCtx {
 public:
  RelationCtx(const graph::Graph&, const graph::Node&);
  const graph::Graph& g;
  const graph::Node& n;
  const graph::OpDef& op;

  std::size_t operands() const { return operand_.size(); }
  std::size_t results() const { return n.results.size(); }
  /// The operand that argument `arg` is; -1: it is no tensor, or missing. Of a list its first.
  int operand(int arg) const { return first_.at(static_cast<std::size_t>(arg)); }
  const std::vector<std::int64_t>& sizes(int operand) const { return operand_sizes_.at(idx(operand)); }
  const std::vector<std::int64_t>& result_sizes(int result = 0) const { return result_sizes_.at(idx(result)); }
  const TensorMeta& meta(int operand) const { return g.meta(operand_.at(idx(operand))); }
  const TensorMeta& result_meta(int result = 0) const { return g.meta(n.results.at(idx(result))); }
  int rank(int operand) const { return static_cast<int>(sizes(operand).size()); }

  int arg(std::string_view name) const { return op.schema.find(name); }
  bool has(int arg) const { return arg >= 0 && !std::holds_alternative<std::monostate>(n.args.at(idx(arg))); }
  bool flag(int arg) const { return arg >= 0 && std::get<bool>(n.args.at(idx(arg))); }
  /// The dimensions of a tensor of this rank that argument "dim" says; all where it says none.
  std::vector<int> dims(int rank) const;

  Way replicated() const { return {Placements(operands()), Placements(results())}; }
  void add(Way);
  /// Results that are `p` of operands that are: those in `partial`; the others replicated.
  void add_partial(const std::vector<int>& partial, ReduceOp);
  Relation take() { return std::move(made_); }
  bool& known() { return made_.known; }

 private:
  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }
  std::vector<graph::ValueId> operand_;
  std::vector<int> first_;
  std::vector<std::vector<std::int64_t>> operand_sizes_, result_sizes_;
  Relation made_;
};

using RelationRule = void (*)(RelationCtx&);

/// In which operands is an operator linear?
enum class Linear : std::uint8_t {
  No,
  First,  ///< in its first operand, the others fixed
  One,    ///< in each one, the others fixed (mul)
  All,    ///< in all together (add); not where a number stands for one of them
};
struct RelationFacts {
  RelationRule rule = nullptr;  ///< null: that of its class
  Linear linear = Linear::No;
  std::optional<ReduceOp> joins = {};  ///< a reduction: what joins the results of parts of what it reduces
};
/// "dimension relation"; operators of a class with a rule of its own (Pointwise, View) may have none.
graph::OpColumn<RelationFacts>& relation_facts();

// The kinds. Each adds its ways.
namespace relations {
using Sizes = std::vector<std::int64_t>;
/// Labels of an operand that broadcasts to `to`, whose dimension d has label d + base.
std::vector<int> broadcast_labels(const Sizes& of, const Sizes& to, int base = 0);
std::vector<int> counted(std::size_t n, int from = 0);  ///< from, from + 1, ...
void pointwise(RelationCtx&);
void reduction(RelationCtx&);  ///< argument "dim" and "keepdim": the kept dimensions; the reduced ones where it `joins`
void rows(RelationCtx&);       ///< works along argument "dim" of operand 0, results of its rank
void last_dims(RelationCtx&);  ///< works along the last dimensions of operand 0, as many as "normalized_shape" has
void mm(RelationCtx&);
void bmm(RelationCtx&);
void linear(RelationCtx&);
void matmul(RelationCtx&);
void addmm(RelationCtx&);
void attention(RelationCtx&);
void view(RelationCtx&);
void scatter_of_view(RelationCtx&);
void cat(RelationCtx&);
void full(RelationCtx&);
void embedding(RelationCtx&);
void index_select(RelationCtx&);
void gather(RelationCtx&);
void index(RelationCtx&);
void index_put(RelationCtx&);
void scatter(RelationCtx&);
}  // namespace relations

/// For each operand and result a label for each dimension, or kNoLabel: sharded dimensions of one label go together.
inline constexpr int kNoLabel = -1;
struct Labels {
  std::vector<std::vector<int>> operands, results;
  std::vector<int> whole = {};    ///< labels that no axis shards
  std::vector<int> addends = {};  ///< operands that are added to the product: partial where a sum is
  bool sums = true;               ///< labels that results lack are summed over; false: they are whole
};
void add_labelled(RelationCtx&, const Labels&);

}  // namespace reprise::passes::placement
