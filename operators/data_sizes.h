#pragma once
#include "graph/op.h"

namespace reprise::operators {

/// nonzero_static(Tensor self, *, SymInt size, SymInt fill_value=-1) -> Tensor: of a mask, the places that its count, read back, makes a size of.
graph::OpId nonzero_static_op();

}  // namespace reprise::operators
