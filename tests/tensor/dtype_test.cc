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
    if (special)
      EXPECT_EQ(f, b & 0x8000 ? -INFINITY : INFINITY);
    else
      EXPECT_EQ(f, value_of_half(h.bits)) << b;
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
    if (!std::isnan(f))
      EXPECT_EQ(BFloat16(f).bits, b);
    else
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(f))));
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
  constexpr std::string_view torch[kDTypeCount] = {
      "f4 f8 f4 f4 f4 f4 f4 f4 f4", "f8 f8 f8 f8 f8 f8 f8 f8 f8", "f4 f8 f2 f4 f2 f2 f2 f2 f2",
      "f4 f8 f4 bf bf bf bf bf bf", "f4 f8 f2 bf i1 ?? i4 i8 i1", "f4 f8 f2 bf ?? u1 i4 i8 u1",
      "f4 f8 f2 bf i4 i4 i4 i8 i4", "f4 f8 f2 bf i8 i8 i8 i8 i8", "f4 f8 f2 bf i1 u1 i4 i8 b1"};
  constexpr std::string_view names[kDTypeCount] = {"f4", "f8", "f2", "bf", "i1", "u1", "i4", "i8", "b1"};
  for (int a = 0; a < kDTypeCount; ++a)
    for (int b = 0; b < kDTypeCount; ++b) {
      std::string_view want = torch[a].substr(static_cast<std::size_t>(b) * 3, 2);
      DType got = promote(static_cast<DType>(a), static_cast<DType>(b));
      EXPECT_EQ(names[static_cast<int>(got)], want == "??" ? "i4" : want) << names[a] << " " << names[b];
    }
}

TEST(Promotion, IsAnUpperBound) {
  for (int a = 0; a < kDTypeCount; ++a)
    for (int b = 0; b < kDTypeCount; ++b) {
      DType x = static_cast<DType>(a), y = static_cast<DType>(b), p = promote(x, y);
      EXPECT_EQ(promote(y, x), p);
      EXPECT_EQ(promote(p, x), p);  // an upper bound
      EXPECT_EQ(promote(x, x), x);
      EXPECT_GE(is_floating(p), is_floating(x));
    }
}

}  // namespace
}  // namespace reprise
