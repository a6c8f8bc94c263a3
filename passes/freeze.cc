// Cuts out of a graph what depends on frozen inputs alone (Note [Frozen tensors] in runtime/build/freeze.h).
#include "passes/freeze.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "graph/map_values.h"
#include "graph/shape_rules.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::ValueId;

namespace {

constexpr std::int64_t kSmall = 64 << 10;  // bytes that are kept whatever they are made of
// else at most so many bytes for one of the inputs: a cast from 16 to 64 bits
constexpr std::int64_t kMostGrowth = 4;

std::int64_t bytes_of(const TensorMeta& m) {
  std::int64_t n = item_size(m.dtype);
  for (Int s : m.layout.sizes)
    if (__builtin_mul_overflow(n, s.hint(), &n)) return INT64_MAX / 8;
  return n;
}

/// Which values depend on frozen inputs alone.
class Alone {
 public:
  Alone(const Graph& g, const std::vector<std::uint32_t>& frozen)
      : g_(g), may_(g.values.size()), reached_(g.values.size()) {
    for (std::uint32_t i : frozen) {
      const TensorMeta& m = g.meta(g.inputs[i].value);
      for (const Ints* l : {&m.layout.sizes, &m.layout.strides})
        for (Int s : *l)
          if (s.is_symbolic() && s.expr()->kind() == guards::ExprKind::Symbol) symbols_.insert(s.expr()->symbol());
    }
    for (std::uint32_t i : frozen) {
      const ValueId v = g.inputs[i].value;
      may_[v.v] = knows(g.meta(v).layout);
      reached_[v.v] = bytes_of(g.meta(v));
    }
    for (const Node& n : g.nodes) {
      bool all = may(n);
      std::int64_t reached = 0;
      graph::for_each_value(n, [&](ValueId v) {
        all = all && may_[v.v];
        reached = std::min<std::int64_t>(reached + reached_[v.v], INT64_MAX / 8);
      });
      for (ValueId r : n.results) may_[r.v] = all, reached_[r.v] = all ? reached : 0;
    }
  }
  /// It is, or is a constant of no input.
  bool operator()(const Node& n) const { return !n.results.empty() && may_[n.results[0].v]; }
  bool operator()(ValueId v) const { return may_[v.v] && reached_[v.v] > 0; }
  /// Bytes of frozen inputs that a value depends on, at most: one that is read twice counts twice.
  std::int64_t reached(ValueId v) const { return reached_[v.v]; }

 private:
  bool knows(const guards::Expr* e) const {
    if (e->kind() == guards::ExprKind::Symbol) return symbols_.count(e->symbol()) > 0;
    return std::all_of(e->args().begin(), e->args().end(), [&](const guards::Expr* a) { return knows(a); });
  }
  bool knows(Int i) const { return !i.is_symbolic() || knows(i.expr()); }
  bool knows(const Ints& l) const {
    return std::all_of(l.begin(), l.end(), [&](Int i) { return knows(i); });
  }
  bool knows(const Layout& l) const { return knows(l.sizes) && knows(l.strides) && knows(l.offset); }
  bool may(const Node& n) const {
    const OpClass cls = graph::op(n.op).cls;
    if (cls == OpClass::Control || cls == OpClass::Random || cls == OpClass::Transfer || graph::effects_of(n).any() ||
        n.inplace)
      return false;
    if (graph::op(n.op).twin_of) return false;  // it computes on its argument's memory
    for (const NodeArg& a : n.args) {
      if (std::holds_alternative<graph::ViewArg>(a) || std::holds_alternative<graph::Region>(a)) return false;
      if (auto* i = std::get_if<Int>(&a); i && !knows(*i)) return false;
      if (auto* s = std::get_if<Scalar>(&a); s && s->is_symbolic() && !knows(s->word())) return false;
      if (auto* l = std::get_if<Ints>(&a); l && !knows(*l)) return false;
    }
    return std::all_of(n.results.begin(), n.results.end(), [&](ValueId r) { return knows(g_.meta(r).layout); });
  }

  const Graph& g_;
  std::set<std::uint32_t> symbols_;  // sizes and strides of frozen inputs
  std::vector<bool> may_;
  std::vector<std::int64_t> reached_;
};

class Split {
 public:
  Split(const Graph& g, const std::vector<std::uint32_t>& frozen) : g_(g), alone_(g, frozen) {}

  std::optional<SplitFrozen> run() {
    choose();
    if (roots_.empty()) return std::nullopt;
    std::reverse(roots_.begin(), roots_.end());
    group();
    SplitFrozen out;
    for (const std::vector<ValueId>& roots : groups_) out.parts.push_back(part(roots));
    out.rest = rest();
    return out;
  }

 private:
  /// Computed where it is read, whichever side that is on: nothing is.
  static bool is_made_again(const Node& n) {
    const OpClass cls = graph::op(n.op).cls;
    return cls == OpClass::View || cls == OpClass::Creation;
  }
  static bool is_cheap(const Node& n) {
    const OpClass cls = graph::op(n.op).cls;
    return cls == OpClass::Pointwise || cls == OpClass::Reduction;
  }
  bool is_worth(const Node& n) const {
    std::int64_t made = 0, read = 0, reached = 0;
    bool fuses = is_cheap(n);
    for (ValueId r : n.results) {
      made += bytes_of(g_.meta(r)), reached = std::max(reached, alone_.reached(r));
      fuses = fuses && (fused_only_.empty() || fused_only_[r.v]);
    }
    graph::for_each_value(n, [&](ValueId v) { read += bytes_of(g_.meta(v)); });
    if (fuses && made > read && made > kSmall) return false;  // what reads it reads less without
    // another form of what is read, with room beside it: panels
    const std::int64_t grown = made / 2 <= read ? std::min(made, read) : made;
    return reached > 0 && (made <= kSmall || grown / kMostGrowth <= reached);
  }

  /// What each node of the rest reads is wanted; what is wanted, and alone, is the root of a part.
  void choose() {
    wanted_.resize(g_.values.size());
    fused_only_.assign(g_.values.size(), true);
    in_rest_.resize(g_.nodes.size());
    for (const graph::OutputSpec& o : g_.outputs)
      if (o.value) wanted_[o.value.v] = true, fused_only_[o.value.v] = false;
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (alone_(n)) {
        if (std::none_of(n.results.begin(), n.results.end(), [&](ValueId r) { return wanted_[r.v]; })) continue;
        if (!is_made_again(n) && is_worth(n)) {
          for (auto r = n.results.rbegin(); r != n.results.rend(); ++r)
            if (wanted_[r->v]) roots_.push_back(*r);
          continue;
        }
      }
      in_rest_[i] = true;
      graph::for_each_value(n, [&](ValueId v) {
        wanted_[v.v] = true;
        if (!is_cheap(n)) fused_only_[v.v] = false;
      });
    }
  }

  const Node* maker(ValueId v) const {
    return g_.values[v.v].node < 0 ? nullptr : &g_.nodes[static_cast<std::size_t>(g_.values[v.v].node)];
  }

  /// Roots that have a node in common are one part.
  void group() {
    std::vector<std::size_t> of(roots_.size());
    std::iota(of.begin(), of.end(), std::size_t{0});
    auto find = [&](std::size_t i) {
      while (of[i] != i) i = of[i] = of[of[i]];
      return i;
    };
    std::vector<std::size_t> owner(g_.nodes.size(), roots_.size());
    std::vector<ValueId> todo;
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      todo.assign(1, roots_[r]);
      std::set<std::int32_t> seen;  // what is made again has no owner
      while (!todo.empty()) {
        const ValueId v = todo.back();
        todo.pop_back();
        const Node* n = maker(v);
        if (!n || !seen.insert(g_.values[v.v].node).second) continue;
        if (!is_made_again(*n)) {
          std::size_t& o = owner[static_cast<std::size_t>(g_.values[v.v].node)];
          if (o != roots_.size()) {
            of[find(r)] = find(o);
            continue;
          }
          o = r;
        }
        graph::for_each_value(*n, [&](ValueId a) { todo.push_back(a); });
      }
    }
    std::vector<std::size_t> place(roots_.size(), SIZE_MAX);
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      std::size_t& p = place[find(r)];
      if (p == SIZE_MAX) p = groups_.size(), groups_.emplace_back();
      groups_[p].push_back(roots_[r]);
    }
  }

  Graph empty() const {
    Graph g;
    g.name = g_.name, g.env = g_.env, g.numbers = g_.numbers;
    return g;
  }

  FrozenPart part(const std::vector<ValueId>& roots) const {
    std::set<std::int32_t> nodes;
    std::set<std::uint32_t> inputs;
    std::vector<ValueId> todo = roots;
    while (!todo.empty()) {
      const ValueId v = todo.back();
      todo.pop_back();
      const Node* n = maker(v);
      if (!n) inputs.insert(g_.values[v.v].result);
      else if (nodes.insert(g_.values[v.v].node).second)
        graph::for_each_value(*n, [&](ValueId a) { todo.push_back(a); });
    }
    FrozenPart out;
    out.graph = empty();
    out.graph.numbers.clear();
    std::vector<ValueId> now(g_.values.size());
    for (std::uint32_t i : inputs) {
      const ValueId v = g_.inputs[i].value;
      now[v.v] = out.graph.add_input(g_.meta(v), g_.values[v.v].name);
      out.inputs.push_back(i);
    }
    for (std::int32_t i : nodes) graph::append_copy(g_, g_.nodes[static_cast<std::size_t>(i)], out.graph, now);
    for (ValueId v : roots) {
      graph::OutputSpec o;
      o.value = now[v.v];
      out.graph.outputs.push_back(std::move(o));
    }
    return out;
  }

  Graph rest() const {
    Graph g = empty();
    std::vector<ValueId> now(g_.values.size());
    for (const graph::InputSpec& in : g_.inputs) {
      now[in.value.v] = g.add_input(g_.meta(in.value), g_.values[in.value.v].name, in.kind, in.captured);
      g.inputs.back().mutates_data = in.mutates_data, g.inputs.back().mutates_metadata = in.mutates_metadata;
    }
    std::size_t folded = 0;
    for (const std::vector<ValueId>& roots : groups_)
      for (ValueId v : roots)
        now[v.v] =
            g.add_input(g_.meta(v), "folded " + std::to_string(folded++), graph::InputSpec::Kind::Parameter, true);
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      if (in_rest_[i]) graph::append_copy(g_, g_.nodes[i], g, now);
    g.outputs = g_.outputs;
    for (graph::OutputSpec& o : g.outputs) {
      if (!o.value) continue;
      o.value = now[o.value.v];
      const graph::Value& v = g.values[o.value.v];
      if (v.node >= 0 || v.result < g_.inputs.size()) continue;
      const TensorMeta& m = v.meta;  // a result has memory of its own
      o.value = g.append(graph::OpId::clone, {o.value},
                         {{m.dtype, m.device, {m.layout.sizes, contiguous_strides(m.layout.sizes), 0}}});
    }
    g.metadata_mutations = g_.metadata_mutations;
    return g;
  }

  const Graph& g_;
  const Alone alone_;
  std::vector<bool> wanted_, fused_only_, in_rest_;  // by value, by value, by node
  std::vector<ValueId> roots_;
  std::vector<std::vector<ValueId>> groups_;
};

}  // namespace

std::vector<bool> of_frozen_alone(const Graph& g, const std::vector<std::uint32_t>& frozen) {
  const Alone alone(g, frozen);
  std::vector<bool> out(g.values.size());
  for (std::uint32_t v = 0; v < out.size(); ++v) {
    const std::int64_t bytes = bytes_of(g.meta(ValueId{v}));
    out[v] = alone(ValueId{v}) && (bytes <= kSmall / 2 || bytes / kMostGrowth <= alone.reached(ValueId{v}));
  }
  return out;
}

std::optional<SplitFrozen> split_frozen(const Graph& g, const std::vector<std::uint32_t>& frozen) {
  return frozen.empty() ? std::nullopt : Split(g, frozen).run();
}

}  // namespace reprise::passes
