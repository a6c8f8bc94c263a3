#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reprise/dtype.h"
#include "reprise/placement.h"
#include "reprise/placement_costs.h"

/// What it costs to bring a tensor from one placement to another.
namespace reprise::passes::placement {

/// Nanoseconds: sums of integers are exact in any order.
using Cost = std::int64_t;

using Sizes = std::vector<std::int64_t>;

enum class Collective : std::uint8_t {
  Slice,  ///< a rank keeps a part of what it has: costs nothing
  Part,   ///< R -> P: one rank keeps its value, others take what changes nothing (of a mean all keep it)
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
};
std::string to_string(Collective);

/// One collective along one axis.
struct Step {
  int axis = 0;
  Placement from, to;
  Collective kind = Collective::Slice;
  std::int64_t bytes = 0;  ///< that each rank sends
  Cost cost = 0;
  bool operator==(const Step&) const = default;
};

/// Sizes of a rank's part.
Sizes local_sizes(const Sizes&, const Placements&, const MeshShape&);
/// Can it be so placed? Sharded dimensions must be there and divide evenly among the ranks of all their axes; parts of
/// different reductions do not mix.
bool fits(const Sizes&, const Placements&, const MeshShape&);

/// All placements of tensors of some sizes on a mesh, and the cheapest way between any two.
///
/// A step changes one axis. A dimension that several axes shard is split by the first one first, so that a step may
/// make or undo the Shard of a dimension only where no later axis shards it.
class Redistributions {
 public:
  /// Partial placements are those of the sum, and of the reductions given beside it.
  Redistributions(const MeshShape&, const PlacementCosts&, Sizes, std::int64_t item_size,
                  const std::vector<ReduceOp>& more);

  std::size_t count() const { return all_.size(); }
  const Placements& at(int i) const { return all_[static_cast<std::size_t>(i)]; }
  int index(const Placements&) const;  ///< -1: it does not fit
  std::int64_t local_bytes(int i) const { return bytes_[static_cast<std::size_t>(i)]; }
  bool has_partial(int i) const { return partial_[static_cast<std::size_t>(i)]; }

  Cost cost(int from, int to) const { return row(from).cost[static_cast<std::size_t>(to)]; }
  std::vector<Step> steps(int from, int to) const;

 private:
  struct Row {
    std::vector<Cost> cost;
    std::vector<int> before, hops;
  };
  const Row& row(int from) const;
  Step step(int from, int axis, const Placement& to) const;
  bool legal(const Placements&, int axis, const Placement& to) const;

  const MeshShape mesh_;
  const PlacementCosts costs_;
  std::vector<Placement> choices_;
  std::vector<Placements> all_;
  std::vector<int> number_of_code_;
  std::vector<std::int64_t> bytes_;
  std::vector<bool> partial_;
  mutable std::vector<std::unique_ptr<Row>> rows_;
  std::size_t code(const Placements&) const;
};

/// One for all tensors of a kind. Not for several threads.
class RedistributionTables {
 public:
  RedistributionTables(MeshShape mesh, PlacementCosts costs) : mesh_(std::move(mesh)), costs_(std::move(costs)) {}
  const Redistributions& of(const Sizes&, DType, const std::vector<ReduceOp>& more);
  const MeshShape& mesh() const { return mesh_; }
  const PlacementCosts& costs() const { return costs_; }

 private:
  MeshShape mesh_;
  PlacementCosts costs_;
  std::map<std::string, std::unique_ptr<Redistributions>> made_;
};

/// Throws InvalidArgument, naming `op`, for numbers that are not positive.
void check_costs(const PlacementCosts&, const char* op);

}  // namespace reprise::passes::placement
