// Micro-kernels of the blocked matrix product: the register tile, and the copies that bring operands into its form.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::Gemm& code) {
  const int bits = code.bits, nv = code.vectors, mr = code.rows;
  const DType acc = code.acc, c_type = code.c;
  MicroCode g(cx, code, acc);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::GemmTile, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::GemmTile, name))
  const V a = REPRISE_POINTER(a), a_row = REPRISE_INTEGER(a_row), bp = REPRISE_POINTER(b),
          b_row = REPRISE_INTEGER(b_row), accp = REPRISE_POINTER(acc), acc_row = REPRISE_INTEGER(acc_row),
          c = REPRISE_POINTER(c), c_row = REPRISE_INTEGER(c_row), rows = REPRISE_INTEGER(m), n = REPRISE_INTEGER(n),
          k = REPRISE_INTEGER(k), first = REPRISE_INTEGER(first), last = REPRISE_INTEGER(last),
          bias = REPRISE_POINTER(bias), relu = REPRISE_INTEGER(relu), ahead = REPRISE_POINTER(ahead),
          ahead_step = REPRISE_INTEGER(ahead_step);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER

  // Rows past the end repeat the last one: computed again, stored again with the same value. No branch, no stray
  // access.
  Vs row, mask;
  for (int i = 0; i < mr; ++i) row.push_back(g.min(i, rows - 1));
  for (int v = 0; v < nv; ++v) mask.push_back(g.mask_below(n - v * g.lanes));

  // What the tile adds to and is stored to, fetched while the loop runs.
  const V is_last = last != 0, target = g.select(is_last, c, accp),
          bytes = g.select(is_last, c_row * item_size(c_type), acc_row * item_size(acc));
  for (int i = 0; i < mr; ++i)
    for (int v = 0; v < nv; ++v) g.prefetch(g.at(target, DType::UInt8, row[i] * bytes + v * bits / 8), true);
  Vs a_ptr;
  for (int i = 0; i < mr; ++i) a_ptr.push_back(g.at(a, acc, row[i] * a_row));
  // What is on no page takes a walk of the tables each time: instead of nothing the tile itself is fetched.
  const V nothing = g.wrap(g.b.CreateIsNull(ahead.v)), soon = g.select(nothing, g.arg(0), ahead),
          soon_step = g.select(nothing, g.i64(0), ahead_step);
  // The sums, by row; behind them where b is.
  Vs carried(static_cast<std::size_t>(mr * nv), g.zero());
  carried.push_back(bp);
  carried = g.carry(0, k, 1, carried, [&](V i_k, Vs s) {
    g.prefetch(g.at(soon, DType::UInt8, i_k * soon_step), false, 2);
    const V bk = s.back();
    Vs w;
    for (int v = 0; v < nv; ++v) w.push_back(g.load(acc, g.at(bk, acc, v * g.lanes)));
    for (int i = 0; i < mr; ++i) {
      const V x = g.load_splat(g.at(a_ptr[i], acc, i_k));
      for (int v = 0; v < nv; ++v) {
        V& t = s[static_cast<std::size_t>(i * nv + v)];
        t = g.multiply_add(x, w[v], t);
      }
    }
    s.back() = g.at(bk, acc, b_row);
    return s;
  });
  carried.resize(static_cast<std::size_t>(mr * nv));
  carried = g.carry(first, 1, 1, carried, [&](V, Vs s) {
    for (int i = 0; i < mr; ++i)
      for (int v = 0; v < nv; ++v) {
        V& t = s[static_cast<std::size_t>(i * nv + v)];
        t = g.load(acc, g.at(accp, acc, row[i] * acc_row + v * g.lanes), mask[v]) + t;
      }
    return s;
  });
  auto each_sum = [&](const V& times, const std::function<V(int, V)>& f) {  // 0 or 1 times
    carried = g.carry(0, times, 1, carried, [&](V, Vs s) {
      for (int i = 0; i < mr; ++i)
        for (int v = 0; v < nv; ++v) {
          V& t = s[static_cast<std::size_t>(i * nv + v)];
          t = f(i, t);
        }
      return s;
    });
  };
  const V has_bias = g.is_there(bias);
  each_sum(has_bias & last, [&](int i, V t) { return t + g.load_splat(g.at(bias, acc, row[i])); });
  each_sum(relu & last, [&](int, V t) { return g.select(t < g.zero(), g.zero(), t); });  // NaN stays
  auto store_under = [&](DType t, V base, V stride, const Vs& mask) {
    for (int i = 0; i < mr; ++i)
      for (int v = 0; v < nv; ++v)
        g.store(t, carried[static_cast<std::size_t>(i * nv + v)], g.at(base, t, row[i] * stride + v * g.lanes),
                mask[v]);
  };
  // Some processors take many cycles for each store under a mask.
  auto store_all = [&](DType t, V base, V stride) {
    g.when(
        n >= nv * g.lanes, [&] { store_under(t, base, stride, Vs(static_cast<std::size_t>(nv))); },
        [&] { store_under(t, base, stride, mask); });
  };
  g.when(
      is_last, [&] { store_all(c_type, c, c_row); }, [&] { store_all(acc, accp, acc_row); });
  g.finish();
}

void emit(EmitContext& cx, const micro::Convert& code) {
  const DType src = code.src, dst = code.dst;
  const DType acc = kernels::acc_dtype(item_size(src) > item_size(dst) ? src : dst);
  MicroCode g(cx, code, acc);
  const V from = g.arg(0), from_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), rows = g.arg(4), n = g.arg(5),
          whole = g.whole(n, g.lanes);
  g.carry(0, rows, 1, {from, to}, [&](V, Vs p) -> Vs {
    auto step = [&](V i, V mask) {
      g.store(dst, g.load(src, g.at(p[0], src, i), mask), g.at(p[1], dst, i), code.filled ? V{} : mask);
    };
    g.carry(0, whole, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, {}), Vs{}; });
    const V tail = g.mask_below(n - whole);
    g.carry(whole, n, g.lanes, {}, [&](V i, Vs) -> Vs { return step(i, tail), Vs{}; });
    return {g.at(p[0], src, from_row), g.at(p[1], dst, to_row)};
  });
  g.finish();
}

// Float32: 4x4 inside 128-bit lanes, then the lanes; else a butterfly.
Vs transpose(MicroCode& g, Vs r) {
  int n = g.lanes;
  if (item_size(g.acc) == 8) {
    for (int d = n / 2; d > 0; d /= 2) {
      std::vector<int> low, high;
      for (int l = 0; l < n; ++l) low.push_back(l & d ? n + l - d : l), high.push_back(l & d ? n + l : l + d);
      for (int i = 0; i < n; ++i)
        if (!(i & d)) {
          const V x = r[i], y = r[i + d];
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
    const V a = g.shuffle(r[q], r[q + 1], lo32), b = g.shuffle(r[q], r[q + 1], hi32),
            c = g.shuffle(r[q + 2], r[q + 3], lo32), d = g.shuffle(r[q + 2], r[q + 3], hi32);
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
  Vs out(r.size());
  for (int j = 0; j < 4; ++j) {
    if (n == 4) out[j] = r[j];
    if (n == 8) {
      out[j] = g.shuffle(r[j], r[4 + j], lanes_of({0, 2}));
      out[4 + j] = g.shuffle(r[j], r[4 + j], lanes_of({1, 3}));
    }
    if (n == 16) {
      const V s0 = g.shuffle(r[j], r[4 + j], lanes_of({0, 2, 4, 6})),
              s1 = g.shuffle(r[j], r[4 + j], lanes_of({1, 3, 5, 7}));
      const V s2 = g.shuffle(r[8 + j], r[12 + j], lanes_of({0, 2, 4, 6})),
              s3 = g.shuffle(r[8 + j], r[12 + j], lanes_of({1, 3, 5, 7}));
      out[j] = g.shuffle(s0, s2, lanes_of({0, 2, 4, 6})), out[8 + j] = g.shuffle(s0, s2, lanes_of({1, 3, 5, 7}));
      out[4 + j] = g.shuffle(s1, s3, lanes_of({0, 2, 4, 6})), out[12 + j] = g.shuffle(s1, s3, lanes_of({1, 3, 5, 7}));
    }
  }
  return out;
}

void emit(EmitContext& cx, const micro::Transpose& code) {
  const DType src = code.src, acc = code.to;
  MicroCode g(cx, code, acc);
  const V from = g.arg(0), from_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), rows = g.arg(4), n = g.arg(5);
  Vs p;
  for (int i = 0; i < g.lanes; ++i) p.push_back(g.at(from, src, g.min(i, rows - 1) * from_row));
  // One body, always under a mask: the shuffles are most of the code, and of the time to compile it.
  g.carry(0, n, g.lanes, {}, [&](V i, Vs) -> Vs {
    const V mask = g.mask_below(n - i);
    Vs r;
    for (int j = 0; j < g.lanes; ++j) {
      V x = g.load(src, g.at(p[j], src, i), mask);
      if (code.turned) {
        llvm::Type* words = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(x.v->getType()));
        x = g.wrap(g.b.CreateBitCast(
            g.b.CreateXor(g.b.CreateBitCast(x.v, words), llvm::ConstantInt::get(words, 0x80808080)), x.v->getType()));
      }
      r.push_back(x);
    }
    r = transpose(g, r);
    for (int j = 0; j < g.lanes; ++j) g.store(acc, r[j], g.at(to, acc, (i + j) * to_row));
    return {};
  });
  g.finish();
}

}  // namespace reprise::jit
