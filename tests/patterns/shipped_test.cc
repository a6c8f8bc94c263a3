// What the library finds by itself: operators that a program has written with primitives, in their usual spellings, and
// nothing else.
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
  EXPECT_LE(
      ((got.to(kFloat64) - eager.to(kFloat64)).abs() / (1 + eager.to(kFloat64).abs())).max().template item<double>(),
      unit)
      << how;
}

TEST(Shipped, Silu) {
  for (DType t : {kFloat32, kBFloat16, kFloat16})
    for (const Ints& sizes : {Ints{7}, Ints{3, 8}, Ints{2, 3, 4}}) {
      const Tensor x = numbers(sizes, t, 0.3);
      expect_matches(
          1, "silu", [](Tensor x) { return x * sigmoid(x); }, "by sigmoid", x);
      expect_matches(
          1, "silu", [](Tensor x) { return sigmoid(x) * x; }, "by sigmoid, other order", x);
      expect_matches(
          1, "silu", [](Tensor x) { return x / (1 + exp(-x)); }, "by exp", x);
      expect_matches(
          1, "silu", [](Tensor x) { return x * (1 / (exp(-x) + 1)); }, "by exp and a quotient", x);
      expect_matches(
          1, "silu",
          [](Tensor x) {
            Tensor h = x.clone();
            return h.sigmoid_().mul_(x);
          },
          "in place", x);
      expect_matches(
          0, "silu", [](Tensor x) { return x * sigmoid(x + 1); }, "of another argument", x);
      expect_matches(
          0, "silu", [](Tensor x) { return x / (2 + exp(-x)); }, "of another number", x);
      expect_matches(
          0, "silu",
          [](Tensor x) {
            Tensor s = sigmoid(x);
            return x * s + s;
          },
          "the sigmoid is read elsewhere", x);
    }
}

TEST(Shipped, Gelu) {
  const double root = std::sqrt(2 / std::acos(-1.0));
  for (DType t : {kFloat32, kBFloat16})
    for (const Ints& sizes : {Ints{9}, Ints{3, 8}}) {
      const Tensor x = numbers(sizes, t, 0.3);
      expect_matches(
          1, "gelu", [](Tensor x) { return 0.5 * x * (1 + erf(x / std::sqrt(2.0))); }, "erf of a quotient", x);
      expect_matches(
          1, "gelu", [](Tensor x) { return x * 0.5 * (1 + erf(x * 0.7071067811865476)); }, "erf of a product", x);
      expect_matches(
          1, "gelu", [](Tensor x) { return x * (0.5 * (1 + erf(x * 0.70710678))); }, "half last", x);
      expect_matches(
          1, "gelu", [](Tensor x) { return 0.5 * (x * (erf(x / 1.41421356) + 1)); }, "half first", x);
      expect_matches(
          1, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.044715 * pow(x, 3)))); }, "tanh, pow", x);
      expect_matches(
          1, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.044715 * (x * x * x)))); },
          "tanh, products", x);
      expect_matches(
          1, "gelu", [](Tensor x) { return 0.5 * x * (1 + tanh(0.7978845608 * x * (1 + 0.044715 * x * x))); },
          "tanh, factored", x);
      expect_matches(
          0, "gelu", [](Tensor x) { return 0.5 * x * (1 + erf(x / 1.5)); }, "of another number", x);
      expect_matches(
          0, "gelu", [](Tensor x) { return 0.4 * x * (1 + erf(x / std::sqrt(2.0))); }, "of another half", x);
      expect_matches(
          0, "gelu", [=](Tensor x) { return 0.5 * x * (1 + tanh(root * (x + 0.05 * (x * x * x)))); },
          "of another cubic", x);
    }
}

// A pattern over an operator meets its spellings: they are one form.
TEST(Shipped, AUsersPatternMeetsEverySpelling) {
  const Tensor x = numbers({3, 8}, kFloat32, 0.3), w = numbers({8}, kFloat32, 0.2);
  register_pattern(
      "mine_swiglu", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return a - b; },
      std::tuple(x, x));
  register_pattern(
      "mine_norm", [](Tensor a, Tensor w, Scalar eps) { return a * rsqrt((a * a).mean(-1, true) + eps) * w; },
      [](Tensor a, Tensor w, Scalar) { return a + w; }, std::tuple(x, w, Scalar(1e-5)));
  auto swiglu = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x, x * 2), x - x * 2)) << how;
    EXPECT_EQ(matches(c.stats(), "mine_swiglu"), 1) << how << "\n" << c.explain();
  };
  swiglu([](Tensor a, Tensor b) { return silu(a) * b; }, "operator");
  swiglu([](Tensor a, Tensor b) { return a * sigmoid(a) * b; }, "sigmoid");
  swiglu([](Tensor a, Tensor b) { return b * (a / (1 + exp(-a))); }, "exp");
  swiglu(
      [](Tensor a, Tensor b) {
        Tensor h = a.clone();
        h.silu_().mul_(b);
        return h;
      },
      "in place");
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
  norm(
      [](Tensor a, Tensor w) {
        Tensor n = a.clone();
        n.pow_(2);
        Tensor s = n.mean(-1, true).add_(1e-6).rsqrt_();
        n.copy_(a);
        return n.mul_(s).mul_(w);
      },
      "in place");
  unregister_pattern("mine_swiglu"), unregister_pattern("mine_norm");
  // Layer norms are one form with their primitives, too.
  register_pattern(
      "mine_layer_norm", [](Tensor a, Tensor w, Tensor b) { return layer_norm(a, {a.size(-1)}, w, b, 1e-5); },
      [](Tensor a, Tensor w, Tensor b) { return a + w + b; }, std::tuple(x, w, w));
  auto layer = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x, w, w), x + w + w)) << how;
    EXPECT_EQ(matches(c.stats(), "mine_layer_norm"), 1) << how << "\n" << c.explain();
  };
  layer([](Tensor a, Tensor w, Tensor b) { return layer_norm(a, {8}, w, b, 1e-5); }, "operator");
  layer(
      [](Tensor a, Tensor w, Tensor b) {
        Tensor d = a - a.mean(-1, true);
        return d * rsqrt(d.pow(2).mean(-1, true) + 1e-5) * w + b;
      },
      "pow, rsqrt");
  layer(
      [](Tensor a, Tensor w, Tensor b) { return (a - a.mean(-1, true)) / sqrt(var(a, {-1}, 0, true) + 1e-5) * w + b; },
      "var, sqrt");
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
  register_pattern(
      "mine_norm", [](Tensor a, Tensor w) { return rms_norm(a, {a.size(-1)}, w, 1e-6); },
      [](Tensor a, Tensor w) { return a + w; }, std::tuple(x, w));
  auto c = compile(llama);
  EXPECT_TRUE(equal(c(x, w), x + w)) << c.explain();
  EXPECT_EQ(matches(c.stats(), "mine_norm"), 1) << c.explain();
  unregister_pattern("mine_norm");
}

Tensor heads(Tensor x) { return x.view({x.size(0), x.size(1), 4, x.size(2) / 4}).transpose(1, 2); }

TEST(Shipped, Attention) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (DType t : {kFloat32, kBFloat16}) {
    const Tensor q = numbers({3, 9, 16}, t, 0.3), k = numbers({3, 11, 16}, t, 0.2), v = numbers({3, 11, 16}, t, 0.7),
                 mask = numbers({9, 11}, t, 0.9);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(-2, -1)) * 0.25, -1), v); },
        "times", q, k, v);
    expect_matches(
        1, "attention", [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(0.25 * matmul(q, k.mT()), -1), v); },
        "times, other order", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(1, 2)) / 4.0, -1), v); }, "by",
        q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q * 0.25, k.transpose(1, 2)), -1), v); },
        "the query is scaled", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) { return bmm(softmax(bmm(q, k.transpose(1, 2)) * 0.25, -1), v); }, "bmm", q, k,
        v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(q, k.transpose(1, 2));
          s.mul_(0.25);
          return matmul(softmax(s, -1), v);
        },
        "in place", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v, Tensor m) {
          return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.25 + m, -1), v);
        },
        "mask", q, k, v, mask);
    // A row of which all is masked is NaN, and of nothing there is nothing.
    auto masked = [](Tensor q, Tensor k, Tensor v, Tensor m) {
      return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.25 + m, -1), v);
    };
    Tensor some = mask.clone();
    some[2].fill_(-inf), some[3].slice(0, 0, 5).fill_(-inf);
    auto f = compile(masked);
    for (const Tensor& m : {some, mask})
      EXPECT_TRUE(allclose(f(q, k, v, m).to(kFloat32), masked(q, k, v, m).to(kFloat32), t == kFloat32 ? 1e-4 : 0.1,
                           t == kFloat32 ? 1e-4 : 0.1, true))
          << dtype_name(t);
    EXPECT_EQ(f.stats().matches.size(), 1u);
    const Tensor nothing = k.slice(1, 0, 0);
    EXPECT_TRUE(equal(f(q, nothing, nothing, mask.slice(1, 0, 0)), zeros({3, 9, 16}, {.dtype = t})));
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
          return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).triu(1), -inf), -1), v);
        },
        "causal, above", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(q, k.transpose(1, 2)) / 4.0;
          return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}).tril() == 0, -inf), -1), v);
        },
        "causal, below", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
          return matmul(softmax(where(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).tril(), s, -1e10), -1), v);
        },
        "causal, where", q, k, v);
    // A model's heads: views of what its projections give.
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(heads(q), heads(k).transpose(-2, -1)) * 0.5;
          return matmul(softmax(s, -1), heads(v)).transpose(1, 2).reshape(q.sizes());
        },
        "heads", q, k, v);
    expect_matches(
        1, "attention",
        [](Tensor q, Tensor k, Tensor v, Tensor m) {
          Tensor s = matmul(heads(q), heads(k).transpose(-2, -1)) * 0.5 + m;
          return matmul(softmax(s, -1, kFloat32).to(q.dtype()), heads(v)).transpose(1, 2).reshape(q.sizes());
        },
        "heads, mask, in float32", q, k, v, mask);
    expect_matches(
        0, "attention",
        [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.25, 1), v); },
        "over the other dimension", q, k, v);
    expect_matches(
        0, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor p = softmax(matmul(q, k.transpose(1, 2)) * 0.25, -1);
          return matmul(p, v).sum() + p.amax();
        },
        "the weights are read, too", q, k, v);
    expect_matches(
        0, "attention",
        [](Tensor q, Tensor k, Tensor v) {
          Tensor s = matmul(q, k.transpose(1, 2)) * 0.25;
          return matmul(softmax(s.masked_fill(ones({s.size(-2), s.size(-1)}, {.dtype = kBool}).triu(1), -2.0), -1), v);
        },
        "what is masked takes part", q, k, v);
  }
}

// A block of a language model in four spellings, and with its products quantized or not: a user's patterns are found as
// often, and as many kernels run.
struct Block {
  Tensor norm, norm2, q, k, v, o, gate, up, down;
};
enum class Spelling { Operators, InPlace, Primitives, Mixed };

std::int64_t launches_of(const std::string& explained) {
  const std::string text = explained.substr(explained.find("  launches:\n"));
  std::int64_t n = 0;
  for (const char* kind : {"\nloop ", "\nnative "})
    for (std::size_t at = 0; (at = text.find(kind, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST(Shipped, ABlockOfAModelMatchesAlikeInEverySpelling) {
  const std::int64_t width = 16, wide = 24;
  const Tensor x0 = numbers({5, width}, kFloat32, 0.3), ones_ = numbers({width}, kFloat32, 0.11);
  auto quantize = [](Tensor y) {
    Tensor scale = y.abs().amax({-1}, true).clamp_min(1e-8) / 127.0;
    return std::pair((y * (1.0 / scale)).round().to(kInt8), scale);
  };
  // What stands for them computes the same; that they are met is what is counted.
  register_pattern(
      "mine_norm", [](Tensor a, Tensor w) { return rms_norm(a, {a.size(-1)}, w, 1e-6); },
      [](Tensor a, Tensor w) { return rms_norm(a, {a.size(-1)}, w, 1e-6) * 1.0; }, std::tuple(x0, ones_));
  register_pattern(
      "mine_swiglu", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return b * silu(a); },
      std::tuple(x0, x0));
  for (bool quantized : {false, true}) {
    auto product = [=](Tensor y, const Tensor& w) {
      if (!quantized) return linear(y, w);
      auto [codes, scale] = quantize(y);
      return linear(codes.to(kFloat32), w) * scale;
    };
    auto block = [=](Spelling how) {
      return [=](Tensor x, const Block& b) {
        const bool primitives = how == Spelling::Primitives || how == Spelling::Mixed,
                   in_place = how == Spelling::InPlace || how == Spelling::Mixed;
        auto norm = [&](Tensor y, Tensor w) {
          return primitives ? w * (y / sqrt(pow(y, 2).mean(-1, true) + 1e-6)) : rms_norm(y, {width}, w, 1e-6);
        };
        auto added = [&](Tensor y, Tensor d) {
          if (!in_place) return y + d;
          y.add_(d);
          return y;
        };
        Tensor h = norm(x, b.norm);
        Tensor q = product(h, b.q).view({-1, 2, width / 2}).transpose(0, 1),
               k = product(h, b.k).view({-1, 2, width / 2}).transpose(0, 1),
               v = product(h, b.v).view({-1, 2, width / 2}).transpose(0, 1);
        Tensor a;
        if (primitives) a = matmul(softmax(matmul(q, k.transpose(1, 2)) * 0.35, -1), v);
        else a = scaled_dot_product_attention(q, k, v, {}, 0.0, false, 0.35);
        x = added(x, product(a.transpose(0, 1).reshape({-1, width}), b.o));
        h = norm(x, b.norm2);
        Tensor gate = product(h, b.gate), up = product(h, b.up);
        if (how == Spelling::InPlace) gate.silu_().mul_(up);
        else gate = (primitives ? gate * sigmoid(gate) : silu(gate)) * up;
        return added(x, product(gate, b.down));
      };
    };
    auto weights = [&](std::int64_t out, std::int64_t in, double step) {
      return numbers({out, in}, kFloat32, step) * 0.2;
    };
    const Block b{ones_,
                  ones_ + 1,
                  weights(width, width, 0.21),
                  weights(width, width, 0.31),
                  weights(width, width, 0.17),
                  weights(width, width, 0.23),
                  weights(wide, width, 0.19),
                  weights(wide, width, 0.29),
                  weights(width, wide, 0.37)};
    const Tensor want = block(Spelling::Operators)(x0, b);
    std::int64_t launches = -1;
    for (Spelling how : {Spelling::Operators, Spelling::InPlace, Spelling::Primitives, Spelling::Mixed}) {
      auto c = compile([=](Tensor x, Tensor n, Tensor n2, Tensor q, Tensor k, Tensor v, Tensor o, Tensor gate,
                           Tensor up, Tensor down) {
        return block(how)(x, {n, n2, q, k, v, o, gate, up, down});
      });
      const Tensor got = c(x0.clone(), b.norm, b.norm2, b.q, b.k, b.v, b.o, b.gate, b.up, b.down);
      const std::string which = std::to_string(static_cast<int>(how)) + (quantized ? ", quantized" : "");
      EXPECT_LE((got - want).abs().max().item<double>(), quantized ? 0.1 : 1e-4) << which;
      EXPECT_EQ(matches(c.stats(), "mine_norm"), 2) << which << "\n" << c.explain();
      EXPECT_EQ(matches(c.stats(), "mine_swiglu"), 1) << which << "\n" << c.explain();
      EXPECT_EQ(c.stats().copied_bytes, 0) << which;
      if (launches < 0) launches = launches_of(c.explain());
      // What is computed of a product, its sum, is computed in its launch, unless an argument is written: there may be
      // no room to multiply in.
      const bool writes = how == Spelling::InPlace || how == Spelling::Mixed;
      EXPECT_EQ(launches_of(c.explain()), launches + writes) << which << "\n" << c.explain();
    }
  }
  unregister_pattern("mine_norm"), unregister_pattern("mine_swiglu");
}

}  // namespace
}  // namespace reprise
