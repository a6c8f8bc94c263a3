// Micro-kernels of attention beside the products: the running softmax over key blocks, and the final scaling.
#include <limits>

#include "jit/cpu/micro/builder.h"

namespace reprise::jit {

using llvm::Value;
using Values = MicroBuilder::Values;

llvm::Function* emit_softmax(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  bool has_mask = params[1] != 0;
  MicroBuilder g(m, name, "piipfp", static_cast<int>(params[0]), DType::Float32);
  auto& b = g.b;
  constexpr DType f32 = DType::Float32;
  Value *s = g.arg(0), *n = g.arg(1), *n_zero = g.arg(2), *bias = g.arg(3), *scale = g.splat(g.arg(4)),
        *state = g.arg(5);
  Value *whole = b.CreateAnd(n, g.i64(-static_cast<std::int64_t>(g.lanes))),
        *tail = g.mask_below(b.CreateSub(n, whole));
  Value* minus_inf = g.constant(-std::numeric_limits<double>::infinity());
  auto state_at = [&](int i) { return b.CreateConstGEP1_64(b.getFloatTy(), state, static_cast<std::uint64_t>(i)); };
  // A NaN score must reach the result: it fails this comparison and stays out of the maximum, but not out of exp below.
  auto larger = [&](Value* x, Value* y) { return b.CreateSelect(b.CreateFCmpOGT(y, x), y, x); };

  Value* m_old = g.load_splat(state_at(0));
  auto scan = [&](Value* i, Value* best, Value* mask) {
    Value* t = b.CreateFMul(g.load(f32, g.at(s, f32, i), mask), scale);
    if (has_mask) t = b.CreateFAdd(t, g.load(f32, g.at(bias, f32, i), mask));
    g.store(f32, t, g.at(s, f32, i), mask);
    if (mask) t = b.CreateSelect(mask, t, minus_inf);
    return larger(best, t);
  };
  Values best{m_old};
  best = g.loop(g.i64(0), whole, g.lanes, best, [&](Value* i, Values v) -> Values { return {scan(i, v[0], nullptr)}; });
  best = g.loop(whole, n, g.lanes, best, [&](Value* i, Values v) -> Values { return {scan(i, v[0], tail)}; });
  Value* m_new = g.fold(best[0], larger);
  Value* shift = b.CreateSelect(b.CreateFCmpOEQ(m_new, minus_inf), g.zero(), m_new);

  auto weigh = [&](Value* i, Value* sum, Value* mask) {
    Value* p = g.exp(b.CreateFSub(g.load(f32, g.at(s, f32, i), mask), shift));
    g.store(f32, p, g.at(s, f32, i), mask);
    if (mask) p = b.CreateSelect(mask, p, g.zero());
    return b.CreateFAdd(sum, p);
  };
  Values sum{g.zero()};
  sum = g.loop(g.i64(0), whole, g.lanes, sum, [&](Value* i, Values v) -> Values { return {weigh(i, v[0], nullptr)}; });
  sum = g.loop(whole, n, g.lanes, sum, [&](Value* i, Values v) -> Values { return {weigh(i, v[0], tail)}; });
  g.loop(n, n_zero, g.lanes, {}, [&](Value* i, Values) -> Values {
    g.store(f32, g.zero(), g.at(s, f32, i), g.mask_below(b.CreateSub(n_zero, i)));
    return {};
  });
  Value* total = g.fold(sum[0], [&](Value* x, Value* y) { return b.CreateFAdd(x, y); });
  Value* c = g.exp(b.CreateFSub(m_old, shift));
  Value* l = g.fma(g.load_splat(state_at(1)), c, total);
  int i = 0;
  for (Value* v : {m_new, l, c})
    b.CreateAlignedStore(b.CreateExtractElement(v, std::uint64_t{0}), state_at(i++), llvm::Align(4));
  return g.finish();
}

llvm::Function* emit_scale(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  DType dst = static_cast<DType>(params[1]);
  MicroBuilder g(m, name, "pfpi", static_cast<int>(params[0]), DType::Float32);
  auto& b = g.b;
  Value *factor = g.splat(g.arg(1)), *n = g.arg(3), *whole = b.CreateAnd(n, g.i64(-static_cast<std::int64_t>(g.lanes)));
  auto step = [&](Value* i, Value* mask) {
    g.store(dst, b.CreateFMul(g.load(DType::Float32, g.at(g.arg(0), DType::Float32, i), mask), factor),
            g.at(g.arg(2), dst, i), mask);
  };
  Value* tail = g.mask_below(b.CreateSub(n, whole));
  g.loop(g.i64(0), whole, g.lanes, {}, [&](Value* i, Values) -> Values { return step(i, nullptr), Values{}; });
  g.loop(whole, n, g.lanes, {}, [&](Value* i, Values) -> Values { return step(i, tail), Values{}; });
  return g.finish();
}

}  // namespace reprise::jit
