#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/export.h"
#include "reprise/placement.h"
#include "reprise/placement_costs.h"
#include "reprise/visible.h"

/// Where the tensors of a function lie on a mesh of ranks (docs/placement.md): the function is traced, as
/// export_program() does, and each operator gets the placements of its operands and results that together cost least.
///
///   rp::ParallelPlan p = rp::plan_parallel(step, std::tuple(x, y, w1, w2), rp::MeshShape({8, 8}, {"dp", "tp"}),
///                                          {.program = {.arguments = {"x", "y", "w1", "w2"}, .trace_joint = true}});
///   std::cout << p.report();
namespace reprise REPRISE_VISIBLE {

/// What the nodes of an operator within a scope must keep, as a local_map would.
struct RegionPlacement {
  std::string name;     ///< in messages and the report
  std::string op;       ///< "scaled_dot_product_attention"
  std::string scope{};  ///< of nodes within this name scope alone: "layers[3].attention"; "": of all
  std::vector<std::optional<Placements>> in{}, out{};  ///< tensor operands and results in order; std::nullopt is free
};

struct ParallelOptions {
  ExportOptions program = {};  ///< how the function is traced; trace_joint for a training step
  /// By path, as the graph calls its inputs: "x", "layers[0].w". Others are chosen.
  std::map<std::string, Placements> inputs = {};
  /// By the path of the input whose gradient it is. Others lie as the input does.
  std::map<std::string, Placements> gradients = {};
  /// By number of the tensor result. Others lie anywhere, but are never partial.
  std::map<int, Placements> results = {};
  std::vector<RegionPlacement> regions = {};
  std::int64_t memory_per_rank = 0;  ///< bytes at the peak; 0: any
  PlacementCosts costs = {};
};

/// One operator of a plan. Costs are microseconds.
struct PlacedNode {
  std::string call;   ///< "%12 = linear(%4, %7)"
  std::string where;  ///< "#8 layers[3].mlp net.cc:41"
  std::vector<Placements> operands, results;
  std::vector<double> costs_us;  ///< by operand: of bringing it there
  double compute_us = 0;
  std::int64_t memory = 0;  ///< bytes of its results on each rank
  bool known = true;        ///< false: how its dimensions depend on each other is not known, so all is replicated
};

namespace detail {
struct PlannedProgram;
}

/// Immutable; copies share it. Any thread.
class ParallelPlan {
 public:
  const MeshShape& mesh() const;
  double cost_us() const;
  double bound_us() const;  ///< no plan within the constraints costs less
  std::int64_t peak_memory() const;
  /// Checked by following every value through the plan's collectives, apart from how they were chosen.
  bool respected() const;
  const std::map<std::string, Placements>& inputs() const;
  const std::vector<Placements>& results()
      const;  ///< of the tensor results; empty of one that is a view of an argument
  const std::vector<PlacedNode>& placements() const;
  const std::string& report() const;
  std::string json() const;
  const ExportedProgram& program() const;  ///< what was traced

 private:
  friend ParallelPlan plan_parallel(const ExportedProgram&, const MeshShape&, const ParallelOptions&, SourceLoc);
  explicit ParallelPlan(std::shared_ptr<const detail::PlannedProgram> p) : planned_(std::move(p)) {}
  std::shared_ptr<const detail::PlannedProgram> planned_;
};

/// Of a traced program; options.program does not count. Sizes count as they were in the traced call. Throws
/// InvalidArgument, naming what is asked for, for an input, gradient, result or region that is not there, placements
/// that do not fit their tensor and the mesh, operators that cannot be computed so, and a budget that no plan keeps.
ParallelPlan plan_parallel(const ExportedProgram&, const MeshShape&, const ParallelOptions& options = {},
                           SourceLoc loc = SourceLoc::current());

/// The same of a function, which is traced as export_program() does: nothing runs, tensors may be shape-only.
template <class F, class... A>
ParallelPlan plan_parallel(F&& f, const std::tuple<A...>& args, const MeshShape& mesh,
                           const ParallelOptions& options = {}, SourceLoc loc = SourceLoc::current()) {
  return plan_parallel(export_program(std::forward<F>(f), args, options.program, loc), mesh, options, loc);
}

}  // namespace REPRISE_VISIBLE
