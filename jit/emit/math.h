#pragma once
#include <initializer_list>

#include "jit/emit/emitter.h"

namespace reprise::jit {

/// Float32 functions on one vector (see math.cc; those that compute in double: math_wide.cc; by tables:
/// math_tables.cc).
class MathEmitter {
 public:
  explicit MathEmitter(Emitter& emitter) : e(emitter), b(emitter.b) {}
  using Value = llvm::Value;

  /// `weight`: x is never above 0, and what would be a denormal is 0.
  Value* exp(Value* x, bool weight = false);
  Value* exp_scaled(Value* x, double exponent_offset = 0);  ///< e^x * 2^offset, closer than exp and dearer
  Value* exp2(Value* x);
  Value* i0(Value* x);
  Value* expm1(Value* x);
  Value* log(Value* x);
  Value* log_base(Value* x, double octave_high, double octave_low, double per_e);
  Value* log1p(Value* x);
  Value* tanh(Value* x);
  Value* sigmoid(Value* x);
  Value* erf(Value* x);
  Value* sinh(Value* x);
  Value* cosh(Value* x);
  Value* asin(Value* x, bool arc_cosine);
  Value* atan_positive(Value* a);
  Value* atan2(Value* y, Value* x);

  Value* sin(Value* x, int quarter_turns);  ///< 0: sine, 1: cosine
  Value* tan(Value* x);
  Value* asinh(Value* x);
  Value* acosh(Value* x);
  Value* atanh(Value* x);
  Value* erfc(Value* x);
  Value* pow(Value* x, Value* y);
  Value* hypot(Value* x, Value* y);
  Value* log2_wide(Value* x);  ///< of doubles: relative error below 2^-40

 private:
  struct Split {
    Value *n, *p;
  };
  Value* c(Value* like, double v) { return e.constant(like, v); }
  Value* poly(Value* x, std::initializer_list<double> coefficients);  ///< lowest degree first, by Horner's rule
  Value* at_most(Value* x, double most);                              ///< a NaN stays
  Value* at_least(Value* x, double least);
  Value* scale(Value* p, Value* n, Value* kept = nullptr);  ///< 0 where not `kept`
  bool scales_under_mask(Value* like) const;
  Value* scale_by(Value* p, Value* whole);  ///< the same for an integer n
  Value* scale_normal(Value* p, Value* n);  ///< p * 2^n where both are normal floats, and p not 0
  /// 2^(x * factor + offset) by a processor's approximation of 2^x (math_approximate.cc).
  Value* exp2_approximate(Value* x, double factor, int offset);
  Value* exp_approximate(Value* x);        ///< the same of e^x, right to 2^-21 for x in [-20, 1]
  Value* quotient_of(Value* a, Value* d);  ///< a / d where neither it nor 1 / d comes near the ends of the range
  Split exp_split(Value* x);
  Value* half_expm1(Value* x);
  Value* scale_exp_of_negative(Value* x);
  Split log_split(Value* x);
  Value* log_tail(Value* f);
  Value* log_specials(Value* x, Value* y);

  Value* wide(Value* x) { return b.CreateFPExt(x, e.like(x, b.getDoubleTy())); }
  Value* narrow(Value* x) { return b.CreateFPTrunc(x, e.like(x, b.getFloatTy())); }
  Value* exp2_wide(Value* x);
  bool has_tables(Value* like) const;
  Value* entry(llvm::ArrayRef<float> table, Value* where);
  Value* by_table(llvm::ArrayRef<llvm::ArrayRef<float>> table, Value* a, Value* where, Value* first);
  Value* erf_by_table(Value* x);
  Value* tanh_by_table(Value* x);
  Value* atan_wide(Value* x);  ///< of doubles in [0, 1]
  Split turns_wide(Value* x);  ///< x = n * pi/2 + p: n's integer in the low bits, p
  Split turns_of_huge(Value* x);
  Split turns(Value* x);
  Value* repair(Value* fast, Value* x, const char* call);

  Emitter& e;
  llvm::IRBuilder<>& b;
};

}  // namespace reprise::jit
