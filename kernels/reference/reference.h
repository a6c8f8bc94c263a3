#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/interpreter.h"
#include "graph/op_column.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The kernel that computes an operator on the host in any dtype its shape rule admits and over any strides.
struct HostKernel {
  constexpr HostKernel() = default;
  constexpr HostKernel(NativeFn f, bool over_self = false, bool self_layout = false)
      : fn(f), over_self(over_self), self_layout(self_layout) {}
  NativeFn fn = nullptr;
  bool over_self = false;    ///< its result may lie over its first operand, of which it then writes what changes
  bool self_layout = false;  ///< its launches say self's strides and offset in the user's program
};
graph::OpColumn<HostKernel>& reference_kernels();

/// The reference kernel of an operator: any dtype the schema admits, any strides, slow and right;
/// null for views and joins that lowering handles itself. Also the oracle of the tests.
NativeFn reference_kernel(graph::OpId);
/// Of a functional twin (Note [Operators that write] in graph/writers.h): operands that the kernel writes, with the
/// results that are their new values; each an index into the node's operands, results last. Empty for other operators.
/// Of a written view (Note [Written views]) the operand is its base, the result the base's new value, which several may
/// have.
struct WrittenOperand {
  std::uint32_t argument, result;
  const graph::ViewArg* view = nullptr;  ///< the node's
};
std::vector<WrittenOperand> written_operands(const graph::Node&);
/// A launch of a function for one node whose operands are given: arguments as the schema has them. That of a functional
/// twin writes on the results, into which the arguments must have been copied where they do not stand there.
NativeLaunch native_launch(NativeFn, const graph::Graph&, const graph::Node&,
                           std::vector<Operand> tensors_then_results);
/// A launch of the reference kernel.
NativeLaunch reference_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

// Launches of reference kernels may have arguments that the schema does not have. They come last, each as Ints: for a
// Tensor?[] which elements are there (1 or 0); for as_strided_scatter self's strides in the user's program, then its
// offset.

/// Computes one operator call on concrete host tensors by its reference kernel, and nothing else: shape rule, kernel,
/// fresh results. The oracle of the tests. Results of views are not computed (throws Internal). A fault of the kernel
/// becomes an Error naming the operator and `loc`.
std::vector<Tensor> reference_call(graph::OpId, std::span<const graph::CallArg> args,
                                   SourceLoc loc = SourceLoc::current());

}  // namespace reprise::kernels
