// What is done along one dim for every index of the others: argmax, argmin, cumsum, topk, sort.
#include <algorithm>

#include "graph/shape_rules.h"
#include "kernels/gpu/rules.h"

namespace reprise::kernels {

using graph::OpId;

GpuWalkDims::GpuWalkDims(const Ints& all_sizes, const std::vector<Ints>& all_strides, std::uint32_t dims) {
  strides.resize(all_strides.size());
  for (std::size_t d = 0; d < all_sizes.size(); ++d) {
    if (!(dims >> d & 1) || known_as(all_sizes[d], 1)) continue;
    bool joins = !sizes.empty();
    for (std::size_t t = 0; t < strides.size(); ++t)
      joins = joins && same_number(strides[t].back(), all_strides[t][d] * all_sizes[d]);
    if (joins) {
      sizes.back() = sizes.back() * all_sizes[d];
      for (std::size_t t = 0; t < strides.size(); ++t) strides[t].back() = all_strides[t][d];
      continue;
    }
    sizes.push_back(all_sizes[d]);
    for (std::size_t t = 0; t < strides.size(); ++t) strides[t].push_back(all_strides[t][d]);
  }
  if (!sizes.empty()) return;
  sizes.push_back(1);
  for (Ints& s : strides) s.push_back(0);
}
Int GpuWalkDims::count() const { return numel(sizes); }

namespace {

/// A 0-dim tensor as one of one element.
Layout at_least_1d(Layout l) {
  if (l.dim() == 0) l.sizes.push_back(1), l.strides.push_back(1);
  return l;
}
int dim_of(const graph::NodeArg& a, int rank) {
  std::int64_t d = std::get<Int>(a).hint();
  return static_cast<int>(d < 0 ? d + rank : d);
}
std::uint32_t all_dims(int rank) { return (1u << rank) - 1; }

/// Blocks for so many rows (or chunks) of this length.
Int arg_blocks(Int rows, Int length) {
  return choose(where_at_most(length, kArgReduceWarp), blocks_for(rows, kArgReduceThreads / 32), rows);
}

/// How many chunks of `least` elements and more a row is taken in: several where few rows are long by the sizes at
/// hand.
std::int64_t chunks_of(Int rows, Int n, std::int64_t least, SourceLoc where, const char* why) {
  constexpr std::int64_t kMostSplitRows = 64, kBlocks = 512, kFewChunks = 4, kMostInOne = 1 << 18;
  if (rows.hint() > kMostSplitRows) return 1;
  if (n.hint() < least * kFewChunks) {
    // A call of very long rows is worth kernels of its own.
    graph::require(detail::compare_le(n, std::max(kMostInOne, least * kFewChunks), where), why);
    return 1;
  }
  return std::min(n.hint() / least, kBlocks / std::max<std::int64_t>(1, rows.hint()));
}
constexpr std::int64_t kChunk = 2048;

GpuLaunches arg_reduce(const GpuContext& cx, bool least) {
  const Operand &in = cx.operands[0], &result = cx.operands[1];
  Layout x = at_least_1d(in.layout), out = result.layout;
  bool one = std::holds_alternative<Int>(cx.node.args[1]) && in.layout.dim() > 0;
  std::uint32_t reduced = one ? 1u << dim_of(cx.node.args[1], x.dim()) : all_dims(x.dim());
  // The result's strides by dims of x: it lacks the reduced ones unless it keeps them.
  Ints to;
  int next = 0;
  bool keeps = out.dim() == x.dim();
  for (int d = 0; d < x.dim(); ++d) {
    bool gone = reduced >> d & 1;
    to.push_back(gone ? Int(0) : out.strides[keeps ? d : next]);
    if (!gone) ++next;
  }
  GpuWalkDims rows(x.sizes, {x.strides, to}, all_dims(x.dim()) & ~reduced), inner(x.sizes, {x.strides}, reduced);
  const Int n = inner.count();
  const std::int64_t chunks = chunks_of(rows.count(), n, kChunk, cx.node.info.loc, "rows that a block searches");
  using Step = gpu::ArgReduce::Step;
  auto launch = [&](Step step, std::uint32_t to, Int to_offset) {
    LaunchOf l(gpu::ArgReduce{in.dtype, least, rows.dims(), inner.dims(), step});
    l->rows = rows.count(), l->n = n, l->chunks = chunks;
    l->x = in, l->x_offset = x.offset, l->out = to, l->out_offset = to_offset;
    l->row_sizes = rows.sizes_told(), l->x_rows = rows.strides_told(0), l->out_rows = rows.strides_told(1);
    l->sizes = inner.sizes_told(), l->strides = inner.strides_told(0);
    return l;
  };
  std::vector<GpuLaunch> made;
  if (chunks == 1) {
    made.push_back(launch(Step::Whole, result.buffer, out.offset).in(arg_blocks(rows.count(), n)));
    return made;
  }
  const std::uint32_t found = cx.scratch(DType::Int64, rows.count() * chunks * item_size(DType::Int64));
  made.push_back(launch(Step::Chunks, found, 0).in(arg_blocks(rows.count() * chunks, blocks_for(n, chunks))));
  auto join = launch(Step::Join, result.buffer, out.offset);
  join->found = found;
  made.push_back(join.in(arg_blocks(rows.count(), chunks)));
  return made;
}

/// Running sums and orders, with their operands as rows and what lies along `dim`.
struct CumsumRows {
  Layout x, out;
  GpuWalkDims rows;
  Int n;
  CumsumRows(const Operand& in, const Operand& result, int along)
      : x(at_least_1d(in.layout)), out(at_least_1d(result.layout)),
        rows(x.sizes, {x.strides, out.strides}, all_dims(x.dim()) & ~(1u << along)), n(x.sizes[along]), dim(along) {}
  LaunchOf<gpu::Cumsum> launch(const Operand& in, const Operand& result, gpu::Cumsum::Step step, Int chunks) const {
    LaunchOf l(gpu::Cumsum{in.dtype, result.dtype, rows.dims(), step});
    l->n = n, l->chunks = chunks, l->row_sizes = rows.sizes_told();
    l->x = {.buffer = in, .offset = x.offset, .step = x.strides[dim], .rows = rows.strides_told(0)};
    l->out = {.buffer = result, .offset = out.offset, .step = out.strides[dim], .rows = rows.strides_told(1)};
    return l;
  }
  int dim;
};

GpuLaunches cumsum(const GpuContext& cx) {
  using Step = gpu::Cumsum::Step;
  const Operand &x = cx.operands[0], &out = cx.operands[1];
  const CumsumRows r(x, out, dim_of(cx.node.args[1], at_least_1d(x.layout).dim()));
  const Int rows = r.rows.count();
  const std::int64_t chunks = chunks_of(rows, r.n, 2 * kChunk, cx.node.info.loc, "rows that a block sums");
  if (chunks == 1) return std::vector<GpuLaunch>{r.launch(x, out, Step::Whole, 1).in(rows * where_more(r.n, 0))};
  const std::uint32_t sums = cx.scratch(cumsum_sum(out.dtype), rows * chunks * item_size(cumsum_sum(out.dtype)));
  LaunchOf totals = r.launch(x, out, Step::Totals, chunks), rest = r.launch(x, out, Step::Rest, chunks);
  totals->given = sums, rest->before = sums;
  return std::vector<GpuLaunch>{totals.in(rows * chunks), rest.in(rows * chunks)};
}

struct OrderRows {
  const GpuContext& cx;
  const Operand &in, &v, &p;
  int dim;
  bool descending;
  Layout x = at_least_1d(in.layout), values = at_least_1d(v.layout), places = at_least_1d(p.layout);
  GpuWalkDims rows{x.sizes, {x.strides, values.strides, places.strides}, all_dims(x.dim()) & ~(1u << dim)};

  /// In so many blocks, which have n elements each, and no more than `most`.
  LaunchOf<gpu::Order> launch(gpu::Order::Step step, Int n, Int most, Int k, Int chunks, Int blocks) const {
    const bool wide = order_is_wide(in.dtype),
               shared = !wide && (known_at_most(most, kOrderShared) || known_at_most(k, kOrderShared));
    const Int room = shared ? Int(0) : Int::max(k, Int::min(most, kOrderShared)), all = Int::max(1, blocks * room * 2);
    LaunchOf l(gpu::Order{in.dtype, descending, rows.dims(), step});
    l->n = n, l->k = k, l->chunks = chunks, l->room = room;
    l->keys = cx.scratch(wide ? DType::Int64 : DType::Int32, all * (wide ? 8 : 4)),
    l->key_places = cx.scratch(DType::Int32, all * 4);
    l->row_sizes = rows.sizes_told();
    l->x = {.buffer = in, .offset = x.offset, .step = x.strides[dim], .rows = rows.strides_told(0)};
    l->values = {.buffer = v, .offset = values.offset, .step = values.strides[dim], .rows = rows.strides_told(1)};
    l->places = {.buffer = p, .offset = places.offset, .step = places.strides[dim], .rows = rows.strides_told(2)};
    return l;
  }
};

/// Few of long rows: the first of each chunk, and of these the first. In each chunk are at least k elements in all
/// calls that the guards admit.
GpuLaunches order(const GpuContext& cx, const graph::NodeArg& dim_arg, bool descending) {
  using Step = gpu::Order::Step;
  const Operand &x = cx.operands[0], &v = cx.operands[1], &p = cx.operands[2];
  const int dim = dim_of(dim_arg, at_least_1d(x.layout).dim());
  const OrderRows r{cx, x, v, p, dim, descending};
  const Int n = r.x.sizes[dim], k = r.values.sizes[dim], rows = r.rows.count();
  const std::int64_t chunks = k.hint() > kOrderShared ? 1
                                                      : chunks_of(rows, n, std::max(kChunk, 4 * k.hint()),
                                                                  cx.node.info.loc, "rows that a block orders");
  if (chunks == 1 ||
      !graph::require(detail::compare_le(k * chunks, n, cx.node.info.loc), "rows in chunks of k elements at least"))
    return std::vector<GpuLaunch>{order_launch(cx, x, v, p, dim, k, descending)};
  const Int found = rows * chunks * k;
  const std::uint32_t values = cx.scratch(x.dtype, Int::max(1, found) * item_size(x.dtype)),
                      places = cx.scratch(DType::Int64, Int::max(1, found) * item_size(DType::Int64));
  LaunchOf first = r.launch(Step::Chunks, n, blocks_for(n, chunks), k, chunks, rows * chunks),
           join = r.launch(Step::Join, k * chunks, k * chunks, k, 1, rows);
  first->values.buffer = values, first->places.buffer = places;
  join->x.buffer = values, join->found = places;
  return std::vector<GpuLaunch>{first.in(rows * chunks * where_more(k, 0)), join.in(rows * where_more(k, 0))};
}

}  // namespace

GpuLaunch cumsum_launch(const Operand& in, const Operand& result, int dim, Int where) {
  const CumsumRows r(in, result, dim);
  return r.launch(in, result, gpu::Cumsum::Step::Whole, 1).in(r.rows.count() * where_more(r.n, 0) * where);
}

GpuLaunch order_launch(const GpuContext& cx, const Operand& in, const Operand& v, const Operand& p, int dim, Int k,
                       bool descending) {
  const OrderRows r{cx, in, v, p, dim, descending};
  const Int n = r.x.sizes[dim], rows = r.rows.count();
  return r.launch(gpu::Order::Step::Whole, n, n, k, 1, rows).in(rows * where_more(k, 0));
}

GpuLaunches gpu_argmax(const GpuContext& cx, std::vector<Launch>&) { return arg_reduce(cx, false); }
GpuLaunches gpu_argmin(const GpuContext& cx, std::vector<Launch>&) { return arg_reduce(cx, true); }
GpuLaunches gpu_cumsum(const GpuContext& cx, std::vector<Launch>&) { return cumsum(cx); }
GpuLaunches gpu_topk(const GpuContext& cx, std::vector<Launch>&) {
  return order(cx, cx.node.args[2], std::get<bool>(cx.node.args[3]));
}
GpuLaunches gpu_sort(const GpuContext& cx, std::vector<Launch>&) {
  return order(cx, cx.node.args[1], std::get<bool>(cx.node.args[2]));
}

}  // namespace reprise::kernels
