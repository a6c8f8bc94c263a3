#include <cstdio>

#include "device/backend.h"
#include "device/cpu_info.h"
#include "device/parallel.h"
#include "jit/engine/code.h"
#include "reprise/reprise.h"
#include "tools/commands.h"

namespace reprise::tool {

int info(const std::vector<std::string>& args) {
  if (!args.empty()) {
    std::fprintf(stderr, "reprise: info takes no arguments\n");
    return 2;
  }
  const device::CpuInfo& cpu = device::cpu_info();
  std::printf("reprise   %s\n", version());
  std::printf("cpu       %s, %d cores\n", cpu.model.c_str(), cpu.cores);
  std::printf("caches    L1d %lld KiB, L2 %lld KiB, L3 %lld KiB\n", static_cast<long long>(cpu.l1d_bytes / 1024),
              static_cast<long long>(cpu.l2_bytes / 1024), static_cast<long long>(cpu.l3_bytes / 1024));
  std::printf("features  %s\n", cpu.str().c_str());
  std::printf("code      %s\n", jit::host_description().c_str());
  std::printf("threads   %d\n", device::num_threads());
  const bool gpu = cuda_device_count() > 0;
  std::printf("gpu       %s\n", gpu ? describe(Device::cuda(0)).c_str() : why_unavailable("cuda").c_str());
  if (gpu) std::printf("products  %s\n", device::backend(Device::cuda(0)).product_library().c_str());
  return 0;
}

}  // namespace reprise::tool
