#pragma once
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Matrix products of one node: mm, bmm, linear without bias. Operands: the two tensors, then the result; any strides,
/// inputs or temps, none overlapping the result (but for sum_in_place). All dtypes but Bool run on micro-kernels.
/// Floats accumulate in Float32 (Float64 for Float64) and round once; integers wrap. Bool and a linear with bias get
/// the reference kernel. Those of quantized matrices are scaled.h's.
///
/// Results are bit-equal for any number of threads, and a row of a product does not depend on the other rows as long as
/// both products take the same path (few rows: matrix-vector; more: blocked).
/// Scratch (packed operands) comes from the host's caching allocator during the call; the launch asks for no operand.
NativeLaunch matmul_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

/// When `second`, which comes right after `first`, is a linear of the same x: makes it a part of `first`. The weights
/// then are one stream, and x is converted once.
bool join_linears(Launch& first, const Launch& second);

/// When `sum` does nothing but add something of its dtype and sizes to what `product` makes, of an accumulator's dtype:
/// makes it a part of `product`, which then takes that as its last operand. After a convolution also a relu, of the sum
/// or alone. Nobody else may read the product.
bool join_sum(Launch& product, const Launch& sum);
/// Of a product that adds an operand: that stands where the result will.
void sum_in_place(Launch& product);

}  // namespace reprise::kernels
