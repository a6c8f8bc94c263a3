#include "kernels/cpu/host_kernels.h"

#include "kernels/reference/reference.h"

namespace reprise::kernels {

using graph::OpId;

namespace {
constinit graph::OpColumn<NativeFn> g_column("kernel of the host",
                                             {
                                                 {OpId::scatter, host::scatter},
                                                 {OpId::scatter_add, host::scatter_add},
                                                 {OpId::scatter_reduce, host::scatter_reduce},
                                                 {OpId::index_put, host::index_put},
                                                 {OpId::rand, host::rand},
                                                 {OpId::randn, host::randn},
                                             });
}  // namespace

graph::OpColumn<NativeFn>& host_kernels() { return g_column; }

NativeFn host_kernel(OpId id) {
  const NativeFn* fn = g_column.find(id);
  return fn ? *fn : reference_kernels().at(id).fn;
}

}  // namespace reprise::kernels
