#pragma once
#include <optional>

#include "graph/op.h"
#include "reprise/tensor.h"

namespace reprise::operators {

/// nonzero_static(Tensor self, *, SymInt size, SymInt fill_value=-1) -> Tensor: of a mask, the places that its count,
/// read back, makes a size of.
graph::OpId nonzero_static_op();
/// A number of elements: of `most`, which is known of it from here on, or (nullopt) of repeats, which may be wrong.
Int counted(Scalar number, std::optional<Int> most, SourceLoc);
/// How many elements of a bool tensor are set, read as a number.
Int count_of(const Tensor& set, SourceLoc);

}  // namespace reprise::operators
