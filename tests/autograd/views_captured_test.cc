// Tensors that a compiled function captures, and views of them, on the tape: they are bases as arguments are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reprise/reprise.h"
#include "tests/autograd/views.h"

namespace reprise::test {
namespace {

// A trace that is given up has changed no place: hooks are where they were.
TEST(ViewsOnTheTape, CapturedAndWrittenInATraceThatEnds) {
  std::vector<std::vector<double>> all;
  for (const bool eager : {true, false}) {
    const Tensor leaf = arange(1, 5).to(kFloat64).requires_grad_(), x = (leaf * 1.5).view({4});
    x.register_hook([](const Tensor& g) { return g * 2; });
    const auto body = [x](const Tensor& y) {
      const Tensor before = x * 5;
      x.mul_(0.5);
      return before + y;
    };
    auto compiled = compile(body);
    const Tensor y = ones({4}, {.dtype = kFloat64}), out = eager ? body(y) : compiled(y);
    (out.sum() + x.sum()).backward();
    all.push_back(leaf.grad().to_vector<double>());
  }
  EXPECT_EQ(all[0], all[1]);
}

// A view that the call is given, and does not use, of a captured tensor that the call writes.
TEST(ViewsOnTheTape, OfWhatACallWrites) {
  for (const bool transposed : {false, true}) {
    std::vector<std::vector<double>> gradients;
    for (const int how : {0, 1, 1}) {
      Tensor state;
      const auto body = [&](Tensor x, Tensor) {
        state.copy_(tanh(state * 2.0) + 0.5);
        return x + 0;
      };
      auto compiled = compile(body);
      Tensor w = arange(4, {.dtype = kFloat64}).requires_grad_();
      state = w.reshape({2, 2}) * 1.5;
      Tensor y = transposed ? state.t() : state.slice(0, 0, 1), x = ones({2});
      how ? compiled(x, y) : body(x, y);
      if (how) {
        EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
      }
      y.mul_(2.0);
      ((state * 2.0).sum() + (y * 3.0).sum()).backward();
      gradients.push_back(w.grad().to_vector<double>());
      for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(gradients.back()[i], gradients[0][i], 1e-12) << transposed << how;
    }
  }
}

// An argument and a captured tensor that share memory: what is written through the one has the gradient of the other.
TEST(ViewsOnTheTape, ArgumentsThatAreCapturedToo) {
  struct Case {
    const char* name;
    Tensor (*f)(Tensor x, Tensor captured, const Tensor& y);
  };
  const Case cases[] = {
      {"zero_, then the captured", [](Tensor x, Tensor c, const Tensor& y) { return x.zero_().add_(y - c * 0.5); }},
      {"zero_ of the captured", [](Tensor x, Tensor c, const Tensor& y) { return c.zero_(), x.add_(y - x * 0.5); }},
      {"the product of both", [](Tensor x, Tensor c, const Tensor& y) { return x.mul_(c), c * y; }},
      {"copy_, then the captured", [](Tensor x, Tensor c, const Tensor& y) { return x.copy_(y * 2), c * c; }},
      {"a part of the captured", [](Tensor x, Tensor c, const Tensor& y) { return c.slice(0, 0, 1).mul_(0.5), x * y; }},
      {"a part of the argument", [](Tensor x, Tensor c, const Tensor& y) { return x.slice(0, 0, 1).mul_(0.5), c * y; }},
      {"a part, nothing else is computed",
       [](Tensor x, Tensor c, const Tensor& y) { return c.slice(0, 0, 1).mul_(y.slice(0, 0, 1)), x; }},
      {"a part of the captured, which is read",
       [](Tensor, Tensor c, const Tensor& y) { return c.slice(0, 0, 1).mul_(0.5), c * y; }},
      {"nothing is written", [](Tensor x, Tensor c, const Tensor& y) { return x * c + y; }}};
  enum Relation { One, ViewsOfOne, ArgumentIsView, CapturedIsView };
  for (const Case& c : cases)
    for (const Relation relation : {One, ViewsOfOne, ArgumentIsView, CapturedIsView}) {
      SCOPED_TRACE(c.name + std::to_string(relation));
      List gradients[2];
      for (bool compiled : {false, true}) {
        const Tensor a = (arange(4) + 1).to(kFloat32).view({2, 2}).requires_grad_();
        const Tensor y = (arange(4) + 3).to(kFloat32).view({2, 2}).requires_grad_();
        const Tensor base = a * 1, one = relation == One ? base.view({2, 2}) : base;
        const Tensor x = relation == ViewsOfOne || relation == ArgumentIsView ? base.t() : one;
        const Tensor captured = relation == ViewsOfOne || relation == CapturedIsView ? base.view({2, 2}) : one;
        auto body = [&](Tensor given, Tensor other) { return c.f(given, captured, other); };
        auto f = compile(body);
        const Tensor r = compiled ? f(x, y) : body(x, y);
        (r * r).sum().backward();
        for (const Tensor& leaf : {a, y})
          gradients[compiled].push_back(leaf.grad().defined() ? leaf.grad() : zeros({0}));
      }
      for (std::size_t i : {0, 1}) EXPECT_TRUE(equal(gradients[0][i], gradients[1][i])) << gradients[1][i];
    }
}

TEST(ViewsOnTheTape, CapturedTensorsThatShareMemory) {
  Tensor (*const bodies[])(const Tensor& c, const Tensor& v, const Tensor& p) = {
      [](const Tensor& c, const Tensor& v, const Tensor& p) { return c.mul_(0.5), v * p; },
      [](const Tensor& c, const Tensor& v, const Tensor& p) { return v.mul_(0.5), c * p; },
      [](const Tensor& c, const Tensor& v, const Tensor& p) { return v.slice(0, 0, 1).mul_(0.5), c * v * p; },
      [](const Tensor& c, const Tensor& v, const Tensor& p) { return c.slice(0, 1, 2).mul_(p.slice(0, 1, 2)), v * v; },
      [](const Tensor& c, const Tensor& v, const Tensor& p) { return c.add_(v * p), c * 1.0; },
  };
  for (std::size_t k = 0; k < std::size(bodies); ++k)
    for (const bool both_views : {false, true}) {
      Tensor want;
      for (const bool compiled : {false, true}) {
        const Tensor x = (arange(4) + 1).to(kFloat64).view({2, 2}).requires_grad_(), base = x * 1.5;
        const Tensor c = both_views ? base.slice(0, 0, 2) : base, v = base.t(),
                     p = ones({2, 2}, {.dtype = kFloat64}) * 2;
        auto body = [&](const Tensor& given) { return bodies[k](c, v, given); };
        auto f = compile(body);
        for (int i = 0; i < 2; ++i) {
          const Tensor r = compiled ? f(p) : body(p);
          (r.sum() + (v * 3.0).sum() + c.sum()).backward({}, {.retain_graph = true});
        }
        if (!want.defined()) want = x.grad();
        EXPECT_TRUE(equal(x.grad(), want)) << k << both_views << compiled << x.grad() << want;
      }
    }
}

// What wants no gradient gets its first place by a write through another handle of its memory; it is read behind that.
TEST(ViewsOnTheTape, ReadBehindTheFirstPlaceOfTheirBase) {
  Tensor (*const bodies[])(const Tensor& b, const Tensor& y, const Tensor& x) = {
      [](const Tensor& b, const Tensor& y, const Tensor& x) { return b.copy_(x), x * 0.5 + y; },
      [](const Tensor& b, const Tensor& y, const Tensor& x) { return b.slice(0, 0, 1).mul_(x.slice(0, 1, 2)), y * y; },
      [](const Tensor& b, const Tensor& y, const Tensor& x) { return y.slice(1, 0, 1).mul_(x.slice(1, 0, 1)), x + b; },
      [](const Tensor& b, const Tensor& y, const Tensor& x) { return b.mul_(x), y.t() * 2.0; },
      [](const Tensor& b, const Tensor&, const Tensor& x) { return b.mul_(x), b * 3.0; },
  };
  for (std::size_t k = 0; k < std::size(bodies); ++k)
    for (const int given : {0, 1, 2}) {  // what is an argument, and not captured: nothing, the view, the base
      std::vector<double> want;
      for (const bool compiled : {false, true}) {
        const Tensor x = (arange(4) + 1).to(kFloat64).view({2, 2}).requires_grad_();
        const Tensor b = ones({2, 2}, {.dtype = kFloat64}) * 2.0, y = b.t();
        auto body = [&](const Tensor& argument, const Tensor& p) {
          return bodies[k](given == 2 ? argument : b, given == 1 ? argument : y, p);
        };
        auto f = compile(body);
        const Tensor argument = given == 2 ? b : given == 1 ? y : x;
        const Tensor r = compiled ? f(argument, x) : body(argument, x);
        (r.sum() + (y * 3.0).sum() + (b * 5.0).sum()).backward();
        const std::vector<double> got = x.grad().to_vector<double>();
        if (want.empty()) want = got;
        EXPECT_EQ(got, want) << "body " << k << ", given " << given;
        // The write alone is compiled.
        if (compiled && k == 4 && given == 0) {
          EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
        }
      }
    }
}

TEST(ViewsOnTheTape, OfCapturedTensors) {
  for (const bool leaf : {true, false}) {
    auto gradient = [&](bool compiled) {
      const Tensor x = ones({2, 3}).requires_grad_(), held = leaf ? x : x * 1;
      auto turn = [held](const Tensor& b) { return List{held.t(), held * b}; };
      auto f = compile(turn, {.name = "captures"});
      Tensor last;
      for (int i = 0; i < 2; ++i) {
        const List r = compiled ? f(ones({2, 3}) * 2) : turn(ones({2, 3}) * 2);
        if (leaf) {
          EXPECT_THROW(r[0].mul_(2), Error);
        } else {
          r[0].mul_(2);
        }
        last = grad({(r[0] * 5).sum() + r[1].sum() + (held * 3).sum()}, {x}, {}, {.retain_graph = true})[0];
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
      return last;
    };
    EXPECT_TRUE(equal(gradient(true), gradient(false))) << leaf << gradient(true) << gradient(false);
  }
}

}  // namespace
}  // namespace reprise::test
