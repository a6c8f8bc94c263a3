#pragma once
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace reprise::graph {

/// Puts f(v) in the place of each value among a node's argument, of views their bases; missing elements of a Tensor?[]
/// are passed over. The counterpart of for_each_value.
template <class F>
void map_values(NodeArg& a, F&& f) {
  if (auto* v = std::get_if<ValueId>(&a)) *v = f(*v);
  else if (auto* w = std::get_if<ViewArg>(&a)) w->base = f(w->base);
  else if (auto* l = std::get_if<std::vector<ValueId>>(&a))
    for (ValueId& x : *l)
      if (x) x = f(x);
}

/// Appends a copy of a node of `from`. now: by value of `from`, what stands for it in `to`; it learns where the results
/// are. What is tied is left to the caller.
inline Node& append_copy(const Graph& from, const Node& n, Graph& to, std::vector<ValueId>& now) {
  std::vector<NodeArg> args = n.args;
  for (NodeArg& a : args) map_values(a, [&](ValueId v) { return now[v.v]; });
  std::vector<TensorMeta> metas;
  for (ValueId r : n.results) metas.push_back(from.meta(r));
  to.append(n.op, std::move(args), std::move(metas), n.info);
  Node& made = to.nodes.back();
  made.keeps_self = n.keeps_self, made.keeps_part = n.keeps_part;
  for (std::size_t i = 0; i < n.results.size(); ++i) now[n.results[i].v] = made.results[i];
  return made;
}

}  // namespace reprise::graph
