#pragma once
#include <cstdint>
#include <functional>

#include "graph/op_column.h"
#include "kernels/launch/launch.h"
#include "kernels/loop/body_builder.h"
#include "kernels/plan/fuse.h"

namespace reprise::kernels {

/// The loop kernel of a unit over the plan's places: kept loops first, neighbours that every access steps through as
/// one merged, all values computed before the first store (a store may overwrite what another value reads at that
/// index).
Launch loop_launch(const graph::Graph&, const BufferPlan&, const Unit&);

/// "sub_exp_sum_div": the operators of some items in program order, at most about 60 characters.
std::string launch_name(const graph::Graph&, const BufferPlan&, const std::vector<std::uint32_t>& items);

/// How a reduction is one node of a loop kernel.
struct Fold {
  ReduceOp op = ReduceOp::Sum;
  bool casts_first = false;  ///< operands are cast to the result's dtype, then folded
};
graph::OpColumn<Fold>& folds();

/// The value of a created tensor's element, written into a body.
struct CreationFormula {
  /// index: Int64
  std::uint32_t (*write)(BodyBuilder&, const graph::Node&, DType,
                         const std::function<std::uint32_t(int dim)>& index) = nullptr;
};
graph::OpColumn<CreationFormula>& creation_formulas();

}  // namespace reprise::kernels
