#pragma once
#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace reprise::detail {

/// What the integers of a graph are where it is called: expressions of its environment, in terms of Ints of here.
class NumbersOf {
 public:
  /// The expressions whose values must be told: symbols, and what is computed of them in another way than integers are.
  static std::vector<const guards::Expr*> of(const graph::Graph&);

  NumbersOf(std::span<const guards::Expr* const> told, std::span<const Int> values);
  Int operator()(Int) const;

 private:
  Int of(const guards::Expr*) const;
  std::span<const guards::Expr* const> told_;
  std::span<const Int> values_;
};

/// Calls what the nodes of a functional graph call, in order, as a program would: eagerly, or in a trace, whose calls then belong to the same forward calls. Gives the outputs. Throws NotTraceable
/// for nodes that no program calls (regions, written views).
std::vector<Tensor> call_graph(const graph::Graph&, std::span<const Tensor> inputs, const NumbersOf&);

}  // namespace reprise::detail
