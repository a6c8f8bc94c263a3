// Loops, conditions and regions under what is set for a thread: autocast, gradients on and off, hooks, anomaly mode.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "reprise/autograd.h"
#include "reprise/map.h"
#include "reprise/region.h"
#include "reprise/reprise.h"
#include "reprise/settings.h"
#include "tests/runtime/region_given.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using test::given, test::Given;

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

// Where a function takes both derivatives inside, a loop runs on the tape, and a region is a part of the function.
TEST(RegionSettings, SecondDerivativesInside) {
  struct Row {
    const char* what;
    Tensor (*f)(const Tensor& xs, const Tensor& w);
    bool eager;
  };
  const Row rows[] = {
      {"scan",
       [](const Tensor& xs, const Tensor& w) {
         return scan([&](const Tensor& h, const Tensor& x) { return exp(h * w) + x; }, w, xs);
       },
       true},
      {"map", [](const Tensor& xs, const Tensor& w) { return map([&](const Tensor& x) { return exp(x * w); }, xs); },
       true},
      {"cond",
       [](const Tensor& xs, const Tensor& w) {
         return cond(
             xs.detach().sum() > 0.0, [&] { return exp(xs * w); }, [&] { return sin(xs * w); });
       },
       true},
      {"region",
       [](const Tensor& xs, const Tensor& w) {
         auto layer = [&](const Tensor& x) { return tanh(x * w) + x; };
         return region("layer", layer, region("layer", layer, xs));
       },
       false},
  };
  for (const Row& row : rows) {
    const auto penalty = [&](const Tensor& x, const Tensor& w) {
      const Tensor y = row.f(x, w).sum();
      const Tensor g = grad({y}, {x}, {}, {.create_graph = true})[0];
      return (g * g).sum() + y;
    };
    auto f = compile(penalty);
    const auto of = [&](auto& function) {
      const Given g = given();
      const Tensor x = g.xs.clone().requires_grad_();
      function(x, g.w).backward();
      return test::show(x.grad()) + test::show(g.w.grad());
    };
    EXPECT_EQ(of(penalty), of(f)) << row.what;
    EXPECT_EQ(f.stats().eager_fallbacks, row.eager ? 1 : 0) << row.what << ": " << f.stats().last_fallback_reason;
    if (row.eager) {
      EXPECT_NE(f.stats().last_fallback_reason.find("derivative of its derivative"), std::string::npos) << row.what;
    }
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
