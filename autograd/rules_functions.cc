// Derivatives of functions of one number: exponentials, trigonometry, special functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"
#include "reprise/special.h"

namespace reprise::autograd::rules {

namespace {
void times(Backward& b, const Tensor& slope) { b.give(0, mul(b.grad(), slope, b.loc())); }
void over(Backward& b, const Tensor& slope) { b.give(0, div(b.grad(), slope, {}, b.loc())); }
/// The argument, as floats where it is integers.
Tensor input(Backward& b) { return to(b.tensor(0), b.result_dtype(), b.loc()); }
}  // namespace

void exp(Backward& b) { times(b, b.result()); }
void exp2(Backward& b) { times(b, b.result() * std::numbers::ln2); }
void expm1(Backward& b) { times(b, b.result() + 1); }
void log(Backward& b) { over(b, input(b)); }
void log2(Backward& b) { over(b, input(b) * std::numbers::ln2); }
void log10(Backward& b) { over(b, input(b) * std::numbers::ln10); }
void log1p(Backward& b) { over(b, input(b) + 1); }

void sin(Backward& b) { times(b, cos(input(b), b.loc())); }
void cos(Backward& b) { times(b, -sin(input(b), b.loc())); }
void tan(Backward& b) { times(b, square(b.result(), b.loc()) + 1); }
void asin(Backward& b) { times(b, rsqrt(1 - square(input(b), b.loc()), b.loc())); }
void acos(Backward& b) { times(b, -rsqrt(1 - square(input(b), b.loc()), b.loc())); }
void atan(Backward& b) { over(b, square(input(b), b.loc()) + 1); }
void sinh(Backward& b) { times(b, cosh(input(b), b.loc())); }
void cosh(Backward& b) { times(b, sinh(input(b), b.loc())); }
void tanh(Backward& b) { times(b, 1 - square(b.result(), b.loc())); }
void asinh(Backward& b) { times(b, rsqrt(square(input(b), b.loc()) + 1, b.loc())); }
void acosh(Backward& b) { times(b, rsqrt(square(input(b), b.loc()) - 1, b.loc())); }
void atanh(Backward& b) { over(b, 1 - square(input(b), b.loc())); }
void sigmoid(Backward& b) {
  const Tensor r = b.result();
  times(b, r * (1 - r));
}

namespace {
/// 2 / sqrt(pi) exp(-x^2).
Tensor bell(Backward& b) { return exp(-square(input(b), b.loc()), b.loc()) * (2 * std::numbers::inv_sqrtpi); }
}  // namespace
void erf(Backward& b) { times(b, bell(b)); }
void erfc(Backward& b) { times(b, -bell(b)); }
void lgamma(Backward& b) { times(b, digamma(input(b), b.loc())); }
void i0(Backward& b) { times(b, i1(input(b), b.loc())); }

// (cos(pi x) - sinc(x)) / x; 0 at 0.
void sinc(Backward& b) {
  const Tensor x = input(b), at_0 = x == 0, away = where(at_0, 1, x, b.loc());
  times(b, unless(at_0, (cos(away * std::numbers::pi, b.loc()) - sinc(away, b.loc())) / away, b.loc()));
}

// Beyond [0, 1], where there is no value, or [eps, 1 - eps], where it is constant.
void logit(Backward& b) {
  const Tensor x = input(b);
  const Tensor slope = b.grad() / (x * (1 - x));
  if (!b.has(1)) {
    b.give(0, where((x < 0) | (x > 1), std::numeric_limits<double>::quiet_NaN(), slope, b.loc()));
  } else {
    const Scalar eps = b.number(1);
    b.give(0, unless(lt(x, eps, b.loc()) | gt(x, 1 - eps, b.loc()), slope, b.loc()));
  }
}

}  // namespace reprise::autograd::rules
