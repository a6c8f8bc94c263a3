// scan: a loop over slices, eagerly and compiled.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

std::string shown(const std::vector<Tensor>& all) {
  std::string s;
  for (const Tensor& t : all) s += (t.defined() ? test::show(t) : "undefined") + "\n";
  return s;
}

Tensor rising(Ints sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (arange(n, {.dtype = kFloat32}) * 0.25 - 1.0).view(sizes);
}

using Tensors = std::vector<Tensor>;
using Program = Tensors (*)(Tensors);
/// Eager and compiled (in every mode) give the same for these arguments, one after another; then how the compiled
/// function served them.
void same(const char* what, Program body, const std::vector<Tensors>& calls, std::int64_t specializations = 1) {
  for (const char* mode : {"full", "no-fuse", "interpret"}) {
    auto f = compile(body, {.name = "f", .mode = mode});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Tensors mine, its;
      for (const Tensor& t : calls[i]) mine.push_back(t.clone()), its.push_back(t.clone());
      const Tensors want = body(mine), got = f(its);
      const std::string at = std::string(what) + ", mode " + mode + ", call " + std::to_string(i);
      EXPECT_EQ(shown(want), shown(got)) << at;
      EXPECT_EQ(shown(mine), shown(its)) << at << ": arguments";
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ", mode " << mode << ": " << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().specializations, specializations) << what << ", mode " << mode << "\n" << f.explain();
  }
}

/// Of [n, 3], for several n, first those whose sizes nothing is known of.
std::vector<Tensors> lengths(const Tensors& more = {}) {
  std::vector<Tensors> calls;
  for (std::int64_t n : {5, 2, 1, 0, 7, 64, 5}) {
    Tensors call{rising({n, 3})};
    call.insert(call.end(), more.begin(), more.end());
    calls.push_back(std::move(call));
  }
  return calls;
}

TEST(Scan, IsALoop) {
  // What it is, said without it.
  const Tensor xs = rising({4, 3}), w = rising({3, 3});
  auto [h, ys] = scan(
      [&](const Tensor& h, const Tensor& x) {
        Tensor next = tanh(matmul(h, w) + x);
        return std::pair(next, next * 2.0);
      },
      zeros({3}), xs);
  Tensor state = zeros({3});
  Tensors all;
  for (std::int64_t i = 0; i < 4; ++i) {
    state = tanh(matmul(state, w) + xs.select(0, i));
    all.push_back(state * 2.0);
  }
  EXPECT_EQ(shown({h, ys}), shown({state, stack(all)}));
  EXPECT_EQ(shown({scan([](const Tensor& s, const Tensor& x) { return s + x; }, zeros({3}), xs)}), shown({xs.sum(0)}));
}

TEST(Scan, OneCompilationForAllLengths) {
  same(
      "a recurrence",
      [](Tensors a) -> Tensors {
        auto [h, ys] = scan(
            [&](const Tensor& h, const Tensor& x) {
              Tensor next = tanh(matmul(h, a[1]) + x);
              return std::pair(next, next);
            },
            zeros({3}), a[0]);
        return {h, ys};
      },
      lengths({rising({3, 3})}));
  same(
      "the last state alone",
      [](Tensors a) -> Tensors {
        return {scan([](const Tensor& s, const Tensor& x) { return s * 0.5 + x; }, a[1], a[0])};
      },
      lengths({rising({3})}));
  same(
      "results alone, and a state that stays",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan([](const Tensor& s, const Tensor& x) { return std::pair(s, x * s); }, a[1], a[0]);
        return {s, ys};
      },
      lengths({rising({3})}));
  same(
      "what is around it is fused with nothing of it",
      [](Tensors a) -> Tensors {
        auto [s, ys] =
            scan([](const Tensor& s, const Tensor& x) { return std::pair(s + x, s - x); }, a[1] * 2.0, a[0] + 1.0);
        return {(s * 3.0).sum(), ys.exp() + 1.0, ys.sum(0)};
      },
      lengths({rising({3})}));
}

TEST(Scan, StructuresOfStateSlicesAndResults) {
  struct Two {
    Tensor a;
    std::vector<Tensor> more;
  };
  same(
      "tuples, vectors and aggregates",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [&](const Two& s, const std::tuple<Tensor, Tensor>& x) {
              const auto& [p, q] = x;
              Two next{s.more[0] + p, {s.a, s.more[1] * q.sum()}};
              return std::pair(next, std::vector<Tensor>{next.a, q});
            },
            Two{a[1], {a[1] + 1.0, a[1] + 2.0}}, std::tuple(a[0], a[0] * 0.5));
        return {s.a, s.more[0], s.more[1], ys[0], ys[1]};
      },
      lengths({rising({3})}));
  same(
      "carried tensors change places",
      [](Tensors a) -> Tensors {
        auto [p, q] = scan([](const std::tuple<Tensor, Tensor>& s,
                              const Tensor&) { return std::tuple(std::get<1>(s), std::get<0>(s)); },
                           std::tuple(a[1], a[1] * 2.0), a[0]);
        return {p, q};
      },
      lengths({rising({3})}));
  same(
      "other dtypes",
      [](Tensors a) -> Tensors {
        auto [n, big] = scan([](const Tensor& n, const Tensor& x) { return std::pair(n + (x > 0.0).sum(), (x > 0.0)); },
                             zeros({}, {.dtype = kInt64}), a[0]);
        return {n, big};
      },
      lengths());
}

TEST(Scan, Layouts) {
  same("slices of what is transposed, expanded, a part",
       [](Tensors a) -> Tensors {
         auto add = [](const Tensor& s, const Tensor& x) { return std::pair(s + x, s * x); };
         auto [p, y] = scan(add, zeros({4}), a[0].transpose(0, 1));
         auto [q, z] = scan(add, zeros({4}), a[0].slice(0, 1, 3).slice(1, 0, 4));
         auto [r, w] = scan(add, zeros({6}), a[0].select(0, 1).unsqueeze(0).expand({3, 6}));
         return {p, y, q, z, r, w};
       },
       {{rising({4, 6})}});
  same(
      "results in parts of another one",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan([](const Tensor& s, const Tensor& x) { return std::pair(s + x, s * x); }, zeros({3}), a[0]);
        return {cat({ys, a[0] + ys}, 1), cat({s, s * 2.0}), ys.t() + 1.0};
      },
      lengths());
  same(
      "state and captured tensors that are views",
      [](Tensors a) -> Tensors {
        const Tensor w = a[1].t();
        auto [s, ys] = scan(
            [&](const Tensor& s, const Tensor& x) {
              return std::pair(matmul(s, w) * 0.125, (s.t() + x).reshape({-1}).slice(0, 0, 2));
            },
            a[1].t(), a[0]);
        return {s, ys};
      },
      lengths({rising({3, 3})}));
}

TEST(Scan, Writes) {
  same(
      "to the state: the turn's own",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [](const Tensor& s, const Tensor& x) {
              Tensor mine = s;
              mine.mul_(0.5).add_(x);
              return std::pair(mine, mine * 1.0);
            },
            a[1], a[0]);
        return {s, ys};
      },
      lengths({rising({3})}));
  same(
      "to a captured tensor, which the next turn sees",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [&](const Tensor& s, const Tensor& x) {
              a[1].add_(x);
              return std::pair(s + a[1], a[1] * 2.0);
            },
            zeros({3}), a[0]);
        return {s, ys};
      },
      lengths({rising({3})}));
  same(
      "to a part of one",
      [](Tensors a) -> Tensors {
        return {scan(
            [&](const Tensor& s, const Tensor& x) {
              a[1].slice(0, 1, 3).mul_(x.slice(0, 1, 3));
              return s + a[1].sum();
            },
            zeros({}), a[0])};
      },
      lengths({rising({3})}));
  same(
      "to the slices, which writes what is sliced",
      [](Tensors a) -> Tensors {
        return {scan(
            [](const Tensor& s, const Tensor& x) {
              Tensor mine = x;
              mine.add_(s);
              return s + 1.0;
            },
            zeros({}), a[0])};
      },
      lengths());
}

TEST(Scan, RegionsInEachOther) {
  same(
      "a scan in a scan",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [&](const Tensor& s, const Tensor& x) {
              auto [t, zs] =
                  scan([&](const Tensor& t, const Tensor& y) { return std::pair(t * 0.5 + y, t + s); }, x * 2.0, a[1]);
              return std::pair(s + t, zs);
            },
            zeros({3}), a[0]);
        return {s, ys};
      },
      [] {
        std::vector<Tensors> calls;
        for (auto [n, m] : {std::pair{5, 4}, {2, 7}, {1, 2}, {3, 1}, {3, 0}, {0, 3}, {0, 0}, {6, 6}})
          calls.push_back({rising({n, 3}), rising({m, 3})});
        return calls;
      }());
  same(
      "a cond in a scan",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [&](const Tensor& s, const Tensor& x) {
              Tensor next = cond(
                  x.sum() > 0.0, [&] { return s + x; }, [&] { return s * 0.5; });
              return std::pair(next, next * 2.0);
            },
            zeros({3}), a[0]);
        return {s, ys};
      },
      lengths());
  same("a scan in a cond",
       [](Tensors a) -> Tensors {
         return {cond(
             a[1].sum() > 0.0,
             [&] { return scan([&](const Tensor& s, const Tensor& x) { return s + x * a[1]; }, zeros({3}), a[0]); },
             [&] { return a[1] + 1.0; })};
       },
       {{rising({5, 3}), rising({3}) + 2.0}, {rising({5, 3}), rising({3}) - 2.0}, {rising({0, 3}), rising({3}) + 2.0}});
}

/// Gradients of the sum of what it gives, eagerly and compiled, for calls one after another; then that one
/// specialization has served them.
using OfMany = Tensors (*)(Tensors);
void same_gradients(const char* what, OfMany body, const std::vector<Tensors>& calls,
                    std::vector<bool> want = {true, true, true}) {
  auto loss = [body](Tensors a) {
    Tensor sum = zeros({});
    double weight = 1.0;
    for (const Tensor& t : body(a)) sum = sum + (t * t * weight).sum() + t.sum(), weight *= 0.5;
    return sum;
  };
  for (const char* mode : {"full", "interpret"}) {
    auto f = compile(loss, {.name = "f", .mode = mode});
    for (std::size_t c = 0; c < calls.size(); ++c) {
      auto gradients = [&](auto&& g) {
        Tensors mine, all;
        for (std::size_t i = 0; i < calls[c].size(); ++i) mine.push_back(calls[c][i].clone().requires_grad_(want[i]));
        const Tensor made = g(mine);
        all.push_back(made.detach());
        made.backward();
        for (std::size_t i = 0; i < mine.size(); ++i)
          if (want[i]) all.push_back(mine[i].grad().defined() ? mine[i].grad() : zeros({}));
        return all;
      };
      const Tensors a = gradients(loss), b = gradients(f);
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(allclose(a[i], b[i], 1e-4, 1e-5))
            << what << ", mode " << mode << ", call " << c << ", gradient " << i << "\n"
            << shown({a[i], b[i]});
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ": " << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().specializations, 1) << what << "\n" << f.explain();
  }
}

TEST(Scan, Gradients) {
  auto of = [](std::initializer_list<std::int64_t> lengths, const Tensors& more) {
    std::vector<Tensors> calls;
    for (std::int64_t n : lengths) {
      calls.push_back({rising({n, 3}) * 0.25});
      calls.back().insert(calls.back().end(), more.begin(), more.end());
    }
    return calls;
  };
  const Tensor w = rising({3, 3}) * 0.5, h = rising({3});
  const OfMany recurrence = [](Tensors a) -> Tensors {
    auto [h, ys] = scan(
        [&](const Tensor& h, const Tensor& x) {
          Tensor next = tanh(matmul(h, a[1]) + x);
          return std::pair(next, next * h);
        },
        a[2], a[0]);
    return {h, ys};
  };
  same_gradients("of slices, captured tensors and the first state", recurrence, of({5, 2, 1, 0, 9}, {w, h}));
  same_gradients("of slices alone", recurrence, of({4, 6}, {w, h}), {true, false, false});
  same_gradients("of what is captured alone", recurrence, of({4, 6}, {w, h}), {false, true, false});
  same_gradients("of the first state alone", recurrence, of({4, 6}, {w, h}), {false, false, true});
  same_gradients(
      "of the last state alone; a slice that nothing depends on",
      [](Tensors a) -> Tensors {
        return {scan([&](const Tensor& s, const std::pair<Tensor, Tensor>& x) { return s * x.first; }, a[2],
                     std::pair(a[0], a[0] * 2.0))};
      },
      of({4, 1, 6}, {w, h}));
  same_gradients(
      "of several carried tensors, of which one is of integers",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan(
            [&](const std::tuple<Tensor, Tensor, Tensor>& s, const Tensor& x) {
              const auto& [p, n, q] = s;
              return std::pair(std::tuple(p * 0.5 + q, n + 1, sin(x) * n), std::pair(p * x, n));
            },
            std::tuple(a[2], ones({}, {.dtype = kInt64}), a[2] * 2.0), a[0]);
        return {std::get<0>(s), std::get<2>(s), ys.first};
      },
      of({4, 1, 6}, {w, h}));
  same_gradients(
      "beside other operators",
      [](Tensors a) -> Tensors {
        auto [s, ys] = scan([&](const Tensor& s, const Tensor& x) { return std::pair(s + x * a[1].sum(), s); },
                            a[2].exp(), (a[0] + 1.0).cos());
        return {ys.exp() + a[0], s * a[2]};
      },
      of({3, 5}, {w * 0.25, h}));
}

TEST(Scan, FiniteDifferences) {
  auto f = compile(
      [](Tensor xs, Tensor w) {
        auto [h, ys] = scan(
            [&](const Tensor& h, const Tensor& x) {
              Tensor next = tanh(matmul(h, w) + x);
              return std::pair(next, next * h);
            },
            zeros({3}, {.dtype = kFloat64}), xs);
        return h.sum() + (ys * ys).sum();
      },
      {.name = "f"});
  const Tensor xs = rising({4, 3}).to(kFloat64) * 0.2, w = rising({3, 3}).to(kFloat64) * 0.3;
  Tensor x = xs.clone().requires_grad_(), v = w.clone().requires_grad_();
  f(x, v).backward();
  const double step = 1e-5;
  auto check = [&](const Tensor& of, const Tensor& grad, bool first) {
    for (std::int64_t i = 0; i < of.numel().value(); ++i) {
      auto at = [&](double by) {
        Tensor moved = of.clone();
        moved.view({-1}).select(0, i).add_(by);
        return (first ? f(moved, w) : f(xs, moved)).item<double>();
      };
      EXPECT_NEAR((at(step) - at(-step)) / (2 * step), grad.reshape({-1}).select(0, i).item<double>(), 1e-7) << i;
    }
  };
  check(xs, x.grad(), true), check(w, v.grad(), false);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Scan, GradientsThatAreEager) {
  // What has no derivative of its own runs as a loop on the tape, and says why.
  auto f = compile(
      [](Tensor xs, Tensor w) {
        Tensor mine = (w.view({1, 3}) * ones({3, 3})).t();
        Tensor s = scan(
            [&](const Tensor& s, const Tensor& x) {
              mine.add_(x);
              return s + mine.sum(0) + w;
            },
            zeros({3}), xs);
        return s.sum();
      },
      {.name = "f"});
  Tensor w = rising({3}).requires_grad_();
  f(rising({2, 3}), w).backward();
  EXPECT_EQ(shown({w.grad()}), shown({full({3}, 8.0)}));
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_NE(f.stats().last_fallback_reason.find("do not stand row by row"), std::string::npos)
      << f.stats().last_fallback_reason;
}

// Without a turn the state is the first one, whose gradient is its own, whatever the body gives.
TEST(ScanGradients, OfStateThatTheBodyDetaches) {
  auto body = [](const Tensor& w, const Tensor& xs) {
    return scan([](const Tensor& h, const Tensor& x) { return h.detach() + x; }, w * 2.0, xs);
  };
  auto f = compile(body);
  for (int n : {0, 2, 0}) {
    Tensor w = ones({2}).requires_grad_(), v = ones({2}).requires_grad_();
    const Tensor expected = body(w, ones({n, 2})), made = f(v, ones({n, 2}));
    EXPECT_EQ(made.requires_grad(), expected.requires_grad()) << n;
    EXPECT_EQ(shown({made}), shown({expected})) << n;
    if (!expected.requires_grad()) continue;
    expected.sum().backward(), made.sum().backward();
    EXPECT_EQ(shown({v.grad()}), shown({w.grad()})) << n;
  }
}

// What a body would write has no elements where there is no turn.
TEST(Scan, WithoutATurnIsChecked) {
  auto f = compile(
      [](Tensor w, Tensor xs) {
        return scan([](const Tensor& h, const Tensor& x) { return x.mul_(0.5), h + x; }, w * 1.0, xs);
      },
      {.check = 1});
  for (int n : {0, 2, 0}) EXPECT_EQ(shown({f(ones({2}), ones({n, 2}))}), shown({full({2}, 1.0 + n * 0.5)})) << n;
}

TEST(Scan, BadInput) {
  auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "nothing";
  };
  const Tensor xs = rising({4, 3});
  struct Row {
    const char* text;
    Tensor (*body)(Tensor);
  };
  const Row rows[] = {
      {"ShapeMismatch: the body gives carried tensor 0 as float32 [3], and it was float32 [2]: the state keeps its "
       "dtype, device and sizes",
       [](Tensor x) { return scan([](const Tensor&, const Tensor& y) { return y * 1.0; }, zeros({2}), x); }},
      {"ShapeMismatch: the body gives carried tensor 0 as float64 [3], and it was float32 [3]: the state keeps its "
       "dtype, device and sizes",
       [](Tensor x) { return scan([](const Tensor&, const Tensor& y) { return y.to(kFloat64); }, zeros({3}), x); }},
      {"ShapeMismatch: the body gives carried tensor 0 as float32 [], and it was float32 [3]: the state keeps its "
       "dtype, device and sizes",
       [](Tensor x) { return scan([](const Tensor&, const Tensor& y) { return y.sum(); }, zeros({3}), x); }},
      {"ShapeMismatch: tensor 1 of xs is float32 [3, 3], of 3 slices, and tensor 0 is float32 [4, 3], of 4",
       [](Tensor x) {
         return scan([](const Tensor& s, const std::pair<Tensor, Tensor>&) { return s; }, zeros({3}),
                     std::pair(x, x.slice(0, 0, 3)));
       }},
      {"ShapeMismatch: tensor 0 of xs has no dimension to slice along",
       [](Tensor x) { return scan([](const Tensor& s, const Tensor&) { return s; }, zeros({3}), x.sum()); }},
      {"InvalidArgument: there is no tensor to slice: its dimension 0 says how many turns there are",
       [](Tensor) { return scan([](const Tensor& s, const Tensors&) { return s; }, zeros({3}), Tensors{}); }},
      {"InvalidArgument: tensor 0 of the state that it begins with is undefined",
       [](Tensor x) { return scan([](const Tensor& s, const Tensor&) { return s; }, Tensor(), x); }},
      {"InvalidArgument: tensor 0 of the state that the body makes is undefined",
       [](Tensor x) { return scan([](const Tensor&, const Tensor&) { return Tensor(); }, zeros({3}), x); }},
      {"InvalidArgument: the body changes a number, a text or the length of a list in its state: only tensors change",
       [](Tensor x) {
         return scan([](const Tensors& s, const Tensor& y) { return Tensors{s[0], y}; }, Tensors{zeros({3})}, x)[0];
       }},
      {"InvalidArgument: the body gives a number, and only tensors are stacked: make it a tensor",
       [](Tensor x) {
         return scan([](const Tensor& s, const Tensor& y) { return std::pair(s, y.size(0)); }, zeros({3}), x).first;
       }},
  };
  for (const Row& r : rows) {
    EXPECT_EQ(message([&] { r.body(xs); }), r.text);
    auto f = compile(r.body, {.name = "f"});
    EXPECT_EQ(message([&] { f(xs); }), r.text) << "compiled";
  }
}

TEST(Scan, SaysWhatItIs) {
  auto f =
      compile([](Tensor xs) { return scan([](const Tensor& s, const Tensor& x) { return s + x; }, zeros({3}), xs); },
              {.name = "f"});
  f(rising({4, 3}));
  const std::string text = f.explain();
  EXPECT_NE(text.find("scan(region("), std::string::npos) << text;
  EXPECT_NE(text.find("loop 0: s0 turns"), std::string::npos) << text;
}

// Each turn draws its own, the derivative sees the same ones, and what comes behind draws on.
TEST(Scan, RandomNumbersAreThoseOfTheLoop) {
  const auto program = [](Tensor xs) {
    Tensor before = rand({2});
    auto [s, ys] = scan(
        [](const Tensor& s, const Tensor& x) {
          Tensor kept = dropout(x * rand({3}), 0.25, true);
          return std::pair(s * randn({3}) + kept, multinomial(sigmoid(s) + 0.1, 3, true).to(kFloat32) + s);
        },
        zeros({3}), xs);
    Tensor inner = scan(
        [&](const Tensor& s, const Tensor& x) {
          return scan([](const Tensor& t, const Tensor& y) { return t + y * rand({}); }, s, x) + rand({});
        },
        zeros({}), xs);
    return std::tuple(s, ys, before, inner, rand({2}));
  };
  auto f = compile(program, {.name = "f"});
  for (bool wants : {false, true})
    for (int n : {4, 0, 3}) {
      const auto outcome = [&](auto& call) {
        Tensor xs = rising({n, 3}).requires_grad_(wants);
        manual_seed(3);
        auto [s, ys, before, inner, behind] = call(xs);
        if (wants && n) (s.sum() + (ys * ys).sum() + inner.sum()).backward();
        return shown(
            {s.detach(), ys.detach(), before, inner.detach(), behind, rand({1}), wants && n ? xs.grad() : Tensor()});
      };
      EXPECT_EQ(outcome(f), outcome(program)) << n << wants;
    }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// What an operator, or the function, decides by whether somebody wants a gradient.
TEST(ScanGradients, DecideInRegionsAsTheyDoEagerly) {
  using Step = Tensor (*)(const Tensor& s, const Tensor& x);
  struct Row {
    const char* what;
    Step step;
    bool compiles;
  };
  const Row rows[] = {
      {"the greatest", [](const Tensor& s, const Tensor& x) { return s * 0.5 + x * std::get<0>(max(s + x, 0)); }, true},
      {"straight through",
       [](const Tensor& s, const Tensor& x) { return fake_quantize_per_tensor_affine(s * 0.9 + x, 0.25, 0, -8, 7); },
       true},
      {"asked", [](const Tensor& s, const Tensor& x) { return (s + x).requires_grad() ? s * 2.0 + x : s * 3.0; },
       false},
      {"asked of what is given", [](const Tensor& s, const Tensor& x) { return x.requires_grad() ? s + x : s - x; },
       false},
  };
  for (const Row& r : rows)
    for (const bool wants : {false, true})
      for (const bool branch : {false, true}) {
        SCOPED_TRACE(std::string(r.what) + (wants ? ", wants" : "") + (branch ? ", in a branch" : ""));
        std::string told[2];
        for (const bool compiled : {false, true}) {
          const Tensor xs = rising({4, 3}), w = rising({3}) * 2.0;
          if (wants) xs.requires_grad_(), w.requires_grad_();
          const Step step = r.step;
          auto body = [step, branch](Tensor all, Tensor first) {
            const auto turn = [&](const Tensor& s, const Tensor& x) { return step(s, x); };
            if (!branch) return scan(turn, first * 1.0, all);
            return cond(
                all.sum() < 1e6, [&] { return step(first * 1.0, all[0]); }, [&] { return first * 7.0; });
          };
          auto f = compile(body, {.name = "f"});
          const Tensor made = compiled ? f(xs, w) : body(xs, w);
          std::vector<Tensor> all{made.detach()};
          if (wants) {
            (made * made).sum().backward();
            all.push_back(xs.grad()), all.push_back(w.grad());
          }
          told[compiled] = shown(all);
          if (compiled && (r.compiles || !wants)) {
            EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
          }
        }
        EXPECT_EQ(told[0], told[1]);
      }
}

// A captured tensor that is given to scan or cond stays the function's own variable.
TEST(Scan, CapturedTensorsThatItIsGiven) {
  const Tensor captured = rising({4, 3}), first = rising({3}), yes = zeros({}) < 1.0;
  using Step = Tensor (*)(const Tensor&, const Tensor&);
  const Step step = [](const Tensor& s, const Tensor& x) { return s * 0.5 + x; };
  using Body = std::function<Tensor(Tensor)>;
  const std::pair<const char*, Body> rows[] = {
      {"slices", [&](Tensor x) { return scan(step, x * 2.0, captured); }},
      {"the first state",
       [&](Tensor x) {
         return scan(step, first, stack({x, x}));
       }},
      {"both", [&](Tensor x) { return scan(step, first, captured) + x; }},
      {"what decides",
       [&](Tensor x) {
         return cond(
             yes, [&] { return x * first; }, [&] { return x + first; });
       }},
  };
  for (const auto& [what, body] : rows)
    for (const bool wants : {false, true}) {
      SCOPED_TRACE(std::string(what) + (wants ? ", wants" : ""));
      auto f = compile([&body = body](Tensor x) { return body(x); }, {.name = "f"});
      Tensor x = rising({3}), y = rising({3});
      if (wants) x.requires_grad_(), y.requires_grad_();
      const Tensor got = f(x), want = body(y);
      EXPECT_EQ(shown({got.detach()}), shown({want.detach()}));
      if (wants && want.requires_grad()) {
        got.sum().backward(), want.sum().backward();
        EXPECT_EQ(shown({x.grad()}), shown({y.grad()}));
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    }
}

// Behind a write that the tape does not see, a tensor wants the gradient that it did before.
TEST(ScanGradients, OfWritesThatTheTapeDoesNotSee) {
  using Write = void (*)(Tensor);
  const Write rows[] = {[](Tensor s) { s.detach().mul_(2.0); }, [](Tensor s) { s.slice(0, 1).detach().add_(1.0); },
                        [](Tensor s) {
                          const NoGradScope off;
                          s.mul_(0.5);
                        }};
  for (const Write write : rows)
    for (const bool wants : {false, true}) {
      auto body = [write](Tensor x) {
        return scan(
            [&](const Tensor& s, const Tensor& row) {
              write(s);
              return s * row;
            },
            x * 1.5, rising({4, 3}) * 0.5);
      };
      auto f = compile(body, {.name = "f"});
      Tensor x = rising({3}), y = rising({3});
      if (wants) x.requires_grad_(), y.requires_grad_();
      const Tensor got = f(x), want = body(y);
      EXPECT_EQ(shown({got.detach()}), shown({want.detach()}));
      EXPECT_EQ(got.requires_grad(), wants);
      EXPECT_EQ(f.stats().eager_fallbacks, wants) << f.stats().last_fallback_reason;
      if (!wants) continue;
      EXPECT_NE(f.stats().last_fallback_reason.find("detach()"), std::string::npos) << f.stats().last_fallback_reason;
      got.sum().backward(), want.sum().backward();
      EXPECT_EQ(shown({x.grad()}), shown({y.grad()}));
    }
}

}  // namespace
}  // namespace reprise
