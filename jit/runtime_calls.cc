// What generated code calls for the operations it does not inline: whole vectors at a time, through memory. Being
// called by name, the object code is the same in every process.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "jit/engine.h"

namespace reprise::jit {

namespace {

template <class T, T (*F)(T)>
void unary(const T* a, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F(a[i]);
}
template <class T, T (*F)(T, T)>
void binary(const T* a, const T* b, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F(a[i], b[i]);
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

// lgamma of libm writes the global signgam: the reentrant form does not race.
template <class T>
T log_gamma(T x) {
  int sign;
  if constexpr (sizeof(T) == 4)
    return ::lgammaf_r(x, &sign);
  else
    return ::lgamma_r(x, &sign);
}

template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}

#define REPRISE_UNARY(name, fn)                                                          \
  {"reprise_" name "_f32", address(&unary<float, static_cast<float (*)(float)>(fn)>)}, { \
    "reprise_" name "_f64", address(&unary<double, static_cast<double (*)(double)>(fn)>) \
  }
#define REPRISE_BINARY(name, fn)                                                                  \
  {"reprise_" name "_f32", address(&binary<float, static_cast<float (*)(float, float)>(fn)>)}, {  \
    "reprise_" name "_f64", address(&binary<double, static_cast<double (*)(double, double)>(fn)>) \
  }
#define REPRISE_INTEGER(name, fn) \
  { "reprise_" name "_i64", address(&binary<std::int64_t, fn>) }

std::vector<RuntimeCall> all_calls() {
  return {
      REPRISE_UNARY("Exp", std::exp),
      REPRISE_UNARY("Exp2", std::exp2),
      REPRISE_UNARY("Expm1", std::expm1),
      REPRISE_UNARY("Log", std::log),
      REPRISE_UNARY("Log2", std::log2),
      REPRISE_UNARY("Log10", std::log10),
      REPRISE_UNARY("Log1p", std::log1p),
      REPRISE_UNARY("Sin", std::sin),
      REPRISE_UNARY("Cos", std::cos),
      REPRISE_UNARY("Tan", std::tan),
      REPRISE_UNARY("Asin", std::asin),
      REPRISE_UNARY("Acos", std::acos),
      REPRISE_UNARY("Atan", std::atan),
      REPRISE_UNARY("Sinh", std::sinh),
      REPRISE_UNARY("Cosh", std::cosh),
      REPRISE_UNARY("Tanh", std::tanh),
      REPRISE_UNARY("Asinh", std::asinh),
      REPRISE_UNARY("Acosh", std::acosh),
      REPRISE_UNARY("Atanh", std::atanh),
      REPRISE_UNARY("Sigmoid", sigmoid),
      REPRISE_UNARY("Erf", std::erf),
      REPRISE_UNARY("Erfc", std::erfc),
      REPRISE_UNARY("Lgamma", log_gamma),
      REPRISE_BINARY("FloorDiv", floor_div),
      REPRISE_BINARY("Remainder", remainder),
      REPRISE_BINARY("Fmod", std::fmod),
      REPRISE_BINARY("Pow", std::pow),
      REPRISE_BINARY("Atan2", std::atan2),
      REPRISE_BINARY("Hypot", std::hypot),
      REPRISE_INTEGER("TruncDiv", trunc_div),
      REPRISE_INTEGER("Fmod", fmod_int),
      REPRISE_INTEGER("FloorDiv", floor_div_int),
      REPRISE_INTEGER("Remainder", remainder_int),
      REPRISE_INTEGER("Pow", pow_int),
  };
}

}  // namespace

const std::vector<RuntimeCall>& runtime_calls() {
  static const auto& calls = *new std::vector<RuntimeCall>(all_calls());
  return calls;
}

}  // namespace reprise::jit
