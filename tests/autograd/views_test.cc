// Results of compiled calls that share memory, on the tape (Note [Views on the tape] in runtime/trace/tape_views.h):
// what the caller writes afterwards means what it means after an eager call. Also views that custom functions return,
// and gradients that are retained over writes.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

using List = std::vector<Tensor>;

struct Turned : reprise::Function<Turned> {
  static Tensor forward(FunctionContext&, Tensor x) { return x.t(); }
  static List backward(FunctionContext&, List g) { return {g[0].t() * 10}; }
};
struct Same : reprise::Function<Same> {
  static Tensor forward(FunctionContext&, Tensor x) { return x; }
  static List backward(FunctionContext&, List g) { return {g[0] * 10}; }
};
struct Inner : reprise::Function<Inner> {
  static Tensor forward(FunctionContext&, Tensor x) { return (x * 3).t(); }
  static List backward(FunctionContext&, List g) { return {g[0].t() * 30}; }
};

Tensor transposed(const Tensor& t) { return t.t(); }
Tensor first(const Tensor& t) { return t.select(0, 0); }
Tensor flat(const Tensor& t) { return t.view({-1}); }
Tensor detached(const Tensor& t) { return t.detach(); }
List off(Tensor (*view)(const Tensor&), const Tensor& t) {
  const NoGradScope scope;
  return {view(t)};
}

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

/// What an argument is before the call. `leaf` wants the gradient that is compared.
struct Argument {
  const char* name;
  Tensor (*make)(const Tensor& leaf);
};
const Argument kArguments[] = {
    {"leaf", [](const Tensor& leaf) { return leaf; }},
    {"made", [](const Tensor& leaf) { return leaf * 1; }},
    {"plain", [](const Tensor& leaf) { return leaf.detach().clone(); }},
    {"view",
     [](const Tensor& leaf) {
       return cat({leaf, leaf}, 0).slice(0, 1, leaf.size(0) + 1);
     }},
    {"view of a leaf", [](const Tensor& leaf) { return leaf.view({-1}).view(leaf.sizes()); }},
    {"view made off", [](const Tensor& leaf) { return off(&flat, leaf * 1)[0].view(leaf.sizes()); }},
    {"written view made off",
     [](const Tensor& leaf) {
       const Tensor v = off(&flat, leaf * 1)[0].view(leaf.sizes());
       const NoGradScope scope;
       return v.mul_(2);
     }},
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

// Hooks of a view that the call is given. A write goes to its base, behind which is the base's old place: the view's,
// whose hooks stay with it, is gone by.
TEST(ViewsOnTheTape, HooksOfWhatACallWrites) {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor& x);
    bool compiles = true;
  };
  auto times = [](double by) { return [by](const Tensor& g) { return g * by; }; };
  static const auto seven = times(7);
  const Case cases[] = {
      {"reads", [](const Tensor& x) { return x * 5; }},
      {"a view", [](const Tensor& x) { return x.t(); }},
      {"writes", [](const Tensor& x) { return x.mul_(3) * 1; }},
      {"returns it", [](const Tensor& x) { return x.mul_(3); }},
      {"reads, then writes",
       [](const Tensor& x) {
         Tensor r = x * 5;
         x.mul_(3);
         return r;
       }},
      {"writes a part",
       [](const Tensor& x) {
         x.select(0, 0).mul_(3);
         return x * 2;
       }},
      {"writes through a view",
       [](const Tensor& x) {
         Tensor v = x.t();
         v.mul_(3);
         v.add_(x);
         return v;
       }},
      {"a view, then writes",
       [](const Tensor& x) {
         Tensor v = x.t();
         x.mul_(3);
         return v * x;
       }},
      {"by what it was", [](const Tensor& x) { return x.mul_(x * 2) * 1; }},
      {"all of it",
       [](const Tensor& x) {
         Tensor y = tanh(x);
         x.fill_(2);
         return y;
       }},
      {"copy_", [](const Tensor& x) { return x.copy_(x * 2); }},
      {"off",
       [](const Tensor& x) {
         {
           const NoGradScope no;
           x.mul_(3);
         }
         return x * 2;
       }},
      {"off, returned",
       [](const Tensor& x) {
         {
           const NoGradScope no;
           x.mul_(3);
         }
         return x.mul_(2).t();
       }},
      {"detached",
       [](const Tensor& x) {
         x.detach().mul_(2);
         return x * 2;
       }},
      {"a hook between writes",
       [](const Tensor& x) {
         x.mul_(3);
         x.register_hook(seven);
         return x.mul_(5);
       }},
      {"a hook behind a write",
       [](const Tensor& x) {
         x.mul_(3);
         x.register_hook(seven);
         return x * 2;
       }},
      {"a hook of a result",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.register_hook(seven);
         return y;
       }},
      // What stays with a tensor of the caller's is not done by a replay.
      {"a hook of what was",
       [](const Tensor& x) {
         x.register_hook(seven);
         return x * 2;
       },
       false},
      {"of its node",
       [](const Tensor& x) {
         x.grad_fn().register_prehook([](List& g) { g[0] = g[0] * 7; });
         return x * 2;
       },
       false},
      {"retains",
       [](const Tensor& x) {
         x.retain_grad();
         return x.mul_(2) * 1;
       },
       false},
      {"a result retains",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.retain_grad();
         return y;
       },
       false},
  };
  for (const Case& c : cases)
    for (const bool view : {true, false}) {
      auto compiled = compile(c.f, {.name = "f"});
      std::vector<std::vector<double>> all;
      for (const int how : {0, 1, 1}) {
        const Tensor leaf = arange(1, 5).to(kFloat64).requires_grad_(), base = (leaf * 1).view({2, 2}),
                     x = view ? base.view({2, 2}) : base * 1;
        x.register_hook(times(2));
        const Tensor out = how ? compiled(x) : c.f(x);
        ((out * 1).sum() + (x * leaf.detach().view({2, 2})).sum() * 100).backward();
        all.push_back(leaf.grad().to_vector<double>());
        for (const Tensor& t : {x.grad(), out.grad()})
          all.back().push_back(t.defined() ? t.sum().item().to_double() : 0);
      }
      EXPECT_EQ(all[1], all[0]) << c.name << (view ? ", a view" : "");
      EXPECT_EQ(all[2], all[0]) << c.name << (view ? ", a view" : "");
      const Stats stats = compiled.stats();
      EXPECT_EQ(stats.eager_fallbacks == 0, c.compiles) << c.name << ": " << stats.last_fallback_reason;
    }
}

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

// Sizes, strides and memory of views change where gradients are off, after calls with tensors that are none.
TEST(ViewsOnTheTape, ThatACallReshapes) {
  struct Case {
    const char* name;
    void (*f)(const Tensor& x, const Tensor& y);
  };
  const Case cases[] = {
      {"set_", [](const Tensor& x, const Tensor& y) { x.set_(y); }},
      {"transpose_", [](const Tensor& x, const Tensor&) { x.transpose_(0, 1); }},
      {"written, transpose_", [](const Tensor& x, const Tensor&) { x.mul_(3).transpose_(0, 1); }},
      {"unsqueeze_ of another", [](const Tensor& x, const Tensor& y) { x.mul_(3), y.unsqueeze_(0); }},
  };
  const Tensor first = ones({1}).requires_grad_();  // from here on the tape follows views
  for (const Case& c : cases) {
    auto compiled = compile(c.f, {.name = "f"});
    std::vector<std::string> told;
    for (const bool eager : {false, true}) {
      std::ostringstream out;
      for (const int kind : {0, 1, 2, 1, 2, 0}) {
        const Tensor leaf = arange(1, 7).to(kFloat64).requires_grad_(kind == 2), base = leaf * 1,
                     x = kind ? base.view({2, 3}) : base.view({2, 3}).clone(), y = ones({2, 3}, {.dtype = kFloat64});
        try {
          const NoGradScope off;
          eager ? c.f(x, y) : compiled(x, y);
        } catch (const Error& e) {
          out << e.message().substr(0, 30);
        }
        out << kind << ": " << x << x.requires_grad();
        const Tensor w = (leaf.detach() * 2).view({2, 3}).requires_grad_();
        try {
          x.mul_(w.view(x.sizes()));
          Tensor loss = (x * w.detach().view(x.sizes())).sum() + base.sum() + y.sum();
          loss.backward();
          out << w.grad() << (leaf.grad().defined() ? leaf.grad() : leaf.detach());
        } catch (const Error& e) {
          if (kind || eager) out << e.message().substr(0, 30);
        }
        out << "\n";
      }
      told.push_back(out.str());
    }
    EXPECT_EQ(told[0], told[1]) << c.name;
  }
}

// The tensors that a function captures are bases as arguments are.
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

// A gradient lies as whoever makes it likes; the part that was written is a part of what lies as the base.
TEST(ViewsOnTheTape, WrittenPartsTakeGradientsOfAnyLayout) {
  void (*const writes[])(const Tensor& y) = {
      [](const Tensor& y) { y.t().slice(0, 0, 1).mul_(0.5); },
      [](const Tensor& y) { y.slice(0, 0, 1).mul_(0.5); },
      [](const Tensor& y) { y.t().slice(0, 0, 2).slice(1, 0, 1).fill_(2.0); },
      [](const Tensor& y) { (y.is_contiguous() ? y : y.t()).view({-1}).slice(0, 1, 3).mul_(0.25); },
      [](const Tensor& y) {
        (y.is_contiguous() ? y : y.t()).unflatten(0, {1, -1}).select(2, 1).mul_(y.sum());
      },
      [](const Tensor& y) { y.diagonal().copy_(y.select(1, 0).slice(0, 0, 2)); },
      [](const Tensor& y) {  // dimensions of size 1 beside those that are turned
        const Tensor base = y.unsqueeze(1).transpose(0, 2).clone();
        (base.is_contiguous() ? base : base.transpose(0, 2)).view({-1}).slice(0, 1, 3).mul_(0.25);
        y.copy_(base.squeeze(1).t());
      },
  };
  for (std::size_t k = 0; k < std::size(writes); ++k)
    for (const bool column_major : {false, true}) {
      Tensor want;
      for (const bool compiled : {false, true})
        for (const int tangent : {0, 1, 2, 3}) {
          const Tensor x = (arange(6) + 1).to(kFloat64).view({2, 3}).requires_grad_();
          auto body = [&](const Tensor& p) {
            const Tensor y = column_major ? (p.t() * 1.5).contiguous().t().view({2, 3}) : p * 1.5;
            writes[k](y);
            return y;
          };
          auto f = compile(body);
          const Tensor r = compiled ? f(x) : body(x);
          const Tensor g = (arange(6) - 2).to(kFloat64).view({2, 3});
          r.backward(tangent == 0   ? g
                     : tangent == 1 ? g.t().contiguous().t()
                     : tangent == 2 ? cat({g, g}, 1).slice(1, 0, 3)
                                    : stack({g, g}, -1).select(2, 0));
          if (!want.defined()) want = x.grad();
          EXPECT_TRUE(equal(x.grad(), want)) << k << column_major << compiled << tangent << x.grad() << want;
          EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
        }
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

// A write that the tape does not see makes a view's place anew: what it retains, and its hooks, go along.
TEST(ViewsOnTheTape, RetainTheirGradientBehindAWriteAside) {
  Tensor (*const writes[])(Tensor) = {
      [](Tensor x) { return x.detach().mul_(2.0), x * 2.0; },
      [](Tensor x) {
        const NoGradScope off;
        x.mul_(2.0);
        const EnableGradScope on;
        return x * 2.0;
      },
      [](Tensor x) {
        const Tensor before = x * 3.0;
        x.detach().select(0, 0).zero_();
        return before + x * x;
      },
      [](Tensor x) { return x.detach().t().fill_(0.5), x.t() * 2.0 + x.select(0, 1); },
  };
  for (std::size_t k = 0; k < std::size(writes); ++k)
    for (const int watches : {0, 1, 2})
      for (const bool slice : {false, true}) {
        List told[2];
        for (const bool compiled : {false, true}) {
          const Tensor w = (arange(9) + 1).to(kFloat64).view({3, 3}).requires_grad_(), p = w * 1.5;
          const Tensor x = slice ? p.slice(0, 0, 2).slice(1, 1, 3) : p.t();
          Tensor seen;
          if (watches == 1) x.retain_grad();
          if (watches == 2) x.register_hook([&](const Tensor& g) { return seen = g * 2.0, g * 3.0; });
          auto f = compile(writes[k]);
          const Tensor r = compiled ? f(x) : writes[k](x);
          ((r * r).sum() + (x * 3.0).sum()).backward();
          told[compiled] = {w.grad(), watches == 1 ? x.grad() : watches == 2 && seen.defined() ? seen : zeros({0})};
        }
        for (std::size_t i : {0, 1})
          EXPECT_TRUE(equal(told[0][i], told[1][i])) << k << " " << watches << slice << "\n"
                                                     << told[0][i] << told[1][i];
      }
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// torch.autograd.Function: "Output 0 of TurnedBackward is a view and is being modified inplace."
TEST(ViewsOfFunctions, AreNotWritten) {
  const Tensor x = ones({2, 3}).requires_grad_(), made = x * 1;
  for (const Tensor& of : {x, made})
    for (Tensor (*call)(const Tensor&) :
         {+[](const Tensor& t) { return Turned::apply(t); }, +[](const Tensor& t) { return Same::apply(t); },
          +[](const Tensor& t) { return Inner::apply(t); },
          +[](const Tensor& t) { return Turned::apply(t).select(0, 0); }}) {
      const Tensor v = call(of);
      EXPECT_NE(message_of([&] { v.mul_(2); }).find("writes to a view that a Function ("), std::string::npos)
          << message_of([&] { v.mul_(2); });
      EXPECT_THROW(v.select(0, 0).add_(1), Error);
      EXPECT_TRUE(equal(x, ones({2, 3})));
      const Tensor own = v.clone();
      own.mul_(2);
      EXPECT_TRUE(equal(grad({own.sum()}, {x})[0], grad({v.sum()}, {x})[0] * 2));
    }
  // What is written otherwise makes its derivative unknown.
  const Tensor v = Turned::apply(made), plain = Turned::apply(made * 1);
  made.mul_(2);
  EXPECT_NE(message_of([&] { v.sum(); }).find("was written since"), std::string::npos) << message_of([&] { v.sum(); });
  EXPECT_EQ(message_of([&] { plain.sum().backward(); }), "nothing was thrown");
  // Where nothing wants a gradient, it is memory.
  const Tensor free = ones({2, 3}), of_free = Turned::apply(free);
  of_free.mul_(2);
  EXPECT_TRUE(equal(free, ones({2, 3}) * 2));
  EXPECT_THROW(of_free.mul_(ones({1}).requires_grad_()), Error);
}

// Where gradients are off they are as other views made there: of what wants a gradient, nothing writes through them
// where gradients are on (torch: "A view was created in no_grad mode").
TEST(ViewsOfFunctions, MadeWhereGradientsAreOff) {
  auto turned = [](const Tensor& x) { return Turned::apply(x); };
  auto twice = [](const Tensor& x) { return Turned::apply(Turned::apply(x.alias())).view({-1}); };
  auto compiled = compile(turned);
  auto compiled_twice = compile(twice);
  for (const Argument& argument : kArguments)
    for (const std::function<Tensor(const Tensor&)>& f :
         {std::function<Tensor(const Tensor&)>(turned), {twice}, {compiled}, {compiled_twice}}) {
      const Tensor leaf = ones({2, 4}).requires_grad_(), x = argument.make(leaf), before = x.detach().clone();
      const Tensor v = (NoGradScope(), f(x));
      if (x.requires_grad()) {
        EXPECT_NE(message_of([&] { v.mul_(2); }).find("made while gradients were off"), std::string::npos)
            << argument.name << message_of([&] { v.mul_(2); });
      }
      EXPECT_TRUE(equal(x, before)) << argument.name;
      const NoGradScope off;
      v.mul_(2);
      EXPECT_TRUE(equal(x, before * 2)) << argument.name;
    }
}

TEST(ViewsOfFunctions, AreTold) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor off;
        {
          const NoGradScope no;
          off = x.select(0, 0);
        }
        return List{Turned::apply(x), off, x.t()};
      },
      {.name = "tells"});
  f(ones({2, 3}).requires_grad_() * 1);
  const std::string told = f.explain();
  EXPECT_NE(
      told.find("result 0 is a view that a Function has returned: nothing that has a gradient is written through it"),
      std::string::npos)
      << told;
  EXPECT_NE(told.find("result 1 is a view that was made while gradients were off"), std::string::npos) << told;
  EXPECT_EQ(told.find("result 2 is a view"), std::string::npos) << told;
  const nlohmann::json s = nlohmann::json::parse(f.signature())["specializations"][0];
  auto made = [&](std::size_t result) {
    return s["outputs"][s["results"][result]["output"].get<std::size_t>()].value("made", "");
  };
  EXPECT_EQ(made(0), "in_function");
  EXPECT_EQ(made(1), "gradients_off");
  EXPECT_EQ(made(2), "");
}

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

// A write that the tape refuses is refused before what fails behind it.
TEST(ViewsOnTheTape, RefusedWritesComeFirst) {
  auto body = [](const Tensor& a, const Tensor& row) {
    a.alias().mul_(2);
    return a + row;
  };
  auto message_of = [](auto call) {
    try {
      call();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  for (const Argument& argument : kArguments) {
    auto f = compile(body);
    const Tensor leaf = ones({2, 4}).requires_grad_(), row = ones({3}), a = argument.make(leaf);
    const std::string expected = message_of([&] { body(a, row); });
    for (int times = 0; times < 3; ++times)
      EXPECT_EQ(message_of([&] { f(a, row); }), expected) << argument.name << ", call " << times;
  }
}

// A view that names places of its storage is that view of its base, also where gradients are off.
TEST(ViewsOnTheTape, ThatNamePlaces) {
  using Body = void (*)(const Tensor& t, const Tensor& y);
  const std::pair<const char*, Body> bodies[] = {
      {"a view",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         v.as_strided_({2}, {1}, 1), v.mul_(y);
       }},
      {"off",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         {
           const NoGradScope scope;
           v.as_strided_({2}, {1}, 1);
         }
         v.mul_(y);
       }},
      {"where it is",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.select(0, 1);
         {
           const NoGradScope scope;
           v.as_strided_({1, 2}, {2, 1});
         }
         v.mul_(y);
       }},
      {"twice",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t().select(0, 0);
         {
           const NoGradScope scope;
           v.as_strided_({2}, {2}, 1), v.as_strided_({2}, {1}, 1);
         }
         v.mul_(y);
       }},
      {"a view of it",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         {
           const NoGradScope scope;
           v.as_strided_({2}, {1}, 1);
         }
         v.unsqueeze(0).mul_(y);
       }},
  };
  const Tensor weights = tensor({0.0, 1.0, 2.0, 3.0}).view({2, 2});
  for (const auto& [name, body] : bodies)
    for (bool wants : {false, true}) {
      auto f = compile(body);
      for (int times = 0; times < 3; ++times) {
        const Tensor x = weights.clone().requires_grad_(wants), t = x * 1, y = full({2}, 3.0).requires_grad_();
        if (wants && std::string_view(name) == "a view") continue;  // is refused
        times ? f(t, y) : body(t, y);
        ASSERT_TRUE(t.requires_grad()) << name;
        (t * weights).sum().backward();
        const bool row = std::string_view(name) == "where it is";
        const Tensor of_x = row ? tensor({0.0, 1.0, 6.0, 9.0}) : tensor({0.0, 3.0, 6.0, 3.0});
        EXPECT_TRUE(equal(y.grad(), row ? tensor({4.0, 9.0}) : tensor({1.0, 4.0}))) << name << y.grad();
        if (wants) EXPECT_TRUE(equal(x.grad(), of_x.view({2, 2}))) << name << x.grad();
      }
    }
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
