#pragma once
#include "graph/graph.h"

namespace reprise::graph {

/// Puts f(v) in the place of each value among a node's argument, of views their bases; missing elements of a Tensor?[] are passed over.
/// The counterpart of for_each_value.
template <class F>
void map_values(NodeArg& a, F&& f) {
  if (auto* v = std::get_if<ValueId>(&a)) *v = f(*v);
  else if (auto* w = std::get_if<ViewArg>(&a)) w->base = f(w->base);
  else if (auto* l = std::get_if<std::vector<ValueId>>(&a))
    for (ValueId& x : *l)
      if (x) x = f(x);
}

}  // namespace reprise::graph
