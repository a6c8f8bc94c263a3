// Matrix-vector micro-kernels: the weights are read once, in order, and converted in registers.
#include <algorithm>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

V sum_each(MicroCode& g, Vs v, const std::function<V(V, V)>& op) {
  const auto joined = [&](const V& x, const V& y) { return op ? op(x, y) : x + y; };
  int n = g.lanes, count = static_cast<int>(v.size());
  std::vector<std::vector<int>> held(v.size());  // held[i]: which vectors' partial sums vector i holds, block by block
  for (int i = 0; i < count; ++i) held[i] = {i};
  int half = n / 2;
  while (v.size() > 1 && half >= 1) {
    Vs next;
    std::vector<std::vector<int>> next_held;
    for (std::size_t i = 0; i + 1 < v.size(); i += 2) {
      std::vector<int> low, high, order;
      for (std::size_t block = 0; block < held[i].size(); ++block) {
        for (int from : {0, n})
          for (int l = 0; l < half; ++l) {
            int first = from + static_cast<int>(block) * 2 * half + l;
            low.push_back(first), high.push_back(first + half);
          }
        order.push_back(held[i][block]), order.push_back(held[i + 1][block]);
      }
      next.push_back(joined(g.shuffle(v[i], v[i + 1], low), g.shuffle(v[i], v[i + 1], high)));
      next_held.push_back(order);
    }
    v = next, held = next_held, half /= 2;
  }
  for (; half >= 1; half /= 2) {
    std::vector<int> swap;
    for (int l = 0; l < n; ++l) swap.push_back(l ^ half);
    v[0] = joined(v[0], g.shuffle(v[0], v[0], swap));
  }
  std::vector<int> gather(static_cast<std::size_t>(count), 0);
  for (std::size_t block = 0; block < held[0].size(); ++block)
    gather[held[0][block]] = static_cast<int>(block) * (n / count);
  return g.shuffle(v[0], v[0], gather);
}

namespace {

// From this many bytes on, one row of w after the other is quicker than a group at once: a group's rows then lie on too
// many pages, and powers of two between them meet in few sets of the L1 cache.
constexpr std::int64_t kByRows = 4096;
/// Without AVX-512 (measured on AMD's Zen 3) four parts of w side by side are, from this many on.
constexpr std::int64_t kByParts = 512;

/// One row of x: each row of w is read from its beginning to its end, as it stands in memory, into four sums; groups of
/// rows are then summed over their lanes at once. A group's sums wait on the stack, so that one loop serves every row.
void dot_by_rows(MicroCode& g, DType w_type, DType y_type) {
  const V x = g.arg(0), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), n = g.arg(6), k = g.arg(7);
  constexpr int kSums = 4;
  const int group = std::min(8, g.lanes);
  const std::int64_t size = item_size(w_type), step = kSums * g.lanes, step_bytes = step * size;
  StackedVectors waiting(g, group);
  // What is prefetched: the same place some rows later, about 4 KiB away; within the row where rows are long.
  constexpr std::int64_t kAhead = 4096, kLong = 16384;
  const V row_bytes = k * size, rows_ahead = g.max(g.i64(kAhead) / g.max(row_bytes, 1), 1);
  const V ahead = g.select(row_bytes <= kLong, w_row * rows_ahead, kAhead / size);
  const V whole = g.whole(k, step);
  g.carry(0, n, group, {w}, [&](V j, Vs at) -> Vs {
    const V left = n - j, count = g.min(left, group);
    at = g.carry(0, count, 1, at, [&](V i, Vs p) -> Vs {
      Vs sums(kSums, g.zero());
      sums = g.carry(0, whole, step, sums, [&](V c, Vs s) -> Vs {
        for (std::int64_t line = 0; line < step_bytes; line += 64)
          g.prefetch(g.at(p[0], w_type, c + ahead + line / size));
        for (int v = 0; v < kSums; ++v) {
          const V e = c + v * g.lanes;
          s[v] = g.multiply_add(g.load(g.acc, g.at(x, g.acc, e)), g.load(w_type, g.at(p[0], w_type, e)), s[v]);
        }
        return s;
      });
      V sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      sum = g.carry(whole, k, g.lanes, {sum}, [&](V c, Vs s) -> Vs {
        const V mask = g.mask_below(k - c);
        return {
            g.multiply_add(g.load(g.acc, g.at(x, g.acc, c), mask), g.load(w_type, g.at(p[0], w_type, c), mask), s[0])};
      })[0];
      waiting.put(i, sum);
      return {g.at(p[0], w_type, w_row)};
    });
    Vs sums;
    for (int i = 0; i < group; ++i) sums.push_back(waiting.get(g.i64(i)));
    const V out = sum_each(g, sums), to = g.at(y, y_type, j);
    g.when(
        left >= group, [&] { g.store(y_type, out, to); },
        [&] { g.store(y_type, out, to, g.mask_below(count, group)); });
    return at;
  });
}

/// One row of x: four parts of w at a time, each read from its beginning to its end. Four streams of memory are what
/// the hardware's own prefetching follows best (of AMD's Zen 3: 1.4 times the bytes a second of one, with prefetches of
/// ours or without), and sums enough to hide an fma's latency. A row's sum does not depend on its part.
void dot_by_parts(MicroCode& g, DType w_type, DType y_type) {
  const V x = g.arg(0), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), n = g.arg(6), k = g.arg(7);
  constexpr int kParts = 4, kSums = 2;
  const int group = std::min(8, g.lanes), step = kSums * g.lanes;
  const V whole = g.whole(k, step), part = n >> 2, between = part * w_row;
  auto sums_of = [&](const Vs& rows) {
    Vs sums(rows.size() * kSums, g.zero());
    sums = g.carry(0, whole, step, sums, [&](V c, Vs s) -> Vs {
      for (int v = 0; v < kSums; ++v) {
        const V e = c + v * g.lanes, xe = g.load(g.acc, g.at(x, g.acc, e));
        for (std::size_t i = 0; i < rows.size(); ++i) {
          V& sum = s[i * kSums + static_cast<std::size_t>(v)];
          sum = g.multiply_add(xe, g.load(w_type, g.at(rows[i], w_type, e)), sum);
        }
      }
      return s;
    });
    Vs of_rows;
    for (std::size_t i = 0; i < rows.size(); ++i) of_rows.push_back(sums[i * kSums] + sums[i * kSums + 1]);
    return g.carry(whole, k, g.lanes, of_rows, [&](V c, Vs s) -> Vs {
      const V mask = g.mask_below(k - c), xe = g.load(g.acc, g.at(x, g.acc, c), mask);
      for (std::size_t i = 0; i < rows.size(); ++i)
        s[i] = g.multiply_add(xe, g.load(w_type, g.at(rows[i], w_type, c), mask), s[i]);
      return s;
    });
  };
  StackedVectors waiting(g, kParts * group);
  g.carry(0, part, group, {w}, [&](V j, Vs at) -> Vs {
    const V left = part - j, count = g.min(left, group);
    at = g.carry(0, count, 1, at, [&](V i, Vs p) -> Vs {
      Vs rows{p[0]};
      while (rows.size() < kParts) rows.push_back(g.at(rows.back(), w_type, between));
      const Vs sums = sums_of(rows);
      for (int r = 0; r < kParts; ++r) waiting.put(i + r * group, sums[static_cast<std::size_t>(r)]);
      return {g.at(p[0], w_type, w_row)};
    });
    for (int r = 0; r < kParts; ++r) {
      Vs sums;
      for (int i = 0; i < group; ++i) sums.push_back(waiting.get(g.i64(r * group + i)));
      const V out = sum_each(g, sums), to = g.at(y, y_type, j + part * r);
      g.when(
          left >= group, [&] { g.store(y_type, out, to); },
          [&] { g.store(y_type, out, to, g.mask_below(count, group)); });
    }
    return at;
  });
  g.carry(part * kParts, n, 1, {}, [&](V j, Vs) -> Vs {
    Vs sums(static_cast<std::size_t>(group), g.zero());
    sums[0] = sums_of({g.at(w, w_type, j * w_row)})[0];
    g.store(y_type, sum_each(g, sums), g.at(y, y_type, j), g.mask_below(g.i64(1), group));
    return {};
  });
}

/// Several rows of x, or short rows of w: a group of w's rows at once, a sum for each row of x and of w.
void dot_by_groups(MicroCode& g, DType w_type, DType y_type, int rows) {
  const V x = g.arg(0), x_row = g.arg(1), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), y_row = g.arg(5), n = g.arg(6),
          k = g.arg(7);
  // Rows of w at a time: enough chains to hide the latency of an fma, few enough pointers for the registers.
  int group = g.bits == 512 ? (rows == 4 ? 4 : 8) : (rows == 4 ? 2 : rows == 2 ? 4 : 8);
  if (group > g.lanes) group = g.lanes;
  const std::int64_t step = 2 * g.lanes, size = item_size(w_type);
  const V pairs = g.whole(k, step);
  // What is prefetched, as long as a group fits the L1 cache beside it: the next group. Where rows follow one another
  // it is taken in the order of memory, which the hardware's own prefetching then joins; else each row at the place
  // where it is read. Of longer rows a little further on.
  const V next = k <= 4096 / size, dense = next & (k == w_row);
  const V ahead = g.select(next, w_row * group, 256 / size);
  const V between = g.select(dense, step, w_row);
  const V stride = g.select(dense, g.i64(step * group), step);
  Vs xp;
  for (int r = 0; r < rows; ++r) xp.push_back(g.at(x, g.acc, x_row * r));
  auto pass = [&](V from, V to, int count) {
    g.carry(from, to, count, {g.at(w, w_type, from * w_row)}, [&](V j, Vs p) -> Vs {
      // freeze keeps loop strength reduction from tying the rows' addresses together over the outer loop, which costs a
      // third of the compile time and dozens of spills a group.
      auto freeze = [&](V v) { return g.wrap(g.b.CreateFreeze(v.v)); };
      Vs wp{freeze(p[0])}, soon{freeze(g.at(wp[0], w_type, ahead))};
      for (int i = 1; i < count; ++i) {
        wp.push_back(freeze(g.at(wp.back(), w_type, w_row)));
        soon.push_back(freeze(g.at(soon.back(), w_type, between)));
      }
      auto add = [&](V at, Vs s, V mask) {
        Vs xs;
        for (int r = 0; r < rows; ++r) xs.push_back(g.load(g.acc, g.at(xp[r], g.acc, at), mask));
        for (int i = 0; i < count; ++i) {
          const V wi = g.load(w_type, g.at(wp[i], w_type, at), mask);
          for (int r = 0; r < rows; ++r) {
            V& t = s[static_cast<std::size_t>(r * count + i)];
            t = g.multiply_add(xs[r], wi, t);
          }
        }
        return s;
      };
      Vs sums(static_cast<std::size_t>(rows * count), g.zero());
      V done = 0;
      if (count > 1) {
        Vs carried = sums;
        carried.push_back(g.i64(0));  // where the prefetch is
        carried = g.carry(done, pairs, step, carried, [&](V i, Vs s) -> Vs {
          const V there = s.back();
          s.pop_back();
          for (const V& row : soon)
            for (std::int64_t line = 0; line < step * size; line += 64)
              g.prefetch(g.at(row, w_type, there + line / size));
          s = add(i + g.lanes, add(i, s, {}), {});
          s.push_back(there + stride);
          return s;
        });
        sums.assign(carried.begin(), carried.end() - 1);
        done = pairs;
      }
      sums = g.carry(done, k, g.lanes, sums, [&](V i, Vs s) { return add(i, s, g.mask_below(k - i)); });
      for (int r = 0; r < rows; ++r) {
        const V out = sum_each(g, Vs(sums.begin() + r * count, sums.begin() + (r + 1) * count));
        g.store(y_type, out, g.at(y, y_type, y_row * r + j));
      }
      return {g.at(wp.back(), w_type, w_row)};
    });
  };
  const V n_whole = g.whole(n, group);
  pass(0, n_whole, group);
  pass(n_whole, n, 1);
}

}  // namespace

void emit(EmitContext& cx, const micro::GemvDot& code) {
  const int rows = code.rows;
  const DType w_type = code.w, y_type = code.y;
  MicroCode g(cx, code, kernels::acc_dtype(y_type));
  if (rows > 1) dot_by_groups(g, w_type, y_type, rows);
  else if (code.bits < 512)
    g.when(
        g.arg(7) < kByParts / item_size(w_type), [&] { dot_by_groups(g, w_type, y_type, 1); },
        [&] { dot_by_parts(g, w_type, y_type); });
  else
    g.when(
        g.arg(7) < kByRows / item_size(w_type), [&] { dot_by_groups(g, w_type, y_type, 1); },
        [&] { dot_by_rows(g, w_type, y_type); });
  g.finish();
}

void emit(EmitContext& cx, const micro::GemvSum& code) {
  const int rows = code.rows;
  const DType w_type = code.w, acc = kernels::acc_dtype(w_type);
  MicroCode g(cx, code, acc);
  const V x = g.arg(0), x_row = g.arg(1), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), y_row = g.arg(5), n = g.arg(6),
          k = g.arg(7);
  const V n_whole = g.whole(n, g.lanes), tail = g.mask_below(n - n_whole);
  Vs yp;
  for (int r = 0; r < rows; ++r) yp.push_back(g.at(y, acc, y_row * r));
  // `depth` rows of w for one pass over y, which stays in the L1 cache.
  auto pass = [&](V from, V to, int depth) {
    g.carry(from, to, depth, {}, [&](V j, Vs) -> Vs {
      Vs wp, factor;
      for (int i = 0; i < depth; ++i) {
        const V ji = j + i;
        wp.push_back(g.at(w, w_type, ji * w_row));
        for (int r = 0; r < rows; ++r) factor.push_back(g.load_splat(g.at(x, acc, ji + x_row * r)));
      }
      auto step = [&](V at, V mask) {
        Vs s;
        for (int r = 0; r < rows; ++r) s.push_back(g.load(acc, g.at(yp[r], acc, at), mask));
        for (int i = 0; i < depth; ++i) {
          const V wi = g.load(w_type, g.at(wp[i], w_type, at), mask);
          for (int r = 0; r < rows; ++r)
            s[r] = g.multiply_add(factor[static_cast<std::size_t>(i * rows + r)], wi, s[r]);
        }
        for (int r = 0; r < rows; ++r) g.store(acc, s[r], g.at(yp[r], acc, at), mask);
      };
      g.carry(0, n_whole, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, {}), Vs{}; });
      g.carry(n_whole, n, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, tail), Vs{}; });
      return {};
    });
  };
  const int depth = g.bits == 512 ? (rows == 4 ? 4 : 8) : (rows == 4 ? 2 : 4);
  const V k_whole = g.whole(k, depth);
  pass(0, k_whole, depth);
  pass(k_whole, k, 1);
  g.finish();
}

}  // namespace reprise::jit
