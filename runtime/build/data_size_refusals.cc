// Which nodes need the numbers that they mention (Note [Numbers that nobody reads] in
// runtime/build/data_size_elimination.cc).
#include <algorithm>
#include <cstdint>

#include "graph/shape_rules.h"
#include "operators/data_sizes.h"
#include "runtime/build/data_size_eliminator.h"

namespace reprise::runtime {

using graph::ArgType;
using graph::Node;
using graph::OpClass;

namespace {

/// On the host: so many elements of a row that is not selected may be computed for nothing.
constexpr std::int64_t kMostInVain = 16;

constexpr const char *kSize = " has it as a size", *kTakes = " takes it";

}  // namespace

bool DataSizeEliminator::is_narrow(ValueId v, std::size_t at, std::size_t more) const {
  const Ints& sizes = g_.meta(v).layout.sizes;
  std::int64_t n = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d >= at && d < at + more) continue;
    if (number(sizes[d])) continue;  // of a mask of its own, which has been as much work
    if (sizes[d].is_symbolic() || sizes[d].hint() > kMostInVain) return false;
    n *= std::max<std::int64_t>(sizes[d].hint(), 1);
    if (n > kMostInVain) return false;
  }
  return true;
}

const Node* DataSizeEliminator::places_of(ValueId v) const {
  const Node* n = maker(v);
  return n && n->op == operators::nonzero_static_op() && number(std::get<Int>(n->args[1])) ? n : nullptr;
}

std::optional<DataSizeEliminator::Column> DataSizeEliminator::column(ValueId v) const {
  const Node* n = maker(v);
  if (!n || !does(*n, Does::Selects) || dim_of(n->args[1], 2) != 1 || std::get<Int>(n->args[2]).is_symbolic())
    return std::nullopt;
  const Node* places = places_of(std::get<ValueId>(n->args[0]));
  if (!places) return std::nullopt;
  const ValueId mask = std::get<ValueId>(places->args[0]);
  return Column{*number(std::get<Int>(places->args[1])), g_.meta(mask).dim(),
                static_cast<int>(std::get<Int>(n->args[2]).hint()), mask};
}

std::optional<std::size_t> DataSizeEliminator::by_mask(ValueId self, const std::vector<ValueId>& indices,
                                                       Column& first) const {
  std::size_t at = 0;
  while (at < indices.size() && !indices[at]) ++at;
  if (at == indices.size()) return std::nullopt;
  const std::optional<Column> c = column(indices[at]);
  if (!c || at + static_cast<std::size_t>(c->rank) > indices.size()) return std::nullopt;
  first = *c;
  const Ints &have = g_.meta(self).layout.sizes, &mask = g_.meta(c->mask).layout.sizes;
  for (std::size_t d = at; d < indices.size(); ++d) {
    const std::size_t which = d - at;
    if (which >= static_cast<std::size_t>(c->rank)) {
      if (indices[d]) return std::nullopt;
      continue;
    }
    const std::optional<Column> next = indices[d] ? column(indices[d]) : std::nullopt;
    if (!next || next->number != c->number || next->mask != c->mask || next->which != static_cast<int>(which) ||
        !identical(have[d], mask[which]))
      return std::nullopt;
  }
  return at;
}

bool DataSizeEliminator::is_computed(const Expr* e) const {
  if (!env_.of_data(e) || e->kind() == ExprKind::Symbol) return true;
  switch (e->kind()) {
    case ExprKind::Add:
    case ExprKind::Mul:
    case ExprKind::Min:
    case ExprKind::Max:
    case ExprKind::Wrap:
    case ExprKind::Real:
    case ExprKind::FAdd:
    case ExprKind::FSub:
    case ExprKind::FMul:
    case ExprKind::FDiv:
    case ExprKind::FMin:
    case ExprKind::FMax:
    case ExprKind::FSqrt:
    case ExprKind::FAbs:
    case ExprKind::FFloor:
    case ExprKind::FCeil: break;
    default: return false;
  }
  return std::all_of(e->args().begin(), e->args().end(), [&](const Expr* a) { return is_computed(a); });
}

bool DataSizeEliminator::is_computed(const Scalar& s, Device where) const {
  bool there = true;
  each(s.word(), [&](std::size_t k) { there = there && g_.meta(from_[k]).device == where; });
  return there && is_computed(s.word().expr());
}

const char* DataSizeEliminator::why_not(const Node& n) const {
  bool rows = true;
  if (n.op == operators::nonzero_static_op()) {
    const std::optional<std::size_t> k = number(std::get<Int>(n.args[1]));
    const ValueId mask = std::get<ValueId>(n.args[0]);
    return k && places_[*k] && base_of(mask) == places_[*k]->base && in_place(mask) && !mentions(n.args[2]) ? nullptr
                                                                                                            : kSize;
  }
  const InPlace* fact = kInPlace.find(n.op);
  if (does(n, Does::Selects))
    if (const Node* places = places_of(std::get<ValueId>(n.args[0]));
        places && g_.meta(std::get<ValueId>(places->args[0])).dim() != 1)
      return column(n.results[0]) ? nullptr : kSize;
  // Places of more dimensions stand for nothing but what is put there.
  if (does(n, Does::Takes) || does(n, Does::TakesAlong) || does(n, Does::Puts)) return why_not_indexed(n);
  for_each_value(n, [&](ValueId v) {
    rows = rows && in_place(v);
    const Node* places = places_of(v);
    if (places && g_.meta(std::get<ValueId>(places->args[0])).dim() != 1) rows = false;
    if (const auto c = column(v); c && c->rank != 1) rows = false;
  });
  for (ValueId r : n.results) rows = rows && in_place(r);
  if (!rows || graph::effects_of(n).any()) return kSize;
  const int rank =
      n.args.empty() || !std::holds_alternative<ValueId>(n.args[0]) ? 0 : g_.meta(std::get<ValueId>(n.args[0])).dim();
  auto size = [&](int d) { return g_.meta(std::get<ValueId>(n.args[0])).layout.sizes[static_cast<std::size_t>(d)]; };
  auto others = [&](std::size_t first) {
    return std::any_of(n.args.begin() + static_cast<std::ptrdiff_t>(first), n.args.end(),
                       [&](const NodeArg& a) { return mentions(a); });
  };
  if (graph::op(n.op).cls == OpClass::Pointwise) return why_not_pointwise(n);
  if (!fact) return kSize;
  switch (fact->does) {
    case Does::Folds:
    case Does::Runs: return neutral_of(n, g_.meta(std::get<ValueId>(n.args[0])).dtype) && !others(1) ? nullptr : kSize;
    case Does::Fills:
      return !mentions(n.args[1]) || is_computed(std::get<Scalar>(n.args[1]), g_.meta(n.results[0]).device) ? nullptr
                                                                                                            : kTakes;
    case Does::Joins:
      return mentions(g_.meta(n.results[0])
                          .layout.sizes[static_cast<std::size_t>(dim_of(n.args[1], g_.meta(n.results[0]).dim()))])
                 ? kSize
                 : nullptr;
    case Does::Keeps: return nullptr;
    case Does::Selects:
    case Does::Slices: return others(1) || mentions(size(dim_of(n.args[1], rank))) ? kSize : nullptr;
    case Does::Squeezes: {
      const Ints* dims = std::get_if<Ints>(&n.args[1]);
      return dims && std::none_of(dims->begin(), dims->end(), [&](Int d) { return mentions(size(dim_of(d, rank))); })
                 ? nullptr
                 : kSize;
    }
    case Does::Expands: {
      const Ints& to = std::get<Ints>(n.args[1]);
      return std::all_of(to.begin(), to.end(), [&](Int i) { return in_place(i); }) ? nullptr : kSize;
    }
    case Does::Reshapes: return keeps_rows(n) ? nullptr : kSize;
    default: return kSize;
  }
}

bool DataSizeEliminator::keeps_rows(const Node& n) const {
  const Ints &was = g_.meta(std::get<ValueId>(n.args[0])).layout.sizes, &is = g_.meta(n.results[0]).layout.sizes,
             &asked = std::get<Ints>(n.args[1]);
  std::size_t at = 0;
  while (at < was.size() && at < is.size() && identical(was[at], is[at]) && !mentions(was[at])) ++at;
  if (at >= was.size() || at >= is.size() || !number(was[at]) || !identical(was[at], is[at]) ||
      is.size() != asked.size() || !identical(asked[at], is[at]))
    return false;
  for (std::size_t d = at + 1; d < was.size(); ++d)
    if (mentions(was[d])) return false;
  for (std::size_t d = 0; d < is.size(); ++d)
    if (d != at && mentions(is[d])) return false;
  return true;
}

const char* DataSizeEliminator::why_not_pointwise(const Node& n) const {
  const graph::Schema& schema = graph::op(n.op).schema;
  for (std::size_t i = 0; i < n.args.size(); ++i) {
    if (!mentions(n.args[i])) continue;
    const Scalar* s = std::get_if<Scalar>(&n.args[i]);
    const ArgType t = schema.args[i].type;
    // What a power is computed by depends on whether it is a number.
    if (!s || (t != ArgType::TensorOrScalar && t != ArgType::OptionalTensorOrScalar) || does(n, Does::ByNumber) ||
        !is_computed(*s, g_.meta(n.results[0]).device))
      return kTakes;
  }
  return nullptr;
}

const char* DataSizeEliminator::why_not_indexed(const Node& n) const {
  const ValueId self = std::get<ValueId>(n.args[0]);
  Column by{};
  std::optional<std::size_t> at;
  if (does(n, Does::TakesAlong)) {
    const std::optional<Column> c = column(std::get<ValueId>(n.args[2]));
    at = static_cast<std::size_t>(dim_of(n.args[1], g_.meta(self).dim()));
    if (!c || c->rank != 1 || !identical(g_.meta(self).layout.sizes[*at], g_.meta(c->mask).layout.sizes[0]))
      return kSize;
    by = *c;
  } else {
    at = by_mask(self, std::get<std::vector<ValueId>>(n.args[1]), by);
    if (!at) return kSize;
  }
  if (!in_place(self) || !in_place(n.results[0])) return kSize;
  if (on_host(self) && !is_narrow(self, *at, static_cast<std::size_t>(by.rank)))
    return " takes rows that are too long to be computed in vain";
  if (!does(n, Does::Puts)) return by.rank != 1 ? kSize : nullptr;
  const ValueId values = std::get<ValueId>(n.args[2]);
  const Ints& sizes = g_.meta(values).layout.sizes;
  const std::size_t rank = g_.meta(self).layout.sizes.size() - static_cast<std::size_t>(by.rank) + 1;
  if (!in_place(values) || sizes.size() > rank) return kSize;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool is_row = d + (rank - sizes.size()) == *at;
    if (is_row ? number(sizes[d]) != by.number && !graph::is_plain(sizes[d], 1)
               : number(sizes[d]).has_value() && by.rank != 1)
      return kSize;
  }
  return nullptr;
}

}  // namespace reprise::runtime
