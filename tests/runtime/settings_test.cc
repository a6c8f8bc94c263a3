// What is set for a thread: compiled functions do under it what they do eagerly, and are compiled for what they depend
// on.
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
    for (const Tensor& made : {zeros({2}),
                               ones({2}),
                               empty({2}),
                               full({2}, 1.5),
                               rand({2}),
                               randn({2}),
                               linspace(0, 1, 3),
                               eye(2),
                               arange(0.0, 1.0, 0.25),
                               scalar_tensor(0.5),
                               tensor(1.5),
                               tensor({1.5, 2.5}),
                               i + 0.5,
                               0.5 - i,
                               i / 2,
                               div(i, i + 1),
                               i / 2.0,
                               exp(i),
                               sigmoid(b),
                               sqrt(i),
                               pow(i, 0.5),
                               where(b, i, 0.5),
                               clamp(i, 0.5),
                               atan2(i, i),
                               i.logsumexp(0)})
      EXPECT_EQ(made.dtype(), t);
    const Tensor f = ones({4}, {.dtype = kFloat32});
    for (const Tensor& kept :
         {f + 0.5, i + f, f / i, exp(f), zeros_like(f), full({2}, 1, {.dtype = kFloat32}), tensor({1.f}), rand_like(f)})
      EXPECT_EQ(kept.dtype(), kFloat32);
    for (const Tensor& kept : {i + 1, full({2}, 1), arange(3), tensor(3), floor(i), i * b, div(i, 2, "floor")})
      EXPECT_EQ(kept.dtype(), kInt64);
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

Tensor layer(Tensor x, Tensor w, Tensor b) { return softmax(linear(x, w, b), -1).sum(0) + exp(x).mean(); }

// A scope of the function turns gradients on within its caller's NoGradScope, and not within an InferenceScope.
TEST(Gradients, AnInferenceScopeIsGuardedWhereTheFunctionTurnsThemOn) {
  auto plain = [](const Tensor& x) {
    const EnableGradScope on;
    const Tensor p = x.detach().requires_grad_(), y = p.exp().sum();
    return y.requires_grad() ? y.detach() * 0.0 + (is_grad_enabled() ? 1.0 : 2.0) : y * 0.0 + 3.0;
  };
  for (const int first : {0, 1, 2}) {
    auto f = compile(plain);
    for (int i = 0; i < 6; ++i) {
      const int around = (first + i) % 3;
      std::optional<InferenceScope> inference;
      std::optional<NoGradScope> off;
      if (around == 1) inference.emplace();
      if (around == 2) off.emplace();
      EXPECT_EQ(plain(ones({3})).item<float>(), around == 1 ? 3.0f : 1.0f);
      EXPECT_EQ(f(ones({3})).item<float>(), around == 1 ? 3.0f : 1.0f) << around << " after " << first;
      EXPECT_EQ(is_grad_enabled(), around == 0);
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
}

TEST(Autocast, CastsByOperator) {
  const Tensor x = rand({4, 4}), h = x.to(kFloat16), d = x.to(kFloat64);
  for (DType t : {kBFloat16, kFloat16}) {
    AutocastScope scope(t);
    EXPECT_EQ(autocast_dtype(), t);
    for (const Tensor& low :
         {mm(x, x), matmul(x, h), linear(x, x, x.select(0, 0)), addmm(x, x, h),
          x.view({1, 4, 4}).bmm(h.view({1, 4, 4})),
          scaled_dot_product_attention(x.view({1, 1, 4, 4}), h.view({1, 1, 4, 4}), x.view({1, 1, 4, 4}))})
      EXPECT_EQ(low.dtype(), t);
    for (const Tensor& wide :
         {exp(h), log(h), rsqrt(h), pow(h, 2), softmax(h, -1), log_softmax(h, -1), h.sum(), h.prod(), h.cumsum(0),
          h.norm(), layer_norm(h, {4}), rms_norm(h, {4}), h.logsumexp(0), cat({x, h}), addcmul(h, x, h)})
      EXPECT_EQ(wide.dtype(), kFloat32);
    for (const Tensor& same :
         {h + 1, relu(h), h * h, h.mean(), cat({h, h}), h.sum({}, false, kFloat16), softmax(h, -1, kFloat16)})
      EXPECT_EQ(same.dtype(), kFloat16);
    EXPECT_EQ(mm(d, d).dtype(), kFloat64);
    EXPECT_EQ(exp(arange(3)).dtype(), kFloat32);
    Tensor y = zeros({4, 4});
    y.addmm_(x, x);
    EXPECT_TRUE(equal(y,
                      [&] {
                        AutocastScope off(t, false);
                        return mm(x, x);
                      }()))
        << "in-place calls are not cast";
    EXPECT_TRUE(equal(mm(x, h), [&] {
      AutocastScope off(t, false);
      return mm(x.to(t), h.to(t));
    }()));
  }
  EXPECT_EQ(autocast_dtype(), std::nullopt);
  EXPECT_EQ(mm(x, x).dtype(), kFloat32);
  EXPECT_EQ(error_of([] { AutocastScope scope(kFloat32); }).code(), ErrorCode::InvalidArgument);
}

TEST(Autocast, CompiledAgreesWithEagerAndRecompilesNothingWhenItAlternates) {
  auto f = compile(layer, {.name = "layer"});
  const Tensor x = rand({4, 8}), w = rand({6, 8}), b = rand({6});
  testing::LogLines log;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(allclose(f(x, w, b), layer(x, w, b), 1e-5, 1e-6));
    AutocastScope scope(kBFloat16);
    const Tensor got = f(x, w, b), want = layer(x, w, b);
    EXPECT_EQ(got.dtype(), want.dtype());
    EXPECT_TRUE(allclose(got, want, 2e-2, 2e-2));
    EXPECT_FALSE(allclose(
        got,
        [&] {
          AutocastScope off(kBFloat16, false);
          return f(x, w, b);
        }(),
        1e-5, 1e-6))
        << "off again inside";
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_TRUE(logged(log, "autocast is on in bfloat16, was off"));
  AutocastScope scope(kFloat16);
  EXPECT_TRUE(allclose(f(x, w, b), layer(x, w, b), 1e-2, 1e-2));
  EXPECT_EQ(f.stats().compilations, 3);
}

TEST(Autocast, IsNotGuardedWhereNothingDependsOnIt) {
  auto f = compile([](Tensor x) { return relu(x) * 2.0 + 1.0; });
  const Tensor x = rand({4});
  f(x);
  AutocastScope scope(kBFloat16);
  f(x);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Autocast, MayBeAScopeOfTheFunction) {
  auto body = [](Tensor x, Tensor w) {
    AutocastScope scope(kBFloat16);
    Tensor y = mm(x, w);
    AutocastScope off(kBFloat16, false);
    return std::pair(y, mm(x, w));
  };
  auto f = compile([&](Tensor x, Tensor w) {
    auto [low, full] = body(x, w);
    return std::tuple(low, full);
  });
  const Tensor x = rand({4, 8}), w = rand({8, 4});
  auto check = [&] {
    auto [low, full] = f(x, w);
    EXPECT_EQ(low.dtype(), kBFloat16);
    EXPECT_EQ(full.dtype(), kFloat32);
    EXPECT_TRUE(allclose(full, body(x, w).second, 1e-5, 1e-6));
  };
  check();
  AutocastScope outer(kFloat16);
  check();
  EXPECT_EQ(f.stats().compilations, 1) << "no caller decides it";
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Autocast, ACapturedWeightIsCastOnceACall) {
  Tensor w = rand({8, 8});
  auto f = compile([&](Tensor x) { return mm(mm(x, w), w); });
  AutocastScope scope(kBFloat16);
  const Tensor x = rand({4, 8});
  EXPECT_TRUE(allclose(f(x), mm(mm(x, w), w), 5e-2, 5e-2));
  w.mul_(2.0);  // what a kept cast would not see
  EXPECT_TRUE(allclose(f(x), mm(mm(x, w), w), 5e-2, 5e-2));
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Autocast, UnderAMode) {
  const Tensor x = rand({4, 4});
  auto f = compile([](Tensor t) { return mm(t, t); }, {.check = 1});
  AutocastScope scope(kBFloat16);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(x).dtype(), kBFloat16) << "the check runs the function under it, too";
  EXPECT_EQ(f.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise::test
