// Micro-kernels of attention beside those of products: strips of products whose depth differs from row to row, the
// running softmax, scaling.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "jit/cpu/micro/code.h"
#include "jit/emit/math.h"

namespace reprise::jit {

namespace {
constexpr DType f32 = DType::Float32;
}

#define REPRISE_POINTER(name) g.pointer_at(offsetof(Args, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(Args, name))

void emit(EmitContext& cx, const micro::Strip& code) {
  using Args = micro::StripRows;
  const int nv = code.vectors, mr = kernels::strip_rows(code.bits, nv);
  MicroCode g(cx, code, f32);
  const V a = REPRISE_POINTER(a), a_row = REPRISE_INTEGER(a_row), b = REPRISE_POINTER(b),
          b_row = REPRISE_INTEGER(b_row), c = REPRISE_POINTER(c), c_row = REPRISE_INTEGER(c_row),
          m = REPRISE_INTEGER(m), ks = REPRISE_POINTER(k), k_step = REPRISE_INTEGER(k_step),
          factor = REPRISE_POINTER(factor);
  const V overwrites = g.wrap(g.b.CreateIsNull(factor.v));
  const auto integer = [&](const V& p, const V& i) {
    return g.wrap(g.b.CreateLoad(g.b.getInt64Ty(), g.at(p, DType::Int64, i).v));
  };
  g.carry(0, m, mr, {}, [&](V from, Vs) -> Vs {
    // Rows past the end repeat the last one: computed again, stored again with the same value.
    Vs row, a_ptr, c_ptr;
    for (int i = 0; i < mr; ++i) row.push_back(g.min(from + i, m - 1));
    for (int i = 0; i < mr; ++i) a_ptr.push_back(g.at(a, f32, row[i] * a_row));
    Vs sums(static_cast<std::size_t>(mr * nv), g.zero());
    sums.push_back(b);
    sums = g.carry(0, integer(ks, row.back() * k_step), 1, sums, [&](V k, Vs s) {
      const V bk = s.back();
      Vs w;
      for (int v = 0; v < nv; ++v) w.push_back(g.load(f32, g.at(bk, f32, v * g.lanes)));
      for (int i = 0; i < mr; ++i) {
        const V x = g.load_splat(g.at(a_ptr[i], f32, k));
        for (int v = 0; v < nv; ++v) {
          V& t = s[static_cast<std::size_t>(i * nv + v)];
          t = g.multiply_add(x, w[v], t);
        }
      }
      s.back() = g.at(bk, f32, b_row);
      return s;
    });
    for (int i = 0; i < mr; ++i) c_ptr.push_back(g.at(c, f32, row[i] * c_row));
    auto store = [&](const std::function<V(int, V, V)>& f) {
      for (int v = 0; v < nv; ++v) {  // all rows are read before any is stored: a repeated one is as it was
        Vs to, t;
        for (int i = 0; i < mr; ++i) {
          to.push_back(g.at(c_ptr[i], f32, v * g.lanes));
          t.push_back(f(i, to.back(), sums[static_cast<std::size_t>(i * nv + v)]));
        }
        for (int i = 0; i < mr; ++i) g.store(f32, t[i], to[i]);
      }
    };
    g.when(
        overwrites, [&] { store([](int, V, V t) { return t; }); },
        [&] {
          Vs by;
          for (int i = 0; i < mr; ++i) by.push_back(g.load_splat(g.at(factor, f32, row[i])));
          store([&](int i, V c, V t) { return g.multiply_add(g.load(f32, c), by[i], t); });
        });
    return {};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::Softmax& code) {
  using Args = micro::SoftmaxRows;
  const int at_once = code.rows;
  constexpr int kSums = 4;  // chains that hide the latency of an addition: of four rows, or of one
  MicroCode g(cx, code, f32);
  const int lanes = g.lanes, own = kSums / at_once;
  const V s = REPRISE_POINTER(s), s_row = REPRISE_INTEGER(s_row), m = REPRISE_INTEGER(m), seen = REPRISE_POINTER(seen),
          masks = REPRISE_POINTER(mask), tops = REPRISE_POINTER(top), totals = REPRISE_POINTER(sum),
          factors = REPRISE_POINTER(factor), shifts = REPRISE_POINTER(shift);
  const V minus_inf = g.constant(-std::numeric_limits<double>::infinity());
  const auto integer = [&](const V& p, const V& i) {
    return g.wrap(g.b.CreateLoad(g.b.getInt64Ty(), g.at(p, DType::Int64, i).v));
  };
  // A NaN score must reach the result: it fails this comparison and stays out of the maximum, but not out of exp below.
  const std::function<V(V, V)> larger = [&](V x, V y) { return g.select(y > x, y, x); };
  const auto exp = [&](const V& x) { return g.wrap(MathEmitter(g).exp(x.v, true)); };  // of differences to a maximum
  StackedVectors folds(g, lanes);

  struct Row {
    V s, mask, seen;
  };
  // f(row, sum, scores, at, mask) for all vectors of some rows: without a mask what all of them see, then under a row's
  // own mask up to `end`. Returns what became of `start`, one for each row. A row that is there twice is read twice
  // before it is written.
  using Step = std::function<V(int, V, V, V, V)>;
  const auto pass = [&](const std::vector<Row>& rows, const V& end, const V& start, const Step& step,
                        const std::function<V(V, V)>& join) {
    const auto each_row = [&](const V& i, Vs t, bool masked) {
      Vs masks, x;
      for (const Row& r : rows) masks.push_back(masked ? g.mask_below(r.seen - i) : V());
      for (int r = 0; r < at_once; ++r) x.push_back(g.load(f32, g.at(rows[r].s, f32, i), masks[r]));
      for (int r = 0; r < at_once; ++r) t[r] = step(r, t[r], x[r], i, masks[r]);
      return t;
    };
    const V all = g.whole(rows[0].seen, lanes);
    V done = 0;
    Vs sums(static_cast<std::size_t>(kSums), start);
    if (own > 1) {
      done = g.whole(rows[0].seen, own * lanes);
      sums = g.carry(0, done, own * lanes, sums, [&](V i, Vs t) {
        for (int u = 0; u < own; ++u)
          t[u] = step(0, t[u], g.load(f32, g.at(rows[0].s, f32, i + u * lanes)), i + u * lanes, {});
        return t;
      });
      sums = {join(join(sums[0], sums[1]), join(sums[2], sums[3]))};
    }
    sums = g.carry(done, all, lanes, sums, [&](V i, Vs t) { return each_row(i, t, false); });
    return g.carry(all, end, lanes, sums, [&](V i, Vs t) { return each_row(i, t, true); });
  };
  // Rows from + j on, the last one again where there are fewer, and the end of their vectors: what the last one sees,
  // or where its zeros end.
  const auto take = [&](const V& from, const V& j, bool zeros) {
    std::pair<std::vector<Row>, V> out;
    for (int r = 0; r < at_once; ++r) {
      const V row = g.min(from + j + r, m - 1);
      out.first.push_back(
          {g.at(s, f32, row * s_row),
           code.has_mask ? g.wrap(g.b.CreateLoad(g.b.getPtrTy(), g.at(masks, DType::Int64, row).v)) : V(),
           integer(seen, row)});
    }
    out.second = zeros ? integer(seen, g.min(from + j + (at_once - 1 + kernels::kMostStripRows - 1), m - 1))
                       : out.first.back().seen;
    return out;
  };
  const auto fold_all = [&](const std::function<V(V, V)>& op) {
    Vs v;
    for (int i = 0; i < lanes; ++i) v.push_back(folds.get(g.i64(i)));
    return sum_each(g, v, op);
  };

  g.carry(0, m, lanes, {}, [&](V from, Vs) -> Vs {
    const V count = g.min(lanes, m - from);
    g.carry(0, count, at_once, {}, [&](V j, Vs) -> Vs {
      const auto [rows, end] = take(from, j, false);
      const Vs best = pass(
          rows, end, minus_inf,
          [&, &rows = rows](int r, V top, V t, V i, V mask) {
            if (code.has_mask) {
              const V p = g.at(rows[r].mask, code.mask, i);
              if (code.mask == DType::Bool)
                t = g.select(g.wrap(static_cast<Emitter&>(g).load(DType::Bool, p.v, lanes, mask.v)), t, minus_inf);
              else t = t + g.load(code.mask, p, mask);
              g.store(f32, t, g.at(rows[r].s, f32, i), mask);
            }
            return larger(top, mask.v ? g.select(mask, t, minus_inf) : t);
          },
          larger);
      for (int r = 0; r < at_once; ++r) folds.put(j + r, best[r]);
      return {};
    });
    const auto vector = [&](const V& p) { return g.at(p, f32, from); };
    const V old = g.load(f32, vector(tops)), top = larger(old, fold_all(larger)),
            shift = g.select(top == minus_inf, g.zero(), top), factor = exp(old - shift);
    g.store(f32, top, vector(tops));
    g.store(f32, shift, vector(shifts));
    g.store(f32, factor, vector(factors));
    g.carry(0, count, at_once, {}, [&](V j, Vs) -> Vs {
      const auto [rows, end] = take(from, j, true);
      Vs by;
      for (int r = 0; r < at_once; ++r) by.push_back(g.load_splat(g.at(shifts, f32, g.min(from + j + r, m - 1))));
      const Vs sums = pass(
          rows, end, g.zero(),
          [&, &rows = rows, &end = end](int r, V sum, V t, V i, V mask) {
            V p = exp(t - by[r]);
            if (mask.v) p = g.select(mask, p, g.zero());
            g.store(f32, p, g.at(rows[r].s, f32, i), mask.v ? g.mask_below(end - i) : V());
            return sum + p;
          },
          [](V x, V y) { return x + y; });
      for (int r = 0; r < at_once; ++r) folds.put(j + r, sums[r]);
      return {};
    });
    g.store(f32, g.multiply_add(g.load(f32, vector(totals)), factor, fold_all({})), vector(totals));
    return {};
  });
  g.finish();
}

#undef REPRISE_POINTER
#undef REPRISE_INTEGER

void emit(EmitContext& cx, const micro::Scale& code) {
  const DType src = code.src, dst = code.dst;
  MicroCode g(cx, code, f32);
  const V from = g.arg(0), from_row = g.arg(1), factors = g.arg(2), factor_step = g.arg(3), to = g.arg(4),
          to_row = g.arg(5), rows = g.arg(6), n = g.arg(7), whole = g.whole(n, g.lanes);
  g.carry(0, rows, 1, {from, factors, to}, [&](V, Vs p) -> Vs {
    const V factor = g.load_splat(p[1]);
    auto step = [&](V i, V mask) {
      g.store(dst, g.load(src, g.at(p[0], src, i), mask) * factor, g.at(p[2], dst, i), mask);
    };
    const V tail = g.mask_below(n - whole);
    g.carry(0, whole, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, {}), Vs{}; });
    g.carry(whole, n, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, tail), Vs{}; });
    return {g.at(p[0], src, from_row), g.at(p[1], f32, factor_step), g.at(p[2], dst, to_row)};
  });
  g.finish();
}

}  // namespace reprise::jit
