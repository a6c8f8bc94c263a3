#pragma once
#include "reprise/tensor.h"

struct DLManagedTensor;  // of dlpack/dlpack.h (DLPack 0.x and 1.x); include it to look inside

namespace reprise {

/// Hands a tensor to another library without copying. The result shares the storage and keeps it alive until its
/// `deleter` is called, once, by whoever consumes it; an in-place write on either side is seen on the other.
/// Inside a trace this reads the tensor's bytes, so it ends the capture. Throws StorageFreed, InvalidArgument
/// (undefined).
DLManagedTensor* to_dlpack(const Tensor&, SourceLoc loc = SourceLoc::current());

/// Takes over a tensor of another library without copying; its `deleter` is called once, when the last tensor on it is
/// gone. When this throws, the caller still owns `managed`. Throws DeviceUnavailable for memory that is not the host's,
/// InvalidArgument for vector lanes, an element type that has no DType, more than 8 dimensions, negative sizes or
/// strides, a null pointer with elements, or data not aligned to its elements.
Tensor from_dlpack(DLManagedTensor* managed, SourceLoc loc = SourceLoc::current());

}  // namespace reprise
