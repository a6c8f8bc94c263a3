#include "jit/gpu/kernels/tensor_tile.h"

#include "base/errors.h"

namespace reprise::jit {

using gpu::Lines;

TensorPanels::TensorPanels(TensorCores& tensor, DType dtype, const TileShape& of, Operand operand, int n, V from,
                           int place_in_stage, V lines_of_warp)
    : g(tensor.g), cores(tensor), t(dtype), shape(of), run(run_of(dtype)), lines(n), in_stage(place_in_stage),
      x(std::move(operand)), first(from), of_warp(lines_of_warp) {
  // Which of the four matrices a lane names a row of: of which 8 lines, of which run of k.
  V lane = g.lane_id, second = (lane >> 3) & 1, third = lane >> 4, other_lines = left() ? second : third,
    other_run = left() ? third : second;
  if (shape.for_warpgroups)
    REPRISE_CHECK(rows_of_turn() % 8 == 0, " ", rows_of_turn(),
                  " rows of a panel for a turn: the next turn's would be swizzled otherwise");
  else if (!by_k()) in_fragments = (of_warp + (lane & 7) + other_lines * 8) * row() + other_run * run;
  else if (run == 8) in_fragments = ((lane & 7) + other_run * 8) * row() + of_warp + other_lines * 8;
  else in_fragments = (lane & 3) * row() + of_warp + (lane >> 2);
  fast = g.aligned(x.p, 16);
  if (by_k()) {
    fast = fast & (x.k_stride % run == 0);
    offsets = {x.offset_of(first) + g.i64(g.tid % runs() * run) + x.k_stride * g.i64(g.tid / runs())},
    step = x.k_stride * rows_of_turn();
  } else if (x.kind == Lines::Deep) {
    for (const V& s : x.line_strides) fast = fast & (s % run == 0);
    if (in_steps()) offsets = {line_offset(g.tid / runs())}, step = x.line_strides[0] * rows_of_turn();
    // the last line serves for those behind it
    else
      for (int i = 0; i < turns(); ++i) offsets.push_back(line_offset(g.tid / runs() + i * rows_of_turn()));
  }
}

void TensorPanels::bring(V stage, V from) {
  const V to = g.at(t, stage, in_stage);
  if (!by_k() && x.kind != Lines::Deep) return singly(to, from);
  g.when(
      fast,
      [&] {
        V whole = from + shape.depth <= x.k_count, all = first + lines <= x.count;
        if (by_k())
          g.when(
              whole & all, [&] { copy_whole(to, from, false); }, [&] { copy_checked(to, from); });
        else if (in_steps())
          g.when(
              whole,
              [&] {
                g.when(
                    all, [&] { copy_whole(to, from, false); }, [&] { copy_whole(to, from, true); });
              },
              [&] { copy_checked(to, from); });
        else
          g.when(
              whole, [&] { copy_whole(to, from, false); }, [&] { copy_checked(to, from); });
      },
      [&] { singly(to, from); });
}

Vs TensorPanels::load(V stage, int line, int k) {
  V at = g.at(t, g.at(t, stage, in_fragments), in_stage + (by_k() ? k * row() + line : line * row() + k));
  if (!by_k() || run == 8) return cores.load(at, by_k());
  Vs fragment;
  for (int i = 0; i < 4; ++i)
    fragment.push_back(
        g.wrap(g.bits(g.read(t, at, (left() ? i / 2 : i % 2) * 4 * row() + (left() ? i % 2 : i / 2) * 8).v)));
  return fragment;
}

V TensorPanels::place_of(V row_number, V at) {
  // Of warpgroups, by k there are groups of lines, each with all of k.
  return shape.for_warpgroups ? WarpgroupCores::place(row_number, at, t, by_k() ? shape.depth : 0)
                              : row_number * row() + at * run;
}

WarpgroupCores::Matrix TensorPanels::matrix(WarpgroupCores& warpgroup, V stage) {
  const int size = static_cast<int>(item_size(t));
  const int from_group_to_group = (by_k() ? shape.depth : WarpgroupCores::kRows) * row();
  V start = g.at(t, g.at(t, stage, in_stage), (of_warp >> 6) * from_group_to_group);
  return warpgroup.matrix(start, by_k() ? WarpgroupCores::Lie::Wide : WarpgroupCores::Lie::Deep,
                          shape.depth * row() * size);
}

void TensorPanels::copy_whole(V to, V from, bool edge) {
  V start = g.at(t, to, place(0));
  V at = by_k() ? g.at(t, x.p, offsets[0] + from * x.k_stride) : g.at(t, x.p, from + g.i64(g.tid % runs() * run));
  if (in_steps() && !by_k()) at = g.at(t, at, offsets[0]);
  for (int i = 0; i < turns(); ++i) {
    cores.copy(g.at(t, start, i * rows_of_turn() * row()),
               in_steps() ? at : g.at(t, at, offsets[static_cast<std::size_t>(i)]));
    if (in_steps())
      at = g.at(
          t, at,
          edge ? g.select(first + g.i64(g.tid / runs() + (i + 1) * rows_of_turn()) < x.count, step, g.i64(0)) : step);
  }
}

/// Zeros behind the end of k, and of lines where they are neighbours.
void TensorPanels::copy_checked(V to, V from) {
  for (int i = 0; i < turns(); ++i) {
    V in_run = g.i64(g.tid % runs() * run), other = g.i64(g.tid / runs() + i * rows_of_turn());
    V real, at;
    if (by_k()) {
      real = g.select(from + other < x.k_count, x.count - (first + in_run), g.i64(0));
      at = g.select(real > 0, x.offset_of(first + in_run) + (from + other) * x.k_stride, g.i64(0));
    } else {
      real = x.k_count - (from + in_run);
      at = (in_steps() ? line_offset(g.tid / runs() + i * rows_of_turn()) : offsets[static_cast<std::size_t>(i)]) +
           g.select(real > 0, from + in_run, g.i64(0));
    }
    cores.copy_some(g.at(t, to, place(i)), g.at(t, x.p, at),
                    g.i32(g.max(g.min(real, g.i64(run)), g.i64(0))) * static_cast<int>(item_size(t)));
  }
}

void TensorPanels::singly(V to, V from) {
  const bool lines_first = x.kind == Lines::Wide;  // neighbouring threads read neighbours
  const int across = lines_first ? lines : shape.depth;
  g.loop(g.tid, lines * shape.depth, shape.threads(), [&](V i) {
    V one = i % across, other = i / across, line = lines_first ? one : other, in_panel = lines_first ? other : one,
      k = from + g.i64(in_panel);
    V element = g.read(t, x.p, line_offset(line) + g.min(k, x.k_count - 1) * x.k_stride);
    V row_number = by_k() ? in_panel : line, in_row = by_k() ? line : in_panel;
    V place = shape.for_warpgroups ? place_of(row_number, in_row / run) + in_row % run : row_number * row() + in_row;
    g.write(t, to, place, g.select(k < x.k_count, element, 0));
  });
}

TileSums::TileSums(GpuCode& g, const TileShape& of, DType t) : shape(of), dtype(t) {
  for (int i = 0; i < shape.warp_rows() * shape.warp_columns() / kWarp; ++i) all.push_back(g.var(t, 0));
}

TensorTile::TensorTile(GpuModule& module, GpuCode& code, TensorCores& tensor, const TileShape& of, DType of_a,
                       DType of_b)
    : g(code), cores(tensor), shape(of), t(of_a), a_elements_(TensorPanels::elements(of_a, of, of.rows)),
      stage_(a_elements_ + TensorPanels::elements(of_b, of, of.columns)) {
  const int panels = shape.stages * stage_ * static_cast<int>(item_size(t)), row = (shape.columns + 8) * 4;
  // As many rows of sums as the panels leave room for, but those of a warp at least.
  rows_at_a_time_ = shape.rows;
  while (rows_at_a_time_ > shape.warp_rows() && rows_at_a_time_ * row > panels) rows_at_a_time_ /= 2;
  module.shared_bytes = static_cast<std::uint32_t>(std::max(panels, rows_at_a_time_ * row));
  shared = g.wrap(g.dynamic_shared(shape.for_warpgroups ? WarpgroupCores::kPattern : 16));
  warp_row = g.warp_id % shape.warps_down * shape.warp_rows(),
  warp_column = g.warp_id / shape.warps_down * shape.warp_columns();
}

void TensorTile::go(TensorPanels& a, TensorPanels& b, V depth, const std::function<void(V stage, V k)>& step) {
  const int last = (shape.stages - 1) * stage_, steps_ahead = shape.ahead();
  auto bring = [&](V stage, V k) {
    V to = g.at(t, shared, stage);
    a.bring(to, k), b.bring(to, k);
  };
  g.loop(g.i32(0), steps_ahead, 1, [&](V s) {
    g.when(depth > g.i64(s * shape.depth), [&] { bring(s * stage_, g.i64(s * shape.depth)); });
    cores.commit();
  });
  Var reading = g.var(g.i32(0)), filling = g.var(g.i32(steps_ahead * stage_));
  auto turn = [&](Var& stage) { stage = g.select(stage == last, g.i32(0), stage + stage_); };
  g.loop(g.i64(0), depth, shape.depth, [&](V k) {
    cores.wait_for_all_but(steps_ahead - 1);
    if (shape.for_warpgroups) WarpgroupCores::publish(g);
    g.barrier();
    V ahead = k + steps_ahead * shape.depth;
    g.when(ahead < depth, [&] { bring(filling, ahead); });
    cores.commit();
    step(g.at(t, shared, reading), k);
    turn(reading), turn(filling);
  });
}

void TensorTile::write(const TileSums& sums, V rows, V columns, V in_runs, int run,
                       const std::function<void(V i, V j, Vs x)>& put) {
  // Rows are 8 sums longer than the tile's: lanes of a quarter of a warp write to different banks.
  const int row = shape.columns + 8, at_a_time = rows_at_a_time_;
  g.loop(g.i32(0), shape.rows, at_a_time, [&](V top) {
    g.barrier();  // what was there has been read
    g.when((warp_row >= top) & (warp_row < top + at_a_time), [&] {
      V at = g.at(sums.dtype, shared, (warp_row - top + (g.lane_id >> 2)) * row + warp_column + (g.lane_id & 3) * 2);
      for (int r = 0; r < shape.warp_rows(); r += 8)
        for (int c = 0; c < shape.warp_columns(); c += 8) {
          const std::size_t pair = sums.at(r, c) + static_cast<std::size_t>(r / 8 % 2 * 2);
          g.write_run(sums.dtype, g.at(sums.dtype, at, r * row + c), {sums.all[pair], sums.all[pair + 1]});
        }
    });
    g.barrier();
    auto write = [&](int n) {
      const int runs = shape.columns / n;
      g.loop(g.tid, at_a_time * runs, shape.threads(), [&](V i_of_run) {
        V line = i_of_run / runs, column = i_of_run % runs * n, i = first_row + g.i64(top + line),
          j = first_column + g.i64(column);
        g.when((i < rows) & (j < columns), [&] {
          Vs x;
          for (int c = 0; c < n; c += 4)
            for (V& v : g.read_run(sums.dtype, g.at(sums.dtype, shared, line * row + column + c), std::min(4, n)))
              x.push_back(v);
          put(i, j, x);
        });
      });
    };
    g.when(
        in_runs & (first_column + shape.columns <= columns), [&] { write(run); }, [&] { write(1); });
  });
}

}  // namespace reprise::jit
