#pragma once
#include "tensor/impl.h"

namespace reprise {

/// The same elements in the same layout in new storage on `device`, from the view's first element to its last; what
/// lies between elements comes along. Ordered with the devices' current streams; a copy to the host is complete on
/// return. Throws DeviceUnavailable, OutOfMemory, StorageFreed. `non_blocking`: what the host gets is in pinned memory
/// and complete when the current stream's work is over; from pinned memory nothing is waited for either.
Tensor transfer(const Tensor&, Device device, const char* what, SourceLoc loc = {}, bool non_blocking = false);
/// The same elements in memory that `device` copies from and to by itself.
Tensor pinned_copy(const Tensor& on_host, Device device, SourceLoc loc);
/// Copies between a pinned tensor of the host and one on its device without waiting. False, and nothing done, when the
/// two are no such pair or lie in memory differently.
bool copy_unwaited(const TensorImpl& to, const TensorImpl& from);

/// Bytes from one device's memory to another's (or the same), as transfer() does it.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes);

/// The one element of a tensor of one, on whichever device. What Tensor::item gives where no interpreter listens.
Scalar element(const Tensor&, SourceLoc loc);

/// The tensor itself when the host can read it, else a copy there. For everything that looks at elements.
Tensor on_host(const Tensor&, const char* what, SourceLoc loc = {});

}  // namespace reprise
