#pragma once
#include <cstdint>
#include <vector>

#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

/// Convolutions of one channel or few to a group, of one or two dimensions: Note [Depthwise convolutions] in
/// depthwise.cc.
namespace reprise::kernels {

/// Appends the micro-kernels that sum_channels takes (where groups turn out to be as they seem), and gives how many
/// rows of results they sum together; or that of sum_lanes, and gives kLanes. 0, and nothing is appended: there are
/// none of such a kernel.
inline constexpr int kLanes = -1;
int channel_kernels(const graph::Node&, const std::vector<Operand>& operands, std::vector<KernelCode>& to);

/// Whether sum_channels is what groups of so many channels and results are for, where there are kernels.
constexpr bool few_channels(std::int64_t channels, std::int64_t results) {
  return channels == 1 || (channels > 1 && channels <= 8 && results <= 8);
}

/// Is a convolution of such a weight one that sum_lanes is for, where channels lie side by side in image and result?
bool wants_lanes(const Ints& weight, const Int& groups, DType);

/// y [n, o, ...], its places row by row, of x [n, c, ...]. Weights [o, c / groups * places], bias [o] and what is added
/// are of the accumulator's dtype; the latter two may be null.
struct ChannelSums {
  const TensorView &x, &y;
  std::int64_t groups;
  const char* weights;
  std::int64_t weights_row;
  const char *sum, *bias;
  bool relu;
};
void sum_channels(const NativeArgs&, void* const* micro, std::int64_t rows, const ChannelSums&);

/// The result of such a launch of kLanes, of an image and a result with channels side by side, and one result of each
/// channel. What is added stands as the result does.
void sum_lanes(const NativeArgs&, const MatmulKernels&, void* micro, const char* sum, bool relu);

}  // namespace reprise::kernels
