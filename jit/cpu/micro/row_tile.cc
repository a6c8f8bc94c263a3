// Micro-kernels of convolutions whose results are rows: the tile that finds its rows by a table, and the copy that
// turns what it gives.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::RowTiles& code) {
  const int nv = code.vectors, mr = code.rows;
  const DType t = code.dtype;
  MicroCode g(cx, code, t);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::RowTile, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::RowTile, name))
  const V rows = REPRISE_POINTER(rows), rows_step = REPRISE_INTEGER(rows_step), segments = REPRISE_INTEGER(segments),
          begin = REPRISE_INTEGER(begin), length = REPRISE_INTEGER(length), end = REPRISE_INTEGER(end),
          bp = REPRISE_POINTER(b), b_row = REPRISE_INTEGER(b_row), from = REPRISE_POINTER(from),
          from_row = REPRISE_INTEGER(from_row), to = REPRISE_POINTER(to), to_row = REPRISE_INTEGER(to_row),
          m = REPRISE_INTEGER(m), n = REPRISE_INTEGER(n), bias = REPRISE_POINTER(bias), relu = REPRISE_INTEGER(relu),
          ahead = REPRISE_POINTER(ahead), ahead_step = REPRISE_INTEGER(ahead_step);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  // Rows past the end are the last one again: computed again, stored again with the same value.
  Vs row, mask;
  for (int i = 0; i < mr; ++i) row.push_back(g.min(i, m - 1));
  for (int v = 0; v < nv; ++v) mask.push_back(g.mask_below(n - v * g.lanes));
  for (int i = 0; i < mr; ++i)
    for (int v = 0; v < nv; ++v) g.prefetch(g.at(to, t, row[i] * to_row + v * g.lanes), true);

  // The sums, by row; behind them where b is, and what is fetched.
  Vs s(static_cast<std::size_t>(mr * nv), g.zero());
  s.push_back(bp);
  s.push_back(ahead);
  const V last = segments - 1;
  s = g.carry(0, segments, 1, s, [&](V segment, Vs s) {
    const V table = g.at(rows, DType::Int64, segment * rows_step);
    Vs a;
    for (int i = 0; i < mr; ++i)
      a.push_back(g.wrap(g.b.CreateAlignedLoad(g.b.getPtrTy(), g.at(table, DType::Int64, i).v, llvm::Align(8))));
    const V first = g.select(segment == V(0), begin, 0), behind = g.select(segment == last, end, length);
    return g.carry(first, behind, 1, s, [&](V offset, Vs s) {
      V &b = s[s.size() - 2], &soon = s[s.size() - 1];
      g.prefetch(soon, false, 2);
      Vs w;
      for (int v = 0; v < nv; ++v) w.push_back(g.load(t, g.at(b, t, v * g.lanes)));
      for (int i = 0; i < mr; ++i) {
        const V x = g.load_splat(g.at(a[static_cast<std::size_t>(i)], t, offset));
        for (int v = 0; v < nv; ++v) {
          V& sum = s[static_cast<std::size_t>(i * nv + v)];
          sum = g.multiply_add(x, w[static_cast<std::size_t>(v)], sum);
        }
      }
      b = g.at(b, t, b_row), soon = g.at(soon, DType::UInt8, ahead_step);
      return s;
    });
  });
  s.resize(static_cast<std::size_t>(mr * nv));
  auto each_sum = [&](const V& times, const std::function<V(int, int, V)>& f) {  // 0 or 1 times
    s = g.carry(0, times, 1, s, [&](V, Vs s) {
      for (int i = 0; i < mr; ++i)
        for (int v = 0; v < nv; ++v) {
          V& sum = s[static_cast<std::size_t>(i * nv + v)];
          sum = f(i, v, sum);
        }
      return s;
    });
  };
  each_sum(g.is_there(from), [&](int i, int v, V sum) {
    return g.load(t, g.at(from, t, row[static_cast<std::size_t>(i)] * from_row + v * g.lanes),
                  mask[static_cast<std::size_t>(v)]) +
           sum;
  });
  each_sum(g.is_there(bias), [&](int, int v, V sum) {
    return sum + g.load(t, g.at(bias, t, v * g.lanes), mask[static_cast<std::size_t>(v)]);
  });
  each_sum(relu, [&](int, int, V sum) { return g.select(sum < g.zero(), g.zero(), sum); });  // NaN stays
  auto store_all = [&](const Vs& mask) {
    for (int i = 0; i < mr; ++i)
      for (int v = 0; v < nv; ++v)
        g.store(t, s[static_cast<std::size_t>(i * nv + v)],
                g.at(to, t, row[static_cast<std::size_t>(i)] * to_row + v * g.lanes),
                mask[static_cast<std::size_t>(v)]);
  };
  // Some processors take many cycles for each store under a mask.
  g.when(
      n >= nv * g.lanes, [&] { store_all(Vs(static_cast<std::size_t>(nv))); }, [&] { store_all(mask); });
  g.finish();
}

void emit(EmitContext& cx, const micro::Turn& code) {
  const DType t = code.dtype;
  MicroCode g(cx, code, t);
  const V from = g.arg(0), from_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), rows = g.arg(4), columns = g.arg(5);
  g.carry(0, rows, g.lanes, {}, [&](V i, Vs) -> Vs {
    const V left = rows - i;
    g.carry(0, columns, g.lanes, {}, [&](V j, Vs) -> Vs {
      Vs r;
      for (int l = 0; l < g.lanes; ++l) r.push_back(g.load(t, g.at(from, t, (i + l) * from_row + j)));
      r = transpose(g, r);
      for (int l = 0; l < g.lanes; ++l)
        g.store(t, r[static_cast<std::size_t>(l)], g.at(to, t, (j + l) * to_row + i),
                g.mask_below(g.select(j + l < columns, left, 0)));
      return {};
    });
    return {};
  });
  g.finish();
}

}  // namespace reprise::jit
