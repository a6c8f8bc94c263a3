// Gradients that tensors retain over writes in place, by eager and by compiled calls.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

// retain_grad() is of the tensor: a write in place makes it another value, whose gradient it is from then on. Hooks are
// of the value.
TEST(RetainedGradients, AreOfTheLatestValue) {
  auto twice = compile([](const Tensor& t) { t.mul_(2); }, {.name = "doubles"});
  auto by = compile(
      [](const Tensor& t, const Tensor& u) {
        t.mul_(u);
        return t.t();
      },
      {.name = "multiplies"});
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor& a)> f;  // what is derived, times 3
    double a, x;                               // a's gradient (0: none), x's
  };
  const Case cases[] = {
      {"nothing", [](const Tensor& a) { return a; }, 3, 3},
      {"mul_", [](const Tensor& a) { return a.mul_(2); }, 3, 6},
      {"twice",
       [](const Tensor& a) {
         a.mul_(2);
         return a.add_(1).mul_(2);
       },
       3, 12},
      {"+=",
       [](const Tensor& a) {
         Tensor b = a;
         b += a;
         return a;
       },
       3, 6},
      {"copy_", [](const Tensor& a) { return a.copy_(a * 4); }, 3, 12},
      {"a view",
       [](const Tensor& a) {
         a.t().mul_(2);
         return a;
       },
       3, 6},
      {"parts",
       [](const Tensor& a) {
         a.select(0, 0).mul_(2), a.select(0, 1).mul_(2);
         return a;
       },
       3, 6},
      {"off",
       [](const Tensor& a) {
         const NoGradScope no;
         a.mul_(2);
         return a;
       },
       3, 3},
      {"compiled",
       [&](const Tensor& a) {
         twice(a);
         return a;
       },
       3, 6},
      {"compiled again",
       [&](const Tensor& a) {
         twice(a), twice(a);
         return a;
       },
       3, 12},
      {"compiled, and a view", [&](const Tensor& a) { return by(a, a * 0 + 2); }, 3, 6},
      {"a function",
       [](const Tensor& a) {
         Tensor b = a * 1;
         return b.mul_(2);
       },
       6, 6},
  };
  for (const Case& c : cases) {
    const Tensor x = ones({2, 2}).requires_grad_(), a = x * 1;
    a.retain_grad();
    (c.f(a) * 3).sum().backward();
    EXPECT_TRUE(a.grad().defined() && equal(a.grad(), full({2, 2}, c.a))) << c.name << ": " << a.grad();
    EXPECT_TRUE(equal(x.grad(), full({2, 2}, c.x))) << c.name << ": " << x.grad();
  }
  // A view that retains: its place is that of what it is a view of now.
  const Tensor x = ones({2, 2}).requires_grad_(), a = x * 1, t = a.t();
  t.retain_grad();
  a.mul_(2);
  (t * 3).sum().backward();
  EXPECT_TRUE(equal(t.grad(), full({2, 2}, 3.0)));
  // Hooks stay with the value that they were registered for, and a retained gradient is what they have made of it.
  const Tensor b = x * 1;
  std::vector<double> heard;
  auto hear = [&heard](double times) {
    return [&heard, times](const Tensor& g) {
      heard.push_back(g.sum().item().to_double());
      return g * times;
    };
  };
  b.register_hook(hear(1));
  b.retain_grad();
  b.mul_(2);
  b.register_hook(hear(10));
  (b * 3).sum().backward();
  EXPECT_EQ(heard, (std::vector<double>{12, 240}));
  EXPECT_TRUE(equal(b.grad(), full({2, 2}, 30.0))) << b.grad();
}

// What a call that writes an argument makes of it belongs to the gradient that the argument retains.
TEST(RetainedGradients, OfWhatACallWrites) {
  using Body = Tensor (*)(const Tensor& a, const Tensor& b);
  const std::pair<const char*, Body> bodies[] = {
      {"itself", [](const Tensor& a, const Tensor& b) { return a.mul_(b); }},
      {"a product", [](const Tensor& a, const Tensor& b) { return a.mul_(b) * 5; }},
      {"of before",
       [](const Tensor& a, const Tensor& b) {
         Tensor y = a * 5;
         a.add_(b);
         return y;
       }},
      {"a view",
       [](const Tensor& a, const Tensor& b) {
         a.mul_(b);
         return a.t();
       }},
      {"by a view",
       [](const Tensor& a, const Tensor& b) {
         a.t().mul_(b);
         return a.exp();
       }},
      {"not written", [](const Tensor& a, const Tensor& b) { return a * b; }},
  };
  // (The argument is what retains its gradient, it is a view, or a view of what retains one.)
  for (const auto& [name, body] : bodies)
    for (int how : {0, 1, 2}) {
      auto f = compile(body);
      std::string seen[3];
      for (int times = 0; times < 3; ++times) {
        const Tensor x = full({2, 2}, 0.5).requires_grad_(), b = full({2, 2}, 3.0).requires_grad_();
        const Tensor base = x * 1, a = how ? base.t() : base, retains = how == 2 ? base : a;
        retains.retain_grad();
        const Tensor r = times ? f(a, b) : body(a, b);
        (r.sum() * 2 + (a * 7).sum()).backward();
        std::ostringstream out;
        out << retains.grad() << x.grad() << b.grad();
        seen[times] = out.str();
        EXPECT_EQ(seen[times], seen[0]) << name << ", " << how;
      }
    }
}

}  // namespace
}  // namespace reprise::test
