// Attention of few queries over many keys: time goes into reading keys and values once, so the keys are divided among
// blocks, whose unfinished sums the last of them joins (Dao et al.: Flash-Decoding, 2023).
//
// A block of 4 warps has up to 4 rows of a unit. Keys pass in chunks of 128: lanes side by side read a key's elements
// and fold their products by shuffles; scores meet in shared memory, warp r turns row r's into weights; then lanes side
// by side read a value's columns, each group of lanes every so-many-th key, and the groups' sums meet at the end.
#include <optional>

#include "jit/gpu/kernels/attention.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kAttentionThreads, kWarps = kThreads / kWarp;
constexpr int kChunk = static_cast<int>(kernels::kAttentionChunk);

/// How the lanes of a warp share lines of `n` elements.
struct Lanes {
  int n, run, lanes, runs;  ///< elements of a run; lanes for a line; runs of a lane
  Lanes(int n, DType t) : n(n), run(16 / static_cast<int>(item_size(t))), lanes(1) {
    while (lanes < kWarp && lanes * run < n) lanes *= 2;
    runs = (n + lanes * run - 1) / (lanes * run);
  }
  int lines() const { return kWarp / lanes; }  ///< at a time
  int held() const { return runs * run; }      ///< elements of a lane
  /// Element i of this lane, in the line.
  V element(GpuCode& g, int i) const { return (g.lane_id % lanes + i / run * lanes) * run + i % run; }
  bool even() const { return n % run == 0; }

  /// This lane's elements of the line at `p`; what is beyond n is 0.
  Vs read(GpuCode& g, const AttentionTensor& t, V p, bool fast) const {
    Vs r;
    for (int i = 0; i < held(); i += fast ? run : 1) {
      V at = element(g, i), inside = at < n;
      bool always = (i / run + 1) * lanes * run <= n;
      V from = always ? at : g.min(at, fast ? n - run : n - 1);
      Vs x = fast ? g.read_run(t.dtype, g.at(t.dtype, p, from), run) : Vs{g.read(t.dtype, p, g.i64(from) * t.column)};
      for (V& v : x) r.push_back(always ? v : g.select(inside, v, 0));
    }
    return r;
  }
  /// May lines be read in runs (if even())?
  V fast(GpuCode& g, const AttentionTensor& t) const {
    return g.aligned(t.p, 16) & (t.column == 1) & (t.row % run == 0);
  }
};

/// The kernel of one part: some rows of a unit and, of its keys, those from `begin` to `end`. Members stand in the order
/// in which the kernel computes them.
struct AttentionPartCode {
  AttentionPartCode(GpuModule& module, const gpu::AttentionPart& made)
      : code(made), in(gpu::shaped<InCode>(code)), g(module, in, kThreads), all_rows(in.rows), queries(in.queries), group(in.group), splits(in.splits), parts(in.parts) {
    V units = in.units, keys = in.keys;
    scale = attention_scale(g, in.scale);
    q = AttentionTensor(g, in.q), k = AttentionTensor(g, in.k), v = AttentionTensor(g, in.v);
    if (in.mask) mask = AttentionTensor(g, *in.mask);

    split = g.block_id % splits;
    V rest = g.block_id / splits, tiles = g.ceil_div(all_rows, rows);
    first = rest % tiles * rows, place = rest / tiles;
    V unit = place % units, outer = place / units;
    V range = g.ceil_div(g.ceil_div(keys, splits), kWarp) * kWarp;
    begin = split * range, end = g.min(keys, begin + range);
    k.select(g, outer, unit / in.k_units), v.select(g, outer, unit / in.v_units);
    read_rows(outer, unit);

    scores = g.shared(f, rows * kChunk), corrections = g.shared(f, rows);
    meeting = g.shared(f, kWarps * rows * wide.lanes * wide.held());
    most.emplace(g.var(finish[0].minus_infinity())), sum.emplace(g.var(f, 0));
    for (int i = 0; i < rows * wide.held(); ++i) acc.push_back(g.var(f, 0));
  }

  void run() {
    V k_fast = deep.fast(g, k), v_fast = wide.fast(g, v);
    g.loop(begin, end, kChunk, [&](V chunk) {
      V n = g.i32(g.min(end - chunk, kChunk));
      if (deep.even())
        g.when(
            k_fast, [&] { score(chunk, n, true); }, [&] { score(chunk, n, false); });
      else
        score(chunk, n, false);
      g.barrier();
      weigh(n);
      g.barrier();
      correct();
      if (wide.even())
        g.when(
            v_fast, [&] { add_values(chunk, n, true); }, [&] { add_values(chunk, n, false); });
      else
        add_values(chunk, n, false);
      g.barrier();
    });
    join_warps();
    join_parts();
    g.finish();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  Var& sum_of(int row, int i) { return acc[at(row * wide.held() + i)]; }

  /// What belongs to a row: its query, and this lane's elements of its line of q.
  void read_rows(V outer, V unit) {
    for (int r = 0; r < rows; ++r) {
      V row = g.min(first + r, all_rows - 1), head = unit * group + row % group;
      query.push_back(row / group);
      AttentionTensor own_q = q, own_mask = mask;
      own_q.select(g, outer, head);
      if (in.mask) own_mask.select(g, outer, head);
      left.push_back(deep.read(g, own_q, g.at(t, own_q.p, query.back() * q.row), false));
      finish.push_back({g, code.mask, code.causal, scale, own_mask, end, queries});
    }
  }

  /// The scores of all rows with the `n` keys from `chunk` on, into `scores`.
  void score(V chunk, V n, bool fast) {
    const int step = kWarps * deep.lines(), ahead = !fast ? 1 : rows * deep.held() <= 16 ? 4 : 2;
    g.loop(g.warp_id * deep.lines(), n, step * ahead, [&](V c) {
      std::vector<Vs> right;
      Vs key;
      for (int j = 0; j < ahead; ++j) {
        key.push_back(c + g.lane_id / deep.lanes + j * step);
        V line = g.min(chunk + g.i64(key.back()), end - 1) * k.row;
        right.push_back(deep.read(g, k, g.at(t, k.p, line), fast));
      }
      for (int j = 0; j < ahead; ++j)
        for (int r = 0; r < rows; ++r) {
          V s = g.constant(f, 0);
          for (int i = 0; i < deep.held(); ++i) s = g.multiply_add(left[at(r)][at(i)], right[at(j)][at(i)], s);
          s = g.sum_lanes(s, deep.lanes);
          g.when((g.lane_id % deep.lanes == 0) & (key[at(j)] < n), [&] {
            g.write(f, scores, key[at(j)] + r * kChunk, finish[at(r)](s, query[at(r)], chunk + g.i64(key[at(j)])));
          });
        }
    });
  }

  /// Warp r: the scores of row r become weights; its maximum and sum run on, and `corrections` says what the sums of
  /// values made so far are to be multiplied by.
  void weigh(V n) {
    g.when(g.warp_id < rows, [&] {
      Vs s;
      V top = *most, line = g.at(f, scores, g.warp_id * kChunk), minus_infinity = finish[0].minus_infinity();
      for (int j = 0; j < kChunk / kWarp; ++j) {
        V c = g.lane_id + j * kWarp;
        Var score = g.var(minus_infinity);
        g.when(c < n, [&] { score = g.read(f, line, c); });  // what is there belongs to the lane that is about to overwrite it
        s.push_back(score);
        top = g.max(top, s.back());
      }
      top = g.max_lanes(top);
      V correction = attention_weight(g, *most, top), total = g.constant(f, 0);
      for (int j = 0; j < kChunk / kWarp; ++j) {
        V w = attention_weight(g, s[at(j)], top);
        g.write(f, line, g.lane_id + j * kWarp, w);
        total = total + w;
      }
      *most = top;
      *sum = *sum * correction + g.sum_lanes(total);
      g.when(g.lane_id == 0, [&] { g.write(f, corrections, g.warp_id, correction); });
    });
  }
  void correct() {
    for (int r = 0; r < rows; ++r) {
      V correction = g.read(f, corrections, r);
      for (int i = 0; i < wide.held(); ++i) {
        Var& a = sum_of(r, i);
        a = a * correction;
      }
    }
  }

  /// The chunk's values, weighted, to every row's sums; each group of lanes has every so-many-th.
  void add_values(V chunk, V n, bool fast) {
    const int step = kWarps * wide.lines(), ahead = fast ? 4 : 1;
    auto line = [&](V c) { return wide.read(g, v, g.at(t, v.p, (chunk + g.i64(c)) * v.row), fast); };
    auto add = [&](const Vs& value, V c) {
      for (int r = 0; r < rows; ++r) {
        V w = g.read(f, scores, c + r * kChunk);
        for (int i = 0; i < wide.held(); ++i) {
          Var& a = sum_of(r, i);
          a = g.multiply_add(w, value[at(i)], a);
        }
      }
    };
    Var c = g.var(g.warp_id * wide.lines() + g.lane_id / wide.lanes);
    g.loop_while([&] { return c + step * (ahead - 1) < n; },
                 [&] {
                   std::vector<Vs> value;
                   for (int j = 0; j < ahead; ++j) value.push_back(line(c + step * j));
                   for (int j = 0; j < ahead; ++j) add(value[at(j)], c + step * j);
                   c = c + step * ahead;
                 });
    if (ahead == 1) return;
    g.loop_while([&] { return c < n; },
                 [&] {
                   add(line(c), c);
                   c = c + step;
                 });
  }

  /// The sums of all groups of lanes meet in shared memory, and the part is written: sums, maximum, sum of weights.
  void join_warps() {
    const int line = wide.lanes * wide.held();  // of a row in `meeting`, in the order (element of a lane, lane)
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < wide.held(); ++i) {
        V x = sum_of(r, i);
        for (int lanes = wide.lanes; lanes < kWarp; lanes *= 2) x = x + g.from_xor(x, lanes);
        g.when(g.lane_id < wide.lanes,
               [&] { g.write(f, meeting, (g.warp_id * rows + r) * line + i * wide.lanes + g.lane_id, x); });
      }
    g.barrier();
    V row_floats = g.i64(wide.n + 2);
    auto part_of = [&](V r) { return ((place * all_rows + first + r) * splits + split) * row_floats; };
    g.loop(g.tid, rows * wide.n, kThreads, [&](V i) {
      V r = i / wide.n, column = i % wide.n;
      V lane = column / wide.run % wide.lanes, held = column / (wide.run * wide.lanes) * wide.run + column % wide.run;
      V total = g.constant(f, 0);
      for (int w = 0; w < kWarps; ++w)
        total = total + g.read(f, meeting, (r + w * rows) * line + held * wide.lanes + lane);
      g.when(first + g.i64(r) < all_rows, [&] { g.write(f, parts, part_of(g.i64(r)) + g.i64(column), total); });
    });
    g.when((g.warp_id < rows) & (g.lane_id == 0) & (first + g.i64(g.warp_id) < all_rows), [&] {
      V to = part_of(g.i64(g.warp_id)) + wide.n;
      g.write(f, parts, to, *most);
      g.write(f, parts, to + 1, *sum);
    });
  }

  /// The last block of these rows adds up what all have left. What it reads lies behind fences of the others, each before that block was counted.
  void join_parts() {
    g.fence();
    g.barrier();
    V last = g.shared(DType::Int32, 1);
    g.when(g.tid == 0, [&] {
      V before = g.add_atomically(in.arrived, place * g.ceil_div(all_rows, rows) + first / rows, g.i32(1));
      g.write(DType::Int32, last, 0, g.select(g.i64(before) == splits - 1, g.i32(1), g.i32(0)));
    });
    g.barrier();
    g.when(g.read(DType::Int32, last) == 1, [&] {
      g.fence();
      AttentionTensor out(g, in.out);
      V units = in.units;
      g.when((g.warp_id < rows) & (first + g.i64(g.warp_id) < all_rows), [&] { join_row(out, first + g.i64(g.warp_id), units); });
    });
  }

  /// A warp joins the parts of a row: first its lanes have splits, then its columns.
  void join_row(AttentionTensor out, V row, V units) {
    const int width = code.width, held = (width + kWarp - 1) / kWarp;  // columns of a lane
    out.select(g, place / units, place % units * group + row % group);
    V own = g.at(f, parts, (place * all_rows + row) * splits * (width + 2));
    auto of_part = [&](V s, V i) { return g.read(f, own, s * (width + 2) + i); };
    Var greatest = g.var(finish[0].minus_infinity()), weights = g.var(f, 0);
    g.loop(g.i64(g.lane_id), splits, kWarp, [&](V s) {
      V part = of_part(s, g.i64(width)), total = of_part(s, g.i64(width + 1)), top = g.max(greatest, part);
      weights = weights * attention_weight(g, greatest, top) + total * attention_weight(g, part, top);
      greatest = top;
    });
    V top = g.max_lanes(greatest), all = g.sum_lanes(weights * attention_weight(g, greatest, top)), factor = g.select(all == 0, 0, g.constant(f, 1) / all);
    Vs column;  // lanes beyond the last one read it, too
    Vars totals;
    for (int c = 0; c < held; ++c) column.push_back(g.i64(g.min(g.lane_id + c * kWarp, width - 1))), totals.push_back(g.var(f, 0));
    // What several splits have is on its way before the first is used. The order of sums is that of splits.
    auto add = [&](V from, int n) {
      Vs w, x;
      for (int j = 0; j < n; ++j) {
        w.push_back(of_part(from + j, g.i64(width)));
        for (const V& of : column) x.push_back(of_part(from + j, of));
      }
      for (int j = 0; j < n; ++j) {
        V weight = attention_weight(g, w[at(j)], top);
        for (int c = 0; c < held; ++c) {
          Var& total = totals[at(c)];
          total = total + x[at(j * held + c)] * weight;
        }
      }
    };
    constexpr int kAtOnce = 4;
    Var s = g.var(g.i64(0));
    g.loop_while([&] { return s + (kAtOnce - 1) < splits; }, [&] { add(s, kAtOnce), s = s + kAtOnce; });
    g.loop_while([&] { return s < splits; }, [&] { add(s, 1), s = s + 1; });
    for (int c = 0; c < held; ++c)
      g.when(g.lane_id + c * kWarp < width, [&] { g.write(t, out.p, row / group * out.row + column[at(c)] * out.column, totals[at(c)] * factor); });
  }

  static constexpr DType f = DType::Float32;
  const gpu::AttentionPart code;
  const DType t = code.dtype;
  const Lanes deep{code.depth, t}, wide{code.width, t};  ///< of queries and keys, of values
  const int rows = code.rows;
  gpu::AttentionPart::Args<InCode> in;
  GpuCode g;
  V all_rows, queries, group, splits, parts, scale;
  AttentionTensor q, k, v, mask;
  V split, first, place, begin, end;
  Vs query;                             // by row, as the next two
  std::vector<AttentionScores> finish;
  std::vector<Vs> left;
  V scores, corrections, meeting;       // shared
  std::optional<Var> most, sum;         // of row `warp_id`
  Vars acc;                             // by row and element of a lane
};

}  // namespace

void emit(GpuModule& module, const gpu::AttentionPart& code) { AttentionPartCode(module, code).run(); }

}  // namespace reprise::jit
