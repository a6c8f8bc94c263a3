#pragma once
#include "graph/op.h"

namespace reprise::operators {

/// reprise::tangent(Tensor like, int index) -> Tensor: the gradient that comes in for a differentiable result, in its
/// dtype and sizes; and reprise::gradient(Tensor self, int index) -> (): the one that goes out for an input (Note
/// [Joint graphs] in passes/partition.h). Neither is ever run.
graph::OpId tangent_op();
graph::OpId gradient_op();

}  // namespace reprise::operators
