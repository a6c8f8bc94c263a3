// Which emitter makes a kernel for a device of blocks of threads; what none of them makes runs on the host.
#include "base/errors.h"
#include "jit/grid.h"

namespace reprise::jit {

GridKernelPtr compile_grid(const kernels::LoopKernel&, const device::CodeTarget&) { return nullptr; }

device::ImagePtr compile_grid(const kernels::MicroKernelSpec& spec, const device::CodeTarget&) {
  fail(ErrorCode::Internal, "jit", {}, "no grid kernel of kind ", spec.kind);
}

}  // namespace reprise::jit
