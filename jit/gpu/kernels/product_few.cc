// Matrix products of few rows: all the time goes into reading b once.
#include "jit/gpu/kernels/kernels.h"
#include "jit/gpu/kernels/tensor_cores.h"

namespace reprise::jit {

using device::kFewProductRows;

namespace {

/// What both kernels share: their arguments, and their way of naming elements.
struct FewRows {
  template <class K>
  FewRows(GpuModule& module, const K& code, int threads)
      : in(gpu::shaped<InCode>(code)), g(module, in, threads), t(code.dtype), sum(kernels::gpu_sum_dtype(t)),
        known(code.m), m(in.m), n(in.n), k(in.k) {}

  void start(V batch) {
    a = g.at(t, in.a, in.a_offset + batch * in.a_batch);
    b = g.at(t, in.b, in.b_offset + batch * in.b_batch);
    c = g.at(t, in.c, in.c_offset + batch * in.c_batch);
  }
  V element(V x) { return is_low_precision(t) ? x : g.convert(t, sum, x); }
  V read(V p, V index) { return element(g.read(t, p, index)); }
  /// Rows beyond m read the last one's.
  V row_of_a(int r) { return g.at(t, a, g.min(g.i64(r), m - 1) * in.a_m); }
  void write(V row, V column, V value) {
    if (in.bias)
      value = value + element(g.read(t, in.bias->buffer, in.bias->offset + row * in.bias->m + column * in.bias->n));
    g.write(t, c, row * in.c_m + column * in.c_n, is_low_precision(t) ? value : g.convert(sum, t, value));
  }
  /// body(R) for the least power of two R that holds all rows.
  void for_rows(const std::function<void(int)>& body, int least = 1) {
    if (known > 0) {
      int r = 1;
      while (r < known) r *= 2;
      return body(r);
    }
    if (least == kFewProductRows) return body(least);
    g.when(
        m <= least, [&] { body(least); }, [&] { for_rows(body, least * 2); });
  }

  gpu::FewRowsArgs<InCode> in;
  GpuCode g;
  const DType t, sum;
  const int known;
  V m, n, k, a, b, c;
};

}  // namespace

// A warp reads a column of b in runs of 16 bytes, lanes side by side, and folds its lanes' sums. With few columns the
// block's 4 warps share one, else each has its own; either way the sums meet in shared memory.
void emit(GpuModule& module, const gpu::ProductDot& code) {
  constexpr int kThreads = kernels::kProductDotThreads, kWarps = kThreads / kWarp;
  FewRows f(module, code, kThreads);
  GpuCode& g = f.g;
  V sums = g.shared(f.sum, kWarps * kFewProductRows);
  V wide = f.n < kernels::kProductDotColumns;
  V split = g.select(wide, g.i32(4), g.i32(1)), each = g.select(wide, g.i32(1), g.i32(kWarps));  // columns of a block
  V groups = g.ceil_div(f.n, g.i64(each));
  V first = g.block_id % groups * g.i64(each);
  f.start(g.block_id / groups);
  V column = first + g.i64(g.select(wide, g.i32(0), g.warp_id));
  V part = g.select(wide, g.warp_id, g.i32(0));
  const int size = static_cast<int>(item_size(f.t)), run = std::min(8, 16 / size);
  V line = g.at(f.t, f.b, g.min(column, f.n - 1) * f.in.b_n);
  V fast = g.aligned(line, run * size) & (f.k % run == 0) & (f.in.a_k == 1) & g.aligned(f.a, run * size) &
           (f.in.a_m % run == 0);
  V start = g.i64(part * kWarp + g.lane_id), step = g.i64(split * kWarp);

  f.for_rows([&](int rows) {
    Vs x;
    for (int r = 0; r < rows; ++r) x.push_back(f.row_of_a(r));
    Vars acc;
    for (int r = 0; r < rows; ++r) acc.push_back(g.var(f.sum, 0));
    auto add = [&](const Vs& w, V at) {
      for (int r = 0; r < rows; ++r) {
        Vs u = g.read_run(f.t, g.at(f.t, x[static_cast<std::size_t>(r)], at), run);
        Var& s = acc[static_cast<std::size_t>(r)];
        for (std::size_t i = 0; i < w.size(); ++i) s = g.multiply_add(f.element(u[i]), w[i], s);
      }
    };
    auto weights = [&](V at) {
      Vs w = g.read_run(f.t, g.at(f.t, line, at), run);
      for (V& v : w) v = f.element(v);
      return w;
    };
    g.when(
        fast,
        [&] {
          // Several loads on their way before the first is used: as many at a time as there are, then what is left in
          // halves (a short column has no more).
          const int most = rows == 1 ? 8 : rows == 2 ? 4 : 2;
          V runs = f.k / run;
          Var i = g.var(start);
          auto are_left = [&](int n) { return i + step * (n - 1) < runs; };
          auto batch = [&](int n) {
            std::vector<Vs> w;
            for (int j = 0; j < n; ++j) w.push_back(weights((i + step * j) * run));
            for (int j = 0; j < n; ++j) add(w[static_cast<std::size_t>(j)], (i + step * j) * run);
            i = i + step * n;
          };
          g.loop_while([&] { return are_left(most); }, [&] { batch(most); });
          for (int n = most / 2; n > 0; n /= 2) g.when(are_left(n), [&] { batch(n); });
        },
        [&] {
          g.loop(start, f.k, step, [&](V i) {
            V w = f.read(line, i);
            for (int r = 0; r < rows; ++r) {
              Var& s = acc[static_cast<std::size_t>(r)];
              s = g.multiply_add(f.read(x[static_cast<std::size_t>(r)], i * f.in.a_k), w, s);
            }
          });
        });
    for (int r = 0; r < rows; ++r) {
      V total = g.sum_lanes(acc[static_cast<std::size_t>(r)]);
      g.when(g.lane_id == 0, [&] { g.write(f.sum, sums, g.warp_id * static_cast<int>(kFewProductRows) + r, total); });
    }
  });
  g.barrier();
  V mine = g.tid / static_cast<int>(kFewProductRows), row = g.tid % static_cast<int>(kFewProductRows);
  V to = first + g.i64(mine);
  g.when((mine < each) & (g.i64(row) < f.m) & (to < f.n), [&] {
    V at = mine * split * static_cast<int>(kFewProductRows) + row;
    Var total = g.var(g.read(f.sum, sums, at));
    g.loop(g.i32(1), split, 1,
           [&](V i) { total = total + g.read(f.sum, sums, at + i * static_cast<int>(kFewProductRows)); });
    f.write(g.i64(row), to, total);
  });
  g.finish();
}

namespace {

/// A strip of 16 columns: its rows are those of the left operand of m16n8k16, a's rows the columns of the right one. Of
/// every 32 neighbours along k a lane has 8 of each, as they lie in memory: two multiplications, whose k are in another
/// order than memory's, but in the same on both sides.
class Strip {
 public:
  static constexpr int kColumns = static_cast<int>(kernels::kProductStrip), kThreads = kernels::kProductStripThreads,
                       kWarps = kThreads / kWarp;
  static constexpr int kDepth = 32, kRun = 8, kRows = static_cast<int>(kFewProductRows);

  Strip(GpuModule& module, const gpu::ProductStrip& code)
      : f(module, code, kThreads), g(f.g), cores_(TensorCores::serve(module.sm, f.t)) {}

  void run() {
    sums = g.shared(f.sum, kWarps * kColumns * kRows);
    V groups = g.ceil_div(f.n, kColumns);
    first = g.block_id % groups * kColumns;
    f.start(g.block_id / groups);
    V fast = g.aligned(f.b, 16) & (f.in.b_n % kRun == 0) & g.aligned(f.a, 16) & (f.in.a_m % kRun == 0) &
             (f.in.a_k == 1) & (f.k % kRun == 0) & (f.k > 0);
    if (cores_)
      g.when(
          fast, [&] { multiply(); }, [&] { singly(); });
    else singly();
    g.barrier();
    V row = g.tid / kColumns, column = first + g.i64(g.tid % kColumns);
    g.when((row < kRows) & (g.i64(row) < f.m) & (column < f.n), [&] {
      V at = g.tid % kColumns * kRows + row;
      Var total = g.var(f.sum, 0);
      for (int w = 0; w < kWarps; ++w) total = total + g.read(f.sum, sums, at + w * (kColumns * kRows));
      f.write(g.i64(row), column, total);
    });
    g.finish();
  }

 private:
  V line_of_b(V column) { return g.at(f.t, f.b, g.min(column, f.n - 1) * f.in.b_n); }

  void multiply() {
    TensorCores cores(g, f.t);
    V group = g.lane_id >> 2, own = g.i64(g.lane_id & 3) * kRun;
    const Vs lines{line_of_b(first + g.i64(group)), line_of_b(first + g.i64(group + 8)),
                   g.at(f.t, f.a, g.min(g.i64(group), f.m - 1) * f.in.a_m)};
    Vars acc;  // two sums, that half of the multiplications wait for each other
    for (int i = 0; i < 8; ++i) acc.push_back(g.var(f.sum, 0));
    auto read = [&](V k) {
      std::vector<Vs> r;
      for (const V& line : lines) r.push_back(cores.read(g.at(f.t, line, k)));
      return r;
    };
    auto add = [&](const std::vector<Vs>& x) {
      for (std::size_t half = 0; half < 2; ++half)
        cores.multiply_add({x[0][2 * half], x[1][2 * half], x[0][2 * half + 1], x[1][2 * half + 1]},
                           {x[2][2 * half], x[2][2 * half + 1]}, acc, 4 * half);
    };
    V whole = f.k / kDepth;
    Var i = g.var(g.i64(g.warp_id));
    auto are_left = [&](int n) { return i + (n - 1) * kWarps < whole; };
    auto batch = [&](int n) {
      std::vector<std::vector<Vs>> held;
      for (int j = 0; j < n; ++j) held.push_back(read((i + j * kWarps) * kDepth + own));
      for (const auto& x : held) add(x);
      i = i + n * kWarps;
    };
    constexpr int kMost = 4;
    g.loop_while([&] { return are_left(kMost); }, [&] { batch(kMost); });
    for (int n = kMost / 2; n > 0; n /= 2) g.when(are_left(n), [&] { batch(n); });
    // What is left of k is the next warp's; lanes behind its end multiply zeros.
    g.when((i == whole) & (f.k % kDepth != 0), [&] {
      V k = whole * kDepth + own, real = k < f.k;
      std::vector<Vs> x = read(g.min(k, f.k - kRun));
      for (Vs& part : x)
        for (V& v : part) v = g.select(real, v, 0);
      add(x);
    });
    for (std::size_t r = 0; r < 4; ++r) {
      V column = group + static_cast<int>(r / 2 * 8), row = (g.lane_id & 3) * 2 + static_cast<int>(r % 2);
      g.write(f.sum, sums, (g.warp_id * kColumns + column) * kRows + row, acc[r] + acc[r + 4]);
    }
  }

  /// Any place and any k: a warp has a column after the other.
  void singly() {
    const int own = kColumns / kWarps;
    g.loop(g.tid, kWarps * kColumns * kRows, kThreads, [&](V i) { g.write(f.sum, sums, i, g.constant(f.sum, 0)); });
    g.barrier();
    g.loop(g.i32(0), own, 1, [&](V turn) {
      V column = g.warp_id * own + turn, line = line_of_b(first + g.i64(column));
      f.for_rows([&](int rows) {
        Vs x;
        Vars acc;
        for (int r = 0; r < rows; ++r) x.push_back(f.row_of_a(r)), acc.push_back(g.var(f.sum, 0));
        g.loop(g.i64(g.lane_id), f.k, kWarp, [&](V k) {
          V w = f.read(line, k);
          for (int r = 0; r < rows; ++r) {
            Var& s = acc[static_cast<std::size_t>(r)];
            s = g.multiply_add(f.read(x[static_cast<std::size_t>(r)], k * f.in.a_k), w, s);
          }
        });
        for (int r = 0; r < rows; ++r) {
          V total = g.sum_lanes(acc[static_cast<std::size_t>(r)]);
          g.when(g.lane_id == 0, [&] { g.write(f.sum, sums, (g.warp_id * kColumns + column) * kRows + r, total); });
        }
      });
    });
  }

  FewRows f;
  GpuCode& g;
  const bool cores_;
  V sums, first;  ///< sums: by warp, column and row
};

}  // namespace

void emit(GpuModule& module, const gpu::ProductStrip& code) { Strip(module, code).run(); }

// Lanes have neighbouring columns; the 16 warps of a block take every 16th k and add up in shared memory.
void emit(GpuModule& module, const gpu::ProductSum& code) {
  constexpr int kThreads = kernels::kProductSumThreads, kWarps = kThreads / kWarp;
  FewRows f(module, code, kThreads);
  GpuCode& g = f.g;
  V sums = g.shared(f.sum, kWarps * (kWarp + 1) * kFewProductRows);
  V groups = g.ceil_div(f.n, kWarp);
  V first = g.block_id % groups * kWarp;
  f.start(g.block_id / groups);
  V column = g.min(first + g.i64(g.lane_id), f.n - 1);
  V line = g.at(f.t, f.b, column * f.in.b_n);
  const int stripe = kWarps * (kWarp + 1);  // of a row's sums
  f.for_rows([&](int rows) {
    Vs x;
    for (int r = 0; r < rows; ++r) x.push_back(f.row_of_a(r));
    Vars acc;
    for (int r = 0; r < rows; ++r) acc.push_back(g.var(f.sum, 0));
    auto add = [&](V w, V k) {
      for (int r = 0; r < rows; ++r) {
        Var& s = acc[static_cast<std::size_t>(r)];
        s = g.multiply_add(f.read(x[static_cast<std::size_t>(r)], k * f.in.a_k), w, s);
      }
    };
    const int ahead = rows == 1 ? 16 : rows == 2 ? 8 : 2;
    Var k = g.var(g.i64(g.warp_id));
    g.loop_while([&] { return k + (ahead - 1) * kWarps < f.k; },
                 [&] {
                   Vs w;
                   for (int j = 0; j < ahead; ++j) w.push_back(f.read(line, (k + j * kWarps) * *f.in.b_k));
                   for (int j = 0; j < ahead; ++j) add(w[static_cast<std::size_t>(j)], k + j * kWarps);
                   k = k + ahead * kWarps;
                 });
    g.loop_while([&] { return k < f.k; },
                 [&] {
                   add(f.read(line, k * *f.in.b_k), k);
                   k = k + kWarps;
                 });
    for (int r = 0; r < rows; ++r)
      g.write(f.sum, sums, g.warp_id * (kWarp + 1) + g.lane_id + r * stripe, acc[static_cast<std::size_t>(r)]);
  });
  g.barrier();
  V row = g.warp_id, to = first + g.i64(g.lane_id);
  g.when((g.i64(row) < f.m) & (to < f.n), [&] {
    V at = row * stripe + g.lane_id;
    Var total = g.var(g.read(f.sum, sums, at));
    g.loop(g.i32(1), kWarps, 1, [&](V i) { total = total + g.read(f.sum, sums, at + i * (kWarp + 1)); });
    f.write(g.i64(row), to, total);
  });
  g.finish();
}

}  // namespace reprise::jit
