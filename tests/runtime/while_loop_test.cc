// while_loop: a loop that a value ends, eagerly and compiled.
#include "reprise/while_loop.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "reprise/map.h"
#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using Tensors = std::vector<Tensor>;
using Program = Tensors (*)(Tensors);

std::string shown(const Tensors& all) {
  std::string s;
  for (const Tensor& t : all) s += (t.defined() ? test::show(t.detach()) : "undefined") + "\n";
  return s;
}

Tensor three(double by) { return (arange(3, {.dtype = kFloat32}) + 1.0) * by; }

/// Everything that a caller sees of a call with copies of `args`: results, arguments, gradients, or what it throws.
template <class F>
std::string outcome(F& f, const Tensors& args, bool wants) {
  Tensors mine, given;
  for (const Tensor& t : args) {
    mine.push_back(t.clone());
    if (wants) mine.back().requires_grad_();
    given.push_back(wants ? mine.back() * 1.0 : mine.back());
  }
  std::string s;
  if (const auto e = test::caught([&] {
        const Tensors made = f(given);
        s += shown(made) + shown(given);
        Tensor sum = zeros({});
        for (const Tensor& t : made)
          if (t.requires_grad()) sum = sum + (t * t).sum();
        if (sum.requires_grad()) sum.backward();
        // What no turn has used has a gradient of zeros, compiled.
        for (const Tensor& t : mine)
          if (wants) s += shown({t.grad().defined() ? t.grad() : zeros_like(t.detach())});
      }))
    return s + shown(given) + e->what();
  return s;
}

/// `eager_wants`: with gradients it is served eagerly.
struct Row {
  const char* what;
  Program program;
  bool eager_wants = false;
};

const Program kWhileGreat = [](Tensors a) -> Tensors {
  return {while_loop([](const Tensor& s) { return s.sum() > 0.5; }, [](const Tensor& s) { return s * 0.5; }, a[0], 99)};
};

TEST(WhileLoop, IsALoop) {
  const Row rows[] = {
      {"the state alone", kWhileGreat},
      {"a captured tensor, beside other operators",
       [](Tensors a) -> Tensors {
         Tensor w = a[1] * 0.7;
         return {while_loop([&](const Tensor& s) { return s.max() > w.max(); },
                            [&](const Tensor& s) { return tanh(s * w) + s * 0.25; }, a[0] + 1.0, 99) *
                     a[1],
                 w};
       }},
      {"several tensors, one of integers",
       [](Tensors a) -> Tensors {
         using State = std::tuple<Tensor, Tensor>;
         auto [s, n] =
             while_loop([](const State& s) { return (std::get<0>(s) > 0.1).any(); },
                        [&](const State& s) { return State(std::get<0>(s) * 0.5 * a[1], std::get<1>(s) + 1); },
                        State(a[0], zeros({}, {.dtype = kInt64})), 99);
         return {s, n};
       }},
      {"writes to the state, also by the condition",
       [](Tensors a) -> Tensors {
         return {while_loop(
             [&](const Tensor& s) {
               Tensor mine = s;
               mine.sub_(0.125);
               return s.sum() > 0.5;
             },
             [&](const Tensor& s) {
               Tensor mine = s;
               mine.mul_(a[1] * 0.5);
               return mine;
             },
             a[0], 99)};
       }},
      {"writes to what it captures, also by the condition",
       [](Tensors a) -> Tensors {
         Tensor sum = a[0] * 0.0;
         Tensor s = while_loop(
             [&](const Tensor& s) {
               a[1].add_(0.25);
               return s.sum() > 0.5;
             },
             [&](const Tensor& s) {
               sum.slice(0, 1).add_(s.slice(0, 1));
               return s * 0.5;
             },
             a[0], 99);
         return {s, sum};
       },
       true},
      {"a plain bool, and the first state given back",
       [](Tensors a) -> Tensors {
         return {
             while_loop([](const Tensor&) { return false; }, [](const Tensor& s) { return s * 2.0; }, a[0], 9),
             while_loop([&](const Tensor&) { return a[1].sum() < 0.0; }, [](const Tensor& s) { return s; }, a[0], 9)};
       }},
      {"in each other",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor& s) { return s.sum() > 0.5; },
                            [&](const Tensor& s) {
                              return while_loop([&](const Tensor& t) { return t.sum() > s.sum() * 0.3; },
                                                [&](const Tensor& t) { return t * a[1] * 0.5; }, s, 99);
                            },
                            a[0], 99)};
       },
       true},
      {"in a branch that is not taken, behind other loops",
       [](Tensors a) -> Tensors {
         auto halved = [&](const Tensor& t) {
           return while_loop([](const Tensor& s) { return s.sum() > 0.5; },
                             [&](const Tensor& s) {
                               return while_loop([&](const Tensor& t) { return t.sum() > s.sum() * 0.3; },
                                                 [&](const Tensor& t) {
                                                   a[1].mul_(0.5);
                                                   return t * 0.5;
                                                 },
                                                 s, 40) +
                                      0.0;
                             },
                             t, 40);
         };
         Tensor first = halved(a[0] + 1.0);
         return {first, cond(
                            a[1].sum() > 100.0, [&] { return halved(a[0]); }, [&] { return a[0] + 1.0; })};
       },
       true},
      {"in scan and cond, and around them",
       [](Tensors a) -> Tensors {
         auto halved = [](const Tensor& t, double to) {
           return while_loop([&](const Tensor& s) { return s.sum() > to; }, [](const Tensor& s) { return s * 0.5; }, t,
                             99);
         };
         Tensor in_scan = scan([&](const Tensor& s, const Tensor& x) { return halved(s + x, 2.0); }, a[0], a[1]);
         Tensor in_cond = cond(
             a[0].sum() > 4.0, [&] { return halved(a[0], 1.0); }, [&] { return a[0] + 1.0; });
         Tensor around = while_loop([](const Tensor& s) { return s.sum() > 0.5; },
                                    [&](const Tensor& s) {
                                      Tensor t =
                                          scan([](const Tensor& s, const Tensor& x) { return s * x; }, s, a[1] * 0.25);
                                      return cond(
                                          t.sum() > 1.0, [&] { return t * 0.5; }, [&] { return t * 0.25; });
                                    },
                                    a[0], 99);
         return {in_scan, in_cond, around};
       },
       true},
  };
  for (const Row& r : rows)
    for (const bool wants : {false, true})
      for (const char* mode : {"full", "interpret"}) {
        if (wants && std::string(mode) != "full") continue;
        auto f = compile(r.program, {.name = "f", .mode = mode});
        for (const double by : {1.0, 0.01, 30.0, 0.5}) {  // several turns, none, many
          SCOPED_TRACE(std::string(r.what) + ", mode " + mode + (wants ? ", wants, " : ", ") + std::to_string(by));
          auto eager = r.program;
          const Tensors args{three(by), three(0.3)};
          EXPECT_EQ(outcome(eager, args, wants), outcome(f, args, wants));
        }
        if (wants && r.eager_wants) continue;
        EXPECT_EQ(f.stats().eager_fallbacks, 0) << r.what << ": " << f.stats().last_fallback_reason;
        EXPECT_EQ(f.stats().compilations, 1) << r.what << "\n" << f.explain();
      }
}

TEST(WhileLoop, FiniteDifferences) {
  auto newton = [](Tensor a, Tensor first) {  // the square root of a: half of the iterates' derivative is the loop's
    return while_loop([&](const Tensor& x) { return (x * x - a).abs().max() > 1e-3; },
                      [&](const Tensor& x) { return (x + a / x) * 0.5; }, first, 50);
  };
  auto f = compile(newton, {.name = "f"});
  for (const double by : {2.0, 50.0}) {
    const Tensor a0 = three(by).to(kFloat64), x0 = three(1.0).to(kFloat64);
    Tensor a = a0.clone().requires_grad_(), x = x0.clone().requires_grad_();
    f(a, x).sum().backward();
    for (std::int64_t i = 0; i < 3; ++i)
      for (const bool first : {false, true}) {
        auto at = [&](double step) {
          Tensor moved = (first ? x0 : a0).clone();
          moved.select(0, i).add_(step);
          return (first ? f(a0, moved) : f(moved, x0)).sum().item<double>();
        };
        const double step = 1e-6, want = (at(step) - at(-step)) / (2 * step);
        EXPECT_NEAR(want, (first ? x : a).grad().select(0, i).item<double>(), 1e-6) << by << ", " << i << first;
      }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 2) << f.explain();  // with gradients, and without
}

// At the bound the call throws, with the line of the loop, and a compiled one has written nothing.
TEST(WhileLoop, Bound) {
  const Program halves = [](Tensors a) -> Tensors {
    a[1].add_(1.0);
    return {
        while_loop([](const Tensor& s) { return s.sum() > 0.5; }, [](const Tensor& s) { return s * 0.5; }, a[0], 3)};
  };
  auto f = compile(halves, {.name = "f"});
  for (const bool compiled : {false, true})
    for (const double by : {0.01, 0.6, 0.7, 0.6, 9.0, 0.01}) {  // 0, 3, 4 turns, ...
      SCOPED_TRACE(by);
      Tensors args{three(by), three(1.0)};
      const auto e = test::caught([&] { compiled ? f(args) : halves(args); });
      ASSERT_EQ(e.has_value(), by > 0.65);
      if (!e) continue;
      EXPECT_EQ(e->code(), ErrorCode::InvalidArgument);
      EXPECT_NE(std::string(e->what()).find("while_loop: the condition still holds behind 3 turns"), std::string::npos)
          << e->what();
      EXPECT_NE(std::string(e->what()).find("while_loop_test.cc"), std::string::npos) << e->what();
      if (compiled) {
        EXPECT_EQ(shown({args[1]}), shown({three(1.0)}));
      }
    }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // Also where the derivative counts the turns.
  Tensor x = three(0.7).requires_grad_();
  EXPECT_TRUE(test::caught([&] { f(Tensors{x, three(1.0)}); }));
  x = three(0.6).requires_grad_();
  f(Tensors{x, three(1.0)})[0].sum().backward();
  EXPECT_EQ(shown({x.grad()}), shown({full({3}, 0.125)}));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // The bound may be a number of the call.
  auto g = compile([](Tensor x, Int most) {
    return while_loop([](const Tensor& s) { return s.sum() > 0.5; }, [](const Tensor& s) { return s * 0.5; }, x, most);
  });
  g(three(0.6), 3), g(three(0.6), 7);
  EXPECT_TRUE(test::caught([&] { g(three(0.6), 2); }));
  EXPECT_EQ(g.stats().compilations, 1) << g.explain();
}

TEST(WhileLoop, BadInput) {
  struct Bad {
    const char* says;
    Program program;
  };
  const Bad rows[] = {
      {"carried tensor 0 as float32 [1, 3], and it was float32 [3]",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor& s) { return s.sum() < 100.0; },
                            [](const Tensor& s) { return s.unsqueeze(0); }, a[0], 9)};
       }},
      {"carried tensor 0 as float64 [3], and it was float32 [3]",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor& s) { return s.sum() < 100.0; },
                            [](const Tensor& s) { return s.to(kFloat64); }, a[0], 9)};
       }},
      {"the condition gives a bool, not float32",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor& s) { return s.sum(); }, [](const Tensor& s) { return s; }, a[0], 9)};
       }},
      {"the condition gives one element, and this has 3",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor& s) { return s < 100.0; }, [](const Tensor& s) { return s; }, a[0], 9)};
       }},
      {"max_steps is -1",
       [](Tensors a) -> Tensors {
         return {while_loop([](const Tensor&) { return false; }, [](const Tensor& s) { return s; }, a[0], -1)};
       }},
      {"tensor 0 of the state that it begins with is undefined",
       [](Tensors) -> Tensors {
         return {while_loop([](const Tensor&) { return false; }, [](const Tensor& s) { return s; }, Tensor(), 9)};
       }},
      {"changes a number, a text or the length of a list",
       [](Tensors a) -> Tensors {
         return while_loop([](const Tensors& s) { return s[0].sum() < 100.0; },
                           [](const Tensors& s) {
                             return Tensors{s[0], s[0]};
                           },
                           Tensors{a[0]}, 9);
       }},
  };
  for (const Bad& bad : rows)
    for (const bool compiled : {false, true}) {
      auto f = compile(bad.program, {.name = "f"});
      const auto e = test::caught([&] { compiled ? f(Tensors{three(1.0)}) : bad.program({three(1.0)}); });
      ASSERT_TRUE(e) << bad.says;
      EXPECT_NE(std::string(e->what()).find(bad.says), std::string::npos) << e->what();
      EXPECT_NE(std::string(e->what()).find("while_loop_test.cc"), std::string::npos) << e->what();
    }
}

// A scan without a state.
TEST(Map, IsALoop) {
  const Program program = [](Tensors a) -> Tensors {
    auto [p, q] = map([&](const Tensor& x, const Tensor& y) { return std::pair(sin(x) * a[1], matmul(y, y)); },
                      std::pair(a[0], a[0]));
    return {p, q, map([](const Tensor& x) { return x.sum() * x; }, a[0])};
  };
  for (const bool wants : {false, true}) {
    auto f = compile(program, {.name = "f"});
    for (const std::int64_t n : {4, 1, 0, 7}) {
      auto eager = program;
      const Tensors args{three(0.5).expand({n, 3}).contiguous(), three(0.3)};
      EXPECT_EQ(outcome(eager, args, wants && n > 0), outcome(f, args, wants && n > 0)) << n;
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

TEST(WhileLoop, SaysWhatItIs) {
  auto f = compile(kWhileGreat, {.name = "f"});
  f(Tensors{three(1.0)});
  const std::string text = f.explain();
  EXPECT_NE(text.find("reprise::while_loop(region("), std::string::npos) << text;
  EXPECT_NE(text.find("loop 0: at most 99 turns while t"), std::string::npos) << text;
}

}  // namespace
}  // namespace reprise
