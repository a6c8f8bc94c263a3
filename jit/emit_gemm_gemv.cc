// Matrix-vector micro-kernels: the weights are read once, in order, and converted in registers.
#include "jit/emit_micro.h"

namespace reprise::jit {

using llvm::Value;
using Values = MicroBuilder::Values;

namespace {

/// Sums each of 2^j vectors over its lanes; element i of the result (of as many) is the sum of vector i. Every vector
/// is summed by the same tree, so a row's result does not depend on its place in the group.
Value* sum_each(MicroBuilder& g, Values v) {
  int n = g.lanes, count = static_cast<int>(v.size());
  std::vector<std::vector<int>> held(v.size());  // held[i]: which vectors' partial sums vector i holds, block by block
  for (int i = 0; i < count; ++i) held[i] = {i};
  int half = n / 2;
  while (v.size() > 1 && half >= 1) {
    Values next;
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
      next.push_back(g.b.CreateFAdd(g.shuffle(v[i], v[i + 1], low), g.shuffle(v[i], v[i + 1], high)));
      next_held.push_back(order);
    }
    v = next, held = next_held, half /= 2;
  }
  for (; half >= 1; half /= 2) {
    std::vector<int> swap;
    for (int l = 0; l < n; ++l) swap.push_back(l ^ half);
    v[0] = g.b.CreateFAdd(v[0], g.shuffle(v[0], v[0], swap));
  }
  std::vector<int> gather(static_cast<std::size_t>(count), 0);
  for (std::size_t block = 0; block < held[0].size(); ++block)
    gather[held[0][block]] = static_cast<int>(block) * (n / count);
  return g.shuffle(v[0], v[0], gather);
}

}  // namespace

llvm::Function* emit_gemv_dot(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  int bits = static_cast<int>(params[0]), rows = static_cast<int>(params[3]);
  DType w_type = static_cast<DType>(params[1]), y_type = static_cast<DType>(params[2]),
        acc = kernels::acc_dtype(w_type);
  MicroBuilder g(m, name, "pipipiii", bits, acc);
  auto& b = g.b;
  Value *x = g.arg(0), *x_row = g.arg(1), *w = g.arg(2), *w_row = g.arg(3), *y = g.arg(4), *y_row = g.arg(5),
        *n = g.arg(6), *k = g.arg(7);
  // Rows of w at a time: enough chains to hide the latency of an fma, few enough pointers for the registers.
  int group = bits == 512 ? (rows == 4 ? 4 : 8) : (rows == 4 ? 2 : rows == 2 ? 4 : 8);
  if (group > g.lanes) group = g.lanes;
  Value* pairs = b.CreateAnd(k, g.i64(-2 * static_cast<std::int64_t>(g.lanes)));
  // Where to prefetch: the same place of the next group (the hardware follows few streams, not one for each row), as
  // long as a group fits the L1 cache beside it; else a little further in the row.
  Value* ahead = b.CreateSelect(b.CreateICmpSLE(k, g.i64(4096 / item_size(w_type))), b.CreateMul(w_row, g.i64(group)),
                                g.i64(256 / item_size(w_type)));
  Values xp;
  for (int r = 0; r < rows; ++r) xp.push_back(g.at(x, acc, b.CreateMul(x_row, g.i64(r))));
  auto pass = [&](Value* from, Value* to, int count) {
    g.loop(from, to, count, {g.at(w, w_type, b.CreateMul(from, w_row))}, [&](Value* j, Values p) -> Values {
      // freeze keeps loop strength reduction from tying the rows' addresses together over the outer loop, which costs a
      // third of the compile time and dozens of spills a group.
      Values wp{b.CreateFreeze(p[0])};
      for (int i = 1; i < count; ++i) wp.push_back(b.CreateFreeze(g.at(wp.back(), w_type, w_row)));
      auto step = [&](Value* at, Values s, Value* mask, bool prefetch) {
        Values xs;
        for (int r = 0; r < rows; ++r) xs.push_back(g.load(acc, g.at(xp[r], acc, at), mask));
        for (int i = 0; i < count; ++i) {
          Value* address = g.at(wp[i], w_type, at);
          Value* wi = g.load(w_type, address, mask);
          if (prefetch)
            b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                              {g.at(address, w_type, ahead), b.getInt32(0), b.getInt32(3), b.getInt32(1)});
          for (int r = 0; r < rows; ++r) {
            auto& t = s[static_cast<std::size_t>(r * count + i)];
            t = g.fma(xs[r], wi, t);
          }
        }
        return s;
      };
      Values sums(static_cast<std::size_t>(rows * count), g.zero());
      Value* done = g.i64(0);
      if (count > 1) {
        sums = g.loop(done, pairs, 2 * g.lanes, sums, [&](Value* i, Values s) {
          return step(b.CreateAdd(i, g.i64(g.lanes)), step(i, s, nullptr, true), nullptr, item_size(w_type) > 2);
        });
        done = pairs;
      }
      sums = g.loop(done, k, g.lanes, sums,
                    [&](Value* i, Values s) { return step(i, s, g.mask_below(b.CreateSub(k, i)), false); });
      for (int r = 0; r < rows; ++r) {
        Value* out = sum_each(g, Values(sums.begin() + r * count, sums.begin() + (r + 1) * count));
        g.store(y_type, out, g.at(y, y_type, b.CreateAdd(b.CreateMul(y_row, g.i64(r)), j)));
      }
      return {g.at(wp.back(), w_type, w_row)};
    });
  };
  Value* n_whole = b.CreateAnd(n, g.i64(-static_cast<std::int64_t>(group)));
  pass(g.i64(0), n_whole, group);
  pass(n_whole, n, 1);
  return g.finish();
}

llvm::Function* emit_gemv_sum(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  int bits = static_cast<int>(params[0]), rows = static_cast<int>(params[2]);
  DType w_type = static_cast<DType>(params[1]), acc = kernels::acc_dtype(w_type);
  MicroBuilder g(m, name, "pipipiii", bits, acc);
  auto& b = g.b;
  Value *x = g.arg(0), *x_row = g.arg(1), *w = g.arg(2), *w_row = g.arg(3), *y = g.arg(4), *y_row = g.arg(5),
        *n = g.arg(6), *k = g.arg(7);
  Value *n_whole = b.CreateAnd(n, g.i64(-static_cast<std::int64_t>(g.lanes))),
        *tail = g.mask_below(b.CreateSub(n, n_whole));
  Values yp;
  for (int r = 0; r < rows; ++r) yp.push_back(g.at(y, acc, b.CreateMul(y_row, g.i64(r))));
  // `depth` rows of w for one pass over y, which stays in the L1 cache.
  auto pass = [&](Value* from, Value* to, int depth) {
    g.loop(from, to, depth, {}, [&](Value* j, Values) -> Values {
      Values wp, factor;
      for (int i = 0; i < depth; ++i) {
        Value* ji = b.CreateAdd(j, g.i64(i));
        wp.push_back(g.at(w, w_type, b.CreateMul(ji, w_row)));
        for (int r = 0; r < rows; ++r)
          factor.push_back(g.load_splat(g.at(x, acc, b.CreateAdd(ji, b.CreateMul(x_row, g.i64(r))))));
      }
      auto step = [&](Value* at, Value* mask) {
        Values s;
        for (int r = 0; r < rows; ++r) s.push_back(g.load(acc, g.at(yp[r], acc, at), mask));
        for (int i = 0; i < depth; ++i) {
          Value* wi = g.load(w_type, g.at(wp[i], w_type, at), mask);
          for (int r = 0; r < rows; ++r) s[r] = g.fma(factor[static_cast<std::size_t>(i * rows + r)], wi, s[r]);
        }
        for (int r = 0; r < rows; ++r) g.store(acc, s[r], g.at(yp[r], acc, at), mask);
      };
      g.loop(g.i64(0), n_whole, g.lanes, {}, [&](Value* i, Values) -> Values { return step(i, nullptr), Values{}; });
      g.loop(n_whole, n, g.lanes, {}, [&](Value* i, Values) -> Values { return step(i, tail), Values{}; });
      return {};
    });
  };
  int depth = bits == 512 ? (rows == 4 ? 4 : 8) : (rows == 4 ? 2 : 4);
  Value* k_whole = b.CreateAnd(k, g.i64(-static_cast<std::int64_t>(depth)));
  pass(g.i64(0), k_whole, depth);
  pass(k_whole, k, 1);
  return g.finish();
}

}  // namespace reprise::jit
