#pragma once
#include "graph/shape_rules.h"
#include "kernels/reference/reference.h"
#include "passes/layouts.h"

namespace reprise::operators {

/// reprise::convolution_last: a convolution, not transposed, of floats, whose result is [n, ..., o]. Graphs alone have
/// it (Note [Layouts] in passes/layouts.cc).
graph::OpId convolution_last_op();
/// Of a shape rule's last result [n, o, ...] makes [n, ..., o].
void result_with_channels_last(graph::RuleCtx&);
/// convolution_reference for such results.
void convolution_last_reference(const kernels::NativeArgs&);

/// What a convolution that is not transposed takes in each layout, by hints.
passes::LayoutCost convolution_cost(const graph::Graph&, const graph::Node&, bool frozen);

}  // namespace reprise::operators
