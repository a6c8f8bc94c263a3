// Functions of Float32 on vectors. Every function is branch-free but for sine, cosine and tangent of huge arguments,
// and gives a lane the same bits whatever stands in the others. Coefficients: scripts/math_coefficients.py. Measured
// errors: docs/math.md.
#include "jit/emit/math.h"

#include <cmath>
#include <limits>

namespace reprise::jit {

using kernels::ScalarOp;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2High = 0.693145751953125,
                 kLn2Low = 1.42860682030941723e-6;  // high: 15 bits, so that n * high is exact
constexpr double kLog2e = 1.44269504088896340736;
}  // namespace

Value* MathEmitter::poly(Value* x, std::initializer_list<double> c) {
  auto it = std::rbegin(c);
  Value* r = e.constant(x, *it);
  for (++it; it != std::rend(c); ++it) r = e.multiply_add(r, x, e.constant(x, *it));
  return r;
}

Value* MathEmitter::at_most(Value* x, double most) {
  return b.CreateSelect(b.CreateFCmpOGT(x, c(x, most)), c(x, most), x);
}
Value* MathEmitter::at_least(Value* x, double least) {
  return b.CreateSelect(b.CreateFCmpOLT(x, c(x, least)), c(x, least), x);
}

/// p * 2^n for integral n in [-300, 300], rounded once, also into the denormals; lanes that are not kept may hold
/// anything.
Value* MathEmitter::scale(Value* p, Value* n, Value* kept) {
  const int lanes = Emitter::lanes_of(p);
  if (scales_under_mask(p) || (e.cx.host.avx512 && lanes == 4)) {
    const bool full = lanes == 16, masked = kept && lanes != 4;
    const auto id = full         ? Intrinsic::x86_avx512_mask_scalef_ps_512
                    : lanes == 8 ? Intrinsic::x86_avx512_mask_scalef_ps_256
                                 : Intrinsic::x86_avx512_mask_scalef_ps_128;
    llvm::Type* mask = b.getIntNTy(full ? 16 : 8);
    Value* zero = llvm::Constant::getNullValue(p->getType());
    llvm::SmallVector<Value*, 5> args{p, n, zero,
                                      masked ? b.CreateBitCast(kept, mask) : llvm::Constant::getAllOnesValue(mask)};
    if (full) args.push_back(b.getInt32(4));  // rounding as the mode says
    Value* r = b.CreateIntrinsic(id, {}, args);
    return kept && !masked ? b.CreateSelect(kept, r, zero) : r;
  }
  Value* r = scale_by(p, b.CreateFPToSI(n, e.like(p, b.getInt32Ty())));
  return kept ? b.CreateSelect(kept, r, llvm::Constant::getNullValue(p->getType())) : r;
}

bool MathEmitter::scales_under_mask(Value* x) const {
  const int lanes = Emitter::lanes_of(x);
  return e.cx.host.avx512 && (lanes == 16 || lanes == 8);
}

/// In two factors, because 2^n itself may not be a float. The first product is exact.
Value* MathEmitter::scale_by(Value* p, Value* whole) {
  Value* half = b.CreateAShr(whole, 1);
  auto power = [&](Value* k) { return e.floats(b.CreateShl(b.CreateAdd(k, e.integer(k, 127)), 23)); };
  return b.CreateFMul(b.CreateFMul(p, power(half)), power(b.CreateSub(whole, half)));
}

Value* MathEmitter::scale_normal(Value* p, Value* n) {
  return e.floats(b.CreateAdd(e.bits(p), b.CreateShl(b.CreateFPToSI(n, e.like(p, b.getInt32Ty())), 23)));
}

/// x = n * ln2 + r with |r| <= ln2 / 2: n, and e^r - 1. The low part of r is added last: it would be lost in r's
/// rounding.
MathEmitter::Split MathEmitter::exp_split(Value* x) {
  Value* n = e.call(Intrinsic::roundeven, b.CreateFMul(x, c(x, kLog2e)));
  Value* high = e.multiply_add(n, c(x, -kLn2High), x);
  Value* low = b.CreateFMul(n, c(x, -kLn2Low));
  Value* r = b.CreateFAdd(high, low);
  Value* q = poly(
      r, {0.49999993439042953, 0.16666520522406432, 0.04166838957111062, 0.008368730025425744, 0.001381456020318495});
  return {n, b.CreateFAdd(high, e.multiply_add(b.CreateFMul(r, r), q, low))};
}

/// Here r's own rounding is let into the result, and the polynomial is of e^r itself: a third fewer instructions. What
/// rounds to 0 is not computed: a result below the normal floats costs a processor some hundred cycles, and masks make
/// e^-inf of whole rows.
Value* MathEmitter::exp(Value* x, bool weight) {
  if (e.cx.host.approximates) return exp_scaled(x);
  Value* kept = b.CreateFCmpUGE(x, c(x, weight ? -87.3 : -104));  // also of a NaN
  if (!weight) x = at_most(x, 90);
  if (!weight && !scales_under_mask(x)) x = b.CreateSelect(kept, x, c(x, 0));
  Value* n = e.call(Intrinsic::roundeven, b.CreateFMul(x, c(x, kLog2e)));
  Value* r = e.multiply_add(n, c(x, -kLn2Low), e.multiply_add(n, c(x, -kLn2High), x));
  Value* p = poly(r, {1, 1, 0.49999993439042953, 0.16666520522406432, 0.04166838957111062, 0.008368730025425744,
                      0.001381456020318495});
  if (weight && !scales_under_mask(x)) return b.CreateSelect(kept, scale_normal(p, n), c(x, 0));
  return scale(p, n, kept);
}

Value* MathEmitter::exp_scaled(Value* x, double exponent_offset) {
  if (e.cx.host.approximates)
    return exp2_approximate(at_least(at_most(x, 90), -105), kLog2e, static_cast<int>(exponent_offset));
  const Split s = exp_split(at_least(at_most(x, 90), -105));
  Value* n = exponent_offset == 0 ? s.n : b.CreateFAdd(s.n, c(x, exponent_offset));
  return scale(b.CreateFAdd(s.p, c(x, 1)), n);
}

Value* MathEmitter::exp2(Value* x) {
  x = at_least(at_most(x, 130), -151);
  if (e.cx.host.approximates) return exp2_approximate(x, 1, 0);
  Value* n = e.call(Intrinsic::roundeven, x);
  Value* r = b.CreateFSub(x, n);
  Value* q = poly(r, {0.69314720625068599, 0.24022651345319045, 0.055503277887586837, 0.0096180039669999055,
                      0.0013400270147567942, 0.00015476278892153903});
  return scale(e.multiply_add(r, q, c(x, 1)), n);
}

/// (e^x - 1) / 2 for x in [-20, 89]: halved, because 2^128 is not a float.
Value* MathEmitter::half_expm1(Value* x) {
  const Split s = exp_split(x);
  Value* half =
      e.floats(b.CreateShl(b.CreateAdd(b.CreateFPToSI(s.n, e.like(x, b.getInt32Ty())), e.integer(e.bits(x), 126)), 23));
  return e.multiply_add(half, s.p, b.CreateFSub(half, c(x, 0.5)));
}

Value* MathEmitter::expm1(Value* x) {
  Value* y = half_expm1(at_least(at_most(x, 89), -20));
  return e.call(Intrinsic::copysign, b.CreateFAdd(y, y), x);  // e^-0 - 1 is -0
}

/// The exponent e and fraction f of x = 2^e * (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1], of any positive finite x.
MathEmitter::Split MathEmitter::log_split(Value* x) {
  Value* tiny = b.CreateFCmpOLT(x, c(x, 0x1p-126));
  Value* scaled = b.CreateSelect(tiny, b.CreateFMul(x, c(x, 0x1p23)), x);
  Value* bits = e.bits(scaled);
  Value* k = b.CreateAShr(b.CreateSub(bits, e.integer(bits, 0x3f3504f3)), 23);
  Value* m = e.floats(b.CreateSub(bits, b.CreateShl(k, 23)));
  Value* exponent = b.CreateSIToFP(k, x->getType());
  exponent = b.CreateFSub(exponent, b.CreateSelect(tiny, c(x, 23), c(x, 0)));
  return {exponent, b.CreateFSub(m, c(x, 1))};
}

/// log(1 + f) - f
Value* MathEmitter::log_tail(Value* f) {
  Value* q = poly(f, {0.33333331660269236, -0.25000822622580688, 0.200012328875615, -0.16623300918591272,
                      0.1420156591875419, -0.13160571994764696, 0.12763236114600765, -0.076355704651561311});
  Value* f2 = b.CreateFMul(f, f);
  return e.multiply_add(f2, c(f, -0.5), b.CreateFMul(b.CreateFMul(f, f2), q));
}

/// y where x is positive and finite; else what every logarithm gives.
Value* MathEmitter::log_specials(Value* x, Value* y) {
  Value* special = b.CreateSelect(b.CreateFCmpOEQ(x, c(x, 0)), c(x, -kInf),
                                  b.CreateSelect(b.CreateFCmpOLT(x, c(x, 0)), c(x, kNan), x));
  Value* bits = e.bits(x);
  return b.CreateSelect(b.CreateICmpULT(b.CreateSub(bits, e.integer(bits, 1)), e.integer(bits, 0x7f7fffff)), y,
                        special);
}

Value* MathEmitter::log(Value* x) {
  const Split s = log_split(x);
  Value* tail = e.multiply_add(s.n, c(x, kLn2Low), log_tail(s.p));
  return log_specials(x, e.multiply_add(s.n, c(x, kLn2High), b.CreateFAdd(s.p, tail)));
}

/// log(x) / log(base): exponent * per_octave + (f + tail) * per_e, constants in two parts.
Value* MathEmitter::log_base(Value* x, double octave_high, double octave_low, double per_e) {
  const Split s = log_split(x);
  const double high = static_cast<float>(per_e), low = per_e - high;
  Value* y = e.multiply_add(s.p, c(x, low), b.CreateFMul(log_tail(s.p), c(x, per_e)));
  if (octave_low != 0) y = e.multiply_add(s.n, c(x, octave_low), y);
  Value* main = b.CreateFMul(s.p, c(x, high));
  y = b.CreateFAdd(y, e.multiply_add(s.p, c(x, high), b.CreateFNeg(main)));
  Value* whole = b.CreateFMul(s.n, c(x, octave_high));
  // whole + main + y, the largest first: |whole| >= |main| unless the exponent is 0, when the sum is exact.
  Value* sum = b.CreateFAdd(whole, main);
  Value* lost = b.CreateFSub(main, b.CreateFSub(sum, whole));
  return log_specials(x, b.CreateFAdd(sum, b.CreateFAdd(lost, y)));
}

Value* MathEmitter::log1p(Value* x) {
  Value* u = b.CreateFAdd(x, c(x, 1));
  // What 1 + x lost. Large x lose a part of the 1 instead.
  Value* lost = b.CreateSelect(b.CreateFCmpOGT(x, c(x, 1)), b.CreateFSub(c(x, 1), b.CreateFSub(u, x)),
                               b.CreateFSub(x, b.CreateFSub(u, c(x, 1))));
  const Split s = log_split(u);
  Value* correction = b.CreateFDiv(lost, u);
  Value* tail = b.CreateFAdd(e.multiply_add(s.n, c(x, kLn2Low), log_tail(s.p)), correction);
  Value* y = log_specials(u, e.multiply_add(s.n, c(x, kLn2High), b.CreateFAdd(s.p, tail)));
  return b.CreateSelect(b.CreateFCmpOEQ(x, c(x, 0)), x, y);
}

/// With y = (e^2|x| - 1) / 2: y / (y + 1); for small y written y - y * (y / (y + 1)), where the quotient's error is
/// scaled down.
Value* MathEmitter::tanh(Value* x) {
  if (has_tables(x)) return tanh_by_table(x);
  Value* a = at_most(e.call(Intrinsic::fabs, x), 10);  // tanh(10) rounds to 1
  Value* y = half_expm1(b.CreateFAdd(a, a));
  Value* quotient = quotient_of(y, b.CreateFAdd(y, c(x, 1)));
  Value* small = e.multiply_add(b.CreateFNeg(y), quotient, y);
  return e.call(Intrinsic::copysign, b.CreateSelect(b.CreateFCmpOLT(y, c(x, 1)), small, quotient), x);
}

Value* MathEmitter::sigmoid(Value* x) {
  Value* t = exp_scaled(b.CreateFNeg(e.call(Intrinsic::fabs, x)));
  Value* top = b.CreateSelect(b.CreateFCmpOLT(x, c(x, 0)), t, c(x, 1));
  Value* quotient = quotient_of(top, b.CreateFAdd(t, c(x, 1)));
  Value* small = e.multiply_add(b.CreateFNeg(t), quotient, t);  // t / (1 + t) where t is small, as in tanh
  return b.CreateSelect(b.CreateFCmpOLT(x, c(x, -1.4)), small, quotient);
}

Value* MathEmitter::erf(Value* x) {
  if (has_tables(x)) return erf_by_table(x);
  Value* a = e.call(Intrinsic::fabs, x);
  Value* z = b.CreateFMul(x, x);
  Value* near =
      e.multiply_add(a,
                     poly(z, {0.12837916667350217, -0.37612634004327913, 0.11283698731045389, -0.026859539116850838,
                              0.0052013048985365979, -0.00081450797025236985, 8.3775991357516947e-5}),
                     a);
  Value* t = at_most(a, 4);
  Value* g = poly(t, {-0.00019195046741346556, -1.1276895218923848, -0.63716132702197055, -0.10394784773204249,
                      0.022233782122551342, -0.0030447090835092345, 0.00019606753588241014});
  Value* far = b.CreateFSub(c(x, 1), scale_exp_of_negative(g));
  return e.call(Intrinsic::copysign, b.CreateSelect(b.CreateFCmpOLT(a, c(x, 0.921875)), near, far), x);
}

/// Near 0 a polynomial in x^2, of which all terms are positive; beyond 8 one in 1/x, times e^x / sqrt(x), with e^x in
/// two factors: the product is a float where e^x is none any more.
Value* MathEmitter::i0(Value* x) {
  Value* a = at_most(e.call(Intrinsic::fabs, x), 200);  // infinite from 92 on
  Value* z = b.CreateFMul(a, a);
  Value* near =
      poly(z, {0.99999999974312994, 0.25000000115556306, 0.015624999140668473, 0.00043402802769973268,
               6.781646537440732e-6, 6.7820151766668828e-8, 4.7076534453422448e-10, 2.4095807854096086e-12,
               9.221437658211749e-15, 3.1582716592600752e-17, 4.6607544536723803e-20, 2.8886773392558601e-22});
  Value* outer = b.CreateSelect(b.CreateFCmpOLT(a, c(x, 8)), c(x, 8), a);
  Value* tail = poly(b.CreateFDiv(c(x, 1), outer), {0.39894227792863345, 0.049869199160201675, 0.02792353413438354,
                                                    0.033233373132995291, -0.008832300376870341, 0.37199492750211111});
  Value* half = exp_scaled(b.CreateFMul(a, c(x, 0.5)));
  Value* far = b.CreateFMul(b.CreateFMul(half, b.CreateFDiv(tail, e.call(Intrinsic::sqrt, outer))), half);
  return b.CreateSelect(b.CreateFCmpOGT(a, c(x, 8)), far, near);
}

/// e^x for x in [-20, 0.5], where 2^n is a float: 1 + e^r * 2^n by an addition to the exponent.
Value* MathEmitter::scale_exp_of_negative(Value* x) {
  if (e.cx.host.approximates) return exp_approximate(x);
  const Split s = exp_split(x);
  Value* power =
      e.floats(b.CreateShl(b.CreateAdd(b.CreateFPToSI(s.n, e.like(x, b.getInt32Ty())), e.integer(e.bits(x), 127)), 23));
  return e.multiply_add(power, s.p, power);
}

Value* MathEmitter::sinh(Value* x) {
  Value* a = e.call(Intrinsic::fabs, x);
  Value* z = b.CreateFMul(x, x);
  Value* near = e.multiply_add(
      b.CreateFMul(a, z),
      poly(z, {0.1666666648872955, 0.0083333505973472839, 0.00019836066374611401, 2.8174389688726289e-6}), a);
  Value* t = exp_scaled(a, -1);  // e^a / 2
  Value* far = b.CreateFSub(t, b.CreateFDiv(c(x, 0.25), t));
  return e.call(Intrinsic::copysign, b.CreateSelect(b.CreateFCmpOLT(a, c(x, 1)), near, far), x);
}

Value* MathEmitter::cosh(Value* x) {
  Value* t = exp_scaled(e.call(Intrinsic::fabs, x), -1);
  return b.CreateFAdd(t, b.CreateFDiv(c(x, 0.25), t));
}

Value* MathEmitter::asin(Value* x, bool arc_cosine) {
  Value* a = e.call(Intrinsic::fabs, x);
  Value* outer = b.CreateFCmpOGT(a, c(x, 0.5));
  Value* z = b.CreateSelect(outer, e.multiply_add(a, c(x, -0.5), c(x, 0.5)), b.CreateFMul(x, x));
  Value* s = b.CreateSelect(outer, e.call(Intrinsic::sqrt, z), a);
  Value* q = poly(z, {0.16666667191579304, 0.074999480074653049, 0.044660205635287379, 0.030109707833126194,
                      0.024621909334592565, 0.0074578291460500386, 0.034706973191557175});
  Value* y = e.multiply_add(b.CreateFMul(s, z), q, s);  // asin(s)
  constexpr double half_pi = 1.57079632679489661923, half_pi_high = 1.57079637050628662109375;
  if (arc_cosine) {
    Value* negative = b.CreateFCmpOLT(x, c(x, 0));
    Value* twice = b.CreateFAdd(y, y);
    Value* far = b.CreateSelect(
        negative, b.CreateFSub(c(x, 2 * half_pi_high), b.CreateFAdd(twice, c(x, 2 * (half_pi_high - half_pi)))), twice);
    Value* signed_y = e.call(Intrinsic::copysign, y, x);
    Value* middle = b.CreateFSub(c(x, half_pi_high), b.CreateFAdd(signed_y, c(x, half_pi_high - half_pi)));
    return b.CreateSelect(outer, far, middle);
  }
  Value* far = b.CreateFSub(c(x, half_pi_high), e.multiply_add(y, c(x, 2), c(x, half_pi_high - half_pi)));
  return e.call(Intrinsic::copysign, b.CreateSelect(outer, far, y), x);
}

/// atan of a in [0, inf], not NaN-sensitive.
Value* MathEmitter::atan_positive(Value* a) {
  Value* large = b.CreateFCmpOGT(a, c(a, 2.41421356237309504880));
  Value* middle = b.CreateFCmpOGT(a, c(a, 0.41421356237309504880));
  Value* top = b.CreateSelect(large, c(a, -1), b.CreateSelect(middle, b.CreateFSub(a, c(a, 1)), a));
  Value* bottom = b.CreateSelect(large, a, b.CreateSelect(middle, b.CreateFAdd(a, c(a, 1)), c(a, 1)));
  Value* z = b.CreateFDiv(top, bottom);
  constexpr double quarter = 0.78539816339744830962, quarter_high = 0.785398185253143310546875;
  Value* base = b.CreateSelect(large, c(a, 2 * quarter_high), b.CreateSelect(middle, c(a, quarter_high), c(a, 0)));
  Value* rest = b.CreateSelect(large, c(a, 2 * (quarter - quarter_high)),
                               b.CreateSelect(middle, c(a, quarter - quarter_high), c(a, 0)));
  Value* z2 = b.CreateFMul(z, z);
  Value* q = poly(z2, {-0.33333332514643599, 0.19999905189683907, -0.14282042152393855, 0.11045094464921015,
                       -0.084784111213742602, 0.047482849571354658});
  Value* small = e.multiply_add(b.CreateFMul(z, z2), q, rest);
  return b.CreateFAdd(base, b.CreateFAdd(z, small));
}

Value* MathEmitter::atan2(Value* y, Value* x) {
  Value *ay = e.call(Intrinsic::fabs, y), *ax = e.call(Intrinsic::fabs, x);
  // In double: the quotient of two floats neither overflows nor is rounded before its arc tangent is.
  Value *dy = wide(ay), *dx = wide(ax);
  Value* swap = b.CreateFCmpOGT(ay, ax);
  Value* top = b.CreateSelect(swap, dx, dy);
  Value* bottom = b.CreateSelect(swap, dy, dx);
  Value* ratio = b.CreateFDiv(top, bottom);
  ratio = b.CreateSelect(b.CreateFCmpOEQ(bottom, c(bottom, 0)), c(bottom, 0), ratio);  // 0 / 0
  ratio = b.CreateSelect(b.CreateFCmpOEQ(top, c(top, kInf)), c(top, 1), ratio);        // inf / inf
  Value* angle = atan_wide(ratio);
  angle = b.CreateSelect(swap, b.CreateFSub(c(angle, 1.57079632679489661923), angle), angle);
  Value* left = b.CreateICmpSLT(e.bits(x), e.integer(e.bits(x), 0));
  angle = b.CreateSelect(left, b.CreateFSub(c(angle, 3.14159265358979323846), angle), angle);
  Value* r = e.call(Intrinsic::copysign, narrow(angle), y);
  return b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), r);
}

Value* Emitter::math_f32(ScalarOp o, Value* a, Value* c) {
  const int lanes = lanes_of(a);
  if (lanes == 0 && cx.host.runtime_calls) {  // one value: as a vector, so that it has the bits it would have in one
    auto first_of_4 = [&](Value* v) { return v ? splat(v, 4) : nullptr; };
    Value* r = math_f32(o, first_of_4(a), first_of_4(c));
    return r ? b.CreateExtractElement(r, std::uint64_t{0}) : nullptr;
  }
  MathEmitter m(*this);
  switch (o) {
    case ScalarOp::Exp: return m.exp(a);
    case ScalarOp::Exp2: return m.exp2(a);
    case ScalarOp::Expm1: return m.expm1(a);
    case ScalarOp::Log: return m.log(a);
    case ScalarOp::Log2: return m.log_base(a, 1, 0, kLog2e);
    case ScalarOp::Log10: return m.log_base(a, 0.301025390625, 4.60503898119521374e-6, 0.43429448190325182765);
    case ScalarOp::Log1p: return m.log1p(a);
    case ScalarOp::Sin: return m.sin(a, 0);
    case ScalarOp::Cos: return m.sin(a, 1);
    case ScalarOp::Tan: return m.tan(a);
    case ScalarOp::Asin: return m.asin(a, false);
    case ScalarOp::Acos: return m.asin(a, true);
    case ScalarOp::Atan: return call(Intrinsic::copysign, m.atan_positive(call(Intrinsic::fabs, a)), a);
    case ScalarOp::Sinh: return m.sinh(a);
    case ScalarOp::Cosh: return m.cosh(a);
    case ScalarOp::Tanh: return m.tanh(a);
    case ScalarOp::Asinh: return m.asinh(a);
    case ScalarOp::Acosh: return m.acosh(a);
    case ScalarOp::Atanh: return m.atanh(a);
    case ScalarOp::Sigmoid: return m.sigmoid(a);
    case ScalarOp::Erf: return m.erf(a);
    case ScalarOp::I0: return m.i0(a);
    case ScalarOp::Erfc: return m.erfc(a);
    case ScalarOp::Pow: return m.pow(a, c);
    case ScalarOp::Atan2: return m.atan2(a, c);
    case ScalarOp::Hypot: return m.hypot(a, c);
    default: return nullptr;
  }
}

}  // namespace reprise::jit
