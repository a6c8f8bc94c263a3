// Threads and streams that share the pool, executable graphs and their blocks of addresses. With REPRISE_SIM_ASYNC the
// simulator runs queued work late, as a device does.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaStreams = Cuda;

// A replay with checks comes back to the pool for what they have noted.
TEST_F(CudaStreams, TwoThreadsQueueIntoOne) {
  Tensor table = ones({64, 8}, {.device = d}), ids = tensor_of(std::vector<std::int64_t>{1, 2, 3}).to(d),
         x = ones({64, 64}, {.device = d});
  auto lookup = compile([](Tensor w, Tensor i) { return embedding(w, i) * 2.0; }, {.name = "lookup"});
  auto busy = compile(
      [](Tensor x) {
        Tensor h = x * 3.0;
        return softmax(h - h.sum(1, true), -1).cumsum(0);
      },
      {.name = "busy", .mode = "no-fuse"});
  lookup(table, ids), busy(x);
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int n = 1; !over; ++n) {
      busy(x);
      if (n % 8 == 0) synchronize(d);
    }
  });
  for (int i = 0; i < 60; ++i) {
    std::vector<float> got = lookup(table, ids).to_vector<float>();
    EXPECT_EQ(std::count(got.begin(), got.end(), 2.0f), 24) << i;
  }
  over = true;
  other.join();
}

// The block of a new graph was never a result of another stream, whose work may not be over.
TEST_F(CudaStreams, ANewGraphOnAnotherStreamDisturbsNothing) {
  Tensor x = ones({64, 64}, {.device = d}), z = ones({5}, {.device = d});
  auto sum = compile([](Tensor x) { return x.sum(1); }, {.name = "sum"});
  auto twice = compile([](Tensor y) { return y * 2.0; }, {.name = "twice"});
  twice(sum(x));
  synchronize(d);
  Stream s = Stream::create(d);
  for (int n = 1; n < 40; ++n) {
    Tensor w = twice(sum(x));  // the sum's result dies here, and twice may still be queued
    std::vector<float> of_new;
    {
      StreamGuard guard(s);
      auto f = compile([n](Tensor z) { return z * static_cast<double>(n) + 1.0; }, {.name = "new"});
      of_new = f(z).to_vector<float>();
    }
    EXPECT_EQ(of_new, std::vector<float>(5, static_cast<float>(n + 1)));
    EXPECT_EQ(w.to_vector<float>(), std::vector<float>(64, 128.0f)) << n;
  }
}

TEST_F(CudaStreams, AGraphThatRanInAStreamThatIsGone) {
  Tensor x = ones({100}, {.device = d});
  synchronize(d);
  for (int i = 0; i < 20; ++i) {
    auto f = compile([](Tensor x) { return x + 1.0; }, {.name = "f"});
    {
      Stream s = Stream::create(d);
      StreamGuard guard(s);
      f(x);
      s.synchronize();
    }
    EXPECT_EQ(f(x).to_vector<float>(), std::vector<float>(100, 2.0f));
  }
}

// Positions are words of one graph.
TEST_F(CudaStreams, PositionsThatGrowMakeFewGraphs) {
  Tensor cache = zeros({100, 16}, {.device = d}), x = ones({1, 16}, {.device = d});
  auto step = compile(
      [](Tensor cache, Tensor x, Int pos) {
        cache.slice(0, pos, pos + 1).copy_(x * 2.0);
        return cache.slice(0, 0, pos + 1).sum();
      },
      {.name = "step"});
  for (std::int64_t pos = 0; pos < 100; ++pos)
    EXPECT_EQ(step(cache, x, pos).item<float>(), 32.0f * static_cast<float>(pos + 1));
  const Stats s = step.stats();
  EXPECT_EQ(s.compilations, 1);
  EXPECT_LE(s.recordings_made, 2);
  for (int round = 0; round < 3; ++round)
    for (std::int64_t pos = 90; pos < 100; ++pos) step(cache, x, pos);
  const std::int64_t made = step.stats().recordings_made;
  for (std::int64_t pos = 90; pos < 100; ++pos) step(cache, x, pos);
  EXPECT_EQ(step.stats().recordings_made, made);
}

// Nothing that could be known only at the call keeps attention from its kernel.
TEST_F(CudaStreams, AttentionOfPlainArgumentsRunsOnTheDevice) {
  auto attend =
      compile([](Tensor q, Tensor k, Tensor v) { return scaled_dot_product_attention(q, k, v, {}, 0.0, true); },
              {.name = "attend"});
  for (std::int64_t n : {5, 9}) {
    Tensor q = rand({2, 3, n, 16}), k = rand({2, 3, n, 16}), v = rand({2, 3, n, 16});
    Tensor got = attend(q.to(d), k.to(d), v.to(d)), want = scaled_dot_product_attention(q, k, v, {}, 0.0, true);
    EXPECT_TRUE(allclose(got.cpu(), want, 1e-4, 1e-5));
  }
  EXPECT_EQ(attend.stats().compilations, 1);
  EXPECT_EQ(attend.explain().find("native scaled"), std::string::npos) << attend.explain();
}

}  // namespace
}  // namespace reprise::test
