// Variables that a compiled function changes: swaps, queues, handles that it makes and destroys.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "reprise/reprise.h"
#include "tests/support/element.h"

namespace reprise::test {
namespace {

TEST(ChangedVariable, SwappedInside) {
  Tensor now = tensor({1.0, 2.0}), next = zeros({2});
  auto step = compile([&](Tensor x) {
    next.copy_(now * 2.0 + x);
    std::swap(now, next);
    return now.sum();
  });
  float a = 1, b = 2;
  for (int i = 0; i < 4; ++i) {
    a = 2 * a + 1, b = 2 * b + 1;
    EXPECT_EQ(step(ones({2})).item<float>(), a + b) << i;
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0) << step.stats().last_fallback_reason;
}

TEST(ChangedVariable, AssignedButNeverRead) {
  Tensor a = ones({1}), last;
  auto f = compile([&](Tensor x) {
    last = a;
    return x + 1.0;
  });
  for (int i = 0; i < 3; ++i) {
    last = Tensor();
    f(ones({1}));
    EXPECT_TRUE(last.is_same(a)) << i;
  }
}

TEST(ChangedVariable, TakenFromAQueue) {
  std::deque<Tensor> q{full({1}, 1.0), full({1}, 2.0), full({1}, 3.0)};
  std::deque<Tensor> all = q;  // somebody else holds them, too
  auto f = compile([&](Tensor x) {
    Tensor w = q.front();
    q.pop_front();
    return x * w;
  });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(ones({1})), 0), static_cast<float>(i));
  EXPECT_TRUE(q.empty());
}

TEST(ChangedVariable, HandlesThatTheFunctionMakesAndDestroys) {
  Tensor w = ones({2});
  std::deque<Tensor> history;
  std::optional<Tensor> last, cache;
  auto remembers = compile([&](Tensor x) {
    history.push_back(w);
    return x * w;
  });
  auto engages = compile([&](Tensor x) {
    last = w;
    return x * w;
  });
  auto resets = compile([&](Tensor x) {
    Tensor y = x * *cache;
    cache.reset();
    return y;
  });
  auto moves = compile([&](Tensor x) {
    Tensor copy = w;
    history.push_back(std::move(copy));
    return x * w;
  });
  for (int i = 1; i < 4; ++i) {
    w = full({2}, static_cast<double>(i));
    remembers(ones({2}));
    EXPECT_EQ(history.size(), static_cast<std::size_t>(2 * i - 1));
    EXPECT_TRUE(history.back().is_same(w));
    moves(ones({2}));
    EXPECT_TRUE(history.back().is_same(w));
    last.reset();
    engages(ones({2}));
    EXPECT_TRUE(last && last->is_same(w));
    cache = w;
    EXPECT_EQ(at(resets(ones({2})), 0), static_cast<float>(i));
    EXPECT_FALSE(cache);
  }
  // What the function keeps to itself is nobody's business.
  auto local = compile([&](Tensor x) {
    std::vector<Tensor> mine{w, w};
    Tensor a = mine[0], b;
    b = a;
    a = std::move(mine[1]);
    mine.clear();
    std::optional<Tensor> maybe = b;
    return x * a * *maybe;
  });
  for (int i = 1; i < 3; ++i) EXPECT_EQ(at(local(ones({2})), 0), 9);
  EXPECT_EQ(local.stats().eager_fallbacks, 0);
  auto recurrent = compile([&](Tensor x) {
    Tensor h = w;
    for (int i = 0; i < 3; ++i) h = h * x + w;
    return h;
  });
  for (int i = 1; i < 3; ++i) EXPECT_EQ(at(recurrent(full({2}, 2.0)), 0), 45);
  EXPECT_EQ(recurrent.stats().eager_fallbacks, 0) << recurrent.stats().last_fallback_reason;
}

TEST(ChangedVariable, WhatServedOneCallIsFreed) {
  int freed = 0;
  static float bytes[2] = {1, 2};
  {
    Tensor w = from_blob(bytes, {2}, kFloat32, [&](void*) { ++freed; });
    auto h = std::make_unique<Tensor>();
    auto f = compile([&](Tensor x) { return *h = x * w; });
    EXPECT_EQ(at(f(ones({2})), 1), 2);
    EXPECT_EQ(f.stats().eager_fallbacks, 1);
    w = Tensor();
    EXPECT_EQ(freed, 1) << "while the compiled function lives";
  }
  EXPECT_EQ(freed, 1);
}

TEST(ChangedVariable, ManyKindsOfCallsThatCannotBeCompiled) {
  auto f = compile([](Tensor x, double k) { return x * (x.sum().item<double>() + k); }, {.max_specializations = 4});
  int traces = static_cast<int>(counters().traces.value());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(at(f(ones({1}), i), 0), 1.0f + static_cast<float>(i));
  EXPECT_LE(static_cast<int>(counters().traces.value()) - traces, 4 + 8)
      << "a trace of f for each of the first, and those of eager operators";
  EXPECT_EQ(f.stats().eager_fallbacks, 20);
}

TEST(ChangedVariable, HeldByTheFunctionItself) {
  auto counter = compile([n = 0](Tensor x) mutable { return x * static_cast<double>(++n); });
  struct Dice {
    std::minstd_rand engine{7};
    Tensor operator()(Tensor x) { return x * static_cast<double>(engine() % 1000); }
  };
  auto dice = compile(Dice{});
  Dice twin;
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(at(counter(ones({1})), 0), static_cast<float>(i));
    EXPECT_EQ(at(dice(ones({1})), 0), at(twin(ones({1})), 0));
  }
  EXPECT_NE(counter.stats().last_fallback_reason.find("changes a value that it holds"), std::string::npos);
  auto inner = compile([n = 0](Tensor x) mutable { return x * static_cast<double>(++n); });
  auto outer = compile([&](Tensor x) { return inner(x) + 1.0; });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(outer(ones({1})), 0), 1.0f + static_cast<float>(i));
}

}  // namespace
}  // namespace reprise::test
