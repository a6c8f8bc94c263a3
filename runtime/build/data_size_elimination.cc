// Note [Numbers that nobody reads]
// A number of data is read back because somebody must know it before launches are made: it is the size of a result, of
// memory, the bound of a slice. Where that is not so, the launches need not wait for it, and here the graph is
// rewritten so that it does not name the number any more:
//
// - A number in a pointwise operator (`x / x.max().item()`) is the tensor that it would have been read from, cast as
// the operator casts numbers.
// - A tensor that a mask selects (`x.index({mask})`) is left *in place*: instead of n rows it has one for each element
// of the mask, of which those count
//   where the mask is set. Operators row by row take it as it is; a reduction over the rows takes where(mask, x,
//   identity); the running sum, too; what is put back by the same mask is where(mask, values, self). What stands in the
//   other rows nobody sees.
//
// So the count of a mask is read only where its bound, the number of the mask's elements, does not serve: for results
// of that size, products, orderings, what is declared or assumed of it (an assumption is asked of the number). On the
// host, where a number costs next to nothing to read, rows are left in place only where what is computed of the rows
// that are not selected is no more than finding the mask was.
//
// Whether a node can be rewritten is decided by the graph as it was; a number that one node needs is read for all. Then
// everything is rewritten in one go.
#include "runtime/build/data_size_elimination.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/errors.h"
#include "device/backend.h"
#include "graph/op_column.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "kernels/loop/pointwise.h"
#include "operators/data_sizes.h"
#include "operators/read_back.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::runtime {

using detail::DataNumber;
using graph::ArgType;
using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;
using guards::Expr;
using guards::ExprKind;

namespace {

/// On the host: so many elements of a row that is not selected may be computed for nothing.
constexpr std::int64_t kMostInVain = 16;

/// What an operator does with rows that are left in place. Pointwise operators take them as they are.
struct InPlace {
  enum class Does {
    Folds,
    Runs,  ///< reduces, sums up: what does not count is `neutral`
    Takes,
    TakesAlong,  ///< by indices: rows that a mask selects are left where they are
    Puts,        ///< by indices: where the mask holds
    Selects,
    Slices,
    Keeps,
    Squeezes,
    Expands,
    Reshapes,  ///< views
    Fills,
    Joins,
    ByNumber,  ///< pointwise, but of a number it is computed in another way
  } does;
  enum class Neutral { Zero, One, Least, Most } neutral = Neutral::Zero;
};
using Does = InPlace::Does;
using Neutral = InPlace::Neutral;
constinit const graph::OpColumn<InPlace> kInPlace("rows left in place", {
                                                                            {OpId::sum, {Does::Folds}},
                                                                            {OpId::prod, {Does::Folds, Neutral::One}},
                                                                            {OpId::amax, {Does::Folds, Neutral::Least}},
                                                                            {OpId::amin, {Does::Folds, Neutral::Most}},
                                                                            {OpId::any, {Does::Folds}},
                                                                            {OpId::all, {Does::Folds, Neutral::One}},
                                                                            {OpId::cumsum, {Does::Runs}},
                                                                            {OpId::index, {Does::Takes}},
                                                                            {OpId::index_select, {Does::TakesAlong}},
                                                                            {OpId::index_put, {Does::Puts}},
                                                                            {OpId::select, {Does::Selects}},
                                                                            {OpId::slice, {Does::Slices}},
                                                                            {OpId::permute, {Does::Keeps}},
                                                                            {OpId::unsqueeze, {Does::Keeps}},
                                                                            {OpId::alias, {Does::Keeps}},
                                                                            {OpId::detach, {Does::Keeps}},
                                                                            {OpId::squeeze, {Does::Squeezes}},
                                                                            {OpId::expand, {Does::Expands}},
                                                                            {OpId::view, {Does::Reshapes}},
                                                                            {OpId::full, {Does::Fills}},
                                                                            {OpId::cat, {Does::Joins}},
                                                                            {OpId::pow, {Does::ByNumber}},
                                                                        });
bool does(const Node& n, Does what) {
  const InPlace* fact = kInPlace.find(n.op);
  return fact && fact->does == what;
}

/// The neutral element of that dtype; nullopt where it has none.
std::optional<Scalar> neutral_of(const Node& n, DType t) {
  const Neutral neutral = kInPlace.find(n.op)->neutral;
  if (neutral == Neutral::Zero || neutral == Neutral::One) {
    const bool one = neutral == Neutral::One;
    return t == kBool ? Scalar(one) : is_floating(t) ? Scalar(one ? 1.0 : 0.0) : Scalar(one ? 1 : 0);
  }
  const bool most = neutral == Neutral::Most;
  if (is_floating(t))
    return Scalar(most ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  auto extreme = [&]<class T>(T) {
    return Scalar(static_cast<std::int64_t>(most ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min()));
  };
  switch (t) {
    case DType::Bool: return Scalar(most);
    case DType::UInt8: return extreme(std::uint8_t{});
    case DType::Int8: return extreme(std::int8_t{});
    case DType::Int32: return extreme(std::int32_t{});
    case DType::Int64: return extreme(std::int64_t{});
    default: return std::nullopt;
  }
}

/// The dimensions that a reduction reduces; of None all.
std::vector<bool> reduced(const NodeArg& dims, int rank) {
  const Ints* list = std::get_if<Ints>(&dims);
  std::vector<bool> over(static_cast<std::size_t>(rank), !list || list->empty());
  if (list)
    for (Int d : *list) over[static_cast<std::size_t>(d.hint() < 0 ? d.hint() + rank : d.hint())] = true;
  return over;
}
int dim_of(const NodeArg& a, int rank) {
  const std::int64_t d = std::get<Int>(a).hint();
  return static_cast<int>(d < 0 ? d + rank : d);
}

class Unread {
 public:
  Unread(const Graph& g, const std::vector<DataNumber>& data)
      : g_(g), env_(*g.env), data_(data), why_(data.size()), needed_(data.size()), places_(data.size()),
        from_(data.size()), counted_at_(data.size(), SIZE_MAX), touched_(g.nodes.size()) {
    for (std::size_t k = 0; k < data.size(); ++k) of_symbol_.emplace(data[k].symbol.expr()->symbol(), k);
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      if (n.op == operators::read_back_op())
        find_place(static_cast<std::size_t>(std::get<Int>(n.args[1]).hint()), std::get<ValueId>(n.args[0]));
    }
    for (std::size_t k = 0; k < data.size(); ++k)
      if (!from_[k]) needed_[k] = true;  // no node computes it any more
  }

  std::vector<ReadFor> decide(const std::vector<Int>& also) {
    guards::LibraryScope operators;
    for (Int i : also) need(i, "the function returns it", {});
    for (const graph::OutputSpec& o : g_.outputs) {
      auto layout = [&](const Layout& l) {
        for (const Ints* list : {&l.sizes, &l.strides})
          for (Int i : *list) need(i, "a result has it as a size", o.value ? loc_of(o.value) : SourceLoc{});
        need(l.offset, "a result begins there", {});
      };
      if (o.value) layout(g_.meta(o.value).layout);
      layout(o.layout);
      for (const graph::ViewStep& step : o.recipe)
        for (const NodeArg& a : step.args)
          mentioned(a, [&](std::size_t k) { need_number(k, "a result has it as a size", {}); });
    }
    for (const graph::MetadataMutation& m : g_.metadata_mutations)
      for (const Ints* list : {&m.layout.sizes, &m.layout.strides})
        for (Int i : *list) need(i, "an argument has it as a size", {});
    for (const guards::ShapeEnv::Assumption& a : env_.assumed())
      if (!a.always)
        each(a.condition, [&](std::size_t k) {
          need_number(k, "it is taken for granted that " + to_string(a.condition), data_[k].loc);
        });
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
        const std::string why = refusal(i);
        if (!why.empty()) again = true;
      }
    }
    return why_;
  }
  bool any() const { return std::find(needed_.begin(), needed_.end(), false) != needed_.end(); }

  Graph rewritten() {
    guards::LibraryScope operators;
    bool changed = false;
    sets_.assign(data_.size(), {});
    std::size_t at = 0;
    passes::Rewriter rw(g_);
    return rw.run(
        [&](passes::Rewriter& r, passes::Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
          while (&g_.nodes[at] != &s.node) ++at;
          if (!touched_[at]) return std::nullopt;
          return rewrite(r, s);
        },
        &changed);
  }

 private:
  /// A selection by a mask: `counted` are the mask's elements, as many as `size`; `base` is what they are a view of.
  struct Place {
    ValueId counted, base;
    Int size;
  };

  const Node* maker(ValueId v) const {
    const std::int32_t n = g_.values[v.v].node;
    return n < 0 ? nullptr : &g_.nodes[static_cast<std::size_t>(n)];
  }
  SourceLoc loc_of(ValueId v) const { return maker(v) ? maker(v)->info.loc : SourceLoc{}; }
  ValueId base_of(ValueId v) const {
    for (const Node* n = maker(v); n && does(*n, Does::Reshapes); n = maker(v)) v = std::get<ValueId>(n->args[0]);
    return v;
  }
  void find_place(std::size_t k, ValueId c) {
    from_[k] = c;
    const Node* n = maker(c);
    counted_at_[k] = n ? static_cast<std::size_t>(g_.values[c.v].node) : 0;
    if (data_[k].is_float || !n || !does(*n, Does::Folds) || kInPlace.find(n->op)->neutral != Neutral::Zero ||
        g_.meta(c).dtype != kInt64)
      return;
    const ValueId v = std::get<ValueId>(n->args[0]);
    const TensorMeta& m = g_.meta(v);
    const std::vector<bool> over = reduced(n->args[1], m.dim());
    if (m.dtype != kBool || std::find(over.begin(), over.end(), false) != over.end()) return;
    guards::LibraryScope operators;
    places_[k] = Place{v, base_of(v), numel(m.layout.sizes)};
  }

  // ---- which numbers are mentioned
  template <class F>
  void each(const Expr* e, const F& f) const {
    if (!env_.of_data(e)) return;
    if (e->kind() == ExprKind::Symbol) {
      if (const auto k = of_symbol_.find(e->symbol()); k != of_symbol_.end() && !needed_[k->second]) f(k->second);
      return;
    }
    for (const Expr* a : e->args()) each(a, f);
  }
  template <class F>
  void each(Int i, const F& f) const {
    if (i.is_symbolic()) each(i.expr(), f);
  }
  template <class F>
  void mentioned(const NodeArg& a, const F& f) const {
    if (auto* i = std::get_if<Int>(&a)) each(*i, f);
    if (auto* s = std::get_if<Scalar>(&a)) each(s->word(), f);
    if (auto* l = std::get_if<Ints>(&a))
      for (Int i : *l) each(i, f);
    if (auto* w = std::get_if<graph::ViewArg>(&a))
      for (const graph::ViewStep& step : w->steps)
        for (const NodeArg& b : step.args) mentioned(b, f);
    if (auto* r = std::get_if<graph::Region>(&a))
      for (const Node& n : (*r)->nodes)
        for (const NodeArg& b : n.args) mentioned(b, f);
  }
  template <class F>
  void mentioned(const Layout& l, const F& f) const {
    for (Int i : l.sizes) each(i, f);
    for (Int i : l.strides) each(i, f);
    each(l.offset, f);
  }
  template <class F>
  void mentioned(const Node& n, const F& f) const {
    for (const NodeArg& a : n.args) mentioned(a, f);
    for_each_value(n, [&](ValueId v) { mentioned(g_.meta(v).layout, f); });
    for (ValueId r : n.results) mentioned(g_.meta(r).layout, f);
  }
  bool mentions(Int i) const {
    bool any = false;
    each(i, [&](std::size_t) { any = true; });
    return any;
  }
  bool mentions(const NodeArg& a) const {
    bool any = false;
    mentioned(a, [&](std::size_t) { any = true; });
    return any;
  }
  void need_number(std::size_t k, std::string text, SourceLoc loc) {
    if (needed_[k]) return;
    needed_[k] = true, why_[k] = {std::move(text), loc};
  }
  void need(Int i, const char* text, SourceLoc loc) {
    each(i, [&](std::size_t k) { need_number(k, text, loc); });
  }
  /// The number that a size is, if it is one that is not read.
  std::optional<std::size_t> number(Int size) const {
    if (!size.is_symbolic() || size.expr()->kind() != ExprKind::Symbol) return std::nullopt;
    const auto k = of_symbol_.find(size.expr()->symbol());
    return k == of_symbol_.end() || needed_[k->second] ? std::nullopt : std::optional<std::size_t>(k->second);
  }

  // ---- what can be rewritten: by the graph as it was
  /// Why a node needs the numbers that it mentions; then they are needed. Empty: it does not, or mentions none.
  std::string refusal(std::size_t i) {
    const Node& n = g_.nodes[i];
    std::vector<std::size_t> numbers;
    mentioned(n, [&](std::size_t k) { numbers.push_back(k); });
    touched_[i] = !numbers.empty();
    if (numbers.empty() || n.op == operators::read_back_op()) return "";
    const char* why = nullptr;
    for (std::size_t k : numbers)
      if (counted_at_[k] >= i) why = " asks before it is there";
    if (!why) why = why_not(n);
    if (!why) return "";
    const std::string text = std::string(graph::op(n.op).name()) + why;
    for (std::size_t k : numbers) need_number(k, text, n.info.loc);
    return text;
  }
  bool in_place(Int size) const { return !mentions(size) || (number(size) && places_[*number(size)]); }
  bool in_place(ValueId v) const {
    const Ints& sizes = g_.meta(v).layout.sizes;
    return std::all_of(sizes.begin(), sizes.end(), [&](Int i) { return in_place(i); });
  }
  bool on_host(ValueId v) const { return device::runs_host_code(g_.meta(v).device); }
  /// Beside dimension `at`, and `more` behind it: so little that it may be computed in vain?
  bool is_narrow(ValueId v, std::size_t at, std::size_t more = 1) const {
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

  /// A column of the places of a mask: which number, of how many dimensions, which one, and the mask.
  struct Column {
    std::size_t number;
    int rank, which;
    ValueId mask;
  };
  const Node* places_of(ValueId v) const {
    const Node* n = maker(v);
    return n && n->op == operators::nonzero_static_op() && number(std::get<Int>(n->args[1])) ? n : nullptr;
  }
  std::optional<Column> column(ValueId v) const {
    const Node* n = maker(v);
    if (!n || !does(*n, Does::Selects) || dim_of(n->args[1], 2) != 1 || std::get<Int>(n->args[2]).is_symbolic())
      return std::nullopt;
    const Node* places = places_of(std::get<ValueId>(n->args[0]));
    if (!places) return std::nullopt;
    const ValueId mask = std::get<ValueId>(places->args[0]);
    return Column{*number(std::get<Int>(places->args[1])), g_.meta(mask).dim(),
                  static_cast<int>(std::get<Int>(n->args[2]).hint()), mask};
  }
  /// Indices that are the places of one mask, at dimensions side by side of `self`: where they begin. `first`: its
  /// first column.
  std::optional<std::size_t> by_mask(ValueId self, const std::vector<ValueId>& indices, Column& first) const {
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
  /// Can the number be computed where its parts are tensors?
  bool is_computed(const Expr* e) const {
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
  bool is_computed(const Scalar& s, Device where) const {
    bool there = true;
    each(s.word(), [&](std::size_t k) { there = there && g_.meta(from_[k]).device == where; });
    return there && is_computed(s.word().expr());
  }

  static constexpr const char *kSize = " has it as a size", *kTakes = " takes it";
  const char* why_not(const Node& n) const {
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
      case Does::Runs:
        return neutral_of(n, g_.meta(std::get<ValueId>(n.args[0])).dtype) && !others(1) ? nullptr : kSize;
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
  /// A view of which the rows stay what they are: their elements have other sizes.
  bool keeps_rows(const Node& n) const {
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

  const char* why_not_pointwise(const Node& n) const {
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

  const char* why_not_indexed(const Node& n) const {
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

  // ---- rewriting
  using Made = std::optional<std::vector<ValueId>>;

  Int resolved(passes::Rewriter& rw, Int size) {
    const std::optional<std::size_t> k = number(size);
    return k ? rw.meta(set(rw, *k)).layout.sizes[0] : size;
  }
  /// Which rows of those left in place count: bool, of one dimension.
  ValueId set(passes::Rewriter& rw, std::size_t k) {
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
  static ValueId contiguous(passes::Rewriter& rw, ValueId v) {
    return known_contiguous(rw.meta(v).layout) ? v : rw.emit(OpId::clone, {v});
  }
  /// The rows that count as dimension d of so many.
  ValueId along(passes::Rewriter& rw, std::size_t k, std::size_t d, std::size_t rank) {
    ValueId v = set(rw, k);
    if (rank == 1) return v;
    Ints sizes(rank, Int(1));
    sizes[d] = rw.meta(v).layout.sizes[0];
    return rw.emit(OpId::view, {contiguous(rw, v), sizes});
  }
  /// v with an identity in the rows that do not count, of the dimensions that `over` names. `was`: their sizes before.
  ValueId masked(passes::Rewriter& rw, ValueId v, const Ints& was, const std::vector<bool>& over, const Node& n) {
    for (std::size_t d = 0; d < was.size(); ++d)
      if (const std::optional<std::size_t> k = number(was[d]); k && over[d])
        v = rw.emit(OpId::where, {along(rw, *k, d, was.size()), v, *neutral_of(n, rw.meta(v).dtype)});
    return v;
  }
  /// The number as a tensor of no dimensions: int64, or float64 of one that is an expression of doubles.
  ValueId tensor_of(passes::Rewriter& rw, const Expr* e, bool is_float, Device where) {
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
  ValueId tensor_of(passes::Rewriter& rw, const Scalar& s, DType t, Device where) {
    const ValueId v = tensor_of(rw, s.word().expr(), s.is_float(), where);
    return rw.meta(v).dtype == t ? v : rw.emit(OpId::to, {v, t});
  }

  Made rewrite(passes::Rewriter& rw, passes::Rewriter::Site& s) {
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
    REPRISE_CHECK(rw.meta(made).dtype == s.result.dtype,
                  "an operator of a number that is a tensor gives another dtype");
    return {{made}};
  }

  ValueId put(passes::Rewriter& rw, passes::Rewriter::Site& s) {
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

  const Graph& g_;
  guards::ShapeEnv& env_;
  const std::vector<DataNumber>& data_;
  std::vector<ReadFor> why_;
  std::vector<bool> needed_;  // by number
  std::vector<std::optional<Place>> places_;
  std::vector<ValueId> from_, sets_;     // what it would be read from; of the new graph
  std::vector<std::size_t> counted_at_;  // the node that makes that
  std::vector<bool> touched_;            // by node: it mentions a number that is not read
  std::unordered_map<std::uint32_t, std::size_t> of_symbol_;
};

}  // namespace

std::vector<ReadFor> leave_unread(Graph& g, const std::vector<DataNumber>& data, const std::vector<Int>& also) {
  Unread unread(g, data);
  std::vector<ReadFor> why = unread.decide(also);
  if (!unread.any()) return why;
  Graph functional = unread.rewritten();
  functional.form = graph::Form::Functional;
  for (Node& n : functional.nodes) n.tied.clear();
  passes::merge_equal(functional);
  passes::eliminate_noops(functional);
  passes::remove_dead(functional);
  g = std::move(functional);
  return why;
}

}  // namespace reprise::runtime
