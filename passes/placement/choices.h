#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/placement/costs.h"
#include "passes/placement/plan.h"
#include "passes/placement/problem.h"
#include "passes/placement/relation.h"

/// A graph's placements as a Problem: a variable for each input and each node.
namespace reprise::passes::placement {

/// What a node may do on the whole mesh: a way of its relation for each axis.
struct Choice {
  std::vector<int> operands, results;  ///< placements, by number in their tables
  Cost compute = 0;
};
struct Choices {
  std::vector<const Redistributions*> operands, results;
  std::vector<Choice> all;
  bool known = true;
};

class ChoiceModel {
 public:
  /// Throws InvalidArgument for constraints that nothing keeps.
  ChoiceModel(const graph::Graph&, RedistributionTables&, const PlanConstraints&);

  /// `price`: nanoseconds for a byte; `weight`: by value, how much of its bytes counts.
  Problem problem(double price, const std::vector<double>& weight) const;
  /// What a choice by variable is as a plan.
  Plan plan(const std::vector<int>& choice) const;

  /// Of choices that cost the same, those of less memory: one variable after another, all else as it is.
  void save_memory(std::vector<int>& choice) const;
  /// The redistributions that cost most, five at most.
  std::vector<Expensive> most_expensive(const std::vector<int>& choice) const;

  int kinds() const { return static_cast<int>(kinds_.size()); }

 private:
  using Shared = std::shared_ptr<const Choices>;
  const Redistributions& table_of(graph::ValueId);
  std::string key_of(const graph::Node&);
  Shared choices_of(const graph::Node&);
  void constrain(const PlanConstraints::AtNode&);
  void add_outputs(const PlanConstraints&);
  PairCosts pair(const Shared& from, std::size_t result, const Shared& to, std::size_t operand) const;
  PairCosts pair_of_output(const Shared& from, std::size_t result, const Shared& input) const;

  const graph::Graph& g_;
  RedistributionTables& tables_;
  std::vector<std::vector<ReduceOp>> partial_;  // by value: what its producer may leave to be joined
  std::map<std::string, Shared> kinds_;
  std::vector<Shared> choices_;  // by variable
  std::vector<int> order_;       // of what a variable is: an input i, or a node -1 - n
  std::vector<int> of_input_, of_node_;
  struct Link {
    int from;
    std::size_t result;
    int to;
    std::size_t operand;
    PairCosts costs;
  };
  std::vector<Link> links_;
  std::vector<std::vector<std::size_t>> links_of_;  // by variable
  Cost cost_of(const Link& l, int from_state, int to_state) const;
  /// What a variable and its links cost in a state.
  Cost around(const std::vector<int>& choice, int v, int state) const;
  struct Output {
    graph::ValueId value;
    std::optional<Placements> wanted;
    int follows = -1;  // the input
  };
  std::vector<std::optional<Output>> outputs_;
  std::vector<std::vector<Cost>> output_costs_;  // by variable and state
  mutable std::map<std::tuple<const Choices*, std::size_t, const Choices*, std::size_t>, PairCosts> pairs_;

  int variable_of(graph::ValueId v) const;
};

}  // namespace reprise::passes::placement
