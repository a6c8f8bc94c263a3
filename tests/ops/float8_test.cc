// Float8 dtypes: casts to the last code on the test's device, what works with them, and what refuses them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <sstream>

#include "reprise/reprise.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

/// Ties, denormals, both ends, NaN, infinities: floats whose upper bits are everything there is.
std::vector<float> interesting() {
  std::vector<float> out;
  for (std::uint32_t high = 0; high < 4096; ++high)  // sign, exponent and three bits of mantissa
    for (std::uint32_t low : {0x00000u, 0x00001u, 0x7ffffu, 0x80000u, 0x80001u, 0xfffffu})
      out.push_back(std::bit_cast<float>(high << 20 | low));
  return out;
}

template <class T>
void casts_are_exact() {
  const DType t = dtype_of<T>;
  const std::vector<float> from = interesting();
  auto narrow = compile([](Tensor x, Tensor like) { return x.to(like.dtype()); }, {.name = "narrow"});
  Tensor x = tensor_of(from).to(test_device()), like = zeros({1}, {.dtype = t, .device = test_device()});
  for (Tensor got : {x.to(t), narrow(x, like)}) {
    EXPECT_EQ(got.dtype(), t);
    std::vector<T> codes = got.to_vector<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (std::isnan(from[i])) ASSERT_TRUE(std::isnan(static_cast<float>(codes[i])));
      else ASSERT_EQ(codes[i].bits, T(from[i]).bits) << from[i];
    }
  }
  std::vector<T> every(256);
  for (int c = 0; c < 256; ++c) every[static_cast<std::size_t>(c)].bits = static_cast<std::uint8_t>(c);
  Tensor codes = tensor_of(every).to(test_device());
  for (DType wide : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    std::vector<double> got = codes.to(wide).to_vector<double>();
    for (int c = 0; c < 256; ++c) {
      const double want = static_cast<float>(every[static_cast<std::size_t>(c)]), g = got[static_cast<std::size_t>(c)];
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(g)) << c;
      else EXPECT_EQ(g, want) << c << " as " << dtype_name(wide);
    }
  }
}
TEST(Float8, CastsOfE4M3FNAreExact) { casts_are_exact<Float8E4M3FN>(); }
TEST(Float8, CastsOfE5M2AreExact) { casts_are_exact<Float8E5M2>(); }

TEST(Float8, WeightsOfAProduct) {
  for (DType t : {kFloat8E4M3FN, kFloat8E5M2}) {
    Tensor w = (rand({12, 32}) - 0.5).to(t).to(test_device()), x = rand({3, 32}).to(test_device()),
           scale = rand({12, 1}).to(test_device());
    auto body = [](Tensor x, Tensor w, Tensor scale) { return linear(x, w.to(kFloat32) * scale); };
    auto f = compile(body, {.name = "quantized"});
    std::vector<float> got = f(x, w, scale).to_vector<float>(), want = body(x, w, scale).to_vector<float>();
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
  }
}

TEST(Float8, MovesAndWrites) {
  Tensor x = tensor_of(std::vector<float>{1, 2, 3, 4, 500, -0.3f}).view({2, 3}).to(test_device()).to(kFloat8E4M3FN);
  auto f = compile(
      [](Tensor x, Tensor i) {
        return cat({x.transpose(0, 1), index_select(x, 0, i).transpose(0, 1)}, 1).contiguous();
      },
      {.name = "moves"});
  Tensor i = tensor_of(std::vector<std::int64_t>{1, 0}).to(test_device());
  std::vector<double> got = f(x, i).to_vector<double>();
  EXPECT_EQ((std::vector<double>{got.begin(), got.begin() + 4}), (std::vector<double>{1, 4, 4, 1}));
  EXPECT_TRUE(std::isnan(got[5]));
  EXPECT_EQ(got[9], -0.3125);
  auto cache = compile([](Tensor cache, Tensor x, Int at) { cache.slice(0, at, at + 1).copy_(x); }, {.name = "cache"});
  Tensor kept = zeros({4, 3}, {.dtype = kFloat8E5M2, .device = test_device()});
  cache(kept, tensor_of(std::vector<float>{1.1f, -3, 70000}).view({1, 3}).to(test_device()), 2);
  std::vector<double> row = kept.select(0, 2).to_vector<double>();
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], -3);
  EXPECT_TRUE(std::isinf(row[2]));
  kept.fill_(1.5);
  EXPECT_EQ(kept.to(kInt32).to_vector<double>(), std::vector<double>(12, 1));
  std::ostringstream text;
  text << full({2}, 0.5, {.dtype = kFloat8E4M3FN});
  EXPECT_NE(text.str().find("0.5000, 0.5000"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("float8_e4m3fn"), std::string::npos) << text.str();
}

TEST(Float8, ComputesNothing) {
  Tensor x = ones({2, 2}, {.dtype = kFloat8E4M3FN, .device = test_device()}),
         y = ones({2, 2}, {.dtype = kFloat8E5M2, .device = test_device()}), f = ones({2, 2}, {.device = test_device()});
  const std::pair<const char*, std::function<void()>> refused[] = {
      {"add", [&] { x + x; }},
      {"mul", [&] { f* x; }},
      {"sum", [&] { x.sum(); }},
      {"linear", [&] { linear(f, x); }},
      {"softmax", [&] { softmax(x, 0); }},
      {"add_", [&] { x.add_(1.0); }},
      {"cat",
       [&] {
         cat({x, f}, 0);
       }},
      {"cat",
       [&] {
         cat({x, y}, 0);
       }},
      {"sort", [&] { sort(x, 0); }},
      {"eq", [&] { x == x; }},
      {"rand", [&] { rand({2}, {.dtype = kFloat8E5M2}); }}};
  for (const auto& [op, call] : refused) {
    Error e = error_of(call);
    EXPECT_EQ(e.code(), ErrorCode::DTypeMismatch) << op << ": " << e.what();
    EXPECT_EQ(e.op(), op) << e.what();
    EXPECT_NE(e.message().find("float8"), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("to("), std::string::npos) << e.what();
  }
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>(4, 1));
}

}  // namespace
}  // namespace reprise::test
