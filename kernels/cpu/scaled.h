#pragma once
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// int_mm and scaled_mm of one node. Operands as the node has them, then the result; any strides. Products of int8 are
/// summed in integers (by bytes where the processor has such products, else by words), all others in Float32, quantized
/// weights being widened in registers or as they are packed. Scales, bias and rounding are done on a tile that is still
/// in the caches.
///
/// Results are bit-equal for any number of threads; those of int8 for any number of rows, too, unless blocks of k have
/// scales of their own. Scratch comes from the host's caching allocator during the call; the launch asks for no
/// operand.
NativeLaunch scaled_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

}  // namespace reprise::kernels
