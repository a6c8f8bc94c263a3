// Float32 functions that compute in double: where float's 24 bits do not carry the intermediate values. Twice the
// instructions, and errors barely above half a unit.
#include <limits>

#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2 = 0.69314718055994530942, kLog2e = 1.44269504088896340736;
constexpr double kRoundMagic = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
}  // namespace

Value* MathEmitter::log2_wide(Value* x) {
  Value* bits = e.bits(x);
  Value* k = b.CreateAShr(b.CreateSub(bits, e.integer(bits, 0x3fe6a09e667f3bcd)), 52);
  Value* m = e.floats(b.CreateSub(bits, b.CreateShl(k, 52)));
  Value* f = b.CreateFDiv(b.CreateFSub(m, c(x, 1)), b.CreateFAdd(m, c(x, 1)));
  Value* z = b.CreateFMul(f, f);
  Value* q = poly(z, {0.96179669392482111, 0.57707801711423613, 0.41219841725234152, 0.32061554106715026,
                      0.26146685540738895, 0.24268431041105289});
  Value* fraction = b.CreateFMul(f, e.multiply_add(z, q, c(x, 2.8853900817779268)));
  // The exponent as a double without a 64-bit conversion: it is small.
  Value* exponent = b.CreateFSub(e.floats(b.CreateAdd(k, e.integer(bits, 0x4338000000000000))), c(x, kRoundMagic));
  Value* y = b.CreateFAdd(exponent, fraction);
  y = b.CreateSelect(b.CreateFCmpOLT(x, c(x, kInf)), y, x);  // inf, NaN
  y = b.CreateSelect(b.CreateFCmpOEQ(x, c(x, 0)), c(x, -kInf), y);
  return b.CreateSelect(b.CreateFCmpOLT(x, c(x, 0)), c(x, kNan), y);
}

Value* MathEmitter::exp2_wide(Value* x) {
  x = at_least(at_most(x, 300), -300);
  Value* t = b.CreateFAdd(x, c(x, kRoundMagic));
  Value* r = b.CreateFSub(x, b.CreateFSub(t, c(x, kRoundMagic)));
  Value* p =
      poly(r, {1.000000000000027, 0.6931471805459316, 0.24022650695467914, 0.055504109412129293, 0.0096181292284517148,
               0.0013333450562460906, 0.00015403411652393015, 1.5310080600242717e-5, 1.3264065548171682e-6});
  Value* y = e.floats(b.CreateAdd(e.bits(p), b.CreateShl(e.bits(t), 52)));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, y);
}

Value* MathEmitter::pow(Value* x, Value* y) {
  Value* a = e.call(Intrinsic::fabs, x);
  Value *dy = wide(y), *log = log2_wide(wide(a));
  Value* r = narrow(exp2_wide(b.CreateFMul(dy, log)));
  Value* whole = b.CreateFCmpOEQ(e.call(Intrinsic::trunc, y), y);
  // Odd: whole, and half of it is not.
  Value* half = b.CreateFMul(y, c(y, 0.5));
  Value* odd = b.CreateAnd(whole, b.CreateFCmpUNE(e.call(Intrinsic::trunc, half), half));
  r = b.CreateSelect(odd, e.call(Intrinsic::copysign, r, x), r);
  Value* no_root = b.CreateAnd(b.CreateFCmpOLT(x, c(x, 0)), b.CreateNot(whole));
  no_root = b.CreateAnd(no_root, b.CreateFCmpOGT(x, c(x, -kInf)));  // pow(-inf, y) = |inf|^y
  r = b.CreateSelect(no_root, c(x, kNan), r);
  Value* one = b.CreateOr(b.CreateFCmpOEQ(x, c(x, 1)), b.CreateFCmpOEQ(y, c(x, 0)));
  Value* unit = b.CreateAnd(b.CreateFCmpOEQ(a, c(x, 1)), b.CreateFCmpOEQ(e.call(Intrinsic::fabs, y), c(x, kInf)));
  return b.CreateSelect(b.CreateOr(one, unit), c(x, 1), r);
}

/// pi/2 in two doubles. Right for |x| < 2^28: n has 28 bits, and no float is closer to a multiple of pi/2 than the
/// error allows.
MathEmitter::Split MathEmitter::turns_wide(Value* x) {
  Value* t = e.multiply_add(x, c(x, 0.63661977236758134308), c(x, kRoundMagic));
  Value* n = b.CreateFSub(t, c(x, kRoundMagic));
  Value* r = e.multiply_add(n, c(x, -1.5707963267948966), x);
  return {e.bits(t), e.multiply_add(n, c(x, -6.123233995736766e-17), r)};
}

/// 2/pi in fractions of 64 bits.
constexpr std::uint64_t kTurns[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561};

/// n and p of a scalar float with 2^28 <= |x| < inf, after Payne and Hanek: the product of x's 24 bits and those bits
/// of 2/pi that do not make multiples of four turns, in 128 bits.
MathEmitter::Split MathEmitter::turns_of_huge(Value* x) {
  llvm::Type* i64 = b.getInt64Ty();
  Value* bits = b.CreateZExt(e.bits(x), i64);
  Value* exponent = b.CreateAnd(b.CreateLShr(bits, 23), 255);
  Value* mantissa = b.CreateOr(b.CreateAnd(bits, 0x7fffff), 0x800000);
  Value* from = b.CreateSub(exponent, e.i64(152));  // the first bit of 2/pi that counts; below 128
  Value* second = b.CreateICmpUGE(from, e.i64(64));
  auto word = [&](int i) { return b.CreateSelect(second, b.getInt64(kTurns[i + 1]), b.getInt64(kTurns[i])); };
  Value* shift = b.CreateAnd(from, 63);
  auto window = [&](Value* high, Value* low) {  // a shift by 64 is none
    Value* rest = b.CreateLShr(b.CreateLShr(low, 1), b.CreateXor(shift, 63));
    return b.CreateOr(b.CreateShl(high, shift), rest);
  };
  Value *high = window(word(0), word(1)), *low = window(word(1), word(2));
  llvm::Type* i128 = b.getInt128Ty();
  Value* carry =
      b.CreateTrunc(b.CreateLShr(b.CreateMul(b.CreateZExt(mantissa, i128), b.CreateZExt(low, i128)), 64), i64);
  Value* turns = b.CreateAdd(b.CreateMul(mantissa, high), carry);  // modulo 4, times 2^62
  Value* n = b.CreateAdd(b.CreateLShr(turns, 62), b.CreateAnd(b.CreateLShr(turns, 61), 1));
  Value* fraction = b.CreateSIToFP(b.CreateShl(turns, 2), b.getDoubleTy());
  Value* p = b.CreateFMul(fraction, llvm::ConstantFP::get(b.getDoubleTy(), 1.57079632679489661923 * 0x1p-64));
  Value* negative = b.CreateFCmpOLT(x, c(x, 0));
  return {b.CreateSelect(negative, b.CreateNeg(n), n), b.CreateSelect(negative, b.CreateFNeg(p), p)};
}

/// Right everywhere where `repair` is not to come.
MathEmitter::Split MathEmitter::turns(Value* x) {
  const Split near = turns_wide(wide(x));
  if (e.cx.host.runtime_calls) return near;
  Value* huge = b.CreateFCmpOGE(e.call(Intrinsic::fabs, x), c(x, 0x1p28));
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* inside = nullptr;
  Split far{};
  emit_if(e, huge, [&] {
    far = turns_of_huge(x);
    Value* infinite = b.CreateFCmpOEQ(e.call(Intrinsic::fabs, x), c(x, kInf));
    far.p = b.CreateSelect(infinite, c(far.p, kNan), far.p);
    inside = b.GetInsertBlock();
  });
  auto either = [&](Value* a, Value* d) {
    llvm::PHINode* phi = b.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, before), phi->addIncoming(d, inside);
    return phi;
  };
  return {either(near.n, far.n), either(near.p, far.p)};
}

/// Lanes of |x| >= 2^28 (finite) by the runtime's function, which is rare; all others keep `fast`.
Value* MathEmitter::repair(Value* fast, Value* x, const char* call) {
  if (!e.cx.host.runtime_calls) return fast;
  Value* a = e.call(Intrinsic::fabs, x);
  Value* huge = b.CreateAnd(b.CreateFCmpOGE(a, c(x, 0x1p28)), b.CreateFCmpOLT(a, c(x, kInf)));
  llvm::BasicBlock* before = nullptr;
  Value* any = b.CreateOrReduce(huge);
  before = b.GetInsertBlock();
  Value* slow = nullptr;
  llvm::BasicBlock* slow_block = nullptr;
  emit_if(e, any, [&] {
    slow = b.CreateSelect(huge, e.call_runtime(call, {x}), fast);
    slow_block = b.GetInsertBlock();
  });
  llvm::PHINode* phi = b.CreatePHI(fast->getType(), 2);
  phi->addIncoming(fast, before);
  phi->addIncoming(slow, slow_block);
  return phi;
}

Value* MathEmitter::sin(Value* x, int quarter_turns) {
  const Split s = turns(x);
  Value* r = narrow(s.p);
  Value* n = b.CreateTrunc(s.n, e.like(x, b.getInt32Ty()));
  if (quarter_turns) n = b.CreateAdd(n, e.integer(n, quarter_turns));
  Value* z = b.CreateFMul(r, r);
  Value* sine = e.multiply_add(
      b.CreateFMul(r, z),
      poly(z, {-0.16666666641372501, 0.0083333293559081526, -0.00019839325059333047, 2.7182172598842936e-6}), r);
  Value* q = poly(z, {0.041666666622382007, -0.0013888883714297025, 2.4799509534871455e-5, -2.7209361273005187e-7});
  Value* cosine = e.multiply_add(z, e.multiply_add(z, q, c(x, -0.5)), c(x, 1));
  Value* y = b.CreateSelect(b.CreateICmpNE(b.CreateAnd(n, e.integer(n, 1)), e.integer(n, 0)), cosine, sine);
  Value* flip = b.CreateShl(b.CreateAnd(n, e.integer(n, 2)), 30);
  y = e.floats(b.CreateXor(e.bits(y), flip));
  if (!quarter_turns) y = b.CreateSelect(b.CreateFCmpOEQ(x, c(x, 0)), x, y);
  return repair(y, x, quarter_turns ? "reprise_Cos_f32" : "reprise_Sin_f32");
}

Value* MathEmitter::tan(Value* x) {
  const Split s = turns(x);
  Value *r = s.p, *z = b.CreateFMul(r, r);
  Value* sine = e.multiply_add(b.CreateFMul(r, z),
                               poly(z, {-0.16666666666631176, 0.0083333333251949031, -0.00019841263779894436,
                                        2.7555348395954578e-6, -2.4760960340371513e-8}),
                               r);
  Value* q = poly(z, {0.041666666666601438, -0.0013888888878166373, 2.4801580923425821e-5, -2.7555558241787789e-7,
                      2.0647158419925545e-9});
  Value* cosine = e.multiply_add(z, e.multiply_add(z, q, c(z, -0.5)), c(z, 1));
  Value* odd = b.CreateICmpNE(b.CreateAnd(s.n, e.integer(s.n, 1)), e.integer(s.n, 0));
  Value* y = narrow(b.CreateFDiv(b.CreateSelect(odd, b.CreateFNeg(cosine), sine), b.CreateSelect(odd, sine, cosine)));
  y = b.CreateSelect(b.CreateFCmpOEQ(x, c(x, 0)), x, y);
  return repair(y, x, "reprise_Tan_f32");
}

Value* MathEmitter::atan_wide(Value* x) {
  Value* middle = b.CreateFCmpOGT(x, c(x, 0.41421356237309504880));
  Value* z = b.CreateSelect(middle, b.CreateFDiv(b.CreateFSub(x, c(x, 1)), b.CreateFAdd(x, c(x, 1))), x);
  Value* z2 = b.CreateFMul(z, z);
  Value* q = poly(z2, {-0.33333332514643599, 0.19999905189683907, -0.14282042152393855, 0.11045094464921015,
                       -0.084784111213742602, 0.047482849571354658});
  Value* y = e.multiply_add(b.CreateFMul(z, z2), q, z);
  return b.CreateSelect(middle, b.CreateFAdd(y, c(x, 0.78539816339744830962)), y);
}

Value* MathEmitter::asinh(Value* x) {
  Value* t = wide(e.call(Intrinsic::fabs, x));
  Value* t2 = b.CreateFMul(t, t);
  Value* root = e.call(Intrinsic::sqrt, b.CreateFAdd(t2, c(t, 1)));
  Value* w = b.CreateFAdd(t, b.CreateFDiv(t2, b.CreateFAdd(root, c(t, 1))));  // e^asinh(t) - 1
  Value* y = b.CreateFMul(log2_wide(b.CreateFAdd(w, c(t, 1))), c(t, kLn2));
  Value* series = e.multiply_add(b.CreateFMul(t, t2), c(t, -1.0 / 6), t);
  y = b.CreateSelect(b.CreateFCmpOLT(t, c(t, 1e-4)), series, y);
  y = b.CreateSelect(b.CreateFCmpOEQ(t, c(t, kInf)), t, y);
  return e.call(Intrinsic::copysign, narrow(y), x);
}

Value* MathEmitter::acosh(Value* x) {
  Value* t = wide(x);
  Value* root = e.call(Intrinsic::sqrt, e.multiply_add(t, t, c(t, -1)));
  return narrow(b.CreateFMul(log2_wide(b.CreateSelect(b.CreateFCmpOLT(t, c(t, 1)), c(t, kNan), b.CreateFAdd(t, root))),
                             c(t, kLn2)));
}

Value* MathEmitter::atanh(Value* x) {
  Value* t = wide(e.call(Intrinsic::fabs, x));
  Value* ratio = b.CreateFDiv(b.CreateFAdd(c(t, 1), t), b.CreateFSub(c(t, 1), t));
  Value* y = b.CreateFMul(log2_wide(ratio), c(t, kLn2 / 2));
  Value* series = e.multiply_add(b.CreateFMul(t, b.CreateFMul(t, t)), c(t, 1.0 / 3), t);
  return e.call(Intrinsic::copysign, narrow(b.CreateSelect(b.CreateFCmpOLT(t, c(t, 1e-4)), series, y)), x);
}

Value* MathEmitter::erfc(Value* x) {
  Value* t = at_most(wide(e.call(Intrinsic::fabs, x)), 10.4);  // erfc(10.4) is below the least float
  Value* u = b.CreateFDiv(c(t, 1), e.multiply_add(t, c(t, 0.5), c(t, 1)));
  Value* q =
      poly(u, {-5.8969051627482871e-7, 0.28211709649513643, 0.28171818889171919, 0.25058744080164122,
               0.15168759688320109, 0.19562794658457808, -0.36511424436654149, 0.77093742577978339, -1.3796176202615986,
               1.401133457700624, -0.80976402522655236, 0.25519194587679961, -0.034504619543835929});
  Value* y = b.CreateFMul(q, exp2_wide(b.CreateFMul(b.CreateFMul(t, t), c(t, -kLog2e))));
  Value* negative = b.CreateFCmpOLT(x, c(x, 0));
  return narrow(b.CreateSelect(negative, b.CreateFSub(c(t, 2), y), y));
}

Value* MathEmitter::hypot(Value* x, Value* y) {
  Value *dx = wide(x), *dy = wide(y);
  Value* r = narrow(e.call(Intrinsic::sqrt, e.multiply_add(dx, dx, b.CreateFMul(dy, dy))));
  auto infinite = [&](Value* v) { return b.CreateFCmpOEQ(e.call(Intrinsic::fabs, v), c(v, kInf)); };
  return b.CreateSelect(b.CreateOr(infinite(x), infinite(y)), c(x, kInf), r);
}

}  // namespace reprise::jit
