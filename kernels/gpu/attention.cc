// scaled_dot_product_attention for blocks of threads. Few rows (decoding) and many take different kernels; see
// kernels/gpu/matmul.cc for how the choice is left to the grids. Float64 stays with the host.
#include <cmath>
#include <cstring>

#include "graph/shape_rules.h"
#include "kernels/gpu/rules.h"

namespace reprise::kernels {

namespace {

constexpr std::int64_t kMostSplits = 64, kWantedBlocks = 512, kLeastKeys = 64;

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
        if (known_as(outer_size, 1))
          outer[i] = stride;
        else
          ok = ok && same_number(stride, outer[i] * outer_size);
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

/// The number that sizes of a head are in the traced call, which the kernels are made for: others are another compilation.
Int fixed(Int n, SourceLoc where) {
  const std::int64_t now = n.hint();
  const bool known = !n.is_symbolic() || (now <= kAttentionDepth && graph::require(detail::compare_eq(n, now, where), "size of a head of attention"));
  return known ? Int(now) : n;
}

/// What the kernels for few rows and for many have in common. A row is a query of one of the heads that share keys and
/// values.
struct Attention {
  Attention(const GpuContext& context, const Batches& b, std::int64_t depth, std::int64_t head_width)
      : cx(context), o(context.operands), batches(b), width(head_width) {
    auto flag = [&](std::size_t i) {
      return std::holds_alternative<bool>(cx.node.args[i]) && std::get<bool>(cx.node.args[i]);
    };
    const auto* given = std::get_if<Scalar>(&cx.node.args[6]);
    scale = given ? given->to_double() : 1 / std::sqrt(static_cast<double>(depth));
    bool masked = o.size() == 5, causal = flag(5), grouped = flag(7);
    GpuMask mask = !masked ? GpuMask::None : o[3].dtype == DType::Bool ? GpuMask::Bool : GpuMask::Added;

    const Layout &k = o[1].layout, &v = o[2].layout, &out = o.back().layout;
    heads = size_of(out, 3), queries = size_of(out, 2), keys = size_of(k, 2);
    if (grouped) {
      auto share = [&](const Layout& l) {
        return identical(heads, size_of(l, 3)) ? Int(1) : Int::max(1, heads / Int::max(1, size_of(l, 3)));
      };
      k_group = share(k), v_group = share(v);
    }
    group = same_number(k_group, v_group) ? k_group : Int(1), rows = queries * group;
    code = {static_cast<std::int64_t>(o.back().dtype), depth, width, static_cast<std::int64_t>(mask), causal ? 1 : 0};
    queries_of_block = attention_queries(depth, width);
  }

  void tensor(GpuLaunchBuilder& l, std::size_t i) const {
    const Layout& x = o[i].layout;
    l.ints({x.offset, batches.outer[i], stride_of(x, 3), stride_of(x, 2), stride_of(x, 1)});
  }
  void inputs(GpuLaunchBuilder& l) const {
    for (std::size_t i = 0; i + 1 < o.size(); ++i) l.buffer(o[i].buffer);
  }

  /// Parts of the keys, and what joins them. Does nothing for more than kAttentionFewRows.
  void few(std::vector<GpuLaunch>& launches) const {
    std::int64_t at_a_time = rows.is_symbolic() ? (group.is_symbolic() ? 4 : group.hint()) : rows.hint();
    at_a_time = at_a_time >= 3 ? 4 : at_a_time == 2 ? 2 : 1;
    Int units = heads / group, least_rows = Int::min(rows, kAttentionFewRows);
    Int blocks = Int::max(1, batches.outer_size * units * Int::ceil_div(least_rows, at_a_time));
    Int splits = Int::max(
        1, Int::min(Int::min(kMostSplits, Int::ceil_div(keys, kLeastKeys)), Int::ceil_div(kWantedBlocks, blocks)));
    std::uint32_t parts =
        cx.scratch(DType::Float32, Int::max(1, batches.outer_size * units * least_rows) * splits * (width + 2) * 4);
    std::vector<std::int64_t> part_code = code;
    part_code.push_back(at_a_time);
    auto part_grid = at_a_time == 4   ? [](const std::int64_t* i) { return i[1] > i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * i[10] * blocks_for(i[1], 4)); }
                     : at_a_time == 2 ? [](const std::int64_t* i) { return i[1] > i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * i[10] * blocks_for(i[1], 2)); }
                                      : [](const std::int64_t* i) { return i[1] > i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * i[10] * i[1]); };
    GpuLaunchBuilder part(kGpuAttentionPart, part_code, part_grid);
    inputs(part);
    part.buffer(parts, true);
    part.ints({kAttentionFewRows, rows, batches.outer_size, units, queries, keys, bits_of(scale), k_group / group,
               v_group / group, group, splits});
    for (std::size_t i = 0; i + 1 < o.size(); ++i) tensor(part, i);
    launches.push_back(std::move(part.launch));

    GpuLaunchBuilder join(kGpuAttentionJoin, {code[0], code[2]}, [](const std::int64_t* i) {
      return i[1] > i[0] ? device::Dim3{0, 1, 1} : grid_of(blocks_for(i[1] * i[2] * i[3], kAttentionThreads / 32));
    });
    join.buffer(parts).buffer(o.back().buffer, true);
    join.ints({kAttentionFewRows, rows, batches.outer_size, units, group, splits});
    tensor(join, o.size() - 1);
    launches.push_back(std::move(join.launch));
  }

  /// Does nothing for at most `but_for` rows.
  void many(std::vector<GpuLaunch>& launches, std::int64_t but_for) const {
    auto grid =
        queries_of_block == 64
            ? [](const std::int64_t*
                     i) { return i[1] <= i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * blocks_for(i[4], 64)); }
        : queries_of_block == 32
            ? [](const std::int64_t*
                     i) { return i[1] <= i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * blocks_for(i[4], 32)); }
            : [](const std::int64_t* i) {
                return i[1] <= i[0] ? device::Dim3{0, 1, 1} : grid_of(i[2] * i[3] * blocks_for(i[4], 16));
              };
    GpuLaunchBuilder l(kGpuAttention, code, grid);
    inputs(l);
    l.buffer(o.back().buffer, true);
    l.ints({but_for, rows, batches.outer_size, heads, queries, keys, bits_of(scale), k_group, v_group});
    for (std::size_t i = 0; i < o.size(); ++i) tensor(l, i);
    launches.push_back(std::move(l.launch));
  }

  const GpuContext& cx;
  const std::vector<Operand>& o;
  const Batches& batches;
  const std::int64_t width;
  double scale;
  Int heads, queries, keys;
  Int k_group = 1, v_group = 1;  ///< query heads that share a head of keys, of values
  Int group, rows;
  std::vector<std::int64_t> code;  ///< the kernels' parameters
  std::int64_t queries_of_block;
};

}  // namespace

GpuLaunches gpu_attention(const GpuContext& cx, std::vector<Launch>&) {
  const Layout &q = cx.operands[0].layout, &out = cx.operands.back().layout;
  if (cx.operands.back().dtype == DType::Float64) return std::nullopt;
  Batches batches(cx);
  if (!batches.ok) return std::nullopt;
  const Int depth = fixed(size_of(q, 1), cx.node.loc), width = fixed(size_of(out, 1), cx.node.loc);
  if (depth.is_symbolic() || width.is_symbolic() || depth.hint() > kAttentionDepth ||
      width.hint() > kAttentionDepth || depth.hint() == 0)
    return std::nullopt;
  if (known_as(width, 0)) return std::vector<GpuLaunch>();

  const Attention attention(cx, batches, depth.hint(), width.hint());
  std::vector<GpuLaunch> launches;
  const bool few = !known_above(attention.rows, kAttentionFewRows);
  const bool many = !known_at_most(attention.rows, kAttentionFewRows);
  if (few) attention.few(launches);
  if (many) attention.many(launches, few ? kAttentionFewRows : 0);
  return launches;
}

}  // namespace reprise::kernels
