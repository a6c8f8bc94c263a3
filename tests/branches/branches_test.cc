// What stands around branches on values: bounds, errors, writes, threads, logs.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/knobs.h"
#include "reprise/cond.h"
#include "reprise/data_sizes.h"
#include "reprise/generator.h"
#include "reprise/reprise.h"
#include "reprise/stats.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor vec(std::vector<float> v) { return tensor_of(v, {static_cast<std::int64_t>(v.size())}).to(test_device()); }
Tensor f32(float v) { return vec({v}); }
std::vector<float> host(const Tensor& t) { return t.to_vector<float>(); }
using Floats = std::vector<float>;

// A number is that of the element when it is read: writes in between make it another one.
TEST(DataNumbers, ReadAgainBehindAWrite) {
  struct Row {
    const char* what;
    Tensor (*f)(Tensor);
    Tensor given;
  };
  const Tensor one = vec({2}).view({}), four = vec({1, 2, 3, -4});
  const Row rows[] = {
      {"an argument",
       [](Tensor a) {
         const Scalar s = a.item();
         a.mul_(3);
         return ones_like(a) * s + a.item();
       },
       one},
      {"sizes",
       [](Tensor a) {
         Tensor n = a.to(kInt64).abs();
         const Int i = n.item().to_int();
         n.add_(2);
         return zeros({i, n.item().to_int()}, a.options());
       },
       one},
      {"a branch",
       [](Tensor a) {
         if (a.item() > 5) return a * 0;
         a.mul_(3);
         if (a.item() > 5) return a * 0 + 100;
         return a + 0;
       },
       one},
      {"a loop",
       [](Tensor a) {
         Tensor turns = zeros_like(a);
         while (a.item() < 20) a.abs_().mul_(2), turns = turns + 1;
         return turns;
       },
       one},
      {"a sum from before a write, read behind it",
       [](Tensor a) {
         Tensor before = a.sum();
         a.mul_(3);
         Tensor behind = a.sum();
         const Scalar t = behind.item(), s = before.item();
         return stack({ones({}, a.options()) * s, ones({}, a.options()) * t});
       },
       four},
      {"a branch on it",
       [](Tensor a) {
         Tensor before = a.sum();
         a.mul_(-1);
         if (a.sum().item() > 0) return a * 0 - 1;
         if (before.item() > 0) return a * 0 + 1;
         return a * 0;
       },
       four},
      {"masks",
       [](Tensor a) {
         Tensor mask = a > 0;
         a.mul_(-1);
         Tensor behind = masked_select(a, a > 0);
         return cat({behind, masked_select(a, mask)});
       },
       four},
      {"places",
       [](Tensor a) {
         Tensor mask = a > 0;
         a.mul_(-1);
         Tensor behind = nonzero(a > 0);
         return cat({behind, nonzero(mask)});
       },
       four},
      {"a value that is written itself",
       [](Tensor a) {
         Tensor y = a * 1.0, z = a * 1.0;
         y.mul_(2);
         return y * z.sum().item() + y.sum().item();
       },
       four},
      {"through a view",
       [](Tensor a) {
         const Scalar s = a.sum().item();
         a.slice(0, 0, 1).add_(5);
         return a * s + a.sum().item();
       },
       four},
  };
  for (const Row& row : rows) {
    auto f = compile(row.f);
    for (const double factor : {1.0, 1.0, -1.0, 0.5}) {
      Tensor mine = row.given * factor, its = mine.clone();
      const Tensor want = row.f(mine), got = f(its);
      EXPECT_TRUE(equal(want, got)) << row.what << ": " << want.str() << " and " << got.str();
      EXPECT_TRUE(equal(mine, its)) << row.what << ": arguments";
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << row.what << ": " << f.stats().last_fallback_reason;
  }
}

TEST(BranchTree, EachPathIsTracedOnce) {
  int traces = 0;
  auto f = compile([&traces](Tensor x) {
    ++traces;
    if (x.max().item() > 1) return x * 2;
    return x + 1;
  });
  EXPECT_EQ(host(f(f32(3))), Floats{6});
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(host(f(f32(0))), Floats{1});
  EXPECT_EQ(traces, 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(host(f(f32(i % 2 ? 3 : 0))), (Floats{i % 2 ? 6.f : 1.f}));
  EXPECT_EQ(traces, 2);
  const Stats s = f.stats();
  EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
  EXPECT_EQ(s.branches.paths, 2);
  EXPECT_EQ(s.branches.traced, 1);
  EXPECT_EQ(s.branches.dispatches, 9);
  const std::string text = f.explain();
  EXPECT_NE(text.find("branches on values: 2 paths of at most 16"), std::string::npos) << text;
  EXPECT_NE(text.find("branches_test.cc:"), std::string::npos) << text;
}

// A call that stays on the path of the one before runs each stage once.
TEST(BranchTree, AWarmPathReadsEachNumberOnce) {
  if (knobs().verify >= 2) GTEST_SKIP() << "the check of a replay reads numbers, too";
  auto f = compile([](Tensor x) {
    if (x.sum().item() > 0) x = x * 2;
    if (x.max().item() > 3) x = x + 1;
    return x;
  });
  f(vec({1, 2})), f(vec({1, 2}));
  const CounterSnapshot before = counter_snapshot();
  EXPECT_EQ(host(f(vec({1, 2}))), (Floats{3, 5}));
  EXPECT_EQ((counter_snapshot() - before).numbers_read, 2);
  EXPECT_EQ((counter_snapshot() - before).waits_for_numbers, 2);
}

// One that changes over takes along what was computed: no number is read twice.
TEST(BranchTree, APrefixIsHandedOver) {
  if (knobs().verify >= 2) GTEST_SKIP() << "the check of a replay reads numbers, too";
  auto f = compile([](Tensor x) {
    const Tensor m = x.max();
    if (m.item() > 3) return x * m;
    if (x.sum().item() > 0) return x + m;
    return x - m;
  });
  auto give = [](int i) { return vec({i % 3 == 0 ? 5.f : i % 3 == 1 ? 1.f : -1.f, -0.5f}); };
  for (int i = 0; i < 3; ++i) f(give(i));
  for (int i = 0; i < 9; ++i) {
    const CounterSnapshot before = counter_snapshot();
    const Floats got = host(f(give(i)));
    EXPECT_EQ(got, (i % 3 == 0 ? Floats{25, -2.5f} : i % 3 == 1 ? Floats{2, 0.5f} : Floats{-0.5f, 0})) << i;
    EXPECT_LE((counter_snapshot() - before).numbers_read, 2) << i;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Where one path needs more of the prefix, calls begin there.
TEST(BranchTree, CallsBeginWhereMoreIsGiven) {
  if (knobs().verify >= 2) GTEST_SKIP() << "the check of a replay reads numbers, too";
  auto f = compile([](Tensor x) {
    const Tensor m = x * x + 1;
    if (m.sum().item() > 5) return m * m;
    return x + 1;
  });
  for (int i = 0; i < 4; ++i) f(f32(i % 2 ? 1.f : 4.f));
  for (int i = 0; i < 8; ++i) {
    const CounterSnapshot before = counter_snapshot();
    EXPECT_EQ(host(f(f32(i % 2 ? 1.f : 4.f))), (Floats{i % 2 ? 2.f : 289.f}));
    EXPECT_EQ((counter_snapshot() - before).numbers_read, 1) << i;
  }
}

TEST(BranchTree, WritesWaitForTheLastDecision) {
  Tensor memory = vec({0, 0});
  auto f = compile([&memory](Tensor x) {
    x.add_(1);
    memory.copy_(x);
    if (x.sum().item() > 10) throw std::runtime_error("too large");
    x.mul_(2);
    if (x.max().item() > 6) memory.zero_();
    return x * 1;
  });
  auto eager = [](Tensor x, Tensor memory) {
    x.add_(1);
    memory.copy_(x);
    x.mul_(2);
    if (x.max().item() > 6) memory.zero_();
    return x * 1;
  };
  for (int i = 0; i < 12; ++i) {
    Tensor x = vec({static_cast<float>(i % 4), 1}), y = x.clone(), other = vec({0, 0});
    const Tensor want = eager(y, other);
    EXPECT_EQ(host(f(x)), host(want));
    EXPECT_EQ(host(x), host(y));
    EXPECT_EQ(host(memory), host(other));
    Tensor large = vec({9, 9});
    const Floats before = host(memory);
    EXPECT_THROW(f(large), std::runtime_error);
    EXPECT_EQ(host(large), (Floats{9, 9}));
    EXPECT_EQ(host(memory), before);
  }
  EXPECT_EQ(f.stats().branches.paths, 2);
}

TEST(BranchTree, SizesAndIntegers) {
  auto f = compile([](Tensor x) {
    const Tensor y = x.index({x > 0});
    if (y.size(0) > 3) return y.slice(0, 0, 3);
    if (y.size(0) == 2) return y * 10;
    return y;
  });
  auto eager = [](Tensor x) {
    const Tensor y = x.index({x > 0});
    if (y.size(0) > 3) return y.slice(0, 0, 3);
    if (y.size(0) == 2) return y * 10;
    return y;
  };
  for (int round = 0; round < 2; ++round)
    for (int n : {5, 2, 3, 4, 2, 6}) {
      Floats v(8, -1);
      for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
      EXPECT_EQ(host(f(vec(v))), host(eager(vec(v)))) << n;
    }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().branches.paths, 3);
}

// A decision on what is known late stands before one on what is known early.
TEST(BranchTree, DecisionsAreAskedInTheOrderOfTheProgram) {
  auto run = [](Tensor x) {
    const Tensor some = x.index({x > 0});
    const Scalar early = x.sum().item(), late = some.index({some > 1}).sum().item();
    if (late > 5) {
      if (early > 0) return x * 2;
      return x * 3;
    }
    return x * 5;
  };
  auto f = compile(run);
  for (int i = 0; i < 3; ++i)
    for (const Floats& v : {Floats{4, 3, -1}, Floats{4, 3, -90}, Floats{0.5f, 1, -9}, Floats{0.5f, 2, 3}})
      EXPECT_EQ(host(f(vec(v))), host(run(vec(v))));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(BranchTree, IsBounded) {
  auto f = compile(
      [](Tensor x) {
        const std::int64_t k = x.sum().to(kInt64).item<std::int64_t>();
        return x * static_cast<double>(k);
      },
      {.branches = 3});
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(host(f(f32(static_cast<float>(i)))), (Floats{static_cast<float>(i * i)})) << i;
  const Stats s = f.stats();
  EXPECT_EQ(s.branches.paths, 3);
  EXPECT_EQ(s.eager_fallbacks, 4);
  EXPECT_STREQ(s.fallbacks.at(0).reason, "specialization_limit");
  EXPECT_NE(s.last_fallback_reason.find("CompileOptions::branches"), std::string::npos) << s.last_fallback_reason;
  // The one that is idle makes room.
  for (int i = 0; i < 1100; ++i) f(f32(static_cast<float>(i % 2)));
  EXPECT_EQ(host(f(f32(4))), Floats{16});
  EXPECT_EQ(f.stats().eager_fallbacks, 4);
  EXPECT_EQ(f.stats().replaced, 1);

  auto none = compile([](Tensor x) { return x.sum().item() > 1 ? x * 2 : x; }, {.branches = 0});
  EXPECT_EQ(host(none(f32(2))), Floats{4});
  EXPECT_EQ(none.stats().eager_fallbacks, 1);
  EXPECT_EQ(error_of([] { compile([](Tensor x) { return x; }, {.branches = -1}); }).code(), ErrorCode::InvalidArgument);
}

TEST(BranchTree, ALoopIsToldOfWhileLoop) {
  auto f = compile([](Tensor x) {
    while (x.sum().item() > 0.5) x = x - 1;
    return x;
  });
  EXPECT_EQ(host(f(f32(3))), Floats{0});
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(host(f(f32(200))), Floats{0});
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_NE(f.stats().last_fallback_reason.find("while_loop"), std::string::npos) << f.stats().last_fallback_reason;
  EXPECT_EQ(host(f(f32(2))), Floats{0});
}

TEST(BranchTree, FloatsOfTheProgramEndTheTrace) {
  auto f = compile([](Tensor x) { return x.max().item<float>() > 1 ? x * 2 : x; });
  EXPECT_EQ(host(f(f32(2))), Floats{4});
  EXPECT_STREQ(f.stats().fallbacks.at(0).reason, "reads_value");
}

// In regions the reason is true.
TEST(BranchTree, NotInRegions) {
  auto f = compile([](Tensor x) {
    return cond(
        x.sum() > 0, [&] { return x.max().item() > 1 ? x * 2 : x; }, [&] { return x + 0; });
  });
  EXPECT_EQ(host(f(f32(2))), Floats{4});
  EXPECT_STREQ(f.stats().fallbacks.at(0).reason, "reads_value");
}

TEST(BranchTree, RandomNumbersAreCountedByPath) {
  auto run = [](Tensor x) {
    if (x.sum().item() > 0) x = x + rand({3}, x.options());
    if (rand({2}, x.options()).sum().item() > 1) return x * rand({3}, x.options());
    return x;
  };
  auto f = compile(run);
  manual_seed(7);
  std::vector<Floats> want;
  for (int i = 0; i < 16; ++i) want.push_back(host(run(vec({i % 2 ? 1.f : -1.f, 0, 0}))));
  const float behind = rand({1}).item<float>();
  manual_seed(7);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(host(f(vec({i % 2 ? 1.f : -1.f, 0, 0}))), want[static_cast<std::size_t>(i)]);
  EXPECT_EQ(rand({1}).item<float>(), behind);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(BranchTree, ThreadsTakePathsOfTheirOwn) {
  auto f = compile([](Tensor x) {
    if (x.sum().item() > 2) x = x * 2;
    if (x.max().item() > 3) x.add_(1);
    return x * 1;
  });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const float v = static_cast<float>((i + t) % 5);
        const float doubled = v > 2 ? v * 2 : v;
        if (host(f(f32(v))) != Floats{doubled > 3 ? doubled + 1 : doubled}) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().branches.paths, 2);
}

TEST(BranchTree, WarmUpAndSeal) {
  auto f = compile([](Tensor x) { return x.sum().item() > 0 ? x * 2 : x - 1; });
  f.warm_up(f32(1));
  EXPECT_EQ(f.stats().branches.paths, 1);
  f.warm_up(f32(-1));
  EXPECT_EQ(f.stats().branches.paths, 2);
  f.warm_up(f32(-1));
  EXPECT_EQ(f.stats().compilations, 2);
  f.seal();
  EXPECT_EQ(host(f(f32(1))), Floats{2});
  EXPECT_EQ(host(f(f32(-1))), Floats{-2});
  auto g = compile([](Tensor x) { return x.sum().item() > 0 ? x * 2 : x - 1; });
  g(f32(1));
  g.seal();
  EXPECT_EQ(error_of([&] { g(f32(-1)); }).code(), ErrorCode::Sealed);
  EXPECT_EQ(host(g(f32(1))), Floats{2});
}

TEST(BranchTree, CheckedAndMeanwhile) {
  auto f = compile(
      [](Tensor x) {
        x.add_(1);
        if (x.sum().item() > 0) return x * 2;
        return x - 1;
      },
      {.check = 1});
  for (int i = 0; i < 8; ++i) {
    const float v = i % 2 ? 3.f : -3.f;
    EXPECT_EQ(host(f(f32(v))), (Floats{v > 0 ? (v + 1) * 2 : v}));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_GT(f.stats().checks, 0);
  auto g = compile([](Tensor x) { return x.sum().item() > 0 ? x * 2 : x - 1; }, {.on_miss = OnMiss::ServeMeanwhile});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(host(g(f32(i % 2 ? 1.f : -1.f))), (Floats{i % 2 ? 2.f : -2.f}));
    g.wait();
  }
  EXPECT_EQ(g.stats().branches.paths, 2);
  EXPECT_EQ(g.stats().eager_fallbacks, 2);
}

TEST(BranchTree, TheLogTellsDecisions) {
  std::vector<std::string> lines;
  set_log_callback([&](const LogEvent& e) { lines.push_back(std::string(e.event) + " " + std::string(e.text)); },
                   "branches");
  auto f = compile([](Tensor x) { return x.sum().item() > 0 ? x * 2 : x - 1; });
  f(f32(1)), f(f32(-1)), f(f32(1));
  set_log_callback({});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("decided decision 0"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("as the call has found"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("dispatched"), std::string::npos) << lines[2];
}

// Tensors and variables that only one path captures.
TEST(BranchTree, PathsCaptureTensorsOfTheirOwn) {
  Tensor a = f32(10), b = f32(100), last;
  last = f32(0);
  auto f = compile([&](Tensor x) {
    if (x.sum().item() > 0) {
      last = x * a;
      return last + 0;
    }
    b.add_(1);
    return x + b;
  });
  for (int i = 0; i < 6; ++i) {
    const bool up = i % 2;
    const Floats got = host(f(f32(up ? 2.f : -2.f)));
    EXPECT_EQ(got, (Floats{up ? 20.f : 99.f + static_cast<float>(i / 2)}));
    EXPECT_EQ(host(last), Floats{i ? 20.f : 0.f});
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise::test
