#pragma once
#include <cstdint>

#include "kernels/launch/code.h"

namespace reprise::kernels {

/// The micro-kernels that matrix products and attention are made of: one struct for each kind, with the parameters of its code and,
/// as `Fn`, the C signature of what jit/cpu/micro makes of it. All strides are in elements. `bits` is the
/// vector width; it is a parameter, so that code and driver always agree on tile sizes.
///
/// Accumulators ("acc") are Float64 for Float64 operands and Float32 for everything else. Every element of a result is
/// summed in an order that depends on k alone, never on the tile, the group or the thread that computes it.
/// No code reads or writes outside the elements named, except where a comment gives the padding it needs.

/// 128, 256 or 512: REPRISE_VECTOR_BITS, else what this CPU has.
int micro_vector_bits();
/// Accumulator lanes of one vector.
constexpr int micro_lanes(int bits, DType acc) { return bits / (acc == DType::Float64 ? 64 : 32); }
constexpr DType acc_dtype(DType t) { return t == DType::Float64 ? DType::Float64 : DType::Float32; }
/// Rows and the most vectors of a gemm tile: what fits the registers (24 accumulators of 32, or 12 of 16).
constexpr int gemm_rows(int bits) { return bits == 512 ? 8 : 6; }
constexpr int gemm_vectors(int bits) { return bits == 512 ? 3 : 2; }
/// The most rows of x that one gemv call serves.
inline constexpr int kGemvRows = 4;

namespace micro {

/// One tile: C[m, n] = A[m, k] * B[k, n] (+ acc[m, n] unless first, added last), stored to `acc` or, when last, rounded
/// to `c`. A and B are of the accumulator's dtype. n <= vectors * lanes; B rows are readable up to `vectors * lanes`
/// columns. 1 <= m <= gemm_rows; rows are never read or written beyond m.
struct GemmTile {
  const void* a;
  std::int64_t a_row, a_col;
  const void* b;
  std::int64_t b_row;
  void* acc;
  std::int64_t acc_row;
  void* c;
  std::int64_t c_row;
  std::int64_t m, n, k;
  std::int64_t first, last;
};
using GemmFn = void (*)(const GemmTile*);
struct Gemm {
  static constexpr std::string_view kKind = "gemm";
  using Fn = GemmFn;
  int bits;
  DType acc, c;
  int vectors;
  REPRISE_DESCRIBE(bits, acc, c, vectors)
};

/// y[m, n] = sum over k of x[m, k] * w[n, k]: w's rows are streamed once. x is of the accumulator's dtype.
/// `rows` (1, 2 or 4) is m; all three have unit stride in their last dim.
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

/// dst[r, i] = src[r, i], converted; both rows have unit stride.
using ConvertFn = void (*)(const void* src, std::int64_t src_row, void* dst, std::int64_t dst_row, std::int64_t rows,
                           std::int64_t n);
struct Convert {
  static constexpr std::string_view kKind = "convert";
  using Fn = ConvertFn;
  int bits;
  DType src, dst;
  REPRISE_DESCRIBE(bits, src, dst)
};

/// dst[i, r] = src[r, i] for r < rows <= lanes, i < n, converted to the accumulator's dtype. Columns [rows, lanes) of
/// dst and its rows up to the next multiple of `lanes` are written with something.
using TransposeFn = void (*)(const void* src, std::int64_t src_row, void* dst, std::int64_t dst_row, std::int64_t rows,
                             std::int64_t n);
struct Transpose {
  static constexpr std::string_view kKind = "transpose";
  using Fn = TransposeFn;
  int bits;
  DType src;
  REPRISE_DESCRIBE(bits, src)
};

/// One row of scores in a running softmax over key blocks. t = s * scale (+ mask); state {m, l, c} becomes
/// m' = max(m, max t), c = exp(m - m'), l' = l * c + sum exp(t - m'); s becomes exp(t - m'), and 0 in [n, n_zero).
/// All scores -inf leave zeros and l as it was. Start with {-inf, 0, *}. Float32.
using SoftmaxFn = void (*)(float* s, std::int64_t n, std::int64_t n_zero, const float* mask, float scale, float* state);
struct Softmax {
  static constexpr std::string_view kKind = "softmax";
  using Fn = SoftmaxFn;
  int bits;
  bool has_mask;
  REPRISE_DESCRIBE(bits, has_mask)
};

/// dst[i] = src[i] * factor, rounded to `dst`. Float32 source; may be in place when dst is Float32.
using ScaleFn = void (*)(const float* src, float factor, void* dst, std::int64_t n);
struct Scale {
  static constexpr std::string_view kKind = "scale";
  using Fn = ScaleFn;
  int bits;
  DType dst;
  REPRISE_DESCRIBE(bits, dst)
};

}  // namespace micro

}  // namespace reprise::kernels
