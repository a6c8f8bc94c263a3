// Walks over the tape as compiled functions.
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

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
  EXPECT_EQ(compiled.counts().shadows, 1);  // of backward and grad
  EXPECT_EQ(compiled.counts().compilations, 1);
}

/// Keeps something that cannot be told.
struct Secret : reprise::Function<Secret> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    c.more = std::make_shared<int>(3);
    return x * 3;
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) {
    return {g[0] * *std::static_pointer_cast<int>(c.more)};
  }
};

TEST(CompiledAutograd, HooksDivideAWalk) {
  CompiledAutograd compiled;
  const Tensor w = random({4, 4}).requires_grad_();
  std::vector<std::string> order;
  auto walk = [&](const Tensor& x, double factor) {
    Tensor h = linear(x, w).tanh(), y = (h * h).exp(), z = y.softmax(-1) * y;
    y.register_hook([&order, factor](const Tensor& g) { return order.push_back("of y"), g * factor; });
    h.grad_fn().register_prehook(
        [&](std::vector<Tensor>& grads) { order.push_back("before tanh"), grads[0] = grads[0] + 1; });
    z.grad_fn().register_hook([&](std::vector<Tensor>& given, const std::vector<Tensor>& taken) {
      order.push_back("behind mul"), given[0] = given[0] - taken[0];
    });
    h.grad_fn().register_hook([&](std::vector<Tensor>& given, const std::vector<Tensor>&) {
      order.push_back("behind tanh"), given[0] = given[0] * 2;
    });
    return z.sum();
  };
  GradHook of_leaf = w.register_hook([&](const Tensor& g) { return order.push_back("of w"), g + 0.5; });
  for (int n : {3, 5, 2}) {
    const Tensor x = random({n, 4}).requires_grad_();
    order.clear();
    walk(x, n).backward();
    const Tensor by_x = x.grad(), by_w = w.grad();
    const std::vector<std::string> eagerly = std::exchange(order, {});
    EXPECT_EQ(eagerly.size(), 5u);
    x.set_grad(Tensor()), w.set_grad(Tensor());
    const auto on = compiled.enable();
    walk(x, n).backward();
    EXPECT_EQ(order, eagerly);
    expect_near(x.grad(), by_x), expect_near(w.grad(), by_w);
    w.set_grad(Tensor());
  }
  EXPECT_EQ(compiled.counts().walks, 3);
  EXPECT_EQ(compiled.counts().eager, 0);
  // Other hooks, and other sizes, are no reason to compile again.
  EXPECT_EQ(compiled.counts().compilations, compiled.counts().shadows);
  EXPECT_EQ(compiled.counts().shadows, 6);  // sum; mul; until the hook of y; until the one before tanh; tanh; linear
}

TEST(CompiledAutograd, GradientsOfTensorsOnTheWay) {
  CompiledAutograd compiled;
  for (bool hooked : {false, true}) {
    const Tensor x = random({3, 4}).requires_grad_();
    const Tensor h = x.exp(), y = h * h + x, z = y.tanh();
    if (hooked) y.register_hook([](const Tensor& g) { return g * 3; });
    if (hooked) h.register_hook([](const Tensor& g) { return g * 2; });
    auto derive = [&] { return grad({z.sum()}, {h, y, x, z}, {}, {.retain_graph = true}); };
    const std::vector<Tensor> expected = derive();
    const auto on = compiled.enable();
    const std::vector<Tensor> found = derive(), again = derive();
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_near(found[i], expected[i]), expect_near(again[i], expected[i]);
    expect_near(grad({z.sum()}, {y}, {}, {.retain_graph = true})[0], expected[1]);
  }
  EXPECT_EQ(compiled.counts().eager, 0);
}

// Views that name places of a storage have derivatives that depend on how what they are views of lies.
TEST(CompiledAutograd, PlacesOfOtherLayouts) {
  CompiledAutograd compiled;
  const Tensor leaf = random({2, 3}).requires_grad_();
  auto derive = [&](const Tensor& x, Int step) {
    x.register_hook([](const Tensor& g) { return g * 2.0; });
    const Tensor part = x.as_strided({2}, {step}), put = x.as_strided_scatter(part * 2.0, {2}, {step});
    return grad({part.pow(2).sum() + put.pow(3).sum()}, {leaf})[0];
  };
  const std::pair<Tensor (*)(const Tensor&), int> cases[] = {{[](const Tensor& t) {
                                                                return t.view({2, 3});
                                                              },
                                                              3},
                                                             {[](const Tensor& t) {
                                                                return t.view({3, 2}).t();
                                                              },
                                                              1},
                                                             {[](const Tensor& t) {
                                                                return t.view({2, 3});
                                                              },
                                                              1},
                                                             {[](const Tensor& t) {
                                                                return t.reshape({2, 3});
                                                              },
                                                              2},
                                                             {[](const Tensor& t) {
                                                                return t.view({3, 2}).t();
                                                              },
                                                              2}};
  for (const auto& [view, step] : cases) {
    const Tensor expected = derive(view(leaf), step);
    const auto on = compiled.enable();
    expect_near(derive(view(leaf), step), expected);
  }
  EXPECT_EQ(compiled.counts().eager, 0);
}

TEST(CompiledAutograd, NodesThatCannotTellRunByThemselves) {
  CompiledAutograd compiled;
  const Tensor x = random({3}).requires_grad_();
  auto loss = [&] { return (Secret::apply(x.exp()).tanh() * x).sum(); };
  const Tensor expected = grad({loss()}, {x})[0];
  const auto on = compiled.enable();
  for (int i = 0; i < 3; ++i) expect_near(grad({loss()}, {x})[0], expected);
  EXPECT_EQ(compiled.counts().eager, 0);
  EXPECT_EQ(compiled.counts().compilations, 2);  // before it and behind it
}

TEST(CompiledAutograd, WhatThrowsLeavesLeavesAsTheyWere) {
  CompiledAutograd compiled;
  const auto on = compiled.enable();
  const Tensor x = random({3}).requires_grad_(), w = random({3}).requires_grad_();
  auto loss = [&](bool fails) {
    Tensor y = (x * w).exp();
    if (fails) y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("a hook's own"); });
    else y.register_hook([](const Tensor& g) { return g * 2; });
    return y.sum() + w.sum();
  };
  loss(false).backward();
  const Tensor of_w = w.grad().clone(), of_x = x.grad().clone();
  EXPECT_THROW(loss(true).backward(), std::runtime_error);
  expect_near(w.grad(), of_w), expect_near(x.grad(), of_x);
  loss(false).backward();
  expect_near(w.grad(), of_w * 2), expect_near(x.grad(), of_x * 2);
  EXPECT_EQ(compiled.counts().eager, 0);
}

TEST(CompiledAutograd, WhatIsKeptMayBePacked) {
  CompiledAutograd compiled;
  const Tensor x = random({3, 5}).requires_grad_();
  int unpacked = 0;
  auto loss = [&] {
    const SavedTensorHooks hooks(
        [](const Tensor& t) -> SavedTensorHooks::Packed { return std::make_shared<Tensor>(t.to(kFloat32)); },
        [&](const SavedTensorHooks::Packed& p) {
          return ++unpacked, std::static_pointer_cast<Tensor>(p)->to(kFloat64);
        });
    return (x.tanh() * x.exp()).sum();
  };
  const Tensor expected = grad({loss()}, {x})[0];
  const int eagerly = std::exchange(unpacked, 0);
  const auto on = compiled.enable();
  expect_near(grad({loss()}, {x})[0], expected);
  EXPECT_EQ(unpacked, eagerly);
  EXPECT_EQ(compiled.counts().eager, 0);
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
