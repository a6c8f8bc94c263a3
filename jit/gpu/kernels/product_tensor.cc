// The tiled product of Float16 or BFloat16 on tensor cores. A block has a tile of c, a warp a part of it, whose sums stay in registers; tiles of a and b come to
// shared memory by copies that run past the registers, some steps of k ahead of the products (NVIDIA: CUTLASS, "Efficient GEMM in CUDA"). One barrier a step: a
// place is filled again when all warps have come by the barrier behind its products.
//
// A panel stands in shared memory as it does in global memory, by lines or by k; ldmatrix turns the second. The result passes through shared memory, so that it
// is written in runs.
#include "jit/gpu/kernels/product_tensor.h"

#include <algorithm>
#include <functional>
#include <string>

#include "jit/gpu/kernels/tensor_cores.h"

namespace reprise::jit {

using gpu::Lines;

namespace {

constexpr int kRun = 8;     ///< elements of 16 bytes
constexpr int kStages = 3;  ///< places for tiles: two are on their way while one is read
constexpr int kMatrix = 16; ///< lines, and elements of k, of a fragment

/// How a block's warps share a tile, and how much of k a step has.
struct Shape {
  int rows, columns, warps_down, warps_across, depth;

  Shape(const std::string& arch, const gpu::ProductTiles& code) : rows(code.tile_rows), columns(code.tile_columns) {
    warps_down = 2, warps_across = columns > 128 ? 4 : 2;
    // A multiprocessor's shared memory: 227 KiB where deep learning is what it is made for, else 99 (CUDA's programming guide, compute capabilities).
    const bool roomy = arch == "sm_90" || arch == "sm_100" || arch == "sm_103";
    depth = roomy || bytes(64) <= (99 << 10) ? 64 : 32;
  }
  int threads() const { return warps_down * warps_across * kWarp; }
  int warp_rows() const { return rows / warps_down; }
  int warp_columns() const { return columns / warps_across; }
  /// Of shared memory: panels, and afterwards the sums of a row of warps.
  int bytes(int of_depth) const { return std::max(kStages * (rows + columns) * (of_depth + kRun) * 2, warp_rows() * (columns + kRun) * 4); }
};

/// The panels of an operand: lines (rows of a, columns of b) by `depth` of k.
class Panels {
 public:
  /// `in_stage`: where its panel stands in a stage, in elements. `of_warp`: the first line that this warp multiplies. `offset_of`: of a line. `line_strides`: what
  /// makes such an offset.
  Panels(GpuCode& code, TensorCores& tensor, const Shape& shape, Lines kind, V p, int lines, V first, V count, V k_count, V k_stride, int in_stage, V of_warp,
         std::function<V(V)> offset_of, const Vs& line_strides)
      : g(code), cores(tensor), t(tensor.t), threads(shape.threads()), depth(shape.depth), lines_(lines), in_stage_(in_stage), kind_(kind), p_(p), first_(first), count_(count),
        k_count_(k_count), k_stride_(k_stride), offset_of_(std::move(offset_of)) {
    fast_ = g.aligned(p, 16);
    if (kind_ == Lines::Wide) {
      fast_ = fast_ & (k_stride_ % kRun == 0);
    } else {
      for (const V& s : line_strides) fast_ = fast_ & (s % kRun == 0);
    }
    in_fragments_ = kind_ == Lines::Wide ? ((g.lane_id & 7) + (g.lane_id >> 4) * 8) * row() + of_warp + ((g.lane_id >> 3) & 1) * 8
                                         : (of_warp + (g.lane_id & 15)) * row() + (g.lane_id >> 4) * 8;
    if (kind_ == Lines::Deep)  // the last line serves for those behind it
      for (int i = 0; i < turns(); ++i) offsets_.push_back(line_offset(g.tid / runs() + i * lines_of_turn()));
    else if (kind_ == Lines::Wide) offsets_ = {offset_of_(first_) + g.i64(g.tid % runs() * kRun) + k_stride_ * g.i64(g.tid / runs())}, step_ = k_stride_ * lines_of_turn();
  }

  /// Elements from one of its rows in shared memory to the next: an odd number of runs, so that eight neighbours lie in different banks.
  int row() const { return (kind_ == Lines::Wide ? lines_ : depth) + kRun; }
  static int elements(int lines, int depth) { return lines * (depth + kRun); }  ///< at most, however it lies: a tile has no fewer lines than depth

  /// Starts to bring the panel whose first k is `from` to `stage`.
  void bring(V stage, V from) {
    const V to = g.at(t, stage, in_stage_);
    if (kind_ == Lines::Any) return singly(to, from);
    g.when(
        fast_,
        [&] {
          V whole = from + depth <= k_count_;
          if (kind_ == Lines::Wide) whole = whole & (first_ + lines_ <= count_);
          g.when(whole, [&] { copy_whole(to, from); }, [&] { copy_checked(to, from); });
        },
        [&] { singly(to, from); });
  }

  /// Fragments of 16 lines and 16 of k: the first 8 lines' first half of k, the other lines', then the second halves.
  Vs load(V stage, int line, int k) {
    const bool wide = kind_ == Lines::Wide;
    return cores.load(g.at(t, g.at(t, stage, in_fragments_), in_stage_ + (wide ? k * row() + line : line * row() + k)), wide);
  }

 private:
  // Runs of 16 bytes: threads take neighbours of one row of shared memory, then rows.
  int runs() const { return (kind_ == Lines::Wide ? lines_ : depth) / kRun; }
  int lines_of_turn() const { return threads / runs(); }
  int turns() const { return (kind_ == Lines::Wide ? depth : lines_) / lines_of_turn(); }
  V place(int turn) { return (g.tid / runs() + turn * lines_of_turn()) * row() + g.tid % runs() * kRun; }
  V line_offset(V line) { return offset_of_(g.min(first_ + g.i64(line), count_ - 1)); }

  void copy_whole(V to, V from) {
    V start = g.at(t, to, place(0));
    auto put = [&](int i, V at) { cores.copy(g.at(t, start, i * lines_of_turn() * row()), at); };
    if (kind_ == Lines::Deep) {
      V at = g.at(t, p_, from + g.i64(g.tid % runs() * kRun));
      for (int i = 0; i < turns(); ++i) put(i, g.at(t, at, offsets_[static_cast<std::size_t>(i)]));
    } else {
      V at = g.at(t, p_, offsets_[0] + from * k_stride_);
      for (int i = 0; i < turns(); ++i) put(i, at), at = g.at(t, at, step_);
    }
  }
  /// Zeros behind the end of k, and of lines where they are neighbours.
  void copy_checked(V to, V from) {
    for (int i = 0; i < turns(); ++i) {
      V run = g.i64(g.tid % runs() * kRun), other = g.i64(g.tid / runs() + i * lines_of_turn());
      V real, at;
      if (kind_ == Lines::Deep) {
        real = k_count_ - (from + run);
        at = offsets_[static_cast<std::size_t>(i)] + g.select(real > 0, from + run, g.i64(0));
      } else {
        real = g.select(from + other < k_count_, count_ - (first_ + run), g.i64(0));
        at = g.select(real > 0, offset_of_(first_ + run) + (from + other) * k_stride_, g.i64(0));
      }
      cores.copy_some(g.at(t, to, place(i)), g.at(t, p_, at), g.i32(g.max(g.min(real, g.i64(kRun)), g.i64(0))));
    }
  }
  void singly(V to, V from) {
    const bool wide = kind_ == Lines::Wide;
    const int across = wide ? lines_ : depth;
    g.loop(g.tid, lines_ * depth, threads, [&](V i) {
      V run = i % across, other = i / across, line = wide ? run : other, k = from + g.i64(wide ? other : run);
      V x = g.read(t, p_, line_offset(line) + g.min(k, k_count_ - 1) * k_stride_);
      g.write(t, to, other * row() + run, g.select(k < k_count_, x, 0));
    });
  }

  GpuCode& g;
  TensorCores& cores;
  const DType t;
  const int threads, depth, lines_, in_stage_;
  const Lines kind_;
  const V p_, first_, count_, k_count_, k_stride_;
  const std::function<V(V)> offset_of_;
  V fast_, step_;
  V in_fragments_;  ///< where this lane names a row of a fragment, of the warp's first
  Vs offsets_;  ///< of this thread, by turn
};

/// The kernel.
class ProductTensorCode {
 public:
  ProductTensorCode(GpuModule& module, const gpu::ProductTiles& made)
      : code(made), shape(module.target.arch, code), in(gpu::shaped<InCode>(code)), g(module, in, shape.threads()), cores(g, code.dtype) {
    module.shared_bytes = static_cast<std::uint32_t>(shape.bytes(shape.depth));
    shared = g.wrap(g.dynamic_shared());
  }

  void run() {
    for (const auto& r : in.rows) sizes.push_back(r.size), a_rows.push_back(r.a), c_rows.push_back(r.c);
    warp_row = g.warp_id % shape.warps_down * shape.warp_rows(), warp_column = g.warp_id / shape.warps_down * shape.warp_columns();
    // Tiles of a column of tiles are neighbours: they share b's panels.
    V down = g.ceil_div(in.m, shape.rows), across = g.ceil_div(in.n, shape.columns);
    V rest = g.block_id / down, batch = rest / across;
    first_row = g.block_id % down * shape.rows, first_column = rest % across * shape.columns;
    V pa = g.at(t, in.a, in.a_offset + batch * in.a_batch), pb = g.at(t, in.b, in.b_offset + batch * in.b_batch);
    V pc = g.at(t, in.c, in.c_offset + batch * in.c_batch);
    Panels a(g, cores, shape, code.a_lines, pa, shape.rows, first_row, in.m, in.k, code.a_lines == Lines::Deep ? g.i64(1) : in.a_k, 0, warp_row,
             [&](V i) { return row_offset(sizes, a_rows, i); }, a_rows);
    Panels b(g, cores, shape, code.b_lines, pb, shape.columns, first_column, in.n, in.k, code.b_lines == Lines::Deep ? g.i64(1) : in.b_k, Panels::elements(shape.rows, shape.depth),
             warp_column, [&](V j) { return j * in.b_n; }, {in.b_n});
    for (int i = 0; i < shape.warp_rows() * shape.warp_columns() / kWarp; ++i) sums.push_back(g.var(f, 0));

    for (int s = 0; s + 1 < kStages; ++s) {
      g.when(in.k > s * shape.depth, [&] { bring(a, b, g.i32(s * stage_elements()), g.i64(s * shape.depth)); });
      cores.commit();
    }
    Var reading = g.var(g.i32(0)), filling = g.var(g.i32((kStages - 1) * stage_elements()));
    auto step = [&](Var& stage) { stage = g.select(stage == (kStages - 1) * stage_elements(), g.i32(0), stage + stage_elements()); };
    g.loop(g.i64(0), in.k, shape.depth, [&](V k) {
      cores.wait_for_all_but(kStages - 2);
      g.barrier();
      V ahead = k + (kStages - 1) * shape.depth;
      g.when(ahead < in.k, [&] { bring(a, b, filling, ahead); });
      cores.commit();
      multiply(a, b, g.at(t, shared, reading));
      step(reading), step(filling);
    });
    write_result(pc);
    g.finish();
  }

 private:
  int stage_elements() const { return Panels::elements(shape.rows, shape.depth) + Panels::elements(shape.columns, shape.depth); }
  void bring(Panels& a, Panels& b, V stage, V k) {
    V to = g.at(t, shared, stage);
    a.bring(to, k), b.bring(to, k);
  }
  Var* sums_of(int row, int column) { return &sums[static_cast<std::size_t>((row / 16 * (shape.warp_columns() / 8) + column / 8) * 4)]; }

  void multiply(Panels& a, Panels& b, V stage) {
    struct Fragments {
      std::vector<Vs> a, b;
    };
    auto load = [&](int k) {
      Fragments f;
      for (int r = 0; r < shape.warp_rows(); r += kMatrix) f.a.push_back(a.load(stage, r, k));
      for (int c = 0; c < shape.warp_columns(); c += kMatrix) f.b.push_back(b.load(stage, c, k));
      return f;
    };
    // The next fragments are on their way while these are multiplied.
    Fragments next = load(0);
    for (int k = 0; k < shape.depth; k += kMatrix) {
      const Fragments now = std::move(next);
      if (k + kMatrix < shape.depth) next = load(k + kMatrix);
      for (std::size_t r = 0; r < now.a.size(); ++r)
        for (std::size_t c = 0; c < now.b.size(); ++c)
          for (std::size_t half = 0; half < 2; ++half)
            cores.multiply_add(now.a[r], {now.b[c][half], now.b[c][half + 2]}, sums,
                               static_cast<std::size_t>(sums_of(static_cast<int>(r) * kMatrix, static_cast<int>(c) * kMatrix + static_cast<int>(half) * 8) - sums.data()));
    }
  }

  /// The rows of some warps at a time, as sums: what is added to them is read where they are written, by few registers.
  void write_result(V pc) {
    const int row = shape.columns + kRun, threads = shape.threads(), rows = shape.warp_rows();
    V fast = g.aligned(pc, 16) & (in.c_n == 1) & (first_column + shape.columns <= in.n);
    for (const V& s : c_rows) fast = fast & (s % kRun == 0);
    g.loop(g.i32(0), shape.rows, rows, [&](V top) {
      g.barrier();  // what was there has been read
      g.when(warp_row == top, [&] {
        V at = g.at(f, shared, (g.lane_id >> 2) * row + warp_column + (g.lane_id & 3) * 2);
        for (int r = 0; r < rows; r += 8)
          for (int c = 0; c < shape.warp_columns(); c += 8) {
            Var* pair = sums_of(r, c) + r / 8 % 2 * 2;
            g.write_run(f, g.at(f, at, r * row + c), {pair[0], pair[1]});
          }
      });
      g.barrier();
      auto write = [&](int run) {
        const int runs = shape.columns / run;
        g.loop(g.tid, rows * runs, threads, [&](V turn) {
          V line = turn / runs, column = turn % runs * run, i = first_row + g.i64(top + line), j = first_column + g.i64(column);
          g.when((i < in.m) & (j < in.n), [&] {
            Vs x;
            for (int at = 0; at < run; at += 4)
              for (V& v : g.read_run(f, g.at(f, shared, line * row + column + at), std::min(4, run))) x.push_back(v);
            if (in.bias) {
              V at = in.bias->offset + i * in.bias->m + j * in.bias->n;
              for (int c = 0; c < run; ++c) x[static_cast<std::size_t>(c)] = x[static_cast<std::size_t>(c)] + g.read(t, in.bias->buffer, at), at = at + in.bias->n;
            }
            V to = g.at(t, pc, row_offset(sizes, c_rows, i) + j * in.c_n);
            run == 1 ? g.write(t, to, 0, x[0]) : g.write_run(t, to, x);
          });
        });
      };
      g.when(fast, [&] { write(kRun); }, [&] { write(1); });
    });
  }

  static constexpr DType f = DType::Float32;
  const gpu::ProductTiles code;
  const DType t = code.dtype;
  const Shape shape;
  gpu::ProductTiles::Args<InCode> in;
  GpuCode g;
  TensorCores cores;
  V shared;
  V first_row, first_column;
  V warp_row, warp_column;  ///< of the tile
  Vs sizes, a_rows, c_rows;
  Vars sums;  ///< of a warp, by 16 rows, by 8 columns
};

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

bool product_by_tensor_cores(int sm, const gpu::ProductTiles& code) { return TensorCores::serve(sm, code.dtype); }
void emit_by_tensor_cores(GpuModule& module, const gpu::ProductTiles& code) { ProductTensorCode(module, code).run(); }

}  // namespace reprise::jit
