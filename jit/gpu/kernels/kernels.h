#pragma once
#include <vector>

#include "jit/gpu/kernels/code.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/product_joined.h"

namespace reprise::jit {

// Emitters of the kernels in kernels/gpu/kernels.h, which says what they compute and take.
namespace gpu = kernels::gpu;
void emit(GpuModule&, const gpu::ProductTiles&);
void emit(GpuModule&, const gpu::ProductDot&);
void emit(GpuModule&, const gpu::ProductStrip&);
void emit(GpuModule&, const gpu::ProductSum&);
void emit(GpuModule&, const gpu::ProductJoined&);
void emit(GpuModule&, const gpu::ScaledTiles&);
void emit(GpuModule&, const gpu::ScaledDot&);
void emit(GpuModule&, const gpu::AttentionTiles&);
void emit(GpuModule&, const gpu::AttentionPart&);
void emit(GpuModule&, const gpu::ArgReduce&);
void emit(GpuModule&, const gpu::Cumsum&);
void emit(GpuModule&, const gpu::Order&);
void emit(GpuModule&, const gpu::CheckIndex&);
void emit(GpuModule&, const gpu::CheckWeights&);
void emit(GpuModule&, const gpu::CopyElements&);
void emit(GpuModule&, const gpu::Random&);
void emit(GpuModule&, const gpu::Draw&);
void emit(GpuModule&, const gpu::Arrivals&);
void emit(GpuModule&, const gpu::Scatter&);
void emit(GpuModule&, const gpu::IndexOffsets&);
void emit(GpuModule&, const gpu::IndexLast&);
void emit(GpuModule&, const gpu::IndexPut&);

/// Offset of the element `index` (i64) of each tensor, in the order of `strides`; counted with the last dim fastest.
Vs offsets(const Vs& sizes, const std::vector<const Vs*>& strides, V index);

/// Number of this thread among all of blocks of kElementThreads (i64).
V thread_of_all(GpuCode&);

/// An integer that orders as elements do, as a signed number; NaN is the greatest. 32 bits, or 64 for types of 64.
V order_key(GpuCode&, DType, const V& element);

}  // namespace reprise::jit
