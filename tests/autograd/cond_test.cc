// cond where gradients are wanted, and beside a tape.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

std::string shown(const Tensor& t) { return t.defined() ? test::show(t) : "undefined"; }
std::string shown(const std::vector<Tensor>& all) {
  std::string s;
  for (const Tensor& t : all) s += shown(t) + "\n";
  return s;
}

Tensor flag(bool b) { return full({}, b, {.dtype = kBool}); }

// The gradients of the branch that is taken; of what the other one alone uses they are zeros, and eagerly none. What
// has no derivative of its own is served eagerly, and says so.
TEST(CondGradients, AreThoseOfTheBranchThatIsTaken) {
  using F = Tensor (*)(Tensor, Tensor);
  struct Row {
    const char* what;
    F f;
    const char* eager;  ///< why, or null: it is compiled
  };
  const Row rows[] = {
      {"both",
       [](Tensor x, Tensor) {
         return cond(
             x.detach().sum() > 0, [&] { return x * 2.0; }, [&] { return x * 3.0; });
       },
       nullptr},
      {"another in one",
       [](Tensor x, Tensor w) {
         return cond(
             x.detach().sum() > 0, [&] { return x * 2.0; }, [&] { return x * x + w; });
       },
       nullptr},
      {"operands",
       [](Tensor x, Tensor w) {
         return cond(
             x.detach().sum() > 0, [](const Tensor& a, const Tensor&) { return a * 2.0; },
             [](const Tensor& a, const Tensor& b) { return a * b; }, x, w);
       },
       nullptr},
      {"as it is",
       [](Tensor x, Tensor w) {
         return cond(
             x.detach().sum() > 0, [&] { return x; }, [&] { return w; });
       },
       nullptr},
      {"a view",
       [](Tensor x, Tensor w) {
         return cond(
             x.detach().sum() > 0, [&] { return x.slice(0, 0, 1); }, [&] { return w.slice(0, 1, 2); });
       },
       nullptr},
      {"and more outside",
       [](Tensor x, Tensor w) {
         return cond(
                    x.detach().sum() > 0, [&] { return x * 2.0; }, [&] { return x * 3.0; }) +
                w;
       },
       nullptr},
      {"writes of both",
       [](Tensor x, Tensor w) {
         Tensor z = x.clone();
         cond(
             x.detach().sum() > 0, [&] { z.mul_(2.0); }, [&] { z.mul_(w); });
         return z;
       },
       nullptr},
      {"writes through a view",
       [](Tensor x, Tensor w) {
         Tensor z = x.clone(), v = z.slice(0, 0, 1);
         cond(
             x.detach().sum() > 0, [&] { v.mul_(2.0); }, [&] { v.copy_(w.slice(0, 0, 1)); });
         return z * w;
       },
       nullptr},
      {"writes into what wants none",
       [](Tensor x, Tensor w) {
         Tensor z = x.detach().clone();
         cond(
             z.sum() > 0, [&] { z.mul_(2.0); }, [&] { z.mul_(w); });
         return z + x * 0;
       },
       "whether the results want some depends on which is taken"},
      {"nested",
       [](Tensor x, Tensor w) {
         Tensor p = x.detach().sum() > 0;
         return cond(
             p,
             [&] {
               return cond(
                   p, [&] { return x * w; }, [&] { return x; });
             },
             [&] { return w * 2.0; });
       },
       nullptr},
      {"grad inside",
       [](Tensor x, Tensor w) {
         Tensor p = x.detach().requires_grad_();
         Tensor y = cond(
             p.detach().sum() > 0, [&] { return p * 2.0; }, [&] { return p * p; });
         return grad({y.sum()}, {p}, {}, {.allow_unused = true})[0] * w;
       },
       nullptr},
      {"grad in a branch",
       [](Tensor x, Tensor w) {
         return cond(
                    x.detach().sum() > 0,
                    [&] {
                      Tensor p = x.detach().requires_grad_();
                      return grad({(p * p).sum()}, {p})[0];
                    },
                    [&] { return x.detach(); }) *
                w;
       },
       "throws while it is traced"},
      {"a hook in one",
       [](Tensor x, Tensor w) {
         Tensor y = x * w;
         cond(
             x.detach().sum() > 0, [&] { y.register_hook([](const Tensor& g) { return g * 5; }); }, [&] {});
         return y;
       },
       "has no derivative"},
      {"asked for in one",
       [](Tensor x, Tensor w) {
         Tensor y = x.detach() * 2;
         cond(
             y.sum() > 0, [&] { y.requires_grad_(); }, [&] {});
         return y * w;
       },
       "has no derivative"},
      {"detached in one",
       [](Tensor x, Tensor w) {
         Tensor y = x * w;
         cond(
             x.detach().sum() > 0, [&] { y.detach_(); }, [&] {});
         return y + w;
       },
       "has no derivative"},
      {"detached before",
       [](Tensor x, Tensor w) {
         Tensor d = x.detach();
         return cond(
                    d.sum() > 0, [&] { return d * 2.0; }, [&] { return d * 3.0; }) *
                w;
       },
       nullptr},
      {"read without gradients",
       [](Tensor x, Tensor w) {
         NoGradScope off;
         return cond(
             x.sum() > 0, [&] { return x * 2.0; }, [&] { return w; });
       },
       nullptr},
      {"without gradients in the branches",
       [](Tensor x, Tensor w) {
         return x * cond(
                        x.detach().sum() > 0,
                        [&] {
                          NoGradScope off;
                          return x * 2.0;
                        },
                        [&] { return w.detach(); });
       },
       nullptr},
  };
  for (const Row& row : rows)
    for (const bool leaf : {true, false}) {
      auto g = compile(row.f);
      CompiledAutograd walks;
      std::string want[2], got[2][2];
      for (int round = 0; round < 2; ++round)
        for (const int sign : {-1, 1}) {
          auto run = [&](auto& function, bool walk) {
            Tensor x = (tensor({1.0, 2.0}) * sign).detach().requires_grad_(), w = tensor({0.5, 0.25}).requires_grad_();
            Tensor y = function(leaf ? x : x * 1.5, w);
            if (!y.requires_grad()) return shown(y) + " wants none";
            if (walk) {
              const auto on = walks.enable();
              y.sum().backward();
            } else {
              y.sum().backward();
            }
            auto gradient = [](const Tensor& t) { return t.grad().defined() ? t.grad() : zeros({2}); };
            return shown({y.detach(), gradient(x), gradient(w)});
          };
          const std::string at = std::string(row.what) + (leaf ? ", leaf, " : ", result, ") + std::to_string(sign);
          const std::string eager = run(row.f, false);
          EXPECT_EQ(eager, run(g, false)) << at;
          EXPECT_EQ(eager, run(g, true)) << at << ", compiled walk";
          EXPECT_EQ(eager, run(row.f, true)) << at << ", eager, compiled walk";
        }
      EXPECT_EQ(g.stats().eager_fallbacks > 0, row.eager != nullptr)
          << row.what << " " << g.stats().last_fallback_reason;
      if (row.eager) {
        EXPECT_NE(g.stats().last_fallback_reason.find(row.eager), std::string::npos)
            << row.what << ": " << g.stats().last_fallback_reason;
        EXPECT_EQ(g.stats().specializations, 0) << row.what;
      }
    }
  // Captured, or not wanted in the calls before.
  Tensor w = tensor({3.0, 4.0});
  auto f = compile([&](Tensor x) {
    return cond(
        x.sum() > 0, [&] { return x * w; }, [&] { return x - w; });
  });
  EXPECT_EQ(shown(f(ones({2}))), shown(tensor({3.0, 4.0})));
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  w.requires_grad_();
  f(ones({2})).sum().backward();
  EXPECT_EQ(shown(w.grad()), shown(ones({2})));
  f(-ones({2})).sum().backward();
  EXPECT_EQ(shown(w.grad()), shown(zeros({2})));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  {
    NoGradScope off;
    EXPECT_FALSE(f(ones({2})).requires_grad());
  }
  w.requires_grad_(false);
  f(ones({2}));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(CondGradients, FiniteDifferences) {
  auto f = compile(
      [](Tensor x, Tensor w) {
        Tensor y = cond(
            x.detach().sum() > 0, [&] { return tanh(x * w); },
            [&] {
              return cond(
                  x.detach().prod() > 0, [&] { return x.exp() * w; }, [&] { return x * x + w; });
            });
        return (y * y).sum();
      },
      {.name = "f"});
  const DType d = kFloat64;
  for (const auto& [a, b] : {std::pair{1.0, 2.0}, {-1.0, -2.0}, {1.0, -2.0}}) {
    const Tensor x = tensor({a, b}).to(d), w = tensor({0.5, 0.25}).to(d);
    Tensor p = x.clone().requires_grad_(), q = w.clone().requires_grad_();
    f(p, q).backward();
    for (std::int64_t i = 0; i < 2; ++i) {
      const double step = 1e-6;
      auto at = [&](const Tensor& t, double by) {
        Tensor moved = t.clone();
        moved.select(0, i).add_(by);
        return moved;
      };
      const double by_x = (f(at(x, step), w).item<double>() - f(at(x, -step), w).item<double>()) / (2 * step),
                   by_w = (f(x, at(w, step)).item<double>() - f(x, at(w, -step)).item<double>()) / (2 * step);
      EXPECT_NEAR(by_x, p.grad().select(0, i).item<double>(), 1e-7);
      EXPECT_NEAR(by_w, q.grad().select(0, i).item<double>(), 1e-7);
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().specializations, 2);  // with gradients, and without
}

TEST(CondGradients, BesideScans) {
  // In a body, around a loop, and what turns gradients off inside.
  using F = Tensor (*)(Tensor, Tensor);
  const std::pair<F, bool> programs[] = {
      {[](Tensor x, Tensor w) {
         return scan(
             [&](const Tensor& s, const Tensor& one) {
               return cond(
                   one.detach() > 1.5, [&] { return s * w + one; }, [&] { return s + w * one; });
             },
             ones({2}), x);
       },
       false},
      {[](Tensor x, Tensor w) {
         return cond(
             x.detach().sum() > 0,
             [&] { return scan([&](const Tensor& s, const Tensor& one) { return s * w + one; }, ones({2}), x); },
             [&] { return x * w; });
       },
       false},
      {[](Tensor x, Tensor w) {
         return scan(
             [&](const Tensor& s, const Tensor& one) {
               Tensor kept;
               {
                 NoGradScope off;
                 kept = s * w;
               }
               return s * one + kept;
             },
             ones({2}), x);
       },
       true},
      {[](Tensor x, Tensor w) {
         return scan([&](const Tensor& s, const Tensor& one) { return s * w.detach() + (one * w).detach() * w; },
                     ones({2}), x);
       },
       false},
  };
  for (const auto& [body, eager] : programs) {
    auto f = compile(body);
    for (const double sign : {1.0, -1.0}) {
      auto run = [&](auto& function) {
        Tensor x = (tensor({1.0, 2.0}) * sign).detach().requires_grad_(), w = tensor({0.5, 0.25}).requires_grad_();
        Tensor y = function(x, w);
        y.sum().backward();
        return shown({y.detach(), x.grad().defined() ? x.grad() : zeros({2}), w.grad()});
      };
      EXPECT_EQ(run(body), run(f));
    }
    EXPECT_EQ(f.stats().eager_fallbacks > 0, eager) << f.stats().last_fallback_reason;
  }
}

// A write in a branch counts: what the tape has saved of it is gone.
TEST(CondGradients, WritesAreCountedByTheTape) {
  auto body = [](Tensor x, Tensor p) {
    Tensor y = x.exp();
    cond(
        p, [&] { y.detach().mul_(2); }, [&] {});
    return y;
  };
  auto run = [&](auto& f) {
    Tensor x = tensor({1.0, 2.0}).requires_grad_();
    return test::caught([&] { f(x, flag(true)).sum().backward(); }).has_value();
  };
  auto f = compile(body);
  EXPECT_TRUE(run(body));
  EXPECT_TRUE(run(f));
}

// The tape follows views of any tensors once there is one: that a branch makes some is no reason not to compile it.
TEST(CondGradients, ViewsInBranchesBesideATape) {
  (ones({2}).requires_grad_() * 2).sum().backward();
  using F = std::vector<Tensor> (*)(Tensor, Tensor);
  const std::pair<const char*, F> programs[] = {
      {"results",
       [](Tensor x, Tensor p) {
         return cond(
             p,
             [&] {
               return std::vector{x.t(), x.select(0, 0)};
             },
             [&] {
               return std::vector{x.t() + 1, x[1]};
             });
       }},
      {"expanded, reshaped",
       [](Tensor x, Tensor p) {
         return std::vector{cond(
             p,
             [&] {
               return cat({x, x}, 0);
             },
             [&] {
               return x.expand({2, 3, 3}).reshape({6, 3});
             })};
       }},
      {"written",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         cond(
             p, [&] { x.select(0, 0).mul_(2); }, [&] { y.slice(0, 1).add_(1); });
         return std::vector{y * 1};
       }},
  };
  for (const auto& [what, body] : programs) {
    auto f = compile(body);
    for (const bool p : {true, false}) {
      Tensor want = arange(9, {.dtype = kFloat32}).view({3, 3}), got = want.clone();
      EXPECT_EQ(shown(body(want, flag(p))), shown(f(got, flag(p)))) << what;
      EXPECT_EQ(shown(want), shown(got)) << what;
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ": " << f.stats().last_fallback_reason;
  }
}

}  // namespace
}  // namespace reprise
