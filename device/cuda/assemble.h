#pragma once
#include <string>

#include "device/backend.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// A kernel's module, in this thread's context: of the machine code that the driver made of this text earlier
/// (device/machine_code.h), or of the text, and then its machine code is kept. Machine code is of one architecture, and
/// one driver's: both are in its key. What the driver refuses of it is made anew (event `machine_code`). Throws
/// DeviceFailed with the driver's words.
CUmodule load_kernel(const Context&, const Image&);

}  // namespace reprise::device::cuda
