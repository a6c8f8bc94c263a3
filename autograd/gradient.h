#pragma once
#include "autograd/node.h"

namespace reprise::autograd {

/// The gradient as that of a tensor like `of`: summed over what was broadcast, cast. Throws ShapeMismatch, naming the
/// node, where the sizes are others; DTypeMismatch for one of integers.
Tensor as_gradient(const Tensor&, const ResultMeta& of, const Node& by, SourceLoc);

}  // namespace reprise::autograd
