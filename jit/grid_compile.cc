// Which emitter makes a micro-kernel for a device of blocks of threads; loop kernels: grid_loop.cc.
#include "base/errors.h"
#include "jit/grid.h"

namespace reprise::jit {

device::ImagePtr compile_grid(const kernels::MicroKernelSpec& spec, const device::CodeTarget&) {
  fail(ErrorCode::Internal, "jit", {}, "no grid kernel of kind ", spec.kind);
}

}  // namespace reprise::jit
