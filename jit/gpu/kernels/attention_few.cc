// Attention of few queries over many keys: time goes into reading keys and values once, so the keys are divided among
// blocks, whose unfinished sums the last of them joins (Dao et al.: Flash-Decoding, 2023).
//
// A block of 4 warps has up to 4 rows of a unit. Keys pass in chunks of 128: lanes side by side read a key's elements
// and fold their products by shuffles; scores meet in shared memory, warp r turns row r's into weights; then lanes side
// by side read a value's columns, each group of lanes every so-many-th key, and the groups' sums meet at the end.
//
// With few keys nothing but latency counts: keys and values are asked for before the kernel waits for the one before it
// (but for those of this token they are there), the first of both and the queries are read at once, and the only
// range's block writes the result.
#include <algorithm>

#include "jit/gpu/kernels/attention.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kAttentionThreads, kWarps = kThreads / kWarp;
constexpr int kChunk = static_cast<int>(kernels::kAttentionChunk);
// keys of a block that are asked for in advance: 32 MiB of all blocks, of heads of 128
constexpr int kAsked = 2 * kChunk;

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

  /// The runs of this lane of the line at `p`, as they lie in memory: where lines may be read so. What is beyond n is
  /// some other run.
  Vs read_raw(GpuCode& g, const AttentionTensor& t, V p) const {
    Vs r;
    for (int i = 0; i < held(); i += run) {
      V at = element(g, i);
      if ((i / run + 1) * lanes * run > n) at = g.min(at, n - run);
      r.push_back(g.read_raw(g.at(t.dtype, p, at)));
    }
    return r;
  }
  /// Their elements; what is beyond n is 0.
  Vs elements(GpuCode& g, DType t, const Vs& raw) const {
    Vs r;
    for (const V& x : raw)
      for (llvm::Value* v : g.elements_of(t, x.v)) {
        const int i = static_cast<int>(r.size());
        r.push_back((i / run + 1) * lanes * run <= n ? g.wrap(v) : g.select(element(g, i) < n, g.wrap(v), 0));
      }
    return r;
  }
  /// This lane's elements of the line at `p`, one by one; what is beyond n is 0.
  Vs read(GpuCode& g, const AttentionTensor& t, V p) const {
    Vs r;
    for (int i = 0; i < held(); ++i) {
      V at = element(g, i);
      bool always = (i / run + 1) * lanes * run <= n;
      V x = g.read(t.dtype, p, g.i64(always ? at : g.min(at, n - 1)) * t.column);
      r.push_back(always ? x : g.select(at < n, x, 0));
    }
    return r;
  }
  /// May lines be read in runs?
  V fast(GpuCode& g, const AttentionTensor& t) const {
    return even() ? g.aligned(t.p, 16) & (t.column == 1) & ((t.row & (run - 1)) == 0) : g.wrap(g.b.getFalse());
  }
};

/// Blocks that a multiprocessor has registers for, of a decoded token: one finds room beside the kernel before it, and
/// the next kernel's beside that. Others are bounded by nothing.
int resident(const gpu::AttentionPart& code) {
  return code.places && code.mask == gpu::Mask::None && std::max(code.depth, code.width) <= 128 ? 3 : 1;
}

/// The kernel of one part: some rows of a unit and, of its keys, those from `begin` to `end`. Members stand in the
/// order in which the kernel computes them.
struct AttentionPartCode {
  AttentionPartCode(GpuModule& module, const gpu::AttentionPart& made)
      : code(made), in(gpu::shaped<InCode>(code)), g(module, in, kThreads, resident(code)), all_rows(g.i32(in.rows)),
        queries(in.queries), group(known(code.group, in.group)), splits(in.splits) {
    V units = known(code.units, in.units);
    tiles = g.ceil_div(all_rows, rows);
    k = AttentionTensor(g, in.k), v = AttentionTensor(g, in.v);

    V rest, unit;
    divide(g.i32(g.block_id), known(code.places, in.places), split, rest);
    if (code.places && code.places == code.units) place = unit = rest, tile = outer = g.i32(0);
    else divide(rest, tiles, place, tile), divide(place, units, outer, unit);
    first = tile * rows;
    begin = g.i64(split) * in.range, end = g.min(in.keys, begin + in.range);
    k.select(g, g.i64(outer), g.i64(quotient(unit, known(code.k_units, in.k_units)))),
        v.select(g, g.i64(outer), g.i64(quotient(unit, known(code.v_units, in.v_units))));
    first_head = unit * group;
    k_fast = deep.fast(g, k), v_fast = wide.fast(g, v);

    scores = g.shared(f, rows * kChunk), corrections = g.shared(f, rows), tops = g.shared(f, rows),
    all_weights = g.shared(f, rows);
    meeting = g.shared(f, kWarps * rows * wide.lanes * wide.held());
  }

  void run() {
    ask_for(begin, begin + kAsked);
    g.wait_for_earlier();
    scale = attention_scale(g, in.scale);
    read_first();
    if_first_of_row([&] {
      g.write(f, tops, g.warp_id, finish[0].minus_infinity()), g.write(f, all_weights, g.warp_id, g.constant(f, 0));
    });
    for (int i = 0; i < rows * wide.held(); ++i) acc.push_back(g.var(f, 0));

    g.loop(begin, end, kChunk, [&](V chunk) {
      V n = g.i32(g.min(end - chunk, kChunk));
      g.when(chunk > begin, [&] { g.barrier(); });
      in_runs_or_not(
          deep, k_fast, [&] { score_runs(chunk, n); }, [&] { score(chunk, n); });
      g.barrier();
      weigh(n);
      g.barrier();
      correct();
      in_runs_or_not(
          wide, v_fast, [&] { add_runs(chunk, n); }, [&] { add_values(chunk, n); });
    });
    join_warps();
    g.when(splits > 1, [&] { join_parts(); });
    g.finish();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  Var& sum_of(int row, int i) { return acc[at(row * wide.held() + i)]; }
  // Of a block's numbers, which are of 32 bits.
  V known(int n, const V& number) { return g.i32(n ? V(n) : number); }
  void divide(const V& a, const V& c, V& q, V& r) {
    const GpuEmitter::Division d = g.divide(a.v, c.v);
    q = g.wrap(d.quotient), r = g.wrap(d.remainder);
  }
  V quotient(const V& a, const V& c) { return g.wrap(g.divide(a.v, c.v).quotient); }
  void in_runs_or_not(const Lanes& lanes, const V& fast, const std::function<void()>& runs,
                      const std::function<void()>& singly) {
    lanes.even() ? g.when(fast, runs, singly) : singly();
  }

  /// The first lane of the warp that has a row.
  void if_first_of_row(const std::function<void()>& body) { g.when((g.warp_id < rows) & (g.lane_id == 0), body); }

  /// Asks for keys and values for the second cache. It may be while an earlier kernel writes some.
  void ask_for(V from, V to) {
    g.loop(from + g.i64(g.tid), g.min(to, end), kThreads, [&](V key) {
      for (const auto& [t, lanes, fast] : {std::tuple(&k, &deep, k_fast), std::tuple(&v, &wide, v_fast)})
        g.when(fast, [&, t = t, lanes = lanes] {
          for (int i = 0; i < lanes->n; i += GpuEmitter::kCacheLine / static_cast<int>(item_size(t->dtype)))
            g.prefetch(g.at(t->dtype, t->p, key * t->row + i).v);
        });
    });
  }

  /// What is read in runs is read a turn ahead.
  void start_reading() {
    auto start = [&](Vars& next, const Lanes& lanes, const AttentionTensor& t, const V& fast, int lines) {
      if (!lanes.even()) return;
      g.when(fast & (begin < end), [&] {
        for (int j = 0; j < lines; ++j) read_ahead(next, lanes, t, begin, j);
      });
    };
    start(next_keys, deep, k, k_fast, turn_of_keys());
    start(next_values, wide, v, v_fast, turn_of_values());
  }
  int turn_of_keys() const { return std::min(rows * deep.held() <= 16 ? 4 : 2, kChunk / step(deep)); }
  // as registers allow
  int turn_of_values() const { return std::min(rows * wide.held() <= 16 ? 4 : 2, kChunk / step(wide)); }
  static int step(const Lanes& lanes) { return kWarps * lanes.lines(); }  ///< keys that a block reads at a time
  V own_key(const Lanes& lanes) { return g.warp_id * lanes.lines() + g.lane_id / lanes.lanes; }
  /// This lane's j-th line of the turn from `key` on; behind the end the last one.
  void read_ahead(Vars& next, const Lanes& lanes, const AttentionTensor& t, V key, int j) {
    V line = g.min(key + g.i64(own_key(lanes)) + j * step(lanes), end - 1) * t.row;
    const Vs raw = lanes.read_raw(g, t, g.at(t.dtype, t.p, line));
    for (int i = 0; i < lanes.runs; ++i) next[at(j * lanes.runs + i)] = raw[at(i)];
  }
  /// The j-th line of what has been read ahead.
  static Vs line_of(const Vars& next, const Lanes& lanes, int j) {
    return {next.begin() + j * lanes.runs, next.begin() + (j + 1) * lanes.runs};
  }

  /// What belongs to a row, its query and this lane's elements of its line of q; and the first keys and values. All are
  /// on their way at once.
  void read_first() {
    for (Vars* next : {&next_keys, &next_values})
      for (int i = 0; i < (next == &next_keys ? turn_of_keys() * deep.runs : turn_of_values() * wide.runs); ++i)
        next->push_back(g.var(g.raw_zeros()));
    q = AttentionTensor(g, in.q);
    if (in.mask) mask = AttentionTensor(g, *in.mask);
    const V q_fast =
        deep.even() ? deep.fast(g, q) & ((q.outer & (deep.run - 1)) == 0) & ((q.head & (deep.run - 1)) == 0) : V();
    Vs lines;
    for (int r = 0; r < rows; ++r) {
      V head, own;
      divide(g.min(first + r, all_rows - 1), group, own, head);
      query.push_back(g.i64(own));
      AttentionTensor own_q = q, own_mask = mask;
      own_q.select(g, g.i64(outer), g.i64(first_head + head));
      if (in.mask) own_mask.select(g, g.i64(outer), g.i64(first_head + head));
      lines.push_back(g.at(t, own_q.p, query.back() * q.row));
      for (int i = 0; i < deep.held(); ++i) left.push_back(g.var(f, 0));
      finish.push_back({g, code.mask, code.causal, scale, own_mask, end, queries});
    }
    auto keep = [&](int r, const Vs& x) {
      for (int i = 0; i < deep.held(); ++i) left[at(r * deep.held() + i)] = x[at(i)];
    };
    in_runs_or_not(
        deep, q_fast,
        [&] {
          start_reading();
          std::vector<Vs> raw;
          for (const V& line : lines) raw.push_back(deep.read_raw(g, q, line));
          for (int r = 0; r < rows; ++r) keep(r, deep.elements(g, t, raw[at(r)]));
        },
        [&] {
          for (int r = 0; r < rows; ++r) keep(r, deep.read(g, q, lines[at(r)]));
          start_reading();
        });
  }

  /// The scores of all rows with the `n` keys from `chunk` on, into `scores`.
  void score_runs(V chunk, V n) {
    const int lines = turn_of_keys();
    g.loop(g.i32(0), n, step(deep) * lines, [&](V turn) {
      for (int j = 0; j < lines; ++j) {
        const Vs right = deep.elements(g, t, line_of(next_keys, deep, j));
        read_ahead(next_keys, deep, k, chunk + g.i64(turn + step(deep) * lines), j);
        score_line(right, chunk, turn + own_key(deep) + j * step(deep), n);
      }
    });
  }
  void score(V chunk, V n) {
    g.loop(g.warp_id * deep.lines(), n, step(deep), [&](V c) {
      V key = c + g.lane_id / deep.lanes;
      score_line(deep.read(g, k, g.at(t, k.p, g.min(chunk + g.i64(key), end - 1) * k.row)), chunk, key, n);
    });
  }
  void score_line(const Vs& right, V chunk, V key, V n) {
    for (int r = 0; r < rows; ++r) {
      V s = g.constant(f, 0);
      for (int i = 0; i < deep.held(); ++i) s = g.multiply_add(left[at(r * deep.held() + i)], right[at(i)], s);
      s = g.sum_lanes(s, deep.lanes);
      g.when((g.lane_id % deep.lanes == 0) & (key < n),
             [&] { g.write(f, scores, key + r * kChunk, finish[at(r)](s, query[at(r)], chunk + g.i64(key))); });
    }
  }

  /// Warp r: the scores of row r become weights; its maximum and sum, in `tops` and `all_weights`, run on, and
  /// `corrections` says what the sums of values made so far are to be multiplied by.
  void weigh(V n) {
    g.when(g.warp_id < rows, [&] {
      Vs s;
      V line = g.at(f, scores, g.warp_id * kChunk), minus_infinity = finish[0].minus_infinity();
      Var before = g.var(minus_infinity);
      g.when(g.lane_id == 0, [&] { before = g.read(f, tops, g.warp_id); });
      V top = before;
      for (int j = 0; j < kChunk / kWarp; ++j) {
        V c = g.lane_id + j * kWarp;
        Var score = g.var(minus_infinity);
        // what is there belongs to the lane that is about to overwrite it
        g.when(c < n, [&] { score = g.read(f, line, c); });
        s.push_back(score);
        top = g.max(top, s.back());
      }
      top = g.max_lanes(top);
      V correction = attention_weight(g, before, top), total = g.constant(f, 0);
      for (int j = 0; j < kChunk / kWarp; ++j) {
        V w = attention_weight(g, s[at(j)], top);
        g.write(f, line, g.lane_id + j * kWarp, w);
        total = total + w;
      }
      total = g.sum_lanes(total);
      g.when(g.lane_id == 0, [&] {
        g.write(f, corrections, g.warp_id, correction), g.write(f, tops, g.warp_id, top);
        g.write(f, all_weights, g.warp_id, g.read(f, all_weights, g.warp_id) * correction + total);
      });
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
  void add_runs(V chunk, V n) {
    const int lines = turn_of_values();
    g.loop(g.i32(0), n, step(wide) * lines, [&](V turn) {
      for (int j = 0; j < lines; ++j) {
        V c = turn + own_key(wide) + j * step(wide), there = c < n;
        Vs raw = line_of(next_values, wide, j);
        for (V& x : raw) x = g.wrap(g.b.CreateSelect(there.v, x.v, g.raw_zeros().v));
        const Vs value = wide.elements(g, t, raw);
        read_ahead(next_values, wide, v, chunk + g.i64(turn + step(wide) * lines), j);
        add_line(value, c);
      }
    });
  }
  void add_values(V chunk, V n) {
    g.loop(own_key(wide), n, step(wide),
           [&](V c) { add_line(wide.read(g, v, g.at(t, v.p, (chunk + g.i64(c)) * v.row)), c); });
  }
  void add_line(const Vs& value, V c) {
    for (int r = 0; r < rows; ++r) {
      V w = g.read(f, scores, c + r * kChunk);
      for (int i = 0; i < wide.held(); ++i) {
        Var& a = sum_of(r, i);
        a = g.multiply_add(w, value[at(i)], a);
      }
    }
  }

  /// The sums of all groups of lanes meet in shared memory; the result is written where this is all, else the part:
  /// sums, maximum, sum of weights.
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
    V row_floats = g.i64(wide.n + 2), alone = splits == 1;
    const AttentionTensor out(g, in.out);
    auto part_of = [&](V r) {
      return ((g.i64(place) * g.i64(all_rows) + g.i64(first + r)) * splits + g.i64(split)) * row_floats;
    };
    g.loop(g.tid, rows * wide.n, kThreads, [&](V i) {
      V r = i / wide.n, column = i % wide.n;
      V lane = column / wide.run % wide.lanes, held = column / (wide.run * wide.lanes) * wide.run + column % wide.run;
      V total = g.constant(f, 0);
      for (int w = 0; w < kWarps; ++w)
        total = total + g.read(f, meeting, (r + w * rows) * line + held * wide.lanes + lane);
      g.when(first + r < all_rows, [&] {
        g.when(
            alone, [&] { write_result(out, first + r, g.i64(column), total * factor_of(g.read(f, all_weights, r))); },
            [&] { g.write(f, in.parts, part_of(r) + g.i64(column), total); });
      });
    });
    g.when((splits > 1) & (g.warp_id < rows) & (g.lane_id == 0) & (first + g.warp_id < all_rows), [&] {
      V to = part_of(g.warp_id) + wide.n;
      g.write(f, in.parts, to, g.read(f, tops, g.warp_id));
      g.write(f, in.parts, to + 1, g.read(f, all_weights, g.warp_id));
    });
  }
  V factor_of(V all) { return g.select(all == 0, 0, g.constant(f, 1) / all); }
  void write_result(AttentionTensor out, V row, V column, V value) {
    V head, own;
    divide(row, group, own, head);
    out.select(g, g.i64(outer), g.i64(first_head + head));
    g.write(t, out.p, g.i64(own) * out.row + column * out.column, value);
  }

  /// The last block of these rows adds up what all have left. What it reads lies behind fences of the others, each
  /// before that block was counted.
  void join_parts() {
    g.fence();
    g.barrier();
    V last = g.shared(DType::Int32, 1);
    g.when(g.tid == 0, [&] {
      V before = g.add_atomically(in.arrived, place * tiles + tile, g.i32(1));
      g.write(DType::Int32, last, 0, g.select(g.i64(before) == splits - 1, g.i32(1), g.i32(0)));
    });
    g.barrier();
    g.when(g.read(DType::Int32, last) == 1, [&] {
      g.fence();
      const AttentionTensor out(g, in.out);
      g.when((g.warp_id < rows) & (first + g.warp_id < all_rows), [&] { join_row(out, first + g.warp_id); });
    });
  }

  /// A warp joins the parts of a row: first its lanes have splits, then its columns.
  void join_row(const AttentionTensor& out, V row) {
    const int width = code.width, held = (width + kWarp - 1) / kWarp;  // columns of a lane
    V own = g.at(f, in.parts, (g.i64(place) * g.i64(all_rows) + g.i64(row)) * splits * (width + 2));
    auto of_part = [&](V s, V i) { return g.read(f, own, s * (width + 2) + i); };
    Var greatest = g.var(finish[0].minus_infinity()), weights = g.var(f, 0);
    g.loop(g.i64(g.lane_id), splits, kWarp, [&](V s) {
      V part = of_part(s, g.i64(width)), total = of_part(s, g.i64(width + 1)), top = g.max(greatest, part);
      weights = weights * attention_weight(g, greatest, top) + total * attention_weight(g, part, top);
      greatest = top;
    });
    V top = g.max_lanes(greatest), all = g.sum_lanes(weights * attention_weight(g, greatest, top)),
      factor = factor_of(all);
    Vs column;  // lanes beyond the last one read it, too
    Vars totals;
    for (int c = 0; c < held; ++c)
      column.push_back(g.i64(g.min(g.lane_id + c * kWarp, width - 1))), totals.push_back(g.var(f, 0));
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
      g.when(g.lane_id + c * kWarp < width, [&] { write_result(out, row, column[at(c)], totals[at(c)] * factor); });
  }

  static constexpr DType f = DType::Float32;
  const gpu::AttentionPart code;
  const DType t = code.dtype;
  const Lanes deep{code.depth, t}, wide{code.width, t};  ///< of queries and keys, of values
  const int rows = code.rows;
  gpu::AttentionPart::Args<InCode> in;
  GpuCode g;
  V all_rows, queries, group, splits, scale;
  AttentionTensor q, k, v, mask;
  V split, first, place, tiles, tile, outer, first_head, begin, end, k_fast, v_fast;
  Vs query;  // by row, as the next
  std::vector<AttentionScores> finish;
  Vars left;                                          // by row and element of a lane
  Vars next_keys, next_values;                        // read ahead, as they lie in memory
  V scores, corrections, tops, all_weights, meeting;  // shared
  Vars acc;                                           // by row and element of a lane
};

}  // namespace

void emit(GpuModule& module, const gpu::AttentionPart& code) {
  module.waits_later = true;
  AttentionPartCode(module, code).run();
}

}  // namespace reprise::jit
