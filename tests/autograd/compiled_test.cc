// Derivatives of compiled functions, ahead of time and inside them (Note [Differentiable calls] in
// runtime/trace/joint.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

Tensor random(std::initializer_list<Int> sizes, DType t = kFloat64) { return rand(sizes, {.dtype = t}) - 0.5; }
void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-9) {
  ASSERT_EQ(a.defined(), b.defined());
  if (a.defined()) {
    EXPECT_TRUE(allclose(a, b, tolerance, tolerance)) << a.str() << "\n" << b.str();
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

Tensor layer(const Tensor& x, const Tensor& w, const Tensor& b) { return (linear(x, w, b).tanh() * x).softmax(-1); }

TEST(CompiledGrad, InsideAFunction) {
  auto step = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    Tensor p = w.detach().requires_grad_(), q = b.detach().requires_grad_();
    return grad({layer(x, p, q).square().sum()}, {p, q});
  };
  auto f = compile(step, {.name = "inside"});
  for (int n : {3, 5, 8}) {
    Tensor x = random({n, 4}), w = random({4, 4}), b = random({4});
    std::vector<Tensor> found = f(x, w, b), expected = step(x, w, b);
    expect_near(found[0], expected[0]), expect_near(found[1], expected[1]);
    EXPECT_FALSE(found[0].requires_grad());
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(CompiledGrad, AheadOfTime) {
  auto f = compile(layer, {.name = "layer"});
  for (int n : {3, 5, 8}) {
    Tensor x = random({n, 4}).requires_grad_(), w = random({4, 4}).requires_grad_(), b = random({4}).requires_grad_();
    Tensor weight = random({n, 4});
    Tensor y = f(x, w, b), z = layer(x, w, b);
    EXPECT_TRUE(y.requires_grad());
    expect_near(y, z);
    std::vector<Tensor> found = grad({y}, {x, w, b}, {weight}), expected = grad({z}, {x, w, b}, {weight});
    for (int i = 0; i < 3; ++i) expect_near(found[i], expected[i]);
  }
  EXPECT_EQ(f.stats().compilations, 1) << f.explain();
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  Tensor x = random({3, 4}), w = random({4, 4}), b = random({4});
  EXPECT_FALSE(f(x, w, b).requires_grad());
  EXPECT_EQ(f.stats().compilations, 2);
  x.requires_grad_();
  {
    const NoGradScope off;
    EXPECT_FALSE(f(x, w, b).requires_grad());
  }
  EXPECT_EQ(f.stats().compilations, 2);
  expect_near(grad({f(x, w, b).exp().sum()}, {x})[0], grad({layer(x, w, b).exp().sum()}, {x})[0]);
}

/// What a function's backward keeps at the sizes of its trace (its one specialization).
std::int64_t bytes_kept(const std::string& explained) {
  const std::string before = "of their own, ";
  const std::size_t at = explained.find(before);
  EXPECT_NE(at, std::string::npos) << explained;
  return at == std::string::npos ? -1 : std::stoll(explained.substr(at + before.size()));
}

// Of composites what backward reads is kept: statistics, and of a pool's places a byte each; the rows are made again
// from what a product gave.
TEST(CompiledGrad, KeepsPartsOfComposites) {
  constexpr int kSide = 16, kChannels = 8;
  const Tensor w = random({kChannels, 3, 3, 3}, kFloat32).requires_grad_(),
               scale = random({kChannels}, kFloat32).requires_grad_(),
               shift = random({kChannels}, kFloat32).requires_grad_();
  auto block = [](const Tensor& x, const Tensor& w, const Tensor& scale, const Tensor& shift) {
    return max_pool2d(relu(batch_norm(conv2d(x, w, {}, 1, 1), scale, shift, {}, {}, true, 0.1, 1e-5)), 2);
  };
  auto f = compile(block, {.name = "block"});
  const Tensor x = random({4, 3, kSide, kSide}, kFloat32);
  const Tensor weight = random({4, kChannels, kSide / 2, kSide / 2}, kFloat32);
  std::vector<Tensor> found = grad({f(x, w, scale, shift)}, {w, scale, shift}, {weight}),
                      expected = grad({block(x, w, scale, shift)}, {w, scale, shift}, {weight});
  for (int i = 0; i < 3; ++i) expect_near(found[i], expected[i], 1e-4);
  const std::int64_t convolved = 4 * kChannels * kSide * kSide * 4, places = convolved / 16,
                     statistics = 3 * kChannels * 4;
  EXPECT_LE(bytes_kept(f.explain()), convolved + places + statistics) << f.explain();
}

// Rules name the operators that the program calls, also those that are taken apart.
TEST(CompiledGrad, CheckpointRulesKnowComposites) {
  auto kept = [](CheckpointPolicy of_softmax) {
    auto f = compile(
        [=](const Tensor& x, const Tensor& y) {
          auto rule = [=](std::string_view op) {
            return op == "softmax" ? of_softmax : CheckpointPolicy::MustRecompute;
          };
          return checkpoint(
              rule, [](const Tensor& a, const Tensor& b) { return a.exp().softmax(-1) * b; }, x, y);
        },
        {.name = "ruled"});
    Tensor x = random({8, 64}).requires_grad_(), y = random({8, 64}).requires_grad_(), weight = random({8, 64});
    std::vector<Tensor> found = grad({f(x, y)}, {x, y}, {weight}),
                        expected = grad({x.exp().softmax(-1) * y}, {x, y}, {weight});
    expect_near(found[0], expected[0]), expect_near(found[1], expected[1]);
    return bytes_kept(f.explain());
  };
  EXPECT_EQ(kept(CheckpointPolicy::MustRecompute), 0);
  EXPECT_GE(kept(CheckpointPolicy::MustSave), 8 * 64 * 8);
}

TEST(CompiledGrad, CapturedParameters) {
  Tensor w = random({4, 4}).requires_grad_();
  auto eager = [w](const Tensor& x) { return linear(x, w).relu().sum(); };
  auto f = compile(eager, {.name = "captures"});
  for (int n : {2, 6}) {
    Tensor x = random({n, 4});
    f(x).backward();
    Tensor found = w.grad();
    w.set_grad(Tensor());
    eager(x).backward();
    expect_near(found, w.grad());
    w.set_grad(Tensor());
  }
  EXPECT_EQ(f.stats().compilations, 1) << f.explain();
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  w.requires_grad_(false);
  EXPECT_FALSE(f(random({2, 4})).requires_grad());
}

TEST(CompiledGrad, BetweenOthers) {
  Tensor w = random({4, 4}).requires_grad_(), x = random({3, 4});
  auto f = compile(layer, {.name = "between"});
  Tensor b = random({4});
  auto run = [&](auto&& g) { return grad({g(x * w.sum(), w.t(), b).exp().sum()}, {w})[0]; };
  expect_near(run(f), run(layer));
}

TEST(CompiledGrad, ArgumentsThatAreWritten) {
  auto write = [](const Tensor& out, const Tensor& x) {
    out.select(0, 1).copy_(x * x);
    out.mul_(x);
    return out.sum();
  };
  auto f = compile(write, {.name = "writes"});
  auto run = [&](auto&& g, const Tensor& x, const Tensor& start) {
    Tensor out = start * 1;
    Tensor y = g(out, x);
    return grad({(out * out).sum() + y}, {x, start});
  };
  for (int n : {2, 5}) {
    Tensor x = random({n}).requires_grad_(), start = random({3, n}).requires_grad_();
    std::vector<Tensor> found = run(f, x, start), expected = run(write, x, start);
    expect_near(found[0], expected[0]), expect_near(found[1], expected[1]);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // One that wants nothing before the call.
  auto fill = [&](auto&& g) {
    Tensor x = ones({3}, {.dtype = kFloat64}).requires_grad_(), out = zeros({2, 3}, {.dtype = kFloat64});
    g(out, x);
    EXPECT_TRUE(out.requires_grad());
    return grad({(out * 3).sum()}, {x})[0];
  };
  expect_near(fill(f), fill(write));
}

TEST(CompiledGrad, ResultsThatShareMemory) {
  auto share = [](const Tensor& x) {
    Tensor y = x * 2;
    return std::vector<Tensor>{y, y.slice(0, 0, 2), y.detach(), x};
  };
  auto f = compile(share, {.name = "shares"});
  Tensor x = random({4}).requires_grad_();
  std::vector<Tensor> r = f(x);
  EXPECT_TRUE(r[0].requires_grad());
  EXPECT_TRUE(r[1].requires_grad());
  EXPECT_FALSE(r[2].requires_grad());
  EXPECT_TRUE(r[0].shares_storage_with(r[1]));
  EXPECT_TRUE(r[3].is_same(x));
  expect_near(grad({r[0].sum() + r[1].sum()}, {x})[0], tensor({4.0, 4.0, 2.0, 2.0}, {.dtype = kFloat64}));
}

TEST(CompiledGrad, ArgumentsThatAreSavedAndWrittenSinceAreAnError) {
  auto f = compile([](const Tensor& x, const Tensor& w) { return x.mm(w); }, {.name = "product"});
  Tensor x = random({4, 4}).requires_grad_(), w = random({4, 4});
  Tensor y = f(x, w);
  w.mul_(2);
  EXPECT_NE(message_of([&] { y.sum().backward(); }).find("written since"), std::string::npos);
}

// The joint graph is derived again.
TEST(CompiledGrad, DerivativesOfDerivatives) {
  auto body = [](const Tensor& x, const Tensor& w) { return (matmul(x, w).tanh().exp() * x.sin()).sum(); };
  auto f = compile(body, {.name = "twice"});
  Tensor x = random({4, 4}).requires_grad_(), w = random({4, 4}).requires_grad_();
  auto orders = [&](const auto& of) {
    std::vector<Tensor> all;
    Tensor y = of(x, w);
    for (int order = 0; order < 3; ++order) {
      const std::vector<Tensor> g = grad({y}, {x, w}, {}, {.create_graph = true});
      all.insert(all.end(), {g[0].detach(), g[1].detach()});
      y = (g[0] * g[0]).sum() + g[1].sum();
    }
    return all;
  };
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> found = orders(f), expected = orders(body);
    for (std::size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i]);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // A gradient penalty: the walk that adds to leaves goes through both.
  auto penalty = [&](const auto& of) {
    w.set_grad(Tensor());
    const Tensor g = grad({of(x, w)}, {x}, {}, {.create_graph = true})[0];
    ((g.square().sum() - 1).square() + of(x, w)).backward();
    return w.grad().clone();
  };
  expect_near(penalty(f), penalty(body));
  // What its argument is made of is kept where the program says so.
  Tensor y = random({4, 4});
  auto product = [](const Tensor& a, const Tensor& b) { return a + (b * b).sum().exp(); };
  auto lean = compile(product, {.name = "lean"}), kept = compile(product, {.name = "kept", .second_order = true});
  auto twice = [&](const auto& of) {
    const Tensor a = x * 2, g = grad({of(a, y * w)}, {w}, {ones({4, 4})}, {.create_graph = true})[0];
    return grad({g.sum()}, {w})[0];
  };
  expect_near(twice(kept), twice(product));
  // Written: an error that says so.
  auto writes = compile([](Tensor a, const Tensor& b) { return a.mul_(b).sum(); }, {.name = "writes"});
  Tensor a = x * 1.0;
  EXPECT_NE(message_of([&] { grad({writes(a, w)}, {w}, {}, {.create_graph = true}); }).find("is written"),
            std::string::npos);
  auto inside = compile([](const Tensor& x) {
    Tensor g = grad({x.exp().sum()}, {x}, {}, {.create_graph = true})[0];
    return grad({(g * g).sum()}, {x})[0];
  });
  expect_near(inside(x), x.detach().exp().square() * 2);
}

TEST(CompiledGrad, FunctionsOfTheProgram) {
  struct Clip : reprise::Function<Clip> {
    static Tensor forward(FunctionContext& c, Tensor x) {
      c.save_for_backward({x});
      return x.clamp(-0.1, 0.1);
    }
    static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) {
      return {g[0] * c.saved_tensors()[0].abs()};
    }
  };
  auto eager = [](const Tensor& x) { return Clip::apply(x * 2).sum(); };
  auto f = compile(eager, {.name = "clip"});
  Tensor x = random({6}).requires_grad_();
  expect_near(grad({f(x)}, {x})[0], grad({eager(x)}, {x})[0]);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(CompiledGrad, RandomNumbersAreMadeAgain) {
  auto eager = [](const Tensor& x) { return x.dropout(0.5).exp().sum(); };
  auto f = compile(eager, {.name = "dropout"});
  Tensor x = random({64}).requires_grad_();
  manual_seed(3);
  Tensor found = grad({f(x)}, {x})[0];
  manual_seed(3);
  expect_near(found, grad({eager(x)}, {x})[0]);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Forward's numbers rise from 0, and each node of the backward has one of them.
TEST(CompiledGrad, NodesOfABackwardSayWhoseTheyAre) {
  auto f = compile(
      [](const Tensor& x, const Tensor& k, const Tensor& g, const Tensor& b, const Tensor& w) {
        Tensor mean = zeros({3}, x.options()), var = ones({3}, x.options());
        return linear(batch_norm(conv2d(x, k), g, b, mean, var, true, 0.1, 1e-5, false).relu().flatten(1), w).sum();
      },
      {.name = "net"});
  auto leaf = [](std::initializer_list<Int> s) { return random(s).requires_grad_(); };
  Tensor x = random({2, 2, 5, 5}), k = leaf({3, 2, 3, 3}), g = leaf({3}), b = leaf({3}), w = leaf({4, 27});
  f(x, k, g, b, w).backward();
  const std::string text = f.explain(Detail::Graph);
  const std::size_t seam = text.find("differentiable: ");
  ASSERT_NE(seam, std::string::npos) << text;
  auto numbers = [](const std::string& s, const std::string& mark) {
    std::vector<int> all;
    for (std::size_t at = s.find(mark); at != std::string::npos; at = s.find(mark, at + 1))
      all.push_back(std::atoi(s.c_str() + at + mark.size()));
    return all;
  };
  const std::vector<int> forward = numbers(text.substr(0, seam), "; #"), of = numbers(text.substr(seam), " of #");
  ASSERT_FALSE(forward.empty());
  EXPECT_TRUE(std::is_sorted(forward.begin(), forward.end())) << text;
  EXPECT_GT(of.size(), 5u);
  for (int n : of) EXPECT_LE(n, forward.back()) << text;
  // Launches, which may be several nodes, have their numbers.
  const std::string launches = f.explain(Detail::Launches);
  const std::size_t back = launches.find("differentiable: ");
  std::istringstream lines(launches);
  int forward_launches = 0, back_launches = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("loop ") && !line.starts_with("native ")) continue;
    const bool behind = static_cast<std::size_t>(lines.tellg()) > back;
    EXPECT_NE(line.find("; #"), std::string::npos) << line;
    if (!behind) {
      EXPECT_EQ(line.find(" of #"), std::string::npos) << line;
    }
    ++(behind ? back_launches : forward_launches);
  }
  EXPECT_NE(launches.find(" of #", back), std::string::npos) << launches;
  EXPECT_GT(forward_launches, 1);
  EXPECT_GT(back_launches, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(CompiledGrad, VariablesOfTheSurroundingsKeepTheirPlaceOnTheTape) {
  Tensor kept = zeros({4}, {.dtype = kFloat64});
  auto f = compile(
      [&kept](const Tensor& x) {
        kept = x * 3;
        return x.sum();
      },
      {.name = "keeps"});
  Tensor x = random({4}).requires_grad_();
  f(x);
  expect_near(grad({kept.sum()}, {x})[0], full({4}, 3.0, {.dtype = kFloat64}));
}

TEST(CompiledGrad, BackwardInsideFallsBackAndIsRight) {
  Tensor w = random({4}).requires_grad_();
  auto f = compile(
      [w](const Tensor& x) {
        (x * w).sum().backward();
        return w.grad().clone();
      },
      {.name = "backward_inside"});
  Tensor x = random({4});
  expect_near(f(x), x);
  expect_near(w.grad(), x);
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
}

// What the tape keeps of a tensor that goes is no variable that the function destroys.
TEST(CompiledGrad, TensorsOnTheTapeGoWithTheFunctionsOwn) {
  auto f = compile([](Tensor x, Tensor k) {
    const Tensor wide = pad(x, {k.item().to_int(), 0});
    return (wide * 2).sum() + pad(x * x, {1, 1}).sum();
  });
  for (int i = 0; i < 3; ++i) {
    const Tensor leaf = ones({3}).requires_grad_(), x = (leaf * 1.5).view({3});
    f(x, full({}, 2, {kInt64})).backward();
    EXPECT_TRUE(leaf.grad().defined());
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise::test
