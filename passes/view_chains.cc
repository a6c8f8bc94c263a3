#include "passes/view_chains.h"

#include <algorithm>

#include "graph/view_column.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::ValueId;

bool only_splits(const Ints& of, const Ints& to) {
  std::size_t at = 0;
  for (Int size : of) {
    Int made = 1;
    do {
      if (at == to.size()) return false;
      made = made * to[at++];
    } while (!identical(made, size) && at < to.size());
    if (!identical(made, size)) return false;
  }
  return at == to.size();
}

const Node* view_of(const Graph& g, ValueId v) {
  const std::int32_t n = g.values[v.v].node;
  return n >= 0 && is_view(g.nodes[static_cast<std::size_t>(n)]) ? &g.nodes[static_cast<std::size_t>(n)] : nullptr;
}

std::vector<ValueId> chain_of(const Graph& g, ValueId v, ValueId from) {
  std::vector<ValueId> views;
  for (const Node* n; v != from && (n = view_of(g, v)); v = operand(*n)) {
    views.push_back(v);
    if (graph::is_view_of_storage(n->op)) break;
  }
  std::reverse(views.begin(), views.end());
  return views;
}

bool any_strides(const Graph& g, ValueId v) {
  auto sizes = [&](ValueId of) -> const Ints& { return g.meta(of).layout.sizes; };
  for (const Node* n; (n = view_of(g, v)); v = operand(*n)) {
    const graph::ViewOf of = graph::view_facts_of(n->op).of;
    if (of != graph::ViewOf::Operand && !(of == graph::ViewOf::JoinedDims && only_splits(sizes(operand(*n)), sizes(v))))
      return false;
  }
  return true;
}

Layout replay_layout(const Graph& g, ValueId v, ValueId from, Layout l, SourceLoc loc) {
  for (ValueId view : chain_of(g, v, from)) {
    const Node& n = *view_of(g, view);
    graph::NodeRuleArgs rest(g, n.args);
    std::vector<graph::RuleArg> args(rest.args().begin(), rest.args().end());
    TensorMeta self = g.meta(operand(n));
    self.layout = std::move(l);
    args[0] = &self;
    l = graph::apply_view(graph::op(n.op), args, self.layout, loc, graph::Strides::All);
  }
  return l;
}

}  // namespace reprise::passes
