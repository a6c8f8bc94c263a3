// The graph without the numbers that nobody reads (Note [Numbers that nobody reads] in
// runtime/build/data_size_elimination.cc).
#include <algorithm>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "kernels/loop/pointwise.h"
#include "operators/data_sizes.h"
#include "runtime/build/data_size_eliminator.h"

namespace reprise::runtime {

using graph::Node;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

Int DataSizeEliminator::resolved(passes::Rewriter& rw, Int size) {
  const std::optional<std::size_t> k = number(size);
  return k ? rw.meta(set(rw, *k)).layout.sizes[0] : size;
}

ValueId DataSizeEliminator::set(passes::Rewriter& rw, std::size_t k) {
  if (sets_[k]) return sets_[k];
  const Place& p = *places_[k];
  ValueId v = rw.now(p.counted);
  const Ints &was = g_.meta(p.counted).layout.sizes, is = rw.meta(v).layout.sizes;
  for (std::size_t d = 0; d < was.size(); ++d)
    if (const std::optional<std::size_t> outer = number(was[d]))
      v = rw.emit(OpId::logical_and, {v, along(rw, *outer, d, was.size())});
  if (was.size() != 1) v = rw.emit(OpId::view, {contiguous(rw, v), Ints{numel(is)}});
  return sets_[k] = v;
}

ValueId DataSizeEliminator::contiguous(passes::Rewriter& rw, ValueId v) {
  return known_contiguous(rw.meta(v).layout) ? v : rw.emit(OpId::clone, {v});
}

ValueId DataSizeEliminator::along(passes::Rewriter& rw, std::size_t k, std::size_t d, std::size_t rank) {
  ValueId v = set(rw, k);
  if (rank == 1) return v;
  Ints sizes(rank, Int(1));
  sizes[d] = rw.meta(v).layout.sizes[0];
  return rw.emit(OpId::view, {contiguous(rw, v), sizes});
}

ValueId DataSizeEliminator::masked(passes::Rewriter& rw, ValueId v, const Ints& was, const std::vector<bool>& over,
                                   const Node& n) {
  for (std::size_t d = 0; d < was.size(); ++d)
    if (const std::optional<std::size_t> k = number(was[d]); k && over[d])
      v = rw.emit(OpId::where, {along(rw, *k, d, was.size()), v, *neutral_of(n, rw.meta(v).dtype)});
  return v;
}

ValueId DataSizeEliminator::tensor_of(passes::Rewriter& rw, const Expr* e, bool is_float, Device where) {
  if (!env_.of_data(e))
    return rw.emit(OpId::full, {Ints{}, is_float ? Scalar(0.0).with_word(Int(e)) : Scalar(Int(e)),
                                is_float ? kFloat64 : kInt64, where.str()});
  auto known = [&](std::size_t k) { return rw.now(from_[k]); };
  if (e->kind() == ExprKind::Symbol) {
    const std::size_t k = of_symbol_.at(e->symbol());
    if (!needed_[k]) return known(k);
    return rw.emit(OpId::full, {Ints{}, is_float ? Scalar(0.0).with_word(Int(e)) : Scalar(Int(e)),
                                is_float ? kFloat64 : kInt64, where.str()});
  }
  if (e->kind() == ExprKind::Wrap) return tensor_of(rw, e->args()[0], false, where);
  if (e->kind() == ExprKind::Real) return rw.emit(OpId::to, {tensor_of(rw, e->args()[0], false, where), kFloat64});
  std::vector<ValueId> of;
  for (const Expr* a : e->args()) of.push_back(tensor_of(rw, a, e->is_float(), where));
  auto fold = [&](OpId op, bool alpha = false) {
    ValueId v = of[0];
    for (std::size_t i = 1; i < of.size(); ++i) {
      std::vector<NodeArg> args{v, of[i]};
      if (alpha) args.emplace_back(Scalar(1));
      v = rw.emit(op, std::move(args));
    }
    return v;
  };
  auto chosen = [&](OpId compare) { return rw.emit(OpId::where, {rw.emit(compare, {of[0], of[1]}), of[0], of[1]}); };
  switch (e->kind()) {
    case ExprKind::Add:
    case ExprKind::FAdd: return fold(OpId::add, true);
    case ExprKind::Mul:
    case ExprKind::FMul: return fold(OpId::mul);
    case ExprKind::Min: return fold(OpId::minimum);
    case ExprKind::Max: return fold(OpId::maximum);
    case ExprKind::FSub: return fold(OpId::sub, true);
    case ExprKind::FDiv: return rw.emit(OpId::div, {of[0], of[1], std::monostate{}});
    case ExprKind::FMin: return chosen(OpId::lt);
    case ExprKind::FMax: return chosen(OpId::gt);
    case ExprKind::FSqrt: return rw.emit(OpId::sqrt, {of[0]});
    case ExprKind::FAbs: return rw.emit(OpId::abs, {of[0]});
    case ExprKind::FFloor: return rw.emit(OpId::floor, {of[0]});
    case ExprKind::FCeil: return rw.emit(OpId::ceil, {of[0]});
    default: fail(ErrorCode::Internal, "read_back", {}, "no tensor computes ", to_string(e));
  }
}

ValueId DataSizeEliminator::tensor_of(passes::Rewriter& rw, const Scalar& s, DType t, Device where) {
  const ValueId v = tensor_of(rw, s.word().expr(), s.is_float(), where);
  return rw.meta(v).dtype == t ? v : rw.emit(OpId::to, {v, t});
}

DataSizeEliminator::Made DataSizeEliminator::rewrite(passes::Rewriter& rw, passes::Rewriter::Site& s) {
  const Node& n = s.node;
  if (n.op == operators::nonzero_static_op()) {
    const std::size_t k = *number(std::get<Int>(n.args[1]));
    if (g_.meta(std::get<ValueId>(n.args[0])).dim() != 1) return {{ValueId{}}};
    const ValueId all = rw.emit(OpId::arange, {Scalar(0), Scalar(rw.meta(set(rw, k)).layout.sizes[0]), Scalar(1),
                                               kInt64, s.result.device.str()});
    return {{rw.emit(OpId::unsqueeze, {all, Int(1)})}};
  }
  if (does(n, Does::Selects) && !std::get<ValueId>(s.args[0])) return {{ValueId{}}};
  if (does(n, Does::Takes) || does(n, Does::TakesAlong)) return {{std::get<ValueId>(s.args[0])}};
  if (does(n, Does::Puts)) return {{put(rw, s)}};
  for (NodeArg& a : s.args)
    if (auto* l = std::get_if<Ints>(&a))
      for (Int& i : *l) i = resolved(rw, i);
  const bool folds = does(n, Does::Folds);
  if (folds || does(n, Does::Runs)) {
    const ValueId was = std::get<ValueId>(n.args[0]);
    const Ints& sizes = g_.meta(was).layout.sizes;
    std::vector<bool> over =
        folds ? reduced(n.args[1], static_cast<int>(sizes.size())) : std::vector<bool>(sizes.size());
    if (!folds && !over.empty())
      over[static_cast<std::size_t>(dim_of(n.args[1], static_cast<int>(sizes.size())))] = true;
    s.args[0] = masked(rw, std::get<ValueId>(s.args[0]), sizes, over, n);
  }
  if (does(n, Does::Fills) && mentions(n.args[1])) {
    const ValueId one = tensor_of(rw, std::get<Scalar>(n.args[1]), s.result.dtype, s.result.device);
    return {{std::get<Ints>(s.args[0]).empty() ? one : rw.emit(OpId::expand, {one, s.args[0]})}};
  }
  if (graph::op(n.op).cls == OpClass::Pointwise) {
    const graph::NodeRuleArgs args(g_, n.args);
    for (std::size_t i = 0; i < n.args.size(); ++i)
      if (const Scalar* number = std::get_if<Scalar>(&n.args[i]); number && mentions(n.args[i]))
        s.args[i] =
            tensor_of(rw, *number, kernels::computation_dtype(n.op, args.args(), s.result.dtype), s.result.device);
  }
  if (does(n, Does::Reshapes)) s.args[0] = contiguous(rw, std::get<ValueId>(s.args[0]));
  const ValueId made = rw.emit(n.op, s.args);
  REPRISE_CHECK(rw.meta(made).dtype == s.result.dtype, "an operator of a number that is a tensor gives another dtype");
  return {{made}};
}

ValueId DataSizeEliminator::put(passes::Rewriter& rw, passes::Rewriter::Site& s) {
  const Node& n = s.node;
  const ValueId was = std::get<ValueId>(n.args[0]), self = std::get<ValueId>(s.args[0]);
  Column by{};
  const std::size_t at = *by_mask(was, std::get<std::vector<ValueId>>(n.args[1]), by);
  const Ints sizes = rw.meta(self).layout.sizes;
  const std::size_t rows = static_cast<std::size_t>(by.rank), rank = sizes.size() - rows + 1;
  ValueId values = std::get<ValueId>(s.args[2]);
  while (static_cast<std::size_t>(rw.meta(values).dim()) < rank) values = rw.emit(OpId::unsqueeze, {values, Int(0)});
  const Ints have = rw.meta(values).layout.sizes;
  const Ints& before = g_.meta(std::get<ValueId>(n.args[2])).layout.sizes;
  if (rows != 1) {
    const bool each = before.size() + at >= rank && number(before[at - (rank - before.size())]) == by.number;
    Ints to;
    for (std::size_t d = 0; d < have.size(); ++d) {
      if (d != at) to.push_back(have[d]);
      for (std::size_t r = 0; d == at && r < rows; ++r) to.push_back(each ? sizes[at + r] : Int(1));
    }
    values = rw.emit(OpId::view, {contiguous(rw, values), to});
  }
  Ints mask(sizes.size(), Int(1));
  for (std::size_t d = 0; d < rows; ++d) mask[at + d] = sizes[at + d];
  const ValueId flat = set(rw, by.number);
  const ValueId where = sizes.size() == 1 ? flat : rw.emit(OpId::view, {contiguous(rw, flat), mask});
  if (std::get<bool>(n.args[3])) values = rw.emit(OpId::add, {self, values, Scalar(1)});
  return rw.emit(OpId::where, {where, values, self});
}

}  // namespace reprise::runtime
