#include "passes/placement/relation.h"

#include <algorithm>

#include "graph/shape_rules.h"

namespace reprise::passes::placement {

using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::ValueId;

std::vector<ValueId> operands_of(const Node& n) {
  std::vector<ValueId> all;
  graph::for_each_value(n, [&](ValueId v) {
    if (v) all.push_back(v);
  });
  return all;
}

std::vector<std::int64_t> hints_of(const Ints& sizes) {
  std::vector<std::int64_t> out;
  for (const Int& s : sizes) out.push_back(s.hint());
  return out;
}

std::vector<NodeArg> local_arguments(const graph::Graph& g, const Node& n, const std::vector<std::int64_t>& sizes) {
  std::vector<NodeArg> args = n.args;
  const graph::OpDef& op = graph::op(n.op);
  if (op.cls != OpClass::View && op.cls != OpClass::Creation) return args;
  if (const int at = op.schema.find("size");
      at >= 0 && std::holds_alternative<Ints>(args[static_cast<std::size_t>(at)])) {
    Ints local;
    for (const std::int64_t s : sizes) local.push_back(s);
    args[static_cast<std::size_t>(at)] = std::move(local);
  }
  // Which dimensions are left out is told by the whole's sizes: a part may have others of size 1.
  if (const int at = op.schema.find("dim");
      at >= 0 && op.schema.args[static_cast<std::size_t>(at)].type == graph::ArgType::OptionalInts) {
    const std::vector<std::int64_t> whole = hints_of(g.meta(std::get<ValueId>(n.args[0])).layout.sizes);
    const graph::NodeRuleArgs rule_args(g, n.args);
    Ints ones;
    for (const int d : graph::reduced_dims(rule_args.args()[static_cast<std::size_t>(at)],
                                           static_cast<int>(whole.size()), op.schema.name.c_str(), n.info.loc))
      if (whole[static_cast<std::size_t>(d)] == 1) ones.push_back(d);
    args[static_cast<std::size_t>(at)] = std::move(ones);
  }
  return args;
}

RelationCtx::RelationCtx(const graph::Graph& graph, const Node& node) : g(graph), n(node), op(graph::op(node.op)) {
  for (const NodeArg& a : n.args) {
    const std::size_t before = operand_.size();
    graph::for_each_value(a, [&](ValueId v) {
      if (v) operand_.push_back(v);
    });
    first_.push_back(operand_.size() > before ? static_cast<int>(before) : -1);
  }
  for (const ValueId v : operand_) operand_sizes_.push_back(hints_of(g.meta(v).layout.sizes));
  for (const ValueId v : n.results) result_sizes_.push_back(hints_of(g.meta(v).layout.sizes));
  made_.ways.push_back(replicated());
}

std::vector<int> RelationCtx::dims(int rank) const {
  const graph::NodeRuleArgs args(g, n.args);
  return graph::reduced_dims(args.args()[idx(arg("dim"))], rank, op.schema.name.c_str(), n.info.loc);
}

void RelationCtx::add(Way w) {
  if (std::find(made_.ways.begin(), made_.ways.end(), w) == made_.ways.end()) made_.ways.push_back(std::move(w));
}

void RelationCtx::add_partial(const std::vector<int>& partial, ReduceOp reduce) {
  if (partial.empty()) return;
  for (const int i : partial) {
    const DType t = meta(i).dtype;
    if (is_storage_only(t)) return;
    if (t == DType::Bool && (reduce == ReduceOp::Sum || reduce == ReduceOp::Mean)) return;
    if (!is_floating(t) && reduce == ReduceOp::Mean) return;
  }
  Way w = replicated();
  for (const int i : partial) w.operands.at(idx(i)) = Partial(reduce);
  for (Placement& p : w.results) p = Partial(reduce);
  add(std::move(w));
}

namespace {

constexpr ReduceOp kLinearReductions[] = {ReduceOp::Sum, ReduceOp::Mean};

/// Partial operands of what is linear in them. A result of fewer bits would round each part.
void add_linear(RelationCtx& c, Linear linear) {
  const int n = static_cast<int>(c.operands());
  if (n == 0 || c.results() != 1) return;
  const auto keeps = [&](int i) {
    const DType from = c.meta(i).dtype, to = c.result_meta().dtype;
    return from == to || (is_floating(from) && is_floating(to) && item_size(to) >= item_size(from));
  };
  std::vector<int> all;
  for (int i = 0; i < n; ++i) {
    if (!keeps(i)) return;
    all.push_back(i);
  }
  bool numbers = false;  // a number stands where a tensor may
  for (std::size_t i = 0; i < c.n.args.size(); ++i)
    numbers =
        numbers || (c.op.schema.args[i].type == graph::ArgType::TensorOrScalar && c.operand(static_cast<int>(i)) < 0);
  for (const ReduceOp reduce : kLinearReductions) {
    if (reduce == ReduceOp::Mean && !is_floating(c.result_meta().dtype)) continue;
    switch (linear) {
      case Linear::No: break;
      case Linear::First:
        if (c.operand(0) == 0) c.add_partial({0}, reduce);
        break;
      case Linear::One:
        for (const int i : all) c.add_partial({i}, reduce);
        break;
      case Linear::All:
        if (!numbers) c.add_partial(all, reduce);
        break;
    }
  }
}

bool rounds(const RelationCtx& c) { return c.has(c.arg("rounding_mode")); }

RelationRule rule_of(OpClass cls) {
  if (cls == OpClass::Pointwise) return relations::pointwise;
  if (cls == OpClass::View) return relations::view;
  return nullptr;
}

}  // namespace

Relation relation_of(const graph::Graph& g, const Node& n) {
  RelationCtx c(g, n);
  const bool has_views = std::any_of(n.args.begin(), n.args.end(), [](const NodeArg& a) {
    return std::holds_alternative<graph::ViewArg>(a) || std::holds_alternative<graph::Region>(a);
  });
  const RelationFacts* facts = relation_facts().find(n.op);
  const RelationRule rule = facts && facts->rule ? facts->rule : rule_of(c.op.cls);
  if (!rule || has_views || !c.op.writes.empty() || n.inplace) {
    c.known() = false;
    return c.take();
  }
  rule(c);
  if (facts && facts->linear != Linear::No && !rounds(c)) add_linear(c, facts->linear);
  return c.take();
}

void add_labelled(RelationCtx& c, const Labels& l) {
  std::vector<int> all;
  const auto note = [&](const std::vector<std::vector<int>>& of) {
    for (const std::vector<int>& dims : of)
      for (const int label : dims)
        if (label != kNoLabel && std::find(all.begin(), all.end(), label) == all.end()) all.push_back(label);
  };
  note(l.results), note(l.operands);
  const auto dim_of = [](const std::vector<int>& dims, int label) {
    return static_cast<int>(std::find(dims.begin(), dims.end(), label) - dims.begin());
  };
  const auto has = [](const std::vector<int>& of, int x) { return std::find(of.begin(), of.end(), x) != of.end(); };
  for (const int label : all) {
    if (has(l.whole, label)) continue;
    Way w = c.replicated();
    bool contracted = false;
    for (std::size_t i = 0; i < l.results.size(); ++i) {
      if (has(l.results[i], label)) w.results[i] = Shard(dim_of(l.results[i], label));
      else contracted = true;
    }
    if (contracted && (!l.sums || c.result_meta().dtype == DType::Bool)) continue;
    for (std::size_t i = 0; i < l.operands.size(); ++i)
      if (has(l.operands[i], label)) w.operands[i] = Shard(dim_of(l.operands[i], label));
      else if (contracted && has(l.addends, static_cast<int>(i))) w.operands[i] = Partial();
    if (contracted)
      for (Placement& p : w.results) p = Partial();
    c.add(std::move(w));
  }
}

}  // namespace reprise::passes::placement
