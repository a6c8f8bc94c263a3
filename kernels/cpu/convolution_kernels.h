#pragma once
#include <cstdint>

#include "kernels/launch/code.h"

/// Micro-kernels of convolutions whose results are a product's rows. What micro_kernels.h says of all of them holds
/// here.
namespace reprise::kernels::micro {

/// One tile: to[m, n] = from[m, n] (where there is one) + the sum over segments s, and over elements j of each, of the
/// element j after rows[s * rows_step + i], times B's next row; with bias[n] added where there is one, and none below 0
/// if relu. Segments have `length` elements; of the first those from `begin` on, of the last those up to `end` take
/// part. B's rows are `b_row` apart and readable up to vectors * lanes columns. n <= vectors * lanes, 1 <= m <= rows;
/// the table has all rows, those from m on again one that is there. The sum begins at 0, `from` is added to it. For
/// each j a line is fetched to the L2 cache, `ahead_step` bytes apart from `ahead` on (it need not be memory of ours).
struct RowTile {
  const void* const* rows;
  std::int64_t rows_step, segments, begin, length, end;
  const void* b;
  std::int64_t b_row;
  const void* from;
  std::int64_t from_row;
  void* to;
  std::int64_t to_row;
  std::int64_t m, n;
  const void* bias;
  std::int64_t relu;
  const void* ahead;
  std::int64_t ahead_step;
};
using RowTileFn = void (*)(const RowTile*);
struct RowTiles {
  static constexpr std::string_view kKind = "row_tiles";
  using Fn = RowTileFn;
  int bits;
  DType dtype;  ///< an accumulator's
  int rows, vectors;
  REPRISE_DESCRIBE(bits, dtype, rows, vectors)
};

/// to[j, i] = from[i, j] for i < rows, j < columns. Rows of `from` are readable up to a multiple of lanes, and there
/// are as many of them.
using TurnFn = void (*)(const void* from, std::int64_t from_row, void* to, std::int64_t to_row, std::int64_t rows,
                        std::int64_t columns);
struct Turn {
  static constexpr std::string_view kKind = "turn";
  using Fn = TurnFn;
  int bits;
  DType dtype;  ///< an accumulator's
  REPRISE_DESCRIBE(bits, dtype)
};

/// Elements of rows, converted to the accumulator's dtype and dealt out: the element j of a row becomes element j /
/// step after to[j % step]. Rows of `to` are to_row apart.
struct RowDeal {
  const void* from;
  std::int64_t from_row;
  void* to[2];
  std::int64_t to_row, rows, n;
};
using DealRowsFn = void (*)(const RowDeal*);
struct DealRows {
  static constexpr std::string_view kKind = "deal_rows";
  using Fn = DealRowsFn;
  int bits;
  DType src;
  int step;  ///< 1 or 2
  REPRISE_DESCRIBE(bits, src, step)
};

/// Results of few channels: y[r, l] = the sum over channels c and places (i, j) of the kernel, in that order, of
/// weights[c, i, j] * the element (l * step + j * spread) of row (r * step_down + i * spread_down) of the image's plane
/// c, + sum[r, l] (where there is one) + bias[0] (where there is one), none below 0 if relu, for r < m, l < n. Element
/// e of the image's row stands e / step after phase e % step, of which each has `phase` elements. All but y, of the
/// image's dtype in `y`, is of the accumulator's dtype. Of the image so much is readable as rounding up m to `rows` and
/// n to lanes asks for.
struct ChannelRows {
  const void* image;
  std::int64_t channels, plane, image_row, phase;  ///< planes are so many elements apart
  const void *weights, *bias, *sum;
  void* y;
  std::int64_t y_row;  ///< of sum, too
  std::int64_t m, n, relu;
};
using SumChannelFn = void (*)(const ChannelRows*);
struct SumChannel {
  static constexpr std::string_view kKind = "sum_channel";
  using Fn = SumChannelFn;
  int bits;
  DType y;
  int rows, vectors;                         ///< of results that are summed together
  int tall, wide;                            ///< the kernel
  int step_down, step, spread_down, spread;  ///< from row to row, and along a row
  REPRISE_DESCRIBE(bits, y, rows, vectors, tall, wide, step_down, step, spread_down, spread)
};

/// Results of one channel to a group where channels lie side by side: y[l, c] = the sum over places (i, j) of the
/// kernel, in that order, of weights[i, j, c] * the element c after pixels[i * pixels_row + l * step + j * spread], +
/// sum[l, c] (where there is one) + bias[c] (where there is one), none below 0 if relu, for l < m, c < n. y and what is
/// added are y_row elements from result to result, weights weights_row from place to place. All of an accumulator's
/// dtype.
struct LaneSums {
  const void* const* pixels;
  std::int64_t pixels_row;
  const void* weights;
  std::int64_t weights_row;
  const void *bias, *sum;
  void* y;
  std::int64_t y_row, m, n, relu;
};
using SumLanesFn = void (*)(const LaneSums*);
struct SumLanes {
  static constexpr std::string_view kKind = "sum_lanes";
  using Fn = SumLanesFn;
  int bits;
  DType dtype;
  int results, vectors;          ///< that are summed together
  int tall, wide, step, spread;  ///< the kernel; from result to result, from place to place along a row
  REPRISE_DESCRIBE(bits, dtype, results, vectors, tall, wide, step, spread)
};

}  // namespace reprise::kernels::micro
