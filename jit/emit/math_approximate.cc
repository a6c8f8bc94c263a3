// Float32 functions by a processor's own approximations (Host::approximates): 2^x and 1/x to about an ulp in one
// instruction. Scalars only.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

/// The instruction is close where its argument is small: it gets the fraction, the exponent is set by integers.
Value* MathEmitter::exp2_approximate(Value* x, double factor, int offset) {
  constexpr double magic = 0x1.8p23;  // adding it leaves the nearest integer in the low bits
  Value* t = e.multiply_add(x, c(x, factor), c(x, magic));
  Value* n = b.CreateFSub(t, c(x, magic));
  Value* fraction = e.multiply_add(x, c(x, factor), b.CreateFNeg(n));
  const double low = factor - static_cast<float>(factor);
  if (low != 0) fraction = e.multiply_add(x, c(x, low), fraction);
  Value* p = b.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz_f, {}, {fraction});
  Value* whole = b.CreateSub(e.bits(t), e.bits(c(x, magic)));
  if (offset) whole = b.CreateAdd(whole, e.integer(whole, offset));
  return scale_by(p, whole);
}

Value* MathEmitter::exp_approximate(Value* x) {
  return b.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz_f, {}, {b.CreateFMul(x, c(x, 1.44269504088896340736))});
}

Value* MathEmitter::quotient_of(Value* a, Value* d) {
  if (!e.cx.host.approximates) return b.CreateFDiv(a, d);
  Value* inverse = b.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {d});
  Value* q = b.CreateFMul(a, inverse);
  return e.multiply_add(e.multiply_add(b.CreateFNeg(q), d, a), inverse, q);
}

}  // namespace reprise::jit
