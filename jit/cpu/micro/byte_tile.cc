// Products of rows that are rounded to bytes, part by part, with weights in blocks: the rounding, and the tile.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "jit/cpu/micro/code.h"
#include "kernels/cpu/block_kernels.h"

namespace reprise::jit {

namespace {

constexpr DType f32 = DType::Float32;
constexpr int kMost = 127;  // of x

/// Sums in Int32 of products of bytes, x with a sign and w without: four of each in a lane.
class ByteCode : public MicroCode {
 public:
  ByteCode(EmitContext& cx, const micro::MultiplyBytes& code) : MicroCode(cx, code, DType::Float32), wide_(code.wide), split_(!wide_ && code.most > 63) {
    // Two products of bytes meet in 16 bits; so many pairs fit there. Of a whole byte its halves are multiplied.
    steps_ = wide_ ? code.part / 4 : std::clamp(32767 / (2 * kMost * (split_ ? 15 : code.most)), 1, code.part / 4);
    while (code.part / 4 % steps_) --steps_;
  }

  /// A sum over steps(), of which there may be several kinds.
  using Sum = std::vector<llvm::Value*>;
  int steps() const { return steps_; }
  Sum none() { return Sum(split_ ? 2 : 1, llvm::Constant::getNullValue(wide_ ? words(32) : words(16))); }
  Sum w(const V& p) {
    llvm::Value* q = b.CreateAlignedLoad(words(8), p.v, llvm::Align(1));
    if (!split_) return {q};
    return {b.CreateAnd(q, number(8, 15)), b.CreateLShr(q, number(8, 4))};
  }
  llvm::Value* x(const V& p) { return b.CreateBitCast(b.CreateVectorSplat(static_cast<unsigned>(lanes), b.CreateAlignedLoad(i(32), p.v, llvm::Align(1))), words(8)); }
  void add(Sum& sum, const Sum& w, llvm::Value* x) {
    for (std::size_t part = 0; part < sum.size(); ++part) sum[part] = product(sum[part], w[part], x);
  }
  /// Of each lane's four.
  llvm::Value* whole(const Sum& sum) {
    if (wide_) return sum[0];
    llvm::Value* all = pairs(sum[0], number(16, 1));
    return split_ ? b.CreateAdd(all, pairs(sum[1], number(16, 16))) : all;
  }

 private:
  llvm::FixedVectorType* words(unsigned size) { return llvm::FixedVectorType::get(b.getIntNTy(size), static_cast<unsigned>(bits) / size); }
  llvm::Constant* number(unsigned size, std::uint64_t n) { return llvm::ConstantInt::get(words(size), n); }
  llvm::Value* product(llvm::Value* sum, llvm::Value* w, llvm::Value* x) {
#if defined(__x86_64__)
    namespace I = llvm::Intrinsic;
    if (wide_) {
      const auto id = bits == 512 ? I::x86_avx512_vpdpbusd_512 : bits == 256 ? I::x86_avx512_vpdpbusd_256 : I::x86_avx512_vpdpbusd_128;
      return b.CreateIntrinsic(id, {}, {sum, b.CreateBitCast(w, words(32)), b.CreateBitCast(x, words(32))});
    }
    const auto id = bits == 512 ? I::x86_avx512_pmaddubs_w_512 : bits == 256 ? I::x86_avx2_pmadd_ub_sw : I::x86_ssse3_pmadd_ub_sw_128;
    return b.CreateAdd(sum, b.CreateIntrinsic(id, {}, {w, x}));
#else
    const unsigned each = wide_ ? 4 : 2, size = wide_ ? 32 : 16;
    for (unsigned part = 0; part < each; ++part) {
      std::vector<int> every;
      for (unsigned l = part; l < static_cast<unsigned>(bits) / 8; l += each) every.push_back(static_cast<int>(l));
      sum = b.CreateAdd(sum, b.CreateMul(b.CreateZExt(b.CreateShuffleVector(w, every), words(size)), b.CreateSExt(b.CreateShuffleVector(x, every), words(size))));
    }
    return sum;
#endif
  }
  /// Sums of two words' products.
  llvm::Value* pairs(llvm::Value* x, llvm::Value* by) {
#if defined(__x86_64__)
    namespace I = llvm::Intrinsic;
    return b.CreateIntrinsic(bits == 512 ? I::x86_avx512_pmaddw_d_512 : bits == 256 ? I::x86_avx2_pmadd_wd : I::x86_sse2_pmadd_wd, {}, {x, by});
#else
    std::vector<int> even, odd;
    for (int l = 0; l < bits / 16; l += 2) even.push_back(l), odd.push_back(l + 1);
    auto half = [&](const std::vector<int>& of) { return b.CreateMul(b.CreateSExt(b.CreateShuffleVector(x, of), words(32)), b.CreateSExt(b.CreateShuffleVector(by, of), words(32))); };
    return b.CreateAdd(half(even), half(odd));
#endif
  }

  const bool wide_, split_;
  int steps_;
};

}  // namespace

void emit(EmitContext& cx, const micro::QuantizeRows& code) {
  MicroCode g(cx, code, f32);
  auto& b = g.b;
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::QuantizedRows, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::QuantizedRows, name))
  const V x_row = REPRISE_INTEGER(x_row), q_row = REPRISE_INTEGER(q_row), scale_row = REPRISE_INTEGER(scale_row), rows = REPRISE_INTEGER(rows), parts = REPRISE_INTEGER(parts);
  const Vs first{REPRISE_POINTER(x), REPRISE_POINTER(q), REPRISE_POINTER(scale), REPRISE_POINTER(less)};
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  constexpr double kMagic = 0x1.8p23;  // adding it leaves the nearest integer in the low bits
  constexpr int kTogether = 4;         // parts, whose lanes are folded together
  const int vectors = code.part / g.lanes;
  g.carry(0, rows, 1, first, [&](V, Vs row) -> Vs {
    auto pass = [&](V from, V to, int count) {
      g.carry(from, to, count, {}, [&](V p, Vs) -> Vs {
        const std::size_t n = static_cast<std::size_t>(count);
        std::vector<Vs> x(n);
        Vs largest, sums;
        for (int i = 0; i < count; ++i) {
          V most;
          for (int v = 0; v < vectors; ++v) {
            x[static_cast<std::size_t>(i)].push_back(g.load(f32, g.at(row[0], f32, (p + i) * code.part + v * g.lanes)));
            // As integers absolute values have the same order, and NaN is above all.
            llvm::Value* magnitude = b.CreateBitCast(x[static_cast<std::size_t>(i)].back().v, g.i(32, g.lanes));
            const V here = g.wrap(b.CreateAnd(magnitude, llvm::ConstantInt::get(magnitude->getType(), 0x7fffffff)));
            most = v ? g.max(most, here) : here;
          }
          largest.push_back(most);
        }
        const V bits = sum_each(g, largest, [&](V x, V y) { return g.max(x, y); });
        llvm::Type* type = g.f32(count);
        auto numbers = [&](double c) { return g.wrap(llvm::ConstantFP::get(type, c)); };
        const V most = g.wrap(b.CreateBitCast(bits.v, type));
        const V by = g.select(most > numbers(0x1p-100), numbers(kMost) / most, numbers(0)), scale = most * numbers(1.0 / kMost);
        for (int i = 0; i < count; ++i) {
          const V each = g.shuffle(by, by, std::vector<int>(static_cast<std::size_t>(g.lanes), i));
          V sum;
          for (int v = 0; v < vectors; ++v) {
            const V t = g.multiply_add(x[static_cast<std::size_t>(i)][static_cast<std::size_t>(v)], each, g.constant(kMagic));
            b.CreateAlignedStore(b.CreateTrunc(b.CreateBitCast(t.v, g.i(32, g.lanes)), g.i(8, g.lanes)), g.at(row[1], DType::Int8, (p + i) * code.part + v * g.lanes).v, llvm::Align(1));
            const V q = t - g.constant(kMagic);
            sum = v ? sum + q : q;
          }
          sums.push_back(sum);
        }
        g.store(f32, scale, g.at(row[2], f32, p));
        g.store(f32, g.wrap(b.CreateFNeg((sum_each(g, sums) * scale).v)), g.at(row[3], f32, p));
        return {};
      });
    };
    const V together = g.whole(parts, kTogether);
    pass(0, together, kTogether);
    pass(together, parts, 1);
    return {g.at(row[0], f32, x_row), g.at(row[1], DType::Int8, q_row), g.at(row[2], f32, scale_row), g.at(row[3], f32, scale_row)};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::MultiplyBytes& code) {
  ByteCode g(cx, code);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::ByteTile, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::ByteTile, name))
  const V x = REPRISE_POINTER(x), x_row = REPRISE_INTEGER(x_row), x_scale = REPRISE_POINTER(x_scale), x_less = REPRISE_POINTER(x_less), x_scale_row = REPRISE_INTEGER(x_scale_row), y = REPRISE_POINTER(y),
          y_row = REPRISE_INTEGER(y_row), n = REPRISE_INTEGER(n), parts = REPRISE_INTEGER(parts), first = REPRISE_INTEGER(first);
  const Vs w{REPRISE_POINTER(w), REPRISE_POINTER(w_scale), REPRISE_POINTER(w_less)};
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  const int nv = kernels::byte_vectors(code.bits), mr = code.rows, width = nv * g.lanes;
  auto index = [&](int r, int v) { return static_cast<std::size_t>(r * nv + v); };
  Vs xs, scales, lesses;
  for (int r = 0; r < mr; ++r) xs.push_back(g.at(x, DType::Int8, x_row * r)), scales.push_back(g.at(x_scale, f32, x_scale_row * r)), lesses.push_back(g.at(x_less, f32, x_scale_row * r));
  auto each = [&](const std::function<void(int, int, V, V)>& f) {
    for (int v = 0; v < nv; ++v) {
      const V mask = g.mask_below(n - v * g.lanes);
      for (int r = 0; r < mr; ++r) f(r, v, g.at(y, f32, y_row * r + v * g.lanes), mask);
    }
  };
  Vs state(static_cast<std::size_t>(mr * nv), g.zero());
  state = g.carry(first, 1, 1, state, [&](V, Vs s) -> Vs {  // 0 or 1 times
    each([&](int r, int v, V p, V mask) { s[index(r, v)] = g.load(f32, p, mask); });
    return s;
  });
  for (const V& p : w) state.push_back(p);
  state = g.carry(0, parts, 1, state, [&](V p, Vs s) -> Vs {
    const std::size_t at = static_cast<std::size_t>(mr * nv);
    std::vector<llvm::Value*> sums(at);
    for (int step = 0; step < code.part / 4; step += g.steps()) {
      std::vector<ByteCode::Sum> some(at, g.none());
      for (int i = step; i < step + g.steps(); ++i) {
        std::vector<ByteCode::Sum> ws;
        for (int v = 0; v < nv; ++v) ws.push_back(g.w(g.at(s[at], DType::UInt8, (i * width + v * g.lanes) * 4)));
        for (int r = 0; r < mr; ++r) {
          llvm::Value* group = g.x(g.at(xs[static_cast<std::size_t>(r)], DType::Int8, p * code.part + i * 4));
          for (int v = 0; v < nv; ++v) g.add(some[index(r, v)], ws[static_cast<std::size_t>(v)], group);
        }
      }
      for (std::size_t i = 0; i < at; ++i) {
        llvm::Value* whole = g.whole(some[i]);
        sums[i] = step ? g.b.CreateAdd(sums[i], whole) : whole;
      }
    }
    Vs by, less;
    for (int v = 0; v < nv; ++v) by.push_back(g.load(f32, g.at(s[at + 1], f32, v * g.lanes))), less.push_back(g.load(f32, g.at(s[at + 2], f32, v * g.lanes)));
    for (int r = 0; r < mr; ++r) {
      const V row_by = g.load_splat(f32, g.at(scales[static_cast<std::size_t>(r)], f32, p)), row_less = g.load_splat(f32, g.at(lesses[static_cast<std::size_t>(r)], f32, p));
      for (int v = 0; v < nv; ++v) {
        V& t = s[index(r, v)];
        const V sum = g.wrap(g.b.CreateSIToFP(sums[index(r, v)], g.vector()));
        t = g.multiply_add(sum * by[static_cast<std::size_t>(v)], row_by, t);
        t = g.multiply_add(less[static_cast<std::size_t>(v)], row_less, t);
      }
    }
    s[at] = g.at(s[at], DType::UInt8, code.part * width);
    for (std::size_t i = 1; i < 3; ++i) s[at + i] = g.at(s[at + i], f32, width);
    return s;
  });
  each([&](int r, int v, V p, V mask) { g.store(f32, state[index(r, v)], p, mask); });
  g.finish();
}

}  // namespace reprise::jit
