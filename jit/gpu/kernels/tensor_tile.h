#pragma once
#include <algorithm>
#include <functional>

#include "jit/gpu/kernels/kernels.h"
#include "jit/gpu/kernels/tensor_cores.h"
#include "jit/gpu/kernels/warpgroup_cores.h"

namespace reprise::jit {

// What tiled products on tensor cores are made of. A block has a tile of c, a warp a part of it, whose sums stay in
// registers; panels of a and b come to shared memory by copies that run past the registers, some steps of k ahead of
// the products (NVIDIA: CUTLASS, "Efficient GEMM in CUDA"). One barrier a step: a place is filled again when all warps
// have come by the barrier behind its products.

/// How a block's warps share a tile, and how much of k a step has.
struct TileShape {
  int rows, columns, warps_down, warps_across, depth, stages;
  /// Are panels read by warpgroups (warpgroup_cores.h)? Then they stand as these want them, and the products of a step
  /// may still be under way in the next one.
  bool for_warpgroups = false;

  int threads() const { return warps_down * warps_across * kWarp; }
  int warp_rows() const { return rows / warps_down; }
  int warp_columns() const { return columns / warps_across; }
  /// Steps whose panels are on their way while one is worked on.
  int ahead() const { return stages - 1 - for_warpgroups; }
};

/// The panels of an operand: lines (rows of a, columns of b) by `depth` of k. In shared memory they stand by lines, or,
/// if they do so in global memory and their elements have 16 or 32 bits, by k: ldmatrix turns the former.
class TensorPanels {
 public:
  enum class Side { Left, Right };
  struct Operand {
    Side side;
    gpu::Lines kind;
    V p, k_stride;
    V count, k_count;               ///< of lines, of k
    std::function<V(V)> offset_of;  ///< of a line
    Vs line_strides;                ///< what makes such an offset
  };
  /// `lines`: of a tile, from `first` on. `in_stage`: where its panel stands in a stage, in elements. `of_warp`: the
  /// first line that this warp multiplies.
  TensorPanels(TensorCores&, DType, const TileShape&, Operand, int lines, V first, int in_stage, V of_warp);

  /// At most, however it lies (a tile has no fewer lines than depth).
  static int elements(DType t, const TileShape& s, int lines) {
    return lines * (s.depth + (s.for_warpgroups ? 0 : std::max(8, run_of(t))));
  }
  static int run_of(DType t) { return 16 / static_cast<int>(item_size(t)); }

  /// Starts to bring the panel whose first k is `from` to `stage`.
  void bring(V stage, V from);
  /// Fragments of 16 lines and two runs of k, as the tensor cores take them: of the left side the first 8 lines' first
  /// run, the other lines', then the second runs; of the right both runs of the first 8 lines, then those of the others
  /// (registers that are taken together are neighbours, or they would be moved for each product). line, k: from the
  /// warp's first and the step's.
  Vs load(V stage, int line, int k);
  /// The panel as warpgroups read it, by the first elements of k: of the left side the 64 lines of this warp's.
  WarpgroupCores::Matrix matrix(WarpgroupCores&, V stage);
  /// That matrix, `k` elements on.
  WarpgroupCores::Matrix beyond(WarpgroupCores& warpgroup, const WarpgroupCores::Matrix& m, int k) const {
    return warpgroup.beyond(m, k * (by_k() ? WarpgroupCores::kLineBytes : static_cast<int>(item_size(t))));
  }

 private:
  bool left() const { return x.side == Side::Left; }
  bool by_k() const {
    return x.kind == gpu::Lines::Wide && item_size(t) > 1 && !(shape.for_warpgroups && item_size(t) > 2);
  }
  /// Is it as far from each row that a thread copies to its next one? Then offsets take no registers. (Bytes have half
  /// as many rows for a thread, and keep the offsets.)
  bool in_steps() const {
    return by_k() || (x.kind == gpu::Lines::Deep && x.line_strides.size() == 1 && item_size(t) > 1);
  }
  /// Elements from row to row, so that what lanes read at once lies in different banks: eight runs of neighbours; of 32
  /// bits by k, eight elements of four neighbours.
  int row() const {
    return shape.for_warpgroups ? WarpgroupCores::kLineBytes / static_cast<int>(item_size(t))
           : by_k()             ? lines + 8
                                : shape.depth + run;
  }
  int runs() const { return (by_k() ? lines : shape.depth) / run; }
  int rows_of_turn() const { return shape.threads() / runs(); }
  int turns() const { return (by_k() ? shape.depth : lines) / rows_of_turn(); }
  /// Where run `at` of such a row stands, in elements. A turn is as far from the one before in each.
  V place_of(V row_number, V at);
  V place(int turn) { return place_of(g.tid / runs(), g.tid % runs()) + turn * rows_of_turn() * row(); }
  V line_offset(V line) { return x.offset_of(g.min(first + g.i64(line), x.count - 1)); }
  /// edge: there are fewer lines; others stand for those behind the last.
  void copy_whole(V to, V from, bool edge);
  void copy_checked(V to, V from);
  void singly(V to, V from);

  GpuCode& g;
  TensorCores& cores;
  const DType t;
  const TileShape shape;
  const int run, lines, in_stage;
  const Operand x;
  const V first;
  V fast, step;
  V of_warp;
  V in_fragments;  ///< where this lane names a row of a fragment, of the warp's first
  Vs offsets;      ///< of this thread, by turn; in steps of the first
};

/// The sums of a block's warps.
struct TileSums {
  TileSums(GpuCode& g, const TileShape& shape, DType t);
  /// The four that a lane has of 16 rows and 8 columns from here on.
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>((row / 16 * (shape.warp_columns() / 8) + column / 8) * 4);
  }

  const TileShape shape;
  const DType dtype;
  Vars all;
};

/// A tile in the making: goes through k, with panels on their way, and writes what has become of it.
class TensorTile {
 public:
  /// Takes the shared memory that it needs.
  TensorTile(GpuModule&, GpuCode&, TensorCores&, const TileShape&, DType of_a, DType of_b);

  /// step(stage, k) with the panels of k there; k: i64.
  void go(TensorPanels& a, TensorPanels& b, V depth, const std::function<void(V stage, V k)>& step);
  /// Sums pass through shared memory, those of some warps at a time: put(i, j, x) gets `run` neighbours of a row, where
  /// `in_runs`, or single ones. i, j: i64, of c.
  void write(const TileSums&, V rows, V columns, V in_runs, int run, const std::function<void(V i, V j, Vs x)>& put);

  V first_row, first_column;                ///< of c; set by the user
  V warp_row, warp_column;                  ///< of the tile
  int of_b() const { return a_elements_; }  ///< where b's panels stand in a stage

 private:
  GpuCode& g;
  TensorCores& cores;
  const TileShape shape;
  const DType t;
  const int a_elements_, stage_;
  int rows_at_a_time_;  ///< whose sums pass through shared memory
  V shared;
};

}  // namespace reprise::jit
