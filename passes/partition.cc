#include "passes/partition.h"

#include <algorithm>
#include <unordered_map>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/map_values.h"
#include "graph/parts.h"
#include "graph/text.h"
#include "passes/min_cut.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::ValueId;

namespace {

std::size_t number_of(const Node& mark) { return static_cast<std::size_t>(std::get<Int>(mark.args[1]).hint()); }

std::int64_t bytes_at_hints(const TensorMeta& m) {
  std::int64_t n = item_size(m.dtype);
  for (Int s : m.layout.sizes)
    if (__builtin_mul_overflow(n, std::max<std::int64_t>(s.hint(), 1), &n)) return std::int64_t{1} << 40;
  return std::min(n, std::int64_t{1} << 40);
}

class Cutter {
 public:
  Cutter(Graph& g, const Marks& marks, const CutRules& rules)
      : g_(g), marks_(marks), rules_(rules), backward_(g.values.size()), read_(g.values.size()) {}

  Partition run() {
    find_backward();
    find_forward();
    choose();
    build_backward();
    leave_forward();
    return std::move(out_);
  }

 private:
  bool is_mark(const Node& n) const { return n.op == marks_.tangent || n.op == marks_.gradient; }
  const Node* maker(ValueId v) const {
    return g_.values[v.v].node >= 0 ? &g_.nodes[static_cast<std::size_t>(g_.values[v.v].node)] : nullptr;
  }

  // What depends on a tangent, and what that reads of the rest.
  void find_backward() {
    node_backward_.resize(g_.nodes.size());
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      bool behind = n.op == marks_.tangent;
      graph::for_each_value(n, [&](ValueId v) { behind = behind || backward_[v.v]; });
      node_backward_[i] = behind;
      if (!behind) continue;
      for (ValueId r : n.results) backward_[r.v] = true;
    }
    for (const graph::OutputSpec& o : g_.outputs)
      if (o.value && backward_[o.value.v])
        bail(Bail::tape_from_outside, "compile", {}, "a result of the function depends on a gradient of its own");
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      if (n.op == marks_.gradient) {
        const ValueId v = std::get<ValueId>(n.args[0]);
        if (!backward_[v.v]) read_[v.v] = true;
      } else if (node_backward_[i] && n.op != marks_.tangent) {
        graph::for_each_value(n, [&](ValueId v) { read_[v.v] = read_[v.v] || !backward_[v.v]; });
      }
    }
  }

  static constexpr std::int64_t kNever = std::int64_t{1} << 50;

  // A part of the bytes that are written, or (reductions) read. A step of a loop that runs anyway touches no memory of
  // its own: a long chain of them costs less than a value that is saved.
  std::int64_t cost_again(const Node& n, std::int64_t bytes) const {
    switch (graph::op(n.op).cls) {
      case OpClass::View: return 0;
      case OpClass::Creation: return 1;
      case OpClass::Pointwise: return 1 + bytes / (rules_.is_costly(n.op) ? 64 : 256);
      case OpClass::Gather:
      case OpClass::Join: return 1 + bytes / 4;
      case OpClass::Random: return 1 + bytes / 8;  // less than what is made of it: a mask of a byte for each float
      case OpClass::Composite: return 1 + bytes / 2;
      case OpClass::Reduction: {
        std::int64_t read = 0;
        graph::for_each_value(n, [&](ValueId v) { read = std::max(read, bytes_at_hints(g_.meta(v))); });
        return 1 + std::max(bytes / 2, read / 4);
      }
      case OpClass::Matmul:
      case OpClass::Attention:
      case OpClass::Transfer:
      case OpClass::Reference:
      case OpClass::Control: return kNever;
    }
    return kNever;
  }

  // What the forward computes whether there is a backward or not.
  void find_forward() {
    forward_.assign(g_.values.size(), false);
    std::vector<ValueId> stack;
    auto see = [&](ValueId v) {
      if (v && !forward_[v.v]) forward_[v.v] = true, stack.push_back(v);
    };
    result_.assign(g_.values.size(), false);
    for (const graph::OutputSpec& o : g_.outputs) {
      see(o.value);
      if (o.value && (o.kind == graph::OutputSpec::Kind::User || o.kind == graph::OutputSpec::Kind::Intermediate))
        result_[o.value.v] = true;
    }
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      if (!node_backward_[i] && graph::effects_of(g_.nodes[i]).any()) graph::for_each_value(g_.nodes[i], see);
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (const Node* n = maker(v)) {
        for (ValueId r : n->results) see(r);
        graph::for_each_value(*n, see);
      }
    }
  }

  Keep keep_of(const Node& n) const {
    const Keep k = rules_.keep(n);
    if (k != Keep::AsItCosts) return k;
    switch (rules_.by) {
      case Partitioner::MinimumCut: return k;
      case Partitioner::SaveAll: return Keep::MustSave;
      case Partitioner::RecomputeAll: return Keep::MustRecompute;
    }
    return k;
  }

  /// Which copy of it gives what it gave? (Numbers that are drawn come from a seed and a place.)
  static bool can_run_again(const Node& n) {
    return !graph::effects_of(n).any() && graph::effects_of(n).repeatable() &&
           graph::op(n.op).cls != OpClass::Control && graph::op(n.op).cls != OpClass::Transfer;
  }

  [[noreturn]] void refuse_again(const Node& n, const char* who) const {
    fail(ErrorCode::InvalidArgument, std::string(graph::op(n.op).name()).c_str(), n.info.loc,
         "cannot be computed again in the backward of ", rules_.function, ", and ", who,
         ": it has an effect, draws numbers without a seed, or is a branch or a transfer. Save it");
  }

  /// What the program makes of the partitioner's choice.
  void ask_program(const std::vector<ValueId>& order, const std::optional<std::vector<bool>>& labels,
                   std::vector<std::optional<bool>>& chosen) const {
    std::vector<CutChoice> choices;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ValueId v = order[i];
      const Node* n = maker(v);
      if (!n || graph::op(n->op).cls == OpClass::View) continue;
      choices.push_back({v, bytes_at_hints(g_.meta(v)), read_[v.v], result_[v.v], can_run_again(*n), forward_[v.v],
                         !labels || !(*labels)[i * 2]});
    }
    std::sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.value.v < b.value.v; });
    rules_.choose(choices);
    for (const CutChoice& c : choices) chosen[c.value.v] = c.save;
  }

  void choose() {
    // Values that backward might want: those it reads, and what these are made of.
    std::vector<ValueId> order;
    std::vector<std::int32_t> variable(g_.values.size(), -1);
    std::vector<ValueId> stack;
    for (std::uint32_t v = 0; v < g_.values.size(); ++v)
      if (read_[v]) stack.push_back({v});
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (variable[v.v] >= 0) continue;
      variable[v.v] = static_cast<std::int32_t>(order.size());
      order.push_back(v);
      if (const Node* n = maker(v)) graph::for_each_value(*n, [&](ValueId a) { stack.push_back(a); });
    }
    // Two variables each: computed in backward, there in backward.
    MinCut cut(order.size() * 2);
    auto computed = [](std::size_t i) { return i * 2; };
    auto there = [](std::size_t i) { return i * 2 + 1; };
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ValueId v = order[i];
      const Node* n = maker(v);
      const std::int64_t bytes = bytes_at_hints(g_.meta(v));
      std::int64_t save = bytes, again = n ? cost_again(*n, bytes) : kNever;
      const bool can = n && can_run_again(*n), view = n && graph::op(n->op).cls == OpClass::View;
      if (!can) again = kNever;
      if (!n || result_[v.v]) save = 1;      // its caller has it
      if (can && !forward_[v.v]) again = 1;  // somewhere it is computed once
      const Keep keep = n && !view ? keep_of(*n) : Keep::AsItCosts;
      // The walk over the tape would do its effect once more.
      if (keep == Keep::MustRecompute && !can && rules_.keep(*n) == keep && !graph::effects_of(*n).repeatable())
        refuse_again(*n, "the rule of its checkpoint says MustRecompute");
      if (keep == Keep::MustSave) again = kNever;
      if (keep == Keep::PreferSave) again = std::max(again, bytes * 2);
      if (keep == Keep::MustRecompute && can) again = std::min(again, bytes), save = kNever / 2;
      if (keep == Keep::PreferRecompute && can) again = 1;
      if (view) save = kNever / 2;
      const std::int64_t saved[2][2] = {{0, save}, {0, 0}};
      cut.add(computed(i), there(i), saved);
      cut.add(computed(i), 0, again);
      const std::int64_t implied[2][2] = {{0, 0}, {kNever, 0}};  // computed there, it is there
      cut.add(computed(i), there(i), implied);
      if (read_[v.v]) cut.add(there(i), kNever, 0);
      if (n)
        graph::for_each_value(*n, [&](ValueId a) {
          const std::int64_t needs[2][2] = {{0, 0}, {kNever, 0}};
          cut.add(computed(i), there(static_cast<std::size_t>(variable[a.v])), needs);
        });
      if (read_[v.v]) out_.bytes_of_all += n ? bytes : 0;
    }
    const std::optional<std::vector<bool>> labels = cut.solve();
    std::vector<std::optional<bool>> chosen(g_.values.size());  // by value: is it saved?
    if (rules_.choose) ask_program(order, labels, chosen);
    again_.assign(g_.values.size(), false);
    saved_.assign(g_.values.size(), false);
    std::function<void(ValueId)> want = [&](ValueId v) {
      if (saved_[v.v] || again_[v.v]) return;
      const auto i = static_cast<std::size_t>(variable[v.v]);
      const Node* n = maker(v);
      // Too large a graph for a cut: what is read is saved, views are made again.
      const bool again = n && (chosen[v.v] ? !*chosen[v.v]
                               : labels    ? (*labels)[computed(i)]
                                           : graph::op(n->op).cls == OpClass::View);
      if (again && chosen[v.v] && !can_run_again(*n)) refuse_again(*n, "the partitioner does not save it");
      (again ? again_ : saved_)[v.v] = true;
      if (again) pending_.push_back(v);
    };
    for (std::uint32_t v = 0; v < g_.values.size(); ++v)
      if (read_[v]) want({v});
    while (!pending_.empty()) {
      const ValueId v = pending_.back();
      pending_.pop_back();
      graph::for_each_value(*maker(v), [&](ValueId a) { want(a); });
    }
  }

  void build_backward() {
    Graph& b = out_.backward;
    b.form = graph::Form::Functional;
    b.name = g_.name + " backward";
    b.env = g_.env;
    std::vector<ValueId> now(g_.values.size());
    for (std::uint32_t v = 0; v < g_.values.size(); ++v) {
      if (!saved_[v]) continue;
      now[v] = b.add_input(plain(g_.values[v].meta), "saved" + std::to_string(saved_values_.size()),
                           graph::InputSpec::Kind::Saved);
      saved_values_.push_back({v});
      if (maker({v}) && !result_[v]) out_.bytes_saved += bytes_at_hints(g_.values[v].meta);
    }
    for (const Node& n : g_.nodes) {
      if (n.op != marks_.tangent) continue;
      now[n.results[0].v] = b.add_input(plain(g_.meta(n.results[0])), "tangent" + std::to_string(number_of(n)),
                                        graph::InputSpec::Kind::Tangent);
      out_.of_tangents.push_back(g_.meta(std::get<ValueId>(n.args[0])));
      out_.tangents.push_back(static_cast<std::uint32_t>(number_of(n)));
    }
    std::vector<bool> there(g_.nodes.size());
    std::vector<std::size_t> stack;
    auto append = [&](std::size_t node) {
      stack.push_back(node);
      while (!stack.empty()) {
        const std::size_t i = stack.back();
        const Node& n = g_.nodes[i];
        const std::size_t before_operands = stack.size();
        if (!there[i])
          graph::for_each_value(n, [&](ValueId a) {
            if (again_[a.v] && !there[static_cast<std::size_t>(g_.values[a.v].node)])
              stack.push_back(static_cast<std::size_t>(g_.values[a.v].node));
          });
        if (stack.size() != before_operands) continue;
        stack.pop_back();
        if (there[i]) continue;
        there[i] = true;
        std::vector<std::pair<ValueId, ValueId>> kept;  // of several results one is saved
        for (ValueId r : n.results)
          if (saved_[r.v]) kept.emplace_back(r, now[r.v]);
        seen_anew(n, graph::append_copy(g_, n, b, now));
        for (auto [r, is] : kept) now[r.v] = is;
      }
    };
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      if (node_backward_[i] && !is_mark(g_.nodes[i])) append(i);
    for (const Node& n : g_.nodes)
      if (n.op == marks_.gradient)
        if (const ValueId v = std::get<ValueId>(n.args[0]); again_[v.v])
          append(static_cast<std::size_t>(g_.values[v.v].node));
    for (const Node& n : g_.nodes) {
      if (n.op != marks_.gradient) continue;
      const std::size_t number = number_of(n);
      if (out_.gradients.size() <= number) out_.gradients.resize(number + 1, -1);
      out_.gradients[number] = static_cast<std::int32_t>(b.outputs.size());
      graph::OutputSpec o;
      o.value = now[std::get<ValueId>(n.args[0]).v];
      o.role = graph::OutputSpec::Role::Gradient;
      b.outputs.push_back(std::move(o));
    }
  }
  /// What forward has saved comes row by row: so views of it have other strides than they had there.
  void seen_anew(const Node& n, const Node& made) {
    if (graph::op(n.op).cls != OpClass::View) return;
    Graph& b = out_.backward;
    const ValueId before = std::get<ValueId>(n.args[0]), of = std::get<ValueId>(made.args[0]);
    if (graph::identical(g_.meta(before).layout, b.meta(of).layout)) return;
    b.values[made.results[0].v].meta.layout =
        graph::result_metas(b, graph::op(n.op), made.args, n.info.loc).at(0).layout;
  }
  // Inputs of backward are tensors of their own.
  static TensorMeta plain(TensorMeta m) {
    m.layout.strides = contiguous_strides(m.layout.sizes);
    m.layout.offset = 0;
    return m;
  }

  void leave_forward() {
    for (ValueId v : saved_values_) {
      graph::OutputSpec o;
      o.value = v;
      o.role = graph::OutputSpec::Role::Saved;
      g_.outputs.push_back(std::move(o));
    }
    out_.saved = saved_values_.size();
    std::vector<bool> keep(g_.nodes.size());
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) keep[i] = !node_backward_[i] && !is_mark(g_.nodes[i]);
    g_.erase_nodes(keep);
    g_.compact();
    remove_dead(g_);
  }

  Graph& g_;
  const Marks& marks_;
  const CutRules& rules_;
  std::vector<bool> backward_, forward_, result_, read_, again_, saved_, node_backward_;
  std::vector<ValueId> pending_, saved_values_;
  Partition out_;
};

}  // namespace

Partition partition(Graph& joint, const Marks& marks, const CutRules& rules) {
  return Cutter(joint, marks, rules).run();
}

}  // namespace reprise::passes
