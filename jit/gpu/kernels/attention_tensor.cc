// Attention over many queries of Float16 or BFloat16 on tensor cores (Dao: FlashAttention-2, 2023, sections 3.1
// and 3.3). A block has 64 or 128 queries of one head, a warp 16 of them, whose fragments stay in registers; keys come
// in blocks of 64 (with a mask 32) with a running softmax. Scores are sums in registers, lie as the left operand of the
// product with the values does, and never leave them. The next block of keys and values is on its way while one is
// worked on: shared memory has room for two, and one barrier a block keeps them apart.
//
// Where there are products of warpgroups (sm_90), keys and values are read by them from shared memory, and the scores
// of the next block and the values of this one are multiplied while weights are made (Shah et al.: FlashAttention-3,
// 2024, section 3.2).
//
// Weights are rounded to the dtype before they meet the values. Scores are kept times log2(e): the device's instruction
// makes powers of two.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <numbers>

#include "jit/gpu/kernels/attention.h"
#include "jit/gpu/kernels/tensor_cores.h"
#include "jit/gpu/kernels/warpgroup_cores.h"

namespace reprise::jit {

namespace {

constexpr int kTile = 8;
constexpr int kRun = 8;  ///< elements of 16 bytes
constexpr int kLine = WarpgroupCores::kLineBytes / 2;

constexpr int padded(int n) { return (n + 15) / 16 * 16; }
/// Elements from line to line of shared memory: an odd number of runs, so that eight neighbours lie in different banks.
constexpr int row_of(int n) { return padded(n) + kRun; }

/// The kernel. Members stand in the order in which it computes them.
class AttentionTensorCode : AttentionBlock {
 public:
  AttentionTensorCode(GpuModule& module, const gpu::AttentionTiles& made)
      : code(made), by_warpgroups(WarpgroupCores::serve(module.target, made.dtype)),
        block_keys(code.mask == gpu::Mask::None &&
                           (has_roomy_multiprocessors(module.target.arch) || std::max(code.depth, code.width) <= 64)
                       ? 64
                       : 32),
        in(gpu::shaped<InCode>(code)), g(module, in, threads), cores(g, code.dtype), queries(in.queries),
        keys(in.keys) {
    take(g, code, in);

    // One after the other: queries, then two blocks of keys and values, then the result.
    module.shared_bytes = static_cast<std::uint32_t>(
        std::max({block_queries * depth_row,
                  by_warpgroups ? 2 * (swizzled_elements(depth) + swizzled_elements(width)) : 2 * stage_elements,
                  block_queries * width_row}) *
        static_cast<int>(item_size(t)));
    shared = g.wrap(g.dynamic_shared(by_warpgroups ? WarpgroupCores::kPattern : 16));
    query = g.warp_id * 16 + (g.lane_id >> 2), pair = (g.lane_id & 3) * 2;
    for (int r = 0; r < 2; ++r) most.push_back(g.var(finish->minus_infinity())), sum.push_back(g.var(f, 0));
    for (int i = 0; i < padded(width) / kTile * 4; ++i) acc.push_back(g.var(f, 0));
  }

  void run() {
    bring(lines_of(q, block_queries, depth, depth_row, false), shared, first, queries);
    cores.wait();
    g.barrier();
    V line = g.at(t, shared, (g.warp_id * 16 + (g.lane_id & 15)) * depth_row + (g.lane_id >> 4) * kTile);
    // A scale below zero turns the queries' signs, so that the largest score stays the largest.
    V signs = g.select(finish->scale < 0, g.i32(static_cast<int>(0x80008000)), g.i32(0));
    finish->scale = g.max(finish->scale, g.constant(f, 0) - finish->scale);
    for (int d = 0; d < padded(depth); d += 16) {
      queries_held.push_back(cores.load(g.at(t, line, d)));
      for (V& two : queries_held.back()) two = two ^ signs;
    }
    g.barrier();  // they have been read

    limit = code.causal ? g.min(keys, first + block_queries) : keys;
    // Blocks of which every query sees every key ask no more of a score.
    whole =
        code.mask != gpu::Mask::None ? g.i64(0) : (code.causal ? g.min(keys, first) : keys) / block_keys * block_keys;
    by_warpgroups ? walk_by_warpgroups() : walk();
    write_result();
    g.finish();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void walk() {
    const Lines key_lines = lines_of(k, block_keys, depth, depth_row, false),
                value_lines = lines_of(v, block_keys, width, width_row, false);
    auto bring_block = [&](V key, V stage) {
      V to = g.at(t, shared, stage);
      bring(key_lines, to, key, keys), bring(value_lines, g.at(t, to, block_keys * depth_row), key, keys);
    };
    g.when(limit > 0, [&] { bring_block(g.i64(0), g.i32(0)); });
    Var stage = g.var(g.i32(0));
    auto block = [&](V key, bool edge) {
      cores.wait();
      g.barrier();  // the block is there, and the one before has been read
      V here = stage, other = stage_elements - here;
      g.when(key + block_keys < limit, [&] { bring_block(key + block_keys, other); });
      V at_keys = g.at(t, shared, here);
      const Weights w = weigh(score(at_keys), key, edge);
      correct(w);
      add_values(g.at(t, at_keys, block_keys * depth_row), pack(w));
      stage = other;
    };
    if (code.mask == gpu::Mask::None) g.loop(g.i64(0), whole, block_keys, [&](V key) { block(key, false); });
    g.loop(whole, limit, block_keys, [&](V key) { block(key, true); });
  }

  /// Keys have two places and so have values: when block b's weights meet its values, the keys of b + 1 are multiplied,
  /// and those of b + 2 and the values of b + 1 are on their way.
  void walk_by_warpgroups() {
    using Matrix = WarpgroupCores::Matrix;
    WarpgroupCores warpgroup(g, t);
    const Lines key_lines = lines_of(k, block_keys, depth, depth_row, true),
                value_lines = lines_of(v, block_keys, width, width_row, true);
    const int size = static_cast<int>(item_size(t)), group_bytes = block_keys * WarpgroupCores::kLineBytes,
              place_of_keys = swizzled_elements(depth), place_of_values = swizzled_elements(width);
    auto keys_at = [&](V odd) { return g.at(t, shared, odd * place_of_keys); };
    auto values_at = [&](V odd) { return g.at(t, shared, odd * place_of_values + 2 * place_of_keys); };
    Vars scores, weights;
    for (int i = 0; i < block_keys / kTile * 4; ++i) scores.push_back(g.var(f, 0));
    for (int i = 0; i < block_keys / 4; ++i) weights.push_back(g.var(g.i32(0)));
    auto multiply_keys = [&](V p) {
      const Matrix m = warpgroup.matrix(p, WarpgroupCores::Lie::Deep, 0);
      for (int d = 0; d < padded(depth); d += 16)
        warpgroup.multiply_add(queries_held[at(d / 16)],
                               warpgroup.beyond(m, d / kLine * group_bytes + d % kLine * size), block_keys, scores,
                               d ? WarpgroupCores::To::Sums : WarpgroupCores::To::Nothing);
      warpgroup.commit();
    };
    auto multiply_values = [&](V p) {
      const Matrix m = warpgroup.matrix(p, WarpgroupCores::Lie::Wide, group_bytes);
      for (int n = 0; n < block_keys; n += 16) {
        Vs a;
        for (int i = 0; i < 4; ++i) a.push_back(weights[at(n / 4 + i)]);
        warpgroup.multiply_add(a, warpgroup.beyond(m, n * WarpgroupCores::kLineBytes), padded(width), acc);
      }
      warpgroup.commit();
    };
    auto arrived = [&] {
      cores.wait();
      WarpgroupCores::publish(g);
      g.barrier();
    };
    auto take = [&](const Weights& w) {
      const Vs registers = pack(w);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = registers[i];
    };
    g.when(limit > 0, [&] {
      bring(key_lines, keys_at(g.i32(0)), g.i64(0), keys);
      arrived();
      warpgroup.begin();
      multiply_keys(keys_at(g.i32(0)));
      bring(value_lines, values_at(g.i32(0)), g.i64(0), keys);
      g.when(limit > block_keys, [&] { bring(key_lines, keys_at(g.i32(1)), g.i64(block_keys), keys); });
      warpgroup.wait(0, scores);
      take(weigh(scores, g.i64(0), true));  // nothing has been summed that would have to be corrected
      Var odd = g.var(g.i32(0));            // of the block whose weights are there
      // `key`: of the block after that.
      auto block = [&](V key, bool edge) {
        V now = odd, next = 1 - now;
        arrived();  // and the places of the keys of this block and the values of the one before are free
        g.when(key + block_keys < limit, [&] { bring(key_lines, keys_at(now), key + block_keys, keys); });
        bring(value_lines, values_at(next), key, keys);
        warpgroup.begin();
        multiply_keys(keys_at(next));
        multiply_values(values_at(now));
        warpgroup.wait(1, scores);
        Weights w = weigh(scores, key, edge);
        // registers that products read are made behind it: the assembler would let all products wait otherwise
        warpgroup.wait(0, acc, w.all);
        correct(w);
        take(w);
        odd = next;
      };
      if (code.mask == gpu::Mask::None) g.loop(g.i64(block_keys), whole, block_keys, [&](V key) { block(key, false); });
      g.loop(g.max(whole, g.i64(block_keys)), limit, block_keys, [&](V key) { block(key, true); });
      arrived();
      warpgroup.begin();
      multiply_values(values_at(odd));
      warpgroup.wait(0, acc);
    });
  }

  /// Of a block of keys or values.
  int swizzled_elements(int n) const { return (n + kLine - 1) / kLine * kLine * block_keys; }

  /// How the block's threads bring lines of a tensor to shared memory: `lines` at a time, of `n` elements, padded,
  /// `row` elements apart there.
  struct Lines {
    const AttentionTensor& x;
    const int lines, n, row;
    const bool swizzled;  ///< as WarpgroupCores wants them: 64 elements of each, then the next 64
    V fast;               ///< in runs of 16 bytes
    /// where each of threads / runs lines is taken in a turn: this thread's first element, and from turn to turn
    V first, step;
    int runs() const { return padded(n) / kRun; }
    /// Does a thread take the same run of a line in each turn, and none that is padding?
    bool regular(int threads) const {
      return threads % runs() == 0 && n == padded(n) && (!swizzled || threads / runs() % 8 == 0);
    }
    /// Where a run of a line stands, in elements.
    V place(V line, V run) const {
      return swizzled ? WarpgroupCores::place(line, run, x.dtype, lines) : line * row + run * kRun;
    }
    int row_to_row() const { return swizzled ? kLine : row; }
  };
  Lines lines_of(const AttentionTensor& x, int lines, int n, int row, bool swizzled) {
    Lines r{x, lines, n, row, swizzled, {}, {}, {}};
    r.fast = g.aligned(x.p, 16) & (x.column == 1) & (x.row % kRun == 0);
    r.first = g.i64(g.tid / r.runs()) * x.row + g.i64(g.tid % r.runs() * kRun), r.step = x.row * (threads / r.runs());
    return r;
  }

  /// Lines from `from` on; those from `end` on and elements up to the padded length are zeros.
  void bring(const Lines& l, V to, V from, V end) {
    const int n = l.n;
    V last = g.max(end - 1, g.i64(0));
    auto line_at = [&](V line) { return g.min(from + g.i64(line), last) * l.x.row; };
    auto singly = [&] {
      g.loop(g.tid, l.lines * padded(n), threads, [&](V i) {
        V line = i / padded(n), d = i % padded(n),
          to_element = l.swizzled ? l.place(line, d / kRun) + d % kRun : line * l.row + d;
        g.when((d < n) & (from + g.i64(line) < end),
               [&] { g.write(t, to, to_element, g.read(t, l.x.p, line_at(line) + g.i64(d) * l.x.column)); },
               [&] { g.write(t, to, to_element, g.constant(f, 0)); });
      });
    };
    auto checked = [&] {
      const int count = l.lines * l.runs();
      for (int i = 0; i < count; i += threads) {
        V place = g.tid + i, line = place / l.runs(), d = place % l.runs() * kRun;
        V real = from + g.i64(line) < end;
        if (n != padded(n)) real = real & (d < n), d = g.min(d, n - kRun);
        auto one = [&] {
          cores.copy(g.at(t, to, l.place(line, place % l.runs())), g.at(t, l.x.p, line_at(line) + g.i64(d)), real);
        };
        i + threads <= count ? one() : g.when(place < count, one);
      }
    };
    auto whole = [&] {
      V start = g.at(t, to, l.place(g.tid / l.runs(), g.tid % l.runs())), at = g.at(t, l.x.p, from * l.x.row + l.first);
      const int count = l.lines * l.runs(), lines_of_turn = threads / l.runs();
      for (int i = 0; i * threads < count; ++i) {
        auto one = [&] { cores.copy(g.at(t, start, i * lines_of_turn * l.row_to_row()), at); };
        (i + 1) * threads <= count ? one() : g.when(g.tid < count - i * threads, one);
        at = g.at(t, at, l.step);
      }
    };
    if (n % kRun != 0) return singly();
    g.when(
        l.fast,
        [&] {
          if (!l.regular(threads)) checked();
          else g.when(from + l.lines <= end, whole, checked);
        },
        singly);
  }

  /// Of the warp's queries: for every 8 keys four sums.
  Vars score(V at_keys) {
    Vars scores;
    for (int i = 0; i < block_keys / kTile * 4; ++i) scores.push_back(g.var(f, 0));
    // Of 16 keys the matrices of the first 8, then those of the others.
    V line =
        g.at(t, at_keys, ((g.lane_id & 7) + (g.lane_id >> 4) * kTile) * depth_row + ((g.lane_id >> 3) & 1) * kTile);
    // Sums of neighbouring products are others: none waits for the one before.
    for (int d = 0; d < padded(depth); d += 16)
      for (int n = 0; n < block_keys; n += 16) {
        Vs b = cores.load(g.at(t, line, n * depth_row + d));
        for (int half = 0; half < 2; ++half)
          cores.multiply_add(queries_held[at(d / 16)], {b[at(2 * half)], b[at(2 * half + 1)]}, scores,
                             at((n / kTile + half) * 4));
      }
    return scores;
  }

  V exp2(V x) { return g.wrap(g.b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {x.v})); }
  V fused(V x, V y, V z) {
    return g.wrap(g.b.CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v}));
  }

  struct Weights {
    Vars all;        ///< where scores have been
    Vs corrections;  ///< by query: what has been summed of values is to be multiplied by it first
  };
  /// Scores become weights; maximum and sum of each query run on. edge: not every query may see all of these keys.
  Weights weigh(const Vars& scores, V key, bool edge) {
    const V log2e = g.constant(f, std::numbers::log2e), one = g.constant(f, 1);
    const V factor = edge ? one : finish->scale * log2e;  // what the rest of a score is times
    Weights w;
    std::vector<V> s;
    for (int i = 0; i < block_keys / kTile * 4; ++i) {
      V x = scores[at(i)];
      s.push_back(
          edge ? (*finish)(x, first + g.i64(query + i / 2 % 2 * 8), key + g.i64(pair + (i / 4 * kTile + i % 2))) * log2e
               : x);
    }
    for (int r = 0; r < 2; ++r) {
      V top = g.wrap(nullptr);
      for (int i = 0; i < block_keys / kTile * 4; ++i)
        if (i / 2 % 2 == r) top = top.v ? g.max(top, s[at(i)]) : s[at(i)];
      top = g.max(most[at(r)], g.max_lanes(edge ? top : top * factor, 4));
      V base = g.select(top == finish->minus_infinity(), 0, top);  // nothing was seen
      V correction = exp2(most[at(r)] - base), total = g.constant(f, 0), below = g.constant(f, 0) - base;
      for (int i = 0; i < block_keys / kTile * 4; ++i)
        if (i / 2 % 2 == r)
          s[at(i)] = exp2(edge ? s[at(i)] + below : fused(s[at(i)], factor, below)), total = total + s[at(i)];
      most[at(r)] = top;
      sum[at(r)] = sum[at(r)] * correction + total;  // of this lane's keys
      w.corrections.push_back(correction);
    }
    for (const V& x : s) w.all.push_back(g.var(x));
    return w;
  }
  /// As registers of the left operand.
  Vs pack(const Weights& w) {
    Vs registers;
    for (std::size_t i = 0; i < w.all.size(); i += 2) registers.push_back(cores.pack(w.all[i], w.all[i + 1]));
    return registers;
  }
  void correct(const Weights& w) {
    for (std::size_t i = 0; i < acc.size(); ++i) acc[i] = acc[i] * w.corrections[i / 2 % 2];
  }

  /// Weights times the block of values.
  void add_values(V at_values, const Vs& weights) {
    V line = g.at(t, at_values, (g.lane_id & 15) * width_row + (g.lane_id >> 4) * kTile);
    for (int n = 0; n < block_keys; n += 16) {
      const Vs a(weights.begin() + n / 4, weights.begin() + n / 4 + 4);
      for (int c = 0; c < padded(width); c += 16) {
        Vs b = cores.load(g.at(t, line, n * width_row + c), true);
        for (int half = 0; half < 2; ++half)
          cores.multiply_add(a, {b[at(2 * half)], b[at(2 * half + 1)]}, acc, at((c / kTile + half) * 4));
      }
    }
  }

  void write_result() {
    g.barrier();  // the last values have been read
    for (int r = 0; r < 2; ++r) {
      V total = g.sum_lanes(sum[at(r)], 4);
      V factor = g.select(total == 0, 0, g.constant(f, 1) / total);
      V line = g.at(t, shared, (query + r * 8) * width_row + pair);
      for (int c = 0; c < padded(width); c += kTile) {
        const int i = c / kTile * 4 + r * 2;
        g.write_run(t, g.at(t, line, c), {acc[at(i)] * factor, acc[at(i + 1)] * factor});
      }
    }
    g.barrier();
    auto singly = [&] {
      g.loop(g.tid, block_queries * width, threads, [&](V i) {
        V line = i / width, c = i % width, to = first + g.i64(line);
        g.when(to < queries, [&] {
          g.write(t, out.p, to * out.row + g.i64(c) * out.column, g.read(t, shared, line * width_row + c));
        });
      });
    };
    if (width % kRun != 0) return singly();
    g.when(
        g.aligned(out.p, 16) & (out.column == 1) & (out.row % kRun == 0),
        [&] {
          const int runs = width / kRun;
          g.loop(g.tid, block_queries * runs, threads, [&](V i) {
            V line = i / runs, c = i % runs * kRun, to = first + g.i64(line);
            g.when(to < queries, [&] {
              g.write_run(t, g.at(t, out.p, to * out.row + g.i64(c)),
                          g.read_run(t, g.at(t, shared, line * width_row + c), kRun));
            });
          });
        },
        singly);
  }

  static constexpr DType f = DType::Float32;
  const gpu::AttentionTiles code;
  const DType t = code.dtype;
  const int depth = code.depth, width = code.width;
  const int block_queries = code.block_queries(), threads = block_queries / 16 * kWarp;
  const bool by_warpgroups;
  /// fewer where masks are read, which takes registers, or where a multiprocessor's memory would hold one block of
  /// threads only
  const int block_keys;
  const int depth_row = row_of(depth), width_row = row_of(width);
  const int stage_elements = block_keys * (depth_row + width_row);
  gpu::AttentionTiles::Args<InCode> in;
  GpuCode g;
  TensorCores cores;
  V queries, keys;
  V limit, whole;  ///< of keys
  V shared;
  /// of this lane: the first of its two queries (the other is 8 on), and of every 8 columns the first of its two
  V query, pair;
  std::vector<Vs> queries_held;  ///< fragments, by 16 of the depth
  Vars most, sum, acc;           ///< by query; by 8 columns, query, column
};

}  // namespace

bool attention_by_tensor_cores(int sm, const gpu::AttentionTiles& code) {
  return TensorCores::serve(sm, code.dtype) && code.for_tensor_cores();
}

void emit_by_tensor_cores(GpuModule& module, const gpu::AttentionTiles& code) {
  AttentionTensorCode(module, code).run();
}

}  // namespace reprise::jit
