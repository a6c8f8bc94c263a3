// Loops and conditions that the tape sees: what their bodies write outside, and what of them wants no gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/map.h"
#include "reprise/region.h"
#include "reprise/reprise.h"
#include "reprise/settings.h"
#include "reprise/while_loop.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using Tensors = std::vector<Tensor>;

Tensor rising(Ints sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (arange(n, {.dtype = kFloat32}) * 0.125 - 1.0).view(sizes);
}

struct Given {
  Tensor xs, w, buffer;  ///< w is a leaf that wants a gradient
};
Given given(int rows = 4) { return {rising({rows, 3}), rising({3}).clone().requires_grad_(), rising({3}) * 0.5}; }

using Program = Tensors (*)(Given&);

/// What a caller sees of a call: results, arguments, who wants a gradient, and gradients of the sum of what does.
std::string seen(Given& g, const Tensors& results) {
  std::string s;
  std::vector<Tensor> roots, all = results;
  all.insert(all.end(), {g.xs, g.buffer});
  for (const Tensor& t : all) {
    s += test::show(t.detach()) + (t.requires_grad() ? " wants\n" : "\n");
    if (t.requires_grad()) roots.push_back((t * t).sum());
  }
  if (!roots.empty()) {
    Tensor sum = roots[0];
    for (std::size_t i = 1; i < roots.size(); ++i) sum = sum + roots[i];
    sum.backward();
    s += "w.grad " + (g.w.grad().defined() ? test::show(g.w.grad()) : "undefined");
  }
  return s;
}

/// Of another number of rows each; the state of a call is the next one's, but the tape.
void same(const char* what, Program program) {
  auto f = compile([&](Tensor xs, Tensor w, Tensor buffer) {
    Given g{std::move(xs), std::move(w), std::move(buffer)};
    return program(g);
  });
  for (int rows : {4, 3, 5, 4}) {
    Given eager = given(rows), mine = given(rows);
    const std::string want = seen(eager, program(eager)), got = seen(mine, f(mine.xs, mine.w, mine.buffer));
    EXPECT_EQ(want, got) << what << ", " << rows << " rows";
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ": " << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().specializations, 1) << what;
}

std::pair<Tensor, Tensor> step(const Tensor& h, const Tensor& x, const Given& g) {
  const Tensor y = tanh(h * g.w + x);
  return {y, y};
}

TEST(RegionWrites, RunningStatisticsOfALoop) {
  same("scan", [](Given& g) -> Tensors {
    auto [h, ys] = scan(
        [&](const Tensor& h, const Tensor& x) {
          auto made = step(h, x, g);
          g.buffer.mul_(0.9).add_(made.first.detach() * 0.1);
          return made;
        },
        zeros({3}), g.xs);
    return {h, ys};
  });
  same("scan that reads what it writes", [](Given& g) -> Tensors {
    auto [h, ys] = scan(
        [&](const Tensor& h, const Tensor& x) {
          auto made = step(h + g.buffer, x, g);
          g.buffer.copy_(made.first.detach());
          return made;
        },
        zeros({3}), g.xs);
    return {h, ys};
  });
  same("while_loop", [](Given& g) -> Tensors {
    return {while_loop([](const Tensor& h) { return h.detach().abs().sum() < 20.0; },
                       [&](const Tensor& h) {
                         g.buffer.add_(h.detach());
                         return h * 1.5 + g.w * g.w;
                       },
                       rising({3}), 100)};
  });
  same("map", [](Given& g) -> Tensors {
    return {map(
        [&](const Tensor& x) {
          g.buffer.add_(x);
          return x * g.w;
        },
        g.xs)};
  });
  same("cond", [](Given& g) -> Tensors {
    return {cond(
        g.xs.sum() > 0.0,
        [&] {
          g.buffer.mul_(2.0);
          return g.w * g.buffer;
        },
        [&] { return g.w * 3.0; })};
  });
}

TEST(RegionWrites, WhatIsWrittenWantsAGradient) {
  same("scan", [](Given& g) -> Tensors {
    const Tensor sum = g.w * 0.5;
    const auto h = scan(
        [&](const Tensor& h, const Tensor& x) {
          sum.add_(h * x);
          return std::pair(h * g.w, h);
        },
        ones({3}), g.xs);
    return {h.first, h.second, sum};
  });
  same("scan into a buffer", [](Given& g) -> Tensors {
    const auto h = scan(
        [&](const Tensor& h, const Tensor& x) {
          g.buffer.add_(g.w * x);
          return std::pair(h + g.buffer, h);
        },
        ones({3}), g.xs);
    return {h.first, h.second};
  });
  same("a slice", [](Given& g) -> Tensors {
    const Tensor xs = g.xs * g.w;
    const auto h = scan(
        [&](const Tensor& h, const Tensor& x) {
          const Tensor before = h + x;
          x.mul_(g.w);
          return std::pair(before, h);
        },
        ones({3}), xs);
    return {h.first, h.second, xs};
  });
  same("while_loop", [](Given& g) -> Tensors {
    const Tensor sum = g.w * 1.0;
    const Tensor n = while_loop([](const Tensor& n) { return n < 4; },
                                [&](const Tensor& n) {
                                  sum.mul_(g.w + 1.5);
                                  return n + 1;
                                },
                                zeros({}, {.dtype = kInt64}), 100);
    return {n, sum};
  });
  same("cond", [](Given& g) -> Tensors {
    const Tensor sum = g.w * 1.0;
    const Tensor y = cond(
        g.xs.sum() > 0.0,
        [&] {
          sum.mul_(g.w);
          return g.w * sum;
        },
        [&] { return g.w * 3.0; });
    return {y, sum};
  });
  same("each branch another one", [](Given& g) -> Tensors {
    const Tensor a = g.w * 1.0, b = g.w * 2.0;
    const Tensor y = cond(
        g.xs.sum() > 0.0, [&] { return a.mul_(g.w), g.w + b; }, [&] { return b.add_(a), g.w * 3.0; });
    return {y, a, b};
  });
}

// A written tensor that the tape needs as it was is one mistake, in a loop as anywhere.
TEST(RegionWrites, WhatTheTapeNeedsIsNotWritten) {
  const auto program = [](const Tensor& w, const Tensor& xs) {
    const Tensor sum = w * 1.0, needs = sum * sum;
    scan([&](const Tensor& h, const Tensor& x) { return sum.add_(x), std::pair(h * w, h); }, ones({3}), xs);
    return needs.sum();
  };
  const Given g = given();
  auto f = compile(program);
  EXPECT_THROW(program(g.w, g.xs).backward(), Error);
  EXPECT_THROW(f(g.w, g.xs).backward(), Error);
  const auto leaf = [](const Tensor& w, const Tensor& xs) {
    return scan([&](const Tensor& h, const Tensor& x) { return w.add_(x), std::pair(h * w, h); }, ones({3}), xs).first;
  };
  auto of_leaf = compile(leaf);
  const std::string before = test::show(g.w.detach());
  EXPECT_THROW(leaf(g.w, g.xs), Error);
  EXPECT_THROW(of_leaf(g.w, g.xs), Error);
  EXPECT_EQ(test::show(g.w.detach()), before);
}

TEST(RegionWrites, DetachedResultsWantNoGradient) {
  same("scan", [](Given& g) -> Tensors {
    auto [state, given] = scan(
        [&](const std::pair<Tensor, Tensor>& s, const Tensor& x) {
          const Tensor y = tanh(s.first * g.w + x);
          return std::pair(std::pair(y, s.second * 0.9 + y.detach() * 0.1), std::pair(y, x * 2.0));
        },
        std::pair(zeros({3}), ones({3})), g.xs);
    return {state.first, state.second, given.first, given.second};
  });
  same("map", [](Given& g) -> Tensors {
    auto [a, b] = map([&](const Tensor& x) { return std::pair(x * g.w, (x * g.w).detach()); }, g.xs);
    return {a, b};
  });
  same("while_loop", [](Given& g) -> Tensors {
    auto [h, n] =
        while_loop([](const std::pair<Tensor, Tensor>& s) { return s.second < 3.0; },
                   [&](const std::pair<Tensor, Tensor>& s) { return std::pair(s.first * g.w, s.second + 1.0); },
                   std::pair(ones({3}), zeros({})), 100);
    return {h, n};
  });
  same("cond", [](Given& g) -> Tensors {
    auto [a, b] = cond(
        g.xs.sum() > 0.0, [&] { return std::pair(g.w * 2.0, g.w.detach()); },
        [&] { return std::pair(g.w * 3.0, g.xs[0] * 1.0); });
    return {a, b};
  });
  same("region", [](Given& g) -> Tensors {
    auto layer = [&](const Tensor& x) {
      const Tensor y = matmul(x, g.w.view({3, 1})) + x;
      return std::pair(y, y.detach().mean(0));
    };
    auto [y, first] = region("layer", layer, g.xs);
    auto [z, second] = region("layer", layer, y);
    g.buffer.mul_(0.9).add_(first + second);
    return {z, first, second};
  });
  same("a loop within a loop", [](Given& g) -> Tensors {
    auto [h, sums] = scan(
        [&](const Tensor& h, const Tensor& x) {
          auto [inner, n] = scan([&](const Tensor& i, const Tensor& e) { return std::pair(i * g.w + e, i.detach()); },
                                 h, x.view({3, 1}));
          return std::pair(inner, n.sum(0));
        },
        ones({3}), g.xs);
    return {h, sums};
  });
}

// A body's operators are traced once more for its derivative, under settings that are not those of their calls.
TEST(RegionSettings, DerivativesAreOfWhatWasTraced) {
  const auto exact = [](const Tensor& x, const Tensor& w) {
    const AutocastScope off(kBFloat16, false);
    return x / (w * 7.0);
  };
  const auto of_region = [&](const Tensor& x, const Tensor& w) {
    const AutocastScope on(kBFloat16);
    Tensor y = region(
        "head",
        [&](const Tensor& x) {
          return matmul(exact(x, w), w.view({3, 1}));
        },
        x);
    return region(
        "head",
        [&](const Tensor& x) {
          return matmul(exact(x, w), w.view({3, 1}));
        },
        y * x);
  };
  const auto of_scan = [&](const Tensor& x, const Tensor& w) {
    const AutocastScope on(kBFloat16);
    return scan(
        [&](const Tensor& h, const Tensor& x) {
          return matmul(exact(h + x, w).view({1, 3}), w).sum() + h;
        },
        w, x);
  };
  const auto of_floats = [&](const Tensor& x, const Tensor& w) {
    const DefaultDTypeScope doubles(kFloat64);
    return scan(
        [&](const Tensor& h, const Tensor& x) {
          const DefaultDTypeScope floats(kFloat32);
          const Tensor n = arange(3);
          return h * w + x * (n / (n + 3));
        },
        w, x);
  };
  const auto check = [](const char* what, auto&& f) {
    auto compiled = compile(f);
    const Given g = given();
    const auto of = [&](auto& function) {
      Tensor y = function(g.xs, g.w);
      return test::show(y.detach()) + test::show(grad({(y * y).sum()}, {g.w})[0]);
    };
    EXPECT_EQ(of(f), of(compiled)) << what;
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << what << ": " << compiled.stats().last_fallback_reason;
  };
  check("region", of_region), check("scan", of_scan), check("default dtype", of_floats);
}

// What one node of the tape cannot do is done by a loop on the tape, and said.
TEST(RegionSettings, GradientsAndHooksOfABody) {
  struct Row {
    const char* what;
    Tensor (*f)(const Tensor& xs, const Tensor& w);
    const char* eager;
  };
  const auto body = [](const Tensor& h, const Tensor& x, const Tensor& w) { return tanh(h * w + x) * h; };
  static const auto step = body;
  using Scope = SavedTensorHooks;
  static const auto rounds = [](const Tensor& t) -> Scope::Packed { return std::make_shared<Tensor>((t * 2).round()); };
  static const auto halves = [](const Scope::Packed& p) { return *static_cast<Tensor*>(p.get()) / 2; };
  const Row rows[] = {
      {"on in a body",
       [](const Tensor& xs, const Tensor& w) {
         const NoGradScope off;
         return scan(
             [&](const Tensor& h, const Tensor& x) {
               const EnableGradScope on;
               return step(h, x, w);
             },
             ones({3}), xs);
       },
       "turns gradients on"},
      {"on in a branch",
       [](const Tensor& xs, const Tensor& w) {
         const NoGradScope off;
         auto branch = [&] {
           const EnableGradScope on;
           return step(w, w, w);
         };
         return cond(xs.sum() > 0.0, branch, branch);
       },
       "turns gradients on"},
      {"hooks around a loop",
       [](const Tensor& xs, const Tensor& w) {
         const Scope hooks(rounds, halves);
         return scan([&](const Tensor& h, const Tensor& x) { return step(h, x, w); }, ones({3}), xs);
       },
       "SavedTensorHooks"},
      {"hooks in a branch",
       [](const Tensor& xs, const Tensor& w) {
         auto branch = [&] {
           const Scope hooks(rounds, halves);
           return step(w, w, w);
         };
         return cond(xs.sum() > 0.0, branch, branch);
       },
       "SavedTensorHooks"},
      {"hooks in a region",
       [](const Tensor& xs, const Tensor& w) {
         auto layer = [&](const Tensor& x) {
           const Scope hooks(rounds, halves);
           return step(x, x, w);
         };
         return region("layer", layer, region("layer", layer, xs));
       },
       nullptr},
  };
  for (const Row& row : rows) {
    auto f = compile(row.f);
    const Given g = given();
    const auto of = [&](auto&& function) {
      const Tensor y = function(g.xs, g.w);
      return test::show(y.detach()) + (y.requires_grad() ? test::show(grad({y.sum()}, {g.w})[0]) : "wants none");
    };
    EXPECT_EQ(of(row.f), of(f)) << row.what;
    if (!row.eager) {
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << row.what << ": " << f.stats().last_fallback_reason;
      continue;
    }
    EXPECT_NE(f.stats().last_fallback_reason.find(row.eager), std::string::npos)
        << row.what << ": " << f.stats().last_fallback_reason;
  }
}

TEST(RegionSettings, SecondDerivatives) {
  const auto net = [](Tensor x, const Tensor& w) {
    for (int i = 0; i < 3; ++i)
      x = region(
          "layer", [&](const Tensor& x) { return tanh(x * w) + x; }, x);
    return x;
  };
  const auto penalty = [](auto& f) {
    const Given g = given();
    const Tensor x = g.xs.clone().requires_grad_();
    grad({f(x, g.w).sum()}, {x}, {}, {.create_graph = true})[0].square().sum().backward();
    return g.w.grad();
  };
  auto f = compile(net, {.second_order = true}), one_node = compile(net);
  EXPECT_TRUE(allclose(penalty(f), penalty(net), 1e-5));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  try {
    penalty(one_node);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("second_order"), std::string::npos) << e.what();
  }
}

TEST(RegionSettings, AFunctionIsCompiledUnderAnomalyScope) {
  const AnomalyScope on;
  const auto f = [](const Tensor& xs, const Tensor& w) {
    return scan([&](const Tensor& h, const Tensor& x) { return tanh(h * w + x); }, w, xs).sum();
  };
  auto compiled = compile(f);
  const Given g = given();
  for (int i = 0; i < 2; ++i) {
    const Tensor got = grad({compiled(g.xs, g.w)}, {g.w})[0];
    EXPECT_TRUE(allclose(got, grad({f(g.xs, g.w)}, {g.w})[0], 1e-5));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
  EXPECT_THROW(compiled(g.xs * NAN, g.w).backward(), Error);
}

}  // namespace
}  // namespace reprise
