#pragma once
#include <cstdint>

#include "reprise/device.h"
#include "reprise/source_location.h"

namespace reprise::device {

/// Throws Error(DeviceUnavailable), naming the device and the reason, unless tensors can live on it.
void require_available(Device, const char* op, SourceLoc loc = {});

/// Bytes of a tensor on `d`, from its caching allocator. Throws DeviceUnavailable or OutOfMemory.
void* allocate(Device d, std::int64_t bytes);
void deallocate(Device d, void* p, std::int64_t bytes) noexcept;

}  // namespace reprise::device
