// The tiled product of Float16, BFloat16 or, where TF32 is enough, Float32 on tensor cores: of warpgroups or of warps.
#include "jit/gpu/kernels/product_tensor.h"

#include <string>

#include "jit/gpu/kernels/tensor_tile.h"

namespace reprise::jit {

using gpu::Lines;

namespace {

/// Warpgroups take elements of 32 bits along k alone.
bool for_warpgroups(const device::CodeTarget& target, const gpu::ProductTiles& code) {
  return WarpgroupCores::serve(target, code.dtype) &&
         (item_size(code.dtype) == 2 || (code.a_lines == Lines::Deep && code.b_lines == Lines::Deep));
}

TileShape shape_of(const device::CodeTarget& target, const gpu::ProductTiles& code) {
  const bool warpgroups = for_warpgroups(target, code);
  TileShape s{.rows = code.tile_rows,
              .columns = code.tile_columns,
              .warps_down = 2,
              .warps_across = code.tile_columns > 128 ? 4 : 2,
              .depth = 0,
              .stages = 3};
  const int size = static_cast<int>(item_size(code.dtype)),
            most = (has_roomy_multiprocessors(target.arch) ? 227 : 99) << 10,
            blocks = code.tile_columns > 128              ? 1
                     : warpgroups && code.tile_rows == 64 ? 3
                                                          : 2;
  if (warpgroups) s.for_warpgroups = true, s.warps_down = s.rows / 16, s.warps_across = 1;
  const auto stage = [&] {
    return (TensorPanels::elements(code.dtype, s, s.rows) + TensorPanels::elements(code.dtype, s, s.columns)) * size;
  };
  s.depth = 128 / size;
  if (s.stages * stage() > most) s.depth /= 2;
  // Few blocks to a multiprocessor have nothing but their own copies to hide the memory behind.
  while (s.stages < 6 && blocks * ((s.stages + 1) * stage() + 1024) <= most) ++s.stages;
  return s;
}

void multiply_by_warpgroups(GpuCode& g, TensorTile& tile, TensorPanels& a, TensorPanels& b, V depth, TileSums& sums,
                            DType t) {
  const TileShape& shape = sums.shape;
  WarpgroupCores warpgroup(g, t);
  tile.go(a, b, depth, [&](V stage, V) {
    const WarpgroupCores::Matrix left = a.matrix(warpgroup, stage), right = b.matrix(warpgroup, stage);
    warpgroup.begin();
    for (int k = 0; k < shape.depth; k += WarpgroupCores::depth(t))
      warpgroup.multiply_add(a.beyond(warpgroup, left, k), b.beyond(warpgroup, right, k), shape.columns, sums.all);
    warpgroup.commit();
    // Those of the step before are made: its stage is filled again behind the next barrier.
    warpgroup.wait(1, sums.all);
  });
  warpgroup.wait(0, sums.all);
}

void multiply_by_warps(TensorCores& cores, TensorTile& tile, TensorPanels& a, TensorPanels& b, V depth,
                       TileSums& sums) {
  const TileShape& shape = sums.shape;
  const int depth_of_fragment = 2 * TensorPanels::run_of(cores.t);
  tile.go(a, b, depth, [&](V stage, V) {
    struct Fragments {
      std::vector<Vs> a, b;
    };
    auto load = [&](int k) {
      Fragments f;
      for (int r = 0; r < shape.warp_rows(); r += 16) f.a.push_back(a.load(stage, r, k));
      for (int c = 0; c < shape.warp_columns(); c += 16) f.b.push_back(b.load(stage, c, k));
      return f;
    };
    // The next fragments are on their way while these are multiplied.
    Fragments next = load(0);
    for (int k = 0; k < shape.depth; k += depth_of_fragment) {
      const Fragments now = std::move(next);
      if (k + depth_of_fragment < shape.depth) next = load(k + depth_of_fragment);
      for (int r = 0; r < shape.warp_rows(); r += 16)
        for (int c = 0; c < shape.warp_columns(); c += 8) {
          const Vs &of_a = now.a[static_cast<std::size_t>(r / 16)], &of_b = now.b[static_cast<std::size_t>(c / 16)];
          const std::size_t half = static_cast<std::size_t>(c / 8 % 2);
          cores.multiply_add(of_a, {of_b[2 * half], of_b[2 * half + 1]}, sums.all, sums.at(r, c));
        }
    }
  });
}

}  // namespace

V row_offset(const Vs& sizes, const Vs& strides, const V& row) {
  V at = row * strides.back();
  if (strides.size() == 1) return at;
  V rest = row;
  for (std::size_t d = strides.size(); d-- > 0;) {
    V i = d ? rest % sizes[d] : rest;
    at = d + 1 == strides.size() ? i * strides[d] : at + i * strides[d];
    if (d) rest = rest / sizes[d];
  }
  return at;
}

bool product_by_tensor_cores(int sm, const gpu::ProductTiles& code) {
  return TensorCores::serve(sm, code.dtype) || (code.tf32 && TensorCores::there(sm));
}

void emit_by_tensor_cores(GpuModule& module, const gpu::ProductTiles& code) {
  const DType t = code.dtype;
  const TileShape shape = shape_of(module.target, code);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, shape.threads());
  TensorCores cores(g, t);
  TensorTile tile(module, g, cores, shape, t, t);
  Vs sizes, a_rows, c_rows;
  for (const auto& r : in.rows) sizes.push_back(r.size), a_rows.push_back(r.a), c_rows.push_back(r.c);

  // Tiles of a column of tiles are neighbours: they share b's panels.
  V down = g.ceil_div(in.m, shape.rows), across = g.ceil_div(in.n, shape.columns);
  V rest = g.block_id / down, batch = rest / across;
  tile.first_row = g.block_id % down * shape.rows, tile.first_column = rest % across * shape.columns;
  auto stride = [&](Lines kind, V k) { return kind == Lines::Deep ? g.i64(1) : k; };
  TensorPanels a(cores, t, shape,
                 {TensorPanels::Side::Left, code.a_lines, g.at(t, in.a, in.a_offset + batch * in.a_batch),
                  stride(code.a_lines, in.a_k), in.m, in.k, [&](V i) { return row_offset(sizes, a_rows, i); }, a_rows},
                 shape.rows, tile.first_row, 0, tile.warp_row);
  TensorPanels b(cores, t, shape,
                 {TensorPanels::Side::Right,
                  code.b_lines,
                  g.at(t, in.b, in.b_offset + batch * in.b_batch),
                  stride(code.b_lines, in.b_k),
                  in.n,
                  in.k,
                  [&](V j) { return j * in.b_n; },
                  {in.b_n}},
                 shape.columns, tile.first_column, tile.of_b(), tile.warp_column);
  TileSums sums(g, shape, DType::Float32);
  shape.for_warpgroups ? multiply_by_warpgroups(g, tile, a, b, in.k, sums, t)
                       : multiply_by_warps(cores, tile, a, b, in.k, sums);

  V pc = g.at(t, in.c, in.c_offset + batch * in.c_batch);
  V in_runs = g.aligned(pc, 16) & (in.c_n == 1);
  const int run = TensorPanels::run_of(t);
  for (const V& s : c_rows) in_runs = in_runs & (s % run == 0);
  tile.write(sums, in.m, in.n, in_runs, run, [&](V i, V j, Vs x) {
    if (in.bias) {
      V at = in.bias->offset + i * in.bias->m + j * in.bias->n;
      for (V& v : x) v = v + g.read(t, in.bias->buffer, at), at = at + in.bias->n;
    }
    V to = g.at(t, pc, row_offset(sizes, c_rows, i) + j * in.c_n);
    x.size() == 1 ? g.write(t, to, 0, x[0]) : g.write_run(t, to, x);
  });
  g.finish();
}

}  // namespace reprise::jit
