#pragma once
#include <memory>

#include "device/backend.h"
#include "kernels/loop/ir.h"

namespace reprise::jit {

/// A loop kernel made for a device that runs blocks of threads. The image's arguments are the kernel's buffers, then
/// its float runtime_params (kernels/loop/ir.h, ParamSlots::floats), each in a pointer's place: the "address" is the
/// float's bits, so that it may move from run to run as addresses do; then the other runtime_params, as numbers or, as
/// words of a recording, in pointers' places, too.
class GpuKernel {
 public:
  virtual ~GpuKernel() = default;
  device::ImagePtr image;
  /// Blocks for these sizes; params as runtime_params evaluates to. An empty grid: nothing to do.
  virtual device::Dim3 grid(const std::int64_t* params) const = 0;
};
using GpuKernelPtr = std::shared_ptr<const GpuKernel>;

/// Compiles, or finds by content. Null when the kernel has something that no code is generated for on `target`
/// (Float64 functions, for instance): the caller then runs it on the host. Any thread.
/// `guarded`: with a record of faults (kernels/gpu/kernels.h) as one more buffer, after which it does nothing.
/// `words`: all that it takes besides buffers are words of a recording, before which, where extents are symbolic,
/// stands the number of blocks that have something to do: the grid may be larger.
GpuKernelPtr compile_gpu(const kernels::LoopKernel&, const device::CodeTarget& target, bool guarded = false,
                         bool words = false);

}  // namespace reprise::jit
