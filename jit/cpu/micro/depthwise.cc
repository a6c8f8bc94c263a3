// Micro-kernels of convolutions of few channels to a group: rows with their margin, and the sums over them.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::DealRows& code) {
  const DType src = code.src, acc = kernels::acc_dtype(src);
  MicroCode g(cx, code, acc);
  const V from = g.pointer_at(offsetof(micro::RowDeal, from)),
          from_row = g.integer_at(offsetof(micro::RowDeal, from_row)),
          to_row = g.integer_at(offsetof(micro::RowDeal, to_row)), rows = g.integer_at(offsetof(micro::RowDeal, rows)),
          n = g.integer_at(offsetof(micro::RowDeal, n));
  Vs at{from};
  for (int f = 0; f < code.step; ++f)
    at.push_back(g.pointer_at(offsetof(micro::RowDeal, to) + sizeof(void*) * static_cast<std::size_t>(f)));
  g.carry(0, rows, 1, at, [&](V, Vs at) {
    auto step = [&](const V& i, const V& left, bool whole) {  // `left`: elements of the row from i on
      Vs x;
      for (int v = 0; v < code.step; ++v)
        x.push_back(g.load(src, g.at(at[0], src, i + v * g.lanes), whole ? V{} : g.mask_below(left - v * g.lanes)));
      if (code.step == 1) return g.store(acc, x[0], g.at(at[1], acc, i), whole ? V{} : g.mask_below(left));
      const V to = i >> V(1);
      for (int f = 0; f < 2; ++f) {
        std::vector<int> every;
        for (int l = 0; l < g.lanes; ++l) every.push_back(2 * l + f);
        g.store(acc, g.shuffle(x[0], x[1], every), g.at(at[static_cast<std::size_t>(f) + 1], acc, to),
                whole ? V{} : g.mask_below((left + 1 - f) >> V(1)));
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
  const V image = REPRISE_POINTER(image), channels = REPRISE_INTEGER(channels), plane = REPRISE_INTEGER(plane),
          image_row = REPRISE_INTEGER(image_row), phase = REPRISE_INTEGER(phase), weights = REPRISE_POINTER(weights),
          bias = REPRISE_POINTER(bias), sum = REPRISE_POINTER(sum), y = REPRISE_POINTER(y),
          y_row = REPRISE_INTEGER(y_row), m = REPRISE_INTEGER(m), n = REPRISE_INTEGER(n), relu = REPRISE_INTEGER(relu);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  const V has_sum = g.is_there(sum), has_bias = g.is_there(bias);
  const int step = code.step;
  g.carry(0, m, code.rows, {image, y, sum}, [&](V r, Vs of) -> Vs {
    // Results [r, r + rows) x [l, l + vectors): a row of the image is loaded once for each place of the kernel's row,
    // and serves all rows of results that see it.
    auto tile = [&](const V& l, int vectors) {
      const auto nv = static_cast<std::size_t>(vectors);
      const std::size_t count = static_cast<std::size_t>(code.rows) * nv;
      Vs s(count, g.zero());  // behind the sums: the channel's plane, and its weights
      s.push_back(g.at(of[0], acc, l));
      s.push_back(weights);
      s = g.carry(0, channels, 1, s, [&](V, Vs s) {
        const V first = s[count], kernel = s[count + 1];
        V row = first;
        const int reach = (code.rows - 1) * code.step_down + (code.tall - 1) * code.spread_down + 1;
        for (int i = 0; i < reach; ++i, row = g.at(row, acc, image_row)) {
          std::vector<std::pair<int, int>> seen;  // by rows of results: which of the kernel's
          for (int o = 0; o < code.rows; ++o) {
            const int k = i - o * code.step_down;
            if (k >= 0 && k % code.spread_down == 0 && k / code.spread_down < code.tall)
              seen.emplace_back(o, k / code.spread_down);
          }
          for (int j = 0; j < code.wide && !seen.empty(); ++j) {
            const int e = j * code.spread;
            const V from = e % step ? g.at(row, acc, phase * (e % step) + e / step) : g.at(row, acc, e / step);
            Vs x;
            for (int v = 0; v < vectors; ++v) x.push_back(g.load(acc, g.at(from, acc, v * g.lanes)));
            for (const auto& [o, k] : seen) {
              const V weight = g.load_splat(g.at(kernel, acc, k * code.wide + j));
              for (std::size_t v = 0; v < nv; ++v) {
                V& t = s[static_cast<std::size_t>(o) * nv + v];
                t = g.multiply_add(weight, x[v], t);
              }
            }
          }
        }
        s[count] = g.at(first, acc, plane), s[count + 1] = g.at(kernel, acc, code.tall * code.wide);
        return s;
      });
      s.resize(count);
      auto mask = [&](int o, std::size_t v) {
        return g.mask_below(g.select(r + o < m, n - l - static_cast<std::int64_t>(v) * g.lanes, 0));
      };
      auto each = [&](const V& times, const std::function<V(int, std::size_t, V)>& f) {  // 0 or 1 times
        s = g.carry(0, times, 1, s, [&](V, Vs s) {
          for (int o = 0; o < code.rows; ++o)
            for (std::size_t v = 0; v < nv; ++v)
              s[static_cast<std::size_t>(o) * nv + v] = f(o, v, s[static_cast<std::size_t>(o) * nv + v]);
          return s;
        });
      };
      auto at = [&](const V& base, DType t, int o, std::size_t v) {
        return g.at(base, t, y_row * o + l + static_cast<std::int64_t>(v) * g.lanes);
      };
      each(has_sum, [&](int o, std::size_t v, V t) { return g.load(acc, at(of[2], acc, o, v), mask(o, v)) + t; });
      each(has_bias, [&](int, std::size_t, V t) { return t + g.load_splat(bias); });
      each(relu, [&](int, std::size_t, V t) { return g.select(t < g.zero(), g.zero(), t); });  // NaN stays
      for (int o = 0; o < code.rows; ++o)
        for (std::size_t v = 0; v < nv; ++v)
          g.store(code.y, s[static_cast<std::size_t>(o) * nv + v], at(of[1], code.y, o, v), mask(o, v));
    };
    const int wide = code.vectors * g.lanes;
    V whole = 0;
    if (code.vectors > 1) {
      whole = g.whole(n + (g.lanes - 1), wide);
      g.carry(0, whole, wide, {}, [&](V l, Vs) -> Vs { return tile(l, code.vectors), Vs{}; });
    }
    g.carry(whole, n, g.lanes, {}, [&](V l, Vs) -> Vs { return tile(l, 1), Vs{}; });
    return {g.at(of[0], acc, image_row * (code.rows * code.step_down)), g.at(of[1], code.y, y_row * code.rows),
            g.at(of[2], acc, y_row * code.rows)};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::SumLanes& code) {
  const DType t = code.dtype;
  MicroCode g(cx, code, t);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::LaneSums, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::LaneSums, name))
  const V pixels = REPRISE_POINTER(pixels), pixels_row = REPRISE_INTEGER(pixels_row),
          weights = REPRISE_POINTER(weights), weights_row = REPRISE_INTEGER(weights_row), bias = REPRISE_POINTER(bias),
          sum = REPRISE_POINTER(sum), y = REPRISE_POINTER(y), y_row = REPRISE_INTEGER(y_row), m = REPRISE_INTEGER(m),
          n = REPRISE_INTEGER(n), relu = REPRISE_INTEGER(relu);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  const V has_sum = g.is_there(sum), has_bias = g.is_there(bias);
  g.carry(0, m, code.results, {}, [&](V l, Vs) -> Vs {
    Vs result;  // those past the end are the last one again
    for (int r = 0; r < code.results; ++r) result.push_back(g.min(l + r, m - 1));
    auto tile = [&](const V& c, int vectors, const V& mask) {
      const auto nv = static_cast<std::size_t>(vectors);
      Vs s(result.size() * nv, g.zero());
      auto at = [&](const V& base, std::size_t r, std::size_t v) {
        return g.at(base, t, result[r] * y_row + c + static_cast<std::int64_t>(v) * g.lanes);
      };
      s.push_back(g.at(weights, t, c));
      s.push_back(pixels);
      s = g.carry(0, g.i64(code.tall), 1, s, [&](V, Vs s) {
        const V row = s.back();
        s = g.carry(0, g.i64(code.wide), 1, s, [&](V, Vs s) {
          V &w = s[s.size() - 2], &from = s[s.size() - 1];
          Vs weight;
          for (std::size_t v = 0; v < nv; ++v)
            weight.push_back(g.load(t, g.at(w, t, static_cast<std::int64_t>(v) * g.lanes), mask));
          for (std::size_t r = 0; r < result.size(); ++r) {
            const V pixel = g.wrap(g.b.CreateAlignedLoad(
                g.b.getPtrTy(), g.at(from, DType::Int64, result[r] * code.step).v, llvm::Align(8)));
            for (std::size_t v = 0; v < nv; ++v)
              s[r * nv + v] =
                  g.multiply_add(weight[v], g.load(t, g.at(pixel, t, c + static_cast<std::int64_t>(v) * g.lanes), mask),
                                 s[r * nv + v]);
          }
          w = g.at(w, t, weights_row), from = g.at(from, DType::Int64, code.spread);
          return s;
        });
        s.back() = g.at(row, DType::Int64, pixels_row);
        return s;
      });
      s.resize(result.size() * nv);
      auto each = [&](const V& times, const std::function<V(std::size_t, std::size_t, V)>& f) {  // 0 or 1 times
        s = g.carry(0, times, 1, s, [&](V, Vs s) {
          for (std::size_t r = 0; r < result.size(); ++r)
            for (std::size_t v = 0; v < nv; ++v) s[r * nv + v] = f(r, v, s[r * nv + v]);
          return s;
        });
      };
      each(has_sum, [&](std::size_t r, std::size_t v, V x) { return g.load(t, at(sum, r, v), mask) + x; });
      each(has_bias, [&](std::size_t, std::size_t v, V x) {
        return x + g.load(t, g.at(bias, t, c + static_cast<std::int64_t>(v) * g.lanes), mask);
      });
      each(relu, [&](std::size_t, std::size_t, V x) { return g.select(x < g.zero(), g.zero(), x); });  // NaN stays
      for (std::size_t r = 0; r < result.size(); ++r)
        for (std::size_t v = 0; v < nv; ++v) g.store(t, s[r * nv + v], at(y, r, v), mask);
    };
    const int wide = code.vectors * g.lanes;
    const V whole = n / wide * wide;
    g.carry(0, whole, wide, {}, [&](V c, Vs) -> Vs { return tile(c, code.vectors, {}), Vs{}; });
    g.carry(whole, n, g.lanes, {}, [&](V c, Vs) -> Vs { return tile(c, 1, g.mask_below(n - c)), Vs{}; });
    return {};
  });
  g.finish();
}

}  // namespace reprise::jit
