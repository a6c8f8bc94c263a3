// Gradient modes that a function sets, within those of its caller.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

// Whether a captured tensor wants a gradient counts there, too.
TEST(GradModes, CapturedTensorsWhereACallTurnsThemOn) {
  struct Doubled : Function<Doubled> {
    static Tensor forward(FunctionContext&, Tensor x) { return x * 1.0; }
    static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 2.0}; }
  };
  Tensor w = ones({3});
  using Body = std::function<Tensor(const Tensor&)>;
  const Body by_operator = [&](const Tensor& x) {
    const EnableGradScope on;
    return x * w;
  };
  const Body by_function = [&](const Tensor& x) {
    const EnableGradScope on;
    return Doubled::apply(w) + x - x;
  };
  const Body by_question = [&](const Tensor& x) {
    const EnableGradScope on;
    return w.requires_grad() ? x * w : x + w;
  };
  for (const Body& body : {by_operator, by_function, by_question}) {
    auto f = compile(body);
    for (int i = 0; i < 6; ++i) {
      w = i % 2 ? full({3}, 2.0).requires_grad_() : ones({3});
      const Tensor x = ones({3}) * (i + 1);
      Tensor eager, compiled;
      {
        std::optional<NoGradScope> off;
        if (i < 4) off.emplace();
        eager = body(x), compiled = f(x);
      }
      EXPECT_EQ(eager.requires_grad(), i % 2 == 1);
      ASSERT_EQ(compiled.requires_grad(), eager.requires_grad()) << i;
      if (i % 2) EXPECT_TRUE(allclose(grad({compiled.sum()}, {w})[0], grad({eager.sum()}, {w})[0]));
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

// Compiled where gradients are on and nothing wants one: where they are off, what wants one by then counts.
TEST(GradModes, WhatCallersHaveSetCountsWhereACallTurnsThemOn) {
  auto body = [](const Tensor& x, const Tensor& w) {
    const EnableGradScope on;
    return w.requires_grad() ? x * w : x + w;
  };
  auto f = compile(body);
  Tensor w = full({3}, 2.0);
  const Tensor x = ones({3});
  for (int i = 0; i < 4; ++i) {
    std::optional<NoGradScope> off;
    if (i % 2) off.emplace();
    const Tensor eager = body(x, w), compiled = f(x, w);
    EXPECT_EQ(compiled.requires_grad(), eager.requires_grad()) << i;
    EXPECT_TRUE(allclose(compiled, eager)) << i;
    off.reset();
    if (i == 0) w.requires_grad_();
  }
}

// The hooks of an eager checkpoint are for what a compiled call keeps, not for what its trace does.
TEST(GradModes, CompiledCallsInAnEagerCheckpoint) {
  auto f = compile([](const Tensor& x) {
    const Tensor y = x.exp();
    return y.sin() * y;
  });
  for (int i = 0; i < 3; ++i) {
    const Tensor x = ones({4, 3}).requires_grad_(), twin = ones({4, 3}).requires_grad_();
    checkpoint([&](const Tensor& t) { return f(t); }, x.sin()).sum().backward();
    const Tensor y = twin.sin().exp();
    (y.sin() * y).sum().backward();
    EXPECT_TRUE(allclose(x.grad(), twin.grad()));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// A trace that is given up has walked its own tape, whose nodes go before the variables are put back.
TEST(GradModes, AWalkBeforeATraceIsGivenUp) {
  const Tensor w = full({3}, 2.0).requires_grad_();
  auto f = compile([&](const Tensor& a) {
    const Tensor b = a * w, o = b * b;
    grad({o.sum()}, {b});
    return o;
  });
  for (int i = 0; i < 2; ++i) {
    const Tensor o = f(ones({3}) * 1.0);
    EXPECT_EQ(o[0].item<float>(), 4.0f);
    EXPECT_THROW(o.sum().backward(), Error);
  }
}

}  // namespace
}  // namespace reprise::test
