#pragma once
#include <cstdint>

#include "reprise/tensor.h"
#include "reprise/visible.h"

struct DLManagedTensor;  // of dlpack/dlpack.h (DLPack 0.x and 1.x); include it to look inside

namespace reprise REPRISE_VISIBLE {

/// Hands a tensor to another library without copying. The result shares the storage and keeps it alive until its
/// `deleter` is called, once, by whoever consumes it; an in-place write on either side is seen on the other.
/// Inside a trace this reads the tensor's bytes, so it ends the capture. Throws StorageFreed, InvalidArgument
/// (undefined).
DLManagedTensor* to_dlpack(const Tensor&, SourceLoc loc = SourceLoc::current());
/// The same for a consumer that works on `stream`, as the Python array API's __dlpack__ has it: what it queues there
/// from now on runs after what the calling thread's current stream holds. 1: CUDA's legacy default stream, 2: the
/// per-thread default stream, -1: order nothing, otherwise a CUstream. 0 is ambiguous: InvalidArgument. On the host
/// there is nothing to order. The consumer calls `deleter` when its work on the memory is over or is ordered before the
/// current stream of the thread that calls.
DLManagedTensor* to_dlpack(const Tensor&, std::intptr_t stream, SourceLoc loc = SourceLoc::current());

/// Takes over a tensor of another library without copying; its `deleter` is called once, when the last tensor on it is
/// gone and, on a device, the work in that thread's current stream is over. The producer must have ordered its work
/// before the calling thread's current stream (Stream::current(device).native_handle()), on which the memory is used.
/// Pinned memory of CUDA is taken as the host's. When this throws, the caller still owns `managed`. Throws
/// DeviceUnavailable for managed memory and other kinds of devices, InvalidArgument for vector lanes, an element type
/// that has no DType, more than 8 dimensions, negative sizes or strides, a null pointer with elements, or data not
/// aligned to its elements.
Tensor from_dlpack(DLManagedTensor* managed, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
