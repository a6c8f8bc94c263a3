// Compiling while calls go on (OnMiss::ServeMeanwhile), and what makes room for what.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include "base/errors.h"
#include "passes/registered.h"
#include "reprise/reprise.h"
#include "tests/runtime/log_lines.h"
#include "tests/support/comes_true.h"

namespace reprise {
namespace {

double total(const Tensor& t) { return t.sum().item().to_double(); }

std::int64_t fallbacks(const Stats& s, std::string_view reason) {
  for (const Stats::Fallback& f : s.fallbacks)
    if (f.reason == reason) return f.calls;
  return 0;
}

TEST(Meanwhile, TheFirstCallsRunEagerlyAndLaterOnesAreReplayed) {
  auto f = compile([](Tensor x) { return x * 2 + 1; }, {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_EQ(total(f(ones({4}))), 12);
  f.wait();
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().building, 0);
  EXPECT_EQ(fallbacks(f.stats(), "compiled_meanwhile"), 1);
  for (int n = 2; n < 6; ++n) EXPECT_EQ(total(f(ones({n}))), 3 * n);
  EXPECT_EQ(f.stats().replays, 4);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Meanwhile, CallsOfTheSameKindAreTracedOnce) {
  int runs = 0;
  auto f = compile(
      [&](Tensor x) {
        ++runs;
        return x.size(0) > 100 ? x + 1 : x + 2;
      },
      {.on_miss = OnMiss::ServeMeanwhile});
  std::int64_t calls = 0;
  ASSERT_TRUE(test::comes_true([&] {
    if (f.stats().compilations == 1) return true;
    ++calls;
    return total(f(ones({3}))) != 9;
  }));
  ASSERT_EQ(f.stats().compilations, 1);
  const std::int64_t eager = fallbacks(f.stats(), "compiled_meanwhile");
  EXPECT_EQ(runs, eager + 1);   // those, and one trace
  EXPECT_LE(calls - eager, 1);  // it was done during the last one
  f(ones({3}));
  EXPECT_EQ(runs, eager + 1);
  f(ones({101}));  // of another kind
  f.wait();
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(Meanwhile, WritesAndVariablesAreAsEagerlyWheneverTheyAreCompiled) {
  Tensor state = zeros({3});
  auto f = compile(
      [&](Tensor cache, Tensor row, Int at) {
        cache.select(0, at).copy_(row);
        state = state * 0.5 + row;
        return cache.sum() + state.sum();
      },
      {.on_miss = OnMiss::ServeMeanwhile});
  Tensor cache = zeros({40, 3}), expected_state = zeros({3}), expected = zeros({40, 3});
  for (int i = 0; i < 40; ++i) {
    if (i == 20) f.wait();
    Tensor row = full({3}, 1.0 + i % 4);
    const Tensor got = f(cache, row, i);
    expected.select(0, i).copy_(row);
    expected_state = expected_state * 0.5 + row;
    ASSERT_EQ(total(got), total(expected.sum() + expected_state.sum())) << i;
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_GE(f.stats().replays, 20);
}

TEST(Meanwhile, ATraceThatCannotBeRepeatedIsWaitedFor) {
  struct Cell {
    Tensor held;
  };
  auto cell = std::make_unique<Cell>();
  auto f = compile(
      [&](Tensor x) {
        cell->held = x + 1;
        return x * 2;
      },
      {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_EQ(total(f(ones({3}))), 6);
  EXPECT_EQ(total(cell->held), 6);
  EXPECT_EQ(fallbacks(f.stats(), "compiled_meanwhile"), 0);
}

// The pass keeps the background where no code is made, so that what is made is the caller's.
TEST(Meanwhile, OperatorsWithoutCodeAreNotWaitedFor) {
  static std::atomic<bool> may_go{false};
  may_go = false;
  passes::register_pass({"waits_to_be_told", {}, [](graph::Graph&) -> bool {
                           while (!may_go) std::this_thread::yield();
                           return false;
                         }});
  auto body = [](Tensor x, Tensor w, Tensor b) {
    Tensor h = gelu(linear(layer_norm(x, {8}, b, b), w)) - 0.75;
    h = cat({h, tanh(h).sum({3}, true).expand({-1, -1, -1, 8, -1, -1})}, 3);
    return softmax(h * arange(8).to(kFloat64), -1).amax({0, 1}) + full({3, 1}, 0.5, {.dtype = kFloat64});
  };
  const Ints sizes{2, 1, 2, 1, 3, 8};
  const Tensor x = (arange(96) * 0.37).sin().to(kFloat64).reshape(sizes),
               w = (arange(64) * 0.21).cos().to(kFloat64).reshape({8, 8}), b = full({8}, 0.25, {.dtype = kFloat64});
  auto f = compile(body, {.name = "hurried", .on_miss = OnMiss::ServeMeanwhile});
  const std::int64_t before = stats().kernels_compiled, found = stats().kernel_cache_hits;
  const Tensor first = f(x, w, b);
  EXPECT_EQ(stats().kernels_compiled, before);
  EXPECT_EQ(stats().kernel_cache_hits, found);
  may_go = true;
  f.wait();
  passes::unregister_pass("waits_to_be_told");
  EXPECT_TRUE(allclose(f(x, w, b), first, 1e-12, 1e-12));
  EXPECT_TRUE(allclose(body(x, w, b), first, 1e-12, 1e-12)) << "eagerly, with code";
  EXPECT_GT(stats().kernels_compiled + stats().kernel_cache_hits, before + found);
}

TEST(Meanwhile, WhatTheFunctionThrowsIsThrown) {
  auto f = compile(
      [](Tensor x) {
        if (x.size(0) == 3) throw std::runtime_error("three");
        return x + 1;
      },
      {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_THROW(f(ones({3})), std::runtime_error);
  EXPECT_EQ(total(f(ones({4}))), 8);
  f.wait();
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Meanwhile, SealAndResetMeetABuildThatGoesOn) {
  auto f = compile([](Tensor x) { return exp(x) + 1; }, {.on_miss = OnMiss::ServeMeanwhile});
  f(zeros({4}));
  f.seal();  // waits
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(total(f(zeros({7}))), 14);
  EXPECT_THROW(f(zeros({4, 4})), Error);
  f.reset();
  EXPECT_EQ(total(f(zeros({4}))), 8);
  f.reset();  // what is built comes to nobody
  f.wait();
  EXPECT_EQ(f.stats().compilations, 0);
  EXPECT_EQ(total(f(zeros({4}))), 8);
  f.wait();
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Meanwhile, AFunctionMayGoWhileItIsBuilt) {
  for (int i = 0; i < 4; ++i) {
    auto f = compile([i](Tensor x) { return tanh(x) * (i + 0.25); }, {.on_miss = OnMiss::ServeMeanwhile});
    f(zeros({4}));
  }
  auto last = compile([](Tensor x) { return x + 0.125; }, {.on_miss = OnMiss::ServeMeanwhile});
  last(zeros({4}));
  last.wait();
  EXPECT_EQ(last.stats().compilations, 1);
}

TEST(Meanwhile, ManyThreadsCallWhileItIsBuilt) {
  auto f = compile([](Tensor x, Int n) { return n.value() % 4 == 0 ? x * n : x * n + 1; },
                   {.name = "many", .on_miss = OnMiss::ServeMeanwhile});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const int n = (i + t) % 8;
        if (total(f(ones({2}), n)) != (n % 4 == 0 ? 2 * n : 2 * n + 2)) ++wrong;
        f.stats();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  f.wait();
  EXPECT_EQ(f.stats().compilations, f.stats().specializations);
  EXPECT_LE(f.stats().compilations, 8);
}

TEST(Meanwhile, AForkedChildGoesOnWithoutItsParentsBuilds) {
  auto f = compile([](Tensor x) { return sin(x) + cos(x); }, {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_EQ(total(f(zeros({4}))), 4);
  const pid_t child = fork();
  if (child == 0) {
    bool right = total(f(zeros({5}))) == 5;
    f.wait();
    right &= total(f(zeros({6}))) == 6 && f.stats().compilations == 1 && f.stats().replays >= 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  f.wait();
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Meanwhile, ABuildThatFailsIsARefusal) {
  passes::register_pass(
      {"fails_behind_the_back", {}, [](graph::Graph&) -> bool { fail(ErrorCode::Internal, "pass", {}, "it fails"); }});
  auto f = compile([](Tensor x) { return x + 3; }, {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_EQ(total(f(ones({2}))), 8);
  f.wait();
  EXPECT_EQ(f.stats().compilations, 0);
  EXPECT_EQ(total(f(ones({2}))), 8);
  EXPECT_NE(f.stats().last_fallback_reason.find("it fails"), std::string::npos) << f.stats().last_fallback_reason;
  passes::unregister_pass("fails_behind_the_back");
}

TEST(Room, AnIdleSpecializationMakesRoom) {
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "traffic", .max_specializations = 3});
  const Tensor x = ones({2});
  auto call = [&](int k) { ASSERT_EQ(total(f(x, k)), 2 * k); };
  for (int i = 0; i < 2000; ++i) call(i % 3);
  for (int i = 0; i < 4000; ++i) call(i % 2 ? 7 : 1);  // 0 and 2 do not come any more, 7 is new
  const Stats s = f.stats();
  EXPECT_EQ(s.replaced, 1);
  EXPECT_EQ(s.compilations, 4);
  EXPECT_LE(s.eager_fallbacks, 700);  // of 2,000 calls with 7
  EXPECT_GE(s.eager_fallbacks, 400);
  EXPECT_EQ(s.specializations, 3);
}

// What is being built takes places, but only when it is there is it told that they are taken; and that once.
TEST(Room, ThatItIsTakenIsToldOnce) {
  testing::LogLines log;
  auto f = compile([](Tensor x, int k) { return x * k; },
                   {.name = "crowded", .max_specializations = 2, .on_miss = OnMiss::ServeMeanwhile});
  const auto told = [&] {
    std::string all;
    for (const std::string& line : log.lines())
      if (const auto at = line.find("crowded has "); at != std::string::npos)
        all += line.substr(at, line.find(',', at) - at) + ";";
    return all;
  };
  for (int k = 0; k < 24; ++k) f(ones({2}), k % 8), k % 8 == 7 ? f.wait() : void();
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 8; ++k) f(ones({2}), k);
    f.wait();
    EXPECT_EQ(told(), "crowded has 2 specializations;") << round;
    f.reset();
    for (int k = 0; k < 8; ++k) EXPECT_EQ(total(f(ones({2}), k)), 2 * k);
    f.wait();
  }
}

TEST(Room, BytesOfCodeAreALimit) {
  auto body = [](Tensor x, int k) { return exp(x * k) + sin(x + k); };
  auto one = compile(body);
  one(ones({2}), 1000);
  const std::int64_t bytes = one.stats().code_bytes;
  ASSERT_GT(bytes, 0);
  auto f = compile(body, {.name = "code", .code_bytes = bytes * 5 / 2});
  const Tensor x = zeros({2});
  for (int i = 0; i < 60; ++i) f(x, 1001 + i % 6);
  Stats s = f.stats();
  EXPECT_EQ(s.compilations, 3) << "the third fills it";
  EXPECT_LE(s.code_bytes, 4 * bytes);
  EXPECT_EQ(s.eager_fallbacks, 30);
  EXPECT_NE(s.last_fallback_reason.find("bytes of code"), std::string::npos) << s.last_fallback_reason;
  for (int i = 0; i < 4000; ++i) f(x, i % 2 ? 1007 : 1001);
  s = f.stats();
  EXPECT_GE(s.replaced, 1) << "those that serve no calls make room";
  EXPECT_GE(s.compilations, 4);
  EXPECT_LE(s.code_bytes, 4 * bytes);
  EXPECT_THROW(compile(body, {.code_bytes = -1}), Error);
}

TEST(Room, KindsThatTakeTurnsAreNotCompiledAgainAndAgain) {
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "turns", .max_specializations = 8});
  const Tensor x = ones({2});
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(total(f(x, i * 7 % 12)), 2 * (i * 7 % 12));
  EXPECT_EQ(f.stats().compilations, 8);
  EXPECT_EQ(f.stats().replaced, 0);
}

TEST(Room, WhatComesOnceOnlyIsCompiledLessAndLess) {
  auto f = compile([](Tensor x, int k) { return x * k; },
                   {.name = "counter", .max_specializations = 4, .mode = "interpret"});
  const Tensor x = ones({2});
  for (int i = 0; i < 30'000; ++i) ASSERT_EQ(total(f(x, i)), 2.0 * i);
  EXPECT_GE(f.stats().replaced, 2);
  EXPECT_LE(f.stats().compilations, 4 + 6);
}

TEST(Room, RefusalsAreForgottenToo) {
  auto f = compile([](Tensor x, int k) { return k < 2 ? x * x.sum().item<double>() : x * k; },
                   {.name = "refused", .max_specializations = 2});
  const Tensor x = ones({2});
  for (int i = 0; i < 100; ++i) f(x, i % 2);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(total(f(x, 5)), 10);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_GE(f.stats().replays, 1000);
}

TEST(Room, CodeIsCountedAndFreed) {
  auto f = compile([](Tensor x, double k) { return exp(x * k) + tanh(x - k) * 3; }, {.name = "coded"});
  f(ones({5}), 0.5);
  const std::int64_t one = f.stats().code_bytes;
  EXPECT_GT(one, 100);
  f(ones({5}), 0.75);
  EXPECT_GT(f.stats().code_bytes, one);
  f.reset();
  EXPECT_EQ(f.stats().code_bytes, 0);
}

TEST(StaticSizes, EverySizeIsAConstant) {
  auto f = compile([](Tensor x) { return softmax(x, -1); }, {.name = "fixed", .static_sizes = true});
  for (int round = 0; round < 2; ++round)
    for (int n = 3; n < 8; ++n) EXPECT_NEAR(total(f(ones({2, n}))), 2, 1e-6);
  EXPECT_EQ(f.stats().compilations, 5);
  EXPECT_EQ(f.stats().replays, 10);
  EXPECT_NE(f.explain().find("f32[2, 7]"), std::string::npos) << f.explain();
}

}  // namespace
}  // namespace reprise
