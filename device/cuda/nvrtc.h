#pragma once
#include <string>
#include <vector>

namespace reprise::device::cuda {

/// NVRTC, opened at the first use. Machine code ("cubin") of CUDA C++ for an architecture ("sm_90"). Throws Error:
/// DeviceUnavailable where there is no NVRTC, with the reason; InvalidArgument with the compiler's words for a text
/// that it does not take. Any thread.
std::string compile_cuda(const std::string& text, const std::string& arch, const std::vector<std::string>& options);

}  // namespace reprise::device::cuda
