// Products of quantized matrices: the tiles and the warps of product.cc and product_few.cc, with sums that are scaled
// block by block of k.
#include "jit/gpu/kernels/scaled.h"

#include "jit/gpu/kernels/product_operand.h"

namespace reprise::jit {

using gpu::Lines;
using kernels::kProductThreads;

namespace {

using Operand = ProductOperand;
constexpr int kTile = Operand::kTile, kDepth = Operand::kDepth;
constexpr int kRows = 8, kColumns = 4;

void write_scaled(GpuCode& g, const gpu::ScaledArgs<InCode>& in, DType c, V row, V column, V value) {
  g.write(c, in.c, in.c_offset + row * in.c_m + column * in.c_n, with_bias(g, in, column, value));
}

/// The sum as Float32, by the scales.
V scaled(GpuCode& g, DType sum, V x, V by_a, V by_b) { return g.convert(sum, DType::Float32, x) * by_a * by_b; }

}  // namespace

V scale_at(GpuCode& g, const gpu::ScalesOf<InCode>& s, V line, V block) {
  return g.read(DType::Float32, s.buffer, s.offset + line / s.lines * s.line + block * s.k);
}

V with_bias(GpuCode& g, const gpu::ScaledArgs<InCode>& in, V column, V value) {
  if (!in.bias) return value;
  return value + g.convert(in.bias->dtype, DType::Float32,
                           g.read(in.bias->dtype, *in.bias, *in.bias_offset + column * *in.bias_n));
}

void emit(GpuModule& module, const gpu::ScaledTiles& code) {
  if (scaled_by_tensor_cores(module.sm, code)) return emit_by_tensor_cores(module, code);
  const DType sum = gpu::scaled_sum_dtype(code.a);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kProductThreads);
  const bool scales = in.scale_a.has_value();
  V down = g.ceil_div(in.m, code.tile_rows), first_row = g.block_id % down * code.tile_rows,
    first_column = g.block_id / down * code.tile_columns;
  V pa = g.at(code.a, in.a, in.a_offset), pb = g.at(code.b, in.b, in.b_offset);
  Vars acc, total;
  for (int i = 0; i < kRows * kColumns; ++i) acc.push_back(g.var(sum, 0));
  for (int i = 0; scales && i < kRows * kColumns; ++i) total.push_back(g.var(DType::Float32, 0));
  V y = (g.tid / 16) * kRows, x = (g.tid % 16) * kColumns;

  auto tile = [&](V row, V column) {
    Operand a(g, code.a_lines, code.a, sum, pa, row, in.m, in.k, code.a_lines == Lines::Deep ? g.i64(1) : in.a_k,
              [&](V i) { return i * in.a_m; }, {in.a_m});
    Operand b(g, code.b_lines, code.b, sum, pb, column, in.n, in.k, code.b_lines == Lines::Deep ? g.i64(1) : in.b_k,
              [&](V i) { return i * in.b_n; }, {in.b_n});
    for (Var& v : acc) v = g.constant(sum, 0);
    for (Var& v : total) v = g.constant(DType::Float32, 0);
    V top = row + g.i64(y), left = column + g.i64(x);
    g.loop(0, in.k, in.block, [&](V begin) {
      V end = g.min(begin + in.block, in.k);
      a.fetch(begin, end);
      b.fetch(begin, end);
      g.loop(begin, end, kDepth, [&](V k) {
        a.put();
        b.put();
        g.barrier();
        g.when(k + kDepth < end, [&] {
          a.fetch(k + kDepth, end);
          b.fetch(k + kDepth, end);
        });
        g.loop(g.i32(0), kDepth, 4, [&](V at) {
          for (int i = 0; i < 4; ++i) {
            Vs l = a.read(at + i, y, kRows), r = b.read(at + i, x, kColumns);
            for (std::size_t p = 0; p < kRows; ++p)
              for (std::size_t q = 0; q < kColumns; ++q)
                acc[p * kColumns + q] = g.multiply_add(l[p], r[q], acc[p * kColumns + q]);
          }
        });
        g.barrier();
      });
      if (!scales) return;
      V block = begin / in.block;
      Vs by_a, by_b;
      for (int p = 0; p < kRows; ++p) by_a.push_back(scale_at(g, *in.scale_a, g.min(top + p, in.m - 1), block));
      for (int q = 0; q < kColumns; ++q) by_b.push_back(scale_at(g, *in.scale_b, g.min(left + q, in.n - 1), block));
      for (std::size_t p = 0; p < kRows; ++p)
        for (std::size_t q = 0; q < kColumns; ++q) {
          const std::size_t i = p * kColumns + q;
          total[i] = total[i] + scaled(g, sum, acc[i], by_a[p], by_b[q]);
          acc[i] = g.constant(sum, 0);
        }
    });
    for (int p = 0; p < kRows; ++p)
      g.when(top + p < in.m, [&] {
        for (int q = 0; q < kColumns; ++q)
          g.when(left + q < in.n, [&] {
            write_scaled(g, in, code.c, top + p, left + q,
                         (scales ? total : acc)[static_cast<std::size_t>(p * kColumns + q)]);
          });
      });
  };
  // Tiles of blocks that are meant for tensor cores are made piece by piece.
  if (code.tile_rows == kTile && code.tile_columns == kTile) tile(first_row, first_column);
  else
    g.loop(first_row, g.min(first_row + code.tile_rows, in.m), kTile, [&](V row) {
      g.loop(first_column, g.min(first_column + code.tile_columns, in.n), kTile, [&](V column) { tile(row, column); });
    });
  g.finish();
}

// A warp has a column; its lanes read runs of 16 elements side by side, and each run's products are scaled where the
// scale changes along k.
void emit(GpuModule& module, const gpu::ScaledDot& code) {
  constexpr int kThreads = kernels::kProductDotThreads, kWarps = kThreads / kWarp, kRun = 16;
  const DType sum = gpu::scaled_sum_dtype(code.a), f32 = DType::Float32;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  const bool scales = in.scale_a.has_value();
  V column = g.block_id * kWarps + g.i64(g.warp_id), mine = g.min(column, in.n - 1);
  V line = g.at(code.b, in.b, in.b_offset + mine * in.b_n);
  auto aligned = [&](V p, DType t) { return g.aligned(p, std::min<int>(16, kRun * static_cast<int>(item_size(t)))); };
  V fast = aligned(line, code.b);
  auto for_rows = [&](const std::function<void(int)>& body) {
    constexpr int kMost = static_cast<int>(device::kFewProductRows);
    std::function<void(int)> from = [&](int least) {
      if (least == kMost) return body(least);
      g.when(
          in.m <= least, [&] { body(least); }, [&] { from(least * 2); });
    };
    if (code.m == 0) return from(1);
    int r = 1;
    while (r < code.m) r *= 2;
    body(r);
  };
  for_rows([&](int rows) {
    Vs x;
    Vars acc, total;
    V quick = fast;
    for (int r = 0; r < rows; ++r) {
      x.push_back(g.at(code.a, in.a, in.a_offset + g.min(g.i64(r), in.m - 1) * in.a_m));
      quick = quick & aligned(x.back(), code.a);
      acc.push_back(g.var(sum, 0));
      total.push_back(g.var(f32, 0));
    }
    auto element = [&](DType t, V v) { return g.convert(is_low_precision(t) ? f32 : t, sum, v); };
    // Of k in one block of scales.
    auto scale = [&](V k) {
      if (!scales) return;
      V block = k / in.block, by_b = scale_at(g, *in.scale_b, mine, block);
      for (int r = 0; r < rows; ++r) {
        const std::size_t i = static_cast<std::size_t>(r);
        total[i] = total[i] + scaled(g, sum, acc[i], scale_at(g, *in.scale_a, g.min(g.i64(r), in.m - 1), block), by_b);
        acc[i] = g.constant(sum, 0);
      }
    };
    V many = in.block < in.k, whole = g.select(quick, in.k / kRun * kRun, g.i64(0));
    g.loop(g.i64(g.lane_id) * kRun, whole, kWarp * kRun, [&](V k) {
      Vs w = g.read_run(code.b, g.at(code.b, line, k), kRun);
      for (int r = 0; r < rows; ++r) {
        const std::size_t at = static_cast<std::size_t>(r);
        Vs u = g.read_run(code.a, g.at(code.a, x[at], k), kRun);
        for (std::size_t i = 0; i < w.size(); ++i)
          acc[at] = g.multiply_add(element(code.a, u[i]), element(code.b, w[i]), acc[at]);
      }
      if (scales) g.when(many, [&] { scale(k); });
    });
    g.loop(whole + g.i64(g.lane_id), in.k, kWarp, [&](V k) {
      V w = element(code.b, g.read(code.b, line, k));
      for (int r = 0; r < rows; ++r)
        acc[static_cast<std::size_t>(r)] = g.multiply_add(
            element(code.a, g.read(code.a, x[static_cast<std::size_t>(r)], k)), w, acc[static_cast<std::size_t>(r)]);
      if (scales) g.when(many, [&] { scale(k); });
    });
    // One block: the lanes' sums are those of integers, and scaled once.
    for (int r = 0; r < rows; ++r) {
      const std::size_t i = static_cast<std::size_t>(r);
      V all = g.sum_lanes(acc[i]), parts = g.sum_lanes(total[i]);
      g.when((g.lane_id == 0) & (column < in.n) & (g.i64(r) < in.m), [&] {
        if (!scales) return write_scaled(g, in, code.c, g.i64(r), column, all);
        Var value = g.var(parts);
        g.when((!many) & (in.k > 0), [&] {
          value = scaled(g, sum, all, scale_at(g, *in.scale_a, g.i64(r), 0), scale_at(g, *in.scale_b, mine, 0));
        });
        write_scaled(g, in, code.c, g.i64(r), column, value);
      });
    }
  });
  g.finish();
}

}  // namespace reprise::jit
