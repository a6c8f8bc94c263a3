// One compiled function, many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "reprise/reprise.h"

namespace reprise {
namespace {

template <class F>
void on_threads(int n, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([=] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST(Threads, OneCompilationServesEveryThreadAndSize) {
  auto f = compile([](Tensor x, Tensor w) { return softmax(mm(x, w) + 1, -1) * 2; }, {.name = "shared"});
  Tensor w = ones({4, 4});
  std::atomic<int> wrong{0};
  on_threads(8, [&](int id) {
    auto mine = f;  // copies share one state
    for (int i = 0; i < 40; ++i) {
      std::int64_t n = 2 + (id + i) % 9;
      std::vector<float> y = mine(ones({n, 4}), w).to_vector<float>();
      if (y.size() != static_cast<std::size_t>(4 * n)) ++wrong;
      for (float v : y)
        if (v != 0.5f) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().calls, 320);
}

TEST(Threads, ConcurrentReplaysOfOneRecordingDoNotShareScratch) {
  // The intermediate is too large to stay in a kernel, so that every replay writes it to its own lane of the pool.
  auto f = compile([](Tensor x, Tensor w) { return mm(mm(x, w), w); }, {.name = "scratch"});
  Tensor w = full({64, 64}, 0.5);
  f(ones({16, 64}), w);
  std::atomic<int> wrong{0};
  on_threads(6, [&](int id) {
    float value = static_cast<float>(id + 1);
    Tensor x = full({16, 64}, static_cast<double>(value));
    for (int i = 0; i < 60; ++i)
      for (float v : f(x, w).to_vector<float>())
        if (v != value * 1024.0f) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Threads, EagerOperatorsFromManyThreads) {
  std::atomic<int> wrong{0};
  on_threads(8, [&](int id) {
    for (int i = 0; i < 30; ++i) {
      Tensor x = full({3 + i % 4, 5}, static_cast<double>(id));
      x.slice(1, 0, 2).add_(1.0);
      double want = static_cast<double>(id) * 5 * (3 + i % 4) + 2.0 * (3 + i % 4);
      if (x.sum().item().to_double() != want) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, WritesToArgumentsOfTheirOwn) {
  auto f = compile([](Tensor cache, Tensor k, Int pos) { cache.slice(0, pos, pos + k.size(0)).copy_(k); }, {.name = "caches"});
  std::atomic<int> wrong{0};
  on_threads(4, [&](int id) {
    Tensor cache = zeros({40, 2}), k = full({2, 2}, id + 1.0);
    for (std::int64_t pos = 0; pos < 40; pos += 2) f(cache, k, pos);
    for (float v : cache.to_vector<float>())
      if (v != static_cast<float>(id + 1)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace reprise
