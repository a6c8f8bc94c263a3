#include "kernels/loop/scalar_eval.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/errors.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels::scalar {

namespace {

std::int64_t wrap(DType t, std::uint64_t v) { return wrap_to(static_cast<std::int64_t>(v), t); }

template <class T>
std::int64_t saturate(DType t, T v) {
  if (std::isnan(v)) return 0;
  auto clamp = [&](double lo, double hi, std::int64_t ilo, std::int64_t ihi) {
    const double d = static_cast<double>(v);
    return d <= lo ? ilo : d >= hi ? ihi : static_cast<std::int64_t>(d);
  };
  switch (t) {
    case DType::Int8: return clamp(-128, 127, -128, 127);
    case DType::UInt8: return clamp(0, 255, 0, 255);
    case DType::Int32: return clamp(-2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX);
    default: return clamp(-9223372036854775808.0, 9223372036854775808.0, INT64_MIN, INT64_MAX);
  }
}

}  // namespace

Val cast(DType to, DType from, Val v) {
  if (is_low_precision(to)) {
    const float f = cast(DType::Float32, from, v).f;
    return of_float(to == DType::Float16        ? static_cast<float>(Half(f))
                    : to == DType::BFloat16     ? static_cast<float>(BFloat16(f))
                    : to == DType::Float8E4M3FN ? static_cast<float>(Float8E4M3FN(f))
                                                : static_cast<float>(Float8E5M2(f)));
  }
  from = register_dtype(from);
  if (from == to) return v;
  if (from == DType::Float32) {
    if (to == DType::Float64) return of_double(v.f);
    return of_int(to == DType::Bool ? v.f != 0 : saturate(to, v.f));
  }
  if (from == DType::Float64) {
    if (to == DType::Float32) return of_float(static_cast<float>(v.d));
    return of_int(to == DType::Bool ? v.d != 0 : saturate(to, v.d));
  }
  if (to == DType::Float32) return of_float(static_cast<float>(v.i));
  if (to == DType::Float64) return of_double(static_cast<double>(v.i));
  return of_int(wrap_to(v.i, to));
}

namespace {

template <class T>
T fold_max(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
T fold_min(T a, T b) {
  return a < b || a != a ? a : b;
}

// Quotients, remainders and powers are computed here in another way than by generated code and by what it calls
// (jit/emit/library.cc, jit/engine/runtime_calls.cc): in numbers so wide that nothing is rounded and nothing overflows.
#if __LDBL_MANT_DIG__ >= 113
using Quad = long double;
#else
using Quad = __float128;
#endif
template <class T>
T floored_remainder(T a, T b) {
  const long double r = std::fmod(static_cast<long double>(a), static_cast<long double>(b));  // exact
  return r != 0 && std::signbit(r) != std::signbit(b) ? static_cast<T>(static_cast<Quad>(r) + b) : static_cast<T>(r);
}
template <class T>
T floored_quotient(T a, T b) {
  if (b == 0 || std::isnan(a) || std::isnan(b)) return a / b;
  if (std::isinf(a)) return std::numeric_limits<T>::quiet_NaN();
  if (a == 0 || (std::isinf(b) && std::signbit(a) == std::signbit(b))) return std::copysign(T(0), a / b);
  if (std::isinf(b)) return -1;
  // Of quotients so large that T hardly holds the integers beside them it is the rounding that is defined (ATen's).
  if (std::fabs(static_cast<long double>(a) / b) >= std::ldexp(1.0L, std::numeric_limits<T>::digits - 2)) {
    const T rest = std::fmod(a, b), large = (a - rest) / b;
    return std::floor(rest != 0 && std::signbit(rest) != std::signbit(b) ? large - 1 : large);
  }
  const long double r = std::fmod(static_cast<long double>(a), static_cast<long double>(b));
  Quad below = r;  // what a is above a multiple of b, on b's side
  if (r != 0 && std::signbit(r) != std::signbit(b)) below += b;
  const T q = static_cast<T>((static_cast<Quad>(a) - below) / b);  // an integer, exactly
  return q == 0 ? std::copysign(T(0), a / b) : q;
}

template <class T>
T float_op(ScalarOp op, T a, T b, T c) {
  switch (op) {
    case ScalarOp::Neg: return -a;
    case ScalarOp::Abs: return std::fabs(a);
    case ScalarOp::Sign: return static_cast<T>((a > 0) - (a < 0));
    case ScalarOp::Sqrt: return std::sqrt(a);
    case ScalarOp::Rsqrt: return T(1) / std::sqrt(a);
    case ScalarOp::Reciprocal: return T(1) / a;
    case ScalarOp::Exp: return std::exp(a);
    case ScalarOp::Exp2: return std::exp2(a);
    case ScalarOp::Expm1: return std::expm1(a);
    case ScalarOp::Log: return std::log(a);
    case ScalarOp::Log2: return std::log2(a);
    case ScalarOp::Log10: return std::log10(a);
    case ScalarOp::Log1p: return std::log1p(a);
    case ScalarOp::Sin: return std::sin(a);
    case ScalarOp::Cos: return std::cos(a);
    case ScalarOp::Tan: return std::tan(a);
    case ScalarOp::Asin: return std::asin(a);
    case ScalarOp::Acos: return std::acos(a);
    case ScalarOp::Atan: return std::atan(a);
    case ScalarOp::Sinh: return std::sinh(a);
    case ScalarOp::Cosh: return std::cosh(a);
    case ScalarOp::Tanh: return std::tanh(a);
    case ScalarOp::Asinh: return std::asinh(a);
    case ScalarOp::Acosh: return std::acosh(a);
    case ScalarOp::Atanh: return std::atanh(a);
    case ScalarOp::Sigmoid: return static_cast<T>(1.0 / (1.0 + std::exp(-static_cast<double>(a))));
    case ScalarOp::Erf: return std::erf(a);
    case ScalarOp::Erfc: return std::erfc(a);
    case ScalarOp::Lgamma: return std::lgamma(a);
    case ScalarOp::I0:  // beyond 1000 no float holds it (and no library computes it)
      return std::fabs(a) > 1000 ? std::numeric_limits<T>::infinity()
                                 : static_cast<T>(std::cyl_bessel_i(0.0L, std::fabs(static_cast<long double>(a))));
    case ScalarOp::Floor: return std::floor(a);
    case ScalarOp::Ceil: return std::ceil(a);
    case ScalarOp::Round: return std::nearbyint(a);
    case ScalarOp::Trunc: return std::trunc(a);
    case ScalarOp::Add: return a + b;
    case ScalarOp::Sub: return a - b;
    case ScalarOp::Mul: return a * b;
    case ScalarOp::Div: return a / b;
    case ScalarOp::TruncDiv: return std::trunc(a / b);
    case ScalarOp::FloorDiv: return floored_quotient(a, b);
    case ScalarOp::Remainder: return floored_remainder(a, b);
    case ScalarOp::Fmod: return std::fmod(a, b);
    case ScalarOp::Pow: return std::pow(a, b);
    case ScalarOp::Atan2: return std::atan2(a, b);
    case ScalarOp::Hypot: return std::hypot(a, b);
    case ScalarOp::Max: return fold_max(a, b);
    case ScalarOp::Min: return fold_min(a, b);
    case ScalarOp::CopySign: return std::copysign(a, b);
    case ScalarOp::Fma: return std::fma(a, b, c);
    default: REPRISE_CHECK(false, "not an operation of floats"); return 0;
  }
}

// Low 64 bits of a^b; of a negative power the fraction's integer part. From the highest bit of b down.
std::int64_t int_pow(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 || a == -1 ? int_pow(a, b & 1) : 0;
  std::uint64_t r = 1;
  for (int bit = 62; bit >= 0; --bit) {
    r *= r;
    if (b >> bit & 1) r *= static_cast<std::uint64_t>(a);
  }
  return static_cast<std::int64_t>(r);
}

std::int64_t int_op(DType t, ScalarOp op, std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const int shift = static_cast<int>(ub & static_cast<std::uint64_t>(item_size(t) * 8 - 1));
  if (t == DType::Bool) {
    switch (op) {
      case ScalarOp::Add:
      case ScalarOp::Max:
      case ScalarOp::BitOr: return a | b;
      case ScalarOp::Mul:
      case ScalarOp::Min:
      case ScalarOp::BitAnd: return a & b;
      case ScalarOp::Sub:
      case ScalarOp::BitXor: return a ^ b;
      case ScalarOp::BitNot: return !a;
      default: REPRISE_CHECK(false, "not an operation of bools"); return 0;
    }
  }
  const __int128 wide = a, by = b;  // the quotient of the least number and -1 is one more than 64 bits hold
  auto low = [&](__int128 v) { return wrap(t, static_cast<std::uint64_t>(v)); };
  switch (op) {
    case ScalarOp::Neg: return wrap(t, 0 - ua);
    case ScalarOp::Abs: return a < 0 ? wrap(t, 0 - ua) : a;
    case ScalarOp::Sign: return (a > 0) - (a < 0);
    case ScalarOp::Floor:
    case ScalarOp::Ceil:
    case ScalarOp::Round:
    case ScalarOp::Trunc: return a;
    case ScalarOp::BitNot: return wrap(t, ~ua);
    case ScalarOp::Add: return wrap(t, ua + ub);
    case ScalarOp::Sub: return wrap(t, ua - ub);
    case ScalarOp::Mul: return wrap(t, ua * ub);
    case ScalarOp::TruncDiv: return b == 0 ? 0 : low(wide / by);
    case ScalarOp::FloorDiv: return b == 0 ? 0 : low((wide - (wide % by + by) % by) / by);
    case ScalarOp::Remainder: return b == 0 ? 0 : low((wide % by + by) % by);
    case ScalarOp::Fmod: return b == 0 ? 0 : low(wide % by);
    case ScalarOp::Pow: return wrap(t, static_cast<std::uint64_t>(int_pow(a, b)));
    case ScalarOp::Max: return a > b ? a : b;
    case ScalarOp::Min: return a < b ? a : b;
    case ScalarOp::BitAnd: return a & b;
    case ScalarOp::BitOr: return a | b;
    case ScalarOp::BitXor: return a ^ b;
    case ScalarOp::Shl: return wrap(t, ua << shift);
    case ScalarOp::Shr: return a >> shift;
    case ScalarOp::Fma: return wrap(t, ua * ub + static_cast<std::uint64_t>(c));
    default: REPRISE_CHECK(false, "not an operation of integers"); return 0;
  }
}

template <class T>
bool compare(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::Eq: return a == b;
    case ScalarOp::Ne: return a != b;
    case ScalarOp::Lt: return a < b;
    case ScalarOp::Le: return a <= b;
    default: REPRISE_CHECK(false, "not a comparison"); return false;
  }
}

}  // namespace

Val apply(const BodyNode& n, DType operand, Val a, Val b, Val c) {
  operand = register_dtype(operand);
  auto truth = [&](Val v) { return cast(DType::Bool, operand, v).i; };
  switch (n.op) {
    case ScalarOp::Where: return a.i ? b : c;
    case ScalarOp::Not: return of_int(!truth(a));
    case ScalarOp::And: return of_int(truth(a) & truth(b));
    case ScalarOp::Or: return of_int(truth(a) | truth(b));
    case ScalarOp::Xor: return of_int(truth(a) ^ truth(b));
    case ScalarOp::IsNan:
      return of_int(operand == DType::Float32 ? std::isnan(a.f) : operand == DType::Float64 && std::isnan(a.d));
    case ScalarOp::IsInf:
      return of_int(operand == DType::Float32 ? std::isinf(a.f) : operand == DType::Float64 && std::isinf(a.d));
    case ScalarOp::Eq:
    case ScalarOp::Ne:
    case ScalarOp::Lt:
    case ScalarOp::Le:
      return of_int(operand == DType::Float32   ? compare(n.op, a.f, b.f)
                    : operand == DType::Float64 ? compare(n.op, a.d, b.d)
                                                : compare(n.op, a.i, b.i));
    default: break;
  }
  if (n.dtype == DType::Float32) return of_float(float_op(n.op, a.f, b.f, c.f));
  if (n.dtype == DType::Float64) return of_double(float_op(n.op, a.d, b.d, c.d));
  return of_int(int_op(n.dtype, n.op, a.i, b.i, c.i));
}

Val load(DType t, const char* p) {
  auto read = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (t) {
    case DType::Float32: return of_float(read(float{}));
    case DType::Float64: return of_double(read(double{}));
    case DType::Float16: return of_float(static_cast<float>(read(Half{})));
    case DType::BFloat16: return of_float(static_cast<float>(read(BFloat16{})));
    case DType::Float8E4M3FN: return of_float(static_cast<float>(read(Float8E4M3FN{})));
    case DType::Float8E5M2: return of_float(static_cast<float>(read(Float8E5M2{})));
    case DType::Int8: return of_int(read(std::int8_t{}));
    case DType::UInt8: return of_int(read(std::uint8_t{}));
    case DType::Int32: return of_int(read(std::int32_t{}));
    case DType::Int64: return of_int(read(std::int64_t{}));
    case DType::Bool: return of_int(read(std::uint8_t{}) != 0);
  }
  return of_int(0);
}

void store(DType t, char* p, Val v) {
  auto write = [&](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (t) {
    case DType::Float32: write(v.f); break;
    case DType::Float64: write(v.d); break;
    case DType::Float16: write(Half(v.f)); break;
    case DType::BFloat16: write(BFloat16(v.f)); break;
    case DType::Float8E4M3FN: write(Float8E4M3FN(v.f)); break;
    case DType::Float8E5M2: write(Float8E5M2(v.f)); break;
    case DType::Int8:
    case DType::UInt8: write(static_cast<std::uint8_t>(v.i)); break;
    case DType::Bool: write(static_cast<std::uint8_t>(v.i != 0)); break;
    case DType::Int32: write(static_cast<std::int32_t>(v.i)); break;
    case DType::Int64: write(v.i); break;
  }
}

Val identity(const BodyNode& n) {
  const DType t = n.dtype;
  auto number = [&](double f, std::int64_t i) {
    return t == DType::Float32 ? of_float(static_cast<float>(f)) : t == DType::Float64 ? of_double(f) : of_int(i);
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const bool is_unsigned = t == DType::UInt8 || t == DType::Bool;
  const int bits = t == DType::Bool ? 1 : item_size(t) * 8;
  const std::int64_t most = bits == 64 ? INT64_MAX : (std::int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1;
  switch (n.reduce) {
    case ReduceOp::Sum: return number(0, 0);
    case ReduceOp::Prod: return number(1, 1);
    case ReduceOp::Max: return number(-inf, is_unsigned ? 0 : -most - 1);
    case ReduceOp::Min: return number(inf, most);
    case ReduceOp::Any: return of_int(0);
    case ReduceOp::All: return of_int(1);
  }
  return of_int(0);
}

Val fold(const BodyNode& n, Val acc, Val x) {
  static constexpr ScalarOp kFold[] = {ScalarOp::Add, ScalarOp::Mul,   ScalarOp::Max,
                                       ScalarOp::Min, ScalarOp::BitOr, ScalarOp::BitAnd};
  const ScalarOp op = kFold[static_cast<int>(n.reduce)];
  if (n.dtype == DType::Float32) return of_float(float_op(op, x.f, acc.f, 0.f));
  if (n.dtype == DType::Float64) return of_double(float_op(op, x.d, acc.d, 0.0));
  return of_int(int_op(n.dtype, op, x.i, acc.i, 0));
}

}  // namespace reprise::kernels::scalar
