#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "graph/parts.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "passes/pass.h"
#include "passes/view_chains.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

namespace {

/// A value that the program writes in place is followed by another, of the same memory if nobody reads the old one
/// later. Who reads a part of it later: where the writes between are known to be beside that part, it is the same part
/// of the newest value; otherwise a copy of the part is kept, which is in proportion to what is read, where a copy of
/// the whole would be made.
///
/// Of the time: a read costs at most kMostWrites looks at writes, each with a search of at most kMostSearched nodes.
class PartReads {
 public:
  explicit PartReads(Graph& g)
      : g_(g), next_(g.values.size(), -1), searched_(g.nodes.size(), -1), given_(g.nodes.size()) {}

  bool run() {
    const std::size_t nodes = g_.nodes.size();
    for (std::size_t n = 0; n < nodes; ++n) note_write(static_cast<std::int32_t>(n));
    for (std::size_t n = 0; n < nodes; ++n) {
      if (is_view(g_.nodes[n])) continue;
      for (std::size_t a = 0; a < g_.nodes[n].args.size(); ++a) {
        if (auto* v = std::get_if<ValueId>(&g_.nodes[n].args[a])) {
          const ValueId now = operand(static_cast<std::int32_t>(n), a, *v);
          std::get<ValueId>(g_.nodes[n].args[a]) = now;
        } else if (auto* list = std::get_if<std::vector<ValueId>>(&g_.nodes[n].args[a])) {
          std::vector<ValueId> all = *list;
          for (ValueId& v : all)
            if (v) v = operand(static_cast<std::int32_t>(n), a, v);
          std::get<std::vector<ValueId>>(g_.nodes[n].args[a]) = std::move(all);
        }
      }
    }
    if (g_.nodes.size() == nodes) return false;
    put_in_order(nodes);
    return true;
  }

 private:
  static constexpr int kMostSearched = 256, kMostWrites = 16;

  static bool is_view(const Node& n) { return graph::op(n.op).cls == OpClass::View; }
  ValueId root(ValueId v) const {
    while (g_.values[v.v].node >= 0 && is_view(node_of(v))) v = std::get<ValueId>(node_of(v).args[0]);
    return v;
  }
  const Node& node_of(ValueId v) const { return g_.nodes[static_cast<std::size_t>(g_.values[v.v].node)]; }

  // The first node that writes a value in place, if it does so through the value itself.
  void note_write(std::int32_t n) {
    const Node& node = g_.nodes[static_cast<std::size_t>(n)];
    if (const graph::OpDef& def = graph::op(node.op); def.twin_of) {
      for (ValueId base : graph::written_bases(def, node.args))
        if (node.keeps_self && root(base) == base && next_[base.v] < 0) next_[base.v] = n;
      return;
    }
    const ValueId* self = node.keeps_self && node.results.size() == 1 && !node.args.empty() && !graph::is_copy(node.op)
                              ? std::get_if<ValueId>(&node.args[0])
                              : nullptr;
    if (self && !is_view(node) && root(*self) == *self && next_[self->v] < 0) next_[self->v] = n;
  }

  /// What it writes of a value, row by row; none: that is not known.
  std::vector<Layout> parts_written(const Node& write, ValueId base) const {
    const graph::OpDef& def = graph::op(write.op);
    if (!def.twin_of) {
      const std::optional<Layout> part = graph::part_written(g_, write);
      return part ? std::vector{*part} : std::vector<Layout>{};
    }
    std::vector<Layout> parts;
    for (std::uint32_t i : graph::op(*def.twin_of).writes) {
      bool whole = false;
      if (auto* view = std::get_if<graph::ViewArg>(&write.args[i])) {
        if (view->base == base) parts.push_back(graph::layouts_of(g_, *view, write.info.loc).back());
      } else {
        graph::for_each_value(write.args[i], [&](ValueId v) { whole = whole || v == base; });
      }
      if (whole) return {};
    }
    return parts;
  }
  static ValueId new_value(const Node& twin, ValueId base) {
    const std::vector<ValueId> bases = graph::written_bases(graph::op(twin.op), twin.args);
    return twin.results[static_cast<std::size_t>(std::find(bases.begin(), bases.end(), base) - bases.begin())];
  }

  /// What node n should have as that operand.
  ValueId operand(std::int32_t n, std::size_t a, ValueId v) {
    const ValueId of = root(v);
    if (of == v || next_[of.v] < 0 || next_[of.v] > n) return v;
    std::optional<graph::PartSeen> seen;
    ValueId newest = of;
    int looked = 0;
    for (std::int32_t w = next_[of.v]; w >= 0 && w <= n; w = next_[newest.v]) {
      const Node& write = g_.nodes[static_cast<std::size_t>(w)];
      const bool twin = graph::op(write.op).twin_of.has_value();
      // what a twin reads of what it writes is lowering's business
      if (w == n ? a == 0 || twin : !comes_after(n, w)) break;
      const std::vector<Layout> written = ++looked > kMostWrites ? std::vector<Layout>{} : parts_written(write, newest);
      if (!written.empty() && !seen && (any_strides(g_, v) || stands_by_rows(of))) seen = graph::part_seen(g_, v);
      if (!seen || written.empty() || !std::all_of(written.begin(), written.end(), [&](const Layout& part) {
            return graph::known_disjoint(seen->at, part);
          }))
        return is_small(v, of) ? kept(n, v) : v;
      if (w == n) break;
      newest = twin ? new_value(write, newest) : write.results[0];
    }
    if (newest == of) return v;
    if (!any_strides(g_, v) && !graph::identical(g_.meta(of).layout, g_.meta(newest).layout))
      return is_small(v, of) ? kept(n, v) : v;
    return seen_on(n, v, newest);
  }

  bool stands_by_rows(ValueId v) const {
    const Layout& at = g_.meta(v).layout;
    return graph::identical(at, {at.sizes, contiguous_strides(at.sizes), 0});
  }
  /// Is a copy of it less than one of the whole?
  bool is_small(ValueId part, ValueId whole) const {
    return numel(g_.meta(part).layout.sizes).hint() < numel(g_.meta(whole).layout.sizes).hint();
  }

  /// Does n need what w makes? (Also where that would take long to find out.)
  bool comes_after(std::int32_t n, std::int32_t w) {
    const std::int32_t question = ++question_;
    std::vector<std::int32_t> open{n};
    for (int looked = 0; !open.empty(); ++looked) {
      if (looked == kMostSearched) return true;
      const std::int32_t at = open.back();
      open.pop_back();
      if (at == w) return true;
      graph::for_each_value(g_.nodes[static_cast<std::size_t>(at)], [&](ValueId v) {
        const std::int32_t maker = g_.values[v.v].node;
        if (maker < w || (static_cast<std::size_t>(maker) < searched_.size() &&
                          std::exchange(searched_[static_cast<std::size_t>(maker)], question) == question))
          return;
        open.push_back(maker);
      });
    }
    return false;
  }

  /// New nodes stand at the end until put_in_order, each to come before node `n`.
  ValueId add(std::int32_t n, OpId op, std::vector<NodeArg> args, const graph::NodeInfo& info) {
    const ValueId made = g_.add(op, std::move(args), info);
    given_[static_cast<std::size_t>(n)].push_back(static_cast<std::int32_t>(g_.nodes.size() - 1));
    next_.resize(g_.values.size(), -1);
    return made;
  }
  ValueId kept(std::int32_t n, ValueId v) {
    ValueId& copy = kept_[v.v];
    if (copy) return copy;  // which stands before an earlier node
    copy = add(n, OpId::clone, {v}, g_.nodes[static_cast<std::size_t>(n)].info);
    g_.nodes.back().keeps_self = g_.nodes.back().keeps_part = true;
    return copy;
  }
  ValueId seen_on(std::int32_t n, ValueId v, ValueId whole) {
    if (root(v) == v) return whole;
    const Node view = node_of(v);
    std::vector<NodeArg> args = view.args;
    args[0] = seen_on(n, std::get<ValueId>(args[0]), whole);
    return add(n, view.op, std::move(args), view.info);
  }

  void put_in_order(std::size_t nodes) {
    std::vector<Node> all = std::move(g_.nodes);
    g_.nodes.clear();
    g_.nodes.reserve(all.size());
    auto put = [&](std::size_t n) {
      for (ValueId r : all[n].results) g_.values[r.v].node = static_cast<std::int32_t>(g_.nodes.size());
      g_.nodes.push_back(std::move(all[n]));
    };
    for (std::size_t n = 0; n < nodes; ++n) {
      for (std::int32_t before : given_[n]) put(static_cast<std::size_t>(before));
      put(n);
    }
  }

  Graph& g_;
  std::vector<std::int32_t> next_;                   ///< by value: the node that writes it in place, or -1
  std::vector<std::int32_t> searched_;               ///< by node: the question it was last part of
  std::vector<std::vector<std::int32_t>> given_;     ///< by node: what is added before it
  std::unordered_map<std::uint32_t, ValueId> kept_;  ///< by value: its copy
  std::int32_t question_ = -1;
};

}  // namespace

bool part_reads(Graph& g) { return PartReads(g).run(); }

}  // namespace reprise::passes
