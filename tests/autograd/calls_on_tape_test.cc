// Compiled calls on the tape: checked ones, those that turn gradients on, and traces that end.
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "reprise/reprise.h"
#include "tests/autograd/views.h"

namespace reprise::test {
namespace {

// CompileOptions::check runs the function beside the replay: what it does to the tape counts once.
TEST(CheckedCalls, DeriveWhatACallWritesOnce) {
  using Body = Tensor (*)(const Tensor& a, const Tensor& b);
  const Body bodies[] = {
      [](const Tensor& a, const Tensor& b) { return a.mul_(b); },
      [](const Tensor& a, const Tensor& b) {
        a.t().select(0, 0).mul_(b.select(0, 0));
        return a * b;
      },
      [](const Tensor& a, const Tensor& b) {
        a.copy_(b * 3);
        return a.t();
      },
      [](const Tensor& a, const Tensor& b) {
        const EnableGradScope on;
        const Tensor p = b.detach().requires_grad_();
        (p * p).sum().backward();
        return a.add_(p.grad());
      },
  };
  for (Body body : bodies)
    for (bool view : {false, true}) {
      auto f = compile(body, {.check = 1});
      std::string seen[3];
      for (int times = 0; times < 3; ++times) {
        const Tensor x = full({2, 2}, 0.5).requires_grad_(), b = full({2, 2}, 3.0).requires_grad_();
        const Tensor base = x * 1, a = view ? base.t() : base;
        const Tensor r = times ? f(a, b) : body(a, b);
        (r.sum() * 2 + (a * 7).sum() + base.sum()).backward();
        std::ostringstream out;
        out << a << x.grad() << b.grad();
        seen[times] = out.str();
        EXPECT_EQ(seen[times], seen[0]) << view << ", call " << times;
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
    }
}

// A function may turn gradients on that its caller has off: what its arguments want counts from there on.
TEST(GradModes, TurnedOnInsideOfACall) {
  using Body = Tensor (*)(const Tensor& a);
  struct Case {
    const char* name;
    Body body;
    bool uses;  ///< the argument itself, where gradients are on
  };
  const Case cases[] = {
      {"used",
       [](const Tensor& a) {
         const EnableGradScope on;
         return a * 2;
       },
       true},
      {"written",
       [](const Tensor& a) {
         const EnableGradScope on;
         a.mul_(2);
         return a.t();
       },
       true},
      {"a view written",
       [](const Tensor& a) {
         const Tensor v = a.t();
         const EnableGradScope on;
         v.mul_(2);
         return a + 1;
       },
       true},
      {"a view read",
       [](const Tensor& a) {
         const Tensor v = a.t();
         const EnableGradScope on;
         return v * 2;
       },
       false},
      {"detached",
       [](const Tensor& a) {
         const EnableGradScope on;
         const Tensor p = a.detach().requires_grad_();
         return grad({(p * p).sum()}, {p})[0];
       },
       false},
      {"asked", [](const Tensor& a) { return a.requires_grad() ? a * 2
                                             : a.is_leaf()     ? a * 3
                                                               : a * 4; }, true},
      {"in a branch",
       [](const Tensor& a) {
         const EnableGradScope on;
         return cond(
             a.detach().sum() > 0, [&] { return a * 2; }, [&] { return a * 3; });
       },
       true},
  };
  for (const Case& c : cases) {
    auto f = compile(c.body);
    const NoGradScope off;
    for (int times = 0; times < 2; ++times) {
      for (const Argument& argument : kArguments) {
        std::string seen[2];
        for (bool compiled : {false, true}) {
          const Tensor x = argument.make((EnableGradScope(), ones({2, 2}).requires_grad_()));
          std::ostringstream out;
          try {
            const Tensor r = compiled ? f(x) : c.body(x);
            out << r << r.requires_grad() << x << x.requires_grad();
          } catch (const Error& e) {
            out << e.what();
          }
          seen[compiled] = out.str();
        }
        EXPECT_EQ(seen[1], seen[0]) << c.name << ", " << argument.name;
      }
      f(ones({2, 2}));
    }
    if (!c.uses) {
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << c.name << f.stats().last_fallback_reason;
    }
    const std::int64_t before = f.stats().eager_fallbacks;
    f(ones({2, 2}));
    EXPECT_EQ(f.stats().eager_fallbacks, before) << c.name << f.stats().last_fallback_reason;
  }
}

// A trace that ends puts back the places of all real tensors that it has changed: in time linear in them.
TEST(TraceTape, OfManyTensors) {
  auto build = [](int n) {
    const Tensor x = ones({2}).requires_grad_();
    List all;
    for (int i = 0; i < n; ++i) all.push_back(x * i);
    auto f = compile([&](const Tensor& y) {
      for (const Tensor& t : all) t.mul_(y);
      y.item<float>();
    });
    const auto begin = std::chrono::steady_clock::now();
    f(ones({2}).sum());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(f.stats().eager_fallbacks, 1);
    for (const Tensor& t : all) EXPECT_TRUE(t.requires_grad());
    EXPECT_TRUE(equal(all.back(), full({2}, 2.0 * (n - 1))));
    return took.count() / n;
  };
  build(100);
  EXPECT_LT(build(8000), 8 * build(400));
}

}  // namespace
}  // namespace reprise::test
