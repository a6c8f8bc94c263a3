#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/placement/costs.h"
#include "passes/placement/problem.h"

/// The placement solver (docs/placement.md).
namespace reprise::passes::placement {

/// What a plan must keep.
struct PlanConstraints {
  std::map<std::uint32_t, Placements> inputs, outputs;  ///< by number
  struct AtNode {
    std::uint32_t node;
    std::vector<std::optional<Placements>> operands, results;  ///< missing ones are free
    std::string name;                                          ///< in messages and reports
  };
  std::vector<AtNode> nodes;
  std::int64_t memory_per_rank = 0;  ///< bytes; 0: any
};

struct PlannedNode {
  std::vector<Placements> operands, results;
  std::vector<std::vector<Step>> steps;  ///< by operand: what brings it there
  Cost compute = 0;
  std::int64_t memory = 0;  ///< bytes of its results on each rank; 0 of views
  bool known = true;        ///< false: of an operator without a relation, so all is replicated
  Cost cost() const;
};
struct PlannedOutput {
  Placements placement;  ///< empty: it aliases something else
  std::vector<Step> steps;
  Cost cost() const;
};

/// An expensive redistribution, and what one other choice, all else as it is, would make of it.
struct Expensive {
  std::uint32_t node = 0, operand = 0;
  Cost cost = 0;
  enum class Without : std::uint8_t {
    Nothing,   ///< no single choice leaves it out
    Producer,  ///< the operand made as `placement`, as the node takes it
    Consumer,  ///< the node taking the operand as it is, `placement`
  } without = Without::Nothing;
  Placements placement;
  Cost change = 0;  ///< of the whole plan's cost
};

struct Plan {
  MeshShape mesh;
  std::vector<Placements> inputs;
  std::vector<PlannedNode> nodes;
  std::vector<PlannedOutput> outputs;
  Cost cost = 0;   ///< the sum of its nodes' and outputs' costs
  Cost bound = 0;  ///< no plan that keeps the constraints costs less
  bool exact = false;
  int kinds = 0;  ///< different nodes: equal ones share what they may do
  int variables = 0, core = 0, iterations = 0;
  std::int64_t peak = 0;                  ///< bytes on each rank
  std::int32_t peak_node = -1;            ///< while this one runs; -1: before the first
  std::vector<Expensive> most_expensive;  ///< five at most
};

/// Where the tensors of a functional graph lie, for the least sum of computation and communication. Gradients of inputs
/// and new values of inputs lie as the input does, unless constraints say otherwise; other outputs anywhere, but not as
/// partial values. Sizes count by their hints. Deterministic. Throws InvalidArgument for constraints that nothing
/// keeps: naming the input, output or node, or the least memory that was found.
Plan make_plan(const graph::Graph&, const MeshShape&, const PlanConstraints& = {}, const PlacementCosts& = {},
               const SolverLimits& = {});

/// Bytes on each rank while the nodes run in order: inputs all the time, results until they are last used, copies that
/// redistributions make while the node runs.
struct MemoryUse {
  std::vector<std::int64_t> at;  ///< by node; the last is after all
  std::int64_t peak = 0;
  std::int32_t peak_node = -1;
};
MemoryUse memory_of(const graph::Graph&, const Plan&);

/// By value: the value that its memory is (a view's operand's, ...), and the node until whose end that is kept.
struct Lifetimes {
  std::vector<std::uint32_t> root;
  std::vector<std::int32_t> last;
};
Lifetimes lifetimes_of(const graph::Graph&);

}  // namespace reprise::passes::placement
