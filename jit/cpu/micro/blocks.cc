// Weights in blocks (kernels/launch/block_format.h), unpacked in registers: dots with them, and rows of floats for what
// packs them.
#include <map>

#include "jit/cpu/micro/code.h"
#include "jit/engine/target.h"
#include "kernels/cpu/block_kernels.h"

namespace reprise::jit {

namespace {

using kernels::BlockFormat;

/// Elements that are unpacked together. Scales are of as many, or of half of them.
constexpr int kPart = 32;

/// One block, of which code in one basic block asks the elements. What it has read already it does not read again.
class Block {
 public:
  Block(MicroCode& g, BlockFormat format, const V& p) : g(g), b(g.b), format_(format), p_(p) { take_scales(); }

  /// The elements of a part: kPart / lanes vectors. Four bits of 512-bit vectors are looked up in a table that has been
  /// scaled, so that a part costs one operation for its scale, and one for each vector; else bytes become floats, and
  /// these are scaled.
  Vs weights(int part) {
    if (g.bits == 512 && four_bits()) return looked_up(part);
    const bool is_signed = signed_bytes();
    llvm::Value* q = bytes_of(part);
    Vs out;
    for (int v = 0; v < kPart / g.lanes; ++v) {
      std::vector<int> some;
      for (int l = 0; l < g.lanes; ++l) some.push_back(v * g.lanes + l);
      llvm::Value* few = b.CreateShuffleVector(q, some);
      llvm::Type* whole = g.i(32, g.lanes);
      const V f = g.wrap(b.CreateSIToFP(is_signed ? b.CreateSExt(few, whole) : b.CreateZExt(few, whole), g.vector()));
      out.push_back(scaled(f, part, v * g.lanes / (kPart / 2)));
    }
    return out;
  }

  /// A part as 32 integers without signs.
  llvm::Value* whole_bytes(int part) {
    const int added = kernels::unsigned_range(format_).added;
    llvm::Value* q = bytes_of(part);
    return added ? b.CreateAdd(q, llvm::ConstantInt::get(q->getType(), static_cast<std::uint64_t>(added))) : q;
  }
  /// Such an element is q * scale - less: of a part, or of its second half (`upper`).
  V scale(int part, int upper) { return d_.v ? d_ : kept(scale_of(part, upper)); }
  V less(int part, int upper) {
    const V by = scale(part, upper);
    const int added = kernels::unsigned_range(format_).added;
    if (of_groups()) return zero_ * by;
    if (more_.v) return g.wrap(b.CreateFNeg(more_.v));
    if (less_at_ >= 0) return kept(less_at_ + scale_of(part, upper));
    return by * g.wrap(llvm::ConstantFP::get(by.v->getType(), added));
  }

 private:
  using Value = llvm::Value;
  bool four_bits() const {
    switch (format_) {
      case BlockFormat::Q4_0:
      case BlockFormat::Q4_1:
      case BlockFormat::Q4_K:
      case BlockFormat::IQ4_NL:
      case BlockFormat::IQ4_XS:
      case BlockFormat::G4_32:
      case BlockFormat::G4_64:
      case BlockFormat::G4_128: return true;
      default: return false;
    }
  }
  bool signed_bytes() const {
    switch (format_) {
      case BlockFormat::Q4_0:
      case BlockFormat::Q5_0:
      case BlockFormat::Q8_0:
      case BlockFormat::Q3_K:
      case BlockFormat::Q6_K:
      case BlockFormat::IQ4_NL:
      case BlockFormat::IQ4_XS: return true;
      default: return false;
    }
  }
  bool of_groups() const { return format_ >= BlockFormat::G4_32; }
  bool is_table() const { return format_ == BlockFormat::IQ4_NL || format_ == BlockFormat::IQ4_XS; }

  // ---- scales

  V at(int offset) { return g.at(p_, DType::UInt8, g.i64(offset)); }
  /// A half in n lanes.
  V half(int offset, int n) {
    Value* h = b.CreateAlignedLoad(b.getHalfTy(), at(offset).v, llvm::Align(1));
    if (g.bits == 512) return g.wrap(b.CreateFPExt(b.CreateVectorSplat(static_cast<unsigned>(n), h), g.f32(n)));
    return g.wrap(b.CreateVectorSplat(static_cast<unsigned>(n), b.CreateFPExt(h, g.f32())));
  }
  /// The two halves that a block begins with, in all lanes. Four are converted, which takes no shuffle.
  void take_halves(V& first, V& second) {
    Value* some = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getHalfTy(), 4), p_.v, llvm::Align(1));
    const int at = keep(g.wrap(b.CreateFPExt(some, g.f32(4))));
    first = kept(at), second = kept(at + 1);
  }
  Value* bytes(int offset, int n) {
    Value*& v = read_[{offset, n}];
    if (!v) v = b.CreateAlignedLoad(g.i(8, n), at(offset).v, llvm::Align(1));
    return v;
  }
  Value* right(Value* v, int by) {
    return by ? b.CreateLShr(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(by))) : v;
  }
  Value* left(Value* v, int by) {
    return b.CreateShl(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(by)));
  }
  Value* some(Value* v, int mask) {
    return b.CreateAnd(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(mask)));
  }
  Value* sub(Value* v, int x) {
    return b.CreateSub(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(x)));
  }
  Value* order(Value* v, const std::vector<int>& m) { return b.CreateShuffleVector(v, m); }
  Value* constants(const std::vector<int>& c, unsigned bits = 8) {
    std::vector<llvm::Constant*> all;
    for (int x : c) all.push_back(b.getIntN(bits, static_cast<std::uint64_t>(x)));
    return llvm::ConstantVector::get(all);
  }
  V numbers(const std::vector<double>& c) {
    std::vector<llvm::Constant*> all;
    for (double x : c) all.push_back(llvm::ConstantFP::get(b.getFloatTy(), x));
    return g.wrap(llvm::ConstantVector::get(all));
  }
  V floats(Value* v, bool is_signed) {
    const int n = Emitter::lanes_of(v);
    return g.wrap(b.CreateSIToFP(is_signed ? b.CreateSExt(v, g.i(32, n)) : b.CreateZExt(v, g.i(32, n)), g.f32(n)));
  }
  /// Keeps numbers in memory, from where one comes into all lanes without a shuffle. Returns the place of the first.
  int keep(const V& v) {
    const int first = kept_;
    if (!slots_) {
      llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
      slots_ = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(llvm::ArrayType::get(b.getFloatTy(), 32));
      slots_->setAlignment(llvm::Align(64));
    }
    b.CreateAlignedStore(v.v, b.CreateConstGEP1_64(b.getFloatTy(), slots_, static_cast<std::uint64_t>(first)),
                         llvm::Align(16));
    kept_ += Emitter::lanes_of(v.v);
    return first;
  }
  V kept(int i) {
    return g.splat(g.wrap(b.CreateAlignedLoad(
        b.getFloatTy(), b.CreateConstGEP1_64(b.getFloatTy(), slots_, static_cast<std::uint64_t>(i)), llvm::Align(4))));
  }

  void take_scales() {
    V unused;
    switch (format_) {
      case BlockFormat::Q4_0:
      case BlockFormat::Q5_0:
      case BlockFormat::Q8_0:
      case BlockFormat::IQ4_NL: take_halves(d_, unused); break;
      case BlockFormat::Q4_1:
      case BlockFormat::Q5_1: take_halves(d_, more_); break;
      case BlockFormat::G4_32:
      case BlockFormat::G4_64:
      case BlockFormat::G4_128:
      case BlockFormat::G8_32:
      case BlockFormat::G8_64:
      case BlockFormat::G8_128: take_halves(d_, zero_); break;
      case BlockFormat::Q2_K: {
        Value* s = bytes(0, 16);
        keep(floats(some(s, 15), false) * half(80, 16));
        less_at_ = keep(floats(right(s, 4), false) * half(82, 16));
        break;
      }
      case BlockFormat::Q3_K: {  // 12 bytes, and two before them
        Value* s = bytes(94, 16);
        std::vector<int> low, high, shift, mask;
        for (int i = 0; i < 16; ++i) low.push_back(2 + i % 8), high.push_back(10 + i % 4), shift.push_back(i / 4 * 2);
        std::vector<int> which;
        for (int i = 0; i < 16; ++i) which.push_back(i < 8 ? i : 16 + i);
        Value* l = order(s, low);
        l = b.CreateShuffleVector(some(l, 15), right(l, 4), which);
        Value* h = some(b.CreateLShr(order(s, high), constants(shift)), 3);
        keep(floats(sub(b.CreateOr(l, left(h, 4)), 32), true) * half(108, 16));
        break;
      }
      case BlockFormat::Q4_K:
      case BlockFormat::Q5_K: {
        // Twelve bytes, as two numbers: what comes out are four scales, four minima, and four more of each.
        auto word = [&](int offset, int bits) { return b.CreateAlignedLoad(g.i(bits), at(offset).v, llvm::Align(1)); };
        auto with = [&](Value* v, std::uint64_t mask) {
          return b.CreateAnd(v, llvm::ConstantInt::get(v->getType(), mask));
        };
        Value *own = word(4, 64), *shared = word(12, 32);
        Value* low = b.CreateOr(b.CreateZExt(with(shared, 0x0f0f0f0f), g.i(64)),
                                left(b.CreateZExt(with(right(shared, 4), 0x0f0f0f0f), g.i(64)), 32));
        Value* six = llvm::PoisonValue::get(g.i(64, 2));
        six = b.CreateInsertElement(six, with(own, 0x3f3f3f3f3f3f3f3f), std::uint64_t{0});
        six = b.CreateInsertElement(six, b.CreateOr(low, with(right(own, 2), 0x3030303030303030)), std::uint64_t{1});
        std::vector<int> both;
        for (int i = 0; i < 16; ++i) both.push_back(i / 4 % 2);
        Value* halves = b.CreateFPExt(
            b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getHalfTy(), 4), p_.v, llvm::Align(1)), g.f32(4));
        keep(floats(b.CreateBitCast(six, g.i(8, 16)), false) * g.wrap(b.CreateShuffleVector(halves, both)));
        less_at_ = 4;
        break;
      }
      case BlockFormat::Q6_K: keep(floats(bytes(192, 16), true) * half(208, 16)); break;
      case BlockFormat::IQ4_XS: {
        auto field = [&](Value* of, int bits, int mask) {
          std::vector<int> shift;
          for (int i = 0; i < 8; ++i) shift.push_back(i * bits);
          return some(b.CreateLShr(b.CreateVectorSplat(8, of), constants(shift, 32)), mask);
        };
        Value* low = field(b.CreateAlignedLoad(b.getInt32Ty(), at(4).v, llvm::Align(1)), 4, 15);
        Value* high =
            field(b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), at(2).v, llvm::Align(1)), b.getInt32Ty()), 2, 3);
        keep(g.wrap(b.CreateSIToFP(sub(b.CreateOr(low, left(high, 4)), 32), g.f32(8))) * half(0, 8));
        break;
      }
    }
  }
  int scale_of(int part, int upper) const {
    if (format_ == BlockFormat::Q4_K || format_ == BlockFormat::Q5_K) return part % 4 + part / 4 * 8;
    return format_ == BlockFormat::Q2_K || format_ == BlockFormat::Q3_K || format_ == BlockFormat::Q6_K
               ? part * 2 + upper
               : part;
  }
  /// `upper`: of the second half of a part.
  V scaled(V q, int part, int upper) {
    if (of_groups()) q = q - zero_;
    const V by = scale(part, upper);
    if (more_.v) return g.multiply_add(q, by, more_);
    if (less_at_ >= 0) return g.multiply_add(q, by, g.wrap(b.CreateFNeg(kept(less_at_ + scale_of(part, upper)).v)));
    return q * by;
  }

  // ---- elements

  /// Where the bytes of a part's low or high halves are, and whether they are the high ones alone.
  struct Halves {
    int offset;
    bool together;  ///< 16 bytes hold the part; else 32 bytes, in one of their halves
    bool high = false;
  };
  Halves halves(int part) const {
    switch (format_) {
      case BlockFormat::Q4_0:
      case BlockFormat::IQ4_NL: return {2, true};
      case BlockFormat::Q4_1: return {4, true};
      case BlockFormat::Q5_0: return {6, true};
      case BlockFormat::Q5_1: return {8, true};
      case BlockFormat::Q4_K: return {16 + part / 2 * 32, false, part % 2 != 0};
      case BlockFormat::Q5_K: return {48 + part / 2 * 32, false, part % 2 != 0};
      case BlockFormat::IQ4_XS: return {8 + part * 16, true};
      default: return {4 + part * 16, true};
    }
  }
  Value* nibbles(int part) {
    const Halves h = halves(part);
    if (!h.together) return h.high ? right(bytes(h.offset, 32), 4) : some(bytes(h.offset, 32), 15);
    Value* q = bytes(h.offset, 16);
    return g.joined(some(q, 15), right(q, 4));
  }
  /// Of numbers below 16.
  Value* table_bytes(Value* q) {
    if (makes_x86()) {
      std::vector<int> table(std::begin(kernels::kIq4Table), std::end(kernels::kIq4Table)), low, high;
      for (int i = 0; i < 16; ++i) low.push_back(i), high.push_back(16 + i);
      auto look = [&](Value* v) {
        return b.CreateIntrinsic(llvm::Intrinsic::x86_ssse3_pshuf_b_128, {}, {constants(table), v});
      };
      return g.joined(look(order(q, low)), look(order(q, high)));
    }
    std::vector<Value*> of;
    for (int x : kernels::kIq4Table) of.push_back(llvm::ConstantInt::get(q->getType(), static_cast<std::uint64_t>(x)));
    for (int bit = 0; bit < 4; ++bit) {
      Value* set = b.CreateICmpNE(some(q, 1 << bit), llvm::Constant::getNullValue(q->getType()));
      for (std::size_t i = 0; 2 * i < of.size(); ++i) of[i] = b.CreateSelect(set, of[2 * i + 1], of[2 * i]);
      of.resize(of.size() / 2);
    }
    return of[0];
  }
  /// Of 32 bits, one for each element, 16 where it is set.
  Value* fifths(int offset) {
    Value* set = b.CreateBitCast(b.CreateAlignedLoad(b.getInt32Ty(), at(offset).v, llvm::Align(1)), g.i(1, kPart));
    return b.CreateSelect(set, llvm::ConstantInt::get(g.i(8, kPart), 16), llvm::Constant::getNullValue(g.i(8, kPart)));
  }
  /// q of a part, as bytes.
  Value* bytes_of(int part) {
    switch (format_) {
      case BlockFormat::Q8_0: return bytes(2, 32);
      case BlockFormat::Q4_0: return sub(nibbles(part), 8);
      case BlockFormat::Q5_0: return sub(b.CreateOr(nibbles(part), fifths(2)), 16);
      case BlockFormat::Q5_1: return b.CreateOr(nibbles(part), fifths(4));
      case BlockFormat::Q2_K: return some(right(bytes(16 + part / 4 * 32, 32), part % 4 * 2), 3);
      case BlockFormat::Q3_K: {
        Value* low = some(right(bytes(32 + part / 4 * 32, 32), part % 4 * 2), 3);
        return sub(b.CreateOr(low, left(some(right(bytes(0, 32), part), 1), 2)), 4);
      }
      case BlockFormat::Q5_K: return b.CreateOr(nibbles(part), left(some(right(bytes(16, 32), part), 1), 4));
      case BlockFormat::Q6_K: {
        const int in = part % 4;
        Value* low = bytes(part / 4 * 64 + in % 2 * 32, 32);
        low = in < 2 ? some(low, 15) : right(low, 4);
        return sub(b.CreateOr(low, left(some(right(bytes(128 + part / 4 * 32, 32), in * 2), 3), 4)), 32);
      }
      case BlockFormat::IQ4_NL:
      case BlockFormat::IQ4_XS: return table_bytes(nibbles(part));
      case BlockFormat::G8_32:
      case BlockFormat::G8_64:
      case BlockFormat::G8_128: return bytes(4 + part * 32, 32);
      default: return nibbles(part);
    }
  }

  // ---- 512 bits: four bits are an index

  Value* words(int offset) {
    Value*& v = read_[{offset, -16}];
    if (!v) v = b.CreateZExt(b.CreateAlignedLoad(g.i(8, 16), at(offset).v, llvm::Align(1)), g.i(32, 16));
    return v;
  }
  Vs looked_up(int part) {
    std::vector<double> values;
    for (int i = 0; i < 16; ++i)
      values.push_back(format_ == BlockFormat::Q4_0 ? i - 8 : is_table() ? kernels::kIq4Table[i] : i);
    if (!table_.v || !d_.v) table_ = scaled(numbers(values), part, 0);  // one for a block, where it has one scale
    const Halves h = halves(part);
    Value *low = words(h.offset), *high = h.together ? low : words(h.offset + 16);
    if (h.together) high = right(high, 4);
    else if (h.high) low = right(low, 4), high = right(high, 4);
    Vs out;
    for (Value* index : {low, high}) {
      out.push_back(g.wrap(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table_.v, index})));
    }
    return out;
  }

  MicroCode& g;
  llvm::IRBuilder<>& b;
  const BlockFormat format_;
  const V p_;
  V d_, more_, zero_, table_;    ///< of the whole block, in all lanes: scale, what is added, zero
  int kept_ = 0, less_at_ = -1;  ///< of parts: kept from the first place on, and what is subtracted from this one
  llvm::AllocaInst* slots_ = nullptr;
  std::map<std::pair<int, int>, Value*> read_;
};

}  // namespace

void emit(EmitContext& cx, const micro::UnpackDot& code) {
  MicroCode g(cx, code, DType::Float32);
  const kernels::BlockFacts& f = kernels::facts_of(code.format);
  const int rows = code.rows, wide = g.bits == 512 ? 4 : 2, group = rows == 1 ? wide : wide / 2;
  constexpr int kSums = 2;
  const DType f32 = DType::Float32;
  const V x = g.arg(0), x_row = g.arg(1), w = g.arg(2), w_row = g.arg(3), y = g.arg(4), y_row = g.arg(5), n = g.arg(6),
          k = g.arg(7);
  // What is prefetched: the same place some rows later, about 8 KiB away, farther than the time in which a short row is
  // done.
  constexpr std::int64_t kAhead = 8192;
  const V rows_ahead = g.i64(kAhead) / g.max(w_row, 1);
  Vs xp;
  for (int r = 0; r < rows; ++r) xp.push_back(g.at(x, f32, x_row * r));
  auto pass = [&](V from, V to, int count) {
    const V ahead = w_row * g.max(rows_ahead, count);
    g.carry(from, to, count, {g.at(w, DType::UInt8, from * w_row)}, [&](V j, Vs p) -> Vs {
      auto freeze = [&](V v) { return g.wrap(g.b.CreateFreeze(v.v)); };  // see dot_by_groups in gemv.cc
      Vs wp{freeze(p[0])};
      for (int i = 1; i < count; ++i) wp.push_back(freeze(g.at(wp.back(), DType::UInt8, w_row)));
      Vs state(static_cast<std::size_t>(rows * count * kSums), g.zero());
      state.push_back(g.i64(0));  // how far in w's rows
      state = g.carry(0, k, f.elements, state, [&](V c, Vs s) -> Vs {
        const V at = s.back();
        for (int i = 0; i < count; ++i) {
          for (int line = 0; line < f.bytes; line += 64) g.prefetch(g.at(wp[i], DType::UInt8, at + ahead + line));
          Block block(g, code.format, g.at(wp[i], DType::UInt8, at));
          for (int e = 0; e < f.elements; e += kPart) {
            const Vs some = block.weights(e / kPart);
            for (int v = 0; v < static_cast<int>(some.size()); ++v)
              for (int r = 0; r < rows; ++r) {
                V& t = s[static_cast<std::size_t>((r * count + i) * kSums + v % kSums)];
                t = g.multiply_add(some[static_cast<std::size_t>(v)],
                                   g.load(f32, g.at(xp[r], f32, c + e + v * g.lanes)), t);
              }
          }
        }
        s.back() = at + f.bytes;
        return s;
      });
      for (int r = 0; r < rows; ++r) {
        Vs sums;
        for (int i = 0; i < count; ++i) {
          const V* own = &state[static_cast<std::size_t>((r * count + i) * kSums)];
          sums.push_back(own[0] + own[1]);
        }
        g.store(f32, sum_each(g, sums), g.at(y, f32, y_row * r + j));
      }
      return {g.at(wp.back(), DType::UInt8, w_row)};
    });
  };
  const V n_whole = g.whole(n, group);
  pass(0, n_whole, group);
  if (group > 1) pass(n_whole, n, 1);
  g.finish();
}

void emit(EmitContext& cx, const micro::Unpack& code) {
  MicroCode g(cx, code, DType::Float32);
  const kernels::BlockFacts& f = kernels::facts_of(code.format);
  const V blocks = g.arg(0), w_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), rows = g.arg(4), n = g.arg(5);
  g.carry(0, rows, 1, {blocks, to}, [&](V, Vs row) -> Vs {
    g.carry(0, n, 1, row, [&](V, Vs at) -> Vs {
      Block block(g, code.format, at[0]);
      for (int e = 0; e < f.elements; e += kPart) {
        const Vs some = block.weights(e / kPart);
        for (int v = 0; v < static_cast<int>(some.size()); ++v)
          g.store(DType::Float32, some[static_cast<std::size_t>(v)], g.at(at[1], DType::Float32, e + v * g.lanes));
      }
      return {g.at(at[0], DType::UInt8, f.bytes), g.at(at[1], DType::Float32, f.elements)};
    });
    return {g.at(row[0], DType::UInt8, w_row), g.at(row[1], DType::Float32, to_row)};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::UnpackBytes& code) {
  MicroCode g(cx, code, DType::Float32);
  const kernels::BlockFacts& f = kernels::facts_of(code.format);
  const int part = kernels::part_of(code.format);
  const V blocks = g.arg(0), w_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), scale = g.arg(4), less = g.arg(5),
          scale_row = g.arg(6), rows = g.arg(7), n = g.arg(8);
  const DType f32 = DType::Float32;
  auto put = [&](V p, int i, V x) {
    g.b.CreateAlignedStore(g.b.CreateExtractElement(x.v, std::uint64_t{0}), g.at(p, f32, i).v, llvm::Align(4));
  };
  const V length = n * f.bytes;
  g.carry(0, rows, 1, {blocks, to, scale, less}, [&](V, Vs row) -> Vs {
    // That of the next panel: so short rows from so many places no prefetching of the hardware follows.
    const V next = g.at(row[0], DType::UInt8, w_row * g.lanes);
    g.carry(0, length, 64, {}, [&](V line, Vs) -> Vs { return g.prefetch(g.at(next, DType::UInt8, line)), Vs{}; });
    g.carry(0, n, 1, row, [&](V, Vs at) -> Vs {
      Block block(g, code.format, at[0]);
      for (int e = 0; e < f.elements; e += kPart) {
        g.b.CreateAlignedStore(block.whole_bytes(e / kPart), g.at(at[1], DType::UInt8, e).v, llvm::Align(1));
        for (int upper = 0; upper < kPart / part; ++upper)
          put(at[2], e / part + upper, block.scale(e / kPart, upper)),
              put(at[3], e / part + upper, block.less(e / kPart, upper));
      }
      return {g.at(at[0], DType::UInt8, f.bytes), g.at(at[1], DType::UInt8, f.elements),
              g.at(at[2], f32, f.elements / part), g.at(at[3], f32, f.elements / part)};
    });
    return {g.at(row[0], DType::UInt8, w_row), g.at(row[1], DType::UInt8, to_row), g.at(row[2], f32, scale_row),
            g.at(row[3], f32, scale_row)};
  });
  g.finish();
}

}  // namespace reprise::jit
