#pragma once
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// A convolution of one node that is not transposed, of a floating dtype. Operands: the image, the weight, the bias if
/// there is one, the result; any strides. A product on the micro-kernels of matmul.h, whose panels are packed from the
/// image: what windows see is copied nowhere else. The bias, what join_sum adds and a relu are the tile's last steps.
/// Sums, threads and faults are as matmul_launch has them.
NativeLaunch convolution_launch(const graph::Graph&, const graph::Node&, std::vector<Operand> tensors_then_results);
bool is_convolution(const NativeLaunch&);

/// The integers that such a launch has beside those of the schema: its last argument.
namespace convolution_ints {
enum {
  kBits,
  kWhich,
  kSum,
  kRelu,
  kVectors,
  kTileRows,
  kByPlaces,  // of those by rows
  // of one channel to a group, with kernels of their own: results that are summed together; 0: others
  kChannelRows,
  kDeals,  // 1: there is the micro-kernel that Phases takes
  // of those by rows: where among the launch's integers the sizes of the results [n, o, ...] stand, then what the
  // fragment is; 0: there is none
  kFragment,
  kCount
};
}

}  // namespace reprise::kernels
