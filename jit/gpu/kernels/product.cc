// The tiled matrix product. A block of 128 threads makes 64 x 64 elements of c: thread (y, x) = (tid / 16, tid % 16)
// has rows 8y.. and columns 4x.. in registers. Tiles of 16 along k stand in shared memory, k outermost, as the summing
// type; while one is multiplied the next is on its way from global memory to registers (the usual blocking of Volkov
// and Demmel: Benchmarking GPUs to tune dense linear algebra, SC 2008). Tensor cores would replace multiply() and the
// form in which tiles stand in shared memory.
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

using gpu::Lines;
using kernels::kProductDepth;
using kernels::kProductThreads;
using kernels::kProductTile;

namespace {

constexpr int kTile = static_cast<int>(kProductTile), kDepth = static_cast<int>(kProductDepth);
constexpr int kRow = kTile + 4;  // of shared memory: keeps runs of 16 bytes aligned
constexpr int kRows = 8, kColumns = 4;
constexpr int kEach = kTile * kDepth / kProductThreads;  // elements of a tile that a thread moves

/// One operand's way from memory to its tile: `line` is a row of a or a column of b.
class Operand {
 public:
  /// `offset_of`: of a line, in elements. `lines`: how many there are.
  Operand(GpuCode& g, Lines kind, DType t, V p, V first, V lines, V depth, V k_stride,
          const std::function<V(V)>& offset_of, const Vs& line_strides)
      : g_(g), kind_(kind), t_(t), sum_(kernels::gpu_sum_dtype(t)), p_(p), depth_(depth), k_stride_(k_stride) {
    tile_ = g.shared(sum_, kDepth * kRow);
    run_ = std::min(8, 16 / static_cast<int>(item_size(t)));
    V last = lines - 1;
    auto offset = [&](V line) { return offset_of(g.min(first + g.i64(line), last)); };
    switch (kind) {
      case Lines::Deep: {  // runs of k; kDepth / run_ threads for a line
        int across = kDepth / run_;
        k_ = (g.tid % across) * run_;
        for (int i = 0; i < kEach / run_; ++i) {
          lines_.push_back(g.tid / across + i * (kProductThreads / across));
          offsets_.push_back(offset(lines_.back()));
        }
        fast_ = g.aligned(p, run_ * static_cast<int>(item_size(t)));
        for (const V& s : line_strides) fast_ = fast_ & (s % run_ == 0);
        break;
      }
      case Lines::Wide: {  // runs of lines; kTile / run_ threads for a k
        int across = kTile / run_;
        V line = (g.tid % across) * run_;
        k_ = g.tid / across;
        for (int i = 0; i < run_; ++i) lines_.push_back(line + i), offsets_.push_back(offset(line + i));
        fast_ = g.aligned(p, run_ * static_cast<int>(item_size(t))) & (k_stride % run_ == 0) & (first + kTile <= lines);
        break;
      }
      case Lines::Any:
        lines_ = {g.tid % kTile};
        k_ = g.tid / kTile;
        offsets_ = {offset(lines_[0])};
    }
    for (int i = 0; i < kEach; ++i) held_.push_back(g.var(sum_, 0));
  }

  /// Starts the loads of the tile whose first k is `from`; beyond the depth there are zeros.
  void fetch(V from) {
    if (kind_ == Lines::Any) return fetch_single(from);
    g_.when(
        kind_ == Lines::Deep ? fast_ & (from + kDepth <= depth_) : fast_, [&] { fetch_runs(from); },
        [&] { fetch_single(from); });
  }
  void put() {
    for (int i = 0; i < kEach; ++i)
      g_.write(sum_, tile_, k_of(i) * kRow + line_of(i), held_[static_cast<std::size_t>(i)]);
  }
  /// `n` neighbouring lines' elements at k.
  Vs read(V k, V line, int n) {
    Vs r;
    int run = 16 / static_cast<int>(item_size(sum_));
    for (int i = 0; i < n; i += run)
      for (V& v : g_.read_run(sum_, g_.at(sum_, tile_, k * kRow + line + i), run)) r.push_back(v);
    return r;
  }

 private:
  // Element i of this thread: its k and line in the tile.
  V k_of(int i) const {
    switch (kind_) {
      case Lines::Deep:
        return k_ + i % run_;
      case Lines::Wide:
        return k_ + i / run_ * (kProductThreads / (kTile / run_));
      default:
        return k_ + i * (kProductThreads / kTile);
    }
  }
  std::size_t index_of(int i) const {
    return static_cast<std::size_t>(kind_ == Lines::Deep ? i / run_ : kind_ == Lines::Wide ? i % run_ : 0);
  }
  V line_of(int i) const { return lines_[index_of(i)]; }

  V element(V x) { return is_low_precision(t_) ? x : g_.convert(t_, sum_, x); }

  void fetch_single(V from) {
    V last = depth_ - 1;
    for (int i = 0; i < kEach; ++i) {
      V k = from + g_.i64(k_of(i));
      V x = element(g_.read(t_, p_, offsets_[index_of(i)] + g_.min(k, last) * k_stride_));
      held_[static_cast<std::size_t>(i)] = g_.select(k < depth_, x, 0);
    }
  }
  void fetch_runs(V from) {
    V last = depth_ - 1;
    for (int i = 0; i < kEach; i += run_) {
      V k = from + g_.i64(k_of(i));
      V at = kind_ == Lines::Deep ? offsets_[index_of(i)] + k : offsets_[0] + g_.min(k, last) * k_stride_;
      Vs x = g_.read_run(t_, g_.at(t_, p_, at), run_);
      for (int j = 0; j < run_; ++j) {
        V v = element(x[static_cast<std::size_t>(j)]);
        held_[static_cast<std::size_t>(i + j)] = kind_ == Lines::Deep ? v : g_.select(k < depth_, v, 0);
      }
    }
  }

  GpuCode& g_;
  Lines kind_;
  DType t_, sum_;
  V p_, depth_, k_stride_, tile_, k_, fast_;
  int run_;
  Vs lines_, offsets_;
  Vars held_;
};

}  // namespace

void emit(GpuModule& m, const gpu::ProductTiles& code) {
  const DType t = code.dtype, sum = kernels::gpu_sum_dtype(t);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(m, in, kProductThreads);
  V rows = in.m, columns = in.n, depth = in.k;
  Vs sizes, a_rows, c_rows;
  for (const auto& r : in.rows) sizes.push_back(r.size), a_rows.push_back(r.a), c_rows.push_back(r.c);
  auto row_offset = [&](const Vs& strides) {
    return [&sizes, strides](V row) {
      V at = row * strides.back();
      if (strides.size() == 1) return at;
      V rest = row;
      for (std::size_t d = strides.size(); d-- > 0;) {
        V i = d ? rest % sizes[d] : rest;
        at = d + 1 == strides.size() ? i * strides[d] : at + i * strides[d];
        if (d) rest = rest / sizes[d];
      }
      return at;
    };
  };

  // Tiles of a column of tiles are neighbours: they share b's tile.
  V down = g.ceil_div(rows, kTile), across = g.ceil_div(columns, kTile);
  V row = g.block_id % down * kTile, rest = g.block_id / down, column = rest % across * kTile, batch = rest / across;
  V pa = g.at(t, in.a, in.a_offset + batch * in.a_batch), pb = g.at(t, in.b, in.b_offset + batch * in.b_batch);
  V pc = g.at(t, in.c, in.c_offset + batch * in.c_batch);
  Operand a(g, code.a_lines, t, pa, row, rows, depth, code.a_lines == Lines::Deep ? g.i64(1) : in.a_k, row_offset(a_rows),
            a_rows);
  Operand b(g, code.b_lines, t, pb, column, columns, depth, code.b_lines == Lines::Deep ? g.i64(1) : in.b_k,
            [&](V n) { return n * in.b_n; }, {in.b_n});

  Vars acc;
  for (int i = 0; i < kRows * kColumns; ++i) acc.push_back(g.var(sum, 0));
  V y = (g.tid / 16) * kRows, x = (g.tid % 16) * kColumns;
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

  auto offset = row_offset(c_rows);
  V left = column + g.i64(x);
  for (int r = 0; r < kRows; ++r) {
    V i = row + g.i64(y + r);
    g.when(i < rows, [&] {
      V at = offset(i) + left * in.c_n;
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
  g.finish();
}

}  // namespace reprise::jit
