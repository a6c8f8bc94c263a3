// The tiled product of quantized matrices on tensor cores: Int8 summed in Int32, or Float8, whose elements become
// Float16 on their way to them, summed in Float32. Where the scales change along k, what has been summed so far is
// scaled and added to the totals.
//
// Warpgroups multiply both as they are, where both operands lie along k. Of Float8 their sums have some 14 bits
// (DeepSeek-AI: DeepSeek-V3 Technical Report, 2024, section 3.3.2), so that those of each step are added to the totals;
// these are scaled in the end where scales are the same along k.
#include <cmath>
#include <functional>

#include "jit/gpu/kernels/scaled.h"
#include "jit/gpu/kernels/tensor_tile.h"

namespace reprise::jit {

namespace {

bool is_float8(DType t) { return t == DType::Float8E4M3FN || t == DType::Float8E5M2; }

bool for_warpgroups(const device::CodeTarget& target, const gpu::ScaledTiles& code) {
  return WarpgroupCores::serve(target, code.a) && code.a_lines == gpu::Lines::Deep && code.b_lines == gpu::Lines::Deep;
}

TileShape shape_of(const device::CodeTarget& target, const gpu::ScaledTiles& code) {
  const bool large = code.tile_rows > 64;
  if (for_warpgroups(target, code))
    return {.rows = code.tile_rows,
            .columns = code.tile_columns,
            .warps_down = code.tile_rows / 16,
            .warps_across = 1,
            .depth = WarpgroupCores::kLineBytes,
            .stages = large ? 6 : 4,
            .for_warpgroups = true};
  return {.rows = code.tile_rows,
          .columns = code.tile_columns,
          .warps_down = large ? 4 : 2,
          .warps_across = 2,
          .depth = kernels::kScaledStep,
          .stages = 4};
}

/// Four elements of Float8 as two registers of two Float16 each. Those of E4M3FN are 2^-8 of what they mean, exactly:
/// their exponents are left as they are.
Vs halves_of(DType t, const V& four) {
  Vs out;
  for (int high : {0, 1}) {
    V x = high ? four >> 16 : four;
    x = (x & 0xff) | ((x & 0xff00) << 8);  // an element in the low byte of each half
    if (t == DType::Float8E5M2) {
      out.push_back(x << 8);
      continue;
    }
    V magnitude = x & 0x007f007f, nan = (magnitude + 0x00010001) & 0x00800080;
    out.push_back(((x & 0x00800080) << 8) | (magnitude << 7) | ((nan << 8) - (nan << 3)));
  }
  return out;
}

}  // namespace

bool scaled_by_tensor_cores(int sm, const gpu::ScaledTiles& code) {
  const bool bytes = (code.a == DType::Int8 && code.b == DType::Int8) || (is_float8(code.a) && is_float8(code.b));
  return code.long_blocks && bytes && TensorCores::there(sm);
}

void emit_by_tensor_cores(GpuModule& module, const gpu::ScaledTiles& code) {
  using gpu::Lines;
  const DType sum = gpu::scaled_sum_dtype(code.a), f32 = DType::Float32, bytes = DType::Int8;
  const bool floats = is_float8(code.a);
  const TileShape shape = shape_of(module.target, code);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, shape.threads());
  TensorCores cores(g, floats ? DType::Float16 : DType::Int8);
  TensorTile tile(module, g, cores, shape, bytes, bytes);
  const bool scales = in.scale_a.has_value();

  V down = g.ceil_div(in.m, shape.rows);
  tile.first_row = g.block_id % down * shape.rows, tile.first_column = g.block_id / down * shape.columns;
  auto stride = [&](Lines kind, V k) { return kind == Lines::Deep ? g.i64(1) : k; };
  TensorPanels a(cores, bytes, shape,
                 {TensorPanels::Side::Left,
                  code.a_lines,
                  g.at(bytes, in.a, in.a_offset),
                  stride(code.a_lines, in.a_k),
                  in.m,
                  in.k,
                  [&](V i) { return i * in.a_m; },
                  {in.a_m}},
                 shape.rows, tile.first_row, 0, tile.warp_row);
  TensorPanels b(cores, bytes, shape,
                 {TensorPanels::Side::Right,
                  code.b_lines,
                  g.at(bytes, in.b, in.b_offset),
                  stride(code.b_lines, in.b_k),
                  in.n,
                  in.k,
                  [&](V j) { return j * in.b_n; },
                  {in.b_n}},
                 shape.columns, tile.first_column, tile.of_b(), tile.warp_column);
  TileSums sums(g, shape, sum);
  std::optional<TileSums> totals;
  if (scales) totals.emplace(g, shape, f32);

  // Fragments as the tensor cores take them: of Float8 each run of 16 elements is a step of its own. Which of its
  // elements meet first is the same on both sides, and so does not matter.
  using Fragments = std::vector<Vs>;
  auto rows_of = [&](const Vs& x) -> Fragments {
    if (!floats) return {x};
    Fragments steps;
    for (std::size_t run : {0, 1}) {
      Vs upper = halves_of(code.a, x[2 * run]), lower = halves_of(code.a, x[2 * run + 1]);
      steps.push_back({upper[0], lower[0], upper[1], lower[1]});
    }
    return steps;
  };
  auto columns_of = [&](const V& first_run, const V& second_run) -> Fragments {
    if (!floats) return {{first_run, second_run}};
    return {halves_of(code.b, first_run), halves_of(code.b, second_run)};
  };
  const double as_meant =
      floats && !shape.for_warpgroups
          ? std::ldexp(1.0, (code.a == DType::Float8E4M3FN ? 8 : 0) + (code.b == DType::Float8E4M3FN ? 8 : 0))
          : 1;
  /// f(place among the lane's sums, the scales of its row and column)
  auto for_scales = [&](V block, const std::function<void(std::size_t, V, V)>& f) {
    Vs by_a, by_b;
    V row = tile.first_row + g.i64(tile.warp_row + (g.lane_id >> 2)),
      column = tile.first_column + g.i64(tile.warp_column + (g.lane_id & 3) * 2);
    for (int r = 0; r < shape.warp_rows(); r += 8)
      by_a.push_back(scale_at(g, *in.scale_a, g.min(row + r, in.m - 1), block));
    for (int c = 0; c < shape.warp_columns(); c += 8)
      for (int i : {0, 1}) by_b.push_back(scale_at(g, *in.scale_b, g.min(column + (c + i), in.n - 1), block));
    for (int r = 0; r < shape.warp_rows(); r += 8)
      for (int c = 0; c < shape.warp_columns(); c += 8)
        for (int i : {0, 1})
          f(sums.at(r, c) + static_cast<std::size_t>(r / 8 % 2 * 2 + i), by_a[static_cast<std::size_t>(r / 8)],
            by_b[static_cast<std::size_t>(c / 8 * 2 + i)]);
  };
  auto scale = [&](V block) {
    for_scales(block, [&](std::size_t at, V of_row, V of_column) {
      V meant = g.convert(sum, f32, sums.all[at]);
      if (as_meant != 1) meant = meant * as_meant;
      totals->all[at] = totals->all[at] + meant * of_row * of_column;
      sums.all[at] = g.constant(sum, 0);
    });
  };
  auto scale_totals = [&] {
    for_scales(g.i64(0),
               [&](std::size_t at, V of_row, V of_column) { totals->all[at] = totals->all[at] * of_row * of_column; });
  };
  auto add = [&](TileSums& from, TileSums& to) {
    for (std::size_t i = 0; i < from.all.size(); ++i)
      to.all[i] = to.all[i] + from.all[i], from.all[i] = g.constant(from.dtype, 0);
  };

  Var block = g.var(g.i64(0));
  auto scale_at_end = [&](V end) {
    g.when((end >= (block + 1) * in.block) | (end >= in.k), [&] { scale(block), block = block + 1; });
  };
  if (shape.for_warpgroups) {
    WarpgroupCores warpgroup(g, code.a, code.b);
    const V one_scale = scales ? in.block >= in.k : V();
    /// The step's sums, in pieces of `depth` of k.
    auto step = [&](V stage, V k, int depth) {
      const WarpgroupCores::Matrix left = a.matrix(warpgroup, stage), right = b.matrix(warpgroup, stage);
      for (int at = 0; at < shape.depth; at += depth) {
        warpgroup.begin();
        for (int d = at; d < at + depth; d += WarpgroupCores::depth(code.a))
          warpgroup.multiply_add(a.beyond(warpgroup, left, d), b.beyond(warpgroup, right, d), shape.columns, sums.all);
        warpgroup.commit();
        warpgroup.wait(0, sums.all);
        if (!scales) continue;
        g.when(k + at < in.k, [&] {
          if (!floats) return scale_at_end(k + (at + depth));
          g.when(
              one_scale, [&] { add(sums, *totals); }, [&] { scale_at_end(k + (at + depth)); });
        });
      }
    };
    tile.go(a, b, in.k, [&](V stage, V k) {
      if (!scales) return step(stage, k, shape.depth);
      g.when(
          one_scale | (in.block % shape.depth == 0), [&] { step(stage, k, shape.depth); },
          [&] { step(stage, k, kernels::kScaledStep); });
    });
    if (scales && floats) g.when(one_scale, [&] { scale_totals(); });
  } else {
    tile.go(a, b, in.k, [&](V stage, V k) {
      for (int at = 0; at < shape.depth; at += 32) {
        std::vector<Fragments> of_a;
        for (int r = 0; r < shape.warp_rows(); r += 16) of_a.push_back(rows_of(a.load(stage, r, at)));
        for (int c = 0; c < shape.warp_columns(); c += 16) {
          const Vs both = b.load(stage, c, at);
          for (std::size_t half = 0; half < 2; ++half) {
            const Fragments of_b = columns_of(both[2 * half], both[2 * half + 1]);
            for (int r = 0; r < shape.warp_rows(); r += 16)
              for (std::size_t step = 0; step < of_b.size(); ++step)
                cores.multiply_add(of_a[static_cast<std::size_t>(r / 16)][step], of_b[step], sums.all,
                                   sums.at(r, c + static_cast<int>(half) * 8));
          }
        }
      }
      if (!scales) return;
      scale_at_end(k + shape.depth);
    });
  }

  V in_runs = g.aligned(g.at(code.c, in.c, in.c_offset), 16) & (in.c_n == 1) & (in.c_m % 8 == 0);
  tile.write(scales ? *totals : sums, in.m, in.n, in_runs, 4, [&](V i, V j, Vs x) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = with_bias(g, in, j + static_cast<int>(c), x[c]);
    V to = g.at(code.c, in.c, in.c_offset + i * in.c_m + j * in.c_n);
    x.size() == 1 ? g.write(code.c, to, 0, x[0]) : g.write_run(code.c, to, x);
  });
  g.finish();
}

}  // namespace reprise::jit
