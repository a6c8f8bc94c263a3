#pragma once
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// The scale of a line in a block of k.
V scale_at(GpuCode&, const gpu::ScalesOf<InCode>&, V line, V block);
/// What is written: the value, and the bias where there is one.
V with_bias(GpuCode&, const gpu::ScaledArgs<InCode>&, V column, V value);

/// Does this product run on tensor cores on this architecture?
bool scaled_by_tensor_cores(int sm, const gpu::ScaledTiles&);
void emit_by_tensor_cores(GpuModule&, const gpu::ScaledTiles&);

}  // namespace reprise::jit
