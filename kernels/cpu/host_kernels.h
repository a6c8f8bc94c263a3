#pragma once
#include <vector>

#include "graph/op_column.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// What computes an operator on the host faster than its reference kernel (kernels/reference/reference.h), with the
/// same arguments, the same faults and equal results (of randn equal but for some last digit): any dtype, any strides,
/// for any number of threads. Operators without a row have the reference kernel alone.
graph::OpColumn<NativeFn>& host_kernels();
/// The row, or else the reference kernel.
NativeFn host_kernel(graph::OpId);

/// Of registered operators whose kernel asks for machine code (NativeLaunch::micro): what makes their launches on the
/// host.
using HostLaunch = NativeLaunch (*)(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);
graph::OpColumn<HostLaunch>& host_launches();
/// By the operator's row, or else of its host_kernel.
NativeLaunch host_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);

namespace host {
void scatter(const NativeArgs&);
void scatter_add(const NativeArgs&);
void scatter_reduce(const NativeArgs&);
void index_put(const NativeArgs&);
void rand(const NativeArgs&);
void randn(const NativeArgs&);
}  // namespace host

}  // namespace reprise::kernels
