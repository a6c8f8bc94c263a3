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

}  // namespace
}  // namespace reprise::test
