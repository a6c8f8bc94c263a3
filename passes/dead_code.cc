#include "base/errors.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::ValueId;

bool remove_dead(Graph& g) {
  std::vector<bool> live(g.values.size(), false), keep(g.nodes.size(), false);
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) live[o.value.v] = true;
  bool changed = false;
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& node = g.nodes[i];
    bool used = graph::effects_of(node).any();
    for (ValueId r : node.results) used = used || live[r.v];
    keep[i] = used;
    changed = changed || !used;
    if (used) graph::for_each_value(node, [&](ValueId v) { live[v.v] = true; });
  }
  if (!changed) return false;
  g.erase_nodes(keep);
  g.compact();
  return true;
}

}  // namespace reprise::passes
