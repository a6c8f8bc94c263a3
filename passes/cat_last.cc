#include "base/errors.h"
#include "graph/op_column.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

namespace {

/// How often each value is used, by nodes and as a result.
std::vector<int> count_uses(const graph::Graph& g) {
  std::vector<int> uses(g.values.size());
  for (const Node& node : g.nodes) graph::for_each_value(node, [&](ValueId v) { ++uses[v.v]; });
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) ++uses[o.value.v];
  return uses;
}

constinit const graph::OpColumn<bool> kTurns("another order of dimensions", {{OpId::permute, true}});

/// A join of a list has nothing but the list's elements in it.
bool joins_all(const Node& node) {
  return graph::op(node.op).cls == OpClass::Join && std::holds_alternative<std::vector<ValueId>>(node.args[0]);
}

constexpr std::size_t kMostParts = 4;  // that others' operands are cut into: each has code of its own

/// Along which dimension the values are joined.
int joined_dim(const Node& cat, const TensorMeta& whole) {
  return wrap_dim(std::get<Int>(cat.args[1]).hint(), whole.dim(), "cat", cat.info.loc);
}

class Move {
 public:
  Move(Rewriter& rw, Rewriter::Site& s, const std::vector<int>& uses, const std::vector<const Node*>& makers)
      : rw_(rw), s_(s), uses_(uses), makers_(makers) {}

  std::optional<std::vector<ValueId>> run() {
    if (graph::is_copy(s_.node.op))
      if (std::optional<std::vector<ValueId>> moved = copied_in_another_order()) return moved;
    // What writes in place reads all of what it writes at the index that it writes; its parts would read each other's.
    if (graph::op(s_.node.op).cls != OpClass::Pointwise) return std::nullopt;
    int tensors = 0;
    graph::for_each_value(s_.node, [&](ValueId) { ++tensors; });
    if (tensors > 1 && s_.node.keeps_self) return std::nullopt;
    for (std::size_t i = 0; i < s_.args.size(); ++i)
      if (joins_what_is_computed(i, tensors)) return moved(i);
    return std::nullopt;
  }

 private:
  /// A copy of a joined value with its dimensions in another order is a join of the parts in that order: they are
  /// written where the copy has them.
  std::optional<std::vector<ValueId>> copied_in_another_order() {
    const Node* permute = rw_.maker(std::get<ValueId>(s_.args[0]));
    if (!permute || !kTurns.find(permute->op) || uses_[std::get<ValueId>(s_.node.args[0]).v] != 1) return std::nullopt;
    const ValueId whole = std::get<ValueId>(permute->args[0]);
    const Node* cat = rw_.maker(whole);
    if (!cat || !joins_all(*cat) || !is_used_once(s_.node)) return std::nullopt;
    const std::vector<ValueId> parts = std::get<std::vector<ValueId>>(cat->args[0]);
    for (ValueId p : parts)
      if (rw_.meta(p).dtype != rw_.meta(whole).dtype || rw_.meta(p).dim() != rw_.meta(whole).dim()) return std::nullopt;
    const OpId join = cat->op;
    const NodeArg dims = permute->args[1];
    const Ints& order = std::get<Ints>(dims);
    const int rank = rw_.meta(whole).dim(), joined = joined_dim(*cat, rw_.meta(whole));
    int to = 0;
    while (wrap_dim(order[static_cast<std::size_t>(to)].hint(), rank, "permute", s_.node.info.loc) != joined) ++to;
    std::vector<ValueId> turned;
    for (ValueId p : parts) turned.push_back(rw_.emit(OpId::permute, {p, dims}));
    return {{rw_.emit(join, {std::move(turned), Int(to)})}};
  }
  /// What the view that a copy is of is of.
  bool is_used_once(const Node& copy) {
    const Node* view = makers_[std::get<ValueId>(copy.args[0]).v];
    return view && uses_[std::get<ValueId>(view->args[0]).v] == 1;
  }

  bool joins_what_is_computed(std::size_t i, int tensors) {
    const ValueId* was = std::get_if<ValueId>(&s_.node.args[i]);
    if (!was || !*was || uses_[was->v] != 1) return false;
    const ValueId v = std::get<ValueId>(s_.args[i]);
    const Node* cat = rw_.maker(v);
    if (!cat || !joins_all(*cat)) return false;
    const TensorMeta& whole = rw_.meta(v);
    const auto& parts = std::get<std::vector<ValueId>>(cat->args[0]);
    // The joined values are what memory holds: they must not grow. (Beside other operands they are read again with
    // these.)
    if (tensors == 1 && item_size(s_.result.dtype) > item_size(whole.dtype)) return false;
    if (tensors > 1 && (parts.size() > kMostParts || !same_sizes(whole.layout.sizes, s_.result.layout.sizes)))
      return false;
    if (tensors > 1 && !each_is_cut_or_repeated(i, whole, joined_dim(*cat, whole))) return false;
    // A part of another dtype is converted by the cat, before the operator.
    for (ValueId p : parts)
      if (rw_.meta(p).dtype != whole.dtype || rw_.meta(p).dim() != whole.dim()) return false;
    return true;
  }
  static bool same_sizes(const Ints& a, const Ints& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t d = 0; d < a.size(); ++d)
      if (!identical(a[d], b[d])) return false;
    return true;
  }

  /// Every other operand has the whole's size there, or is repeated over it: a symbol that a guard found to be 1 is
  /// neither.
  bool each_is_cut_or_repeated(std::size_t at, const TensorMeta& whole, int dim) {
    for (std::size_t i = 0; i < s_.args.size(); ++i) {
      const ValueId* v = std::get_if<ValueId>(&s_.args[i]);
      if (i == at || !v || !*v) continue;
      const TensorMeta& m = rw_.meta(*v);
      const int d = m.dim() + dim - whole.dim();
      if (d < 0) continue;
      const Int size = m.layout.sizes[static_cast<std::size_t>(d)];
      if (!is_one(size) && !identical(size, whole.layout.sizes[static_cast<std::size_t>(dim)])) return false;
    }
    return true;
  }
  static bool is_one(Int size) { return !size.is_symbolic() && size.hint() == 1; }

  std::vector<ValueId> moved(std::size_t at) {
    const Node* cat = rw_.maker(std::get<ValueId>(s_.args[at]));
    const TensorMeta whole = rw_.meta(cat->results[0]);
    const OpId join = cat->op;
    const int dim = joined_dim(*cat, whole);
    std::vector<NodeArg> joined = cat->args;  // emitting moves the nodes
    auto& parts = std::get<std::vector<ValueId>>(joined[0]);
    Ints lengths;
    for (ValueId p : parts) lengths.push_back(rw_.meta(p).layout.sizes[static_cast<std::size_t>(dim)]);
    Int from = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      std::vector<NodeArg> args = s_.args;
      for (std::size_t i = 0; i < args.size(); ++i)
        if (ValueId* v = std::get_if<ValueId>(&args[i]); v && *v)
          *v = i == at ? parts[k] : cut(*v, dim - whole.dim(), lengths, k, from);
      parts[k] = rw_.emit(s_.node.op, std::move(args));
      from = from + lengths[k];
    }
    return {rw_.emit(join, std::move(joined))};
  }

  /// Of another operand what is beside part k, which begins at `from`: `dim` counts from the last, as broadcasting
  /// does.
  ValueId cut(ValueId v, int dim, const Ints& lengths, std::size_t k, Int from) {
    const TensorMeta& m = rw_.meta(v);
    const int d = m.dim() + dim;
    if (d < 0) return v;
    if (is_one(m.layout.sizes[static_cast<std::size_t>(d)])) return v;
    if (const Node* cat = rw_.maker(v); cat && joins_all(*cat) && joined_dim(*cat, m) == d) {
      const auto& parts = std::get<std::vector<ValueId>>(cat->args[0]);
      Ints own;
      for (ValueId p : parts)
        own.push_back(rw_.meta(p).dim() == m.dim() && rw_.meta(p).dtype == m.dtype
                          ? rw_.meta(p).layout.sizes[static_cast<std::size_t>(d)]
                          : Int(-1));
      if (same_sizes(own, lengths)) return parts[k];
    }
    return rw_.emit(OpId::slice, {v, Int(d), from, from + lengths[k], Int(1)});
  }

  Rewriter& rw_;
  Rewriter::Site& s_;
  const std::vector<int>& uses_;  ///< of the old graph's values
  const std::vector<const Node*>& makers_;
};

}  // namespace

// A part of rotated halves (cat of -x2 and x1) is computed where the whole is wanted, with what stands beside it.
bool cat_last(graph::Graph& g) {
  const std::vector<int> uses = count_uses(g);
  std::vector<const Node*> makers(g.values.size());
  for (const Node& node : g.nodes)
    for (ValueId v : node.results) makers[v.v] = &node;
  return rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) { return Move(rw, s, uses, makers).run(); });
}

}  // namespace reprise::passes
