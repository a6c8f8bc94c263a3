// scaled_dot_product_attention for blocks of threads. Few rows (decoding) and many take different kernels; see
// kernels/gpu/matmul.cc for how the choice is left to the numbers of blocks. Float64 stays with the host.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/shape_rules.h"
#include "kernels/gpu/rules.h"
#include "kernels/loop/body_builder.h"

namespace reprise::kernels {

namespace {

// Two blocks a multiprocessor. One that goes on to a second chunk takes about as long as several whose parts are
// joined.
constexpr std::int64_t kMostSplits = 64, kWantedBlocks = 256;
constexpr std::int64_t kRange = 32;  // ranges of keys are multiples

Int size_of(const Layout& l, int from_right) { return l.dim() < from_right ? Int(1) : l.sizes[l.dim() - from_right]; }
/// 0 for a dim that is not there or of size 1.
Int stride_of(const Layout& l, int from_right) {
  return known_as(size_of(l, from_right), 1) ? Int(0) : l.strides[l.dim() - from_right];
}

/// The operands with dims outer, head, row, column; false when there are more dims than provably fall together.
struct Batches {
  explicit Batches(const GpuContext& cx) : result(cx.operands.back().layout) {
    for (const Operand& o : cx.operands) outer.push_back(stride_of(o.layout, 4));
    outer_size = size_of(result, 4);
    for (int d = 5; d <= result.dim(); ++d) {
      if (known_as(size_of(result, d), 1)) continue;
      for (std::size_t i = 0; i < outer.size(); ++i) {
        Int stride = stride_of(cx.operands[i].layout, d);
        if (known_as(outer_size, 1)) outer[i] = stride;
        else ok = ok && same_number(stride, outer[i] * outer_size);
      }
      outer_size = outer_size * size_of(result, d);
    }
  }
  const Layout& result;
  std::vector<Int> outer;
  Int outer_size = 1;
  bool ok = true;
};

Int bits_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// The number that sizes of a head are in the traced call, which the kernels are made for: others are another
/// compilation.
Int fixed(Int n, SourceLoc where) {
  const std::int64_t now = n.hint();
  const bool known = !n.is_symbolic() || (now <= kAttentionDepth && graph::require(detail::compare_eq(n, now, where),
                                                                                   "size of a head of attention"));
  return known ? Int(now) : n;
}

/// The launches for few rows and for many. A row is a query of one of the heads that share keys and values.
struct AttentionLaunches {
  AttentionLaunches(const GpuContext& context, const Batches& b, int depth_, int width_)
      : cx(context), o(context.operands), batches(b), depth(depth_), width(width_) {
    auto flag = [&](std::size_t i) {
      return std::holds_alternative<bool>(cx.node.args[i]) && std::get<bool>(cx.node.args[i]);
    };
    const auto* given = std::get_if<Scalar>(&cx.node.args[6]);
    scale = given ? given->to_double() : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(depth, 1)));
    const bool masked = o.size() == 5, grouped = flag(7);
    causal = flag(5);
    mask = !masked ? gpu::Mask::None : o[3].dtype == DType::Bool ? gpu::Mask::Bool : gpu::Mask::Added;

    const Layout &k = o[1].layout, &v = o[2].layout, &out = o.back().layout;
    heads = size_of(out, 3), queries = size_of(out, 2), keys = size_of(k, 2);
    if (grouped) {
      auto share = [&](const Layout& l) {
        return identical(heads, size_of(l, 3)) ? Int(1) : Int::max(1, heads / Int::max(1, size_of(l, 3)));
      };
      k_group = share(k), v_group = share(v);
    }
    group = same_number(k_group, v_group) ? k_group : Int(1), rows = queries * group;
  }

  /// Parts of the keys. Nothing to do for more than kAttentionFewRows. `before`: nobody has arrived.
  void few(std::vector<GpuLaunch>& launches, std::vector<Launch>& before) const {
    std::int64_t at_a_time = rows.is_symbolic() ? (group.is_symbolic() ? 4 : group.hint()) : rows.hint();
    at_a_time = at_a_time >= 3 ? 4 : at_a_time == 2 ? 2 : 1;
    const Int units = heads / group, least_rows = Int::min(rows, kAttentionFewRows),
              all_units = batches.outer_size * units;
    const Int tiles = Int::ceil_div(least_rows, at_a_time), places = Int::max(1, all_units * tiles);
    // Room for the parts is there whatever the length, and blocks are: a recording for all lengths has them (Note
    // [Words of a recording]).
    const Int most_splits = Int::min(kMostSplits, Int::ceil_div(kWantedBlocks, places));
    const Int splits = Int::max(1, Int::min(most_splits, Int::ceil_div(keys, kAttentionChunk) - 1));
    const std::uint32_t parts =
        cx.scratch(DType::Float32, Int::max(1, all_units * least_rows) * most_splits * (width + 2) * 4);
    const Int where = where_at_most(rows, kAttentionFewRows);
    const std::uint32_t arrived = cx.scratch(DType::Int32, places * 4);
    before.push_back({zeros(arrived, where * all_units * tiles), "attention_begin", cx.node.info.loc, false, {}});

    const Int k_units = k_group / group, v_units = v_group / group;
    auto known = [](const Int& n) { return n.is_symbolic() || n.hint() > INT32_MAX ? 0 : static_cast<int>(n.hint()); };
    LaunchOf part(gpu::AttentionPart{dtype(), depth, width, mask, causal, static_cast<int>(at_a_time), known(units),
                                     known(places), known(group), known(k_units), known(v_units)});
    part->rows = rows, part->units = units, part->queries = queries, part->keys = keys, part->places = places,
    part->scale = bits_of(scale);
    part->k_units = k_units, part->v_units = v_units, part->group = group, part->splits = splits;
    part->range = Int::ceil_div(Int::ceil_div(keys, splits), kRange) * kRange;
    tell_inputs(part);
    part->parts = parts, part->arrived = arrived, part->out = heads_of<InLaunch::Target>(o.size() - 1);
    const Int blocks = where * all_units * blocks_for(rows, at_a_time);
    launches.push_back(part.in(blocks * splits, blocks * most_splits));
  }

  /// Nothing to do for at most `but_for` rows.
  void many(std::vector<GpuLaunch>& launches, std::int64_t but_for) const {
    const gpu::AttentionTiles code{dtype(), depth, width, mask, causal};
    LaunchOf l(code);
    l->heads = heads, l->queries = queries, l->keys = keys, l->scale = bits_of(scale), l->k_group = k_group,
    l->v_group = v_group;
    tell_inputs(l);
    l->out = heads_of<InLaunch::Target>(o.size() - 1);
    launches.push_back(
        l.in(where_more(rows, but_for) * batches.outer_size * heads * blocks_for(queries, code.block_queries())));
  }

  static LoopLaunch zeros(std::uint32_t buffer, Int n) {
    LoopLaunch l;
    l.kernel.name = "attention_begin";
    l.kernel.extents = {n}, l.kernel.n_kept = 1;
    BodyBuilder body(l.kernel);
    body.store({body.buffer(DType::Int32, true), {1}, 0, {}}, body.constant(Scalar(std::int64_t{0}), DType::Int32));
    l.buffers = {buffer};
    return l;
  }

  DType dtype() const { return o.back().dtype; }
  template <class Buffer>
  gpu::Heads<InLaunch, Buffer> heads_of(std::size_t i) const {
    const Layout& x = o[i].layout;
    return {.buffer = o[i],
            .offset = x.offset,
            .outer = batches.outer[i],
            .head = stride_of(x, 3),
            .row = stride_of(x, 2),
            .column = stride_of(x, 1)};
  }
  template <class K>
  void tell_inputs(LaunchOf<K>& l) const {
    l->q = heads_of<InLaunch::Source>(0), l->k = heads_of<InLaunch::Source>(1), l->v = heads_of<InLaunch::Source>(2);
    if (mask != gpu::Mask::None) l->mask = heads_of<InLaunch::Source>(3);
  }

  const GpuContext& cx;
  const std::vector<Operand>& o;
  const Batches& batches;
  const int depth, width;
  gpu::Mask mask = gpu::Mask::None;
  bool causal = false;
  double scale = 1;
  Int heads, queries, keys;
  Int k_group = 1, v_group = 1;  ///< query heads that share a head of keys, of values
  Int group, rows;
};

}  // namespace

GpuLaunches gpu_attention(const GpuContext& cx, std::vector<Launch>& before) {
  const Layout &q = cx.operands[0].layout, &out = cx.operands.back().layout;
  if (cx.operands.back().dtype == DType::Float64) return std::nullopt;
  Batches batches(cx);
  if (!batches.ok) return std::nullopt;
  const Int depth = fixed(size_of(q, 1), cx.node.info.loc), width = fixed(size_of(out, 1), cx.node.info.loc);
  if (depth.is_symbolic() || width.is_symbolic() || depth.hint() > kAttentionDepth || width.hint() > kAttentionDepth ||
      depth.hint() == 0)
    return std::nullopt;
  if (known_as(width, 0)) return std::vector<GpuLaunch>();

  const AttentionLaunches attention(cx, batches, static_cast<int>(depth.hint()), static_cast<int>(width.hint()));
  std::vector<GpuLaunch> launches;
  const bool few = !known_above(attention.rows, kAttentionFewRows);
  const bool many = !known_at_most(attention.rows, kAttentionFewRows);
  if (few) attention.few(launches, before);
  if (many) attention.many(launches, few ? kAttentionFewRows : 0);
  return launches;
}

}  // namespace reprise::kernels
