// The tiled matrix product. A block of 128 threads makes 64 x 64 elements of c: thread (y, x) = (tid / 16, tid % 16)
// has rows 8y.. and columns 4x.. in registers. Tiles of 16 along k stand in shared memory, k outermost, as the summing
// type; while one is multiplied the next is on its way from global memory to registers (the usual blocking of Volkov
// and Demmel: Benchmarking GPUs to tune dense linear algebra, SC 2008). Where there are tensor cores for it,
// product_tensor.cc serves.
#include "jit/gpu/kernels/kernels.h"
#include "jit/gpu/kernels/product_operand.h"
#include "jit/gpu/kernels/product_tensor.h"

namespace reprise::jit {

using gpu::Lines;
using kernels::kProductThreads;

namespace {

using Operand = ProductOperand;
constexpr int kTile = Operand::kTile, kDepth = Operand::kDepth;
constexpr int kRows = 8, kColumns = 4;

}  // namespace

void emit(GpuModule& m, const gpu::ProductTiles& code) {
  if (product_by_tensor_cores(m.sm, code)) return emit_by_tensor_cores(m, code);
  const DType t = code.dtype, sum = kernels::gpu_sum_dtype(t);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(m, in, kProductThreads);
  V rows = in.m, columns = in.n, depth = in.k;
  Vs sizes, a_rows, c_rows;
  for (const auto& r : in.rows) sizes.push_back(r.size), a_rows.push_back(r.a), c_rows.push_back(r.c);

  // Tiles of a column of tiles are neighbours: they share b's tile.
  V down = g.ceil_div(rows, code.tile_rows), across = g.ceil_div(columns, code.tile_columns);
  V rest = g.block_id / down, batch = rest / across;
  V first_row = g.block_id % down * code.tile_rows, first_column = rest % across * code.tile_columns;
  V pa = g.at(t, in.a, in.a_offset + batch * in.a_batch), pb = g.at(t, in.b, in.b_offset + batch * in.b_batch);
  V pc = g.at(t, in.c, in.c_offset + batch * in.c_batch);
  Vars acc;
  for (int i = 0; i < kRows * kColumns; ++i) acc.push_back(g.var(sum, 0));
  V y = (g.tid / 16) * kRows, x = (g.tid % 16) * kColumns;

  auto tile = [&](V row, V column) {
    Operand a(
        g, code.a_lines, t, sum, pa, row, rows, depth, code.a_lines == Lines::Deep ? g.i64(1) : in.a_k,
        [&](V i) { return row_offset(sizes, a_rows, i); }, a_rows);
    Operand b(g, code.b_lines, t, sum, pb, column, columns, depth, code.b_lines == Lines::Deep ? g.i64(1) : in.b_k,
              [&](V n) { return n * in.b_n; }, {in.b_n});
    for (Var& sum_of : acc) sum_of = g.constant(sum, 0);
    g.when(depth > 0, [&] {
      a.fetch(g.i64(0));
      b.fetch(g.i64(0));
    });
    g.loop(0, depth, kDepth, [&](V k) {
      a.put();
      b.put();
      g.barrier();
      g.when(k + kDepth < depth, [&] {
        a.fetch(k + kDepth);
        b.fetch(k + kDepth);
      });
      g.loop(g.i32(0), kDepth, 4, [&](V at) {
        for (int i = 0; i < 4; ++i) {
          Vs left = a.read(at + i, y, kRows), right = b.read(at + i, x, kColumns);
          for (std::size_t r = 0; r < kRows; ++r)
            for (std::size_t c = 0; c < kColumns; ++c)
              acc[r * kColumns + c] = g.multiply_add(left[r], right[c], acc[r * kColumns + c]);
        }
      });
      g.barrier();
    });
    V left = column + g.i64(x);
    for (int r = 0; r < kRows; ++r) {
      V i = row + g.i64(y + r);
      g.when(i < rows, [&] {
        V at = row_offset(sizes, c_rows, i) + left * in.c_n;
        for (int c = 0; c < kColumns; ++c) {
          V j = left + c;
          g.when(j < columns, [&] {
            V v = acc[static_cast<std::size_t>(r * kColumns + c)];
            if (in.bias) {
              V bias = g.read(t, in.bias->buffer, in.bias->offset + i * in.bias->m + j * in.bias->n);
              v = v + (is_low_precision(t) ? bias : g.convert(t, sum, bias));
            }
            g.write(t, pc, at + in.c_n * c, is_low_precision(t) ? v : g.convert(sum, t, v));
          });
        }
      });
    }
  };
  // Tiles of blocks that are meant for tensor cores are made piece by piece.
  const bool one = code.tile_rows == kTile && code.tile_columns == kTile;
  if (one) tile(first_row, first_column);
  else
    g.loop(first_row, g.min(first_row + code.tile_rows, rows), kTile, [&](V row) {
      g.loop(first_column, g.min(first_column + code.tile_columns, columns), kTile,
             [&](V column) { tile(row, column); });
    });
  g.finish();
}

}  // namespace reprise::jit
