#pragma once
#include "passes/layouts.h"

namespace reprise::operators {

/// What a convolution that is not transposed takes in each layout, by hints.
passes::LayoutCost convolution_cost(const graph::Graph&, const graph::Node&);

}  // namespace reprise::operators
