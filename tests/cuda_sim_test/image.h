#pragma once
#include <string>
#include <vector>

namespace sim_test {

/// An image as jit/ makes it: a PTX header with the kernel's parameters, and the module's bitcode in comment lines.
/// `params`: sizes in bytes. `ir`: the body of a module for nvptx64; the kernel has the ptx_kernel calling convention.
std::string image(const std::string& entry, const std::vector<int>& params, const std::string& ir);

}  // namespace sim_test
