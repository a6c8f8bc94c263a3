// Micro-kernels of convolutions of one channel to a group: rows with their margin, and the sums over them.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::DealRows& code) {
  const DType src = code.src, acc = kernels::acc_dtype(src);
  MicroCode g(cx, code, acc);
  const V from = g.pointer_at(offsetof(micro::RowDeal, from)), from_row = g.integer_at(offsetof(micro::RowDeal, from_row)), to_row = g.integer_at(offsetof(micro::RowDeal, to_row)),
          rows = g.integer_at(offsetof(micro::RowDeal, rows)), n = g.integer_at(offsetof(micro::RowDeal, n));
  Vs at{from};
  for (int f = 0; f < code.step; ++f) at.push_back(g.pointer_at(offsetof(micro::RowDeal, to) + sizeof(void*) * static_cast<std::size_t>(f)));
  g.carry(0, rows, 1, at, [&](V, Vs at) {
    auto step = [&](const V& i, const V& left, bool whole) {  // `left`: elements of the row from i on
      Vs x;
      for (int v = 0; v < code.step; ++v) x.push_back(g.load(src, g.at(at[0], src, i + v * g.lanes), whole ? V{} : g.mask_below(left - v * g.lanes)));
      if (code.step == 1) return g.store(acc, x[0], g.at(at[1], acc, i), whole ? V{} : g.mask_below(left));
      const V to = i >> V(1);
      for (int f = 0; f < 2; ++f) {
        std::vector<int> every;
        for (int l = 0; l < g.lanes; ++l) every.push_back(2 * l + f);
        g.store(acc, g.shuffle(x[0], x[1], every), g.at(at[static_cast<std::size_t>(f) + 1], acc, to), whole ? V{} : g.mask_below((left + 1 - f) >> V(1)));
      }
    };
    const int wide = code.step * g.lanes;
    const V whole = g.whole(n, wide);
    g.carry(0, whole, wide, {}, [&](V i, Vs) -> Vs { return step(i, n, true), Vs{}; });
    g.carry(whole, n, wide, {}, [&](V i, Vs) -> Vs { return step(i, n - i, false), Vs{}; });
    Vs next{g.at(at[0], src, from_row)};
    for (int f = 0; f < code.step; ++f) next.push_back(g.at(at[static_cast<std::size_t>(f) + 1], acc, to_row));
    return next;
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::SumChannel& code) {
  const DType acc = kernels::acc_dtype(code.y);
  MicroCode g(cx, code, acc);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::ChannelRows, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::ChannelRows, name))
  const V image = REPRISE_POINTER(image), image_row = REPRISE_INTEGER(image_row), phase = REPRISE_INTEGER(phase), weights = REPRISE_POINTER(weights), bias = REPRISE_POINTER(bias),
          sum = REPRISE_POINTER(sum), y = REPRISE_POINTER(y), y_row = REPRISE_INTEGER(y_row), m = REPRISE_INTEGER(m), n = REPRISE_INTEGER(n), relu = REPRISE_INTEGER(relu);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  auto is_there = [&](const V& p) { return g.wrap(g.b.CreateZExt(g.b.CreateIsNotNull(p.v), g.b.getInt64Ty())); };
  const V has_sum = is_there(sum), has_bias = is_there(bias);
  const int step = code.step;
  g.carry(0, m, code.rows, {image, y, sum}, [&](V r, Vs of) -> Vs {
    // Results [r, r + rows) x [l, l + vectors): a row of the image is loaded once for each place of the kernel's row, and serves all rows of results that see it.
    auto tile = [&](const V& l, int vectors) {
      const auto nv = static_cast<std::size_t>(vectors);
      Vs s(static_cast<std::size_t>(code.rows) * nv, g.zero());
      V row = g.at(of[0], acc, l);
      const int reach = (code.rows - 1) * code.step_down + (code.tall - 1) * code.spread_down + 1;
      for (int i = 0; i < reach; ++i, row = g.at(row, acc, image_row)) {
        std::vector<std::pair<int, int>> seen;  // by rows of results: which of the kernel's
        for (int o = 0; o < code.rows; ++o) {
          const int k = i - o * code.step_down;
          if (k >= 0 && k % code.spread_down == 0 && k / code.spread_down < code.tall) seen.emplace_back(o, k / code.spread_down);
        }
        for (int j = 0; j < code.wide && !seen.empty(); ++j) {
          const int e = j * code.spread;
          const V from = e % step ? g.at(row, acc, phase * (e % step) + e / step) : g.at(row, acc, e / step);
          Vs x;
          for (int v = 0; v < vectors; ++v) x.push_back(g.load(acc, g.at(from, acc, v * g.lanes)));
          for (const auto& [o, k] : seen) {
            const V weight = g.load_splat(g.at(weights, acc, k * code.wide + j));
            for (std::size_t v = 0; v < nv; ++v) {
              V& t = s[static_cast<std::size_t>(o) * nv + v];
              t = g.multiply_add(weight, x[v], t);
            }
          }
        }
      }
      auto mask = [&](int o, std::size_t v) { return g.mask_below(g.select(r + o < m, n - l - static_cast<std::int64_t>(v) * g.lanes, 0)); };
      auto each = [&](const V& times, const std::function<V(int, std::size_t, V)>& f) {  // 0 or 1 times
        s = g.carry(0, times, 1, s, [&](V, Vs s) {
          for (int o = 0; o < code.rows; ++o)
            for (std::size_t v = 0; v < nv; ++v) s[static_cast<std::size_t>(o) * nv + v] = f(o, v, s[static_cast<std::size_t>(o) * nv + v]);
          return s;
        });
      };
      auto at = [&](const V& base, DType t, int o, std::size_t v) { return g.at(base, t, y_row * o + l + static_cast<std::int64_t>(v) * g.lanes); };
      each(has_sum, [&](int o, std::size_t v, V t) { return g.load(acc, at(of[2], acc, o, v), mask(o, v)) + t; });
      each(has_bias, [&](int, std::size_t, V t) { return t + g.load_splat(bias); });
      each(relu, [&](int, std::size_t, V t) { return g.select(t < g.zero(), g.zero(), t); });  // NaN stays
      for (int o = 0; o < code.rows; ++o)
        for (std::size_t v = 0; v < nv; ++v) g.store(code.y, s[static_cast<std::size_t>(o) * nv + v], at(of[1], code.y, o, v), mask(o, v));
    };
    const int wide = code.vectors * g.lanes;
    V whole = 0;
    if (code.vectors > 1) {
      whole = g.whole(n + (g.lanes - 1), wide);
      g.carry(0, whole, wide, {}, [&](V l, Vs) -> Vs { return tile(l, code.vectors), Vs{}; });
    }
    g.carry(whole, n, g.lanes, {}, [&](V l, Vs) -> Vs { return tile(l, 1), Vs{}; });
    return {g.at(of[0], acc, image_row * (code.rows * code.step_down)), g.at(of[1], code.y, y_row * code.rows), g.at(of[2], acc, y_row * code.rows)};
  });
  g.finish();
}

}  // namespace reprise::jit
