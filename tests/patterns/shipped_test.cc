// What the library finds by itself: operators that a program has written with primitives, in their usual spellings, and nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "reprise/patterns.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

std::int64_t matches(const Stats& s, const std::string& pattern) {
  for (const Stats::Match& m : s.matches)
    if (m.pattern == pattern) return m.matches;
  return 0;
}

Tensor numbers(const Ints& sizes, DType t, double step) {
  Int n = 1;
  for (Int s : sizes) n *= s;
  return ((arange(n, {.dtype = kFloat32}) * step).sin() * 2).view(sizes).to(t);
}

template <class F, class... A>
void expect_matches(std::int64_t want, const char* name, F f, const std::string& how, A... a) {
  auto c = compile(f, {.name = "how"});
  Tensor got = c(a...), eager = f(a...);
  EXPECT_EQ(matches(c.stats(), name), want) << how << "\n" << c.explain();
  EXPECT_EQ(c.stats().eager_fallbacks, 0) << how;
  ASSERT_EQ(got.dtype(), eager.dtype());
  const double unit = got.dtype() == kFloat32 ? 2e-6 : got.dtype() == kFloat64 ? 1e-12 : 0.06;
  EXPECT_LE(((got.to(kFloat64) - eager.to(kFloat64)).abs() / (1 + eager.to(kFloat64).abs())).max().template item<double>(), unit) << how;
}

TEST(Shipped, Silu) {
  for (DType t : {kFloat32, kBFloat16, kFloat16})
    for (const Ints& sizes : {Ints{7}, Ints{3, 8}, Ints{2, 3, 4}}) {
      const Tensor x = numbers(sizes, t, 0.3);
      expect_matches(1, "silu", [](Tensor x) { return x * sigmoid(x); }, "by sigmoid", x);
      expect_matches(1, "silu", [](Tensor x) { return sigmoid(x) * x; }, "by sigmoid, other order", x);
      expect_matches(1, "silu", [](Tensor x) { return x / (1 + exp(-x)); }, "by exp", x);
      expect_matches(1, "silu", [](Tensor x) { return x * (1 / (exp(-x) + 1)); }, "by exp and a quotient", x);
      expect_matches(1, "silu", [](Tensor x) {
        Tensor h = x.clone();
        return h.sigmoid_().mul_(x);
      }, "in place", x);
      expect_matches(0, "silu", [](Tensor x) { return x * sigmoid(x + 1); }, "of another argument", x);
      expect_matches(0, "silu", [](Tensor x) { return x / (2 + exp(-x)); }, "of another number", x);
      expect_matches(0, "silu", [](Tensor x) {
        Tensor s = sigmoid(x);
        return x * s + s;
      }, "the sigmoid is read elsewhere", x);
    }
}

TEST(Shipped, Gelu) {
  const double root = std::sqrt(2 / std::acos(-1.0));
  for (DType t : {kFloat32, kBFloat16})
    for (const Ints& sizes : {Ints{9}, Ints{3, 8}}) {
      const Tensor x = numbers(sizes, t, 0.3);
      expect_matches(1, "gelu", [](Tensor x) { return 0.5 * x * (1 + erf(x / std::sqrt(2.0))); }, "erf of a quotient", x);
      expect_matches(1, "gelu", [](Tensor x) { return x * 0.5 * (1 + erf(x * 0.7071067811865476)); }, "erf of a product", x);
      expect_matches(1, "gelu", [](Tensor x) { return x * (0.5 * (1 + erf(x * 0.70710678))); }, "half last", x);
      expect_matches(1, "gelu", [](Tensor x) { return 0.5 * (x * (erf(x / 1.41421356) + 1)); }, "half first", x);
      expect_matches(1, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.044715 * pow(x, 3)))); }, "tanh, pow", x);
      expect_matches(1, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.044715 * (x * x * x)))); }, "tanh, products", x);
      expect_matches(1, "gelu", [](Tensor x) { return 0.5 * x * (1 + tanh(0.7978845608 * x * (1 + 0.044715 * x * x))); }, "tanh, factored", x);
      expect_matches(0, "gelu", [](Tensor x) { return 0.5 * x * (1 + erf(x / 1.5)); }, "of another number", x);
      expect_matches(0, "gelu", [](Tensor x) { return 0.4 * x * (1 + erf(x / std::sqrt(2.0))); }, "of another half", x);
      expect_matches(0, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.05 * (x * x * x)))); }, "of another cubic", x);
    }
}

// A pattern over an operator meets its spellings: they are one form.
TEST(Shipped, AUsersPatternMeetsEverySpelling) {
  const Tensor x = numbers({3, 8}, kFloat32, 0.3), w = numbers({8}, kFloat32, 0.2);
  register_pattern("mine_swiglu", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return a - b; }, std::tuple(x, x));
  register_pattern("mine_norm", [](Tensor a, Tensor w, Scalar eps) { return a * rsqrt((a * a).mean(-1, true) + eps) * w; }, [](Tensor a, Tensor w, Scalar) { return a + w; }, std::tuple(x, w, Scalar(1e-5)));
  auto swiglu = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x, x * 2), x - x * 2)) << how;
    EXPECT_EQ(matches(c.stats(), "mine_swiglu"), 1) << how << "\n" << c.explain();
  };
  swiglu([](Tensor a, Tensor b) { return silu(a) * b; }, "operator");
  swiglu([](Tensor a, Tensor b) { return a * sigmoid(a) * b; }, "sigmoid");
  swiglu([](Tensor a, Tensor b) { return b * (a / (1 + exp(-a))); }, "exp");
  swiglu([](Tensor a, Tensor b) {
    Tensor h = a.clone();
    h.silu_().mul_(b);
    return h;
  }, "in place");
  auto norm = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x, w), x + w)) << how;
    EXPECT_EQ(matches(c.stats(), "mine_norm"), 1) << how << "\n" << c.explain();
  };
  norm([](Tensor a, Tensor w) { return rms_norm(a, {8}, w, 1e-6); }, "operator");
  norm([](Tensor a, Tensor w) { return a * rsqrt(a.pow(2).mean(-1, true) + 1e-6) * w; }, "pow");
  norm([](Tensor a, Tensor w) { return a * rsqrt(square(a).mean(-1, true) + 1e-6) * w; }, "square");
  norm([](Tensor a, Tensor w) { return w * (a / sqrt((a * a).mean(-1, true) + 1e-6)); }, "quotient");
  norm([](Tensor a, Tensor w) { return a * (1 / sqrt((a * a).mean(-1, true) + 1e-6)) * w; }, "quotient of a row");
  norm([](Tensor a, Tensor w) { return a * rsqrt((a * a).sum({-1}, true) / a.size(-1) + 1e-6) * w; }, "sum");
  norm([](Tensor a, Tensor w) {
    Tensor n = a.clone();
    n.pow_(2);
    Tensor s = n.mean(-1, true).add_(1e-6).rsqrt_();
    n.copy_(a);
    return n.mul_(s).mul_(w);
  }, "in place");
  unregister_pattern("mine_swiglu"), unregister_pattern("mine_norm");
  // Layer norms are one form with their primitives, too.
  register_pattern("mine_layer_norm", [](Tensor a, Tensor w, Tensor b) { return layer_norm(a, {a.size(-1)}, w, b, 1e-5); }, [](Tensor a, Tensor w, Tensor b) { return a + w + b; }, std::tuple(x, w, w));
  auto layer = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x, w, w), x + w + w)) << how;
    EXPECT_EQ(matches(c.stats(), "mine_layer_norm"), 1) << how << "\n" << c.explain();
  };
  layer([](Tensor a, Tensor w, Tensor b) { return layer_norm(a, {8}, w, b, 1e-5); }, "operator");
  layer([](Tensor a, Tensor w, Tensor b) {
    Tensor d = a - a.mean(-1, true);
    return d * rsqrt(d.pow(2).mean(-1, true) + 1e-5) * w + b;
  }, "pow, rsqrt");
  layer([](Tensor a, Tensor w, Tensor b) { return (a - a.mean(-1, true)) / sqrt(var(a, {-1}, 0, true) + 1e-5) * w + b; }, "var, sqrt");
  unregister_pattern("mine_layer_norm");
}

TEST(Shipped, RmsNormOfHalves) {
  const Tensor x = numbers({3, 8}, kBFloat16, 0.3), w = numbers({8}, kBFloat16, 0.2);
  auto llama = [](Tensor x, Tensor w) {
    Tensor h = x.to(kFloat32);
    h = h * rsqrt(h.pow(2).mean(-1, true) + 1e-6);
    return w * h.to(x.dtype());
  };
  expect_matches(1, "rms_norm", llama, "as Llama has it", x, w);
  register_pattern("mine_norm", [](Tensor a, Tensor w) { return rms_norm(a, {a.size(-1)}, w, 1e-6); }, [](Tensor a, Tensor w) { return a + w; }, std::tuple(x, w));
  auto c = compile(llama);
  EXPECT_TRUE(equal(c(x, w), x + w)) << c.explain();
  EXPECT_EQ(matches(c.stats(), "mine_norm"), 1) << c.explain();
  unregister_pattern("mine_norm");
}

Tensor heads(Tensor x) { return x.view({x.size(0), x.size(1), 4, x.size(2) / 4}).transpose(1, 2); }

TEST(Shipped, Attention) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (DType t : {kFloat32, kBFloat16}) {
    const Tensor q = numbers({3, 9, 16}, t, 0.3), k = numbers({3, 11, 16}, t, 0.2), v = numbers({3, 11, 16}, t, 0.7), mask = numbers({9, 11}, t, 0.9);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(-2, -1)) * 0.25, -1), v); }, "times", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(0.25 * matmul(q, k.mT()), -1), v); }, "times, other order", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(1, 2)) / 4.0, -1), v); }, "by", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q * 0.25, k.transpose(1, 2)), -1), v); }, "the query is scaled", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) { return bmm(softmax(bmm(q, k.transpose(1, 2)) * 0.25, -1), v); }, "bmm", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(q, k.transpose(1, 2));
      s.mul_(0.25);
      return matmul(softmax(s, -1), v);
    }, "in place", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v, Tensor m) { return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.25 + m, -1), v); }, "mask", q, k, v, mask);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
      return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).triu(1), -inf), -1), v);
    }, "causal, above", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(q, k.transpose(1, 2)) / 4.0;
      return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}).tril() == 0, -inf), -1), v);
    }, "causal, below", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
      return matmul(softmax(where(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).tril(), s, -1e10), -1), v);
    }, "causal, where", q, k, v);
    // A model's heads: views of what its projections give.
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(heads(q), heads(k).transpose(-2, -1)) * 0.5;
      return matmul(softmax(s, -1), heads(v)).transpose(1, 2).reshape(q.sizes());
    }, "heads", q, k, v);
    expect_matches(1, "attention", [](Tensor q, Tensor k, Tensor v, Tensor m) {
      Tensor s = matmul(heads(q), heads(k).transpose(-2, -1)) * 0.5 + m;
      return matmul(softmax(s, -1, kFloat32).to(q.dtype()), heads(v)).transpose(1, 2).reshape(q.sizes());
    }, "heads, mask, in float32", q, k, v, mask);
    expect_matches(0, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.25, 1), v); }, "over the other dimension", q, k, v);
    expect_matches(0, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor p = softmax(matmul(q, k.transpose(1, 2)) * 0.25, -1);
      return matmul(p, v).sum() + p.amax();
    }, "the weights are read, too", q, k, v);
    expect_matches(0, "attention", [](Tensor q, Tensor k, Tensor v) {
      Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
      return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).triu(1), -2.0), -1), v);
    }, "what is masked takes part", q, k, v);
  }
}

}  // namespace
}  // namespace reprise
