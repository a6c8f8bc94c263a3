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
#include <cstdint>

#include "operators/read_back.h"
#include "passes/pass.h"
#include "runtime/build/data_size_eliminator.h"

namespace reprise::runtime {

using detail::DataNumber;
using graph::Graph;
using graph::Node;
using graph::ValueId;

DataSizeEliminator::DataSizeEliminator(const Graph& g, const std::vector<DataNumber>& data)
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

std::vector<ReadFor> DataSizeEliminator::decide(const std::vector<Int>& also) {
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

Graph DataSizeEliminator::rewritten() {
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

void DataSizeEliminator::find_place(std::size_t k, ValueId c) {
  from_[k] = c;
  const Node* n = maker(c);
  counted_at_[k] = n ? static_cast<std::size_t>(g_.values[c.v].node) : 0;
  if (data_[k].is_float || !n || !does(*n, Does::Folds) || kInPlace.find(n->op)->neutral != InPlace::Neutral::Zero ||
      g_.meta(c).dtype != kInt64)
    return;
  const ValueId v = std::get<ValueId>(n->args[0]);
  const TensorMeta& m = g_.meta(v);
  const std::vector<bool> over = reduced(n->args[1], m.dim());
  if (m.dtype != kBool || std::find(over.begin(), over.end(), false) != over.end()) return;
  guards::LibraryScope operators;
  places_[k] = Place{v, base_of(v), numel(m.layout.sizes)};
}

std::string DataSizeEliminator::refusal(std::size_t i) {
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

std::vector<ReadFor> leave_unread(Graph& g, const std::vector<DataNumber>& data, const std::vector<Int>& also) {
  DataSizeEliminator unread(g, data);
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
