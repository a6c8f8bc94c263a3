#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "passes/placement/costs.h"

/// Choosing one of few states for each of many variables, so that costs of states and of pairs of states are least.
namespace reprise::passes::placement {

/// A cost for each pair of states, row-major: of the first variable, then of the second.
using PairCosts = std::shared_ptr<const std::vector<Cost>>;

/// A pairwise energy. Costs must not be negative.
class Problem {
 public:
  struct Edge {
    int a, b;  ///< a < b
    PairCosts costs;
  };
  int add(std::vector<Cost> states);  ///< its number
  /// Costs of pairs, added to what is there. a != b.
  void connect(int a, int b, PairCosts);
  /// Of one variable with itself: the diagonal.
  void connect_self(int a, const PairCosts&);

  int variables() const { return static_cast<int>(states_.size()); }
  std::size_t states(int v) const { return states_[static_cast<std::size_t>(v)].size(); }
  const std::vector<Cost>& costs(int v) const { return states_[static_cast<std::size_t>(v)]; }
  const std::vector<Edge>& edges() const { return edges_; }
  Cost cost(const std::vector<int>& choice) const;

 private:
  std::vector<std::vector<Cost>> states_;
  std::vector<Edge> edges_;
  std::map<std::pair<int, int>, std::size_t> edge_of_;
};

struct Solution {
  std::vector<int> choice;
  Cost cost = 0;
  Cost bound = 0;      ///< no choice costs less
  bool exact = false;  ///< bound == cost, by elimination
  int core = 0;        ///< variables left to message passing
  int iterations = 0;
};

struct SolverLimits {
  /// States of tables that elimination may fill in all; above it messages are passed among what is left.
  double table_entries = 3e8;
  int iterations = 400;
  double gap = 1e-4;  ///< of the cost: good enough to stop
};

/// Eliminates variables while that needs no more than pairs; then all others, where the tables are small (exact), or
/// passes messages among them (TRW-S), which gives the bound, and searches in the neighbourhood of the choice. The same
/// for the same problem.
Solution minimize(const Problem&, const SolverLimits& = {});

/// Messages alone (messages.cc): TRW-S and local search.
Solution pass_messages(const Problem&, const SolverLimits&);

}  // namespace reprise::passes::placement
