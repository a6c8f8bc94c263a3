// Micro-kernels of attention beside the products: the running softmax over key blocks, and the final scaling.
#include <limits>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::Softmax& code) {
  constexpr DType f32 = DType::Float32;
  const bool has_mask = code.has_mask;
  MicroCode g(cx, code, f32);
  const V s = g.arg(0), n = g.arg(1), n_zero = g.arg(2), bias = g.arg(3), scale = g.splat(g.arg(4)), state = g.arg(5);
  const V whole = g.whole(n, g.lanes), tail = g.mask_below(n - whole);
  const V minus_inf = g.constant(-std::numeric_limits<double>::infinity());
  // A NaN score must reach the result: it fails this comparison and stays out of the maximum, but not out of exp below.
  auto larger = [&](V x, V y) { return g.select(y > x, y, x); };

  const V m_old = g.load_splat(g.at(state, f32, 0));
  auto scan = [&](V i, V best, V mask) {
    V t = g.load(f32, g.at(s, f32, i), mask) * scale;
    if (has_mask) t = t + g.load(f32, g.at(bias, f32, i), mask);
    g.store(f32, t, g.at(s, f32, i), mask);
    return larger(best, mask.v ? g.select(mask, t, minus_inf) : t);
  };
  Vs best{m_old};
  best = g.carry(0, whole, g.lanes, best, [&](V i, Vs v) -> Vs { return {scan(i, v[0], {})}; });
  best = g.carry(whole, n, g.lanes, best, [&](V i, Vs v) -> Vs { return {scan(i, v[0], tail)}; });
  const V m_new = g.fold(best[0], larger);
  const V shift = g.select(m_new == minus_inf, g.zero(), m_new);

  auto weigh = [&](V i, V sum, V mask) {
    V p = g.exp(g.load(f32, g.at(s, f32, i), mask) - shift);
    g.store(f32, p, g.at(s, f32, i), mask);
    return sum + (mask.v ? g.select(mask, p, g.zero()) : p);
  };
  Vs sum{g.zero()};
  sum = g.carry(0, whole, g.lanes, sum, [&](V i, Vs v) -> Vs { return {weigh(i, v[0], {})}; });
  sum = g.carry(whole, n, g.lanes, sum, [&](V i, Vs v) -> Vs { return {weigh(i, v[0], tail)}; });
  g.carry(n, n_zero, g.lanes, {}, [&](V i, Vs) -> Vs {
    g.store(f32, g.zero(), g.at(s, f32, i), g.mask_below(n_zero - i));
    return {};
  });
  const V total = g.fold(sum[0], [&](V x, V y) { return x + y; });
  const V c = g.exp(m_old - shift);
  const V l = g.multiply_add(g.load_splat(g.at(state, f32, 1)), c, total);
  int i = 0;
  for (const V& v : {m_new, l, c}) g.store(f32, g.wrap(g.b.CreateExtractElement(v.v, std::uint64_t{0})), g.at(state, f32, i++));
  g.finish();
}

void emit(EmitContext& cx, const micro::Scale& code) {
  const DType src = DType::Float32, dst = code.dst;
  MicroCode g(cx, code, src);
  const V from = g.arg(0), factor = g.splat(g.arg(1)), to = g.arg(2), n = g.arg(3), whole = g.whole(n, g.lanes);
  auto step = [&](V i, V mask) { g.store(dst, g.load(src, g.at(from, src, i), mask) * factor, g.at(to, dst, i), mask); };
  const V tail = g.mask_below(n - whole);
  g.carry(0, whole, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, {}), Vs{}; });
  g.carry(whole, n, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, tail), Vs{}; });
  g.finish();
}

}  // namespace reprise::jit
