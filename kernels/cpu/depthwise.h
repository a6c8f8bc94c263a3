#pragma once
#include <cstdint>
#include <vector>

#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

/// Convolutions of one channel to a group, of one or two dimensions: Note [Depthwise convolutions] in depthwise.cc.
namespace reprise::kernels {

/// Appends the micro-kernels that sum_channels takes (where groups turn out to have one channel), and gives how many rows of results they sum together; 0, and nothing is appended: there are none of such a kernel.
int channel_kernels(const graph::Node&, const std::vector<Operand>& operands, std::vector<KernelCode>& to);

/// y [n, o, ...], its places row by row, of x [n, c, ...]. Weights [o, places], bias [o] and what is added are of the accumulator's dtype; the latter two may be null.
struct ChannelSums {
  const TensorView &x, &y;
  const char* weights;
  std::int64_t weights_row;
  const char *sum, *bias;
  bool relu;
};
void sum_channels(const NativeArgs&, void* const* micro, std::int64_t rows, const ChannelSums&);

}  // namespace reprise::kernels
