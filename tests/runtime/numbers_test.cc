// Numbers that change from call to call: Scalar arguments of compiled functions, and numbers of eager calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>

#include "base/counters.h"
#include "reprise/reprise.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

// Destroyed after everything that operators have made for themselves since main began.
struct AtExit {
  Tensor x;
  ~AtExit() {
    if (!x.defined()) return;
    auto f = compile([](Tensor t) { return t * 3.0 + rand_like(t) * 0.0; });
    const bool right =
        (x * 2.5).sum().item<float>() == 7.5f && f(x).sum().item<float>() == 9.0f && cat({x, x}).size(0) == 6;
    if (right) return;
    std::fputs("a static object's destructor got a wrong result\n", stderr);
    std::_Exit(1);
  }
} g_at_exit;
TEST(StaticObjects, MayUseTensorsInTheirDestructors) { g_at_exit.x = ones({3}); }

TEST(ScalarArgument, OneCompilationForAllItsValues) {
  auto step = compile([](Tensor x, Tensor v, Scalar dt, Scalar gain) {
    x += v * dt;
    return clamp(x * gain, 0.0, gain) + where(v > dt, gain, 0.0);
  });
  auto plain = [](Tensor x, Tensor v, double dt, double gain) {
    x += v * dt;
    return clamp(x * gain, 0.0, gain) + where(v > dt, gain, 0.0);
  };
  Tensor x = zeros({5}), y = zeros({5}), v = arange(5, {.dtype = kFloat32});
  for (double dt : {0.016, 0.017, 0.5, 0.1, -0.0, 1e-30, 0.016}) {
    EXPECT_TRUE(equal(step(x, v, dt, 3 * dt), plain(y, v, dt, 3 * dt))) << dt;
    EXPECT_TRUE(equal(x, y)) << dt;
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0);
  EXPECT_EQ(step.stats().recordings_made, 1) << "recordings do not depend on floats";
}

TEST(ScalarArgument, OfAnyKindAndPlace) {
  struct Params {
    Scalar gain;
    std::optional<Scalar> bias;
    std::map<std::string, Scalar> more;
  };
  auto f =
      compile([](Tensor x, const Params& p) { return p.bias ? x * p.gain + *p.bias : x * p.gain * p.more.at("k"); });
  Tensor i = full({2}, 3, {.dtype = kInt64});
  for (int k : {2, 5, -7}) {
    EXPECT_EQ(f(i, Params{k, k + 1, {}}).to_vector<std::int64_t>()[1], 3 * k + k + 1);
    EXPECT_EQ(at(f(i, Params{k + 0.5, std::nullopt, {{"k", 2}}}), 0), 6 * (static_cast<float>(k) + 0.5f));
  }
  EXPECT_EQ(f(i, Params{true, 1, {}}).to_vector<std::int64_t>()[0], 4);
  EXPECT_EQ(f(i, Params{false, 1, {}}).to_vector<std::int64_t>()[0], 1);
  EXPECT_EQ(f.stats().compilations, 4);
  EXPECT_EQ(f(i, Params{2.5, 1, {}}).dtype(), kFloat32);
}

TEST(ScalarArgument, PromotesAsTheNumberDoes) {
  auto mul = compile([](Tensor x, Scalar s) {
    return std::array{x * s, s + x, x > s, full({2}, s), full({2}, s, {.dtype = kInt32})};
  });
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt32, kInt64, kUInt8, kBool})
    for (Ints sizes : {Ints{3}, Ints{}})
      for (double s : {0.1, -7.3, 1e5}) {
        Tensor x = ones(sizes, {.dtype = t});
        auto got = mul(x, s);
        std::array want{x * s, Scalar(s) + x, x > s, full({2}, s), full({2}, s, {.dtype = kInt32})};
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_EQ(got[i].dtype(), want[i].dtype());
          EXPECT_TRUE(equal(got[i], want[i])) << i << " " << dtype_name(t) << " " << s;
        }
      }
  EXPECT_LE(mul.stats().compilations, 16);
}

TEST(ScalarArgument, ABranchOnItIsGuardedByItsSide) {
  auto f = compile([](Tensor x, Scalar t) { return t > 0 ? x * t : x; });
  auto g = compile([](Tensor x, Scalar t) { return t >= 0.5 ? x * t : t < -1 ? x - t : x; });
  for (double t : {2.0, -2.0, 4.0, 0.25, -0.5, -7.0, 2.0, 1e9}) {
    EXPECT_FLOAT_EQ(at(f(ones({1}), t), 0), t > 0 ? static_cast<float>(t) : 1) << t;
    EXPECT_FLOAT_EQ(at(g(ones({1}), t), 0), static_cast<float>(t >= 0.5 ? t : t < -1 ? 1 - t : 1)) << t;
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(g.stats().compilations, 3);
  // Neither smaller nor larger: that one does not hold is not that the other does.
  const double nan = std::nan("");
  for (double t : {1.0, -1.0, nan, 0.0, -0.0}) {
    auto h = compile([](Tensor x, Scalar t) { return t < 0.0 ? x : t >= 0.0 ? x + 1 : t == t ? x + 3 : x + 2; });
    h(ones({1}), 1.0), h(ones({1}), -1.0);
    EXPECT_EQ(at(h(ones({1}), t), 0), t < 0 ? 1 : t >= 0 ? 2 : 3) << t;
  }
  auto integers = compile([](Tensor x, Scalar k) { return k > 3 ? x * k : k == 2 ? x : x - k; });
  for (int k : {1, 5, 2, 6, 0, -4, 7}) EXPECT_EQ(at(integers(ones({1}), k), 0), k > 3 ? k : k == 2 ? 1 : 1 - k) << k;
  EXPECT_EQ(integers.stats().compilations, 3);
  auto constant = compile([](Tensor x, Scalar t) {
    const double d = t.to_double();
    return d > 0 ? x * t : x;
  });
  for (double t : {2.0, -2.0, 4.0, 2.0}) EXPECT_EQ(at(constant(ones({1}), t), 0), t > 0 ? static_cast<float>(t) : 1);
  EXPECT_EQ(constant.stats().compilations, 3) << "a C++ double is one";
}

TEST(ScalarArgument, SomePowersAreOperatorsOfTheirOwn) {
  auto power = compile([](Tensor x, Scalar p) { return pow(x, p); });
  for (double p : {2.0, 0.5, 1.7, 2.2, -1.0, 2.2, 3.0})
    EXPECT_TRUE(equal(power(full({3}, 1.3), p), pow(full({3}, 1.3), p))) << p;
  EXPECT_EQ(power.stats().compilations, 5);
}

// What is computed of numbers is computed in each call.
TEST(SymbolicFloat, OfSizes) {
  auto attention = compile([](Tensor q, Tensor k) { return softmax(mm(q, k.t()) * (1.0 / sqrt(q.size(-1))), -1); });
  auto many = compile([](Tensor x) {
    const Int n = x.size(0), m = x.size(1);
    Float scale = pow(n, -0.5) + 0.5 * m - log(n) / exp(-1.0 * m);
    scale *= max(abs(floor(-0.3 * n)), ceil(0.3 * m));
    return std::tuple(x * scale, scale, Scalar(min(scale, Float(3))), full({2}, -scale));
  });
  for (int n = 1; n < 30; ++n) {
    Tensor q = arange(3 * n, {.dtype = kFloat32}).view({3, n}) * 0.1;
    EXPECT_TRUE(allclose(attention(q, q), softmax(mm(q, q.t()) * (1.0 / std::sqrt(static_cast<double>(n))), -1))) << n;
    const double m = n % 4 + 1;
    double want = std::pow(n, -0.5) + 0.5 * m - std::log(static_cast<double>(n)) / std::exp(-1.0 * m);
    want *= std::max(std::fabs(std::floor(-0.3 * n)), std::ceil(0.3 * m));
    auto [t, scale, least, filled] = many(ones({n, n % 4 + 1}));
    EXPECT_EQ(scale.value(), want) << n;
    EXPECT_EQ(least.to_double(), std::min(want, 3.0));
    EXPECT_EQ(at(t, 0), static_cast<float>(want));
    EXPECT_EQ(at(filled, 1), static_cast<float>(-want));
  }
  EXPECT_LE(attention.stats().compilations, 2) << "a size of 1 may be another";
  EXPECT_EQ(many.stats().compilations, 1);
  EXPECT_EQ(many.stats().eager_fallbacks + attention.stats().eager_fallbacks, 0);
  // A C++ double of a size is a constant, and the log says what would not be.
  auto pinned = compile([](Tensor x) { return x * (1.0 / std::sqrt(double(x.size(0)))); });
  for (int n : {4, 9, 4}) EXPECT_EQ(at(pinned(ones({n})), 0), static_cast<float>(1.0 / std::sqrt(n)));
  EXPECT_EQ(pinned.stats().compilations, 2);
}

TEST(SymbolicFloat, OfScalars) {
  auto body = [](Tensor x, Scalar a, Scalar b, Int n) {
    const Scalar c = a * b - 2 * n, d = c / n, e = pow(max(a, 0.5), b);
    Tensor y = x * c + softmax(x * d, 0).cumsum(0);
    y += e;
    if (a + b > 3) y = y * sqrt(abs(c));
    return std::tuple(y, c, d, e, full({2}, e, {.dtype = kFloat64}));
  };
  auto f = compile(body);
  Tensor x = arange(6, {.dtype = kFloat32}) * 0.1;
  for (int turn = 0; turn < 2; ++turn)
    for (double a : {0.3, 1.5, -2.0, 4.0})
      for (double b : {0.25, 2.5})
        for (int n : {1, 3}) {
          auto [y, c, d, e, filled] = f(x, a, b, n);
          auto [wy, wc, wd, we, wfilled] = body(x, a, b, n);
          EXPECT_TRUE(allclose(y, wy)) << a << " " << b << " " << n;
          EXPECT_EQ(c.to_double(), wc.to_double());
          EXPECT_EQ(d.to_double(), wd.to_double());
          EXPECT_EQ(e.to_double(), we.to_double());
          EXPECT_TRUE(equal(filled, wfilled));
        }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_LE(f.stats().recordings_made, 4) << "recordings do not depend on floats, but n is another number";
  auto integers = compile([](Tensor x, Scalar k) { return std::tuple(x * (k * k + 1), k / 2, min(k, 3), -k); });
  for (int k : {1, 2, 5, -4}) {
    auto [y, half, least, negative] = integers(ones({2}, {.dtype = kInt64}), k);
    EXPECT_EQ(y.to_vector<std::int64_t>()[0], k * k + 1);
    EXPECT_EQ(half.to_double(), k / 2.0);
    EXPECT_EQ(least.to_int().value(), std::min(k, 3));
    EXPECT_EQ(negative.to_int().value(), -k);
  }
  EXPECT_EQ(integers.stats().compilations, 1);
}

TEST(SymbolicFloat, WithoutATraceItIsADouble) {
  Float f = 1.0 / sqrt(Int(16));
  f += 1;
  EXPECT_EQ(f, 1.25);
  EXPECT_EQ(0.5 * Int(7), 3.5);
  EXPECT_EQ(Int(7) / 2.0 - f, 2.25);
  EXPECT_EQ(f.str(), "1.25");
  EXPECT_EQ((Scalar(3) / 2).to_double(), 1.5);
  EXPECT_FALSE((Scalar(3) * 2).is_float());
  EXPECT_TRUE(Scalar(2) < 2.5 && Int(3) > 2.5 && Scalar(true) == 1);
  EXPECT_EQ(std::sqrt(Float(9)), 3);
}

TEST(SymbolicFloat, Assumed) {
  auto f = compile([](Tensor x) {
    assume(x.size(0) % 8 == 0);
    return x.size(0) % 4 == 0 ? x.view({-1, 8}) : x + 1;
  });
  for (int n : {8, 16, 64}) EXPECT_EQ(f(ones({n})).size(0), n / 8);
  EXPECT_EQ(f.stats().compilations, 1);
  const Error e = error_of([&] { f(ones({12})); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(std::string(e.what()).find("numbers_test.cc"), std::string::npos) << e.what();
  EXPECT_EQ(error_of([] { assume(Int(1) == 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(f(ones({24})).size(0), 3);
}

TEST(ScalarArgument, ComesBack) {
  auto f =
      compile([](Tensor x, Scalar s, Scalar n) { return std::tuple(x * s, s, n, Scalar(x.size(0)), Scalar(2.5)); });
  for (int i = 1; i < 4; ++i) {
    auto [t, s, n, size, c] = f(ones({i}), 0.5 * i, i);
    EXPECT_EQ(s.to_double(), 0.5 * i);
    EXPECT_EQ(n.to_int().value(), i);
    EXPECT_EQ(size.to_int().value(), i);
    EXPECT_EQ(c.to_double(), 2.5);
    EXPECT_EQ(at(t, 0), 0.5f * static_cast<float>(i));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  auto assigns = compile([](Tensor x, Scalar& s) {
    s = 3.0;
    return x * s;
  });
  Scalar s = 1.0;
  EXPECT_EQ(at(assigns(ones({1}), s), 0), 3);
  EXPECT_EQ(s.to_double(), 3);
}

TEST(ScalarArgument, StatsAskedInside) {
  std::int64_t asked = -1;
  std::function<std::int64_t()> compilations;
  auto f = compile([&](Tensor x) {
    asked = compilations();
    return x * 2.0;
  });
  compilations = [&] { return f.stats().compilations; };
  EXPECT_EQ(at(f(ones({1})), 0), 2);
  EXPECT_EQ(asked, 0);
}

TEST(ScalarArgument, WithRandomNumbersAndNativeKernels) {
  auto f = compile([](Tensor x, Scalar s) {
    return rand_like(x) * s + softmax(x * s, -1).cumsum(0) + scatter(x, 0, zeros({2, 3}, {.dtype = kInt64}), s);
  });
  auto g = [](Tensor x, Scalar s) {
    return rand_like(x) * s + softmax(x * s, -1).cumsum(0) + scatter(x, 0, zeros({2, 3}, {.dtype = kInt64}), s);
  };
  for (double s : {0.5, 2.0, 8.0}) {
    Tensor x = arange(6, {.dtype = kFloat32}).view({2, 3});
    manual_seed(4);
    Tensor got = f(x, s);
    manual_seed(4);
    EXPECT_TRUE(allclose(got, g(x, s))) << s;
  }
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(ScalarArgument, AttentionsScaleAndANormsEpsilon) {
  auto f = compile([](Tensor q, double scale) { return scaled_dot_product_attention(q, q, q, {}, 0.0, true, scale); });
  Tensor q = arange(24, {.dtype = kFloat32}).view({1, 2, 3, 4}) * 0.1;
  for (double scale : {0.1, 0.7})
    EXPECT_TRUE(allclose(f(q, scale), scaled_dot_product_attention(q, q, q, {}, 0.0, true, scale)));
}

TEST(EagerNumber, ANewOneNeedsNoNewCode) {
  Tensor x = ones({8}), y = zeros({8}), k = ones({8}, {.dtype = kInt64}), z = ones({});
  auto all = [&](double v) {
    return std::vector{full({8}, v),
                       lerp(x, y, v),
                       add(x, y, v),
                       pow(x, v),
                       k * v,
                       z * v,
                       where(x > 0, v, 0.0),
                       leaky_relu(x, v),
                       addcmul(x, x, y, v),
                       k > v,
                       hardtanh(x, -v, v),
                       threshold(x, v, 0),
                       rms_norm(x, {8}, x, v)};
  };
  all(0.3);
  std::uint64_t before = counters().compiles.value();
  for (int i = 1; i < 50; ++i) {
    std::vector<Tensor> r = all(0.3 + 0.01 * i);
    EXPECT_FLOAT_EQ(at(r[0], 3), static_cast<float>(0.3 + 0.01 * i));
    EXPECT_FLOAT_EQ(at(r[4], 3), static_cast<float>(0.3 + 0.01 * i));
  }
  EXPECT_LE(counters().compiles.value() - before, 1u) << "one of them asks for pow of 0.5";
}

// Each of these had its code made for another kind of number before.
TEST(EagerNumber, OfEveryKind) {
  Tensor i = ones({3}, {.dtype = kInt32}), b = ones({3}, {.dtype = kBool}), x = tensor({1.0, 2.0});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(equal(full({3}, 7), tensor({7, 7, 7})));
    EXPECT_TRUE(equal(full({3}, false), tensor({false, false, false})));
    EXPECT_TRUE(equal(full({3}, true), tensor({true, true, true})));
    EXPECT_TRUE(equal(i + 3, full({3}, 4, {.dtype = kInt32})));
    EXPECT_TRUE(equal(i + false, i));
    EXPECT_TRUE(equal(x.masked_fill(x > 1.0, 9), tensor({1.0, 9.0})));
    EXPECT_TRUE(equal(x.masked_fill(x > 1.0, false), tensor({1.0, 0.0})));
    EXPECT_FALSE(b.clone().fill_(false).any().item<bool>());
    EXPECT_TRUE(b.clone().fill_(1).all().item<bool>());
    EXPECT_FALSE(eq(b, false).any().item<bool>());
    EXPECT_TRUE(eq(b, 1).all().item<bool>());
    EXPECT_TRUE(equal(pow(i, 2), i));
    EXPECT_TRUE(equal(pow(x, 3), tensor({1.0, 8.0})));
    EXPECT_TRUE(equal(pow(x, true), x));
  }
}

TEST(ScalarArgument, AnIntegerWhoseNumberIsAskedForIsGuarded) {
  auto lin = compile([](Tensor x) { return linspace(0, x.size(0) - 1, x.size(0)); });
  auto xl = compile([](Tensor x, Int k) { return xlogy(x, k); });
  auto as_double = compile([](Tensor x, Scalar k) { return x * k.to_double(); });
  auto least = compile([](Tensor x, Scalar k) { return fmin(x, k); });
  for (int n : {2, 5, 1, 2}) {
    EXPECT_TRUE(equal(lin(zeros({n})), linspace(0, n - 1, n))) << n;
    EXPECT_TRUE(equal(xl(ones({1}), n), xlogy(ones({1}), n))) << n;
    EXPECT_EQ(at(as_double(ones({1}), n), 0), static_cast<float>(n));
    EXPECT_EQ(at(least(full({1}, 3.0), n), 0), std::min(3.0f, static_cast<float>(n)));
  }
  EXPECT_EQ(least.stats().compilations, 1);
}

TEST(EagerNumber, IntegerPowersAndLongLists) {
  Tensor k = tensor({3, 1, 2}), x = full({3}, 1.001);
  pow(k, 5), pow(x, 5);
  const std::uint64_t before = counters().compiles.value();
  for (int i = 6; i < 40; ++i) {
    EXPECT_EQ(pow(k, i).to_vector<std::int64_t>()[2], std::int64_t{1} << i);
    EXPECT_NEAR(at(pow(x, i), 0), std::pow(1.001, i), 1e-5);
  }
  EXPECT_EQ(counters().compiles.value(), before);
  EXPECT_EQ(error_of([&] { pow(k, -1); }).code(), ErrorCode::InvalidArgument);
  auto f = compile([](Tensor k, Int n) { return pow(k, n); });
  EXPECT_EQ(f(k, 3).to_vector<std::int64_t>()[0], 27);
  EXPECT_EQ(error_of([&] { f(k, -1); }).code(), ErrorCode::InvalidArgument);
  std::vector<Tensor> history;
  for (int i = 0; i < 300; ++i) history.push_back(full({1, 2}, static_cast<double>(i)));
  for (std::size_t n : {100u, 150u, 299u, 300u}) {
    TensorArrayRef list(history.data(), n);
    Tensor joined = cat(list, 0), stacked = stack(list, -1);
    EXPECT_EQ(joined.size(0), static_cast<std::int64_t>(n));
    EXPECT_EQ(stacked.size(2), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; i += 37) {
      EXPECT_EQ(at(joined.select(0, static_cast<std::int64_t>(i)), 1), static_cast<float>(i));
      EXPECT_EQ(at(stacked.select(2, static_cast<std::int64_t>(i)), 1), static_cast<float>(i));
    }
  }
  EXPECT_LE(counters().compiles.value() - before, 60u);
}

TEST(EagerNumber, ANothingTimesSelfIsNotRead) {
  Tensor nan = full({1, 1}, std::nan("")), a = ones({1, 2}), b = ones({2, 1});
  auto f = compile([](Tensor s, Tensor a, Tensor b, Scalar beta) { return addmm(s, a, b, beta); });
  for (Scalar beta : {Scalar(0), Scalar(0.0)}) {
    EXPECT_EQ(at(addmm(nan, a, b, beta), 0), 2);
    EXPECT_EQ(at(f(nan, a, b, beta), 0), 2);
  }
  EXPECT_EQ(at(f(ones({1, 1}), a, b, 0.5), 0), 2.5);
  EXPECT_EQ(at(f(ones({1, 1}), a, b, 3), 0), 5);
}

TEST(EagerNumber, WhatMustBeConstantIsBounded) {
  Tensor x = full({4}, 2.0);
  std::uint64_t before = counters().compiles.value();
  for (int i = 0; i < 200; ++i) {
    double p = 1.01 + 0.01 * i;
    EXPECT_NEAR(norm(x, p).item<double>(), 2 * std::pow(4, 1 / p), 1e-5) << p;
  }
  EXPECT_LE(counters().compiles.value() - before, 70u);
}

}  // namespace
}  // namespace reprise::test
