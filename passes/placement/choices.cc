#include "passes/placement/choices.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "passes/placement/work.h"

namespace reprise::passes::placement {

using graph::Graph;
using graph::Node;
using graph::OutputSpec;
using graph::ValueId;

namespace {

constexpr const char* kOp = "plan_parallel";

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

void note(std::vector<ReduceOp>& set, ReduceOp r) {
  if (std::find(set.begin(), set.end(), r) == set.end()) set.push_back(r), std::sort(set.begin(), set.end());
}

bool holds(const std::vector<ReduceOp>& set, ReduceOp r) { return std::find(set.begin(), set.end(), r) != set.end(); }

std::string argument_text(const graph::NodeArg& a) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        std::string s;
        if constexpr (std::is_same_v<T, Int>) s = std::to_string(v.hint());
        else if constexpr (std::is_same_v<T, Ints>)
          for (const Int& i : v) s += std::to_string(i.hint()) + ",";
        else if constexpr (std::is_same_v<T, bool>) s = v ? "true" : "false";
        else if constexpr (std::is_same_v<T, DType>) s = dtype_short_name(v);
        else if constexpr (std::is_same_v<T, std::string>) s = v;
        else if constexpr (std::is_same_v<T, Scalar>) s = v.str();
        else if constexpr (std::is_same_v<T, std::vector<ValueId>>)
          for (const ValueId x : v) s += x ? "t" : "n";
        else if constexpr (std::is_same_v<T, ValueId>) s = "t";
        else if constexpr (!std::is_same_v<T, std::monostate>) s = "?";
        return s;
      },
      a);
}

}  // namespace

int ChoiceModel::variable_of(ValueId v) const {
  const graph::Value& value = g_.values[v.v];
  return value.node < 0 ? of_input_[value.result] : of_node_[idx(value.node)];
}

const Redistributions& ChoiceModel::table_of(ValueId v) {
  const TensorMeta& m = g_.meta(v);
  return tables_.of(hints_of(m.layout.sizes), m.dtype, partial_[v.v]);
}

std::string ChoiceModel::key_of(const Node& n) {
  std::string key = std::to_string(static_cast<int>(n.op));
  for (const graph::NodeArg& a : n.args) key += "|" + argument_text(a);
  for (const ValueId v : operands_of(n)) {
    key += ";" + std::string(dtype_short_name(g_.meta(v).dtype));
    for (const std::int64_t s : hints_of(g_.meta(v).layout.sizes)) key += " " + std::to_string(s);
    for (const ReduceOp r : partial_[v.v]) key += to_string(r);
  }
  return key;
}

ChoiceModel::Shared ChoiceModel::choices_of(const Node& n) {
  const std::vector<ValueId> operands = operands_of(n);
  Relation relation = relation_of(g_, n);
  // Parts that nobody leaves to be joined need no way of their own: a replicated value would only become parts for
  // nothing. Where other operands are sharded they stand beside a sum.
  std::erase_if(relation.ways, [&](const Way& w) {
    bool partial = false, real = false, sharded = false;
    for (std::size_t i = 0; i < w.operands.size(); ++i) {
      const Placement& p = w.operands[i];
      sharded = sharded || p.is_shard();
      if (p.is_partial()) partial = true, real = real || holds(partial_[operands[i].v], p.reduce());
    }
    return partial && !real && !sharded;
  });
  for (const Way& w : relation.ways)
    for (std::size_t i = 0; i < w.results.size(); ++i)
      if (w.results[i].is_partial()) note(partial_[n.results[i].v], w.results[i].reduce());
  // Operands that become parts of another reduction than their producer's.
  std::string key = key_of(n);
  if (const auto known = kinds_.find(key); known != kinds_.end()) return known->second;
  auto made = std::make_shared<Choices>();
  made->known = relation.known;
  for (const ValueId v : operands) made->operands.push_back(&table_of(v));
  for (const ValueId v : n.results) made->results.push_back(&table_of(v));
  const MeshShape& mesh = tables_.mesh();
  std::vector<std::size_t> at(idx(mesh.axes()), 0);
  std::vector<Placements> of_operand(operands.size(), Placements(at.size())),
      of_result(n.results.size(), Placements(at.size()));
  for (;;) {
    for (std::size_t a = 0; a < at.size(); ++a) {
      for (std::size_t i = 0; i < operands.size(); ++i) of_operand[i][a] = relation.ways[at[a]].operands[i];
      for (std::size_t i = 0; i < n.results.size(); ++i) of_result[i][a] = relation.ways[at[a]].results[i];
    }
    Choice c;
    bool fit = true;
    for (std::size_t i = 0; i < operands.size() && fit; ++i)
      c.operands.push_back(made->operands[i]->index(of_operand[i])), fit = c.operands.back() >= 0;
    for (std::size_t i = 0; i < n.results.size() && fit; ++i)
      c.results.push_back(made->results[i]->index(of_result[i])), fit = c.results.back() >= 0;
    if (fit) {
      c.compute = compute_cost(g_, n, of_operand, of_result, mesh, tables_.costs());
      made->all.push_back(std::move(c));
    }
    std::size_t a = at.size();
    while (a-- > 0) {
      if (mesh.size(static_cast<int>(a)) > 1 && ++at[a] < relation.ways.size()) break;
      at[a] = 0;
    }
    if (a == SIZE_MAX) break;
  }
  return kinds_[key] = made;
}

ChoiceModel::ChoiceModel(const Graph& g, RedistributionTables& tables, const PlanConstraints& constraints)
    : g_(g), tables_(tables), partial_(g.values.size()), of_input_(g.inputs.size(), -1), of_node_(g.nodes.size(), -1) {
  const auto add = [&](int what, Shared c) {
    order_.push_back(what), choices_.push_back(std::move(c));
    return static_cast<int>(choices_.size()) - 1;
  };
  const auto add_input = [&](std::uint32_t i) {
    const ValueId v = g.inputs[i].value;
    const Redistributions& table = table_of(v);
    auto made = std::make_shared<Choices>();
    made->results.push_back(&table);
    const auto wanted = constraints.inputs.find(i);
    for (int p = 0; p < static_cast<int>(table.count()); ++p)
      if (wanted == constraints.inputs.end() ? !table.has_partial(p) : table.at(p) == wanted->second)
        made->all.push_back({{}, {p}, 0});
    if (made->all.empty())
      fail(ErrorCode::InvalidArgument, kOp, {}, "input '", g.values[v.v].name, "' cannot be placed as ",
           to_string(wanted->second), " on ", to_string(tables.mesh()));
    of_input_[i] =
        add(static_cast<int>(i),
            wanted == constraints.inputs.end()
                ? kinds_.emplace("in " + std::to_string(reinterpret_cast<std::uintptr_t>(&table)), made).first->second
                : Shared(made));
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    for (const ValueId v : operands_of(g.nodes[n]))
      if (const graph::Value& value = g.values[v.v]; value.node < 0 && of_input_[value.result] < 0)
        add_input(value.result);
    of_node_[n] = add(-1 - static_cast<int>(n), choices_of(g.nodes[n]));
  }
  for (std::uint32_t i = 0; i < g.inputs.size(); ++i)
    if (of_input_[i] < 0) add_input(i);
  for (const PlanConstraints::AtNode& c : constraints.nodes) constrain(c);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const std::vector<ValueId> operands = operands_of(g.nodes[n]);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int from = variable_of(operands[i]), to = of_node_[n];
      const std::size_t result = g.values[operands[i].v].node < 0 ? 0 : g.values[operands[i].v].result;
      links_.push_back({from, result, to, i, pair(choices_[idx(from)], result, choices_[idx(to)], i)});
    }
  }
  add_outputs(constraints);
  links_of_.resize(choices_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    links_of_[idx(links_[i].from)].push_back(i);
    if (links_[i].to != links_[i].from) links_of_[idx(links_[i].to)].push_back(i);
  }
}

void ChoiceModel::constrain(const PlanConstraints::AtNode& c) {
  Shared& of = choices_[idx(of_node_.at(c.node))];
  auto made = std::make_shared<Choices>(*of);
  const auto keeps = [](const std::vector<const Redistributions*>& tables, const std::vector<int>& placed,
                        const std::vector<std::optional<Placements>>& wanted) {
    for (std::size_t i = 0; i < wanted.size() && i < placed.size(); ++i)
      if (wanted[i] && tables[i]->at(placed[i]) != *wanted[i]) return false;
    return true;
  };
  std::erase_if(made->all, [&](const Choice& x) {
    return !keeps(made->operands, x.operands, c.operands) || !keeps(made->results, x.results, c.results);
  });
  if (made->all.empty()) {
    const Node& n = g_.nodes[c.node];
    std::string wanted = "(";
    for (std::size_t i = 0; i < c.operands.size(); ++i)
      wanted += (i ? ", " : "") + (c.operands[i] ? to_string(*c.operands[i]) : "any");
    wanted += ") ->";
    for (const auto& r : c.results) wanted += " " + (r ? to_string(*r) : "any");
    fail(ErrorCode::InvalidArgument, kOp, n.info.loc, c.name, ": ", graph::op(n.op).schema.name,
         " cannot be computed as ", wanted, " on ", to_string(tables_.mesh()),
         of->known ? "" : ": nothing is known of how its dimensions depend on each other");
  }
  of = std::move(made);
}

void ChoiceModel::add_outputs(const PlanConstraints& constraints) {
  outputs_.resize(g_.outputs.size());
  output_costs_.resize(choices_.size());
  for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
    const OutputSpec& spec = g_.outputs[o];
    const auto wanted = constraints.outputs.find(o);
    if (!spec.value) {
      if (wanted != constraints.outputs.end())
        fail(ErrorCode::InvalidArgument, kOp, {}, "result ", o, " is a view of an argument: it lies as that does");
      continue;
    }
    Output out{spec.value, std::nullopt, -1};
    if (wanted != constraints.outputs.end()) out.wanted = wanted->second;
    else if (spec.kind == OutputSpec::Kind::NewValueOfInput) out.follows = static_cast<int>(spec.source);
    else if (spec.role == OutputSpec::Role::Gradient && spec.of >= 0) out.follows = spec.of;
    const int from = variable_of(spec.value);
    const graph::Value& value = g_.values[spec.value.v];
    const std::size_t result = value.node < 0 ? 0 : value.result;
    const Shared& c = choices_[idx(from)];
    const Redistributions& table = *c->results[result];
    if (out.wanted && table.index(*out.wanted) < 0)
      fail(ErrorCode::InvalidArgument, kOp, {}, "result ", o, " cannot be placed as ", to_string(*out.wanted), " on ",
           to_string(tables_.mesh()));
    if (out.follows >= 0) {
      const int to = of_input_[idx(out.follows)];
      links_.push_back({from, result, to, SIZE_MAX, pair_of_output(c, result, choices_[idx(to)])});
    } else {
      std::vector<Cost>& costs = output_costs_[idx(from)];
      costs.resize(c->all.size(), 0);
      for (std::size_t s = 0; s < c->all.size(); ++s) {
        const int p = c->all[s].results[result];
        if (out.wanted) costs[s] += table.cost(p, table.index(*out.wanted));
        else if (table.has_partial(p)) {
          Cost least = INT64_MAX;
          for (int q = 0; q < static_cast<int>(table.count()); ++q)
            if (!table.has_partial(q)) least = std::min(least, table.cost(p, q));
          costs[s] += least;
        }
      }
    }
    outputs_[o] = std::move(out);
  }
}

PairCosts ChoiceModel::pair(const Shared& from, std::size_t result, const Shared& to, std::size_t operand) const {
  PairCosts& made = pairs_[{from.get(), result, to.get(), operand}];
  if (made) return made;
  const Redistributions& table = *to->operands[operand];
  auto costs = std::make_shared<std::vector<Cost>>();
  costs->reserve(from->all.size() * to->all.size());
  for (const Choice& a : from->all) {
    const int p = a.results[result];
    for (const Choice& b : to->all) costs->push_back(table.cost(p, b.operands[operand]));
  }
  return made = std::move(costs);
}

PairCosts ChoiceModel::pair_of_output(const Shared& from, std::size_t result, const Shared& input) const {
  PairCosts& made = pairs_[{from.get(), result, input.get(), SIZE_MAX}];
  if (made) return made;
  const Redistributions& table = *from->results[result];
  auto costs = std::make_shared<std::vector<Cost>>();
  for (const Choice& a : from->all)
    for (const Choice& b : input->all)
      costs->push_back(table.cost(a.results[result], table.index(input->results[0]->at(b.results[0]))));
  return made = std::move(costs);
}

Problem ChoiceModel::problem(double price, const std::vector<double>& weight) const {
  Problem p;
  for (std::size_t v = 0; v < choices_.size(); ++v) {
    std::vector<Cost> costs;
    for (std::size_t s = 0; s < choices_[v]->all.size(); ++s) {
      const Choice& c = choices_[v]->all[s];
      Cost cost = c.compute + (output_costs_[v].empty() ? 0 : output_costs_[v][s]);
      if (price > 0) {
        for (std::size_t r = 0; r < c.results.size(); ++r) {
          const ValueId value =
              order_[v] >= 0 ? g_.inputs[idx(order_[v])].value : g_.nodes[idx(-1 - order_[v])].results[r];
          cost += static_cast<Cost>(std::floor(
              price * weight[value.v] * static_cast<double>(choices_[v]->results[r]->local_bytes(c.results[r]))));
        }
      }
      costs.push_back(cost);
    }
    p.add(std::move(costs));
  }
  for (const Link& l : links_) {
    if (l.from == l.to) p.connect_self(l.from, l.costs);
    else p.connect(l.from, l.to, l.costs);
  }
  return p;
}

Plan ChoiceModel::plan(const std::vector<int>& choice) const {
  Plan plan;
  plan.mesh = tables_.mesh();
  const auto chosen = [&](int v) -> const Choice& { return choices_[idx(v)]->all[idx(choice[idx(v)])]; };
  for (std::size_t i = 0; i < g_.inputs.size(); ++i)
    plan.inputs.push_back(choices_[idx(of_input_[i])]->results[0]->at(chosen(of_input_[i]).results[0]));
  const auto placed = [&](ValueId v) {
    return chosen(variable_of(v)).results[g_.values[v.v].node < 0 ? 0 : g_.values[v.v].result];
  };
  for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
    const Node& node = g_.nodes[n];
    const Choices& c = *choices_[idx(of_node_[n])];
    const Choice& x = chosen(of_node_[n]);
    PlannedNode out;
    out.compute = x.compute, out.known = c.known;
    const std::vector<ValueId> operands = operands_of(node);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      out.operands.push_back(c.operands[i]->at(x.operands[i]));
      out.steps.push_back(c.operands[i]->steps(placed(operands[i]), x.operands[i]));
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      out.results.push_back(c.results[r]->at(x.results[r]));
      if (graph::op(node.op).cls != graph::OpClass::View) out.memory += c.results[r]->local_bytes(x.results[r]);
    }
    plan.cost += out.cost();
    plan.nodes.push_back(std::move(out));
  }
  for (const std::optional<Output>& o : outputs_) {
    PlannedOutput out;
    if (o) {
      const graph::Value& value = g_.values[o->value.v];
      const Redistributions& table = *choices_[idx(variable_of(o->value))]->results[value.node < 0 ? 0 : value.result];
      const int from = placed(o->value);
      int to = from;
      if (o->wanted) to = table.index(*o->wanted);
      else if (o->follows >= 0) to = table.index(plan.inputs[idx(o->follows)]);
      else if (table.has_partial(from)) {
        for (int q = 0; q < static_cast<int>(table.count()); ++q)
          if (!table.has_partial(q) && (table.has_partial(to) || table.cost(from, q) < table.cost(from, to))) to = q;
      }
      out.placement = table.at(to);
      out.steps = table.steps(from, to);
      plan.cost += out.cost();
    }
    plan.outputs.push_back(std::move(out));
  }
  plan.kinds = kinds();
  plan.variables = static_cast<int>(choices_.size());
  return plan;
}

}  // namespace reprise::passes::placement
