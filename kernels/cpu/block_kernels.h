#pragma once
#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/block_format.h"

namespace reprise::kernels::micro {

// Micro-kernels of weights in blocks (kernels/launch/block_format.h), unpacked in registers. An element is as Float32 exactly what unpack_blocks makes of it.

/// y[m, n] = sum over k of x[m, k] * w[n, k] in Float32, as GemvDot: w's rows stand w_row bytes apart, k is a number of whole blocks. `rows` (1 or 4) is m; each
/// element is summed in one order, whatever rows there are beside it.
struct UnpackDot {
  static constexpr std::string_view kKind = "unpack_dot";
  using Fn = GemvDotFn;
  int bits;
  BlockFormat format;
  int rows;
  REPRISE_DESCRIBE(bits, format, rows)
};

/// to[r, k]: the elements of n blocks in each of `rows` rows, w_row bytes and to_row elements apart.
using UnpackFn = void (*)(const void* blocks, std::int64_t w_row, float* to, std::int64_t to_row, std::int64_t rows, std::int64_t n);
struct Unpack {
  static constexpr std::string_view kKind = "unpack";
  using Fn = UnpackFn;
  int bits;
  BlockFormat format;
  REPRISE_DESCRIBE(bits, format)
};

}  // namespace reprise::kernels::micro
