#include "kernels/cpu/host_kernels.h"

#include "kernels/reference/reference.h"

namespace reprise::kernels {

using graph::OpId;

namespace {
constinit graph::OpColumn<NativeFn> g_column("kernel of the host", {
                                                                       {OpId::scatter, host::scatter},
                                                                       {OpId::scatter_add, host::scatter_add},
                                                                       {OpId::scatter_reduce, host::scatter_reduce},
                                                                       {OpId::index_put, host::index_put},
                                                                       {OpId::rand, host::rand},
                                                                       {OpId::randn, host::randn},
                                                                   });
constinit graph::OpColumn<HostLaunch> g_launches("launch on the host");
}  // namespace

graph::OpColumn<HostLaunch>& host_launches() { return g_launches; }

NativeLaunch host_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  const HostLaunch* make = g_launches.find(node.op);
  return make ? (*make)(g, node, std::move(operands))
              : native_launch(host_kernel(node.op), g, node, std::move(operands));
}

graph::OpColumn<NativeFn>& host_kernels() { return g_column; }

NativeFn host_kernel(OpId id) {
  const NativeFn* fn = g_column.find(id);
  return fn ? *fn : reference_kernels().at(id).fn;
}

}  // namespace reprise::kernels
