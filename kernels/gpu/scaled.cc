// Products of quantized matrices for blocks of threads: int_mm, scaled_mm. A few rows of operands that are dense along
// k go to the kernel that reads the weights once.
#include "kernels/gpu/rules.h"
#include "kernels/launch/scales.h"

namespace reprise::kernels {

using device::kFewProductRows;

namespace {

gpu::Lines lines_of(Int k_stride, Int line_stride) {
  return known_as(k_stride, 1) ? gpu::Lines::Deep : known_as(line_stride, 1) ? gpu::Lines::Wide : gpu::Lines::Any;
}

/// 1 where a == b, else 0.
Int where_same(Int a, Int b) { return same_number(a, b) ? Int(1) : 1 - where_more(a, b) - where_more(b, a); }

struct ScaledOperands {
  const std::vector<Operand>& o;
  bool scaled, has_bias;
  std::int64_t block_k = 128, block_n = 128;

  const Operand& a() const { return o[0]; }
  const Operand& b() const { return o[1]; }
  const Operand& c() const { return o.back(); }
  Int m() const { return c().layout.sizes[0]; }
  Int n() const { return c().layout.sizes[1]; }
  Int k() const { return a().layout.sizes[1]; }

  /// How many scales there are along k, less one where that is one: 0 where it is one for all.
  Int along_k(int scale, int k_dim) const {
    const Layout& s = o[static_cast<std::size_t>(scale)].layout;
    return s.dim() < 2 ? Int(0) : where_more(s.sizes[static_cast<std::size_t>(k_dim)], 1);
  }
  /// Elements of k that are summed before they are scaled.
  Int block() const {
    if (!scaled) return Int::max(1, k());
    return choose(Int::max(along_k(2, 1), along_k(3, 0)), block_k, ScaledCall::kLongestSum);
  }

  gpu::ScalesOf<InLaunch> scales(int scale, int k_dim, Int lines, std::int64_t block_lines) const {
    const Operand& s = o[static_cast<std::size_t>(scale)];
    gpu::ScalesOf<InLaunch> out;
    out.buffer = s, out.offset = s.layout.offset;
    if (s.layout.dim() < 2) {
      out.line = 0, out.k = 0, out.lines = 1;
      return out;
    }
    const std::size_t kd = static_cast<std::size_t>(k_dim);
    const Int there = s.layout.sizes[1 - kd];
    out.line = s.layout.strides[1 - kd] * where_more(there, 1), out.k = s.layout.strides[kd] * along_k(scale, k_dim);
    out.lines = block_lines ? choose(where_same(there, lines), 1, block_lines) : Int(1);
    return out;
  }

  template <class K>
  LaunchOf<K> told(K code) const {
    LaunchOf l(std::move(code));
    l->m = m(), l->n = n(), l->k = k(), l->block = block();
    l->a = a(), l->a_offset = a().layout.offset, l->a_m = a().layout.strides[0], l->a_k = a().layout.strides[1];
    l->b = b(), l->b_offset = b().layout.offset, l->b_k = b().layout.strides[0], l->b_n = b().layout.strides[1];
    l->c = c(), l->c_offset = c().layout.offset, l->c_m = c().layout.strides[0], l->c_n = c().layout.strides[1];
    if (scaled) tell(*l->scale_a, scales(2, 1, m(), 0)), tell(*l->scale_b, scales(3, 0, n(), block_n));
    if (has_bias) tell(*l->bias, o[4]), l->bias_offset = o[4].layout.offset, l->bias_n = o[4].layout.strides[0];
    return l;
  }

 private:
  static void tell(InLaunch::Source& to, const Operand& o) { to.index = o.buffer; }
  /// All but the dtype, which is the code's.
  static void tell(gpu::ScalesOf<InLaunch>& to, gpu::ScalesOf<InLaunch> from) {
    from.buffer.dtype = to.buffer.dtype;
    to = from;
  }
};

}  // namespace

GpuLaunches gpu_scaled(const GpuContext& cx, std::vector<Launch>&) {
  const bool scaled = cx.operands.back().dtype != DType::Int32;
  ScaledOperands p{cx.operands, scaled, scaled && cx.operands.size() == 6};
  if (scaled)
    if (const auto* block = std::get_if<Ints>(&cx.node.args[6]))
      p.block_k = (*block)[0].hint(), p.block_n = (*block)[1].hint();
  if (p.block_k % kProductDepth != 0 || p.block_k > ScaledCall::kLongestSum) return std::nullopt;  // the host's
  const DType a = p.a().dtype, b = p.b().dtype, c = p.c().dtype,
              bias = p.has_bias ? cx.operands[4].dtype : DType::Float32;
  const Layout &la = p.a().layout, &lb = p.b().layout;
  const bool deep = known_as(la.strides[1], 1) && known_as(lb.strides[0], 1);
  const bool few = deep && !known_above(p.m(), kFewProductRows) && !known_above(p.k(), ScaledCall::kLongestSum);
  std::vector<GpuLaunch> out;
  // What the kernel of few rows sums in one piece is bounded: beyond it the tiles, which are told by the product of
  // both conditions.
  const Int is_few =
      few ? where_at_most(p.m(), kFewProductRows) * where_at_most(p.k(), ScaledCall::kLongestSum) : Int(0);
  if (few) {
    // Code for a single row needs fewer registers, so more of it waits for memory at a time.
    auto add = [&](int known_m, Int where) {
      out.push_back(p.told(gpu::ScaledDot{a, b, c, known_m, p.has_bias, bias})
                        .in(is_few * where * blocks_for(p.n(), kProductDotThreads / 32)));
    };
    if (p.m().is_symbolic()) {
      add(1, where_is(p.m(), 1));
      add(0, where_more(p.m(), 1));
    } else {
      add(static_cast<int>(p.m().hint()), where_more(p.m(), 0));
    }
  }
  if (!few || !known_as(is_few, 1)) {
    const bool long_blocks = !scaled || p.block_k % kScaledStep == 0;
    auto add = [&](ProductTileSize tile, Int where) {
      auto l = p.told(gpu::ScaledTiles{a, b, c, lines_of(la.strides[1], la.strides[0]),
                                       lines_of(lb.strides[0], lb.strides[1]), p.has_bias, bias, long_blocks, tile.rows,
                                       tile.columns});
      out.push_back(l.in((1 - is_few) * where * blocks_for(p.m(), tile.rows) * blocks_for(p.n(), tile.columns)));
    };
    const ProductTileSize large = kScaledTileOfCores;
    const bool one_byte = item_size(a) == 1 && item_size(b) == 1;
    const Int enough =
        long_blocks && one_byte
            ? where_more(p.m(), large.rows / 2) *
                  where_more(blocks_for(p.m(), large.rows) * blocks_for(p.n(), large.columns), kProductTilesEnough - 1)
            : Int(0);
    if (!known_as(enough, 0)) add(large, enough);
    if (!known_as(enough, 1)) add({kProductTile, kProductTile}, 1 - enough);
  }
  for (std::size_t i = 1; i < out.size(); ++i) out[i].alternative = true;
  return out;
}

}  // namespace reprise::kernels
