#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/launch/code.h"

namespace reprise::kernels {

// The kernels of launches.h. Each kind is told once, here: a struct of the parameters of its code, and in it `Args`,
// what a kernel takes. Whoever makes a launch (LaunchOf in rules.h), the code (InCode in jit/gpu/kernels/code.h), a
// name for the code or a text of a launch goes by these structs. `As` is a traits type that selects their
// representation: As::Number, As::Source (read), As::Target (written). shape() gives the arguments of some code their
// dtypes and the lengths of their lists.
//
// Offsets (from a buffer's first byte) and strides are in elements; a size of 1 that is broadcast has stride 0. Blocks
// are numbered along x alone; how many there are is the launch's.
//
// Everything is deterministic: which thread adds what to what depends on sizes alone.

/// The dtype that products of `t` are summed in. Integers wrap, so 32 bits serve all that are not wider.
constexpr DType gpu_sum_dtype(DType t) {
  return t == DType::Float64 || t == DType::Int64 ? t : is_floating(t) ? DType::Float32 : DType::Int32;
}

inline constexpr int kProductTile = 64, kProductDepth = 16;
/// Tiles that tensor cores may make instead: the larger one reads less for a product, the smaller one leaves fewer
/// multiprocessors idle.
struct ProductTileSize {
  int rows, columns;
};
inline constexpr ProductTileSize kProductTilesOfCores[] = {{128, 256}, {128, 64}};
inline constexpr ProductTileSize kScaledTileOfCores{128, 128};
inline constexpr int kScaledStep = 64;  ///< elements of k in a step of tensor cores
/// of blocks, for the devices that have tensor cores: about as many as they have multiprocessors
inline constexpr std::int64_t kProductTilesEnough = 112;
constexpr int kProductThreads = 128, kProductDotThreads = 128, kProductSumThreads = 512, kProductStripThreads = 256;
/// With fewer columns than this a block of product_dot makes one; otherwise each of its 4 warps does.
inline constexpr std::int64_t kProductDotColumns = 4096;
inline constexpr std::int64_t kProductStrip = 16;  ///< columns of a block of product_strip

inline constexpr std::int64_t kAttentionDepth = 256;  ///< the most elements of a key or value
constexpr int kAttentionThreads = 128;
inline constexpr std::int64_t kAttentionFewRows = 16;
inline constexpr std::int64_t kAttentionChunk = 128;  ///< keys that a block of attention_part scores at a time

constexpr int kArgReduceThreads = 256;
/// Up to this many elements a warp has a row or a chunk, then a block.
inline constexpr std::int64_t kArgReduceWarp = 1024;
constexpr int kCumsumThreads = 256;
/// What running sums are made in.
constexpr DType cumsum_sum(DType t) { return is_floating(t) ? DType::Float64 : DType::Int64; }
constexpr int kOrderThreads = 256;
inline constexpr std::int64_t kOrderShared = 1024;  ///< entries that are ordered in shared memory
constexpr bool order_is_wide(DType t) { return item_size(t) == 8; }

constexpr int kElementThreads = 256;
inline constexpr std::int64_t kFaultRecord = 3;  ///< elements of the record of faults
constexpr int kCheckThreads = 1024, kCheckFewThreads = 64;
/// Sums of these are made by atomic additions, which give the same whatever their order; others by one thread for
/// each line, in order.
constexpr bool adds_atomically(DType t) { return t == DType::Int32 || t == DType::Int64; }

namespace gpu {

/// The arguments of this code, empty.
template <class As, class K>
typename K::template Args<As> shaped(const K& code) {
  typename K::template Args<As> args;
  args.shape(code);
  return args;
}

// ---- matrix products: c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n] (+ bias[m, n])

/// How an operand's lines (rows of a, columns of b) lie in memory, as far as code depends on it.
enum class Lines : std::uint8_t {
  Deep,  ///< neighbours along k are neighbours in memory
  Wide,  ///< neighbouring lines are
  Any,
};
constexpr std::string_view name_of(Lines l) { return l == Lines::Deep ? "deep" : l == Lines::Wide ? "wide" : "any"; }

template <class As>
struct Bias {
  typename As::Source buffer;
  typename As::Number offset, m, n;  ///< strides of rows and columns
  REPRISE_DESCRIBE(buffer, offset, m, n)
};

/// A block makes tile_rows x tile_columns of c, multiples of kProductTile; steps along k pass through shared memory.
struct ProductTiles {
  static constexpr std::string_view kKind = "product";
  DType dtype;
  Lines a_lines, b_lines;
  int row_dims;  ///< rows of a and c are numbered by so many dims
  bool bias;
  int tile_rows = kProductTile, tile_columns = kProductTile;
  bool tf32 = false;  ///< Float32 of which 10 bits of fraction are enough
  REPRISE_DESCRIBE(dtype, a_lines, b_lines, row_dims, bias, tile_rows, tile_columns, tf32)

  template <class As>
  struct Row {
    typename As::Number size, a, c;  ///< strides of a and of c
    REPRISE_DESCRIBE(size, a, c)
  };
  template <class As>
  struct Args {
    typename As::Number m, n, k;
    typename As::Source a, b;
    typename As::Number a_offset, b_offset;
    std::optional<Bias<As>> bias;
    typename As::Target c;
    typename As::Number c_offset, a_batch, b_batch, c_batch, a_k, b_k, b_n, c_n;
    std::vector<Row<As>> rows;
    REPRISE_DESCRIBE(m, n, k, a, b, a_offset, b_offset, bias, c, c_offset, a_batch, b_batch, c_batch, a_k, b_k, b_n,
                     c_n, rows)
    void shape(const ProductTiles& code) {
      a.dtype = b.dtype = c.dtype = code.dtype;
      if (code.bias) bias.emplace().buffer.dtype = code.dtype;
      rows.resize(static_cast<std::size_t>(code.row_dims));
    }
  };
};

/// Few rows: m <= device::kFewProductRows. b's columns are read once.
template <class As>
struct FewRowsArgs {
  typename As::Number m, n, k;
  typename As::Source a, b;
  typename As::Number a_offset, b_offset;
  std::optional<Bias<As>> bias;
  typename As::Target c;
  typename As::Number c_offset, a_batch, b_batch, c_batch, a_m, a_k;
  std::optional<typename As::Number> b_k;  ///< without: 1
  typename As::Number b_n, c_m, c_n;
  REPRISE_DESCRIBE(m, n, k, a, b, a_offset, b_offset, bias, c, c_offset, a_batch, b_batch, c_batch, a_m, a_k, b_k, b_n,
                   c_m, c_n)
  template <class K>
  void shape(const K& code) {
    a.dtype = b.dtype = c.dtype = code.dtype;
    if (code.bias) bias.emplace().buffer.dtype = code.dtype;
    if (K::kAnyStrides) b_k.emplace();
  }
};
/// Along k elements of b are neighbours in memory; one or several warps for a column.
struct ProductDot {
  static constexpr std::string_view kKind = "product_dot";
  static constexpr bool kAnyStrides = false;
  DType dtype;
  int m;  ///< 0: not known
  bool bias;
  REPRISE_DESCRIBE(dtype, m, bias)
  template <class As>
  using Args = FewRowsArgs<As>;
};
/// The same for 2 and more rows of Float16 or BFloat16, where multiplications would keep a block busier than its loads:
/// a block has kProductStrip columns, its warps share k, and tensor cores multiply, where the architecture has such.
struct ProductStrip {
  static constexpr std::string_view kKind = "product_strip";
  static constexpr bool kAnyStrides = false;
  DType dtype;
  int m;  ///< 0: not known
  bool bias;
  REPRISE_DESCRIBE(dtype, m, bias)
  template <class As>
  using Args = FewRowsArgs<As>;
};
/// Any strides; a lane for a column, the block's warps share k.
struct ProductSum {
  static constexpr std::string_view kKind = "product_sum";
  static constexpr bool kAnyStrides = true;
  DType dtype;
  int m;  ///< 0: not known
  bool bias;
  REPRISE_DESCRIBE(dtype, m, bias)
  template <class As>
  using Args = FewRowsArgs<As>;
};

// ---- products of quantized matrices: c[m, n] = (sum over k of a[m, k] * b[k, n] by scales) + bias[n]. a, b, c and
// bias are of dtypes of their own; int8 products are summed in Int32, others in Float32. Not scaled: sums of Int32 are
// what is written.

template <class As>
struct ScalesOf {
  typename As::Source buffer;
  typename As::Number offset, line, k;  ///< strides along the operand's lines and along k; 0 where one scale is for all
  typename As::Number lines;            ///< how many lines share one
  REPRISE_DESCRIBE(buffer, offset, line, k, lines)
};

template <class As>
struct ScaledArgs {
  typename As::Number m, n, k;
  typename As::Number block;  ///< elements of k that share a scale
  typename As::Source a, b;
  typename As::Number a_offset, b_offset;
  std::optional<ScalesOf<As>> scale_a, scale_b;
  std::optional<typename As::Source> bias;
  std::optional<typename As::Number> bias_offset, bias_n;
  typename As::Target c;
  typename As::Number c_offset, a_m, a_k, b_k, b_n, c_m, c_n;
  REPRISE_DESCRIBE(m, n, k, block, a, b, a_offset, b_offset, scale_a, scale_b, bias, bias_offset, bias_n, c, c_offset,
                   a_m, a_k, b_k, b_n, c_m, c_n)
  template <class K>
  void shape(const K& code) {
    a.dtype = code.a, b.dtype = code.b, c.dtype = code.c;
    if (code.c == DType::Int32) return;
    scale_a.emplace().buffer.dtype = DType::Float32, scale_b.emplace().buffer.dtype = DType::Float32;
    if (code.has_bias) bias.emplace().dtype = code.bias, bias_offset.emplace(), bias_n.emplace();
  }
};
/// A block makes tile_rows x tile_columns of c, as ProductTiles do. `block` is a multiple of kProductDepth.
struct ScaledTiles {
  static constexpr std::string_view kKind = "scaled_product";
  DType a, b, c;
  Lines a_lines, b_lines;
  bool has_bias;
  DType bias;
  bool long_blocks;  ///< `block` is a multiple of kScaledStep, or nothing is scaled
  int tile_rows = kProductTile, tile_columns = kProductTile;
  REPRISE_DESCRIBE(a, b, c, a_lines, b_lines, has_bias, bias, long_blocks, tile_rows, tile_columns)
  template <class As>
  using Args = ScaledArgs<As>;
};
/// m <= device::kFewProductRows, neighbours along k are neighbours in a's and b's memory: a warp reads a column of b
/// once. `block` is a multiple of 16.
struct ScaledDot {
  static constexpr std::string_view kKind = "scaled_dot";
  DType a, b, c;
  int m;  ///< 0: not known
  bool has_bias;
  DType bias;
  REPRISE_DESCRIBE(a, b, c, m, has_bias, bias)
  template <class As>
  using Args = ScaledArgs<As>;
};
constexpr DType scaled_sum_dtype(DType a) { return a == DType::Int8 ? DType::Int32 : DType::Float32; }

// ---- attention: softmax(q k^T * scale + mask) v of Float32, Float16 or BFloat16, summed in Float32. Two batch dims,
// "outer" and "head"; a key head serves several query heads.

enum class Mask : std::uint8_t { None, Bool, Added };
constexpr std::string_view name_of(Mask m) { return m == Mask::None ? "none" : m == Mask::Bool ? "bool" : "added"; }
constexpr DType mask_dtype(Mask m, DType t) { return m == Mask::Bool ? DType::Bool : t; }

template <class As, class Buffer>
struct Heads {
  Buffer buffer;
  typename As::Number offset, outer, head, row, column;
  REPRISE_DESCRIBE(buffer, offset, outer, head, row, column)
};

/// A block for block_queries() of one head, keys in blocks with a running softmax.
struct AttentionTiles {
  static constexpr std::string_view kKind = "attention";
  DType dtype;
  int depth, width;  ///< elements of a key, of a value
  Mask mask;
  bool causal;
  REPRISE_DESCRIBE(dtype, depth, width, mask, causal)

  /// Do tensor cores, where there are such, take the dtype and fit a query into registers?
  constexpr bool for_tensor_cores() const {
    return (dtype == DType::Float16 || dtype == DType::BFloat16) && depth <= 128 && width <= 128;
  }
  /// Of a block. All keys and values come from the second cache for each: where a multiprocessor has room for two
  /// blocks of 64, one of 128 asks for half as much (an H100: a tenth faster); three of 64 are better than either.
  constexpr int block_queries() const {
    return for_tensor_cores() && (depth > 64 || width > 64) ? 128 : loop_queries();
  }
  /// How many at a time where there are none.
  constexpr int loop_queries() const {
    const int most = depth > width ? depth : width;
    return most <= 64 || for_tensor_cores() ? 64 : most <= 128 ? 32 : 16;
  }
  template <class As>
  struct Args {
    typename As::Number heads, queries, keys;
    typename As::Number scale;             ///< bits of a double
    typename As::Number k_group, v_group;  ///< query heads that share a head of keys, of values
    Heads<As, typename As::Source> q, k, v;
    std::optional<Heads<As, typename As::Source>> mask;
    Heads<As, typename As::Target> out;
    REPRISE_DESCRIBE(heads, queries, keys, scale, k_group, v_group, q, k, v, mask, out)
    void shape(const AttentionTiles& code) {
      q.buffer.dtype = k.buffer.dtype = v.buffer.dtype = out.buffer.dtype = code.dtype;
      if (code.mask != Mask::None) mask.emplace().buffer.dtype = mask_dtype(code.mask, code.dtype);
    }
  };
};

/// Few rows. A unit is a key head with the `group` query heads that it serves; its rows are numbered (query, head). A
/// block takes `rows` rows of a unit and one of `splits` ranges of `range` keys. Where there is one it writes the
/// result; else it leaves the unfinished sums in `parts`: [units, rows, splits, width + 2], the last two being the
/// greatest score and the sum of exponentials. `arrived` counts, from 0 on, how many blocks of these rows have left
/// theirs: the last one adds them up, in the order of the ranges.
struct AttentionPart {
  static constexpr std::string_view kKind = "attention_part";
  DType dtype;
  int depth, width;
  Mask mask;
  bool causal;
  int rows;  ///< 1, 2, 4
  /// Arguments that are known when the kernel is made; 0: not. Blocks divide by them, which takes longer than all else
  /// that is done for few keys.
  int units = 0, places = 0, group = 0, k_units = 0, v_units = 0;
  REPRISE_DESCRIBE(dtype, depth, width, mask, causal, rows, units, places, group, k_units, v_units)

  template <class As>
  struct Args {
    typename As::Number rows, units, queries, keys;
    typename As::Number places;            ///< blocks of a range: outer dims, units, `rows` rows
    typename As::Number scale;             ///< bits of a double
    typename As::Number k_units, v_units;  ///< units that share a head of keys, of values
    typename As::Number group, splits, range;
    Heads<As, typename As::Source> q, k, v;
    std::optional<Heads<As, typename As::Source>> mask;
    typename As::Target parts, arrived;  ///< arrived: Int32, by unit and `rows` rows
    Heads<As, typename As::Target> out;
    REPRISE_DESCRIBE(rows, units, queries, keys, places, scale, k_units, v_units, group, splits, range, q, k, v, mask,
                     parts, arrived, out)
    void shape(const AttentionPart& code) {
      q.buffer.dtype = k.buffer.dtype = v.buffer.dtype = out.buffer.dtype = code.dtype;
      if (code.mask != Mask::None) mask.emplace().buffer.dtype = mask_dtype(code.mask, code.dtype);
      parts.dtype = DType::Float32, arrived.dtype = DType::Int32;
    }
  };
};

// ---- rows: what is done along one dim, for every index of the others, whose sizes are a list, outermost first; a
// tensor has a list of strides for it.

template <class As, class Buffer>
struct Along {
  Buffer buffer;
  typename As::Number offset, step;       ///< step: along the dim
  std::vector<typename As::Number> rows;  ///< strides of the others
  REPRISE_DESCRIBE(buffer, offset, step, rows)
  void shape(DType t, int row_dims) { buffer.dtype = t, rows.resize(static_cast<std::size_t>(row_dims)); }
};

/// The place of the greatest (least) element of n, the first one of equals; a NaN is greater (less) than everything.
struct ArgReduce {
  static constexpr std::string_view kKind = "arg_reduce";
  /// Whole: all of a row at once. Chunks: that of every chunk of a row, as [rows, chunks], places in the row; one that
  /// is out of range for an empty chunk. Join: the best of these.
  enum class Step : std::uint8_t { Whole, Chunks, Join };
  DType dtype;
  bool least;
  int row_dims, dims;  ///< dims: of what is reduced
  Step step;
  REPRISE_DESCRIBE(dtype, least, row_dims, dims, step)

  template <class As>
  struct Args {
    typename As::Number rows, n, chunks;
    typename As::Source x;
    typename As::Target out;                   ///< Int64
    std::optional<typename As::Source> found;  ///< Join: what Chunks has given
    typename As::Number x_offset, out_offset;
    std::vector<typename As::Number> row_sizes, x_rows, out_rows, sizes, strides;  ///< the last two: of what is reduced
    REPRISE_DESCRIBE(rows, n, chunks, x, out, found, x_offset, out_offset, row_sizes, x_rows, out_rows, sizes, strides)
    void shape(const ArgReduce& code) {
      x.dtype = code.dtype, out.dtype = DType::Int64;
      if (code.step == Step::Join) found.emplace().dtype = DType::Int64;
      for (auto* list : {&row_sizes, &x_rows, &out_rows}) list->resize(static_cast<std::size_t>(code.row_dims));
      for (auto* list : {&sizes, &strides}) list->resize(static_cast<std::size_t>(code.dims));
    }
  };
};
constexpr std::string_view name_of(ArgReduce::Step s) {
  return s == ArgReduce::Step::Whole ? "whole" : s == ArgReduce::Step::Chunks ? "chunks" : "join";
}

/// Running sums, of floats in Float64, each rounded once; of integers in Int64. A block has a row.
struct Cumsum {
  static constexpr std::string_view kKind = "cumsum";
  /// Whole: a block has a row. Totals: a block has a chunk of one, of which it gives the sum, as [rows, chunks] of
  /// cumsum_sum(to). Rest: it gives the running sums of its chunk behind those of the chunks before it.
  enum class Step : std::uint8_t { Whole, Totals, Rest };
  DType from, to;
  int row_dims;
  Step step;
  REPRISE_DESCRIBE(from, to, row_dims, step)

  template <class As>
  struct Args {
    typename As::Number n, chunks;
    std::optional<typename As::Target> given;   ///< Totals
    std::optional<typename As::Source> before;  ///< Rest
    std::vector<typename As::Number> row_sizes;
    Along<As, typename As::Source> x;
    Along<As, typename As::Target> out;
    REPRISE_DESCRIBE(n, chunks, given, before, row_sizes, x, out)
    void shape(const Cumsum& code) {
      if (code.step == Step::Totals) given.emplace().dtype = cumsum_sum(code.to);
      if (code.step == Step::Rest) before.emplace().dtype = cumsum_sum(code.to);
      row_sizes.resize(static_cast<std::size_t>(code.row_dims));
      x.shape(code.from, code.row_dims), out.shape(code.to, code.row_dims);
    }
  };
};
constexpr std::string_view name_of(Cumsum::Step s) {
  return s == Cumsum::Step::Whole ? "whole" : s == Cumsum::Step::Totals ? "totals" : "rest";
}

/// The first k of every row in order, with their places; equals in order of place (kernels/reference/order.cc).
struct Order {
  static constexpr std::string_view kKind = "order";
  /// Whole: a block has a row. Chunks: it has a chunk of one, of k elements at least, and gives the chunk's first k as
  /// [rows, chunks, k], places in the row. Join: a block has the first of a row's chunks, n of them in all; which
  /// places they are it `found`.
  enum class Step : std::uint8_t { Whole, Chunks, Join };
  DType dtype;
  bool descending;
  int row_dims;
  Step step;
  REPRISE_DESCRIBE(dtype, descending, row_dims, step)

  template <class As>
  struct Args {
    typename As::Number n, k, chunks;
    std::optional<typename As::Source> found;  ///< Int64
    typename As::Number room;                  ///< each row has twice so many elements of `keys` and `key_places`
    typename As::Target keys, key_places;      ///< Int64 where order_is_wide, else Int32; Int32
    std::vector<typename As::Number> row_sizes;
    Along<As, typename As::Source> x;
    Along<As, typename As::Target> values, places;  ///< places: Int64
    REPRISE_DESCRIBE(n, k, chunks, found, room, keys, key_places, row_sizes, x, values, places)
    void shape(const Order& code) {
      if (code.step == Step::Join) found.emplace().dtype = DType::Int64;
      keys.dtype = order_is_wide(code.dtype) ? DType::Int64 : DType::Int32, key_places.dtype = DType::Int32;
      row_sizes.resize(static_cast<std::size_t>(code.row_dims));
      x.shape(code.dtype, code.row_dims), values.shape(code.dtype, code.row_dims),
          places.shape(DType::Int64, code.row_dims);
    }
  };
};
constexpr std::string_view name_of(Order::Step s) {
  return s == Order::Step::Whole ? "whole" : s == Order::Step::Chunks ? "chunks" : "join";
}

// ---- single elements; a thread has one, or several that are a block apart. Tensors have strides for a common list of
// sizes.

template <class As, class Buffer>
struct Elements {
  Buffer buffer;
  typename As::Number offset;
  std::vector<typename As::Number> strides;
  REPRISE_DESCRIBE(buffer, offset, strides)
  void shape(DType t, int dims) { buffer.dtype = t, strides.resize(static_cast<std::size_t>(dims)); }
};

/// Are all index values within [0, extent), or with `wraps` within [-extent, extent)? The first one that is not is
/// noted unless there is a note already. One block.
struct CheckIndex {
  static constexpr std::string_view kKind = "check_index";
  DType dtype;
  bool wraps;
  int dims, threads;
  REPRISE_DESCRIBE(dtype, wraps, dims, threads)

  template <class As>
  struct Args {
    typename As::Number n, extent;
    typename As::Number number, first;  ///< of the check, from 1 on; 1: the record has not been written before
    std::vector<typename As::Number> sizes;
    Elements<As, typename As::Source> index;
    /// Int64: number of the check that failed or 0, place of its first bad value, the value
    typename As::Target record;
    REPRISE_DESCRIBE(n, extent, number, first, sizes, index, record)
    void shape(const CheckIndex& code) {
      sizes.resize(static_cast<std::size_t>(code.dims));
      index.shape(code.dtype, code.dims), record.dtype = DType::Int64;
    }
  };
};

/// Can `wanted` categories be drawn by the weights of each row? They must be finite, not negative, and so many
/// positive. One block of kCheckThreads.
struct CheckWeights {
  static constexpr std::string_view kKind = "check_weights";
  DType dtype;
  REPRISE_DESCRIBE(dtype)

  template <class As>
  struct Args {
    typename As::Number rows, n, wanted;
    typename As::Number number, first;  ///< as CheckIndex's
    typename As::Source weights;
    typename As::Number offset, row_step, step;
    /// Int64: number of the check or 0; row * n + place of the first bad weight, and its bits as a double; or -1 - row
    /// of too few, and how many are positive.
    typename As::Target record;
    REPRISE_DESCRIBE(rows, n, wanted, number, first, weights, offset, row_step, step, record)
    void shape(const CheckWeights& code) { weights.dtype = code.dtype, record.dtype = DType::Int64; }
  };
};

/// y = x.
struct CopyElements {
  static constexpr std::string_view kKind = "copy";
  DType dtype;
  int dims;
  REPRISE_DESCRIBE(dtype, dims)

  template <class As>
  struct Args {
    typename As::Number n;
    std::vector<typename As::Number> sizes;
    Elements<As, typename As::Source> x;
    Elements<As, typename As::Target> y;
    REPRISE_DESCRIBE(n, sizes, x, y)
    void shape(const CopyElements& code) {
      sizes.resize(static_cast<std::size_t>(code.dims));
      x.shape(code.dtype, code.dims), y.shape(code.dtype, code.dims);
    }
  };
};

/// Random numbers of kernels/reference/philox.h: element i in row-major order uses counter offset + i.
struct Random {
  static constexpr std::string_view kKind = "random";
  DType dtype;
  bool normal;
  int dims;
  REPRISE_DESCRIBE(dtype, normal, dims)

  template <class As>
  struct Args {
    typename As::Number n, seed, first;  ///< first: offset of the first counter
    std::vector<typename As::Number> sizes;
    Elements<As, typename As::Target> out;
    REPRISE_DESCRIBE(n, seed, first, sizes, out)
    void shape(const Random& code) {
      sizes.resize(static_cast<std::size_t>(code.dims));
      out.shape(code.dtype, code.dims);
    }
  };
};

/// Draws by weights, as kernels/reference/order.cc makes them: with replacement, or single ones, by the running sums of
/// the weights.
struct Draw {
  static constexpr std::string_view kKind = "draw";
  DType dtype;
  REPRISE_DESCRIBE(dtype)

  template <class As>
  struct Args {
    typename As::Number rows, n, samples, seed, first;
    typename As::Source weights, running;  ///< running: Float64 [rows, n], dense
    typename As::Target out;               ///< Int64
    typename As::Number weights_offset, weights_row, weights_step, out_offset, out_row, out_step;
    REPRISE_DESCRIBE(rows, n, samples, seed, first, weights, running, out, weights_offset, weights_row, weights_step,
                     out_offset, out_row, out_step)
    void shape(const Draw& code) {
      weights.dtype = code.dtype, running.dtype = DType::Float64, out.dtype = DType::Int64;
    }
  };
};
/// The time at which each category comes, if they come at random, in the mean as often as they weigh: the first ones
/// are drawn without replacement. Infinite for a weight of 0.
struct Arrivals {
  static constexpr std::string_view kKind = "arrivals";
  DType dtype;
  REPRISE_DESCRIBE(dtype)

  template <class As>
  struct Args {
    typename As::Number rows, n, samples, seed, first;
    typename As::Source weights;
    typename As::Target times;  ///< Float64 [rows, n], dense
    typename As::Number weights_offset, weights_row, weights_step;
    REPRISE_DESCRIBE(rows, n, samples, seed, first, weights, times, weights_offset, weights_row, weights_step)
    void shape(const Arrivals& code) { weights.dtype = code.dtype, times.dtype = DType::Float64; }
  };
};

/// out[.., index[.., i, ..], ..] = src[.., i, ..] along one dim, for every line of the others. Of equal indices the
/// last one's element stays.
struct Scatter {
  static constexpr std::string_view kKind = "scatter";
  enum class Mode : std::uint8_t {
    Set,
    Number,  ///< one number instead of src
    Add,
  };
  DType dtype, index;
  Mode mode;
  int line_dims;
  REPRISE_DESCRIBE(dtype, index, mode, line_dims)

  template <class As>
  struct Args {
    typename As::Number lines, n;
    std::vector<typename As::Number> line_sizes;
    Along<As, typename As::Source> index;
    std::optional<Along<As, typename As::Source>> src;
    Along<As, typename As::Target> out;
    std::optional<typename As::Number> value;  ///< an Int64, or the bits of a double where dtype is floating
    REPRISE_DESCRIBE(lines, n, line_sizes, index, src, out, value)
    void shape(const Scatter& code) {
      line_sizes.resize(static_cast<std::size_t>(code.line_dims));
      index.shape(code.index, code.line_dims), out.shape(code.dtype, code.line_dims);
      if (code.mode == Mode::Number) value.emplace();
      else src.emplace().shape(code.dtype, code.line_dims);
    }
  };
};
constexpr std::string_view name_of(Scatter::Mode m) {
  return m == Scatter::Mode::Set ? "set" : m == Scatter::Mode::Number ? "number" : "add";
}

// index_put in steps. A position is an element of the broadcast index tensors, a line one of the dims not indexed.

/// to[position] = sum over index tensors of value * step.
struct IndexOffsets {
  static constexpr std::string_view kKind = "index_offsets";
  std::vector<DType> indices;
  int dims;  ///< of positions
  REPRISE_DESCRIBE(indices, dims)

  template <class As>
  struct Index {
    typename As::Source buffer;
    typename As::Number offset, extent, step;
    std::vector<typename As::Number> strides;
    REPRISE_DESCRIBE(buffer, offset, extent, step, strides)
  };
  template <class As>
  struct Args {
    typename As::Number positions;
    std::vector<typename As::Number> sizes;
    std::vector<Index<As>> indices;
    typename As::Target to;  ///< Int64
    REPRISE_DESCRIBE(positions, sizes, indices, to)
    void shape(const IndexOffsets& code) {
      sizes.resize(static_cast<std::size_t>(code.dims));
      indices.resize(code.indices.size());
      for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i].buffer.dtype = code.indices[i], indices[i].strides.resize(sizes.size());
      to.dtype = DType::Int64;
    }
  };
};
/// last[position] = to[position], or -1 where a later position has the same.
struct IndexLast {
  static constexpr std::string_view kKind = "index_last";
  REPRISE_DESCRIBE()

  template <class As>
  struct Args {
    typename As::Number positions;
    typename As::Source to;
    typename As::Target last;
    REPRISE_DESCRIBE(positions, to, last)
    void shape(const IndexLast&) { to.dtype = last.dtype = DType::Int64; }
  };
};
/// out[to[position], line] = (or +=) values.
struct IndexPut {
  static constexpr std::string_view kKind = "index_put";
  DType dtype;
  bool add;
  int position_dims, line_dims;
  REPRISE_DESCRIBE(dtype, add, position_dims, line_dims)

  template <class As>
  struct Args {
    typename As::Number positions, lines;
    typename As::Source to, values;
    typename As::Target out;
    typename As::Number values_offset, out_offset;
    std::vector<typename As::Number> position_sizes, values_positions, line_sizes, values_lines, out_lines;
    REPRISE_DESCRIBE(positions, lines, to, values, out, values_offset, out_offset, position_sizes, values_positions,
                     line_sizes, values_lines, out_lines)
    void shape(const IndexPut& code) {
      to.dtype = DType::Int64, values.dtype = out.dtype = code.dtype;
      for (auto* list : {&position_sizes, &values_positions})
        list->resize(static_cast<std::size_t>(code.position_dims));
      for (auto* list : {&line_sizes, &values_lines, &out_lines})
        list->resize(static_cast<std::size_t>(code.line_dims));
    }
  };
};

}  // namespace gpu

}  // namespace reprise::kernels
