// Micro-kernels of the blocked matrix product: the register tile, and the copies that bring operands into its form.
#include "jit/cpu/micro/builder.h"

namespace reprise::jit {

using llvm::Value;
using Values = MicroBuilder::Values;

llvm::Function* emit_gemm(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  int bits = static_cast<int>(params[0]);
  DType acc = static_cast<DType>(params[1]), c_type = static_cast<DType>(params[2]);
  int nv = static_cast<int>(params[3]), mr = kernels::gemm_rows(bits);
  MicroBuilder g(m, name, "p", bits, acc);
  auto& b = g.b;
  int field = 0;
  auto next_ptr = [&] {
    return b.CreateAlignedLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getInt64Ty(), g.arg(0), field++), llvm::Align(8));
  };
  auto next_int = [&] {
    return b.CreateAlignedLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), g.arg(0), field++), llvm::Align(8));
  };
  // In the order of struct GemmTile.
  Value *a = next_ptr(), *a_row = next_int(), *a_col = next_int(), *bp = next_ptr(), *b_row = next_int(),
        *accp = next_ptr(), *acc_row = next_int(), *c = next_ptr(), *c_row = next_int(), *rows = next_int(),
        *n = next_int(), *k = next_int(), *first = next_int(), *last = next_int();

  // Rows past the end repeat the last one: computed again, stored again with the same value. No branch, no stray
  // access.
  Values row;
  for (int i = 0; i < mr; ++i) row.push_back(g.min(g.i64(i), b.CreateSub(rows, g.i64(1))));
  Values mask;
  for (int v = 0; v < nv; ++v) mask.push_back(g.mask_below(b.CreateSub(n, g.i64(v * g.lanes))));

  // What the tile adds to and is stored to, fetched while the loop runs.
  Value* is_last = b.CreateICmpNE(last, g.i64(0));
  Value *target = b.CreateSelect(is_last, c, accp),
        *bytes = b.CreateSelect(is_last, b.CreateMul(c_row, g.i64(item_size(c_type))),
                                b.CreateMul(acc_row, g.i64(item_size(acc))));
  for (int i = 0; i < mr; ++i)
    for (int v = 0; v < nv; ++v) {
      Value* p = b.CreateGEP(b.getInt8Ty(), target, b.CreateAdd(b.CreateMul(row[i], bytes), g.i64(v * bits / 8)));
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()}, {p, b.getInt32(1), b.getInt32(3), b.getInt32(1)});
    }
  Values sums(static_cast<std::size_t>(mr * nv), g.zero());
  Values a_ptr;
  for (int i = 0; i < mr; ++i) a_ptr.push_back(g.at(a, acc, b.CreateMul(row[i], a_row)));
  Values carried = sums;
  carried.push_back(g.i64(0));
  carried.push_back(bp);
  carried = g.loop(g.i64(0), k, 1, carried, [&](Value*, Values s) {
    Value *offset = s[s.size() - 2], *bk = s[s.size() - 1];
    Values w;
    for (int v = 0; v < nv; ++v) w.push_back(g.load(acc, g.at(bk, acc, g.i64(v * g.lanes))));
    for (int i = 0; i < mr; ++i) {
      Value* x = g.load_splat(g.at(a_ptr[i], acc, offset));
      for (int v = 0; v < nv; ++v) {
        auto& t = s[static_cast<std::size_t>(i * nv + v)];
        t = g.fma(x, w[v], t);
      }
    }
    s[s.size() - 2] = b.CreateAdd(offset, a_col);
    s[s.size() - 1] = g.at(bk, acc, b_row);
    return s;
  });
  carried.resize(static_cast<std::size_t>(mr * nv));
  carried = g.loop(first, g.i64(1), 1, carried, [&](Value*, Values s) {
    for (int i = 0; i < mr; ++i)
      for (int v = 0; v < nv; ++v) {
        auto& t = s[static_cast<std::size_t>(i * nv + v)];
        t = b.CreateFAdd(
            g.load(acc, g.at(accp, acc, b.CreateAdd(b.CreateMul(row[i], acc_row), g.i64(v * g.lanes))), mask[v]), t);
      }
    return s;
  });
  auto store_all = [&](DType t, Value* base, Value* stride) {
    for (int i = 0; i < mr; ++i)
      for (int v = 0; v < nv; ++v)
        g.store(t, carried[static_cast<std::size_t>(i * nv + v)],
                g.at(base, t, b.CreateAdd(b.CreateMul(row[i], stride), g.i64(v * g.lanes))), mask[v]);
  };
  llvm::LLVMContext& cx = b.getContext();
  auto* yes = llvm::BasicBlock::Create(cx, "last", g.fn);
  auto* no = llvm::BasicBlock::Create(cx, "more", g.fn);
  b.CreateCondBr(is_last, yes, no);
  b.SetInsertPoint(no);
  store_all(acc, accp, acc_row);
  b.CreateRetVoid();
  b.SetInsertPoint(yes);
  store_all(c_type, c, c_row);
  return g.finish();
}

llvm::Function* emit_convert(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  DType src = static_cast<DType>(params[1]), dst = static_cast<DType>(params[2]);
  DType acc = src == DType::Float64 || dst == DType::Float64 ? DType::Float64 : DType::Float32;
  MicroBuilder g(m, name, "pipiii", static_cast<int>(params[0]), acc);
  auto& b = g.b;
  Value *n = g.arg(5), *whole = b.CreateAnd(n, g.i64(-static_cast<std::int64_t>(g.lanes)));
  g.loop(g.i64(0), g.arg(4), 1, {g.arg(0), g.arg(2)}, [&](Value*, Values p) -> Values {
    g.loop(g.i64(0), whole, g.lanes, {}, [&](Value* i, Values) -> Values {
      g.store(dst, g.load(src, g.at(p[0], src, i)), g.at(p[1], dst, i));
      return {};
    });
    Value* mask = g.mask_below(b.CreateSub(n, whole));
    g.loop(whole, n, g.lanes, {}, [&](Value* i, Values) -> Values {
      g.store(dst, g.load(src, g.at(p[0], src, i), mask), g.at(p[1], dst, i), mask);
      return {};
    });
    return {g.at(p[0], src, g.arg(1)), g.at(p[1], dst, g.arg(3))};
  });
  return g.finish();
}

namespace {

/// Transposes `lanes` vectors of `lanes` elements. Float32: 4x4 inside 128-bit lanes, then the lanes; else a butterfly.
Values transpose(MicroBuilder& g, Values r) {
  int n = g.lanes;
  if (g.acc == DType::Float64) {
    for (int d = n / 2; d > 0; d /= 2) {
      std::vector<int> low, high;
      for (int l = 0; l < n; ++l) low.push_back(l & d ? n + l - d : l), high.push_back(l & d ? n + l : l + d);
      for (int i = 0; i < n; ++i)
        if (!(i & d)) {
          Value *x = r[i], *y = r[i + d];
          r[i] = g.shuffle(x, y, low), r[i + d] = g.shuffle(x, y, high);
        }
    }
    return r;
  }
  auto in_lane = [&](std::initializer_list<int> four) {  // indices 0-3: first operand's lane, 4-7: second's
    std::vector<int> m;
    for (int q = 0; q < n; q += 4)
      for (int i : four) m.push_back(i < 4 ? q + i : n + q + i - 4);
    return m;
  };
  auto lo32 = in_lane({0, 4, 1, 5}), hi32 = in_lane({2, 6, 3, 7}), lo64 = in_lane({0, 1, 4, 5}),
       hi64 = in_lane({2, 3, 6, 7});
  for (int q = 0; q < n; q += 4) {
    Value *a = g.shuffle(r[q], r[q + 1], lo32), *b = g.shuffle(r[q], r[q + 1], hi32),
          *c = g.shuffle(r[q + 2], r[q + 3], lo32), *d = g.shuffle(r[q + 2], r[q + 3], hi32);
    r[q] = g.shuffle(a, c, lo64), r[q + 1] = g.shuffle(a, c, hi64), r[q + 2] = g.shuffle(b, d, lo64),
    r[q + 3] = g.shuffle(b, d, hi64);
  }
  // Now lane q of r[4 g + j] holds column 4 q + j of rows 4 g ... 4 g + 3.
  auto lanes_of = [&](std::initializer_list<int> quads) {
    std::vector<int> m;
    for (int q : quads)
      for (int i = 0; i < 4; ++i) m.push_back(4 * q + i);
    return m;
  };
  Values out(r.size());
  for (int j = 0; j < 4; ++j) {
    if (n == 4) out[j] = r[j];
    if (n == 8) {
      out[j] = g.shuffle(r[j], r[4 + j], lanes_of({0, 2}));
      out[4 + j] = g.shuffle(r[j], r[4 + j], lanes_of({1, 3}));
    }
    if (n == 16) {
      Value *s0 = g.shuffle(r[j], r[4 + j], lanes_of({0, 2, 4, 6})),
            *s1 = g.shuffle(r[j], r[4 + j], lanes_of({1, 3, 5, 7}));
      Value *s2 = g.shuffle(r[8 + j], r[12 + j], lanes_of({0, 2, 4, 6})),
            *s3 = g.shuffle(r[8 + j], r[12 + j], lanes_of({1, 3, 5, 7}));
      out[j] = g.shuffle(s0, s2, lanes_of({0, 2, 4, 6})), out[8 + j] = g.shuffle(s0, s2, lanes_of({1, 3, 5, 7}));
      out[4 + j] = g.shuffle(s1, s3, lanes_of({0, 2, 4, 6})), out[12 + j] = g.shuffle(s1, s3, lanes_of({1, 3, 5, 7}));
    }
  }
  return out;
}

}  // namespace

llvm::Function* emit_transpose(llvm::Module& m, const std::string& name, const std::vector<std::int64_t>& params) {
  DType src = static_cast<DType>(params[1]), acc = kernels::acc_dtype(src);
  MicroBuilder g(m, name, "pipiii", static_cast<int>(params[0]), acc);
  auto& b = g.b;
  Value *rows = g.arg(4), *n = g.arg(5);
  Values p;
  for (int i = 0; i < g.lanes; ++i)
    p.push_back(g.at(g.arg(0), src, b.CreateMul(g.min(g.i64(i), b.CreateSub(rows, g.i64(1))), g.arg(1))));
  auto block = [&](Value* i, Value* mask) {
    Values r;
    for (int j = 0; j < g.lanes; ++j) r.push_back(g.load(src, g.at(p[j], src, i), mask));
    r = transpose(g, r);
    for (int j = 0; j < g.lanes; ++j)
      g.store(acc, r[j], g.at(g.arg(2), acc, b.CreateMul(b.CreateAdd(i, g.i64(j)), g.arg(3))));
  };
  // One body, always under a mask: the shuffles are most of the code, and of the time to compile it.
  g.loop(g.i64(0), n, g.lanes, {},
         [&](Value* i, Values) -> Values { return block(i, g.mask_below(b.CreateSub(n, i))), Values{}; });
  return g.finish();
}

}  // namespace reprise::jit
