#pragma once
#include "reprise/ops.h"

/// Pointwise functions beside those of reprise/ops.h. They broadcast and promote as all do; results of floats, and
/// integers become float32, unless told otherwise.
namespace reprise REPRISE_VISIBLE {

/// The derivative of lgamma: infinite at 0, NaN at negative integers.
Tensor digamma(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The inverse of erf: infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// exp(-|x|) i0(x): what i0 is without its growth.
Tensor i0e(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The modified Bessel function of order 1, and without its growth: exp(-|x|) i1(x).
Tensor i1(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor i1e(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The n-th derivative of digamma, n >= 0; infinite at 0 and negative integers.
Tensor polygamma(std::int64_t n, const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The zeta function of Hurwitz, the sum of (q + k)^-x over k >= 0: x > 1 (1 gives infinity, less NaN), NaN of negative
/// q that are no integers where x is none.
Tensor zeta(const Tensor& x, const Tensor& q, SourceLoc loc = SourceLoc::current());
/// The next number after self in the direction of other. Floats.
Tensor nextafter(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
/// Greatest common divisor and least common multiple. Integers (DTypeMismatch); neither is negative, gcd(0, 0) is 0.
Tensor gcd(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor lcm(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());

/// self * log1p(other), 0 where self is 0 (and other no NaN).
Tensor xlog1py(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// -self * log(self); 0 at 0, minus infinity below.
Tensor entr(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The distribution function of the standard normal distribution.
Tensor ndtr(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// log of the multivariate gamma function of dimension p >= 1.
Tensor mvlgamma(const Tensor& self, Int p, SourceLoc loc = SourceLoc::current());
/// self * 2^other.
Tensor ldexp(const Tensor& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// pow in float64.
Tensor float_power(const Operand& self, const Operand& exponent, SourceLoc loc = SourceLoc::current());
/// Both at once: of all elements, or along dim.
TensorPair aminmax(const Tensor& self, std::optional<Int> dim = std::nullopt, bool keepdim = false,
                   SourceLoc loc = SourceLoc::current());
/// How many elements are not 0: int64.
Tensor count_nonzero(const Tensor& self, const OptionalDims& dim = {}, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
