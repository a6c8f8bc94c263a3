// Attention over many queries. A block of 128 threads has 16, 32 or 64 queries of one head at a time; keys come in
// blocks of 32 (or 16) with a running softmax, so that scores never leave the block (Milakov and Gimelshein: Online
// normalizer calculation for softmax, 2018; Dao et al.: FlashAttention, NeurIPS 2022). Thread (y, x) = (tid / 16, tid %
// 16) owns the queries y * R .. y * R + R - 1: their scores of keys x, x + 16, and of the result the columns 4x .. 4x +
// 3 of every 64. The running maximum and sum of a query are in the registers of its 16 threads. Shared memory holds the
// queries, the block of keys or of values (one after the other) and the weights, all in Float32. What tensor cores
// serve is attention_tensor.cc's.

#include "jit/gpu/kernels/attention.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kAttentionThreads, kAcross = 16;

/// Copies `lines` lines of `n` elements from `first` on into shared memory, `row` floats apart; lines from `end` on and
/// elements up to a multiple of 4 are zeros.
void copy_lines(GpuCode& g, const AttentionTensor& t, V first, V end, int lines, int n, V to, int row) {
  const int size = static_cast<int>(item_size(t.dtype)), run = 16 / size, padded = (n + 3) / 4 * 4;
  V last = g.max(end - 1, g.i64(0));
  auto line_at = [&](V line) { return g.min(first + g.i64(line), last) * t.row; };
  V there = end > 0;
  auto copy_single = [&] {
    g.loop(g.tid, lines * padded, kThreads, [&](V i) {
      V line = i / padded, d = i % padded;
      V inside = (d < n) & (first + g.i64(line) < end) & there;
      g.when(
          inside,
          [&] {
            g.write(DType::Float32, to, line * row + d, g.read(t.dtype, t.p, line_at(line) + g.i64(d) * t.column));
          },
          [&] { g.write(DType::Float32, to, line * row + d, g.constant(DType::Float32, 0)); });
    });
  };
  if (n % run != 0) return copy_single();
  V fast = g.aligned(t.p, 16) & (t.column == 1) & (t.row % run == 0) & there;
  g.when(
      fast,
      [&] {
        const int per_line = n / run, total = lines * per_line, ahead = 4;
        for (int from = 0; from < total; from += kThreads * ahead) {
          std::vector<Vs> held;
          Vs line, d, inside;
          for (int j = 0; j < ahead && from + j * kThreads < total; ++j) {
            V i = g.tid + (from + j * kThreads);
            inside.push_back(i < total);
            i = g.min(i, total - 1);
            line.push_back(i / per_line), d.push_back(i % per_line * run);
            held.push_back(g.read_run(t.dtype, g.at(t.dtype, t.p, line_at(line.back()) + g.i64(d.back())), run));
          }
          for (std::size_t j = 0; j < held.size(); ++j)
            g.when(inside[j], [&] {
              V real = first + g.i64(line[j]) < end;
              for (V& v : held[j]) v = g.select(real, v, 0);
              V at = g.at(DType::Float32, to, line[j] * row + d[j]);
              for (int part = 0; part < run; part += 4)
                g.write_run(DType::Float32, g.at(DType::Float32, at, part),
                            Vs(held[j].begin() + part, held[j].begin() + part + 4));
            });
        }
      },
      copy_single);
}

/// The kernel. Members stand in the order in which it computes them.
struct AttentionTilesCode : AttentionBlock {
  AttentionTilesCode(GpuModule& module, const gpu::AttentionTiles& made)
      : code(made), in(gpu::shaped<InCode>(code)), g(module, in, kThreads), queries(in.queries), keys(in.keys) {
    take(g, code, in);

    shared_q = g.shared(f, block_queries * depth_row), shared_weights = g.shared(f, block_queries * weight_row);
    shared_kv = g.shared(f, block_keys * std::max(depth_row, width_row));
    x = g.tid % kAcross, y = g.tid / kAcross * rows;
    for (int r = 0; r < rows; ++r) most.push_back(g.var(finish->minus_infinity())), sum.push_back(g.var(f, 0));
    for (int i = 0; i < rows * columns; ++i) acc.push_back(g.var(f, 0));
  }

  void run() {
    const V begin = first;
    g.loop(g.i64(0), code.block_queries(), block_queries, [&](V part) {
      first = begin + part;
      g.when(first < queries, [&] { some(); });
    });
    g.finish();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void some() {
    for (int r = 0; r < rows; ++r) most[at(r)] = finish->minus_infinity(), sum[at(r)] = g.constant(f, 0);
    for (Var& a : acc) a = g.constant(f, 0);
    copy_lines(g, q, first, queries, block_queries, depth, shared_q, depth_row);
    V limit = code.causal ? g.min(keys, first + block_queries) : keys;
    g.loop(g.i64(0), limit, block_keys, [&](V key) {
      g.barrier();  // the values before have been read
      copy_lines(g, k, key, keys, block_keys, depth, shared_kv, depth_row);
      g.barrier();
      Vars scores = score();
      g.barrier();  // the keys have been read
      copy_lines(g, v, key, keys, block_keys, width, shared_kv, width_row);
      weigh(scores, key);
      g.barrier();
      add_values();
    });
    write_result();
  }

  /// Of this thread's queries with its keys of the block in shared memory.
  Vars score() {
    Vars score;
    for (int i = 0; i < rows * own_keys; ++i) score.push_back(g.var(f, 0));
    g.loop(g.i32(0), (depth + 3) / 4 * 4, 4, [&](V d) {
      std::vector<Vs> right;
      for (int j = 0; j < own_keys; ++j)
        right.push_back(g.read_run(f, g.at(f, shared_kv, (x + j * kAcross) * depth_row + d), 4));
      for (int r = 0; r < rows; ++r) {
        Vs left = g.read_run(f, g.at(f, shared_q, (y + r) * depth_row + d), 4);
        for (int j = 0; j < own_keys; ++j)
          for (std::size_t i = 0; i < 4; ++i) {
            Var& s = score[at(r * own_keys + j)];
            s = g.multiply_add(left[i], right[at(j)][i], s);
          }
      }
    });
    return score;
  }

  /// Scores become weights in shared memory; maximum, sum and result of each query run on.
  void weigh(const Vars& score, V key) {
    for (int r = 0; r < rows; ++r) {
      V query = first + g.i64(y + r);
      Vs s;
      V top = most[at(r)];
      for (int j = 0; j < own_keys; ++j) {
        s.push_back((*finish)(score[at(r * own_keys + j)], query, key + g.i64(x + j * kAcross)));
        top = g.max(top, s.back());
      }
      top = g.max_lanes(top, kAcross);
      V correction = attention_weight(g, most[at(r)], top), total = g.constant(f, 0);
      for (int j = 0; j < own_keys; ++j) {
        V w = attention_weight(g, s[at(j)], top);
        g.write(f, shared_weights, (y + r) * weight_row + x + j * kAcross, w);
        total = total + w;
      }
      most[at(r)] = top;
      sum[at(r)] = sum[at(r)] * correction + g.sum_lanes(total, kAcross);
      for (int c = 0; c < columns; ++c) acc[at(r * columns + c)] = acc[at(r * columns + c)] * correction;
    }
  }

  /// Weights times the block of values.
  void add_values() {
    g.loop(g.i32(0), block_keys, 4, [&](V j) {
      std::vector<Vs> w;
      for (int r = 0; r < rows; ++r) w.push_back(g.read_run(f, g.at(f, shared_weights, (y + r) * weight_row + j), 4));
      for (int i = 0; i < 4; ++i)
        for (int group = 0; group < groups; ++group) {
          V column = g.min(x * 4 + group * 64, width_row - 8);
          Vs value = g.read_run(f, g.at(f, shared_kv, (j + i) * width_row + column), 4);
          for (int r = 0; r < rows; ++r)
            for (int c = 0; c < 4; ++c) {
              Var& a = acc[at(r * columns + group * 4 + c)];
              a = g.multiply_add(w[at(r)][at(i)], value[at(c)], a);
            }
        }
    });
  }

  void write_result() {
    for (int r = 0; r < rows; ++r) {
      V query = first + g.i64(y + r), total = sum[at(r)];
      V factor = g.select(total == 0, 0, g.constant(f, 1) / total);
      g.when(query < queries, [&] {
        for (int group = 0; group < groups; ++group)
          for (int c = 0; c < 4; ++c) {
            V column = x * 4 + (group * 64 + c);
            g.when(column < width, [&] {
              g.write(t, out.p, query * out.row + g.i64(column) * out.column,
                      acc[at(r * columns + group * 4 + c)] * factor);
            });
          }
      });
    }
  }

  static constexpr DType f = DType::Float32;
  const gpu::AttentionTiles code;
  const DType t = code.dtype;
  const int depth = code.depth, width = code.width;
  const int block_queries = code.loop_queries(), rows = block_queries / 8;  ///< of a block, of a thread
  const int block_keys = block_queries * std::max(depth, width) > 64 * 64 || block_queries == 16 ? 16 : 32,
            own_keys = block_keys / kAcross;
  const int depth_row = (depth + 3) / 4 * 4 + 4, width_row = (width + 3) / 4 * 4 + 4, weight_row = block_keys + 4;
  const int groups = (width + 63) / 64, columns = 4 * groups;  ///< of a thread
  gpu::AttentionTiles::Args<InCode> in;
  GpuCode g;
  V queries, keys;
  V shared_q, shared_weights, shared_kv;
  V x, y;
  Vars most, sum, acc;  // by query; by query and column
};

}  // namespace

void emit(GpuModule& module, const gpu::AttentionTiles& code) {
  if (attention_by_tensor_cores(module.sm, code)) emit_by_tensor_cores(module, code);
  else AttentionTilesCode(module, code).run();
}

}  // namespace reprise::jit
