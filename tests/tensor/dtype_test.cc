#include "reprise/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <sstream>

#include "base/errors.h"

namespace reprise {
namespace {

/// The value of binary16 bits by the definition of the format.
double value_of_half(std::uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double v = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -v : v;
}

TEST(HalfConversion, AllValuesBothWays) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    Half h;
    h.bits = static_cast<std::uint16_t>(b);
    float f = static_cast<float>(h);
    bool special = (b >> 10 & 31) == 31;
    if (special && (b & 1023)) {
      EXPECT_TRUE(std::isnan(f)) << b;
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(f)))) << b;
      continue;
    }
    if (special) EXPECT_EQ(f, b & 0x8000 ? -INFINITY : INFINITY);
    else EXPECT_EQ(f, value_of_half(h.bits)) << b;
    EXPECT_EQ(Half(f).bits, b);
    EXPECT_EQ(std::signbit(f), (b & 0x8000) != 0) << b;
  }
}

TEST(HalfConversion, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint32_t b = 0; b < 0x7bff; ++b) {
    double lo = value_of_half(static_cast<std::uint16_t>(b)), hi = value_of_half(static_cast<std::uint16_t>(b + 1));
    float middle = static_cast<float>((lo + hi) / 2);
    std::uint32_t even = b & 1 ? b + 1 : b;
    EXPECT_EQ(Half(middle).bits, even) << b;
    EXPECT_EQ(Half(std::nextafterf(middle, 0)).bits, b) << b;
    EXPECT_EQ(Half(std::nextafterf(middle, INFINITY)).bits, b + 1) << b;
    EXPECT_EQ(Half(-middle).bits, even | 0x8000) << b;
  }
}

TEST(HalfConversion, Corners) {
  EXPECT_EQ(Half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Half(INFINITY).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);  // a tie between 0 and the smallest denormal
  EXPECT_EQ(Half(std::nextafterf(0x1p-25f, 1)).bits, 1);
  EXPECT_EQ(Half(1e-40f).bits, 0);
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
}

TEST(BFloat16Conversion, AllValuesBothWays) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    BFloat16 v;
    v.bits = static_cast<std::uint16_t>(b);
    float f = static_cast<float>(v);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(f), b << 16);
    if (!std::isnan(f)) EXPECT_EQ(BFloat16(f).bits, b);
    else EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(f))));
  }
}

TEST(BFloat16Conversion, RoundsToNearestEvenAndKeepsNans) {
  for (std::uint32_t b = 0; b < 0x7f80; ++b) {
    std::uint32_t middle = b << 16 | 0x8000;
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle)).bits, b & 1 ? b + 1 : b);
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle - 1)).bits, b);
    EXPECT_EQ(BFloat16(std::bit_cast<float>(middle + 1)).bits, b + 1);
  }
  EXPECT_EQ(BFloat16(INFINITY).bits, 0x7f80);
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(DTypeNames, BothSpellingsParse) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(t)), t);
    EXPECT_EQ(dtype_from_name(dtype_short_name(t)), t);
  }
  std::ostringstream s;
  s << kBFloat16;
  EXPECT_EQ(s.str(), "bfloat16");
  try {
    dtype_from_name("flaot32");
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(e.message().find("did you mean 'float32'"), std::string::npos) << e.message();
  }
}

TEST(Promotion, WholeTable) {
  // torch.promote_types of every pair, in the order of DType; `?` is int16, which does not exist here.
  constexpr std::string_view torch[] = {
      "f4 f8 f4 f4 f4 f4 f4 f4 f4", "f8 f8 f8 f8 f8 f8 f8 f8 f8", "f4 f8 f2 f4 f2 f2 f2 f2 f2",
      "f4 f8 f4 bf bf bf bf bf bf", "f4 f8 f2 bf i1 ?? i4 i8 i1", "f4 f8 f2 bf ?? u1 i4 i8 u1",
      "f4 f8 f2 bf i4 i4 i4 i8 i4", "f4 f8 f2 bf i8 i8 i8 i8 i8", "f4 f8 f2 bf i1 u1 i4 i8 b1"};
  constexpr std::string_view names[] = {"f4", "f8", "f2", "bf", "i1", "u1", "i4", "i8", "b1"};
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) {
      std::string_view want = torch[a].substr(static_cast<std::size_t>(b) * 3, 2);
      DType got = promote(static_cast<DType>(a), static_cast<DType>(b));
      EXPECT_EQ(names[static_cast<int>(got)], want == "??" ? "i4" : want) << names[a] << " " << names[b];
    }
}

TEST(Promotion, IsAnUpperBound) {
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b) {
      DType x = static_cast<DType>(a), y = static_cast<DType>(b), p = promote(x, y);
      EXPECT_EQ(promote(y, x), p);
      EXPECT_EQ(promote(p, x), p);  // an upper bound
      EXPECT_EQ(promote(x, x), x);
      EXPECT_GE(is_floating(p), is_floating(x));
    }
}

TEST(Promotion, NothingWithADTypeForStorage) {
  for (int a = 0; a < kDTypeCount; ++a)
    for (DType s : {kFloat8E4M3FN, kFloat8E5M2}) {
      DType x = static_cast<DType>(a);
      if (x == s) {
        EXPECT_EQ(promote(x, s), s);
        continue;
      }
      EXPECT_THROW(promote(x, s), Error);
      EXPECT_THROW(promote(s, x), Error);
    }
}

/// What a code of 8 bits stands for, by the format's definition. e, m: bits of exponent and mantissa.
double defined_value(int code, int e, int m, bool infinities) {
  const int bias = (1 << (e - 1)) - 1, exponent = code >> m & ((1 << e) - 1), mantissa = code & ((1 << m) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (infinities && exponent == (1 << e) - 1) return mantissa ? NAN : sign * INFINITY;
  if (!infinities && (code & 0x7f) == 0x7f) return NAN;
  return sign *
         (exponent ? std::ldexp(1 + mantissa / std::ldexp(1, m), exponent - bias) : std::ldexp(mantissa, 1 - bias - m));
}

template <class T>
void check_float8(int e, int m, bool infinities) {
  std::vector<double> value;
  for (int code = 0; code < 256; ++code) {
    T x;
    x.bits = static_cast<std::uint8_t>(code);
    const double want = defined_value(code, e, m, infinities), got = static_cast<float>(x);
    value.push_back(want);
    EXPECT_EQ(std::isnan(got), std::isnan(want)) << code;
    EXPECT_EQ(std::signbit(got), (code & 0x80) != 0) << code;
    if (!std::isnan(want)) {
      EXPECT_EQ(got, want) << code;
      EXPECT_EQ(T(static_cast<float>(want)).bits, code);
    }
  }
  // The nearest of all numbers, the even one of two; beyond the last by more than half a step, none.
  const int last = infinities ? 0x7b : 0x7e, none = infinities ? 0x7c : 0x7f;
  const double step = value[static_cast<std::size_t>(last)] - value[static_cast<std::size_t>(last - 1)];
  auto nearest = [&](double x) {
    const double a = std::abs(x);
    int best = 0;
    for (int c = 0; c <= last; ++c) {
      const double d = std::abs(value[static_cast<std::size_t>(c)] - a),
                   b = std::abs(value[static_cast<std::size_t>(best)] - a);
      if (d < b || (d == b && c % 2 == 0)) best = c;
    }
    const double past = a - value[static_cast<std::size_t>(last)];
    if (past > step / 2 || (past == step / 2 && last % 2)) best = none;
    return best | (std::signbit(x) ? 0x80 : 0);
  };
  for (int b = 0; b < 65536; b += 1) {  // all of float16 that are numbers
    Half h;
    h.bits = static_cast<std::uint16_t>(b);
    const float f = static_cast<float>(h);
    if (std::isnan(f)) continue;
    ASSERT_EQ(T(f).bits, nearest(f)) << f;
  }
  for (int c = 0; c < last; ++c) {  // ties, and their neighbours
    const float middle =
        static_cast<float>((value[static_cast<std::size_t>(c)] + value[static_cast<std::size_t>(c + 1)]) / 2);
    for (float f : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)})
      ASSERT_EQ(T(f).bits, nearest(f)) << f;
  }
  std::uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    const float f = std::bit_cast<float>(state);
    if (std::isnan(f)) continue;
    ASSERT_EQ(T(f).bits, nearest(f)) << f;
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(T(-0.0f).bits, 0x80);
}
TEST(Float8, E4M3FN) { check_float8<Float8E4M3FN>(4, 3, false); }
TEST(Float8, E5M2) { check_float8<Float8E5M2>(5, 2, true); }

}  // namespace
}  // namespace reprise
