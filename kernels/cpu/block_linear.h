#pragma once
#include <string_view>

#include "kernels/launch/block_format.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels::host {

/// How a product may take x: as it is, or, where x has more than a few rows, each part of a row that has one scale in
/// the weights (part_of) rounded to 8 bits.
inline constexpr std::string_view kFloatActivations = "float32", kInt8Activations = "int8";

/// Products with weights in blocks, y [m, n] = x [m, k] w [n, k] transposed. Arguments: x (float32), w (uint8 [n, bytes
/// of a row]), the name of w's format (block_format.h), one of the two above, then the result, any strides. The weights
/// are unpacked in registers where there are few rows of x, and else into panels that meet all of them; nowhere is
/// there more of them. Sums, threads and scratch are as matmul_launch has them.
NativeLaunch block_linear(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

/// The same in plain C++, for arguments that the schema has alone: the oracle.
void block_linear_reference(const NativeArgs&);

}  // namespace reprise::kernels::host
