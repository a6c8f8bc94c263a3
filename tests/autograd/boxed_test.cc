// What a backward is given goes as it is read (Note [Boxed replays] in runtime/replay/boxed.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "device/host_memory.h"
#include "device/host_peak.h"
#include "reprise/reprise.h"
#include "runtime/replay/boxed.h"
#include "runtime/replay/pool.h"

namespace reprise::test {
namespace {

/// While it lives, replays that are given anything are boxed.
struct FromTheFirstByte {
  const std::int64_t before = runtime::boxed_worth.exchange(0);
  ~FromTheFirstByte() { runtime::boxed_worth = before; }
};

Tensor random(std::initializer_list<Int> sizes) { return rand(sizes) - 0.5; }
Tensor wanting(std::initializer_list<Int> sizes) { return random(sizes).requires_grad_(); }
std::int64_t live() { return device::host_memory_stats().live_bytes; }
std::int64_t released() { return stats().bytes_released_early; }

Tensor layers(Tensor x, const Tensor& w, int n) {
  for (int i = 0; i < n; ++i) x = matmul(x, w).tanh();
  return x;
}

TEST(Boxed, SavedTensorsGoWhileTheirBackwardRuns) {
  const FromTheFirstByte all;
  for (const BackwardKeeps keeps : {BackwardKeeps::All, BackwardKeeps::MinimumCut}) {
    auto f = compile([](const Tensor& x, const Tensor& w) { return layers(x, w, 6).square().mean(); },
                     {.name = "layers", .keeps = keeps});
    const Tensor x = random({16, 16}), w = wanting({16, 16});
    const Tensor expected = grad({layers(x, w, 6).square().mean()}, {w})[0];
    const std::int64_t before = live();
    for (int call = 0; call < 3; ++call) {
      const std::int64_t already = released();
      EXPECT_TRUE(allclose(grad({f(x, w)}, {w})[0], expected, 1e-4, 1e-5));
      // What five layers kept; of the last the loss reads what it keeps.
      EXPECT_GE(released() - already, 5 * 16 * 16 * 4) << static_cast<int>(keeps);
    }
    EXPECT_EQ(live(), before) << "and nothing is lost";
  }
}

TEST(Boxed, WhatSomebodyElseHoldsStays) {
  const FromTheFirstByte all;
  auto f = compile([](const Tensor& x, const Tensor& w) {
    const Tensor h = matmul(x, w).tanh();
    return std::pair(h, matmul(h, w).sin());
  });
  const Tensor x = wanting({8, 8}), w = wanting({8, 8});
  const auto [h, y] = f(x, w);
  const Tensor h_is = h.detach().clone(), x_is = x.detach().clone(), tangent = random({8, 8}), t_is = tangent.clone();
  const std::vector<Tensor> kept = grad({y}, {x, w}, {tangent}, {.retain_graph = true});
  const std::vector<Tensor> found = grad({y}, {x, w}, {tangent});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(equal(kept[i], found[i])) << "a walk that keeps the tape, and the last";
  EXPECT_TRUE(equal(h, h_is) && equal(x, x_is) && equal(tangent, t_is));
  EXPECT_THROW(grad({y}, {x}, {tangent}), Error) << "the tape is walked once";
}

TEST(Boxed, AnErrorBeforeTheReplayLeavesTheTape) {
  const FromTheFirstByte all;
  auto f =
      compile([](const Tensor& x, const Tensor& w) { return layers(x, w, 3); }, {.backward = BackwardCompile::Lazy});
  const Tensor x = random({8, 8}), w = wanting({8, 8});
  const Tensor y = f(x, w);
  f.seal();
  EXPECT_THROW(grad({y}, {w}, {ones({8, 8})}), Error) << "nothing may be compiled";
  EXPECT_THROW(grad({y}, {w}, {ones({8, 8})}), Error);
  f.reset();
  const std::int64_t already = released();
  EXPECT_TRUE(allclose(grad({f(x, w)}, {w}, {ones({8, 8})})[0], grad({layers(x, w, 3)}, {w}, {ones({8, 8})})[0], 1e-4));
  EXPECT_GT(released(), already);
}

TEST(Boxed, WalksThatAreCompiledGiveWhatNodesHaveKept) {
  const FromTheFirstByte all;
  CompiledAutograd compiled;
  const Tensor w = wanting({16, 16});
  for (int call = 0; call < 3; ++call) {
    const Tensor x = random({16, 16});
    const Tensor expected = grad({layers(x, w, 8).sum()}, {w})[0];
    const std::int64_t already = released(), before = live();
    {
      const Tensor y = layers(x, w, 8).sum();
      const auto on = compiled.enable();
      EXPECT_TRUE(allclose(grad({y}, {w})[0], expected, 1e-4, 1e-5));
    }
    EXPECT_GE(released() - already, 7 * 16 * 16 * 4);
    EXPECT_EQ(live(), before);
  }
}

// A step of many layers with a checkpoint each: of what it keeps and makes no more is alive than eagerly.
TEST(Boxed, ACheckpointedStepPeaksNoHigherThanEagerly) {
  constexpr int kLayers = 24;
  auto model = [](Tensor x, const std::vector<Tensor>& w) {
    for (const Tensor& one : w)
      x = checkpoint([](const Tensor& a, const Tensor& b) { return matmul(gelu(matmul(a, b)), b).tanh(); }, x, one);
    return x.square().mean();
  };
  std::vector<Tensor> w;
  for (int i = 0; i < kLayers; ++i) w.push_back((random({128, 128}) * 0.1).requires_grad_());
  const Tensor x = random({256, 128});
  // What the allocator held at most, and the pool.
  auto peak = [&](const auto& step) {
    step();
    release_pool();
    device::host_trim();
    const std::int64_t base = live();
    device::host_reset_peak();
    step();
    return device::host_memory_stats().peak_bytes - base + stats().pool_bytes;
  };
  const std::int64_t eager = peak([&] { grad({model(x, w)}, w); });
  auto f = compile(model, {.name = "model"});
  const std::int64_t compiled = peak([&] { grad({f(x, w)}, w); });
  EXPECT_LE(compiled, eager) << "bytes at the peak of a step";
}

TEST(Boxed, ThreadsShareAFunction) {
  const FromTheFirstByte all;
  auto f = compile([](const Tensor& x, const Tensor& w) { return layers(x, w, 4); });
  const Tensor w = random({12, 12});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const Tensor x = full({5 + t, 12}, 0.1 * (t + 1)), own = w.clone().requires_grad_();
      const Tensor expected = grad({layers(x, own, 4)}, {own}, {ones({5 + t, 12})})[0];
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(allclose(grad({f(x, own)}, {own}, {ones({5 + t, 12})})[0], expected, 1e-4, 1e-5));
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace reprise::test
