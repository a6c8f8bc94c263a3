// The tape, eagerly: leaves, accumulation, in-place operators and views, hooks, functions, checkpoints, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
Tensor leaf(std::initializer_list<double> v) { return tensor(v, {.dtype = kFloat64}).requires_grad_(); }

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// The tape follows views whether or not a gradient is wanted; where none is, metadata change as if there were no tape.
TEST(Tape, MetadataOfViewsThatWantNoGradient) {
  Tensor w = leaf({1, 2});
  (w * 2).sum().backward();  // from here on the process has a tape
  const auto change = [](Tensor x) {
    Tensor v = x.slice(0, 0, 2);
    v.t_();
    v.mul_(2.0);
    Tensor u = x.select(0, 1);
    u.as_strided_({2}, {1}, 0);
    return v + u.sum();
  };
  Tensor a = arange(6, {.dtype = kFloat64}).view({2, 3}).clone(), b = a.clone();
  const Tensor wanted = change(a);
  auto compiled = compile(change);
  EXPECT_EQ(values(compiled(b)), values(wanted));
  EXPECT_EQ(values(b), values(a));
  EXPECT_EQ(b.version(), a.version());
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0u) << compiled.stats().last_fallback_reason;
  // What may be anything now is not written with a gradient.
  Tensor u = a.select(0, 1);
  u.resize_({1});
  EXPECT_NE(message_of([&] { u.mul_(w.select(0, 0)); }), "nothing was thrown");
}

TEST(Tape, GradientsAddUpInLeaves) {
  Tensor x = leaf({1, 2, 3}), w = leaf({2, 2, 2});
  (x * w).exp().sum().backward();
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(values(x.grad())[i], 2 * std::exp(2.0 * (i + 1)), 1e-9);
  (x * 3).sum().backward();
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(values(x.grad())[i], 2 * std::exp(2.0 * (i + 1)) + 3, 1e-9);
  EXPECT_TRUE(x.is_leaf());
  x.set_grad(Tensor());
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, GradAddsNothing) {
  Tensor x = leaf({1, 2});
  Tensor y = (x * x).sum();
  std::vector<Tensor> g = grad({y}, {x});
  EXPECT_EQ(values(g[0]), (std::vector<double>{2, 4}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, DerivativesOfDerivatives) {
  Tensor x = leaf({2, 3});
  Tensor y = (x * x * x).sum();
  Tensor g = grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(g), (std::vector<double>{12, 27}));
  Tensor h = grad({g.sum()}, {x})[0];
  EXPECT_EQ(values(h), (std::vector<double>{12, 18}));
}

TEST(Tape, BroadcastOperandsAreSummed) {
  Tensor x = leaf({1, 2, 3}), b = tensor({{1.0}, {2.0}}, {.dtype = kFloat64}).requires_grad_();
  (x * b).sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(values(b.grad()), (std::vector<double>{6, 6}));
}

TEST(Tape, NoGradientsInScopes) {
  Tensor x = leaf({1});
  {
    const NoGradScope off;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    const EnableGradScope on;
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
  EXPECT_FALSE((x * 2).detach().requires_grad());
}

TEST(Tape, WritesInPlace) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * 2;
  y.mul_(x);
  y.add_(1);
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{4, 8, 12}));
}

TEST(Tape, WritesThroughViewsReachTheBase) {
  Tensor x = leaf({1, 2, 3});
  Tensor out = zeros({2, 3}, {.dtype = kFloat64});
  out.select(0, 0).copy_(x * x);
  out[1] = x * 5;
  EXPECT_TRUE(out.requires_grad());
  (out * tensor({{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}}, {.dtype = kFloat64})).sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{12, 14, 16}));
}

TEST(Tape, ViewsFollowTheirBase) {
  Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1;
  Tensor v = y.slice(0, 1, 3);
  y.mul_(x);  // v shows x^2 now
  EXPECT_EQ(values(grad({v.sum()}, {x}, {}, {.retain_graph = true})[0]), (std::vector<double>{0, 4, 6, 0}));
  v.mul_(10);
  EXPECT_EQ(values(grad({y.sum()}, {x})[0]), (std::vector<double>{2, 40, 60, 8}));
}

TEST(Tape, WhatWasWrittenSinceIsAnError) {
  Tensor x = leaf({1, 2});
  Tensor y = x.exp();
  Tensor z = y.sum();
  y.mul_(2);
  const std::string m = message_of([&] { z.backward(); });
  (void)z;
  EXPECT_NE(message_of([&] { y.sum().backward(); }).find("in place at "), std::string::npos) << m;
}

TEST(Tape, Errors) {
  Tensor x = leaf({1, 2});
  EXPECT_NE(message_of([&] { x.mul_(2); }).find("leaf"), std::string::npos);
  EXPECT_NE(message_of([&] { x.slice(0, 0, 1).mul_(2); }).find("view of a leaf"), std::string::npos);
  EXPECT_NE(message_of([&] { (x * 2).backward(); }).find("weight"), std::string::npos);
  EXPECT_NE(message_of([&] { (x * 2).backward(ones({3}, {.dtype = kFloat64})); }).find("sizes [3]"), std::string::npos);
  Tensor y = (x * x).sum();
  y.backward();
  EXPECT_NE(message_of([&] { y.backward(); }).find("walked before"), std::string::npos);
  EXPECT_NE(message_of([&] { tensor({1}).requires_grad_(); }).find("int64"), std::string::npos);
  EXPECT_NE(message_of([&] { grad({(x * 2).sum()}, {leaf({1})}); }).find("no output was computed"), std::string::npos);
  EXPECT_FALSE(grad({(x * 2).sum()}, {leaf({1})}, {}, {.allow_unused = true})[0].defined());
  EXPECT_NE(message_of([&] { tensor({1.0}).backward(); }).find("wants no gradient"), std::string::npos);
}

TEST(Tape, Hooks) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  GradHook h = y.register_hook([](const Tensor& g) { return g * 10; });
  y.retain_grad();
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{20, 20}));
  EXPECT_EQ(values(y.grad()), (std::vector<double>{10, 10}));
  h.remove();
  Tensor z = x * 3;
  int before = 0, behind = 0;
  z.grad_fn().register_prehook([&](std::vector<Tensor>& g) { ++before, g[0] = g[0] * 2; });
  z.grad_fn().register_hook([&](std::vector<Tensor>&, const std::vector<Tensor>&) { ++behind; });
  x.set_grad(Tensor());
  z.sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{6, 6}));
  EXPECT_EQ(before + behind, 2);
}

TEST(Tape, AHookThatThrowsLeavesEverythingAsItWas) {
  Tensor x = leaf({1, 2}), w = leaf({1, 1});
  Tensor y = x * w;
  y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
  EXPECT_THROW((y.sum() + w.sum()).backward(), std::runtime_error);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
  (x * 2).sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{2, 2}));
}

struct Cube : reprise::Function<Cube> {
  static constexpr const char* name = "cube";
  static Tensor forward(FunctionContext& c, Tensor x) {
    c.save_for_backward({x});
    return x * x * x;
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) {
    const Tensor x = c.saved_tensors()[0];
    return {g[0] * x * x * 3};
  }
};
struct Wrong : reprise::Function<Wrong> {
  static Tensor forward(FunctionContext&, Tensor x, Tensor y) { return x + y; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0]}; }
};
struct Doubling : reprise::Function<Doubling> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    x.mul_(2);
    c.mark_dirty({x});
    return x;
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 2}; }
};
struct Flat : reprise::Function<Flat> {
  static Tensor forward(FunctionContext&, Tensor x) { return x.view({-1}); }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0].view({1, -1})}; }
};

TEST(Tape, FunctionsOfTheProgram) {
  Tensor x = leaf({1, 2});
  Tensor y = Cube::apply(x);
  EXPECT_EQ(y.grad_fn().name(), "cube");
  Tensor g = grad({y.sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(g), (std::vector<double>{3, 12}));
  EXPECT_EQ(values(grad({g.sum()}, {x})[0]), (std::vector<double>{6, 12}));
  EXPECT_NE(message_of([&] {
              Wrong::apply(x, x).sum().backward();
            }).find("backward gives 1 gradients; forward takes 2 tensors"),
            std::string::npos);
  Tensor z = x * 1;
  Doubling::apply(z);
  EXPECT_EQ(values(grad({(z * z).sum()}, {x})[0]), (std::vector<double>{8, 16}));
  Tensor f = Flat::apply((x * 1).view({1, 2}));
  EXPECT_EQ(values(grad({f.sum()}, {x})[0]), (std::vector<double>{1, 1}));
}

TEST(Tape, CheckpointsRunAgain) {
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  int runs = 0;
  auto f = [&](const Tensor& t) {
    ++runs;
    return (t * w).exp().mul(rand({2}, {.dtype = kFloat64})).exp();
  };
  manual_seed(7);
  Tensor plain = f(x);
  std::vector<Tensor> expected = grad({plain.sum()}, {x, w});
  manual_seed(7);
  runs = 0;
  Tensor y = checkpoint(f, x);
  EXPECT_EQ(values(y), values(plain));
  std::vector<Tensor> found = grad({y.sum()}, {x, w});
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(values(found[0]), values(expected[0]));
  EXPECT_EQ(values(found[1]), values(expected[1]));
}

TEST(Tape, SavedTensorsMayBeKeptElsewhere) {
  Tensor x = leaf({1, 2});
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    SavedTensorHooks hooks(
        [&](const Tensor& t) -> SavedTensorHooks::Packed { return ++packed, std::make_shared<Tensor>(t.clone()); },
        [&](const SavedTensorHooks::Packed& p) { return ++unpacked, *static_cast<Tensor*>(p.get()); });
    y = (x * x).exp().sum();
  }
  std::vector<Tensor> g = grad({y}, {x});
  EXPECT_GT(packed, 0);
  EXPECT_EQ(packed, unpacked);
  EXPECT_NEAR(values(g[0])[1], 4 * std::exp(4.0), 1e-9);
}

TEST(Tape, AnomaliesAreToldWithTheLineOfTheCall) {
  const AnomalyScope anomaly;
  Tensor x = leaf({0, 1});
  Tensor y = x * std::nan("");
  const std::string m = message_of([&] { y.sum().backward(); });
  EXPECT_NE(m.find("not a number"), std::string::npos) << m;
  EXPECT_NE(m.find("tape_test.cc"), std::string::npos) << m;
}

TEST(Tape, LongTapesAreTakenApartWithoutRecursion) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 50000; ++i) y = y + 1;
  y.sum().backward();
  EXPECT_EQ(values(x.grad())[0], 1);
}

TEST(Tape, ThreadsMayDeriveAtOnce) {
  Tensor w = leaf({1, 2, 3});
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 50; ++i) (w * 2).sum().backward();
    });
  for (std::thread& t : all) t.join();
  EXPECT_EQ(values(w.grad()), (std::vector<double>{400, 400, 400}));
}

// Found by comparing with PyTorch (scripts/compare_torch.py --gradients).
TEST(Tape, SlopesAtTheEdges) {
  auto leaf = [](std::initializer_list<double> v) { return tensor_of(std::vector<double>(v)).requires_grad_(); };
  auto of = [](const Tensor& made, const Tensor& x) { return grad({made.sum()}, {x})[0]; };
  auto expect = [](const Tensor& g, std::initializer_list<double> v) {
    EXPECT_TRUE(allclose(g, tensor_of(std::vector<double>(v)), 1e-9, 1e-12)) << g.str();
  };

  Tensor x = leaf({3, 4, 5});
  expect(of(index_select(x, 0, tensor_of(std::vector<std::int64_t>{1}).reshape({})), x), {0, 1, 0});
  const Tensor rows = randn({2, 3}, {.dtype = kFloat64}).requires_grad_();
  expect(of(index_select(rows, 1, tensor_of(std::vector<std::int64_t>{2}).reshape({})), rows).reshape({-1}),
         {0, 0, 1, 0, 0, 1});

  x = leaf({-3, 0.04, 0.26, 30});
  const Tensor quantized = fake_quantize_per_tensor_affine(x, 0.1, 0, -20, 127);
  EXPECT_TRUE(equal(quantized, fake_quantize_per_tensor_affine(x.detach(), 0.1, 0, -20, 127)));
  expect(of(quantized, x), {0, 1, 1, 0});

  x = leaf({0, 0, 0});
  expect(of(cosine_similarity(x, tensor_of(std::vector<double>{0, 3, 4}), 0, 1e-2), x), {0, 60, 80});

  x = leaf({0, 1, 0.5});
  expect(of(binary_cross_entropy(x, tensor_of(std::vector<double>{1, 0, 1})), x), {0, 0, -2.0 / 3});

  x = leaf({0, 0, 2});
  expect(of(xlogy(x, tensor_of(std::vector<double>{2, 0, 4})), x), {std::log(2.0), 0, std::log(4.0)});
  expect(of(xlogy(x, -3), x).narrow(0, 0, 2), {0, 0});
  expect(of(xlog1py(x, tensor_of(std::vector<double>{1, -3, 3})), x), {std::log(2.0), 0, std::log(4.0)});

  x = leaf({1, NAN, 7, 7});
  expect(of(max(x, 0).first, x), {0, 1, 0, 0});
  x = leaf({1, 7, 7});
  expect(of(max(x, 0, true).first, x), {0, 1, 0});
}

// An element that was filled counts once in the value's gradient, however often its index is named.
TEST(Tape, AFilledElementCountsOnce) {
  auto grid = [] { return (arange(12) % 5 - 2).to(kFloat32).view({3, 4}); };
  for (bool compiled : {false, true})
    for (bool inplace : {false, true})
      for (std::int64_t dim : {0, 1}) {
        auto f = [=](const Tensor& x, const Tensor& value, const Tensor& index) {
          const Tensor y = inplace ? (x * 1).index_fill_(dim, index, value) : index_fill(x, dim, index, value);
          return (y * (grid() + 1)).sum();
        };
        auto made = compile(f);
        const Tensor x = grid().requires_grad_(), value = full({}, 2.0).requires_grad_(), index = tensor({1, 1, -1});
        const std::vector<Tensor> got = grad({compiled ? made(x, value, index) : f(x, value, index)}, {x, value});
        // Differences are exact: the sum is linear in both.
        const NoGradScope off;
        EXPECT_NEAR(got[1].item<double>(), (f(x, value + 1, index) - f(x, value, index)).item<double>(), 1e-4);
        const Tensor filled = index_fill(zeros({3, 4}), dim, index, 1.0);
        EXPECT_TRUE(allclose(got[0], (grid() + 1) * (1 - filled)));
        if (compiled) {
          EXPECT_EQ(made.stats().eager_fallbacks, 0) << made.stats().last_fallback_reason;
        }
      }
}

// What the second run of a checkpoint keeps is checked as what the first one would have kept.
TEST(Tape, ACheckpointSeesThatItsFunctionWritesWhatItNeeds) {
  const auto written = [](const Tensor& x, const Tensor& w) {
    Tensor sum = zeros({3}), y = x;
    for (int i = 0; i < 3; ++i) {
      sum.add_(y);
      y = (y * w + x * sum).tanh();
    }
    return y;
  };
  const auto apart = [](const Tensor& x, const Tensor& w) {
    Tensor sum = zeros({3}), y = x;
    for (int i = 0; i < 3; ++i) {
      sum = sum + y;
      y = (y * w + x * sum).tanh();
    }
    return y;
  };
  const Tensor x = leaf({1, 2, 3}), w = leaf({0.5, 0.25, -1});
  EXPECT_THROW(written(x, w).sum().backward(), Error);
  EXPECT_THROW(checkpoint(written, x, w).sum().backward(), Error);
  const Tensor got = grad({checkpoint(apart, x, w).sum()}, {w})[0];
  EXPECT_TRUE(allclose(got, grad({apart(x, w).sum()}, {w})[0]));
  // What it is given may not be written either, but behind its derivative.
  const Tensor given = x * 2.0, y = checkpoint(apart, given, w);
  given.add_(1.0);
  EXPECT_THROW(y.sum().backward(), Error);
}

}  // namespace
}  // namespace reprise::test
