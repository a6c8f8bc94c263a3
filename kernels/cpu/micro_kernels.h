#pragma once
#include <cstdint>

#include "kernels/launch/code.h"

namespace reprise::kernels {

/// The micro-kernels that matrix products and attention are made of: one struct for each kind, with the parameters of
/// its code and, as `Fn`, the C signature of what jit/cpu/micro makes of it. All strides are in elements. `bits` is the
/// vector width; it is a parameter, so that code and driver always agree on tile sizes.
///
/// Accumulators ("acc") are Float64 for Float64 operands and Float32 for other floats; of integers Int64 for Int64,
/// Int32 for others, and wrap. Every element of a result is summed in an order that depends on k alone, never on the
/// tile, the group or the thread that computes it. No code reads or writes outside the elements named, except where a
/// comment gives the padding it needs.

/// 128, 256 or 512: REPRISE_VECTOR_BITS, else what this CPU has.
int micro_vector_bits();
/// Accumulator lanes of one vector.
constexpr int micro_lanes(int bits, DType acc) {
  return bits / (acc == DType::Float64 || acc == DType::Int64 ? 64 : 32);
}
constexpr DType acc_dtype(DType t) {
  return t == DType::Float64 || t == DType::Int64 ? t : is_floating(t) ? DType::Float32 : DType::Int32;
}
/// Rows and the most vectors of a gemm tile: what fits the registers (24 accumulators of 32, or 12 of 16).
constexpr int gemm_rows(int bits) { return bits == 512 ? 8 : 6; }
constexpr int gemm_vectors(int bits) { return bits == 512 ? 3 : 2; }
/// Rows of the tile for what is left of rows: the least whose sums keep a core busy.
inline constexpr int kGemmFewRows = 4;
/// Columns of a panel of B.
constexpr int panel_width(int bits, DType acc) { return gemm_vectors(bits) * micro_lanes(bits, acc); }
/// The most rows of x that one gemv call serves.
inline constexpr int kGemvRows = 4;

namespace micro {

/// One tile: C[m, n] = A[m, k] * B[k, n] (+ acc[m, n] unless first, added last), stored to `acc` or, when last, rounded
/// to `c`: with bias[m] added where there is one, and none below 0 if relu. A, B and bias are of the accumulator's
/// dtype. n <= vectors * lanes; B rows are readable up to `vectors * lanes` columns (a masked load would take the place
/// of a product). 1 <= m <= the tile's rows; rows are never read or written beyond m. What will be wanted soon is
/// fetched to the L2 cache meanwhile: for each k a line, `ahead_step` bytes apart (it need not be memory of ours).
struct GemmTile {
  const void* a;
  std::int64_t a_row;
  const void* b;
  std::int64_t b_row;
  void* acc;
  std::int64_t acc_row;
  void* c;
  std::int64_t c_row;
  std::int64_t m, n, k;
  std::int64_t first, last;
  const void* bias = nullptr;
  std::int64_t relu = 0;
  const void* ahead = nullptr;
  std::int64_t ahead_step = 0;
};
using GemmFn = void (*)(const GemmTile*);
struct Gemm {
  static constexpr std::string_view kKind = "gemm";
  using Fn = GemmFn;
  int bits;
  DType acc, c;
  int rows, vectors;
  REPRISE_DESCRIBE(bits, acc, c, rows, vectors)
};

/// y[m, n] = sum over k of x[m, k] * w[n, k]: w's rows are streamed once. x is of the accumulator's dtype.
/// `rows` (1, 2 or 4) is m; all three have unit stride in their last dim. The accumulator is y's.
using GemvDotFn = void (*)(const void* x, std::int64_t x_row, const void* w, std::int64_t w_row, void* y,
                           std::int64_t y_row, std::int64_t n, std::int64_t k);
struct GemvDot {
  static constexpr std::string_view kKind = "gemv_dot";
  using Fn = GemvDotFn;
  int bits;
  DType w, y;
  int rows;
  REPRISE_DESCRIBE(bits, w, y, rows)
};

/// y[m, n] += sum over k of x[m, k] * w[k, n], rows of w with unit stride; x and y of the accumulator's dtype.
using GemvSumFn = void (*)(const void* x, std::int64_t x_row, const void* w, std::int64_t w_row, void* y,
                           std::int64_t y_row, std::int64_t n, std::int64_t k);
struct GemvSum {
  static constexpr std::string_view kKind = "gemv_sum";
  using Fn = GemvSumFn;
  int bits;
  DType w;
  int rows;
  REPRISE_DESCRIBE(bits, w, rows)
};

/// dst[r, i] = src[r, i], converted; both rows have unit stride. If `filled`, rows of dst are written up to a whole
/// vector, with zeros behind n.
using ConvertFn = void (*)(const void* src, std::int64_t src_row, void* dst, std::int64_t dst_row, std::int64_t rows,
                           std::int64_t n);
struct Convert {
  static constexpr std::string_view kKind = "convert";
  using Fn = ConvertFn;
  int bits;
  DType src, dst;
  bool filled = false;
  REPRISE_DESCRIBE(bits, src, dst, filled)
};

/// dst[i, r] = src[r, i] for r < rows <= lanes, i < n, converted to `to`, an accumulator's dtype. Columns [rows, lanes)
/// of dst and its rows up to the next multiple of `lanes` are written with something. `turned`, of Float32 alone: of
/// groups of four bytes, whose sign bits are turned.
using TransposeFn = void (*)(const void* src, std::int64_t src_row, void* dst, std::int64_t dst_row, std::int64_t rows,
                             std::int64_t n);
struct Transpose {
  static constexpr std::string_view kKind = "transpose";
  using Fn = TransposeFn;
  int bits;
  DType src;
  DType to = acc_dtype(src);
  bool turned = false;
  REPRISE_DESCRIBE(bits, src, to, turned)
};

/// A panel of what windows see of an image: to[c * to_channel + p * to_place, l] is the element c * channel + place[p]
/// + column[l] after `image`, converted to the accumulator's dtype, or 0 where bit l of inside[p] is not set; those
/// elements are not read. l < gemm_vectors * lanes, rows of `to` have as many. Bit v of `dense`: the elements of vector
/// v lie side by side.
struct WindowPanel {
  const void* image;
  const std::int64_t* place;
  const std::uint64_t* inside;
  const std::int64_t* column;
  std::int64_t channels, channel, places, dense;
  void* to;
  std::int64_t to_channel, to_place;
};
using PackWindowsFn = void (*)(const WindowPanel*);
struct PackWindows {
  static constexpr std::string_view kKind = "pack_windows";
  using Fn = PackWindowsFn;
  int bits;
  DType src;
  REPRISE_DESCRIBE(bits, src)
};

/// Results of windows over one channel each: y[c, l] = the sum over p of weights[c, p] * the element that PackWindows
/// would put into the row of c and p,
/// + bias[c * bias_row] (+ sum[c, l] where there is one), none below `low`. Weights, bias and sum are of the
/// accumulator's dtype, y is rounded to the image's; l < n.
struct WindowRows {
  WindowPanel seen;  ///< `to` and its rows are not used
  const void *weights, *bias, *sum;
  std::int64_t weights_row, bias_row;
  void* y;
  std::int64_t y_row;  ///< of sum, too
  std::int64_t n;
  double low;
};
using SumWindowsFn = void (*)(const WindowRows*);
struct SumWindows {
  static constexpr std::string_view kKind = "sum_windows";
  using Fn = SumWindowsFn;
  int bits;
  DType src;
  REPRISE_DESCRIBE(bits, src)
};

}  // namespace micro

/// Sums of products of int8. `bytes`: four products a lane in one instruction, of an unsigned and a signed factor; the
/// weights are then taken with 128 added (their sign bit turned), and what that adds is subtracted. Without it x is
/// int16, and two products make a lane. Int32, which wraps. Bytes or words of x that make one lane:
constexpr int int_group(bool bytes) { return bytes ? 4 : 2; }
/// Are there such instructions for vectors of `bits`?
bool has_byte_products(int bits);
/// Of bfloat16, and tables of 128 bytes?
bool has_half_products(int bits);
inline constexpr int kHalfStep = 64;
/// Where element i of kHalfStep stands.
constexpr int half_place(int i) { return (i & 8 ? 32 : 0) + i / 16 * 8 + i % 8; }
/// A float8 as bfloat16, exactly.
std::uint16_t half_of_float8(DType, std::uint8_t);

/// What dots of quantized weights multiply: pairs of int16, or groups of four bytes (int_group); pairs of bfloat16;
/// Float32.
enum class Multiplied : std::uint8_t { Words, Bytes, Halves, Floats };
constexpr std::string_view name_of(Multiplied m) {
  return m == Multiplied::Words    ? "words"
         : m == Multiplied::Bytes  ? "bytes"
         : m == Multiplied::Halves ? "halves"
                                   : "floats";
}
/// Elements of a vector of weights.
constexpr int dot_step(Multiplied m, int bits) {
  return m == Multiplied::Words    ? bits / 16
         : m == Multiplied::Bytes  ? bits / 8
         : m == Multiplied::Halves ? kHalfStep
                                   : bits / 32;
}

namespace micro {

/// y[m, n] = sum over k of x[m, k] * w[n, k], as GemvDot; y is Int32. `rows` (1 or 4) is m.
using IntDotFn = void (*)(const void* x, std::int64_t x_row, const void* w, std::int64_t w_row, std::int32_t* y,
                          std::int64_t y_row, std::int64_t n, std::int64_t k);
struct IntDot {
  static constexpr std::string_view kKind = "int_dot";
  using Fn = IntDotFn;
  int bits;
  bool bytes;
  int rows;
  REPRISE_DESCRIBE(bits, bytes, rows)
};

/// y[m, n] = sum over k of x[m, k] * w[n, k] in Float32, as IntDot: w of float8, x of bfloat16. Of x each kHalfStep
/// elements stand in another order, half_place, and zeros fill up the last ones. Vectors of 512 bits, and processors
/// that have_half_products.
struct HalfDot {
  static constexpr std::string_view kKind = "half_dot";
  using Fn = GemvDotFn;
  int bits;
  DType w;
  int rows;
  REPRISE_DESCRIBE(bits, w, rows)
};

/// y[m, n] = the sum over blocks of k of x_scale[m, block] * w_scale[n, block] * the block's sum of x[m, k] * w[n, k],
/// in Float32. `block` is a multiple of dot_step, or there is one. `rows` (1 or 4) is m. Halves of x stand as HalfDot
/// has them.
using BlockDotFn = void (*)(const void* x, std::int64_t x_row, const void* w, std::int64_t w_row, float* y,
                            std::int64_t y_row, std::int64_t n, std::int64_t k, std::int64_t block,
                            const float* x_scale, std::int64_t x_scale_row, const float* w_scale,
                            std::int64_t w_scale_row, std::int64_t w_scale_k);
struct BlockDot {
  static constexpr std::string_view kKind = "block_dot";
  using Fn = BlockDotFn;
  int bits;
  Multiplied form;
  DType w;
  int rows;
  REPRISE_DESCRIBE(bits, form, w, rows)
};

/// One tile: sums[m, n] = start[m] + the sum over k of a[m, k] * b[k, n], for all of the tile's columns, 1 <= m <=
/// gemm_rows; no row is read or written beyond m. k counts groups (int_group), rows of a are a_row bytes apart; b has
/// groups of gemm_vectors(bits) * lanes columns after one another. Of bytes they have 128 added (their sign bits are
/// turned); start is then -128 times the sum of a's row.
using IntTileFn = void (*)(const void* a, std::int64_t a_row, const void* b, const std::int32_t* start,
                           std::int32_t* sums, std::int64_t sums_row, std::int64_t m, std::int64_t k);
struct IntTile {
  static constexpr std::string_view kKind = "int_tile";
  using Fn = IntTileFn;
  int bits;
  bool bytes;
  REPRISE_DESCRIBE(bits, bytes)
};

/// What follows sums of products: t = sums[m, n] * row_scale[m] * col_scale[n], added to `partial` unless first; when
/// last with bias[n] added and rounded to `c`, otherwise stored to partial. In float32. All rows have unit stride.
struct ScaleTile {
  const void* sums;
  std::int64_t sums_row;
  float* partial;
  std::int64_t partial_row;
  const float *row_scale, *col_scale, *bias;
  void* c;
  std::int64_t c_row;
  std::int64_t m, n;
  std::int64_t first, last;
};
using ScaleSumsFn = void (*)(const ScaleTile*);
struct ScaleSums {
  static constexpr std::string_view kKind = "scale_sums";
  using Fn = ScaleSumsFn;
  int bits;
  DType sums, c;
  bool bias;
  REPRISE_DESCRIBE(bits, sums, c, bias)
};

}  // namespace micro

/// Products of bfloat16, and of int8, on the instructions made for them, where rows are many. Pairs: VDPBF16PS. Amx:
/// tiles of 16 rows of 64 bytes.
enum class LowForm : std::uint8_t { None, Pairs, Amx };
constexpr std::string_view name_of(LowForm f) {
  return f == LowForm::None ? "none" : f == LowForm::Pairs ? "pairs" : "amx";
}
/// The best there is for operands of this dtype, or None.
LowForm low_form(int bits, DType);
/// Columns of a tile and of a panel of B; what rows of A are a multiple of; what groups of k are one of (a group has 4
/// bytes).
constexpr int low_columns(LowForm f, int bits) { return f == LowForm::Amx ? 32 : gemm_vectors(bits) * (bits / 32); }
inline constexpr int kLowRows = 16;
constexpr int low_step(LowForm f) { return f == LowForm::Amx ? 16 : 1; }

namespace micro {

/// sums[m, n] = a[m, k] * b[k, n] + (first ? 0 : sums[m, n]), n < low_columns: in Int32 of int8, in Float32 of
/// bfloat16. Rows of a are a_row bytes apart, k counts groups of 4 bytes; b and sums have rows of low_columns lanes,
/// after one another. m is a multiple of kLowRows, k of low_step. What is summed in Float32 are, of Amx, the even and
/// the odd products of 16 groups, each in order, then both, which is added; of Pairs the odd product of each group,
/// then the even one. Denormals are zeros.
using LowTileFn = void (*)(const void* a, std::int64_t a_row, const void* b, void* sums, std::int64_t m, std::int64_t k,
                           std::int64_t first);
struct LowTile {
  static constexpr std::string_view kKind = "low_tile";
  using Fn = LowTileFn;
  int bits;
  LowForm form;
  DType x;
  REPRISE_DESCRIBE(bits, form, x)
};

/// to[i, j] = the elements [g * i, g * (i + 1)) of column j, in a lane of 4 bytes: j < n, g = 4 / size, zeros after the
/// last of `rows`. from_row in bytes, to_row in lanes; columns are neighbours. rows > 0. `turned`: of bytes, whose sign
/// bits are turned, those after the last row, too.
using InterleaveFn = void (*)(const void* from, std::int64_t from_row, void* to, std::int64_t to_row, std::int64_t rows,
                              std::int64_t n);
struct Interleave {
  static constexpr std::string_view kKind = "interleave";
  using Fn = InterleaveFn;
  int bits;
  int size;  ///< bytes of an element: 1 or 2
  bool turned = false;
  REPRISE_DESCRIBE(bits, size, turned)
};

}  // namespace micro

}  // namespace reprise::kernels
