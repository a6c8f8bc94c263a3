#pragma once
#include <vector>

#include "kernels/cpu/block_kernels.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels::host {

/// y = x w transposed: x and y have rows of unit stride, and so has w.
struct BlockProduct {
  const BlockFacts& format;
  std::int64_t m, n, k;
  const char* x;
  std::int64_t x_row;
  const char* w;
  std::int64_t w_row;  ///< bytes
  char* y;
  std::int64_t y_row;
};

/// The code of products whose rows of x are rounded to bytes, with a scale for each part of them that has one in the
/// weights.
struct ByteKernels {
  int bits = 0;
  micro::UnpackBytesFn unpack = nullptr;
  micro::QuantizeRowsFn quantize = nullptr;
  micro::MultiplyBytesFn tile[2] = {};  ///< of 1 and of kByteRows rows
  micro::TransposeFn transpose = nullptr;
  micro::PackBytesFn pack = nullptr;  ///< where the format is plain
};
std::vector<KernelCode> byte_codes(int bits, BlockFormat);
/// Of code in that order.
ByteKernels byte_kernels(int bits, BlockFormat, void* const* micro);

/// k > 0. Each element is summed in an order that depends on k alone. Throws OutOfMemory.
void multiply_bytes(const NativeArgs&, const ByteKernels&, const BlockProduct&);

}  // namespace reprise::kernels::host
