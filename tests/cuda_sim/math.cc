#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tests/cuda_sim/runtime.h"

/// Device functions that compiled kernels call.
namespace sim {

namespace {

float ex2(float x) { return std::exp2(x); }
float lg2(float x) { return std::log2(x); }
float sine(float x) { return std::sin(x); }
float cosine(float x) { return std::cos(x); }
float rcp(float x) { return 1.0f / x; }
float rsqrt(float x) { return 1.0f / std::sqrt(x); }
float tangent_h(float x) { return std::tanh(x); }
double ex2_f64(double x) { return std::exp2(x); }
double lg2_f64(double x) { return std::log2(x); }
double rsqrt_f64(double x) { return 1.0 / std::sqrt(x); }

/// A small format: sign, `exp` exponent bits, `man` mantissa bits. e4m3 has no infinity and one NaN.
float from_small(std::uint32_t v, int exp, int man) {
  const int bias = (1 << (exp - 1)) - 1;
  const std::uint32_t e = v >> man & ((1u << exp) - 1), m = v & ((1u << man) - 1);
  float r;
  if (exp == 4 && e == 15 && m == 7) r = NAN;
  else if (exp == 5 && e == 31) r = m ? NAN : INFINITY;
  else if (e == 0) r = std::ldexp(static_cast<float>(m), 1 - bias - man);
  else r = std::ldexp(static_cast<float>(m | 1u << man), static_cast<int>(e) - bias - man);
  return v >> 7 & 1 ? -r : r;
}

/// Nearest, ties to even, saturating at the largest finite value (cvt.rn.satfinite).
std::uint32_t to_small(float x, int exp, int man) {
  const std::uint32_t sign = std::signbit(x) ? 0x80 : 0, largest = exp == 4 ? 0x7e : 0x7b;
  if (std::isnan(x)) return 0x7f;
  const float a = std::fabs(x);
  if (a >= from_small(largest, exp, man)) return sign | largest;
  const int bias = (1 << (exp - 1)) - 1;
  int e = a == 0 ? 1 - bias : std::max(std::ilogb(a), 1 - bias);
  const float steps = std::nearbyint(std::ldexp(a, man - e));  // [0, 2^(man+1)]
  const auto m = static_cast<std::uint32_t>(steps);
  return sign | (m + (static_cast<std::uint32_t>(e + bias - 1) << man));
}

float from_e4m3(std::uint32_t v) { return from_small(v, 4, 3); }
float from_e5m2(std::uint32_t v) { return from_small(v, 5, 2); }
std::uint16_t to_e4m3x2(float high, float low) {
  return static_cast<std::uint16_t>(to_small(high, 4, 3) << 8 | to_small(low, 4, 3));
}
std::uint16_t to_e5m2x2(float high, float low) {
  return static_cast<std::uint16_t>(to_small(high, 5, 2) << 8 | to_small(low, 5, 2));
}

std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t r = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t s = selector >> (4 * i) & 15;
    std::uint32_t byte = both >> (8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}

std::uint64_t clock_now() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// x86 code calls this where it meets bfloat arithmetic. The result is the low half of the register.
float truncate_to_bfloat(float x) {
  auto bits = std::bit_cast<std::uint32_t>(x);
  bits = std::isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return std::bit_cast<float>(bits);
}
float truncate_double_to_bfloat(double x) { return truncate_to_bfloat(static_cast<float>(x)); }

template <class F>
RuntimeFunction entry(const char* name, F* f) {
  return {name, reinterpret_cast<void*>(f)};
}

}  // namespace

std::span<const RuntimeFunction> math_functions() {
  static const RuntimeFunction all[] = {
      entry("sim_ex2", ex2),
      entry("sim_lg2", lg2),
      entry("sim_sin", sine),
      entry("sim_cos", cosine),
      entry("sim_rcp", rcp),
      entry("sim_rsqrt", rsqrt),
      entry("sim_tanh", tangent_h),
      entry("sim_ex2_f64", ex2_f64),
      entry("sim_lg2_f64", lg2_f64),
      entry("sim_rsqrt_f64", rsqrt_f64),
      entry("sim_from_e4m3", from_e4m3),
      entry("sim_from_e5m2", from_e5m2),
      entry("sim_to_e4m3x2", to_e4m3x2),
      entry("sim_to_e5m2x2", to_e5m2x2),
      entry("sim_prmt", prmt),
      entry("sim_clock", clock_now),
      entry("__truncsfbf2", truncate_to_bfloat),
      entry("__truncdfbf2", truncate_double_to_bfloat),
  };
  return all;
}

}  // namespace sim
