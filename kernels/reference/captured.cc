#include "kernels/reference/captured.h"

#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

constinit graph::OpColumn<CapturedKernel> g_column("captured on devices");

}  // namespace

graph::OpColumn<CapturedKernel>& captured_kernels() { return g_column; }

NativeLaunch captured_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands,
                             const std::function<std::uint32_t(DType, Int bytes)>& scratch) {
  const CapturedKernel& kernel = g_column.at(node.op);
  NativeLaunch l = native_launch(kernel.enqueue, g, node, std::move(operands));
  l.captured = true;
  if (kernel.workspace) {  // by what the kernel sees: of what is written the new value, or the view of it
    const Int bytes = (*kernel.workspace)(l.operands);
    l.has_workspace = true;
    l.operands.push_back({scratch(DType::UInt8, bytes), DType::UInt8, {{bytes}, {1}, 0}, true});
  }
  return l;
}

}  // namespace reprise::kernels
