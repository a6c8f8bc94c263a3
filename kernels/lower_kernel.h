#pragma once
#include "kernels/fuse.h"
#include "kernels/launch.h"

namespace reprise::kernels {

/// The loop kernel of a unit over the plan's places: kept loops first, neighbours that every access steps through as one
/// merged, all values computed before the first store (a store may overwrite what another value reads at that index).
Launch loop_launch(const graph::Graph&, const BufferPlan&, const Unit&);

/// "sub_exp_sum_div": the operators of some items in program order, at most about 60 characters.
std::string launch_name(const graph::Graph&, const BufferPlan&, const std::vector<std::uint32_t>& items);

}  // namespace reprise::kernels
