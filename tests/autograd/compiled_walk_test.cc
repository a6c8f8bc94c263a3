// Walks over the tape as compiled functions.
#include <gtest/gtest.h>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

Tensor random(std::initializer_list<Int> sizes) { return rand(sizes, {.dtype = kFloat64}) - 0.5; }
void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.defined(), b.defined());
  if (a.defined()) {
    EXPECT_TRUE(allclose(a, b, 1e-9, 1e-9)) << a.str() << "\n" << b.str();
  }
}

struct Twice : reprise::Function<Twice> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    c.numbers = {2.5};
    c.save_for_backward({x});
    return x * 2.5;
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) { return {g[0] * c.numbers[0]}; }
};

TEST(CompiledAutograd, OneCompilationForAllSizes) {
  CompiledAutograd compiled;
  Tensor w = random({4, 4}).requires_grad_(), b = random({4}).requires_grad_();
  auto layer = compile([](const Tensor& x, const Tensor& w) { return linear(x, w).tanh(); }, {.name = "layer"});
  auto loss = [&](const Tensor& x) {
    Tensor h = layer(x, w) + b;
    Tensor out = zeros({2, x.size(0), 4}, {.dtype = kFloat64});
    out.select(0, 0).copy_(h);
    out.select(0, 1).copy_(Twice::apply(h.softmax(-1)));
    return (out * out).sum();
  };
  for (int n : {3, 5, 8, 2}) {
    Tensor x = random({n, 4});
    std::vector<Tensor> expected = grad({loss(x)}, {w, b});
    {
      const auto on = compiled.enable();
      loss(x).backward();
      std::vector<Tensor> found = grad({loss(x)}, {w, b});
      expect_near(found[0], expected[0]), expect_near(found[1], expected[1]);
    }
    expect_near(w.grad(), expected[0]), expect_near(b.grad(), expected[1]);
    w.set_grad(Tensor()), b.set_grad(Tensor());
  }
  EXPECT_EQ(compiled.counts().walks, 8);
  EXPECT_EQ(compiled.counts().eager, 0);
  EXPECT_EQ(compiled.counts().shadows, 2);  // backward and grad
  EXPECT_EQ(compiled.counts().compilations, 2);
}

TEST(CompiledAutograd, HooksRunEagerlyAndInOrder) {
  CompiledAutograd compiled;
  const auto on = compiled.enable();
  Tensor x = random({3}).requires_grad_();
  std::vector<int> order;
  Tensor y = x * 2;
  y.register_hook([&](const Tensor& g) { return order.push_back(1), g * 3; });
  x.register_hook([&](const Tensor&) { return order.push_back(2), Tensor(); });
  y.sum().backward();
  expect_near(x.grad(), full({3}, 6, {.dtype = kFloat64}));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(compiled.counts().eager, 1);
}

TEST(CompiledAutograd, ATapeIsWalkedOnce) {
  CompiledAutograd compiled;
  const auto on = compiled.enable();
  Tensor x = random({3}).requires_grad_();
  Tensor y = x.exp().sum();
  y.backward();
  EXPECT_THROW(y.backward(), Error);
}

}  // namespace
}  // namespace reprise::test
