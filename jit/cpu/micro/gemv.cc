// Matrix-vector micro-kernels: the weights are read once, in order, and converted in registers.
#include <algorithm>

#include "jit/cpu/micro/builder.h"

namespace reprise::jit {

using llvm::Value;
using Values = MicroBuilder::Values;

namespace {

// From this many bytes on, one row of w after the other is quicker than a group at once: a group's rows then lie on too
// many pages, and powers of two between them meet in few sets of the L1 cache.
constexpr std::int64_t kByRows = 4096;

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

/// One row of x: each row of w is read from its beginning to its end, as it stands in memory, into four sums; groups of
/// rows are then summed over their lanes at once. A group's sums wait on the stack, so that one loop serves every row.
void dot_by_rows(MicroBuilder& g, DType w_type, DType y_type) {
  auto& b = g.b;
  Value *x = g.arg(0), *w = g.arg(2), *w_row = g.arg(3), *y = g.arg(4), *n = g.arg(6), *k = g.arg(7);
  constexpr int kSums = 4;
  const int group = std::min(8, g.lanes);
  const std::int64_t size = item_size(w_type), step = kSums * g.lanes, step_bytes = step * size;
  llvm::IRBuilder<> entry(&g.fn->getEntryBlock(), g.fn->getEntryBlock().begin());
  auto* waiting = entry.CreateAlloca(llvm::ArrayType::get(g.vec, static_cast<std::uint64_t>(group)));
  waiting->setAlignment(llvm::Align(64));
  auto slot = [&](Value* i) { return b.CreateGEP(g.vec, waiting, i); };
  for (int i = 0; i < group; ++i) b.CreateAlignedStore(g.zero(), slot(g.i64(i)), llvm::Align(16));
  // What is prefetched: the same place some rows later, about 4 KiB away; within the row where rows are long.
  constexpr std::int64_t kAhead = 4096, kLong = 16384;
  Value* row_bytes = b.CreateMul(k, g.i64(size));
  Value* rows_ahead = b.CreateUDiv(g.i64(kAhead), b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, row_bytes, g.i64(1)));
  rows_ahead = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rows_ahead, g.i64(1));
  Value* ahead = b.CreateSelect(b.CreateICmpSLE(row_bytes, g.i64(kLong)), b.CreateMul(w_row, rows_ahead),
                                g.i64(kAhead / size));
  Value* whole = b.CreateAnd(k, g.i64(-step));
  g.loop(g.i64(0), n, group, {w}, [&](Value* j, Values at) -> Values {
    Value* left = b.CreateSub(n, j);
    Value* count = g.min(left, g.i64(group));
    at = g.loop(g.i64(0), count, 1, at, [&](Value* i, Values p) -> Values {
      Values sums(kSums, g.zero());
      sums = g.loop(g.i64(0), whole, step, sums, [&](Value* c, Values s) -> Values {
        for (std::int64_t line = 0; line < step_bytes; line += 64)
          b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                            {g.at(p[0], w_type, b.CreateAdd(b.CreateAdd(c, ahead), g.i64(line / size))), b.getInt32(0),
                             b.getInt32(3), b.getInt32(1)});
        for (int v = 0; v < kSums; ++v) {
          Value* e = b.CreateAdd(c, g.i64(v * g.lanes));
          s[v] = g.fma(g.load(g.acc, g.at(x, g.acc, e)), g.load(w_type, g.at(p[0], w_type, e)), s[v]);
        }
        return s;
      });
      Value* sum = b.CreateFAdd(b.CreateFAdd(sums[0], sums[1]), b.CreateFAdd(sums[2], sums[3]));
      sum = g.loop(whole, k, g.lanes, {sum}, [&](Value* c, Values s) -> Values {
        Value* mask = g.mask_below(b.CreateSub(k, c));
        return {g.fma(g.load(g.acc, g.at(x, g.acc, c), mask), g.load(w_type, g.at(p[0], w_type, c), mask), s[0])};
      })[0];
      b.CreateAlignedStore(sum, slot(i), llvm::Align(16));
      return {g.at(p[0], w_type, w_row)};
    });
    Values sums;
    for (int i = 0; i < group; ++i) sums.push_back(b.CreateAlignedLoad(g.vec, slot(g.i64(i)), llvm::Align(16)));
    Value* out = sum_each(g, sums);
    Value* to = g.at(y, y_type, j);
    llvm::BasicBlock* full = llvm::BasicBlock::Create(b.getContext(), "full", g.fn);
    llvm::BasicBlock* some = llvm::BasicBlock::Create(b.getContext(), "some", g.fn);
    llvm::BasicBlock* stored = llvm::BasicBlock::Create(b.getContext(), "stored", g.fn);
    b.CreateCondBr(b.CreateICmpSGE(left, g.i64(group)), full, some);
    b.SetInsertPoint(full);
    g.store(y_type, out, to);
    b.CreateBr(stored);
    b.SetInsertPoint(some);
    std::vector<llvm::Constant*> iota;
    for (int i = 0; i < group; ++i) iota.push_back(b.getInt32(static_cast<std::uint32_t>(i)));
    Value* rest = b.CreateVectorSplat(static_cast<unsigned>(group), b.CreateTrunc(count, b.getInt32Ty()));
    g.store(y_type, out, to, b.CreateICmpULT(llvm::ConstantVector::get(iota), rest));
    b.CreateBr(stored);
    b.SetInsertPoint(stored);
    return at;
  });
}

/// Several rows of x, or short rows of w: a group of w's rows at once, a sum for each row of x and of w.
void dot_by_groups(MicroBuilder& g, DType w_type, DType y_type, int rows) {
  auto& b = g.b;
  Value *x = g.arg(0), *x_row = g.arg(1), *w = g.arg(2), *w_row = g.arg(3), *y = g.arg(4), *y_row = g.arg(5),
        *n = g.arg(6), *k = g.arg(7);
  // Rows of w at a time: enough chains to hide the latency of an fma, few enough pointers for the registers.
  int group = g.bits == 512 ? (rows == 4 ? 4 : 8) : (rows == 4 ? 2 : rows == 2 ? 4 : 8);
  if (group > g.lanes) group = g.lanes;
  const std::int64_t step = 2 * g.lanes, size = item_size(w_type);
  Value* pairs = b.CreateAnd(k, g.i64(-step));
  // What is prefetched, as long as a group fits the L1 cache beside it: the next group. Where rows follow one another
  // it is taken in the order of memory, which the hardware's own prefetching then joins; else each row at the place
  // where it is read. Of longer rows a little further on.
  Value* next = b.CreateICmpSLE(k, g.i64(4096 / size));
  Value* dense = b.CreateAnd(next, b.CreateICmpEQ(k, w_row));
  Value* ahead = b.CreateSelect(next, b.CreateMul(w_row, g.i64(group)), g.i64(256 / size));
  Value* between = b.CreateSelect(dense, g.i64(step), w_row);
  Value* stride = b.CreateSelect(dense, g.i64(step * group), g.i64(step));
  Values xp;
  for (int r = 0; r < rows; ++r) xp.push_back(g.at(x, g.acc, b.CreateMul(x_row, g.i64(r))));
  auto pass = [&](Value* from, Value* to, int count) {
    g.loop(from, to, count, {g.at(w, w_type, b.CreateMul(from, w_row))}, [&](Value* j, Values p) -> Values {
      // freeze keeps loop strength reduction from tying the rows' addresses together over the outer loop, which costs a
      // third of the compile time and dozens of spills a group.
      Values wp{b.CreateFreeze(p[0])}, soon{b.CreateFreeze(g.at(wp[0], w_type, ahead))};
      for (int i = 1; i < count; ++i) {
        wp.push_back(b.CreateFreeze(g.at(wp.back(), w_type, w_row)));
        soon.push_back(b.CreateFreeze(g.at(soon.back(), w_type, between)));
      }
      auto add = [&](Value* at, Values s, Value* mask) {
        Values xs;
        for (int r = 0; r < rows; ++r) xs.push_back(g.load(g.acc, g.at(xp[r], g.acc, at), mask));
        for (int i = 0; i < count; ++i) {
          Value* wi = g.load(w_type, g.at(wp[i], w_type, at), mask);
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
        Values carried = sums;
        carried.push_back(g.i64(0));  // where the prefetch is
        carried = g.loop(done, pairs, step, carried, [&](Value* i, Values s) -> Values {
          Value* there = s.back();
          s.pop_back();
          for (Value* row : soon)
            for (std::int64_t line = 0; line < step * size; line += 64)
              b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                                {g.at(row, w_type, b.CreateAdd(there, g.i64(line / size))), b.getInt32(0),
                                 b.getInt32(3), b.getInt32(1)});
          s = add(b.CreateAdd(i, g.i64(g.lanes)), add(i, s, nullptr), nullptr);
          s.push_back(b.CreateAdd(there, stride));
          return s;
        });
        sums.assign(carried.begin(), carried.end() - 1);
        done = pairs;
      }
      sums = g.loop(done, k, g.lanes, sums,
                    [&](Value* i, Values s) { return add(i, s, g.mask_below(b.CreateSub(k, i))); });
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
}

}  // namespace

llvm::Function* emit_gemv_dot(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  int bits = static_cast<int>(params[0]), rows = static_cast<int>(params[3]);
  DType w_type = static_cast<DType>(params[1]), y_type = static_cast<DType>(params[2]);
  MicroBuilder g(m, name, "pipipiii", bits, kernels::acc_dtype(w_type));
  if (rows > 1) {
    dot_by_groups(g, w_type, y_type, rows);
    return g.finish();
  }
  auto& b = g.b;
  llvm::BasicBlock* brief = llvm::BasicBlock::Create(b.getContext(), "brief", g.fn);
  llvm::BasicBlock* lengthy = llvm::BasicBlock::Create(b.getContext(), "lengthy", g.fn);
  b.CreateCondBr(b.CreateICmpSLT(g.arg(7), g.i64(kByRows / item_size(w_type))), brief, lengthy);
  b.SetInsertPoint(brief);
  dot_by_groups(g, w_type, y_type, 1);
  b.CreateRetVoid();
  b.SetInsertPoint(lengthy);
  dot_by_rows(g, w_type, y_type);
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
