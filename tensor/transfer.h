#pragma once
#include "tensor/impl.h"

namespace reprise {

/// The same elements in the same layout in new storage on `device`, from the view's first element to its last; what lies
/// between elements comes along. Ordered with the devices' current streams; a copy to the host is complete on return.
/// Throws DeviceUnavailable, OutOfMemory, StorageFreed.
Tensor transfer(const Tensor&, Device device, const char* what, SourceLoc loc = {});

/// Bytes from one device's memory to another's (or the same), as transfer() does it.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes);

/// The tensor itself when the host can read it, else a copy there. For everything that looks at elements.
Tensor on_host(const Tensor&, const char* what, SourceLoc loc = {});

}  // namespace reprise
