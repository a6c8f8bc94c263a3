#pragma once
#include "kernels/cpu/micro_kernels.h"

namespace reprise::kernels {

/// Micro-kernels of attention beside those of products (kernels/cpu/micro_kernels.h, whose conventions hold here). All
/// compute in Float32.

/// Widths of strips there are code for, in vectors: the widest, and then halves of it.
constexpr int strip_vectors(int bits) { return bits == 512 ? 4 : 2; }
/// Rows of a register tile of so many vectors.
constexpr int strip_rows(int bits, int vectors) { return bits == 512 ? (vectors == 4 ? 6 : 8) : 6; }
inline constexpr int kMostStripRows = 8;

namespace micro {

/// C[i, :] = C[i, :] * factor[i] + A[i, 0 .. seen) * B[0 .. seen, :], or the product alone where factor is null;
/// vectors * lanes columns, all rows i < m, m >= 1. Of register tiles of strip_rows rows each takes the seen of its
/// last one: k[i * k_step], which never falls from row to row; what A has behind a row's own seen is 0 there. All rows
/// have unit stride.
struct StripRows {
  const float* a;
  std::int64_t a_row;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  std::int64_t m;
  const std::int64_t* k;
  std::int64_t k_step;
  const float* factor;
};
using StripFn = void (*)(const StripRows*);
struct Strip {
  static constexpr std::string_view kKind = "strip";
  using Fn = StripFn;
  int bits, vectors;
  REPRISE_DESCRIBE(bits, vectors)
};

/// Rows of scores in a running softmax over blocks of keys. t = s (+ mask, or -inf where a Bool mask is false) over the
/// seen[i] keys of row i, which never fall from row to row; top' = max(top, max t), factor = exp(top - top'), sum' =
/// sum * factor + the sum of exp(t - top'); s becomes exp(t - top'), and 0 from seen[i] to the seen of the row
/// kMostStripRows further on. All scores -inf leave zeros, and sum as it was. Start with top = -inf, sum = 0. mask[i]
/// is the row of the mask that row i sees, of `mask`'s dtype and unit stride. top, sum, factor and shift (for the
/// kernel's own use) have m elements, rounded up to lanes. `rows` (1 or 4) are taken at once; with 1 a row has four
/// sums.
struct SoftmaxRows {
  float* s;
  std::int64_t s_row;
  std::int64_t m;
  const std::int64_t* seen;
  const void* const* mask;
  float *top, *sum, *factor, *shift;
};
using SoftmaxFn = void (*)(const SoftmaxRows*);
struct Softmax {
  static constexpr std::string_view kKind = "softmax";
  using Fn = SoftmaxFn;
  int bits, rows;
  bool has_mask;
  DType mask;
  REPRISE_DESCRIBE(bits, rows, has_mask, mask)
};

/// dst[r, i] = src[r, i] * factor[r * factor_step], rounded to `dst`; both rows have unit stride.
using ScaleFn = void (*)(const void* src, std::int64_t src_row, const float* factor, std::int64_t factor_step,
                         void* dst, std::int64_t dst_row, std::int64_t rows, std::int64_t n);
struct Scale {
  static constexpr std::string_view kKind = "scale";
  using Fn = ScaleFn;
  int bits;
  DType src, dst;
  REPRISE_DESCRIBE(bits, src, dst)
};

}  // namespace micro

}  // namespace reprise::kernels
