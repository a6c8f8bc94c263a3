// What generated code calls for the operations it does not inline: whole vectors at a time, through memory. Being
// called by name, the object code is the same in every process.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

#include "jit/engine/engine.h"

namespace reprise::jit {

namespace {

template <class T, class F>
void unary(const T* a, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(a[i]);
}
template <class T, class F>
void binary(const T* a, const T* b, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(a[i], b[i]);
}

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
template <class T>
T floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T mod = std::fmod(a, b);
  T div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(T(0), a / b);
  T floored = std::floor(div);
  if (div - floored > T(0.5)) floored += 1;
  return floored;
}
template <class T>
T remainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (mod != 0 && (b < 0) != (mod < 0)) mod += b;
  return mod;
}

std::int64_t trunc_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return a / b;
}
std::int64_t fmod_int(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
std::int64_t floor_div_int(std::int64_t a, std::int64_t b) {
  const std::int64_t q = trunc_div(a, b);
  return b != 0 && fmod_int(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
std::int64_t remainder_int(std::int64_t a, std::int64_t b) {
  const std::int64_t r = fmod_int(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
std::int64_t pow_int(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  std::uint64_t r = 1, x = static_cast<std::uint64_t>(a);
  for (; b; b >>= 1, x *= x)
    if (b & 1) r *= x;
  return static_cast<std::int64_t>(r);
}

// The power series, of which all terms are positive; beyond 20 the asymptotic one, whose least term is then e^-40. e^x
// in two factors: it overflows before the product does.
double bessel_i0(double x) {
  x = std::fabs(x);
  double term = 1, sum = 1;
  if (x <= 20) {
    const double q = x * x / 4;
    for (int k = 1; term > sum * 1e-17; ++k) term *= q / (static_cast<double>(k) * k), sum += term;
    return sum;
  }
  if (std::isinf(x)) return x;
  for (int k = 1; k < 60 && std::fabs(term) > 1e-17; ++k)
    term *= (2.0 * k - 1) * (2.0 * k - 1) / (8 * x * k), sum += term;
  const double half = std::exp(x / 2);
  return half * (sum / std::sqrt(2 * std::numbers::pi * x)) * half;
}

// lgamma of libm writes the global signgam: the reentrant form does not race.
template <class T>
T log_gamma(T x) {
  int sign;
  if constexpr (sizeof(T) == 4) return ::lgammaf_r(x, &sign);
  else return ::lgamma_r(x, &sign);
}

template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}

// The functions that rows of scalar_ops.def name.
namespace called {
struct none {};
#define REPRISE_OF_ONE(name, function)    \
  struct name {                           \
    template <class T>                    \
    static T of(T x) {                    \
      return static_cast<T>(function(x)); \
    }                                     \
  };
#define REPRISE_OF_TWO(name, floats, integers)                                        \
  struct name {                                                                       \
    static float of(float x, float y) { return floats(x, y); }                        \
    static double of(double x, double y) { return floats(x, y); }                     \
    static std::int64_t of(std::int64_t x, std::int64_t y) { return integers(x, y); } \
  };
#define REPRISE_OF_TWO_FLOATS(name, function) \
  struct name {                               \
    template <class T>                        \
    static T of(T x, T y) {                   \
      return function(x, y);                  \
    }                                         \
  };
REPRISE_OF_ONE(exp, std::exp)
REPRISE_OF_ONE(exp2, std::exp2)
REPRISE_OF_ONE(expm1, std::expm1)
REPRISE_OF_ONE(log, std::log)
REPRISE_OF_ONE(log2, std::log2)
REPRISE_OF_ONE(log10, std::log10)
REPRISE_OF_ONE(log1p, std::log1p)
REPRISE_OF_ONE(sin, std::sin)
REPRISE_OF_ONE(cos, std::cos)
REPRISE_OF_ONE(tan, std::tan)
REPRISE_OF_ONE(asin, std::asin)
REPRISE_OF_ONE(acos, std::acos)
REPRISE_OF_ONE(atan, std::atan)
REPRISE_OF_ONE(sinh, std::sinh)
REPRISE_OF_ONE(cosh, std::cosh)
REPRISE_OF_ONE(tanh, std::tanh)
REPRISE_OF_ONE(asinh, std::asinh)
REPRISE_OF_ONE(acosh, std::acosh)
REPRISE_OF_ONE(atanh, std::atanh)
REPRISE_OF_ONE(sigmoid, jit::sigmoid)
REPRISE_OF_ONE(erf, std::erf)
REPRISE_OF_ONE(erfc, std::erfc)
REPRISE_OF_ONE(log_gamma, jit::log_gamma)
REPRISE_OF_ONE(i0, bessel_i0)
REPRISE_OF_TWO(floor_div, jit::floor_div, floor_div_int)
REPRISE_OF_TWO(remainder, jit::remainder, remainder_int)
REPRISE_OF_TWO(fmod, std::fmod, fmod_int)
REPRISE_OF_TWO(pow, std::pow, pow_int)
REPRISE_OF_TWO_FLOATS(atan2, std::atan2)
REPRISE_OF_TWO_FLOATS(hypot, std::hypot)
struct trunc_div {
  static std::int64_t of(std::int64_t x, std::int64_t y) { return jit::trunc_div(x, y); }
};
#undef REPRISE_OF_ONE
#undef REPRISE_OF_TWO
#undef REPRISE_OF_TWO_FLOATS
}  // namespace called

template <int Arity, class F, class T>
void add(std::vector<RuntimeCall>& to, const char* name) {
  if constexpr (std::is_same_v<F, called::none>) {
  } else if constexpr (Arity == 1) {
    to.push_back({name, address(&unary<T, F>)});
  } else {
    to.push_back({name, address(&binary<T, F>)});
  }
}

std::vector<RuntimeCall> all_calls() {
  std::vector<RuntimeCall> calls;
#define REPRISE_SCALAR_OP(name, arity, yields, domain, cost, device, floats, integers) \
  add<arity, called::floats, float>(calls, "reprise_" #name "_f32");                   \
  add<arity, called::floats, double>(calls, "reprise_" #name "_f64");                  \
  add<arity, called::integers, std::int64_t>(calls, "reprise_" #name "_i64");
#include "kernels/loop/scalar_ops.def"
#undef REPRISE_SCALAR_OP
  return calls;
}

}  // namespace

const std::vector<RuntimeCall>& runtime_calls() {
  static const auto& calls = *new std::vector<RuntimeCall>(all_calls());
  return calls;
}

}  // namespace reprise::jit
