#pragma once
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// scaled_dot_product_attention of one node. Operands: query, key, value, the mask if there is one, then the result;
/// any strides. Float32, Float16 and BFloat16 run as blocks of keys with a running softmax (scores never leave the
/// cache) and accumulate in Float32 (kernels/cpu/attention_call.h); Float64 gets the reference kernel. A query that may
/// see no key at all gives zeros (ATen's safe softmax); of keys that a Bool mask hides from all queries of a head
/// nothing is read that stands before the first or behind the last one seen. dropout_p must be 0 (the reference kernel
/// serves others). Bit-equal for any number of threads.
NativeLaunch attention_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

}  // namespace reprise::kernels
