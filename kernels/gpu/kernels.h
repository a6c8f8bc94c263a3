#pragma once
#include <cstdint>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The kernels of launches.h by kind: `params` of the code, then buffers and integers in the order in which the
/// code (jit/gpu/kernels) takes them. Offsets and strides are in elements; a size of 1 that is broadcast has stride 0.
/// Blocks are one-dimensional and numbered along x alone. A DType among the params is its number.
///
/// Everything is deterministic: which thread adds what to what depends on sizes alone.

/// The dtype that products of `t` are summed in. Integers wrap, so 32 bits serve all that are not wider.
constexpr DType gpu_sum_dtype(DType t) {
  return t == DType::Float64 || t == DType::Int64 ? t : is_floating(t) ? DType::Float32 : DType::Int32;
}

// ---- matrix products: c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n] (+ bias[m, n])

/// How an operand's lines (rows of a, columns of b) lie in memory, as far as code depends on it.
enum class GpuLines : std::int64_t {
  Deep,  ///< neighbours along k are neighbours in memory
  Wide,  ///< neighbouring lines are
  Any,
};
/// A block makes 64 x 64 of c; steps of 16 along k pass through shared memory.
/// params: dtype, lines of a, lines of b, row dims R, bias (0, 1). R > 1: a's and c's rows are numbered by R dims.
/// buffers: a, b, [bias], c.
/// ints: few_m, few_n, batch, m, n, k, a, b, [bias, bias_m, bias_n], c: offsets, batch strides of a, b, c, strides
/// a_k, b_k, b_n, c_n, then R times size, stride of a, stride of c. m <= few_m or n <= few_n: nothing to do.
inline constexpr const char* kGpuProduct = "product";
inline constexpr std::int64_t kProductTile = 64, kProductDepth = 16;
constexpr int kProductThreads = 128;

/// Few rows: m <= device::kFewProductRows. b's columns are read once. "product_dot": along k, neighbours in memory; one or several
/// warps for a column. "product_sum": any strides; a lane for a column, the block's warps share k.
/// params: dtype, m if known or 0, bias. buffers as above.
/// ints: least_m, most_m, few_n, batch, m, n, k, a, b, [bias, bias_m, bias_n], c: offsets, batch strides of a, b, c,
/// strides a_m, a_k, b_k (product_sum alone), b_n, c_m, c_n. m outside [least_m, most_m] or n <= few_n: nothing to
/// do.
inline constexpr const char *kGpuProductDot = "product_dot", *kGpuProductSum = "product_sum";
constexpr int kProductDotThreads = 128, kProductSumThreads = 512;
/// With fewer columns than this a block of product_dot makes one; otherwise each of its 4 warps does.
inline constexpr std::int64_t kProductDotColumns = 4096;

// ---- attention: softmax(q k^T * scale + mask) v of Float32, Float16 or BFloat16, summed in Float32. Two batch dims,
// "outer" and "head"; a key head serves several query heads.

enum class GpuMask : std::int64_t { None, Bool, Added };
inline constexpr std::int64_t kAttentionDepth = 256;  ///< the most elements of a key or value
/// "attention": a block for 16, 32 or 64 queries of one head, keys in blocks with a running softmax.
/// params: dtype, depth, width, mask, causal.
/// buffers: q, k, v, [mask], out.
/// ints: few, rows (= queries * group), outer, heads, queries, keys, scale (bits of a double), k_group, v_group; then
/// for q, k, v, [mask], out: offset and strides outer, head, row, column. rows <= few: nothing to do.
inline constexpr const char* kGpuAttention = "attention";
constexpr int kAttentionThreads = 128;
constexpr std::int64_t attention_queries(std::int64_t depth, std::int64_t width) {
  std::int64_t most = depth > width ? depth : width;
  return most <= 64 ? 64 : most <= 128 ? 32 : 16;
}

/// "attention_part" and "attention_join": few rows. A unit is a key head with the `group` query heads that it serves;
/// its rows are numbered (query, head). A block takes R rows of a unit and one of `splits` ranges of the keys, and
/// leaves the unfinished sums in `parts`: Float32 [units, rows, splits, width + 2], the last two being the greatest
/// score and the sum of exponentials. The join adds them up.
/// part: params: dtype, depth, width, mask, causal, R (1, 2, 4).
/// buffers: q, k, v, [mask], parts.
/// ints: few, rows, outer, units, queries, keys, scale, k_units, v_units, group, splits; then for q, k, v, [mask] as
/// above. rows > few: nothing to do. k_units: how many units share a key head.
/// join: params: dtype, width.
/// buffers: parts, out.
/// ints: few, rows, outer, units, group, splits; out as above.
inline constexpr const char *kGpuAttentionPart = "attention_part", *kGpuAttentionJoin = "attention_join";
inline constexpr std::int64_t kAttentionFewRows = 16;
inline constexpr std::int64_t kAttentionChunk = 128;  ///< keys that a block scores at a time

// ---- rows: what is done along one dim, for every index of the others. A walk over dims with T tensors is: R sizes,
// then R strides for each tensor, dims outermost first.

/// The place of the greatest (least) element of n, the first one of equals; a NaN is greater (less) than everything.
/// params: dtype, least (0, 1), row dims, dims of n, step: ArgReduce.
/// buffers: x, out (Int64), and for Join the places that Chunks has given.
/// ints: rows, n, offsets of x, out, chunks of a row; walk of rows (x, out); walk of n (x).
inline constexpr const char* kGpuArgReduce = "arg_reduce";
/// Whole: all of a row at once. Chunks: that of every chunk of a row, as [rows, chunks], places in the row; one that is
/// out of range for an empty chunk. Join: the best of these.
enum class ArgReduce : std::uint8_t { Whole, Chunks, Join };
constexpr int kArgReduceThreads = 256;
/// Up to this many elements a warp has a row or a chunk, then a block.
inline constexpr std::int64_t kArgReduceWarp = 1024;

/// Running sums, of floats in Float64, each rounded once; of integers in Int64.
/// params: dtype of x, of out, row dims.
/// buffers: x, out.
/// ints: rows, n, offsets of x, out, steps along n of x, out; walk of rows (x, out).
inline constexpr const char* kGpuCumsum = "cumsum";
constexpr int kCumsumThreads = 256;

/// The first k of every row in order, with their places; equals in order of place (kernels/reference/order.cc). A
/// block has a row.
/// params: dtype, descending (0, 1), row dims.
/// buffers: x, keys, key_places, values, places (Int64). keys and key_places (Int32): 2 * order_scratch elements for
/// each row.
/// ints: rows, n, k, scratch elements, offsets of x, values, places, steps along n of these; walk of rows (x, values,
/// places).
inline constexpr const char* kGpuOrder = "order";
constexpr int kOrderThreads = 256;
inline constexpr std::int64_t kOrderShared = 1024;  ///< entries that are ordered in shared memory
constexpr bool order_is_wide(DType t) { return item_size(t) == 8; }

// ---- single elements; a thread has one, or several that are a block apart. Walks as above.

constexpr int kElementThreads = 256;

/// Are all index values within [0, extent), or with `wraps` within [-extent, extent)? The first one that is not is noted
/// unless there is a note already. One block.
/// params: dtype, wraps (0, 1), dims, threads.
/// buffers: index, record (Int64): number of the check that failed or 0, place of its first bad value, the value.
/// ints: n, extent, number (from 1 on), first (1: the record has not been written before), offset; walk (index).
inline constexpr const char* kGpuCheckIndex = "check_index";
inline constexpr std::int64_t kFaultRecord = 3;  ///< elements of the record
inline constexpr std::int64_t kCheckThreads = 1024, kCheckFewThreads = 64;

/// Can `wanted` categories be drawn by the weights of each row? They must be finite, not negative, and so many positive.
/// One block of kCheckThreads.
/// params: dtype.
/// buffers: weights, record (Int64): number of the check or 0; row * n + place of the first bad weight, and its bits as
/// a double; or -1 - row of too few, and how many are positive.
/// ints: rows, n, wanted, number, first, offset of weights, steps of rows and along n.
inline constexpr const char* kGpuCheckWeights = "check_weights";

/// y = x.
/// params: dtype, dims.
/// buffers: x, y.
/// ints: n, offsets of x, y; walk (x, y).
inline constexpr const char* kGpuCopy = "copy";

/// Random numbers of kernels/reference/philox.h: element i in row-major order uses counter offset + i.
/// params: dtype, normal (0, 1), dims.
/// buffers: state (Int64: seed, offset), out.
/// ints: n, offset of out; walk (out).
inline constexpr const char* kGpuRandom = "random";

/// Draws by weights, as kernels/reference/order.cc makes them. "draw": with replacement, or single ones, by the running
/// sums of the weights: [rows, n], dense.
/// params: dtype.
/// buffers: state, weights, running (Float64), out (Int64).
/// ints: rows, n, samples, single (1: nothing to do for several samples), offset of weights, their steps of rows and
/// along n; the same of out.
inline constexpr const char* kGpuDraw = "draw";
/// "arrivals": the time at which each category comes, if they come at random, in the mean as often as they weigh: the
/// first ones are drawn without replacement. Infinite for a weight of 0. One sample: nothing to do.
/// params: dtype.
/// buffers: state, weights, times (Float64): [rows, n], dense.
/// ints: rows, n, samples, offset of weights, their steps of rows and along n.
inline constexpr const char* kGpuArrivals = "arrivals";

/// out[.., index[.., i, ..], ..] = src[.., i, ..] along one dim. Of equal indices the last one's element stays.
/// params: dtype, dtype of index, mode, dims of lines.
/// buffers: index, src (GpuScatter::Number: none), out.
/// ints: lines, n, offsets of index, src, out, steps along n of these; walk of lines (index, src, out). Number:
/// without those of src, but with the number itself before the walk: an Int64, or the bits of a double where dtype is
/// floating.
inline constexpr const char* kGpuScatter = "scatter";
enum class GpuScatter : std::int64_t { Set, Number, Add };
/// Sums of these are made by atomic additions, which give the same whatever their order; others by one thread for
/// each line, in order.
constexpr bool adds_atomically(DType t) { return t == DType::Int32 || t == DType::Int64; }

/// index_put in steps. A position is an element of the broadcast index tensors, a line one of the dims not indexed.
/// "index_offsets": to[position] = sum over index tensors of value * step.
/// params: dtypes of the index tensors, then the dims of positions.
/// buffers: index tensors, to (Int64).
/// ints: positions, for each index tensor offset, extent, step; walk.
inline constexpr const char* kGpuIndexOffsets = "index_offsets";
/// "index_last": to[position], or -1 where a later position has the same.
/// buffers: to, last (Int64).
/// ints: positions.
inline constexpr const char* kGpuIndexLast = "index_last";
/// "index_put": out[to[position], line] = (or +=) values.
/// params: dtype, add (0, 1), dims of positions, of lines.
/// buffers: to or last, values, out.
/// ints: positions, lines, offsets of values, out; walks of positions (values), of lines (values, out).
inline constexpr const char* kGpuIndexPut = "index_put";

}  // namespace reprise::kernels
