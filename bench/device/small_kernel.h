#pragma once
#include "device/backend.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/loop/ir.h"
#include "reprise/reprise.h"

namespace reprise::device_figures {

/// y = x + 1 on a few elements, of cells 0 and 1: the least that a node can do.
class SmallKernel {
 public:
  explicit SmallKernel(device::Backend&);
  device::KernelNode node() const;

 private:
  kernels::LoopKernel kernel_;
  jit::GpuKernelPtr code_;
  device::KernelPtr loaded_;
  std::vector<std::int64_t> params_;
};

}  // namespace reprise::device_figures
