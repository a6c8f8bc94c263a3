#pragma once
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// Offset of a row that several dims number, the last one fastest; strides in elements.
V row_offset(const Vs& sizes, const Vs& strides, const V& row);

/// Does this product run on tensor cores on this architecture?
bool product_by_tensor_cores(int sm, const gpu::ProductTiles&);
void emit_by_tensor_cores(GpuModule&, const gpu::ProductTiles&);

}  // namespace reprise::jit
