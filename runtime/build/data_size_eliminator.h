/// Private to runtime/build/data_size_*.cc (Note [Numbers that nobody reads] in
/// runtime/build/data_size_elimination.cc).
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "device/backend.h"
#include "graph/graph.h"
#include "passes/rewrite.h"
#include "runtime/build/data_size_elimination.h"
#include "runtime/build/rows_in_place.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

/// Decides which numbers of data a graph needs, and rewrites it so that it names no others.
class DataSizeEliminator {
 public:
  using DataNumber = detail::DataNumber;
  using Expr = guards::Expr;
  using ExprKind = guards::ExprKind;
  using Graph = graph::Graph;
  using Node = graph::Node;
  using NodeArg = graph::NodeArg;
  using ValueId = graph::ValueId;

  DataSizeEliminator(const Graph& g, const std::vector<DataNumber>& data);

  std::vector<ReadFor> decide(const std::vector<Int>& also);
  bool any() const { return std::find(needed_.begin(), needed_.end(), false) != needed_.end(); }

  Graph rewritten();

 private:
  using Does = InPlace::Does;

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
  void find_place(std::size_t k, ValueId c);

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
  std::string refusal(std::size_t i);
  bool in_place(Int size) const { return !mentions(size) || (number(size) && places_[*number(size)]); }
  bool in_place(ValueId v) const {
    const Ints& sizes = g_.meta(v).layout.sizes;
    return std::all_of(sizes.begin(), sizes.end(), [&](Int i) { return in_place(i); });
  }
  bool on_host(ValueId v) const { return device::runs_host_code(g_.meta(v).device); }
  /// Beside dimension `at`, and `more` behind it: so little that it may be computed in vain?
  bool is_narrow(ValueId v, std::size_t at, std::size_t more = 1) const;

  /// A column of the places of a mask: which number, of how many dimensions, which one, and the mask.
  struct Column {
    std::size_t number;
    int rank, which;
    ValueId mask;
  };
  const Node* places_of(ValueId v) const;
  std::optional<Column> column(ValueId v) const;
  /// Indices that are the places of one mask, at dimensions side by side of `self`: where they begin. `first`: its
  /// first column.
  std::optional<std::size_t> by_mask(ValueId self, const std::vector<ValueId>& indices, Column& first) const;
  /// Can the number be computed where its parts are tensors?
  bool is_computed(const Expr* e) const;
  bool is_computed(const Scalar& s, Device where) const;

  const char* why_not(const Node& n) const;
  /// A view of which the rows stay what they are: their elements have other sizes.
  bool keeps_rows(const Node& n) const;

  const char* why_not_pointwise(const Node& n) const;

  const char* why_not_indexed(const Node& n) const;

  // ---- rewriting
  using Made = std::optional<std::vector<ValueId>>;

  Int resolved(passes::Rewriter& rw, Int size);
  /// Which rows of those left in place count: bool, of one dimension.
  ValueId set(passes::Rewriter& rw, std::size_t k);
  static ValueId contiguous(passes::Rewriter& rw, ValueId v);
  /// The rows that count as dimension d of so many.
  ValueId along(passes::Rewriter& rw, std::size_t k, std::size_t d, std::size_t rank);
  /// v with an identity in the rows that do not count, of the dimensions that `over` names. `was`: their sizes before.
  ValueId masked(passes::Rewriter& rw, ValueId v, const Ints& was, const std::vector<bool>& over, const Node& n);
  /// The number as a tensor of no dimensions: int64, or float64 of one that is an expression of doubles.
  ValueId tensor_of(passes::Rewriter& rw, const Expr* e, bool is_float, Device where);
  ValueId tensor_of(passes::Rewriter& rw, const Scalar& s, DType t, Device where);

  Made rewrite(passes::Rewriter& rw, passes::Rewriter::Site& s);

  ValueId put(passes::Rewriter& rw, passes::Rewriter::Site& s);

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

}  // namespace reprise::runtime
