// Results of compiled calls that share memory, on the tape (Note [Views on the tape] in runtime/trace/tape_views.h):
// what the caller writes afterwards means what it means after an eager call.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "reprise/reprise.h"
#include "tests/autograd/views.h"

namespace reprise::test {
namespace {

Tensor transposed(const Tensor& t) { return t.t(); }
Tensor first(const Tensor& t) { return t.select(0, 0); }

Tensor detached(const Tensor& t) { return t.detach(); }

struct Kind {
  const char* name;
  List (*f)(const Tensor& a, const Tensor& b);
};
const Kind kKinds[] = {
    {"a.t()", [](const Tensor& a, const Tensor&) { return List{a.t()}; }},
    {"a.t(), a",
     [](const Tensor& a, const Tensor&) {
       return List{a.t(), a};
     }},
    {"a.view(-1)", [](const Tensor& a, const Tensor&) { return List{a.view({-1})}; }},
    {"a[0].slice, a.t()",
     [](const Tensor& a, const Tensor&) {
       return List{a.select(0, 0).slice(0, 1, 3), a.t()};
     }},
    {"a.detach()", [](const Tensor& a, const Tensor&) { return List{a.detach()}; }},
    {"d[0], d[1]",
     [](const Tensor& a, const Tensor&) {
       Tensor d = a.detach();
       return List{d.select(0, 0), d.select(0, 1)};
     }},
    {"d, d[1], a[0]",
     [](const Tensor& a, const Tensor&) {
       Tensor d = a.detach();
       return List{d, d.select(0, 1), a.select(0, 0)};
     }},
    {"detached apart",
     [](const Tensor& a, const Tensor&) {
       return List{a.detach().select(0, 0), a.detach().select(0, 1)};
     }},
    {"of a part, detached",
     [](const Tensor& a, const Tensor&) {
       Tensor d = a.slice(1, 1, 3).detach();
       return List{d.t(), d.select(0, 1)};
     }},
    {"expand",
     [](const Tensor& a, const Tensor&) {
       return List{a.select(0, 0).expand({3, 4})};
     }},
    {"as_strided",
     [](const Tensor& a, const Tensor&) {
       return List{a.as_strided({2, 2}, {1, 2}, 1)};
     }},
    {"unflatten",
     [](const Tensor& a, const Tensor&) {
       return List{a.view({a.size(0), 2, 2}).permute({2, 0, 1}).select(1, 1)};
     }},
    {"gradients off",
     [](const Tensor& a, const Tensor&) {
       const NoGradScope off;
       return List{a.t()};
     }},
    {"a view of one made off",
     [](const Tensor& a, const Tensor&) {
       Tensor v;
       {
         const NoGradScope off;
         v = a.t();
       }
       return List{v.select(0, 0)};
     }},
    {"made off, of an intermediate",
     [](const Tensor& a, const Tensor&) {
       const Tensor y = a * 2;
       const NoGradScope off;
       return List{y.select(0, 0), y.select(0, 1)};
     }},
    {"y, y.t()",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a * 2;
       return List{y, y.t()};
     }},
    {"y[0], y[1]",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a * 2;
       return List{y.select(0, 0), y.select(0, 1)};
     }},
    {"y.t()", [](const Tensor& a, const Tensor&) { return List{(a * 2).t()}; }},
    {"y.view(-1)", [](const Tensor& a, const Tensor&) { return List{(a * 2).view({-1})}; }},
    {"y.detach(), y[0]",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a * 2;
       return List{y.detach(), y.select(0, 0)};
     }},
    {"y and z",
     [](const Tensor& a, const Tensor& b) {
       Tensor y = a * b, z = a + b;
       return List{y.t(), y.select(0, 1), z, z.t(), a.t()};
     }},
    {"y that backward reads",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a.exp();
       return List{y, y.select(0, 0)};
     }},
    {"parts of y that it reads",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a.exp();
       return List{y.select(0, 1), y.select(0, 0)};
     }},
    {"y, written",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a * 3;
       y.select(0, 0).mul_(2);
       return List{y.t(), y.select(0, 1)};
     }},
    {"y, written by b",
     [](const Tensor& a, const Tensor& b) {
       Tensor y = a * 3;
       Tensor v = y.select(0, 0);
       y.add_(b * b);
       return List{v, y.select(0, 1)};
     }},
    {"zeros, written",
     [](const Tensor& a, const Tensor& b) {
       Tensor y = zeros(a.sizes(), a.options());
       y.select(0, 0).copy_(b.select(0, 0));
       return List{y.t(), y.select(0, 0)};
     }},
    {"a, written",
     [](const Tensor& a, const Tensor&) {
       a.mul_(2);
       return List{a.t()};
     }},
    {"a, written by b",
     [](const Tensor& a, const Tensor& b) {
       Tensor v = a.t();
       a.mul_(b);
       return List{v, a};
     }},
    {"a part of a, written by b",
     [](const Tensor& a, const Tensor& b) {
       a.select(0, 0).mul_(b.select(0, 1));
       return List{a.select(0, 1), a.t()};
     }},
    {"d, written by b",
     [](const Tensor& a, const Tensor& b) {
       Tensor d = a.detach();
       d.select(0, 0).mul_(b.select(0, 1));
       return List{d.t(), d.select(0, 0)};
     }},
    {"written off",
     [](const Tensor& a, const Tensor&) {
       const NoGradScope off;
       a.mul_(2);
       return List{a.t()};
     }},
    {"both",
     [](const Tensor& a, const Tensor& b) {
       return List{a.t(), b.t(), a.select(0, 0), b};
     }},
    {"twice the same",
     [](const Tensor& a, const Tensor&) {
       Tensor v = a.t();
       return List{v, v, a.t()};
     }},
    {"in a function", [](const Tensor& a, const Tensor&) { return List{Turned::apply(a)}; }},
    {"a view of that", [](const Tensor& a, const Tensor&) { return List{Turned::apply(a).select(0, 0)}; }},
    {"what it was given", [](const Tensor& a, const Tensor&) { return List{Same::apply(a)}; }},
    {"of its own in a function", [](const Tensor& a, const Tensor&) { return List{Inner::apply(a)}; }},
    {"y, and in a function",
     [](const Tensor& a, const Tensor&) {
       Tensor y = a * 2;
       return List{y, Turned::apply(y)};
     }},
    {"products and views",
     [](const Tensor& a, const Tensor& b) {
       return List{(a * b).sum(), a.t(), (a + b).t()};
     }},
    // Views that are made while gradients are off.
    {"a.t(), off", [](const Tensor& a, const Tensor&) { return off(&transposed, a); }},
    {"y.t(), off", [](const Tensor& a, const Tensor& b) { return off(&transposed, a * b); }},
    {"y[0], off", [](const Tensor& a, const Tensor& b) { return off(&first, clamp(a * b, -4.0, 4.0)); }},
    {"y.t()[0], off", [](const Tensor& a, const Tensor& b) { return off(&first, (a * b).t()); }},
    {"y.t(), off, [0]", [](const Tensor& a, const Tensor& b) { return List{off(&transposed, a * b)[0].select(0, 0)}; }},
    {"y.view(-1), off", [](const Tensor& a, const Tensor& b) { return off(&flat, a + b); }},
    {"y.detach(), off", [](const Tensor& a, const Tensor& b) { return off(&detached, a * b); }},
    {"y.t(), off, in a call",
     [](const Tensor& a, const Tensor& b) {
       static const auto inner = compile(&transposed, {.name = "inner"});
       const Tensor y = a + b;
       const NoGradScope scope;
       return List{inner(y)};
     }},
    {"y.t() twice, off",
     [](const Tensor& a, const Tensor& b) {
       const Tensor v = off(&transposed, a * b)[0];
       return List{v, v};
     }},
    {"y.t() and y, off",
     [](const Tensor& a, const Tensor& b) {
       const Tensor y = a * b;
       return List{off(&transposed, y)[0], y};
     }},
    {"y[0], y.t(), off",
     [](const Tensor& a, const Tensor& b) {
       const Tensor y = a * b;
       return List{y.select(0, 0), off(&transposed, y)[0]};
     }},
    {"written off",
     [](const Tensor& a, const Tensor& b) {
       const Tensor v = off(&transposed, a + b)[0];
       const NoGradScope scope;
       v.mul_(2);
       return List{v};
     }},
    {"what it is of written",
     [](const Tensor& a, const Tensor& b) {
       const Tensor y = a + b, v = off(&transposed, y)[0];
       y.add_(b);
       return List{v};
     }},
    {"what two are of written",
     [](const Tensor& a, const Tensor& b) {
       const Tensor y = a + b, v = off(&transposed, y)[0];
       y.add_(b);
       return List{v, y.select(0, 0)};
     }},
    {"written",
     [](const Tensor& a, const Tensor& b) {
       const Tensor v = off(&transposed, a + b)[0];
       v.mul_(2);
       return List{v};
     }},
    {"a written off, and read",
     [](const Tensor& a, const Tensor&) {
       {
         const NoGradScope scope;
         a.mul_(2);
       }
       return List{a * 3, a.t()};
     }},
};

struct Write {
  const char* name;
  void (*f)(const List& r, const Tensor& a, const Tensor& b, const Tensor& w);
};
const Write kWrites[] = {
    {"nothing", [](const List&, const Tensor&, const Tensor&, const Tensor&) {}},
    {"the first", [](const List& r, const Tensor&, const Tensor&, const Tensor&) { r[0].mul_(2); }},
    {"the first by w", [](const List& r, const Tensor&, const Tensor&, const Tensor& w) { r[0].mul_(w); }},
    {"the last by w", [](const List& r, const Tensor&, const Tensor&, const Tensor& w) { r.back().add_(w); }},
    {"a part of the first",
     [](const List& r, const Tensor&, const Tensor&, const Tensor& w) { r[0].select(0, 0).mul_(w); }},
    {"a part of the first twice",
     [](const List& r, const Tensor&, const Tensor&, const Tensor& w) {
       const Tensor v = r[0].unsqueeze(0);
       v.mul_(2), r.back().mul_(3), v.mul_(w);
     }},
    {"the first, off",
     [](const List& r, const Tensor&, const Tensor&, const Tensor&) {
       const NoGradScope off;
       r[0].mul_(2);
     }},
    {"a", [](const List&, const Tensor& a, const Tensor&, const Tensor&) { a.mul_(2); }},
    {"a by w", [](const List&, const Tensor& a, const Tensor&, const Tensor& w) { a.mul_(w); }},
    {"a, then the first",
     [](const List& r, const Tensor& a, const Tensor&, const Tensor& w) { a.mul_(w), r[0].mul_(3); }},
    {"a by the first",
     [](const List& r, const Tensor& a, const Tensor&, const Tensor&) { a.select(0, 0).mul_(r[0].sum()); }},
    {"a by b", [](const List&, const Tensor& a, const Tensor& b, const Tensor&) { a.copy_(b); }},
    {"the first by a",
     [](const List& r, const Tensor& a, const Tensor&, const Tensor&) { r[0].copy_(a.sum().expand(r[0].sizes())); }},
};

/// All that can be seen of a program: what it throws and where, or values and derivatives.
template <class F>
std::string run(F&& f, const Write& write, const Argument& argument, int n, CompiledAutograd* walks = nullptr) {
  std::ostringstream out;
  const char* at = "call";
  try {
    const Tensor x = (arange(4 * n, {.dtype = kFloat64}).view({n, 4}) * 0.1 + 0.3).requires_grad_();
    const Tensor y = (arange(4 * n, {.dtype = kFloat64}).view({n, 4}) * -0.2 + 0.7).requires_grad_();
    const Tensor w = tensor({1.5}, {.dtype = kFloat64}).requires_grad_();
    const Tensor a = argument.make(x), b = y * 1;
    const List r = f(a, b);
    for (const Tensor& t : r) out << t.requires_grad() << (t.grad_fn() ? 'n' : 'l');
    at = "write";
    write.f(r, a, b, w);
    at = "use";
    Tensor loss = (a * 5).sum() + (b * b).sum() + w.sum();
    double c = 1;
    for (const Tensor& t : r) loss = loss + (t * t).sum() * (c += 1);
    at = "backward";
    if (walks) {
      const auto on = walks->enable();
      loss.backward();
    } else {
      loss.backward();
    }
    for (const Tensor& t : r) out << t << t.requires_grad();
    out << a << b << x.grad().defined() << y.grad().defined();
    for (const Tensor& t : {x, y, w})
      if (t.grad().defined()) out << t.grad();
  } catch (const Error& e) {
    out.str("");
    out << "throws " << static_cast<int>(e.code()) << " at " << at;
  }
  return out.str();
}

// Each kind of result is followed by each write, with each argument, in the first call, in replays, and with other
// sizes.
TEST(ViewsOnTheTape, AreThoseOfEagerCalls) {
  int programs = 0, threw = 0, eager = 0, walked = 0;
  CompiledAutograd walks;
  for (const Kind& kind : kKinds)
    for (const Argument& argument : kArguments) {
      auto f = compile(kind.f, {.name = "f"});
      for (const Write& write : kWrites)
        for (int n : {2, 3}) {
          if (n == 3 && (std::strstr(kind.name, "off") || std::strstr(argument.name, "off"))) continue;
          const std::string expected = run(kind.f, write, argument, n),
                            found = run(f, write, argument, n, n == 3 && walked++ % 4 == 0 ? &walks : nullptr);
          EXPECT_EQ(found, expected) << kind.name << "; write " << write.name << "; argument " << argument.name
                                     << "; n = " << n;
          ++programs, threw += expected.starts_with("throws");
        }
      eager += f.stats().eager_fallbacks > 0;
      if (std::getenv("VIEWS_TELL") && f.stats().eager_fallbacks)
        std::cout << kind.name << "; " << argument.name << ": " << f.stats().last_fallback_reason << "\n";
    }
  EXPECT_GT(programs, 4000);
  EXPECT_GT(threw, 400);
  std::cout << programs << " programs, " << threw << " throw, " << eager << " functions are called eagerly\n";
}

}  // namespace
}  // namespace reprise::test
