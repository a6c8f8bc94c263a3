#include "reprise/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "base/errors.h"
#include "base/nearest.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace reprise {
namespace {

struct Names {
  std::string_view full, brief;
};
constexpr Names kNames[kDTypeCount] = {{"float32", "f32"},       {"float64", "f64"},
                                       {"float16", "f16"},       {"bfloat16", "bf16"},
                                       {"int8", "i8"},           {"uint8", "u8"},
                                       {"int32", "i32"},         {"int64", "i64"},
                                       {"bool", "bool"},         {"float8_e4m3fn", "f8e4m3fn"},
                                       {"float8_e5m2", "f8e5m2"}};

constexpr DType f4 = DType::Float32, f8 = DType::Float64, f2 = DType::Float16, bf = DType::BFloat16, i1 = DType::Int8,
                u1 = DType::UInt8, i4 = DType::Int32, i8 = DType::Int64, b1 = DType::Bool;
// ATen's table in the order of DType. One entry differs: int8 with uint8 is int16 there, which does not exist here.
// Storage-only dtypes have no row: they come last.
constexpr int kPromoted = static_cast<int>(DType::Bool) + 1;
constexpr DType kPromote[kPromoted][kPromoted] = {
    /*            f4  f8  f2  bf  i1  u1  i4  i8  b1 */
    /* float32  */ {f4, f8, f4, f4, f4, f4, f4, f4, f4},
    /* float64  */ {f8, f8, f8, f8, f8, f8, f8, f8, f8},
    /* float16  */ {f4, f8, f2, f4, f2, f2, f2, f2, f2},
    /* bfloat16 */ {f4, f8, f4, bf, bf, bf, bf, bf, bf},
    /* int8     */ {f4, f8, f2, bf, i1, i4, i4, i8, i1},
    /* uint8    */ {f4, f8, f2, bf, i4, u1, i4, i8, u1},
    /* int32    */ {f4, f8, f2, bf, i4, i4, i4, i8, i4},
    /* int64    */ {f4, f8, f2, bf, i8, i8, i8, i8, i8},
    /* bool     */ {f4, f8, f2, bf, i1, u1, i4, i8, b1},
};
constexpr bool symmetric() {
  for (int a = 0; a < kPromoted; ++a)
    for (int b = 0; b < kPromoted; ++b)
      if (kPromote[a][b] != kPromote[b][a]) return false;
  return true;
}
static_assert(symmetric());

#if !defined(__F16C__)
std::uint16_t half_bits(float f) {
  std::uint32_t u = std::bit_cast<std::uint32_t>(f);
  std::uint16_t sign = static_cast<std::uint16_t>((u >> 16) & 0x8000);
  u &= 0x7fffffff;
  if (u > 0x7f800000) return sign | 0x7e00 | static_cast<std::uint16_t>((u >> 13) & 0x1ff);  // nan: quiet, payload kept
  if (u >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  if (u >= 0x38800000) {                      // normal in binary16: round the 13 bits that go, to nearest even
    u += 0xfff + ((u >> 13) & 1);
    return sign | static_cast<std::uint16_t>((u - 0x38000000) >> 13);
  }
  // Denormal: adding 0.5 puts the unit of the sum's last place at 2^-24, so the addition itself rounds.
  float shifted = std::bit_cast<float>(u) + 0.5f;
  return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000);
}
float half_value(std::uint16_t h) {
  std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 31) {
    std::uint32_t quiet = mantissa ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | mantissa << 13);
  }
  if (exponent == 0) {
    float v = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
#else
std::uint16_t half_bits(float f) { return static_cast<std::uint16_t>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT)); }
float half_value(std::uint16_t h) { return _cvtsh_ss(h); }
#endif

/// A float of `kMantissa` bits behind the point and exponents from 1 - kBias on, without its sign: the number of the
/// value among those from 0 on. Values beyond the largest exponent go on counting.
template <int kMantissa, int kBias>
int count_of(float magnitude) {
  if (magnitude == 0) return 0;
  const int exponent = std::max(std::ilogb(magnitude), 1 - kBias);
  // exact but for the rounding
  const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, kMantissa - exponent)));
  return units + ((exponent + kBias - 1) << kMantissa);
}
template <int kMantissa, int kBias>
float value_of(int count) {
  const int exponent = count >> kMantissa, mantissa = count & ((1 << kMantissa) - 1);
  if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissa);
  return std::ldexp(static_cast<float>(mantissa + (1 << kMantissa)), exponent - kBias - kMantissa);
}
std::uint8_t with_sign(int count, float of) { return static_cast<std::uint8_t>(count | (std::signbit(of) ? 0x80 : 0)); }

}  // namespace

std::string_view dtype_name(DType t) { return kNames[static_cast<int>(t)].full; }
std::string_view dtype_short_name(DType t) { return kNames[static_cast<int>(t)].brief; }

DType dtype_from_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == kNames[i].full || name == kNames[i].brief) return static_cast<DType>(i);
    known.push_back(kNames[i].full);
  }
  fail(ErrorCode::InvalidArgument, "", {}, "unknown dtype '", name, "'; did you mean '", nearest_name(name, known),
       "'?");
}

std::ostream& operator<<(std::ostream& s, DType t) { return s << dtype_name(t); }

DType promote(DType a, DType b) {
  if (!is_storage_only(a) && !is_storage_only(b)) return kPromote[static_cast<int>(a)][static_cast<int>(b)];
  if (a != b)
    fail(ErrorCode::DTypeMismatch, "", {}, dtype_name(a), " and ", dtype_name(b),
         " are not promoted to a common dtype; cast with to()");
  return a;
}

Half::Half(float f) : bits(half_bits(f)) {}
Half::operator float() const { return half_value(bits); }

BFloat16::BFloat16(float f) {
  std::uint32_t u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffff) > 0x7f800000)
    bits = static_cast<std::uint16_t>(u >> 16 | 0x40);  // a nan whose payload is in the low bits must not become inf
  else bits = static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
Float8E4M3FN::Float8E4M3FN(float f) {
  constexpr int kNaN = 0x7f;
  // 512 is above everything that rounds to a number, and keeps the count small.
  const int count = std::isnan(f) || std::abs(f) >= 512 ? kNaN : std::min(count_of<3, 7>(std::abs(f)), kNaN);
  bits = with_sign(count, f);
}
Float8E4M3FN::operator float() const {
  const int count = bits & 0x7f;
  const float v = count == 0x7f ? std::numeric_limits<float>::quiet_NaN() : value_of<3, 7>(count);
  return bits & 0x80 ? -v : v;
}

Float8E5M2::Float8E5M2(float f) {
  constexpr int kInfinite = 0x7c, kNaN = 0x7f;
  const int count = std::isnan(f) ? kNaN : std::abs(f) >= 65536 ? kInfinite : count_of<2, 15>(std::abs(f));
  bits = with_sign(count, f);
}
Float8E5M2::operator float() const {
  const int count = bits & 0x7f;
  const float v = count > 0x7c    ? std::numeric_limits<float>::quiet_NaN()
                  : count == 0x7c ? std::numeric_limits<float>::infinity()
                                  : value_of<2, 15>(count);
  return bits & 0x80 ? -v : v;
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace reprise
