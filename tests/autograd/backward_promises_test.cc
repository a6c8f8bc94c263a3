// A backward keeps what was promised of its function: warm_up, wait, seal, budgets, callbacks, checks, statistics
// (Note [Backwards of a function] in runtime/trace/joint.h).
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor random(std::initializer_list<Int> sizes) { return rand(sizes) - 0.5; }
Tensor wanting(std::initializer_list<Int> sizes) { return random(sizes).requires_grad_(); }

/// Of the process, what a call that was prepared makes none of.
struct Made {
  std::int64_t kernels, traces, recordings;
  static Made now() {
    const ProcessStats s = stats();
    return {s.kernels_compiled, s.traces, s.recordings_made};
  }
  std::string since() const {
    const Made n = now();
    return std::to_string(n.kernels - kernels) + " kernels, " + std::to_string(n.traces - traces) + " traces, " +
           std::to_string(n.recordings - recordings) + " recordings";
  }
};
constexpr char kNothing[] = "0 kernels, 0 traces, 0 recordings";

struct Shape {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
};
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"pointwise", [](const Tensor& x, const Tensor& w) { return (x * w.narrow(0, 0, 1)).tanh() * x.exp(); }},
      {"product", [](const Tensor& x, const Tensor& w) { return matmul(x, w).relu(); }},
      {"softmax", [](const Tensor& x, const Tensor& w) { return (matmul(x, w).softmax(-1) * x).log_softmax(-1); }},
      {"norm", [](const Tensor& x, const Tensor& w) { return layer_norm(matmul(x, w), {w.size(1)}); }},
      {"loss", [](const Tensor& x, const Tensor& w) { return (matmul(x, w) - x).square().mean(); }},
      {"transposed", [](const Tensor& x, const Tensor& w) { return matmul(x, w).transpose(0, 1) * 2.0; }},
      {"view", [](const Tensor& x, const Tensor& w) { return matmul(x, w).transpose(0, 1); }},
      {"narrow",
       [](const Tensor& x, const Tensor& w) {
         return cat({matmul(x, w).narrow(0, 1, 2), x}, 0);
       }},
      {"reshape", [](const Tensor& x, const Tensor& w) { return matmul(x, w).reshape({-1}) * 3.0; }},
      {"dropout", [](const Tensor& x, const Tensor& w) { return dropout(matmul(x, w), 0.5, true); }},
      {"mean over rows", [](const Tensor& x, const Tensor& w) { return matmul(x, w) / Int(x.size(0)); }},
      {"strided saved", [](const Tensor& x, const Tensor& w) { return matmul(x.transpose(0, 1), x).sin() * w; }},
  };
  return all;
}

TEST(BackwardPromises, BehindWarmUpAndSealNothingIsMade) {
  for (const BackwardCompile when : {BackwardCompile::Auto, BackwardCompile::Lazy, BackwardCompile::Ahead})
    for (const OnMiss on_miss : {OnMiss::Wait, OnMiss::ServeMeanwhile})
      for (const Shape& s : shapes()) {
        SCOPED_TRACE(s.name);
        auto f = compile(s.f, {.name = "warm", .on_miss = on_miss, .backward = when});
        const Tensor x = wanting({4, 4}), w = wanting({4, 4}), y = wanting({7, 4});
        f.warm_up(x, w), f.warm_up(y, w);
        f.seal();
        const std::string what = s.name;
        for (const Tensor& of : {x, y, x}) {
          const Tensor tangent = zeros_like(s.f(of, w).detach());
          tangent.fill_(0.75);
          const Made before = Made::now();
          const Tensor found = f(of, w);
          const std::vector<Tensor> grads = grad({found}, {of, w}, {tangent});
          // What is a view of the product: the gradient that comes in for that lies in another order, and is copied.
          if (what != "view") EXPECT_EQ(before.since(), kNothing);
          EXPECT_EQ(f.stats().backward.compilations, 1);
          if (what == "dropout") continue;
          const std::vector<Tensor> expected = grad({s.f(of, w)}, {of, w}, {tangent});
          for (int i = 0; i < 2; ++i) EXPECT_TRUE(allclose(grads[i], expected[i], 1e-4, 1e-4)) << i;
        }
        EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
        EXPECT_EQ(f.stats().backward.eager_fallbacks, 0);
        EXPECT_GE(f.stats().backward.replays, 2);
      }
}

TEST(BackwardPromises, AThousandSealedStepsCompileNothing) {
  auto step = [](const Tensor& x, const Tensor& w, const Tensor& v) {
    return (matmul(dropout(gelu(matmul(x, w)), 0.1, true), v) - x).square().mean();
  };
  auto f = compile(step, {.name = "step"});
  const Tensor w = wanting({8, 16}), v = wanting({16, 8});
  f.warm_up(random({4, 8}), w, v);
  f.seal();
  const std::vector<Tensor> xs = {random({4, 8}), random({4, 8})};
  for (int i = 0; i < 2; ++i) f(xs[0], w, v).backward();  // the engine's own: sums of gradients
  const Made before = Made::now();
  for (int i = 0; i < 1000; ++i) f(xs[static_cast<std::size_t>(i % 2)], w, v).backward();
  EXPECT_EQ(before.since(), kNothing);
  EXPECT_EQ(f.stats().backward.recordings_made, 1);
}

TEST(BackwardPromises, ASealedFunctionsBackwardThatWouldCompileIsAnError) {
  auto f =
      compile([](const Tensor& x) { return x.sin() * x; }, {.name = "unprepared", .backward = BackwardCompile::Lazy});
  const Tensor x = wanting({5}), y = wanting({5});
  f(x);
  f.seal();
  EXPECT_EQ(f.stats().backward.specializations, 0);
  const Tensor given = ones({5});
  const Tensor z = f(x) + y * 2.0;
  const std::string text = error_of([&] { z.backward(given); }).what();
  EXPECT_NE(text.find("unprepared/0 backward"), std::string::npos) << text;
  EXPECT_NE(text.find("sealed"), std::string::npos) << text;
  EXPECT_FALSE(x.grad().defined() || y.grad().defined()) << "nothing was accumulated";
  f.reset();
  f(x).backward(given);
  EXPECT_TRUE(allclose(x.grad(), x.detach().cos() * x.detach() + x.detach().sin(), 1e-5, 1e-5));
}

TEST(BackwardPromises, TangentsOfOtherLayouts) {
  auto make = [] { return compile([](const Tensor& x) { return x.sin() * 2.0; }, {.name = "tangent"}); };
  const Tensor x = wanting({4, 6});
  const Tensor expected = x.detach().cos() * 2.0;
  auto open = make();
  open.warm_up(x);
  EXPECT_EQ(open.stats().backward.compilations, 1);
  EXPECT_TRUE(allclose(grad({open(x)}, {x}, {ones({6, 4}).transpose(0, 1)})[0], expected, 1e-5, 1e-5));
  EXPECT_EQ(open.stats().backward.compilations, 2) << "of the backward alone";
  EXPECT_EQ(open.stats().compilations, 1);
  auto sealed = make();
  sealed.warm_up(x);
  sealed.seal();
  EXPECT_TRUE(allclose(grad({sealed(x).sum()}, {x})[0], expected, 1e-5, 1e-5));
  EXPECT_TRUE(allclose(grad({sealed(x)}, {x}, {ones({6, 4}).transpose(0, 1)})[0], expected, 1e-5, 1e-5));
  EXPECT_EQ(sealed.stats().backward.compilations, 1);
  EXPECT_EQ(sealed.stats().backward.copied_tangents, 2);
}

TEST(BackwardPromises, AResultThatHasNoGradientIsZerosOfItsLayout) {
  auto body = [](const Tensor& x) { return std::vector<Tensor>{x.sin(), x.cos().transpose(0, 1)}; };
  auto f = compile(body, {.name = "two"});
  const Tensor x = wanting({3, 5});
  f.warm_up(x);
  f.seal();
  EXPECT_TRUE(allclose(grad({f(x)[0]}, {x}, {ones({3, 5})})[0], x.detach().cos(), 1e-5, 1e-5));
  EXPECT_TRUE(allclose(grad({f(x)[1]}, {x}, {ones({5, 3})})[0], -x.detach().sin(), 1e-5, 1e-5));
  EXPECT_EQ(f.stats().backward.compilations, 1);
}

// A guard that the derivative alone asks is one of the forward, where the two are compiled together.
TEST(BackwardPromises, ItsGuardsReachTheForwards) {
  struct Halves : Function<Halves> {
    static Tensor forward(FunctionContext&, Tensor x) { return x * 2.0; }
    static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) {
      if (g[0].size(0) > 8) return {g[0] + g[0]};
      return {g[0] * 2.0};
    }
  };
  auto f =
      compile([](const Tensor& x) { return Halves::apply(x); }, {.name = "guards", .backward = BackwardCompile::Ahead});
  for (int n : {4, 5, 16, 20, 6}) {
    const Tensor x = wanting({n});
    EXPECT_TRUE(equal(grad({f(x)}, {x}, {ones({n})})[0], full({n}, 2.0)));
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().backward.compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks + f.stats().backward.eager_fallbacks, 0);
}

TEST(BackwardPromises, WhenItIsCompiled) {
  struct Row {
    BackwardCompile when;
    bool sizes, ahead;
  };
  for (const Row& r : {Row{BackwardCompile::Auto, false, false}, Row{BackwardCompile::Auto, true, true},
                       Row{BackwardCompile::Lazy, true, false}, Row{BackwardCompile::Ahead, false, true}}) {
    auto f = compile([=](const Tensor& x) { return r.sizes ? x.sin().mean() : x.sin() * x; }, {.backward = r.when});
    const Tensor x = wanting({5});
    const Tensor y = f(x);
    EXPECT_EQ(f.stats().backward.compilations, r.ahead);
    y.backward(r.sizes ? Tensor() : ones({5}));
    EXPECT_EQ(f.stats().backward.compilations, 1);
    EXPECT_EQ(f.stats().backward.calls, 1);
  }
}

TEST(BackwardPromises, InTheBackgroundWithItsFunction) {
  auto f = compile([](const Tensor& x) { return x.sin() * x.cos(); },
                   {.name = "meanwhile", .on_miss = OnMiss::ServeMeanwhile});
  const Tensor x = wanting({6}), tangent = ones({6});
  f(x);
  f.wait();
  EXPECT_EQ(f.stats().building + f.stats().backward.building, 0);
  EXPECT_EQ(f.stats().backward.compilations, 1);
  const Tensor y = f(x);
  EXPECT_EQ(f.stats().replays, 1);
  const Made before = Made::now();
  grad({y}, {x}, {tangent});
  const Made after = Made::now();
  EXPECT_EQ(after.kernels - before.kernels, 0);
  EXPECT_EQ(after.traces - before.traces, 0);
  EXPECT_EQ(f.stats().backward.replays, 1);
  // One that nobody has prepared runs eagerly meanwhile.
  auto lazy = compile([](const Tensor& x) { return x.sin() * x.cos(); },
                      {.name = "lazy", .on_miss = OnMiss::ServeMeanwhile, .backward = BackwardCompile::Lazy});
  lazy.warm_up(x.detach()), lazy(x), lazy.wait();
  const Tensor z = lazy(x);
  EXPECT_TRUE(allclose(grad({z}, {x}, {tangent})[0], (x.detach() * 2.0).cos(), 1e-5, 1e-5));
  EXPECT_EQ(lazy.stats().backward.eager_fallbacks, 1);
  lazy.wait();
  EXPECT_EQ(lazy.stats().backward.building, 0);
  EXPECT_EQ(lazy.stats().backward.compilations, 1);
}

TEST(BackwardPromises, BudgetsCallbacksChecksAndProfiles) {
  std::vector<std::string> told;
  auto f = compile([](const Tensor& x) { return x.sin() * x; },
                   {.name = "budget", .recordings_max = 4, .check = 1, .backward = BackwardCompile::Lazy});
  f.set_miss_callback([&](const Miss& m) { told.push_back(m.function); });
  f.profile(true);
  for (int n = 3; n < 13; ++n) {
    const Tensor x = wanting({n});
    grad({f(x)}, {x}, {ones({n})});
  }
  const Stats s = f.stats();
  EXPECT_LE(s.recordings + s.backward.recordings, 4);
  EXPECT_GT(s.backward.evictions, 0);
  EXPECT_EQ(s.backward.checks, 10);
  EXPECT_GT(s.backward.code_bytes, 0);
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const std::string& n) { return n == "budget/0 backward"; }));
  EXPECT_TRUE(std::any_of(s.launches.begin(), s.launches.end(), [](const Stats::Launch& l) {
    return l.specialization.find("backward") != std::string::npos;
  }));
}

TEST(BackwardPromises, StaticSizesHoldForIt) {
  auto f = compile([](const Tensor& x) { return x.sin() * x; }, {.name = "static", .static_sizes = true});
  for (int n : {3, 4}) {
    const Tensor x = wanting({n});
    grad({f(x)}, {x}, {ones({n})});
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().backward.compilations, 2);
}

TEST(BackwardPromises, CodeCountsWithItsFunctions) {
  auto f = compile([](const Tensor& x) { return x.sin() * x; }, {.name = "code", .code_bytes = 1});
  const Tensor x = wanting({5}), tangent = ones({5});
  f(x);
  const Tensor y = f(x);
  EXPECT_TRUE(allclose(grad({y}, {x}, {tangent})[0], x.detach().cos() * x.detach() + x.detach().sin(), 1e-5, 1e-5));
  EXPECT_EQ(f.stats().backward.compilations, 0) << "there is no room";
  EXPECT_EQ(f.stats().backward.eager_fallbacks, 1);
}

// Where the generator stood is no size: whatever it is, one recording serves.
TEST(BackwardPromises, ACheckpointedDropoutIsOneRecording) {
  auto body = [](const Tensor& x, const Tensor& w) {
    return checkpoint([](const Tensor& a, const Tensor& b) { return dropout(matmul(a, b).relu(), 0.3, true); }, x, w)
        .square();
  };
  auto f = compile(body, {.name = "dropped"});
  const Tensor x = wanting({6, 6}), w = wanting({6, 6}), tangent = ones({6, 6});
  for (int i = 0; i < 100; ++i) {
    manual_seed(100 + i % 50);
    const std::vector<Tensor> found = grad({f(x, w)}, {x, w}, {tangent});
    manual_seed(100 + i % 50);
    const std::vector<Tensor> expected = grad({body(x, w)}, {x, w}, {tangent});
    for (int k = 0; k < 2; ++k) ASSERT_TRUE(allclose(found[k], expected[k], 1e-4, 1e-4)) << i;
  }
  EXPECT_EQ(f.stats().backward.recordings_made, 1);
  EXPECT_EQ(f.stats().recordings_made, 1);
}

TEST(BackwardPromises, BackwardsOutliveTheirFunction) {
  const Tensor x = wanting({5});
  Tensor y;
  {
    auto f = compile([](const Tensor& x) { return x.sin() * x; }, {.backward = BackwardCompile::Lazy});
    y = f(x);
  }
  EXPECT_TRUE(allclose(grad({y}, {x}, {ones({5})})[0], x.detach().cos() * x.detach() + x.detach().sin(), 1e-5, 1e-5));
  auto f = compile([](const Tensor& x) { return x.sin() * x; }, {.backward = BackwardCompile::Ahead});
  y = f(x);
  f.reset();
  EXPECT_TRUE(allclose(grad({y}, {x}, {ones({5})})[0], x.detach().cos() * x.detach() + x.detach().sin(), 1e-5, 1e-5));
}

TEST(BackwardPromises, ThreadsWarmUpSealAndWalk) {
  auto f = compile([](const Tensor& x) { return (x.sin() * x).mean(); }, {.name = "threads", .recordings_max = 3});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const int n = 2 + (i + t) % 5;
        const Tensor x = ones({n}).requires_grad_();
        if (i % 10 == 0) f.warm_up(x);
        if (t == 0 && i == 20) f.reset();
        f.stats(), f.wait();
        const Tensor g = grad({f(x)}, {x})[0];
        wrong += !allclose(g, full({n}, (std::sin(1.0) + std::cos(1.0)) / n), 1e-5, 1e-5);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// What a backward is called with is known of the traced call, with the sizes of what the function has captured.
TEST(BackwardAhead, IsRecordedForTheSizesOfCapturedTensors) {
  for (const bool first : {true, false}) {
    const Tensor w = ones({5, 7}).requires_grad_(), part = ones({9, 5}).t().slice(1, 0, 8, 2);
    auto f = compile(
        [&](const Tensor& x) {
          const Tensor a = x.mm(w).tanh(), b = (part * 2.0).cumsum(1);
          return first ? a.sum() * b : a.sum(0).outer(b.sum(0).exp() * a.sum());
        },
        {.backward = BackwardCompile::Ahead});
    const Tensor r = f(ones({3, 5}));
    const auto made = f.stats().backward;
    EXPECT_EQ(made.compilations, 1);
    (r * r).sum().backward();
    EXPECT_EQ(f.stats().backward.compilations, 1);
    EXPECT_EQ(f.stats().backward.recordings_made, made.recordings_made);
    EXPECT_EQ(f.stats().backward.eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

// Of an argument that is written the call keeps a copy for its backward, which lies as a copy does.
TEST(BackwardAhead, KeepsCopiesOfWrittenArgumentsAsTheyLie) {
  for (const int layout : {0, 1, 2}) {
    auto f = compile([](const Tensor& x) { return x.copy_(tanh(x) * 2.0 + x), x * 1.0; });
    const Tensor leaf = ones({2, 4}).requires_grad_(), y = leaf * 1.5;
    const Tensor x = layout == 0 ? y : layout == 1 ? y.t() : y.slice(1, 0, 4, 2);
    f.warm_up(x);
    f.seal();
    f(x).sum().backward();
    EXPECT_TRUE(leaf.grad().defined()) << layout;
  }
}

}  // namespace
}  // namespace reprise::test
