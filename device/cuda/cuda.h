#pragma once
#include <string>

#include "device/backend.h"

namespace reprise::device {

/// Why CUDA device `index` cannot be used; empty when it can.
std::string why_no_cuda(int index);
/// Made at first use, lives as long as the process. Only for a device that can be used.
Backend& cuda_backend(int index);

}  // namespace reprise::device
