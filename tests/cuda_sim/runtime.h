#pragma once
#include <cstdint>
#include <span>

/// What compiled kernels call, and what they read of the running thread. One kernel runs at a time (api.h's lock), so
/// there is one of each.
namespace sim {

/// Of the running thread. Compiled code loads the fields from their addresses.
struct ThreadIds {
  std::uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  std::uint32_t lane, warp, warps;
  std::uint32_t dynamic_shared;
};
extern ThreadIds g_ids;

struct RuntimeFunction {
  const char* name;
  void* address;
};
std::span<const RuntimeFunction> access_functions();       ///< access.cc
std::span<const RuntimeFunction> cooperation_functions();  ///< cooperate.cc
std::span<const RuntimeFunction> tensor_functions();       ///< tensor.cc
std::span<const RuntimeFunction> warpgroup_functions();    ///< warpgroup.cc
std::span<const RuntimeFunction> math_functions();         ///< math.cc

/// Where the `bytes` at p, aligned to as many, are on the host; the running thread's kernel ends where it may not read
/// them.
const char* readable(std::uint64_t p, std::uint64_t bytes, std::uint32_t site);

/// The running kernel is wrong: reports one line that names the kernel, block, thread and instruction, and ends the
/// kernel. Does not return. `site`: of the instruction, or kNoSite.
constexpr std::uint32_t kNoSite = ~0u;
[[noreturn]] void kernel_error(int cuda_result, const char* what, std::uint32_t site);
/// Reports it, and leaves it to the caller to get out of the kernel.
void report_kernel_error(int cuda_result, const char* what, std::uint32_t site);

}  // namespace sim
