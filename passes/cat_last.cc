#include "base/errors.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

namespace {

/// How often each value is used, by nodes and as a result.
std::vector<int> count_uses(const graph::Graph& g) {
  std::vector<int> uses(g.values.size());
  for (const Node& node : g.nodes) graph::for_each_value(node, [&](ValueId v) { ++uses[v.v]; });
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) ++uses[o.value.v];
  return uses;
}

/// Works on each element of its first operand alone, which is its only tensor.
bool is_elementwise_of_one(const Node& node) {
  if (graph::op(node.op).cls != OpClass::Pointwise) return false;
  int tensors = 0;
  graph::for_each_value(node, [&](ValueId) { ++tensors; });
  return tensors == 1 && std::holds_alternative<ValueId>(node.args[0]);
}

/// A join of a list has nothing but the list's elements in it.
bool joins_all(const Node& node) {
  return graph::op(node.op).cls == OpClass::Join && std::holds_alternative<std::vector<ValueId>>(node.args[0]);
}

}  // namespace

bool cat_last(graph::Graph& g) {
  const std::vector<int> uses = count_uses(g);
  return rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
    if (!is_elementwise_of_one(s.node) || uses[std::get<ValueId>(s.node.args[0]).v] != 1) return std::nullopt;
    const Node* cat = rw.maker(std::get<ValueId>(s.args[0]));
    if (!cat || !joins_all(*cat)) return std::nullopt;
    const TensorMeta whole = rw.meta(cat->results[0]);
    // The joined values are what memory holds: they must not grow.
    if (item_size(s.result.dtype) > item_size(whole.dtype)) return std::nullopt;
    const OpId join = cat->op;
    std::vector<NodeArg> joined = cat->args;  // emitting moves the nodes
    auto& parts = std::get<std::vector<ValueId>>(joined[0]);
    for (ValueId p : parts) {
      // A part of another dtype is converted by the cat, before the operator.
      if (rw.meta(p).dtype != whole.dtype || rw.meta(p).dim() != whole.dim()) return std::nullopt;
    }
    for (ValueId& p : parts) {
      std::vector<NodeArg> args = s.args;
      args[0] = p;
      p = rw.emit(s.node.op, std::move(args));
    }
    return {{rw.emit(join, std::move(joined))}};
  });
}

}  // namespace reprise::passes
