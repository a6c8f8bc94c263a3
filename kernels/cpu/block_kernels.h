#pragma once
#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/block_format.h"

namespace reprise::kernels::micro {

// Micro-kernels of weights in blocks (kernels/launch/block_format.h), unpacked in registers. An element is as Float32
// exactly what unpack_blocks makes of it.

/// y[m, n] = sum over k of x[m, k] * w[n, k] in Float32, as GemvDot: w's rows stand w_row bytes apart, k is a number of
/// whole blocks. `rows` (1 or 4) is m; each element is summed in one order, whatever rows there are beside it.
struct UnpackDot {
  static constexpr std::string_view kKind = "unpack_dot";
  using Fn = GemvDotFn;
  int bits;
  BlockFormat format;
  int rows;
  REPRISE_DESCRIBE(bits, format, rows)
};

/// to[r, k]: the elements of n blocks in each of `rows` rows, w_row bytes and to_row elements apart.
using UnpackFn = void (*)(const void* blocks, std::int64_t w_row, float* to, std::int64_t to_row, std::int64_t rows,
                          std::int64_t n);
struct Unpack {
  static constexpr std::string_view kKind = "unpack";
  using Fn = UnpackFn;
  int bits;
  BlockFormat format;
  REPRISE_DESCRIBE(bits, format)
};

/// The same as integers without signs, to[r, k] (unsigned_range), and of each part of a row (part_of) what makes floats
/// of them, scale_row elements apart: an element is to * scale - less, rounded twice.
using UnpackBytesFn = void (*)(const void* blocks, std::int64_t w_row, std::uint8_t* to, std::int64_t to_row,
                               float* scale, float* less, std::int64_t scale_row, std::int64_t rows, std::int64_t n);
struct UnpackBytes {
  static constexpr std::string_view kKind = "unpack_bytes";
  using Fn = UnpackBytesFn;
  int bits;
  BlockFormat format;
  REPRISE_DESCRIBE(bits, format)
};

/// The same of as many rows as a vector has lanes, and turned: what MultiplyBytes reads, its rows byte_columns(bits)
/// apart. `halves` is room for n words a row. Of formats that are plain (is_plain).
using PackBytesFn = void (*)(const void* blocks, std::int64_t w_row, void* to, float* scale, float* less,
                             std::uint32_t* halves, std::int64_t n);
struct PackBytes {
  static constexpr std::string_view kKind = "pack_bytes";
  using Fn = PackBytesFn;
  int bits;
  BlockFormat format;
  REPRISE_DESCRIBE(bits, format)
};

/// x[r, k], Float32, as q[r, k] * scale[r, k / part], q between -127 and 127: of each part the largest element is what
/// it is. What is smaller than 2^-100 everywhere in a part is 0 there; a NaN makes its part's scale one. less[r, k /
/// part]: the part's sum as it was rounded, with the other sign. `parts`: of a row.
struct QuantizedRows {
  const float* x;
  std::int64_t x_row;
  std::int8_t* q;
  std::int64_t q_row;
  float *scale, *less;
  std::int64_t scale_row;
  std::int64_t rows, parts;
};
using QuantizeRowsFn = void (*)(const QuantizedRows*);
struct QuantizeRows {
  static constexpr std::string_view kKind = "quantize_rows";
  using Fn = QuantizeRowsFn;
  int bits;
  int part;  ///< 16 or 32
  REPRISE_DESCRIBE(bits, part)
};

/// One tile of a product of both: y[m, n] (+ y[m, n] unless first) += the sum over parts of x_scale * w_scale * (the
/// part's sum of x * w, an integer) + x_less * w_less, part by part. `rows` is m, n the columns that are written, all
/// of them are read. w has groups of four bytes for each of byte_columns(bits) columns, w_scale and w_less rows of as
/// many.
struct ByteTile {
  const std::int8_t* x;
  std::int64_t x_row;
  const float *x_scale, *x_less;
  std::int64_t x_scale_row;
  const void* w;
  const float *w_scale, *w_less;
  float* y;
  std::int64_t y_row;
  std::int64_t n, parts, first;
};
using MultiplyBytesFn = void (*)(const ByteTile*);
struct MultiplyBytes {
  static constexpr std::string_view kKind = "multiply_bytes";
  using Fn = MultiplyBytesFn;
  int bits;
  int part;
  int most;   ///< that an element of w is: so many products are summed in 16 bits, where no instruction sums in 32
  bool wide;  ///< has_byte_products
  int rows;   ///< 1 or kByteRows
  REPRISE_DESCRIBE(bits, part, most, wide, rows)
};

}  // namespace reprise::kernels::micro

namespace reprise::kernels {

/// Of a tile of MultiplyBytes: half of the registers hold sums, in integers and in floats.
inline constexpr int kByteRows = 4;
constexpr int byte_vectors(int bits) { return bits == 512 ? 3 : 2; }
constexpr int byte_columns(int bits) { return byte_vectors(bits) * micro_lanes(bits, DType::Float32); }

}  // namespace reprise::kernels
