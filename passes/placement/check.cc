#include "passes/placement/check.h"

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "passes/placement/relation.h"

namespace reprise::passes::placement {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

class Checker {
 public:
  Checker(const Graph& g, const Plan& p, const PlanConstraints& c) : g_(g), p_(p), c_(c), at_(g.values.size()) {}

  std::vector<Violation> run() {
    if (p_.inputs.size() != g_.inputs.size() || p_.nodes.size() != g_.nodes.size() ||
        p_.outputs.size() != g_.outputs.size()) {
      wrong(-1, "the plan is of another graph");
      return std::move(found_);
    }
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      const ValueId v = g_.inputs[i].value;
      at_[v.v] = p_.inputs[i];
      whole_parts(-1, "input '" + g_.values[v.v].name + "'", v, p_.inputs[i]);
      if (const auto w = c_.inputs.find(static_cast<std::uint32_t>(i)); w != c_.inputs.end() && w->second != at_[v.v])
        wrong(-1, "input '" + g_.values[v.v].name + "' is " + to_string(at_[v.v]) + ", and was to be " +
                      to_string(w->second));
    }
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) node(static_cast<std::int32_t>(n));
    for (const PlanConstraints::AtNode& c : c_.nodes) region(c);
    for (std::size_t o = 0; o < g_.outputs.size(); ++o) output(o);
    return std::move(found_);
  }

 private:
  void wrong(std::int32_t n, std::string text) { found_.push_back({n, std::move(text)}); }

  /// Do the ranks' parts of a value have whole sizes?
  bool whole_parts(std::int32_t n, const std::string& what, ValueId v, const Placements& p) {
    const std::vector<std::int64_t> sizes = hints_of(g_.meta(v).layout.sizes);
    if (static_cast<int>(p.size()) != p_.mesh.axes()) {
      wrong(n, what + " has " + std::to_string(p.size()) + " placements on " + to_string(p_.mesh));
      return false;
    }
    std::map<int, std::int64_t> parts;
    for (int a = 0; a < p_.mesh.axes(); ++a) {
      const Placement& x = p[static_cast<std::size_t>(a)];
      if (!x.is_shard()) continue;
      if (x.dim() >= static_cast<int>(sizes.size())) {
        wrong(n, what + " is " + to_string(p) + ", and has " + std::to_string(sizes.size()) + " dimensions");
        return false;
      }
      parts.emplace(x.dim(), 1).first->second *= p_.mesh.size(a);
    }
    for (const auto& [dim, ranks] : parts)
      if (sizes[static_cast<std::size_t>(dim)] % ranks) {
        wrong(n, what + " is " + to_string(p) + ": " + std::to_string(sizes[static_cast<std::size_t>(dim)]) +
                     " do not divide among " + std::to_string(ranks) + " ranks");
        return false;
      }
    return true;
  }

  /// What a value is after these collectives.
  Placements follow(std::int32_t n, const std::string& what, ValueId v, const std::vector<Step>& steps) {
    Placements now = at_[v.v];
    for (const Step& s : steps) {
      const auto axis = static_cast<std::size_t>(s.axis);
      if (s.axis < 0 || axis >= now.size()) {
        wrong(n, what + ": " + to_string(s.kind) + " along axis " + std::to_string(s.axis) + ", which is not there");
        return now;
      }
      const std::string does = what + ": " + to_string(s.kind) + " along '" + p_.mesh.name(s.axis) + "' " +
                               to_string(s.from) + " -> " + to_string(s.to);
      if (now[axis] != s.from) wrong(n, does + " finds " + to_string(now) + " there");
      const Placement was = now[axis];
      bool right = false;
      switch (s.kind) {
        case Collective::Slice: right = was.is_replicate() && s.to.is_shard(); break;
        case Collective::Part: right = was.is_replicate() && s.to.is_partial(); break;
        case Collective::AllGather: right = was.is_shard() && s.to.is_replicate(); break;
        case Collective::AllToAll: right = was.is_shard() && s.to.is_shard(); break;
        case Collective::AllReduce: right = was.is_partial() && s.to.is_replicate(); break;
        case Collective::ReduceScatter: right = was.is_partial() && s.to.is_shard(); break;
      }
      if (!right) wrong(n, does + " is not what that collective does");
      for (std::size_t later = axis + 1; later < now.size(); ++later)
        if (now[later].is_shard() && (now[later] == was || now[later] == s.to))
          wrong(n, does + " would change the order in which axes split dimension " + std::to_string(now[later].dim()));
      now[axis] = s.to;
      whole_parts(n, does, v, now);
    }
    return now;
  }

  void node(std::int32_t n) {
    const Node& node = g_.nodes[static_cast<std::size_t>(n)];
    const PlannedNode& plan = p_.nodes[static_cast<std::size_t>(n)];
    const std::vector<ValueId> operands = operands_of(node);
    const auto give_results = [&] {
      for (std::size_t r = 0; r < node.results.size(); ++r)
        at_[node.results[r].v] =
            r < plan.results.size() ? plan.results[r] : Placements(static_cast<std::size_t>(p_.mesh.axes()));
    };
    if (plan.operands.size() != operands.size() || plan.steps.size() != operands.size() ||
        plan.results.size() != node.results.size()) {
      wrong(n, "the plan has another number of operands or results");
      return give_results();
    }
    bool whole = true;
    std::vector<Placements> arrived;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string what = "operand " + std::to_string(i);
      arrived.push_back(follow(n, what, operands[i], plan.steps[i]));
      if (arrived.back() != plan.operands[i])
        wrong(n, what + " arrives as " + to_string(arrived.back()) + ", and the node takes " +
                     to_string(plan.operands[i]));
      whole = whole && whole_parts(n, what, operands[i], plan.operands[i]);
    }
    for (std::size_t r = 0; r < node.results.size(); ++r)
      whole = whole_parts(n, "result " + std::to_string(r), node.results[r], plan.results[r]) && whole;
    const Relation relation = relation_of(g_, node);
    for (int a = 0; a < p_.mesh.axes(); ++a) {
      const auto axis = static_cast<std::size_t>(a);
      Way way;
      for (const Placements& p : plan.operands) way.operands.push_back(p.at(axis));
      for (const Placements& p : plan.results) way.results.push_back(p.at(axis));
      if (std::find(relation.ways.begin(), relation.ways.end(), way) != relation.ways.end()) continue;
      std::string text = "(";
      for (std::size_t i = 0; i < way.operands.size(); ++i) text += (i ? ", " : "") + to_string(way.operands[i]);
      text += ") ->";
      for (const Placement& p : way.results) text += " " + to_string(p);
      wrong(n, "along '" + p_.mesh.name(a) + "' the operator does not compute " + text);
      whole = false;
    }
    if (whole) shapes(n, node, plan, operands);
    give_results();
  }

  /// The operator's own shape rule, on the sizes of a rank.
  void shapes(std::int32_t n, const Node& node, const PlannedNode& plan, const std::vector<ValueId>& operands) {
    const auto local = [&](ValueId v, const Placements& p) {
      std::vector<std::int64_t> sizes = hints_of(g_.meta(v).layout.sizes);
      for (int a = 0; a < p_.mesh.axes(); ++a)
        if (const Placement& x = p[static_cast<std::size_t>(a)]; x.is_shard())
          sizes[static_cast<std::size_t>(x.dim())] /= p_.mesh.size(a);
      return sizes;
    };
    if (!plan.known || node.results.empty()) return;
    Graph rank;
    rank.env = g_.env;
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      TensorMeta m = g_.meta(operands[i]);
      m.layout.sizes = {};
      for (const std::int64_t s : local(operands[i], plan.operands[i])) m.layout.sizes.push_back(s);
      m.layout.strides = contiguous_strides(m.layout.sizes), m.layout.offset = 0;
      values.push_back(rank.add_input(m, "x"));
    }
    std::size_t next = 0;
    std::vector<graph::NodeArg> args = local_arguments(g_, node, local(node.results[0], plan.results[0]));
    for (graph::NodeArg& a : args) {
      if (std::holds_alternative<ValueId>(a)) a = values.at(next++);
      else if (auto* list = std::get_if<std::vector<ValueId>>(&a))
        for (ValueId& v : *list)
          if (v) v = values.at(next++);
    }
    try {
      rank.add(node.op, std::move(args), node.info);
      for (std::size_t r = 0; r < node.results.size(); ++r)
        if (hints_of(rank.meta(rank.nodes[0].results.at(r)).layout.sizes) != local(node.results[r], plan.results[r]))
          wrong(n, "a rank's result " + std::to_string(r) + " has other sizes than its placement " +
                       to_string(plan.results[r]) + " says");
    } catch (const Error& e) {
      wrong(n, "a rank cannot call it: " + std::string(e.what()));
    }
  }

  void region(const PlanConstraints::AtNode& c) {
    const PlannedNode& plan = p_.nodes.at(c.node);
    const auto compare = [&](const char* what, const std::vector<Placements>& is,
                             const std::vector<std::optional<Placements>>& wanted) {
      for (std::size_t i = 0; i < wanted.size() && i < is.size(); ++i)
        if (wanted[i] && *wanted[i] != is[i])
          wrong(static_cast<std::int32_t>(c.node), c.name + ": " + what + " " + std::to_string(i) + " is " +
                                                       to_string(is[i]) + ", and was to be " + to_string(*wanted[i]));
    };
    compare("operand", plan.operands, c.operands);
    compare("result", plan.results, c.results);
  }

  void output(std::size_t o) {
    const graph::OutputSpec& spec = g_.outputs[o];
    if (!spec.value) return;
    const std::string what = "result " + std::to_string(o);
    const Placements is = follow(-1, what, spec.value, p_.outputs[o].steps);
    if (is != p_.outputs[o].placement)
      wrong(-1, what + " arrives as " + to_string(is) + ", and the plan says " + to_string(p_.outputs[o].placement));
    const Placements* wanted = nullptr;
    if (const auto w = c_.outputs.find(static_cast<std::uint32_t>(o)); w != c_.outputs.end()) wanted = &w->second;
    else if (spec.kind == graph::OutputSpec::Kind::NewValueOfInput) wanted = &p_.inputs.at(spec.source);
    else if (spec.role == graph::OutputSpec::Role::Gradient && spec.of >= 0)
      wanted = &p_.inputs.at(static_cast<std::size_t>(spec.of));
    if (wanted) {
      if (is != *wanted) wrong(-1, what + " is " + to_string(is) + ", and was to be " + to_string(*wanted));
    } else if (std::any_of(is.begin(), is.end(), [](const Placement& p) { return p.is_partial(); })) {
      wrong(-1, what + " is left as " + to_string(is));
    }
  }

  const Graph& g_;
  const Plan& p_;
  const PlanConstraints& c_;
  std::vector<Placements> at_;
  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> check_plan(const Graph& g, const Plan& p, const PlanConstraints& c) {
  return Checker(g, p, c).run();
}

}  // namespace reprise::passes::placement
