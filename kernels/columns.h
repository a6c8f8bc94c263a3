#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"
#include "kernels/grid.h"
#include "kernels/lower_gather.h"
#include "kernels/lower_join.h"
#include "kernels/pointwise.h"

/// What this room knows of operators, a column each (graph/op_column.h). Nothing here asks which operator a node is in any
/// other way than by its column, but for rewrites of one operator's own form (fuse_map.cc: view and as_strided).
namespace reprise::kernels {

/// The kernel that computes an operator on the host in any dtype its shape rule admits and over any strides (kernels/reference).
struct HostKernel {
  constexpr HostKernel() = default;
  constexpr HostKernel(NativeFn f, bool over_self = false) : fn(f), over_self(over_self) {}
  NativeFn fn = nullptr;
  bool over_self = false;     ///< its result may lie over its first operand, of which it then writes what changes
};
graph::OpColumn<HostKernel>& reference_kernels();

/// How a reduction is one node of a loop kernel.
struct Fold {
  ReduceOp op = ReduceOp::Sum;
  bool casts_first = false;   ///< operands are cast to the result's dtype, then folded
};
graph::OpColumn<Fold>& folds();

/// The value of a created tensor's element, written into a body.
struct CreationFormula {
  std::uint32_t (*write)(BodyBuilder&, const graph::Node&, DType, const std::function<std::uint32_t(int dim)>& index) = nullptr;  ///< index: Int64
};
graph::OpColumn<CreationFormula>& creation_formulas();

using GatherRule = std::optional<GatherForm> (*)(const graph::Graph&, const graph::Node&);
graph::OpColumn<GatherRule>& gather_rules();

struct JoinRule {
  std::optional<JoinPlan> (*plan)(const graph::Graph&, const graph::Node&, const Layout& result) = nullptr;
  bool always = true;         ///< false: only where is_region_join
};
graph::OpColumn<JoinRule>& join_rules();

/// Kernels on devices of blocks of threads: launches in order, those of the host that must come first in `before`; nothing where
/// none serves this node. An operator without a row runs on the host.
using GridRule = std::optional<std::vector<GridLaunch>> (*)(const GridContext&, std::vector<Launch>& before);
graph::OpColumn<GridRule>& grid_rules();

/// All of the above, and the pointwise formulas.
std::vector<const graph::OpColumnBase*> op_columns();

}  // namespace reprise::kernels
