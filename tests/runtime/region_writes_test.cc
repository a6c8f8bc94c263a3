// Loops and conditions that the tape sees: what their bodies write outside, and what of them wants no gradient.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/map.h"
#include "reprise/region.h"
#include "reprise/reprise.h"
#include "reprise/while_loop.h"
#include "tests/runtime/region_given.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using test::given, test::Given, test::rising;
using Tensors = std::vector<Tensor>;

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
  Tensor captured = ones({3});
  const auto of_captured = [&](const Tensor& w, const Tensor& d) {
    const Tensor y = (captured * w).sum();
    captured.add_(d);
    return y;
  };
  auto compiled = compile(of_captured);
  EXPECT_THROW(of_captured(g.w, ones({3})).backward(), Error);
  EXPECT_THROW(compiled(g.w, ones({3})).backward(), Error);
  const auto leaf = [](const Tensor& w, const Tensor& xs) {
    return scan([&](const Tensor& h, const Tensor& x) { return w.add_(x), std::pair(h * w, h); }, ones({3}), xs).first;
  };
  auto of_leaf = compile(leaf);
  const std::string before = test::show(g.w.detach());
  EXPECT_THROW(leaf(g.w, g.xs), Error);
  EXPECT_THROW(of_leaf(g.w, g.xs), Error);
  EXPECT_EQ(test::show(g.w.detach()), before);
  // Where the branch is not taken nothing is wrong.
  const auto branch = [](const Tensor& w, const Tensor& xs) {
    return cond(
        xs.sum() > 1000.0, [&] { return w.add_(1.0) * 2.0; }, [&] { return w * 3.0; });
  };
  auto not_taken = compile(branch);
  EXPECT_TRUE(equal(not_taken(g.w, g.xs).detach(), branch(g.w, g.xs).detach()));
}

// Captured or given, whatever reads it as a loop, a branch or a region: the gradient is by the values that were read.
TEST(RegionWrites, WhatWasReadIsWrittenBehind) {
  using Body = Tensor (*)(const Tensor& state, const Tensor& x, const Tensor& w);
  struct Row {
    const char* what;
    Body f;
  };
  static const auto step = [](const Tensor& state, const Tensor& x, const Tensor& w) {
    return tanh((softmax(state, -1) + x) * w);
  };
  const Row rows[] = {
      {"scan",
       [](const Tensor& state, const Tensor& x, const Tensor& w) {
         return scan([&](const Tensor& h, const Tensor& r) { return step(state, h + r, w); }, ones({3}), x);
       }},
      {"map", [](const Tensor& state, const Tensor& x,
                 const Tensor& w) { return map([&](const Tensor& r) { return step(state, r, w); }, x); }},
      {"while_loop",
       [](const Tensor& state, const Tensor& x, const Tensor& w) {
         return while_loop([](const std::pair<Tensor, Tensor>& s) { return s.second < 3; },
                           [&](const std::pair<Tensor, Tensor>& s) {
                             return std::pair(step(state, s.first, w), s.second + 1);
                           },
                           std::pair(x, zeros({}, {.dtype = kInt64})), 10)
             .first;
       }},
      {"cond",
       [](const Tensor& state, const Tensor& x, const Tensor& w) {
         return cond(
             x.detach().sum() > 0.0, [&] { return step(state, x, w); }, [&] { return step(state, x * 2.0, w); });
       }},
      {"region",
       [](const Tensor& state, const Tensor& x, const Tensor& w) {
         auto layer = [&](const Tensor& x) { return step(state, x, w); };
         return region("layer", layer, region("layer", layer, x));
       }},
  };
  for (const Row& row : rows)
    for (const bool captured : {true, false}) {
      Tensor state;
      const auto body = [&](const Tensor& given, const Tensor& x, const Tensor& w) {
        Tensor of = captured ? state : given;
        const Tensor y = row.f(of, x, w);
        of.add_(x.detach()[0]);
        return y;
      };
      auto f = compile(body);
      const auto of = [&](auto& function) {
        Given g = given();
        state = g.buffer;
        const Tensor y = function(g.buffer, g.xs, g.w);
        return test::show(y.detach()) + test::show(grad({(y * y).sum()}, {g.w})[0]) + test::show(g.buffer);
      };
      for (int i = 0; i < 2; ++i) EXPECT_EQ(of(body), of(f)) << row.what << (captured ? ", captured" : ", given");
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << row.what << ": " << f.stats().last_fallback_reason;
    }
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

// A body that writes into an operand is a part of the function around it: views in it lie as the operand does there.
TEST(RegionWrites, OperandsThatDoNotStandRowByRow) {
  struct Row {
    const char* what;
    Tensor (*f)(Tensor v);
  };
  const Row rows[] = {
      {"a row of a row",
       [](Tensor v) {
         Tensor w = v.clone();
         for (int i = 0; i < 2; ++i)
           w = region(
               "r",
               [&](const Tensor& x) {
                 v[0].add_(v[1] * 0.5);
                 return tanh(matmul(tanh(matmul(x, v.t())), v));
               },
               w);
         return w;
       }},
      {"the whole",
       [](Tensor v) {
         Tensor w = v.clone();
         for (int i = 0; i < 2; ++i)
           w = region(
               "r",
               [&](const Tensor& x) {
                 v.mul_(0.5);
                 return tanh(matmul(tanh(matmul(x, v.t())), v)) + v.t().reshape({2, 3});
               },
               w);
         return w;
       }},
      {"in a loop",
       [](Tensor v) {
         return scan(
             [&](const Tensor& h, const Tensor&) {
               Tensor q = h;
               for (int i = 0; i < 2; ++i)
                 q = region(
                     "r",
                     [&](const Tensor& x) {
                       v[0].add_(v[1] * 0.25);
                       return tanh(matmul(tanh(matmul(x, v.t())), v));
                     },
                     q);
               return q;
             },
             ones({2, 3}), zeros({3, 1}));
       }},
  };
  const auto layouts = [] {
    const Tensor all = rising({6, 6}) * 0.25;
    return std::vector<Tensor>{all.slice(0, 0, 1).view({2, 3}), all.t().slice(0, 0, 2).slice(1, 0, 3),
                               all.slice(0, 0, 2).slice(1, 1, 4), all.slice(0, 0, 6, 3).slice(1, 0, 6, 2),
                               all.view({-1}).slice(0, 0, 27).view({3, 3, 3}).select(1, 1).slice(0, 0, 2)};
  };
  for (const Row& row : rows)
    for (const char* mode : {"full", "interpret"}) {
      auto f = compile(row.f, {.mode = mode});
      std::vector<Tensor> mine = layouts(), its = layouts();
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const Tensor want = row.f(mine[i]), got = f(its[i]);
        EXPECT_TRUE(allclose(want, got, 1e-5, 1e-6)) << row.what << ", " << mode << ", layout " << i;
        EXPECT_TRUE(allclose(mine[i], its[i], 1e-5, 1e-6)) << row.what << ", " << mode << ", layout " << i;
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << row.what << ": " << f.stats().last_fallback_reason;
    }
}

}  // namespace
}  // namespace reprise
