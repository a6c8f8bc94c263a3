#pragma once
#include <string>
#include <vector>

#include "graph/op_column.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/gpu/launches.h"
#include "kernels/launch/product.h"
#include "kernels/loop/pointwise.h"
#include "kernels/plan/gather.h"
#include "kernels/plan/index_bounds.h"
#include "kernels/plan/join.h"
#include "kernels/plan/loop_kernel.h"
#include "kernels/plan/places.h"
#include "kernels/reference/captured.h"
#include "kernels/reference/reference.h"

/// What this room knows of operators, a column each (graph/op_column.h), which stands beside its rows. Nothing here
/// asks which operator a node is in any other way than by its column.
namespace reprise::kernels {

/// reference_kernels, host_kernels, host_launches, pointwise_formulas, folds, creation_formulas, gather_rules,
/// join_rules, place_rules, index_bound_rules, product_forms, gpu_rules, captured_kernels.
std::vector<const graph::OpColumnBase*> op_columns();

/// "fused loop kernel", "matrix product", "kernel of the host", "reference kernel", "view: no kernel", "composite:
/// ...": how an operator is computed, for people. Follows from its class and the kernel tables.
std::string list_computed_by(graph::OpId);

}  // namespace reprise::kernels
