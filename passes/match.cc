#include "passes/match.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "base/errors.h"
#include "graph/op_column.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

struct SearchedGraph::Uses {
  std::unordered_map<OpId, std::vector<std::uint32_t>> by_op;  ///< nodes, ascending
  std::vector<std::vector<std::uint32_t>> users;               ///< by value: nodes, ascending
  std::vector<bool> is_output;

  explicit Uses(const Graph& g) : users(g.values.size()), is_output(g.values.size()) {
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
      by_op[g.nodes[i].op].push_back(i);
      graph::for_each_value(g.nodes[i], [&](ValueId v) {
        if (users[v.v].empty() || users[v.v].back() != i) users[v.v].push_back(i);
      });
    }
    for (const graph::OutputSpec& o : g.outputs)
      if (o.value) is_output[o.value.v] = true;
  }
};

namespace {
/// By node: what depends on an input.
std::vector<bool> behind_input(const Graph& g, std::size_t input) {
  std::vector<bool> value(g.values.size()), node(g.nodes.size());
  value[g.inputs[input].value.v] = true;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    graph::for_each_value(g.nodes[i], [&](ValueId v) { node[i] = node[i] || value[v.v]; });
    for (ValueId r : g.nodes[i].results) value[r.v] = node[i];
  }
  return node;
}
}  // namespace

PatternGraphs::PatternGraphs(Graph p, Graph r, std::int32_t tangent)
    : pattern(std::move(p)), replacement(std::move(r)) {
  if (tangent >= 0) {
    behind = behind_input(pattern, static_cast<std::size_t>(tangent));
    replacement_behind = behind_input(replacement, static_cast<std::size_t>(tangent));
  }
  for (const Graph* of : {&pattern, &replacement})
    for (const guards::Guard& guard : of->env->guards())
      if (const guards::Expr* e = of->env->simplify(guard.condition); !(e->is_const() && e->value()))
        conditions.push_back(e);
}

SearchedGraph::SearchedGraph(const Graph& g) : g_(g), uses_(std::make_unique<const Uses>(g)) {}
SearchedGraph::~SearchedGraph() = default;

namespace {

using Uses = SearchedGraph::Uses;

// Whose first two operands may change places. (Of add where nothing is multiplied to the second.)
constinit const graph::OpColumn<bool> kCommutes("operands that change places", {
                                                                                   {OpId::add, true},
                                                                                   {OpId::mul, true},
                                                                                   {OpId::maximum, true},
                                                                                   {OpId::minimum, true},
                                                                                   {OpId::eq, true},
                                                                                   {OpId::ne, true},
                                                                                   {OpId::logical_and, true},
                                                                                   {OpId::logical_or, true},
                                                                                   {OpId::logical_xor, true},
                                                                                   {OpId::bitwise_and, true},
                                                                                   {OpId::bitwise_or, true},
                                                                                   {OpId::bitwise_xor, true},
                                                                               });

bool commutes(const Node& n) {
  if (!kCommutes.find(n.op) || n.args.size() < 2) return false;
  if (n.args.size() < 3) return true;
  const Scalar* alpha = std::get_if<Scalar>(&n.args[2]);
  return alpha && !alpha->is_symbolic() && alpha->to_double() == 1;
}

bool is_device(const graph::OpDef& o, std::size_t arg) { return o.schema.args[arg].name == "device"; }

/// What has been found so far of one match. Copied where there are several ways to go on.
struct State {
  std::vector<ValueId> value;      // by value of the pattern
  std::vector<std::int32_t> node;  // by node of the pattern; -1
  std::size_t nodes = 0;
  guards::Substitution symbols;
  // the pattern's and the graph's, to be compared when all symbols are bound
  std::vector<std::pair<Int, Int>> later;
  std::vector<std::pair<ValueId, ValueId>> goals;
};

class Search {
 public:
  Search(const Graph& g, const PatternGraphs& p, const Uses& uses, const PatternCondition& may_match,
         std::vector<bool>& taken, const std::unordered_map<std::uint32_t, std::uint32_t>& moved, NearMatch* nearest)
      : g_(g), graphs_(p), p_(p.pattern), uses_(uses), may_match_(may_match), taken_(taken), moved_(moved),
        nearest_(nearest), is_result_(p_.values.size()) {
    for (const graph::OutputSpec& o : p_.outputs) is_result_[o.value.v] = true;
    if (!p.is_pair()) return;
    read_ahead_.assign(p_.values.size(), false);
    auto read = [&](const Graph& of, const std::vector<bool>& behind) {
      for (std::size_t i = 0; i < of.nodes.size(); ++i)
        if (!behind[i])
          graph::for_each_value(of.nodes[i], [&](ValueId v) {
            if (of.values[v.v].node < 0) read_ahead_[p_.inputs[of.values[v.v].result].value.v] = true;
          });
    };
    read(p_, p.behind), read(p.replacement, p.replacement_behind);
  }

  /// With the pattern's last node at this one of the graph.
  std::optional<Match> at(std::uint32_t node) {
    State s{std::vector<ValueId>(p_.values.size()),
            std::vector<std::int32_t>(p_.nodes.size(), -1),
            0,
            guards::Substitution(*p_.env, *g_.env),
            {},
            {}};
    steps_ = 0;
    found_.reset();
    if (bind_node(s, p_.nodes.size() - 1, node)) solve(std::move(s));
    return std::move(found_);
  }

 private:
  // A pattern with much that commutes can be laid on a graph in many ways, nearly all of which end at once.
  static constexpr int kMostSteps = 20'000;

  bool miss(const State& s, const Node* at, std::string_view why) {
    if (nearest_ && s.nodes > nearest_->nodes) {
      nearest_->nodes = s.nodes;
      nearest_->why = at ? std::string(graph::op(at->op).schema.name) + ": " : "";
      nearest_->why += why;
      nearest_->loc = at ? at->info.loc : SourceLoc{};
    }
    return false;
  }
  const Node* maker(ValueId v) const {
    const std::int32_t n = g_.values[v.v].node;
    return n < 0 ? nullptr : &g_.nodes[static_cast<std::size_t>(n)];
  }

  // ---- numbers
  bool bind(State& s, Int pattern, Int is) {
    if (pattern.is_symbolic() && pattern.expr()->kind() == guards::ExprKind::Symbol &&
        !s.symbols.is_bound(pattern.expr()->symbol())) {
      const guards::Symbol& symbol = p_.env->symbols()[pattern.expr()->symbol()];
      if (symbol.lo != symbol.hi) {
        s.symbols.bind(pattern.expr()->symbol(), is);
        return true;
      }
    }
    if (std::optional<Int> want = s.symbols.of(pattern)) return known_equal(*want, is);
    s.later.emplace_back(pattern, is);
    return true;
  }
  static bool known_equal(Int a, Int b) { return identical(a, b) || detail::compare_eq(a, b, {}).known_true(); }
  bool bind(State& s, const Ints& pattern, const Ints& is) {
    bool all = pattern.size() == is.size();
    for (std::size_t i = 0; all && i < is.size(); ++i) all = bind(s, pattern[i], is[i]);
    return all;
  }
  bool bind(State& s, const Scalar& pattern, const Scalar& is, bool floats) {
    if (pattern.kind() == is.kind()) return bind(s, pattern.word(), is.word());
    // 2 is 2.0 where a float is computed.
    if (!floats || is.is_symbolic()) return false;
    if (pattern.is_float()) return bind(s, pattern.word(), Scalar(is.to_double()).word());
    return !pattern.is_symbolic() && pattern.to_double() == is.to_double();
  }

  /// An argument that is no tensor.
  bool same_attribute(State& s, const NodeArg& a, const NodeArg& b, bool floats) {
    const Scalar *x = std::get_if<Scalar>(&a), *y = std::get_if<Scalar>(&b);
    const Int *i = std::get_if<Int>(&a), *j = std::get_if<Int>(&b);
    if ((x || i) && (y || j))
      return x || y ? bind(s, x ? *x : Scalar(*i), y ? *y : Scalar(*j), floats) : bind(s, *i, *j);
    if (auto* l = std::get_if<Ints>(&a)) return std::holds_alternative<Ints>(b) && bind(s, *l, std::get<Ints>(b));
    if (a.index() != b.index()) return false;
    if (auto* t = std::get_if<bool>(&a)) return *t == std::get<bool>(b);
    if (auto* t = std::get_if<DType>(&a)) return *t == std::get<DType>(b);
    if (auto* t = std::get_if<std::string>(&a)) return *t == std::get<std::string>(b);
    return std::holds_alternative<std::monostate>(a);
  }

  // ---- tensors
  static const std::vector<ValueId> as_list(const NodeArg& a) {
    if (auto* v = std::get_if<ValueId>(&a)) return {*v};
    if (auto* l = std::get_if<std::vector<ValueId>>(&a)) return *l;
    return {};
  }
  bool same_argument(State& s, const Node& p, const Node& n, std::size_t pi, std::size_t ni) {
    const NodeArg &a = p.args[pi], &b = n.args[ni];
    const std::vector<ValueId> x = as_list(a), y = as_list(b);
    if (x.empty() && y.empty()) {
      if (is_device(graph::op(p.op), pi)) return true;  // a pattern is of any device
      const bool floats = !n.results.empty() && is_floating(g_.meta(n.results[0]).dtype);
      return same_attribute(s, a, b, floats) ||
             miss(s, &n, "its argument " + graph::op(n.op).schema.args[ni].name + " is another one");
    }
    if (a.index() != b.index() || x.size() != y.size()) return miss(s, &n, "its operands are others");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x[i] != !y[i]) return false;
      if (x[i]) s.goals.emplace_back(x[i], y[i]);
    }
    return true;
  }
  bool arguments(State& s, const Node& p, const Node& n, bool swapped) {
    // The last operand first onto the stack: what is compared first is the first.
    for (std::size_t i = p.args.size(); i-- > 0;)
      if (!same_argument(s, p, n, i, swapped && i < 2 ? 1 - i : i)) return false;
    return true;
  }

  bool bind_input(State& s, ValueId pv, ValueId v) {
    const TensorMeta &want = p_.meta(pv), &is = g_.meta(v);
    if (want.dtype != is.dtype || want.dim() != is.dim() || !bind(s, want.layout.sizes, is.layout.sizes)) {
      return miss(s, maker(v),
                  "where '" + p_.values[pv.v].name + "' is wanted stands " + std::string(dtype_name(is.dtype)) +
                      " of " + std::to_string(is.dim()) + " dimensions");
    }
    s.value[pv.v] = v;
    return true;
  }
  /// Its results, and its own attributes and operands as goals where that can be done in one way only.
  bool bind_node(State& s, std::size_t pn, std::uint32_t gn) {
    const Node &p = p_.nodes[pn], &n = g_.nodes[gn];
    if (p.op != n.op || p.args.size() != n.args.size() || p.results.size() != n.results.size()) return false;
    if (taken_[gn]) return miss(s, &n, "is part of another match");
    if (std::find(s.node.begin(), s.node.end(), static_cast<std::int32_t>(gn)) != s.node.end()) return false;
    for (std::size_t i = 0; i < p.results.size(); ++i) {
      if (g_.meta(n.results[i]).dtype != p_.meta(p.results[i]).dtype ||
          g_.meta(n.results[i]).dim() != p_.meta(p.results[i]).dim())
        return miss(s, &n,
                    "gives " + std::string(dtype_name(g_.meta(n.results[i]).dtype)) + " of " +
                        std::to_string(g_.meta(n.results[i]).dim()) + " dimensions, not " +
                        std::string(dtype_name(p_.meta(p.results[i]).dtype)) + " of " +
                        std::to_string(p_.meta(p.results[i]).dim()));
      s.value[p.results[i].v] = n.results[i];
    }
    s.node[pn] = static_cast<std::int32_t>(gn);
    ++s.nodes;
    if (commutes(p) && commutes(n)) return s.goals.emplace_back(ValueId{}, p.results[0]), true;  // decided in solve()
    return arguments(s, p, n, false);
  }

  /// Goes on until everything is bound. True: found_ is set.
  bool solve(State s) {
    while (!s.goals.empty()) {
      if (++steps_ > kMostSteps) return false;
      const auto [pv, v] = s.goals.back();
      s.goals.pop_back();
      if (!pv) {  // the operands of a commutative node of the pattern, which makes `v`
        const auto pn = static_cast<std::size_t>(p_.values[v.v].node);
        const Node &p = p_.nodes[pn], &n = g_.nodes[static_cast<std::size_t>(s.node[pn])];
        State other = s;
        if (arguments(other, p, n, false) && solve(std::move(other))) return true;
        if (!arguments(s, p, n, true)) return false;
        continue;
      }
      if (s.value[pv.v]) {
        if (s.value[pv.v] != v) return miss(s, maker(v), "stands where another value is wanted again");
        continue;
      }
      const std::int32_t pn = p_.values[pv.v].node, gn = g_.values[v.v].node;
      if (pn < 0) {
        if (!bind_input(s, pv, v)) return false;
        continue;
      }
      const Node& p = p_.nodes[static_cast<std::size_t>(pn)];
      if (gn < 0)
        return miss(
            s, nullptr,
            "input '" + g_.values[v.v].name + "' stands where " + std::string(graph::op(p.op).name()) + " is wanted");
      const Node& n = g_.nodes[static_cast<std::size_t>(gn)];
      if (n.op != p.op) return miss(s, &n, "stands where " + std::string(graph::op(p.op).name()) + " is wanted");
      if (g_.values[v.v].result != p_.values[pv.v].result || s.node[static_cast<std::size_t>(pn)] >= 0 ||
          !bind_node(s, static_cast<std::size_t>(pn), static_cast<std::uint32_t>(gn)))
        return false;
    }
    return s.nodes == p_.nodes.size() ? complete(s) : go_up(s);
  }

  /// A node of the pattern is not below what was found: it is sought among the users of what was.
  bool go_up(const State& s) {
    for (std::size_t pn = 0; pn < p_.nodes.size(); ++pn) {
      if (s.node[pn] >= 0) continue;
      const std::vector<std::uint32_t>* candidates = nullptr;
      graph::for_each_value(p_.nodes[pn], [&](ValueId v) {
        if (s.value[v.v] && !candidates) candidates = &uses_.users[s.value[v.v].v];
      });
      if (!candidates) continue;
      for (std::uint32_t gn : *candidates) {
        if (g_.nodes[gn].op != p_.nodes[pn].op) continue;
        State next = s;
        if (bind_node(next, pn, gn) && solve(std::move(next))) return true;
      }
      return miss(s, nullptr, "no user of what was found is " + std::string(graph::op(p_.nodes[pn].op).name()));
    }
    return miss(s, nullptr, "a part of the pattern is connected with nothing else");
  }

  bool complete(State& s) {
    for (auto [pattern, is] : s.later) {
      std::optional<Int> want = s.symbols.of(pattern);
      if (!want || !known_equal(*want, is))
        return miss(s, nullptr, "a number is not known to be the one that is wanted");
    }
    for (const guards::Expr* condition : graphs_.conditions)
      if (!s.symbols.known(condition))
        return miss(s, nullptr, "it is not known that " + guards::to_string(condition) + " of the pattern holds here");
    Match m{&graphs_, {}, s.value, s.symbols, {}, 0};
    for (std::int32_t n : s.node) m.nodes.push_back(static_cast<std::uint32_t>(n));
    std::sort(m.nodes.begin(), m.nodes.end());
    for (std::size_t pn = 0; graphs_.is_pair() && pn < s.node.size(); ++pn)
      if (graphs_.behind[pn]) m.behind.push_back(static_cast<std::uint32_t>(s.node[pn]));
    std::sort(m.behind.begin(), m.behind.end());
    m.device = g_.meta(g_.nodes[m.nodes.back()].results[0]).device;
    if (!place(s, m)) return false;
    if (may_match_) {
      const Bound bound(g_, p_, m);
      if (std::string why = may_match_(bound); !why.empty()) return miss(s, &g_.nodes[m.nodes.back()], why);
    }
    found_ = std::move(m);
    return true;
  }

  std::uint32_t position(std::uint32_t node) const {
    auto it = moved_.find(node);
    return it == moved_.end() ? node : it->second;
  }

  /// The first of these nodes before which all operands are there: of a pair's function those that no part of its
  /// derivative reads alone.
  bool place_among(const State& s, const Match& m, const std::vector<std::uint32_t>& nodes, bool behind,
                   std::uint32_t first, std::uint32_t& at_node) {
    for (const graph::InputSpec& in : p_.inputs) {
      const ValueId v = s.value[in.value.v];
      if (!v || (graphs_.is_pair() && !behind && !read_ahead_[in.value.v])) continue;
      const std::int32_t made = g_.values[v.v].node;
      if (made < 0) continue;
      if (std::binary_search(m.nodes.begin(), m.nodes.end(), static_cast<std::uint32_t>(made)))
        return miss(s, maker(v), "is an operand of the pattern and a part of it");
      // Of what another match makes: there where that stands.
      first = std::max(first, position(static_cast<std::uint32_t>(made)) + 1);
    }
    const auto at = std::lower_bound(nodes.begin(), nodes.end(), first);
    if (at == nodes.end())
      return miss(s, &g_.nodes[nodes.back()], "is needed before an operand of the pattern is there");
    at_node = *at;
    return true;
  }

  /// Nothing within is read from outside, and there is a place for the replacement.
  bool place(const State& s, Match& m) {
    auto within = [&](std::uint32_t n) { return std::binary_search(m.nodes.begin(), m.nodes.end(), n); };
    if (!graphs_.is_pair()) {
      if (!place_among(s, m, m.nodes, false, m.nodes.front(), m.at)) return false;
    } else {
      std::vector<std::uint32_t> ahead;
      std::set_difference(m.nodes.begin(), m.nodes.end(), m.behind.begin(), m.behind.end(), std::back_inserter(ahead));
      if (ahead.empty() || m.behind.empty()) return miss(s, nullptr, "is no function with its derivative");
      if (!place_among(s, m, ahead, false, ahead.front(), m.at) ||
          !place_among(s, m, m.behind, true, std::max(m.behind.front(), m.at + 1), m.at_behind))
        return false;
    }
    for (std::size_t v = 0; v < p_.values.size(); ++v) {
      if (p_.values[v].node < 0) continue;
      for (std::uint32_t user : uses_.users[s.value[v].v]) {
        if (within(user)) continue;
        if (!is_result_[v])
          return miss(s, maker(s.value[v]),
                      "its result is read by " + std::string(graph::op(g_.nodes[user].op).name()) +
                          ", too, which is no part of the pattern");
        if (position(user) <=
            (p_.values[v].node >= 0 && graphs_.is_pair() && graphs_.behind[static_cast<std::size_t>(p_.values[v].node)]
                 ? m.at_behind
                 : m.at))
          return miss(s, &g_.nodes[user], "reads a result before an operand of the pattern is there");
      }
      if (!is_result_[v] && uses_.is_output[s.value[v].v])
        return miss(s, maker(s.value[v]), "its result is returned, and the pattern's is not");
    }
    // What may raise or has an order of its own stays where it is: only among the nodes of the match may one be.
    for (std::uint32_t n = m.nodes.front(); n <= m.nodes.back(); ++n) {
      if (!graph::effects_of(g_.nodes[n]).any() || within(n)) continue;
      for (std::uint32_t of : m.nodes)
        if (graph::effects_of(g_.nodes[of]).any())
          return miss(s, &g_.nodes[n], "has an effect, and stands among parts that have one");
    }
    return true;
  }

  struct Bound final : PatternMatch {
    Bound(const Graph& graph, const Graph& pattern, const Match& match) : g(graph), p(pattern), m(match) {}
    const TensorMeta& meta(std::size_t tensor) const {
      if (tensor >= p.inputs.size())
        fail(ErrorCode::IndexOutOfRange, "match", {}, "the pattern has ", p.inputs.size(),
             " tensors, not one numbered ", tensor);
      const ValueId v = m.values[p.inputs[tensor].value.v];
      return v ? g.meta(v) : p.meta(p.inputs[tensor].value);
    }
    DType dtype(std::size_t t) const override { return meta(t).dtype; }
    Device device(std::size_t t) const override { return meta(t).device; }
    const Ints& sizes(std::size_t t) const override { return meta(t).layout.sizes; }
    const graph::NumberInput& number_input(std::size_t i, bool size) const {
      for (const graph::NumberInput& n : p.numbers)
        if ((n.kind == graph::NumberInput::Kind::Size) == size && i-- == 0) return n;
      fail(ErrorCode::IndexOutOfRange, "match", {}, "the pattern has no such ", size ? "Int" : "Scalar");
    }
    Int of(const graph::NumberInput& n) const { return m.symbols.of(Int(p.env->symbols()[n.symbol].expr)).value_or(0); }
    Int integer(std::size_t i) const override { return of(number_input(i, true)); }
    Scalar number(std::size_t i) const override {
      const graph::NumberInput& n = number_input(i, false);
      return n.kind == graph::NumberInput::Kind::Float ? Scalar(0.0).with_word(of(n)) : Scalar(of(n));
    }
    const Graph& g;
    const Graph& p;
    const Match& m;
  };

  const Graph& g_;
  const PatternGraphs& graphs_;
  const Graph& p_;
  const Uses& uses_;
  const PatternCondition& may_match_;
  std::vector<bool>& taken_;
  // nodes of matches: where their replacement will stand
  const std::unordered_map<std::uint32_t, std::uint32_t>& moved_;
  NearMatch* nearest_;
  std::vector<bool> is_result_;
  std::vector<bool>
      read_ahead_;  // by value of a pair's pattern: an operand of its function, here or in what replaces it
  int steps_ = 0;
  std::optional<Match> found_;
};

/// The replacement, in the new graph.
class Splice {
 public:
  Splice(Rewriter& rw, const Match& m) : rw_(rw), m_(m), r_(m.graphs->replacement), value_(r_.values.size()) {}

  /// `behind`: the derivative of a pair, once its function stands; else that, or all of what is no pair.
  void run(bool behind, const graph::NodeInfo& info) {
    const Graph& p = m_.graphs->pattern;
    const bool pair = m_.graphs->is_pair();
    auto is_other = [&](const std::vector<bool>& part, std::int32_t node) {
      return pair && node >= 0 && part[static_cast<std::size_t>(node)] != behind;
    };
    for (std::size_t i = 0; i < r_.inputs.size(); ++i)
      if (ValueId v = m_.values[p.inputs[i].value.v]) value_[r_.inputs[i].value.v] = rw_.now(v);
    for (const Node& n : r_.nodes) {
      if (is_other(m_.graphs->replacement_behind, static_cast<std::int32_t>(&n - r_.nodes.data()))) continue;
      std::vector<NodeArg> args;
      for (std::size_t i = 0; i < n.args.size(); ++i)
        args.push_back(is_device(graph::op(n.op), i) ? NodeArg(m_.device.str()) : argument(n.args[i]));
      const std::vector<ValueId> made = rw_.emit_as(n, std::move(args), info);
      for (std::size_t i = 0; i < made.size(); ++i) value_[n.results[i].v] = made[i];
    }
    for (std::size_t i = 0; i < p.outputs.size(); ++i)
      if (const std::int32_t node = p.values[p.outputs[i].value.v].node;
          node >= 0 && !is_other(m_.graphs->behind, node))
        rw_.stands_for(m_.values[p.outputs[i].value.v], value_[r_.outputs[i].value.v]);
  }

 private:
  Int number(Int i) const {
    const std::optional<Int> made = m_.symbols.of(i);
    REPRISE_CHECK(made.has_value(), "a replacement reads a number that its pattern does not bind");
    return *made;
  }
  ValueId value(ValueId v) const { return v ? value_[v.v] : v; }
  NodeArg argument(const NodeArg& a) const {
    if (auto* v = std::get_if<ValueId>(&a)) return value(*v);
    if (auto* l = std::get_if<std::vector<ValueId>>(&a)) {
      std::vector<ValueId> list;
      for (ValueId v : *l) list.push_back(value(v));
      return list;
    }
    if (auto* i = std::get_if<Int>(&a)) return number(*i);
    if (auto* l = std::get_if<Ints>(&a)) {
      Ints list;
      for (Int i : *l) list.push_back(number(i));
      return list;
    }
    if (auto* s = std::get_if<Scalar>(&a)) return s->is_symbolic() ? s->with_word(number(s->word())) : *s;
    return a;
  }

  Rewriter& rw_;
  const Match& m_;
  const Graph& r_;
  std::vector<ValueId> value_;  // by value of the replacement
};

}  // namespace

std::vector<Match> find_matches(const SearchedGraph& searched, const PatternGraphs& p,
                                const PatternCondition& may_match, std::vector<bool>& taken, NearMatch* nearest) {
  std::vector<Match> found;
  std::unordered_map<std::uint32_t, std::uint32_t> moved;
  if (p.pattern.nodes.empty()) return found;
  const Graph& g = searched.graph();
  const Uses& uses = searched.uses();
  // A graph that lacks one of its operators has none of it: nearly all patterns end here.
  for (const Node& n : p.pattern.nodes)
    if (!uses.by_op.contains(n.op)) return found;
  Search search(g, p, uses, may_match, taken, moved, nearest);
  for (std::uint32_t node : uses.by_op.at(p.pattern.nodes.back().op)) {
    std::optional<Match> m = search.at(node);
    if (!m) continue;
    for (std::uint32_t n : m->nodes) taken[n] = true, moved[n] = m->at_of(n);
    found.push_back(std::move(*m));
  }
  return found;
}

void replace(Graph& g, const std::vector<Match>& matches) {
  std::unordered_map<std::uint32_t, const Match*> part;
  for (const Match& m : matches)
    for (std::uint32_t n : m.nodes) part[n] = &m;
  std::unordered_map<const Match*, Splice> begun;  // pairs, whose function stands
  rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
    const auto n = static_cast<std::uint32_t>(&s.node - g.nodes.data());
    auto it = part.find(n);
    if (it == part.end()) return std::nullopt;
    const Match& m = *it->second;
    if (n == m.at || n == m.at_behind) {
      const bool behind = n == m.at_behind;
      const graph::NodeInfo& info = m.behind.empty() || behind ? g.nodes[m.nodes.back()].info : s.node.info;
      const auto at = begun.try_emplace(&m, rw, m).first;
      at->second.run(behind, info);
    }
    std::vector<ValueId> now;
    for (ValueId r : s.node.results) now.push_back(rw.now(r));
    return now;
  });
}

}  // namespace reprise::passes
