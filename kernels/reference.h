#pragma once
#include <span>
#include <vector>

#include "graph/interpreter.h"
#include "kernels/launch.h"

namespace reprise::kernels {

// Launches of reference kernels may have arguments that the schema does not have. They come last, each as Ints: for a
// Tensor?[] which elements are there (1 or 0); for as_strided_scatter self's strides in the user's program, then its
// offset.

/// Computes one operator call on concrete host tensors by its reference kernel, and nothing else: shape rule, kernel,
/// fresh results. The oracle of the tests. Results of views are not computed (throws Internal). A fault of the kernel
/// becomes an Error naming the operator and `loc`.
std::vector<Tensor> reference_call(graph::OpId, std::span<const graph::CallArg> args,
                                   SourceLoc loc = SourceLoc::current());

}  // namespace reprise::kernels
