#pragma once
#include <vector>

#include "graph/graph.h"

/// Convolutions whose weights stand in memory as the kernel reads them (kernels/cpu/convolution_rows.h), as
/// operators/packed.h has it of products. Host alone.
namespace reprise::operators {

/// reprise::prepack_windows(Tensor weight, int vectors, bool by_places) -> Tensor: the panels of a weight [o, c,
/// places...], one dimension of its dtype.
graph::OpId prepack_windows_op();
/// reprise::convolution_packed: convolution, and bit by bit what it gives of the same strides; behind its arguments
/// come the weight's panels and how they were made.
graph::OpId convolution_packed_op();
/// The same of convolution_last (operators/convolution_layouts.h).
graph::OpId convolution_last_packed_op();

/// Gives convolutions whose weights are `constant` (by value), and whose image is not, panels where their results are
/// computed as rows; whether there were any.
bool pack_convolutions(graph::Graph&, const std::vector<bool>& constant);

}  // namespace reprise::operators
