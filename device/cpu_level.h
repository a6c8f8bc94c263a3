#pragma once
#include <string_view>

namespace reprise::device {

struct CpuInfo;

/// While one lives, cpu_info() of its thread is a processor of a level of x86-64 ("x86_64_v2", "avx2", "avx512", ...:
/// those of REPRISE_CPU) or "aarch64", whatever this machine has. Code that is made for it may not run here, so whoever
/// opens a scope makes objects alone (jit/engine/objects.h). Throws InvalidArgument for an unknown level.
class CpuLevelScope {
 public:
  explicit CpuLevelScope(std::string_view level);
  ~CpuLevelScope();
  CpuLevelScope(const CpuLevelScope&) = delete;

 private:
  const CpuInfo* before_;
};

/// Has this machine all features of that level? False for an unknown one.
bool has_cpu_level(std::string_view level);

}  // namespace reprise::device
