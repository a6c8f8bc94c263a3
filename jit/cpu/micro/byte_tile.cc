// Products of rows that are rounded to bytes, part by part, with weights in blocks: the rounding, and the tile.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "jit/cpu/micro/code.h"
#include "jit/engine/target.h"
#include "kernels/cpu/block_kernels.h"

namespace reprise::jit {

namespace {

constexpr DType f32 = DType::Float32;
constexpr int kMost = 127;  // of x

/// Sums in Int32 of products of bytes, x with a sign and w without: four of each in a lane.
class ByteCode : public MicroCode {
 public:
  ByteCode(EmitContext& cx, const micro::MultiplyBytes& code)
      : MicroCode(cx, code, DType::Float32), wide_(code.wide), split_(!wide_ && code.most > 63) {
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
  llvm::Value* x(const V& p) {
    return b.CreateBitCast(
        b.CreateVectorSplat(static_cast<unsigned>(lanes), b.CreateAlignedLoad(i(32), p.v, llvm::Align(1))), words(8));
  }
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
  llvm::FixedVectorType* words(unsigned size) {
    return llvm::FixedVectorType::get(b.getIntNTy(size), static_cast<unsigned>(bits) / size);
  }
  llvm::Constant* number(unsigned size, std::uint64_t n) { return llvm::ConstantInt::get(words(size), n); }
  llvm::Value* product(llvm::Value* sum, llvm::Value* w, llvm::Value* x) {
    namespace I = llvm::Intrinsic;
    if (makes_x86() && wide_) {
      const auto id = bits == 512   ? I::x86_avx512_vpdpbusd_512
                      : bits == 256 ? I::x86_avx512_vpdpbusd_256
                                    : I::x86_avx512_vpdpbusd_128;
      return b.CreateIntrinsic(id, {}, {sum, b.CreateBitCast(w, words(32)), b.CreateBitCast(x, words(32))});
    }
    if (makes_x86()) {
      const auto id = bits == 512   ? I::x86_avx512_pmaddubs_w_512
                      : bits == 256 ? I::x86_avx2_pmadd_ub_sw
                                    : I::x86_ssse3_pmadd_ub_sw_128;
      return b.CreateAdd(sum, b.CreateIntrinsic(id, {}, {w, x}));
    }
    const unsigned each = wide_ ? 4 : 2, size = wide_ ? 32 : 16;
    for (unsigned part = 0; part < each; ++part) {
      std::vector<int> every;
      for (unsigned l = part; l < static_cast<unsigned>(bits) / 8; l += each) every.push_back(static_cast<int>(l));
      sum = b.CreateAdd(sum, b.CreateMul(b.CreateZExt(b.CreateShuffleVector(w, every), words(size)),
                                         b.CreateSExt(b.CreateShuffleVector(x, every), words(size))));
    }
    return sum;
  }
  /// Sums of two words' products.
  llvm::Value* pairs(llvm::Value* x, llvm::Value* by) {
    namespace I = llvm::Intrinsic;
    if (makes_x86())
      return b.CreateIntrinsic(bits == 512   ? I::x86_avx512_pmaddw_d_512
                               : bits == 256 ? I::x86_avx2_pmadd_wd
                                             : I::x86_sse2_pmadd_wd,
                               {}, {x, by});
    std::vector<int> even, odd;
    for (int l = 0; l < bits / 16; l += 2) even.push_back(l), odd.push_back(l + 1);
    auto half = [&](const std::vector<int>& of) {
      return b.CreateMul(b.CreateSExt(b.CreateShuffleVector(x, of), words(32)),
                         b.CreateSExt(b.CreateShuffleVector(by, of), words(32)));
    };
    return b.CreateAdd(half(even), half(odd));
  }

  const bool wide_, split_;
  int steps_;
};

}  // namespace

void emit(EmitContext& cx, const micro::PackBytes& code) {
  using kernels::BlockFormat;
  MicroCode g(cx, code, f32);
  auto& b = g.b;
  const BlockFormat format = code.format;
  const kernels::BlockFacts& f = kernels::facts_of(format);
  const kernels::UnsignedRange range = kernels::unsigned_range(format);
  const bool groups = format >= BlockFormat::G4_32, table = format == BlockFormat::IQ4_NL,
             two = groups || format == BlockFormat::Q4_1;
  const bool four_bits = table || range.most == 15;
  const int lanes = g.lanes, part = kernels::part_of(format), parts = f.elements / part,
            width = kernels::byte_columns(code.bits), header = two ? 4 : 2;
  const V w_row = g.arg(1), halves = g.arg(5), n = g.arg(6), three = w_row * 3;
  Vs state;  // every fourth row, then the panel, then the words
  for (int q = 0; q < lanes; q += 4) state.push_back(g.at(g.arg(0), DType::UInt8, w_row * q));
  state.push_back(g.arg(2)), state.push_back(halves), state.push_back(g.at(g.arg(0), DType::UInt8, w_row * lanes));
  const std::size_t quarters = static_cast<std::size_t>(lanes) / 4;
  auto row = [&](const Vs& s, int r, int offset) {
    const V& p = s[static_cast<std::size_t>(r) / 4];
    const V from = r % 4 == 0 ? p : g.at(p, DType::UInt8, r % 4 == 3 ? three : w_row * (r % 4));
    return g.at(from, DType::UInt8, offset);
  };
  // In each 128 bits two words of x and of y, from `first` on: one by one in turn, or in pairs.
  auto shuffled = [&](llvm::Value* x, llvm::Value* y, int first, bool pairs) {
    std::vector<int> m;
    for (int l = first; l < lanes; l += 4)
      for (int i = 0; i < 4; ++i) m.push_back(pairs ? l + i % 2 + i / 2 * lanes : l + i / 2 + i % 2 * lanes);
    return b.CreateShuffleVector(x, y, m);
  };
  // 16 bytes of each row, as four vectors of words by row.
  auto words = [&](const Vs& s, int offset) {
    std::vector<llvm::Value*> by_row;
    for (int t = 0; t < 4; ++t) {
      std::vector<llvm::Value*> some;
      for (int r = t; r < lanes; r += 4)
        some.push_back(b.CreateAlignedLoad(g.i(32, 4), row(s, r, offset).v, llvm::Align(1)));
      for (; some.size() > 1; some.resize(some.size() / 2))
        for (std::size_t i = 0; i < some.size() / 2; ++i) some[i] = g.joined(some[2 * i], some[2 * i + 1]);
      by_row.push_back(some[0]);
    }
    llvm::Value *low01 = shuffled(by_row[0], by_row[1], 0, false), *high01 = shuffled(by_row[0], by_row[1], 2, false),
                *low23 = shuffled(by_row[2], by_row[3], 0, false), *high23 = shuffled(by_row[2], by_row[3], 2, false);
    return std::vector<llvm::Value*>{shuffled(low01, low23, 0, true), shuffled(low01, low23, 2, true),
                                     shuffled(high01, high23, 0, true), shuffled(high01, high23, 2, true)};
  };
  llvm::Type* bytes = g.i(8, lanes * 4);
  auto number = [&](std::uint64_t x) { return llvm::ConstantInt::get(bytes, x); };
  auto looked_up = [&](llvm::Value* q) -> llvm::Value* {
    std::vector<llvm::Constant*> all;
    for (int i = 0; i < lanes * 4; ++i)
      all.push_back(b.getInt8(static_cast<std::uint8_t>(kernels::kIq4Table[i % 16] + range.added)));
    llvm::Constant* of = llvm::ConstantVector::get(all);
    namespace I = llvm::Intrinsic;
    if (makes_x86())
      return b.CreateIntrinsic(code.bits == 512   ? I::x86_avx512_pshuf_b_512
                               : code.bits == 256 ? I::x86_avx2_pshuf_b
                                                  : I::x86_ssse3_pshuf_b_128,
                               {}, {of, q});
    llvm::Value* found = b.CreateVectorSplat(static_cast<unsigned>(lanes * 4), of->getAggregateElement(0u));
    for (unsigned i = 1; i < 16; ++i)
      found = b.CreateSelect(b.CreateICmpEQ(q, number(i)),
                             b.CreateVectorSplat(static_cast<unsigned>(lanes * 4), of->getAggregateElement(i)), found);
    return found;
  };
  // The next rows are fetched meanwhile, some with each block: so short ones from so many places no prefetching of the
  // hardware follows.
  const V length = n * f.bytes, fetched = g.ceil_div(g.i64(lanes), g.max(n, 1));
  g.carry(0, n, 1, state, [&](V, Vs s) -> Vs {
    s[quarters + 2] = g.carry(0, fetched, 1, {s[quarters + 2]}, [&](V, Vs next) -> Vs {
      g.carry(0, length, 64, {}, [&](V line, Vs) -> Vs { return g.prefetch(g.at(next[0], DType::UInt8, line)), Vs{}; });
      return {g.at(next[0], DType::UInt8, w_row)};
    })[0];
    for (int r = 0; r < lanes; ++r) {
      llvm::Value* half = b.CreateAlignedLoad(g.i(two ? 32 : 16), row(s, r, 0).v, llvm::Align(1));
      b.CreateAlignedStore(b.CreateZExt(half, g.i(32)), g.at(s[quarters + 1], DType::Int32, r).v, llvm::Align(4));
    }
    auto put = [&](int group, llvm::Value* q) {
      if (table) q = looked_up(q);
      else if (range.added == 128) q = b.CreateXor(q, number(0x80));
      b.CreateAlignedStore(q, g.at(s[quarters], DType::UInt8, group * width * 4).v, llvm::Align(4));
    };
    for (int e = 0; e < f.elements; e += four_bits ? 32 : 16) {
      const std::vector<llvm::Value*> some = words(s, header + (four_bits ? e / 2 : e));
      for (int i = 0; i < 4; ++i) {
        llvm::Value* q = b.CreateBitCast(some[static_cast<std::size_t>(i)], bytes);
        put(e / 4 + i, four_bits ? b.CreateAnd(q, number(15)) : q);
      }
      for (int i = 0; four_bits && i < 4; ++i)
        put(e / 4 + 4 + i, b.CreateLShr(b.CreateBitCast(some[static_cast<std::size_t>(i)], bytes), number(4)));
    }
    for (std::size_t q = 0; q < quarters; ++q) s[q] = g.at(s[q], DType::UInt8, f.bytes);
    s[quarters] = g.at(s[quarters], DType::UInt8, f.elements * width);
    s[quarters + 1] = g.at(s[quarters + 1], DType::Int32, lanes);
    return s;
  });
  // What the words are is asked when all have been stored: a vector is read of none that is on its way.
  g.carry(0, n, 1, {halves, g.arg(3), g.arg(4)}, [&](V, Vs p) -> Vs {
    llvm::Value* both = b.CreateAlignedLoad(g.i(32, lanes), p[0].v, llvm::Align(4));
    auto floats = [&](llvm::Value* x) {
      return g.wrap(
          b.CreateFPExt(b.CreateBitCast(b.CreateTrunc(x, g.i(16, lanes)),
                                        llvm::FixedVectorType::get(b.getHalfTy(), static_cast<unsigned>(lanes))),
                        g.vector()));
    };
    const V by = floats(both);
    V less = by * g.constant(range.added);
    if (two) {
      const V second = floats(b.CreateLShr(both, llvm::ConstantInt::get(both->getType(), 16)));
      less = groups ? second * by : g.wrap(b.CreateFNeg(second.v));
    }
    for (int i = 0; i < parts; ++i)
      g.store(f32, by, g.at(p[1], f32, i * width)), g.store(f32, less, g.at(p[2], f32, i * width));
    return {g.at(p[0], DType::Int32, lanes), g.at(p[1], f32, parts * width), g.at(p[2], f32, parts * width)};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::QuantizeRows& code) {
  MicroCode g(cx, code, f32);
  auto& b = g.b;
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::QuantizedRows, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::QuantizedRows, name))
  const V x_row = REPRISE_INTEGER(x_row), q_row = REPRISE_INTEGER(q_row), scale_row = REPRISE_INTEGER(scale_row),
          rows = REPRISE_INTEGER(rows), parts = REPRISE_INTEGER(parts);
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
        const V by = g.select(most > numbers(0x1p-100), numbers(kMost) / most, numbers(0)),
                scale = most * numbers(1.0 / kMost);
        for (int i = 0; i < count; ++i) {
          const V each = g.shuffle(by, by, std::vector<int>(static_cast<std::size_t>(g.lanes), i));
          V sum;
          for (int v = 0; v < vectors; ++v) {
            const V t =
                g.multiply_add(x[static_cast<std::size_t>(i)][static_cast<std::size_t>(v)], each, g.constant(kMagic));
            b.CreateAlignedStore(b.CreateTrunc(b.CreateBitCast(t.v, g.i(32, g.lanes)), g.i(8, g.lanes)),
                                 g.at(row[1], DType::Int8, (p + i) * code.part + v * g.lanes).v, llvm::Align(1));
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
    return {g.at(row[0], f32, x_row), g.at(row[1], DType::Int8, q_row), g.at(row[2], f32, scale_row),
            g.at(row[3], f32, scale_row)};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::MultiplyBytes& code) {
  ByteCode g(cx, code);
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::ByteTile, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::ByteTile, name))
  const V x = REPRISE_POINTER(x), x_row = REPRISE_INTEGER(x_row), x_scale = REPRISE_POINTER(x_scale),
          x_less = REPRISE_POINTER(x_less), x_scale_row = REPRISE_INTEGER(x_scale_row), y = REPRISE_POINTER(y),
          y_row = REPRISE_INTEGER(y_row), n = REPRISE_INTEGER(n), parts = REPRISE_INTEGER(parts),
          first = REPRISE_INTEGER(first);
  const Vs w{REPRISE_POINTER(w), REPRISE_POINTER(w_scale), REPRISE_POINTER(w_less)};
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  const int nv = kernels::byte_vectors(code.bits), mr = code.rows, width = nv * g.lanes;
  auto index = [&](int r, int v) { return static_cast<std::size_t>(r * nv + v); };
  Vs xs, scales, lesses;
  for (int r = 0; r < mr; ++r)
    xs.push_back(g.at(x, DType::Int8, x_row * r)), scales.push_back(g.at(x_scale, f32, x_scale_row * r)),
        lesses.push_back(g.at(x_less, f32, x_scale_row * r));
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
    for (int v = 0; v < nv; ++v)
      by.push_back(g.load(f32, g.at(s[at + 1], f32, v * g.lanes))),
          less.push_back(g.load(f32, g.at(s[at + 2], f32, v * g.lanes)));
    for (int r = 0; r < mr; ++r) {
      const V row_by = g.load_splat(f32, g.at(scales[static_cast<std::size_t>(r)], f32, p)),
              row_less = g.load_splat(f32, g.at(lesses[static_cast<std::size_t>(r)], f32, p));
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
