// What is set for a thread: compiled functions do under it what they do eagerly, and are compiled for what they depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <thread>

#include "reprise/reprise.h"
#include "tests/runtime/log_lines.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

bool logged(const testing::LogLines& log, const char* text) {
  for (const std::string& line : log.lines())
    if (line.find(text) != std::string::npos) return true;
  return false;
}

TEST(DefaultDType, IsWhatFloatsAreWhereNoneIsGiven) {
  EXPECT_EQ(get_default_dtype(), kFloat32);
  const Tensor i = arange(4), b = i > 1;
  auto check = [&](DType t) {
    EXPECT_EQ(get_default_dtype(), t);
    for (const Tensor& made : {zeros({2}), ones({2}), empty({2}), full({2}, 1.5), rand({2}), randn({2}), linspace(0, 1, 3), eye(2), arange(0.0, 1.0, 0.25), scalar_tensor(0.5), tensor(1.5),
                               tensor({1.5, 2.5}), i + 0.5, 0.5 - i, i / 2, div(i, i + 1), i / 2.0, exp(i), sigmoid(b), sqrt(i), pow(i, 0.5), where(b, i, 0.5), clamp(i, 0.5), atan2(i, i), i.logsumexp(0)})
      EXPECT_EQ(made.dtype(), t);
    const Tensor f = ones({4}, {.dtype = kFloat32});
    for (const Tensor& kept : {f + 0.5, i + f, f / i, exp(f), zeros_like(f), full({2}, 1, {.dtype = kFloat32}), tensor({1.f}), rand_like(f)}) EXPECT_EQ(kept.dtype(), kFloat32);
    for (const Tensor& kept : {i + 1, full({2}, 1), arange(3), tensor(3), floor(i), i * b, div(i, 2, "floor")}) EXPECT_EQ(kept.dtype(), kInt64);
  };
  check(kFloat32);
  for (DType t : {kFloat64, kFloat16, kBFloat16}) {
    DefaultDTypeScope scope(t);
    check(t);
  }
  set_default_dtype(kFloat64);
  check(kFloat64);
  std::thread([] { EXPECT_EQ(get_default_dtype(), kFloat32); }).join();
  set_default_dtype(kFloat32);
  check(kFloat32);
  EXPECT_EQ(error_of([] { set_default_dtype(kInt64); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { DefaultDTypeScope scope(kFloat8E5M2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { DefaultDTypeScope scope(static_cast<DType>(99)); }).code(), ErrorCode::InvalidArgument);
}

TEST(DefaultDType, ValuesHaveItsDigits) {
  DefaultDTypeScope scope(kFloat64);
  EXPECT_EQ(tensor(0.1).item().to_double(), 0.1);
  EXPECT_EQ(exp(tensor(3)).item().to_double(), std::exp(3.0));
  EXPECT_EQ((tensor(1) / 3).item().to_double(), 1.0 / 3.0);
  // Also where the result is no float: 2^24 + 1 is no float32.
  EXPECT_TRUE((tensor(std::int64_t{16777217}) > 16777216.0).item<bool>());
  EXPECT_TRUE(compile([](Tensor x) { return x > 16777216.0; })(tensor(std::int64_t{16777217})).item<bool>());
}

TEST(DefaultDType, IsGuardedWhereItIsRead) {
  auto f = compile([](Tensor x) { return exp(x) + ones({3}); }, {.name = "reads"});
  auto g = compile([](Tensor x) { return exp(x.to(kFloat32)) + ones({3}, {.dtype = kFloat32}); });
  const Tensor i = arange(3);
  testing::LogLines log;
  for (int round = 0; round < 3; ++round)
    for (DType t : {kFloat32, kFloat64, kFloat16}) {
      DefaultDTypeScope scope(t);
      const Tensor got = f(i), want = exp(i) + ones({3});
      EXPECT_EQ(got.dtype(), t);
      EXPECT_TRUE(allclose(got, want, 2e-3, 0)) << t;
      EXPECT_EQ(g(i).dtype(), kFloat32);
    }
  EXPECT_EQ(f.stats().compilations, 3);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(g.stats().compilations, 1) << "it does not depend on it";
  EXPECT_TRUE(logged(log, "the default dtype is float64, was float32"));
  f.seal();
  DefaultDTypeScope scope(kBFloat16);
  const Error e = error_of([&] { f(i); });
  EXPECT_EQ(e.code(), ErrorCode::Sealed);
  EXPECT_NE(e.message().find("the default dtype is bfloat16, was"), std::string::npos) << e.message();
}

TEST(DefaultDType, MayBeSetForAPartOfAFunction) {
  auto f = compile([](Tensor x) {
    DefaultDTypeScope scope(kFloat64);
    return exp(x) + ones({3});
  });
  const Tensor i = arange(3);
  for (DType t : {kFloat32, kFloat16}) {
    DefaultDTypeScope scope(t);
    EXPECT_EQ(f(i).dtype(), kFloat64);
    EXPECT_EQ(get_default_dtype(), t);
  }
  EXPECT_EQ(f.stats().compilations, 1) << "no caller decides it";
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(DefaultDType, WhatAFunctionLeavesSetMakesItRunEagerly) {
  auto f = compile([](Tensor x) {
    set_default_dtype(kFloat64);
    return exp(x);
  });
  EXPECT_EQ(f(arange(3)).dtype(), kFloat64);
  EXPECT_EQ(get_default_dtype(), kFloat64);
  set_default_dtype(kFloat32);
  ASSERT_EQ(f.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(f.stats().fallbacks[0].reason, "sets_for_thread");
  std::optional<DefaultDTypeScope> kept;
  auto g = compile([&](Tensor x) {
    kept.reset();
    kept.emplace(kFloat64);
    return exp(x);
  });
  EXPECT_EQ(g(arange(3)).dtype(), kFloat64);
  EXPECT_EQ(get_default_dtype(), kFloat64);
  kept.reset();
  EXPECT_EQ(get_default_dtype(), kFloat32);
  EXPECT_STREQ(g.stats().fallbacks.at(0).reason, "sets_for_thread");
}

}  // namespace
}  // namespace reprise::test
