// Attention over many queries of Float16 or BFloat16 on tensor cores (Dao: FlashAttention-2, 2023, sections 3.1 and 3.3). A block has 64 or 128 queries
// of one head, a warp 16 of them, whose fragments stay in registers; keys come in blocks of 64 (with a mask 32) with a running softmax. Scores are sums in registers, lie as
// the left operand of the product with the values does, and never leave them. The next block of keys and values is on its way while one is worked on: shared memory
// has room for two, and one barrier a block keeps them apart.
//
// Weights are rounded to the dtype before they meet the values. Scores are kept times log2(e): the device's instruction makes powers of two.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <numbers>

#include "jit/gpu/kernels/attention.h"
#include "jit/gpu/kernels/tensor_cores.h"

namespace reprise::jit {

namespace {

constexpr int kTile = 8;
constexpr int kRun = 8;  ///< elements of 16 bytes

constexpr int padded(int n) { return (n + 15) / 16 * 16; }
/// Elements from line to line of shared memory: an odd number of runs, so that eight neighbours lie in different banks.
constexpr int row_of(int n) { return padded(n) + kRun; }

/// The kernel. Members stand in the order in which it computes them.
class AttentionTensorCode : AttentionBlock {
 public:
  AttentionTensorCode(GpuModule& module, const gpu::AttentionTiles& made)
      : code(made),
        block_keys(code.mask == gpu::Mask::None && (has_roomy_multiprocessors(module.target.arch) || std::max(code.depth, code.width) <= 64) ? 64 : 32),
        in(gpu::shaped<InCode>(code)),
        g(module, in, threads),
        cores(g, code.dtype),
        queries(in.queries),
        keys(in.keys) {
    take(g, code, in);

    // One after the other: queries, then two blocks of keys and values, then the result.
    module.shared_bytes = static_cast<std::uint32_t>(std::max({block_queries * depth_row, 2 * stage_elements, block_queries * width_row}) * static_cast<int>(item_size(t)));
    shared = g.wrap(g.dynamic_shared());
    query = g.warp_id * 16 + (g.lane_id >> 2), pair = (g.lane_id & 3) * 2;
    for (int r = 0; r < 2; ++r) most.push_back(g.var(finish->minus_infinity())), sum.push_back(g.var(f, 0));
    for (int i = 0; i < padded(width) / kTile * 4; ++i) acc.push_back(g.var(f, 0));
  }

  void run() {
    bring(lines_of(q, block_queries, depth, depth_row), shared, first, queries);
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

    const Lines key_lines = lines_of(k, block_keys, depth, depth_row), value_lines = lines_of(v, block_keys, width, width_row);
    limit = code.causal ? g.min(keys, first + block_queries) : keys;
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
      Vars scores = score(at_keys);
      add_values(g.at(t, at_keys, block_keys * depth_row), weigh(scores, key, edge));
      stage = other;
    };
    // Blocks of which every query sees every key ask no more of a score.
    V whole = code.mask != gpu::Mask::None ? g.i64(0) : (code.causal ? g.min(keys, first) : keys) / block_keys * block_keys;
    if (code.mask == gpu::Mask::None) g.loop(g.i64(0), whole, block_keys, [&](V key) { block(key, false); });
    g.loop(whole, limit, block_keys, [&](V key) { block(key, true); });
    write_result();
    g.finish();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// How the block's threads bring lines of a tensor to shared memory: `lines` at a time, of `n` elements, padded, `row` elements apart there.
  struct Lines {
    const AttentionTensor& x;
    const int lines, n, row;
    V fast;         ///< in runs of 16 bytes
    V first, step;  ///< where each of threads / runs lines is taken in a turn: this thread's first element, and from turn to turn
    int runs() const { return padded(n) / kRun; }
    /// Does a thread take the same run of a line in each turn, and none that is padding?
    bool regular(int threads) const { return threads % runs() == 0 && n == padded(n); }
  };
  Lines lines_of(const AttentionTensor& x, int lines, int n, int row) {
    Lines r{x, lines, n, row, {}, {}, {}};
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
        V line = i / padded(n), d = i % padded(n), to_element = line * l.row + d;
        g.when(
            (d < n) & (from + g.i64(line) < end), [&] { g.write(t, to, to_element, g.read(t, l.x.p, line_at(line) + g.i64(d) * l.x.column)); },
            [&] { g.write(t, to, to_element, g.constant(f, 0)); });
      });
    };
    auto checked = [&] {
      const int count = l.lines * l.runs();
      for (int i = 0; i < count; i += threads) {
        V place = g.tid + i, line = place / l.runs(), d = place % l.runs() * kRun;
        V real = from + g.i64(line) < end;
        if (n != padded(n)) real = real & (d < n), d = g.min(d, n - kRun);
        auto one = [&] { cores.copy(g.at(t, to, line * l.row + place % l.runs() * kRun), g.at(t, l.x.p, line_at(line) + g.i64(d)), real); };
        i + threads <= count ? one() : g.when(place < count, one);
      }
    };
    auto whole = [&] {
      V start = g.at(t, to, g.tid / l.runs() * l.row + g.tid % l.runs() * kRun), at = g.at(t, l.x.p, from * l.x.row + l.first);
      const int count = l.lines * l.runs(), lines_of_turn = threads / l.runs();
      for (int i = 0; i * threads < count; ++i) {
        auto one = [&] { cores.copy(g.at(t, start, i * lines_of_turn * l.row), at); };
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
    V line = g.at(t, at_keys, ((g.lane_id & 7) + (g.lane_id >> 4) * kTile) * depth_row + ((g.lane_id >> 3) & 1) * kTile);
    // Sums of neighbouring products are others: none waits for the one before.
    for (int d = 0; d < padded(depth); d += 16)
      for (int n = 0; n < block_keys; n += 16) {
        Vs b = cores.load(g.at(t, line, n * depth_row + d));
        for (int half = 0; half < 2; ++half) cores.multiply_add(queries_held[at(d / 16)], {b[at(2 * half)], b[at(2 * half + 1)]}, scores, at((n / kTile + half) * 4));
      }
    return scores;
  }

  V exp2(V x) { return g.wrap(g.b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {x.v})); }
  V fused(V x, V y, V z) { return g.wrap(g.b.CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v})); }

  /// Scores become weights, as registers of the left operand; maximum, sum and result of each query run on. edge: not every query may see all of these keys.
  Vs weigh(const Vars& scores, V key, bool edge) {
    const V log2e = g.constant(f, std::numbers::log2e), one = g.constant(f, 1);
    const V factor = edge ? one : finish->scale * log2e;  // what the rest of a score is times
    std::vector<V> s;
    for (int i = 0; i < block_keys / kTile * 4; ++i) {
      V x = scores[at(i)];
      s.push_back(edge ? (*finish)(x, first + g.i64(query + i / 2 % 2 * 8), key + g.i64(pair + (i / 4 * kTile + i % 2))) * log2e : x);
    }
    for (int r = 0; r < 2; ++r) {
      V top = g.wrap(nullptr);
      for (int i = 0; i < block_keys / kTile * 4; ++i)
        if (i / 2 % 2 == r) top = top.v ? g.max(top, s[at(i)]) : s[at(i)];
      top = g.max(most[at(r)], g.max_lanes(edge ? top : top * factor, 4));
      V base = g.select(top == finish->minus_infinity(), 0, top);  // nothing was seen
      V correction = exp2(most[at(r)] - base), total = g.constant(f, 0), below = g.constant(f, 0) - base;
      for (int i = 0; i < block_keys / kTile * 4; ++i)
        if (i / 2 % 2 == r) s[at(i)] = exp2(edge ? s[at(i)] + below : fused(s[at(i)], factor, below)), total = total + s[at(i)];
      most[at(r)] = top;
      sum[at(r)] = sum[at(r)] * correction + total;  // of this lane's keys
      for (std::size_t i = 0; i < acc.size(); ++i)
        if (static_cast<int>(i) / 2 % 2 == r) acc[i] = acc[i] * correction;
    }
    Vs registers;
    for (int i = 0; i < block_keys / kTile * 4; i += 2) registers.push_back(cores.pack(s[at(i)], s[at(i + 1)]));
    return registers;
  }

  /// Weights times the block of values.
  void add_values(V at_values, const Vs& weights) {
    V line = g.at(t, at_values, (g.lane_id & 15) * width_row + (g.lane_id >> 4) * kTile);
    for (int n = 0; n < block_keys; n += 16) {
      const Vs a(weights.begin() + n / 4, weights.begin() + n / 4 + 4);
      for (int c = 0; c < padded(width); c += 16) {
        Vs b = cores.load(g.at(t, line, n * width_row + c), true);
        for (int half = 0; half < 2; ++half) cores.multiply_add(a, {b[at(2 * half)], b[at(2 * half + 1)]}, acc, at((c / kTile + half) * 4));
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
        g.when(to < queries, [&] { g.write(t, out.p, to * out.row + g.i64(c) * out.column, g.read(t, shared, line * width_row + c)); });
      });
    };
    if (width % kRun != 0) return singly();
    g.when(
        g.aligned(out.p, 16) & (out.column == 1) & (out.row % kRun == 0),
        [&] {
          const int runs = width / kRun;
          g.loop(g.tid, block_queries * runs, threads, [&](V i) {
            V line = i / runs, c = i % runs * kRun, to = first + g.i64(line);
            g.when(to < queries, [&] { g.write_run(t, g.at(t, out.p, to * out.row + g.i64(c)), g.read_run(t, g.at(t, shared, line * width_row + c), kRun)); });
          });
        },
        singly);
  }

  static constexpr DType f = DType::Float32;
  const gpu::AttentionTiles code;
  const DType t = code.dtype;
  const int depth = code.depth, width = code.width;
  const int block_queries = code.block_queries(), threads = block_queries / 16 * kWarp;
  const int block_keys;  ///< fewer where masks are read, which takes registers, or where a multiprocessor's memory would hold one block of threads only
  const int depth_row = row_of(depth), width_row = row_of(width);
  const int stage_elements = block_keys * (depth_row + width_row);
  gpu::AttentionTiles::Args<InCode> in;
  GpuCode g;
  TensorCores cores;
  V queries, keys;
  V limit;
  V shared;
  V query, pair;                 ///< of this lane: the first of its two queries (the other is 8 on), and of every 8 columns the first of its two
  std::vector<Vs> queries_held;  ///< fragments, by 16 of the depth
  Vars most, sum, acc;           ///< by query; by 8 columns, query, column
};

}  // namespace

bool attention_by_tensor_cores(int sm, const gpu::AttentionTiles& code) {
  return TensorCores::serve(sm, code.dtype) && code.for_tensor_cores();
}

void emit_by_tensor_cores(GpuModule& module, const gpu::AttentionTiles& code) { AttentionTensorCode(module, code).run(); }

}  // namespace reprise::jit
