#pragma once
#include <functional>

#include "graph/op_column.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// How another library computes an operator: a user's own device kernel, say. On a device the work is a node of the
/// recording's graphs, captured before the graph runs, and again where an address has moved. Where an operator has no
/// reference kernel this computes it on the host, too.
struct CapturedKernel {
  /// Queues the work in args.stream, on args' tensors (addresses of the device; sizes and strides of the call) and in
  /// args.workspace(), waits for nothing and calls nothing of Reprise. What it queues is a function of its arguments.
  /// With no stream it is done on return. Any thread, one at a time; reports through args.fault, before it has queued
  /// anything.
  NativeFn enqueue = nullptr;
  /// Bytes that it works in, aligned to 64, by its operands (tensors in schema order, then results); null: none. It
  /// stays as the operator does, for good.
  const std::function<Int(const std::vector<Operand>&)>* workspace = nullptr;
};
/// "captured on devices".
graph::OpColumn<CapturedKernel>& captured_kernels();

/// The launch of an operator that has such a kernel. `scratch`: adds a Temp buffer and gives its number.
NativeLaunch captured_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results,
                             const std::function<std::uint32_t(DType, Int bytes)>& scratch);

}  // namespace reprise::kernels
