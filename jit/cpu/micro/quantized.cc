// Products of quantized matrices: dots that stream the weights once, the tile of the blocked product, and what makes
// floats of integer sums.
#include <algorithm>
#include <cstddef>

#include "jit/cpu/micro/code.h"
#include "jit/engine/target.h"

namespace reprise::jit {

namespace {

/// `lanes` sums in Int32, and what they are sums of: groups of bytes or of words.
class IntCode : public MicroCode {
 public:
  template <kernels::KernelKind K>
  IntCode(EmitContext& cx, const K& code)
      : MicroCode(cx, code, DType::Int32), bytes(is_bytes(code)), group(kernels::int_group(bytes)),
        step(lanes * group) {}

  template <class K>
  static bool is_bytes(const K& code) {
    if constexpr (requires { code.form; }) return code.form == kernels::Multiplied::Bytes;
    else return code.bytes;
  }
  const bool bytes;
  const int group, step;  ///< elements of x for a lane, and for a vector

  std::int64_t x_size() const { return bytes ? 1 : 2; }
  V x_at(const V& p, const V& index) { return at(p, DType::UInt8, i64(index) * x_size()); }
  /// A vector of x's elements; one group of them in every lane.
  V x(const V& p) { return wrap(b.CreateAlignedLoad(elements(), p.v, llvm::Align(1))); }
  V x_group(const V& p) {
    return wrap(b.CreateBitCast(
        b.CreateVectorSplat(static_cast<unsigned>(lanes), b.CreateAlignedLoad(i(32), p.v, llvm::Align(1))),
        elements()));
  }
  /// A step of weights as the products take them.
  Vs weights(const V& p) {
    llvm::Value* w = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(step)), p.v,
                                         llvm::Align(1));
    return {wrap(bytes ? turned(w) : b.CreateSExt(w, elements()))};
  }
  Vs x_step(const V& p) { return {x(p)}; }
  /// Of weights that stand as the products take them already.
  V packed(const V& p) { return wrap(b.CreateAlignedLoad(elements(), p.v, llvm::Align(1))); }
  /// sums + w * x, by groups.
  V add_products(const V& sums, const V& w, const V& x) {
    llvm::Value* made = nullptr;
    namespace I = llvm::Intrinsic;
    if (makes_x86() && bytes) {
      const auto id = bits == 512   ? I::x86_avx512_vpdpbusd_512
                      : bits == 256 ? I::x86_avx512_vpdpbusd_256
                                    : I::x86_avx512_vpdpbusd_128;
      return wrap(b.CreateIntrinsic(id, {}, {sums.v, b.CreateBitCast(w.v, vector()), b.CreateBitCast(x.v, vector())}));
    }
    if (makes_x86())
      return sums + wrap(b.CreateIntrinsic(bits == 512   ? I::x86_avx512_pmaddw_d_512
                                           : bits == 256 ? I::x86_avx2_pmadd_wd
                                                         : I::x86_sse2_pmadd_wd,
                                           {}, {w.v, x.v}));
    for (int part = 0; part < group; ++part) {
      std::vector<int> every;
      for (int l = 0; l < lanes; ++l) every.push_back(l * group + part);
      llvm::Value *a = b.CreateShuffleVector(w.v, every),
                  *c = b.CreateSExt(b.CreateShuffleVector(x.v, every), vector());
      llvm::Value* p = b.CreateMul(bytes ? b.CreateZExt(a, vector()) : b.CreateSExt(a, vector()), c);
      made = made ? b.CreateAdd(made, p) : p;
    }
    return sums + wrap(made);
  }
  V ones() { return wrap(llvm::ConstantInt::get(elements(), 0x80)); }
  /// What the weights' 128 added to sums over x[0, whole): 128 times the sum, in all lanes.
  V added(const V& x_row, const V& whole) {
    Vs sum = carry(0, whole, step, {zero()},
                   [&](V i, Vs s) -> Vs { return {add_products(s[0], ones(), x(x_at(x_row, i)))}; });
    return fold(sum[0], [](V x, V y) { return x + y; });
  }
  /// The products of what no vector holds, by lanes.
  V rest(const V& x_row, const V& w_row, const V& whole, const V& k) {
    if (bits == 512) {  // bytes have masks
      return carry(whole, k, step, {zero()}, [&](V i, Vs s) -> Vs {
        const V mask = mask_below(k - i, step);
        auto masked = [&](llvm::FixedVectorType* type, const V& p) {
          return b.CreateMaskedLoad(type, p.v, llvm::Align(1), mask.v, llvm::Constant::getNullValue(type));
        };
        llvm::Value* w =
            masked(llvm::FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(step)), at(w_row, DType::Int8, i));
        const V xi = wrap(masked(elements(), x_at(x_row, i))),
                sum = add_products(s[0], wrap(bytes ? turned(w) : b.CreateSExt(w, elements())), xi);
        return {bytes ? sum - add_products(zero(), ones(), xi) : sum};
      })[0];
    }
    Vs sum = carry(whole, k, 1, {wrap(b.getInt32(0))}, [&](V i, Vs s) -> Vs {
      llvm::Value* xi = b.CreateSExt(
          b.CreateAlignedLoad(b.getIntNTy(static_cast<unsigned>(8 * x_size())), x_at(x_row, i).v, llvm::Align(1)),
          b.getInt32Ty());
      llvm::Value* wi =
          b.CreateSExt(b.CreateAlignedLoad(b.getInt8Ty(), at(w_row, DType::Int8, i).v, llvm::Align(1)), b.getInt32Ty());
      return {s[0] + wrap(b.CreateMul(xi, wi))};
    });
    return wrap(b.CreateInsertElement(zero().v, sum[0].v, std::uint64_t{0}));
  }

 private:
  llvm::FixedVectorType* elements() {
    return llvm::FixedVectorType::get(b.getIntNTy(static_cast<unsigned>(8 * x_size())), static_cast<unsigned>(step));
  }
  llvm::Value* turned(llvm::Value* w) { return b.CreateXor(w, llvm::ConstantInt::get(w->getType(), 0x80)); }
};

/// Sums of products of bfloat16 in Float32, of weights in float8: a table of 128 numbers gives each of the two bytes of
/// a number, and its own sign. The words stand within 16 bytes as vpunpck leaves them; x is brought into that order
/// (kHalfOrder).
class HalfCode : public MicroCode {
 public:
  static constexpr int step = kernels::kHalfStep, x_size_ = 2;
  static constexpr bool bytes = false;

  template <kernels::KernelKind K>
  HalfCode(EmitContext& cx, const K& code) : MicroCode(cx, code, DType::Float32), w_(code.w) {
    for (int byte = 0; byte < 2; ++byte)
      for (int half = 0; half < 2; ++half) {
        std::vector<llvm::Constant*> c;
        for (int i = 0; i < 64; ++i)
          c.push_back(b.getInt8(static_cast<std::uint8_t>(
              kernels::half_of_float8(w_, static_cast<std::uint8_t>(half * 64 + i)) >> (8 * byte))));
        table_[byte][half] = llvm::ConstantVector::get(c);
      }
  }
  V x_at(const V& p, const V& index) { return at(p, DType::UInt8, i64(index) * x_size_); }
  Vs weights(const V& p) { return widened(b.CreateAlignedLoad(quarters(), p.v, llvm::Align(1))); }
  Vs widened(llvm::Value* w) {
    auto from = [&](int byte) {
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                               {table_[byte][0], w, table_[byte][1]});
    };
    llvm::Value *low = from(0), *high = from(1);
    high = b.CreateOr(high, b.CreateAnd(w, llvm::ConstantInt::get(quarters(), 0x80)));
    Vs out;
    for (int part = 0; part < 2; ++part) {
      std::vector<int> order;
      for (int lane = 0; lane < 64; lane += 16)
        for (int i = 0; i < 8; ++i) order.push_back(lane + part * 8 + i), order.push_back(64 + lane + part * 8 + i);
      out.push_back(wrap(b.CreateBitCast(b.CreateShuffleVector(low, high, order), halves())));
    }
    return out;
  }
  Vs x_step(const V& p) {
    Vs out;
    for (int part = 0; part < 2; ++part)
      out.push_back(wrap(b.CreateAlignedLoad(halves(), at(p, DType::UInt8, part * 64).v, llvm::Align(1))));
    return out;
  }
  V add_products(const V& sums, const V& w, const V& x) { return dot_of_halves(*this, sums, w, x); }
  V rest(const V& x_row, const V& w_row, const V& whole, const V& k) {
    return carry(whole, k, step, {zero()}, [&](V i, Vs s) -> Vs {
      llvm::Value* w = b.CreateMaskedLoad(quarters(), at(w_row, DType::Int8, i).v, llvm::Align(1),
                                          mask_below(k - i, step).v, llvm::Constant::getNullValue(quarters()));
      const Vs wi = widened(w), xi = x_step(x_at(x_row, i));
      return {add_products(add_products(s[0], wi[0], xi[0]), wi[1], xi[1])};
    })[0];
  }
  V added(const V&, const V&) { return zero(); }
  V ones() { return {}; }

 private:
  llvm::FixedVectorType* quarters() { return llvm::FixedVectorType::get(b.getInt8Ty(), 64); }
  llvm::FixedVectorType* halves() { return llvm::FixedVectorType::get(b.getBFloatTy(), 32); }
  const DType w_;
  llvm::Constant* table_[2][2];
};

/// Sums in Float32 of weights that are widened to it.
class FloatCode : public MicroCode {
 public:
  static constexpr bool bytes = false;
  const int step;

  FloatCode(EmitContext& cx, const micro::BlockDot& code)
      : MicroCode(cx, code, DType::Float32), step(lanes), w_(code.w) {}
  V x_at(const V& p, const V& index) { return at(p, DType::Float32, index); }
  Vs weights(const V& p) { return {load(w_, p)}; }
  Vs x_step(const V& p) { return {load(DType::Float32, p)}; }
  V add_products(const V& sums, const V& w, const V& x) { return multiply_add(w, x, sums); }
  V rest(const V& x_row, const V& w_row, const V& whole, const V& k) {
    if (bits == 512) {
      return carry(whole, k, step, {zero()}, [&](V i, Vs s) -> Vs {
        const V mask = mask_below(k - i);
        return {multiply_add(load(w_, at(w_row, w_, i), mask), load(DType::Float32, x_at(x_row, i), mask), s[0])};
      })[0];
    }
    Vs sum = carry(whole, k, 1, {wrap(llvm::ConstantFP::get(f32(), 0))}, [&](V i, Vs s) -> Vs {
      V xi = wrap(Emitter::load(DType::Float32, x_at(x_row, i).v, 0, nullptr)),
        wi = wrap(cast(w_, DType::Float32, Emitter::load(w_, at(w_row, w_, i).v, 0, nullptr)));
      return {multiply_add(xi, wi, s[0])};
    });
    return wrap(b.CreateInsertElement(zero().v, sum[0].v, std::uint64_t{0}));
  }
  V ones() { return {}; }

 private:
  const DType w_;
};

/// sums + a step of w times one of x.
template <class Code>
V add_step(Code& g, V sums, const Vs& w, const Vs& x) {
  for (std::size_t i = 0; i < w.size(); ++i) sums = g.add_products(sums, w[i], x[i]);
  return sums;
}

/// One row of x: rows of w from beginning to end, one after the other, as they stand in memory. Sums of a few rows wait
/// on the stack and are summed over their lanes at once.
template <class Code>
void dot_by_rows(Code& g) {
  const V x = g.arg(0), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), n = g.arg(6), k = g.arg(7);
  constexpr int kSums = 4;
  const int group = std::min(8, g.lanes);
  const std::int64_t step = kSums * g.step;
  StackedVectors waiting(g, group);
  // What is prefetched: the same place some rows later, about 4 KiB away; within the row where rows are long.
  constexpr std::int64_t kAhead = 4096, kLong = 16384;
  const V ahead = g.select(k <= kLong, w_row * g.max(g.i64(kAhead) / g.max(k, 1), 1), kAhead);
  const V four = g.whole(k, step), whole = g.whole(k, g.step), added = g.bytes ? g.added(x, whole) : g.zero();
  g.carry(0, n, group, {w}, [&](V j, Vs at) -> Vs {
    const V left = n - j, count = g.min(left, group);
    at = g.carry(0, count, 1, at, [&](V i, Vs p) -> Vs {
      Vs sums(kSums, g.zero());
      auto add = [&](V c, V s) {
        return add_step(g, s, g.weights(g.at(p[0], DType::Int8, c)), g.x_step(g.x_at(x, c)));
      };
      sums = g.carry(0, four, step, sums, [&](V c, Vs s) -> Vs {
        for (std::int64_t line = 0; line < step; line += 64) g.prefetch(g.at(p[0], DType::Int8, c + ahead + line));
        for (int v = 0; v < kSums; ++v) s[v] = add(c + v * g.step, s[v]);
        return s;
      });
      V sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      sum = g.carry(four, whole, g.step, {sum}, [&](V c, Vs s) -> Vs { return {add(c, s[0])}; })[0];
      sum = sum + g.rest(x, p[0], whole, k);
      waiting.put(i, sum);
      return {g.at(p[0], DType::Int8, w_row)};
    });
    Vs sums;
    for (int i = 0; i < group; ++i) sums.push_back(waiting.get(g.i64(i)));
    const V out = sum_each(g, sums), to = g.at(y, DType::Int32, j);
    const V total =
        !g.bytes
            ? out
            : out - (group == g.lanes ? added
                                      : g.shuffle(added, added, std::vector<int>(static_cast<std::size_t>(group), 0)));
    g.when(
        left >= group, [&] { g.store(g.acc, total, to); },
        [&] { g.store(g.acc, total, to, g.mask_below(count, group)); });
    return at;
  });
}

/// Four rows of x: a sum for each of them and of a few rows of w.
template <class Code>
void dot_by_groups(Code& g, int rows) {
  const V x = g.arg(0), x_row = g.arg(1), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), y_row = g.arg(5), n = g.arg(6),
          k = g.arg(7);
  const int group = g.bits == 512 ? 4 : 2;
  const V whole = g.whole(k, g.step);
  Vs xp, added;
  for (int r = 0; r < rows; ++r) {
    xp.push_back(g.x_at(x, x_row * r));
    added.push_back(g.bytes ? g.added(xp[r], whole) : g.zero());
  }
  auto pass = [&](V from, V to, int count) {
    g.carry(from, to, count, {g.at(w, DType::Int8, from * w_row)}, [&](V j, Vs p) -> Vs {
      auto freeze = [&](V v) { return g.wrap(g.b.CreateFreeze(v.v)); };  // see dot_by_groups in gemv.cc
      Vs wp{freeze(p[0])};
      for (int i = 1; i < count; ++i) wp.push_back(freeze(g.at(wp.back(), DType::Int8, w_row)));
      Vs sums = g.carry(0, whole, g.step, Vs(static_cast<std::size_t>(rows * count), g.zero()), [&](V c, Vs s) -> Vs {
        for (int i = 0; i < count; ++i) g.prefetch(g.at(wp[i], DType::Int8, c + w_row * count));
        std::vector<Vs> xs;
        for (int r = 0; r < rows; ++r) xs.push_back(g.x_step(g.x_at(xp[r], c)));
        for (int i = 0; i < count; ++i) {
          const Vs wi = g.weights(g.at(wp[i], DType::Int8, c));
          for (int r = 0; r < rows; ++r) {
            V& t = s[static_cast<std::size_t>(r * count + i)];
            t = add_step(g, t, wi, xs[r]);
          }
        }
        return s;
      });
      for (int r = 0; r < rows; ++r) {
        Vs own;
        for (int i = 0; i < count; ++i)
          own.push_back(sums[static_cast<std::size_t>(r * count + i)] + g.rest(xp[r], wp[i], whole, k));
        const V out = sum_each(g, own),
                less = g.shuffle(added[r], added[r], std::vector<int>(static_cast<std::size_t>(count), 0));
        g.store(g.acc, g.bytes ? out - less : out, g.at(y, DType::Int32, y_row * r + j));
      }
      return {g.at(wp.back(), DType::Int8, w_row)};
    });
  };
  const V n_whole = g.whole(n, group);
  pass(0, n_whole, group);
  pass(n_whole, n, 1);
}

/// A few rows of w at once, block by block: a block's sums are scaled as Float32, and summed over their lanes in the
/// end.
template <class Code>
void block_dot(Code& g, int rows) {
  auto& b = g.b;
  const DType f32 = DType::Float32;
  const V x = g.arg(0), x_row = g.arg(1), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), y_row = g.arg(5), n = g.arg(6),
          k = g.arg(7), block = g.arg(8), x_scale = g.arg(9), x_scale_row = g.arg(10), w_scale = g.arg(11),
          w_scale_row = g.arg(12), w_scale_k = g.arg(13);
  llvm::Type* floats = g.f32(g.lanes);
  auto scalar = [&](V p) { return g.wrap(g.Emitter::load(f32, p.v, 0, nullptr)); };
  Vs xp;
  for (int r = 0; r < rows; ++r) xp.push_back(g.x_at(x, x_row * r));
  auto index = [](int a, int of, int i) { return static_cast<std::size_t>(a * of + i); };
  auto pass = [&](V from, V to, int count) {
    g.carry(from, to, count, {g.at(w, DType::Int8, from * w_row), g.at(w_scale, f32, from * w_scale_row)},
            [&](V j, Vs at) -> Vs {
              auto freeze = [&](V v) { return g.wrap(g.b.CreateFreeze(v.v)); };  // see dot_by_groups in gemv.cc
              Vs wp{freeze(at[0])}, by{freeze(at[1])};
              for (int i = 1; i < count; ++i)
                wp.push_back(freeze(g.at(wp.back(), DType::Int8, w_row))),
                    by.push_back(freeze(g.at(by.back(), f32, w_scale_row)));
              // Sums, then how far the scales of w and of x are.
              Vs state(static_cast<std::size_t>(rows * count), g.wrap(llvm::Constant::getNullValue(floats)));
              state.push_back(g.i64(0));
              state.push_back(x_scale);
              state = g.carry(0, k, block, state, [&](V begin, Vs s) -> Vs {
                const V end = g.min(begin + block, k), whole = begin + g.whole(end - begin, g.step);
                // Sums by row; of bytes also what 128 adds to them.
                Vs sums = g.carry(begin, whole, g.step,
                                  Vs(static_cast<std::size_t>(rows * count + (g.bytes ? rows : 0)), g.zero()),
                                  [&](V c, Vs t) -> Vs {
                                    std::vector<Vs> xs;
                                    for (int r = 0; r < rows; ++r) {
                                      xs.push_back(g.x_step(g.x_at(xp[r], c)));
                                      if (!g.bytes) continue;
                                      V& added = t[static_cast<std::size_t>(rows * count + r)];
                                      added = g.add_products(added, g.ones(), xs.back()[0]);
                                    }
                                    for (int i = 0; i < count; ++i) {
                                      g.prefetch(g.at(wp[i], DType::Int8, c + w_row * count));
                                      const Vs wi = g.weights(g.at(wp[i], DType::Int8, c));
                                      for (int r = 0; r < rows; ++r)
                                        t[index(r, count, i)] =
                                            add_step(g, t[index(r, count, i)], wi, xs[static_cast<std::size_t>(r)]);
                                    }
                                    return t;
                                  });
                const V w_at = s[static_cast<std::size_t>(rows * count)],
                        by_x = s[static_cast<std::size_t>(rows * count) + 1];
                // What no step holds; blocks are whole but for the last.
                Vs rest = g.carry(whole, end, end - whole, Vs(static_cast<std::size_t>(rows * count), g.zero()),
                                  [&](V, Vs t) -> Vs {
                                    for (int r = 0; r < rows; ++r)
                                      for (int i = 0; i < count; ++i)
                                        t[index(r, count, i)] = g.rest(xp[r], wp[i], whole, end);
                                    return t;
                                  });
                for (int i = 0; i < count; ++i) {
                  const V by_w = g.splat(scalar(g.at(by[i], f32, w_at)));
                  for (int r = 0; r < rows; ++r) {
                    V sum = sums[index(r, count, i)] + rest[index(r, count, i)];
                    if (g.bytes) sum = sum - sums[static_cast<std::size_t>(rows * count + r)];
                    if (g.acc == DType::Int32) sum = g.wrap(b.CreateSIToFP(sum.v, floats));
                    V& total = s[index(r, count, i)];
                    total = total + sum * g.splat(scalar(g.at(by_x, f32, x_scale_row * r))) * by_w;
                  }
                }
                s[static_cast<std::size_t>(rows * count)] = w_at + w_scale_k;
                s[static_cast<std::size_t>(rows * count) + 1] = g.at(by_x, f32, 1);
                return s;
              });
              for (int r = 0; r < rows; ++r) {
                const V out = sum_each(g, Vs(state.begin() + r * count, state.begin() + (r + 1) * count));
                g.Emitter::store(f32, out.v, g.at(y, f32, y_row * r + j).v, nullptr);
              }
              return {g.at(wp.back(), DType::Int8, w_row), g.at(by.back(), f32, w_scale_row)};
            });
  };
  const int group = rows == 1 ? 4 : g.bits == 512 ? 2 : 1;
  const V n_whole = g.whole(n, group);
  pass(0, n_whole, group);
  if (group > 1) pass(n_whole, n, 1);
  g.finish();
}

}  // namespace

void emit(EmitContext& cx, const micro::IntDot& code) {
  IntCode g(cx, code);
  if (code.rows == 1) dot_by_rows(g);
  else dot_by_groups(g, code.rows);
  g.finish();
}

void emit(EmitContext& cx, const micro::HalfDot& code) {
  HalfCode g(cx, code);
  if (code.rows == 1) dot_by_rows(g);
  else dot_by_groups(g, code.rows);
  g.finish();
}

void emit(EmitContext& cx, const micro::BlockDot& code) {
  auto run = [&](auto&& g) { block_dot(g, code.rows); };
  switch (code.form) {
    case kernels::Multiplied::Words:
    case kernels::Multiplied::Bytes: return run(IntCode(cx, code));
    case kernels::Multiplied::Halves: return run(HalfCode(cx, code));
    case kernels::Multiplied::Floats: return run(FloatCode(cx, code));
  }
}

void emit(EmitContext& cx, const micro::IntTile& code) {
  const int nv = kernels::gemm_vectors(code.bits), mr = kernels::gemm_rows(code.bits);
  IntCode g(cx, code);
  const V a = g.arg(0), a_row = g.arg(1), bp = g.arg(2), start = g.arg(3), sums = g.arg(4), sums_row = g.arg(5),
          rows = g.arg(6), k = g.arg(7);
  // Rows past the end are the last one again: computed again, and stored again as the same.
  Vs row, from, carried;
  for (int i = 0; i < mr; ++i) {
    row.push_back(g.min(i, rows - 1));
    from.push_back(g.at(a, DType::UInt8, row.back() * a_row));
    const V s = g.load_splat(DType::Int32, g.at(start, DType::Int32, row.back()));
    for (int v = 0; v < nv; ++v) carried.push_back(s);
  }
  carried.push_back(bp);
  carried = g.carry(0, k, 1, carried, [&](V c, Vs s) -> Vs {
    Vs w;
    for (int v = 0; v < nv; ++v) w.push_back(g.packed(g.at(s.back(), DType::Int32, v * g.lanes)));
    for (int i = 0; i < mr; ++i) {
      const V x = g.x_group(g.at(from[i], DType::Int32, c));
      for (int v = 0; v < nv; ++v) {
        V& t = s[static_cast<std::size_t>(i * nv + v)];
        t = g.add_products(t, w[v], x);
      }
    }
    s.back() = g.at(s.back(), DType::Int32, nv * g.lanes);
    return s;
  });
  for (int i = 0; i < mr; ++i)
    for (int v = 0; v < nv; ++v)
      g.store(DType::Int32, carried[static_cast<std::size_t>(i * nv + v)],
              g.at(sums, DType::Int32, row[static_cast<std::size_t>(i)] * sums_row + v * g.lanes));
  g.finish();
}

void emit(EmitContext& cx, const micro::ScaleSums& code) {
  MicroCode g(cx, code, DType::Float32);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::ScaleTile, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::ScaleTile, name))
  const V sums = REPRISE_POINTER(sums), sums_row = REPRISE_INTEGER(sums_row), partial = REPRISE_POINTER(partial),
          partial_row = REPRISE_INTEGER(partial_row), row_scale = REPRISE_POINTER(row_scale),
          col_scale = REPRISE_POINTER(col_scale), bias = REPRISE_POINTER(bias), c = REPRISE_POINTER(c),
          c_row = REPRISE_INTEGER(c_row), m = REPRISE_INTEGER(m), n = REPRISE_INTEGER(n),
          first = REPRISE_INTEGER(first), last = REPRISE_INTEGER(last);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  constexpr DType f32 = DType::Float32;
  const V whole = g.whole(n, g.lanes), tail = g.mask_below(n - whole), is_first = first != 0;
  g.carry(0, m, 1, {}, [&](V r, Vs) -> Vs {
    const V by = g.load_splat(g.at(row_scale, f32, r));
    auto scaled = [&](V i, V mask) {
      const V t = g.load(code.sums, g.at(sums, code.sums, r * sums_row + i), mask) * by *
                  g.load(f32, g.at(col_scale, f32, i), mask);
      const V before = g.load(f32, g.at(partial, f32, r * partial_row + i), mask);
      return g.select(is_first, g.zero(), before) + t;
    };
    auto each = [&](const std::function<void(V, V)>& body) {
      g.carry(0, whole, g.lanes, {}, [&](V i, Vs) -> Vs { return body(i, {}), Vs{}; });
      g.carry(whole, n, g.lanes, {}, [&](V i, Vs) -> Vs { return body(i, tail), Vs{}; });
    };
    g.when(
        last != 0,
        [&] {
          each([&](V i, V mask) {
            V t = scaled(i, mask);
            if (code.bias) t = t + g.load(f32, g.at(bias, f32, i), mask);
            g.store(code.c, t, g.at(c, code.c, r * c_row + i), mask);
          });
        },
        [&] {
          each([&](V i, V mask) { g.store(f32, scaled(i, mask), g.at(partial, f32, r * partial_row + i), mask); });
        });
    return {};
  });
  g.finish();
}

}  // namespace reprise::jit
