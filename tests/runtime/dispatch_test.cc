// Calls among many specializations that guards alone tell apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>
#include <vector>

#include "reprise/reprise.h"
#include "tests/support/at_most.h"

namespace reprise {
namespace {

template <class F>
double seconds(F&& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double sum_of(const Tensor& t) { return t.sum().item().to_double(); }

// One integer is pinned to a number, in 300 ways; each call is served by the specialization of its number.
TEST(Dispatch, NumbersThatGuardsPin) {
  auto f = compile([](Tensor x, Int n) { return x + n.value(); }, {.name = "pinned", .max_specializations = 512});
  Tensor x = zeros({4});
  constexpr int kMany = 300;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kMany; ++i) ASSERT_EQ(sum_of(f(x, Int((i * 7) % kMany))), 4.0 * ((i * 7) % kMany));
  EXPECT_EQ(f.stats().compilations, kMany);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// Ranges of sizes, two words at once, and specializations that ask for neither.
TEST(Dispatch, RangesOfSizesAndSeveralWords) {
  auto body = [](Tensor x, Int n, Int m) {
    int kind = 0;
    for (int limit = 10; limit < 100; limit += 10)
      if (x.size(0) > limit) ++kind;
    if (n > 1000) return x * 0 + 7;  // says nothing of m
    const std::int64_t which = n.value() % 3 == 0 ? m.value() * 100 : 0;
    return x * 0 + (kind * 10000 + which + n.value());
  };
  auto f = compile(body, {.name = "ranges", .max_specializations = 2000});
  std::vector<double> expected;
  for (int round = 0; round < 2; ++round) {
    std::size_t at = 0;
    for (int size : {2, 15, 37, 95, 64})
      for (int n : {0, 1, 2, 3, 2000})
        for (int m : {5, 6, -7}) {
          Tensor x = ones({size});
          const double eager = sum_of(body(x, n, m)), compiled = sum_of(f(x, Int(n), Int(m)));
          ASSERT_EQ(compiled, eager) << size << " " << n << " " << m;
          if (round) ASSERT_EQ(compiled, expected[at]);
          else expected.push_back(compiled);
          ++at;
        }
    static std::int64_t first = 0;
    if (!round) first = f.stats().compilations;
    EXPECT_EQ(f.stats().compilations, first) << "a second round finds what the first has made";
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// What a call among 384 costs is no multiple of what it costs among 8 (each went through half of them).
TEST(DispatchCosts, AmongManyAreLittleMore) {
  Tensor x = ones({4});
  auto cycled = [&](int many) {
    auto f = compile([](Tensor x, Int n) { return n.value() % 2 ? x + 1 : x * 2; },
                     {.name = "cycled", .max_specializations = 512});
    for (int i = 0; i < 2 * many; ++i) f(x, Int(i % many));
    EXPECT_EQ(f.stats().compilations, many);
    return [f, many, x]() mutable {
      return seconds([&] {
        for (int i = 0; i < 1920; ++i) f(x, Int(i % many));
      });
    };
  };
  test::Least least;
  EXPECT_TRUE(test::at_most(5, cycled(384), cycled(8), least)) << least.one << " s beside " << least.other;
}

Tensor numbered(const Ints& sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (arange(n, {.dtype = kFloat32}) * 0.5).view(sizes);
}

/// The i-th of 1,024 kinds of calls that a function which looks at first and last alone does not tell apart.
std::vector<Tensor> unused_differ(int i, std::size_t count = 8) {
  const DType dtypes[] = {kFloat32, kFloat64, kInt32, kInt64};
  std::vector<Tensor> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(numbered({2, 3}) + static_cast<double>(k) + i);
  all[1] = zeros({2, 3}, {.dtype = dtypes[i % 4]});
  all[2] = i / 4 % 4 == 0   ? Tensor(zeros({6}))
           : i / 4 % 4 == 1 ? zeros({2, 3}).t()
           : i / 4 % 4 == 2 ? zeros({2, 6}).slice(1, 0, 6, 2)
                            : zeros({1, 2, 3});
  all[3] = zeros({2, 3}, {.dtype = dtypes[i / 16 % 4]});
  all[4] = zeros({2, 3}, {.dtype = dtypes[i / 64 % 4]});
  all[5] = zeros({2, 3}, {.dtype = dtypes[i / 256 % 4]});
  return all;
}

// More kinds than a thread remembers, and specializations that come meanwhile.
TEST(Dispatch, WhatIsNotUsedMayBeAnything) {
  auto f = compile([](const std::vector<Tensor>& all,
                      Int n) { return n.value() % 2 ? all.front() + all.back() : all.front() - all.back(); },
                   {.name = "first and last"});
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1024; ++i) {
      const std::vector<Tensor> all = unused_differ(i);
      const int n = i % 512 == 511;
      ASSERT_TRUE(equal(f(all, Int(n)), n ? all.front() + all.back() : all.front() - all.back())) << i;
    }
  EXPECT_EQ(f.stats().compilations, 2) << f.explain();
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 256; ++i) {
        const std::vector<Tensor> all = unused_differ(i * (t + 1) % 1024);
        wrong += !equal(f(all, Int(t)), t % 2 ? all.front() + all.back() : all.front() - all.back());
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(f.stats().compilations, 4) << f.explain();  // n is pinned
}

// Calls that are seen as others are found about as fast as those.
TEST(DispatchCosts, OfOtherStructuresAreLittleMore) {
  struct Case {
    const char* name;
    std::vector<Tensor> (*call)(int);
    int kinds;
  };
  const Case cases[] = {{"unused arguments", [](int i) { return unused_differ(i, 32); }, 64},
                        {"batches of one",
                         [](int i) {
                           return std::vector<Tensor>(32, i ? numbered({1, 8}).slice(1, 0, 5) : numbered({7, 5}).t());
                         },
                         2},
                        {"any strides",
                         [](int i) {
                           const Tensor kinds[] = {
                               numbered({7, 5}), numbered({5, 7}).t(), numbered({7, 8}).slice(1, 0, 5),
                               numbered({7, 10}).slice(1, 0, 10, 2), numbered({5, 14}).slice(1, 0, 14, 2).t()};
                           return std::vector<Tensor>(32, kinds[i]);
                         },
                         5}};
  for (const Case& c : cases) {
    auto f = compile([](const std::vector<Tensor>& all) { return all.front() + all.back(); },
                     {.name = c.name, .mode = "interpret"});
    std::vector<std::tuple<std::vector<Tensor>>> calls;
    for (int i = 0; i < c.kinds; ++i) {
      calls.emplace_back(c.call(i));
      const std::vector<Tensor>& all = std::get<0>(calls.back());
      ASSERT_TRUE(equal(f(all), all.front() + all.back())) << c.name << " " << i;
    }
    EXPECT_LE(f.stats().compilations, 3) << c.name << "\n" << f.explain();
    std::vector<std::tuple<std::vector<Tensor>>> own;  // as many tensors: they may be more than a cache holds
    while (own.size() < calls.size()) own.emplace_back(c.call(0));
    test::Least least;
    EXPECT_TRUE(test::at_most(
        4, [&] { return f.measure_dispatch_ns(calls, 6400); }, [&] { return f.measure_dispatch_ns(own, 6400); }, least))
        << c.name << ": " << least.one << " ns beside " << least.other;
  }
}

// That nothing admits a call is found about as fast as that something does: of one specialization, and among many.
TEST(DispatchCosts, OfMissesAreLittleMoreThanOfHits) {
  for (const int many : {1, 8, 64}) {
    auto f = compile([](const std::vector<Tensor>& all) { return all.front() + all.back(); },
                     {.name = "missed", .max_specializations = 128, .mode = "interpret", .static_sizes = many > 1});
    std::vector<std::tuple<std::vector<Tensor>>> hits, misses;
    for (int i = 0; i < many; ++i) {
      std::vector<Tensor> all(4, ones({2 + i / 16, 3 + i % 16}));
      f(all);
      hits.emplace_back(all);
      all.back() = ones({all[0].size(0) + 64, all[0].size(1)});
      misses.emplace_back(all);
    }
    ASSERT_EQ(f.stats().compilations, many);
    test::Least least;
    EXPECT_TRUE(test::at_most(
        1.7, [&] { return f.measure_dispatch_ns(misses, 6400); }, [&] { return f.measure_dispatch_ns(hits, 6400); },
        least))
        << many << ": " << least.one << " ns beside " << least.other;
  }
}

// A call whose own structure's specializations do not admit it is served by another structure's, whichever was there
// first; and so after any other call.
TEST(Dispatch, OtherStructuresAreAskedAfterItsOwn) {
  auto body = [](Tensor x, Int n) { return n.value() == 7 ? x + 7 : x * 2; };
  // `one` is seen as either
  const Tensor own = numbered({3, 5}), other = numbered({3, 8}).slice(1, 0, 5), one = numbered({1, 8}).slice(1, 0, 5);
  for (const bool own_first : {true, false}) {
    auto f = compile(body, {.name = "two structures"});
    for (const bool of_own : {own_first, !own_first}) {
      const Tensor& x = of_own ? own : other;
      const int n = of_own ? 7 : 1;
      ASSERT_TRUE(equal(f(x, Int(n)), body(x, n)));
    }
    ASSERT_EQ(f.stats().compilations, 2) << f.explain();
    for (const int n : {7, 1, 7, 7, 1, 1, 7})
      for (const Tensor& x : {one, n == 7 ? own : other}) ASSERT_TRUE(equal(f(x, Int(n)), body(x, n))) << n;
    EXPECT_EQ(f.stats().compilations, 2) << f.explain();
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
}

// Two specializations of one structure may differ in what they ask of layouts. A batch of one that was expanded keeps
// its stride: who is shown strides is not served by code for others; who is not, is.
TEST(Dispatch, EachSpecializationDecidesWhatFitsIt) {
  auto body = [](Tensor x, Int n) { return n > 0 ? x.transpose(0, -1) : x * 2; };
  auto expanded = [](std::int64_t batch) { return numbered({3, 1, 5}).expand({3, batch, 5}); };
  for (const bool view_first : {true, false}) {
    auto f = compile(body, {.name = "a view or not"});
    for (int turn = 0; turn < 2; ++turn)
      for (const int n : {view_first ? 1 : 0, view_first ? 0 : 1})
        ASSERT_TRUE(equal(f(expanded(7), Int(n)), body(expanded(7), n)));
    ASSERT_EQ(f.stats().compilations, 2);
    for (const std::int64_t batch : {1, 0, 1}) ASSERT_TRUE(equal(f(expanded(batch), Int(0)), body(expanded(batch), 0)));
    EXPECT_EQ(f.stats().compilations, 2) << "view first: " << view_first << "\n" << f.explain();
    const Tensor view = f(expanded(1), Int(1)), eagerly = body(expanded(1), 1);
    for (int d = 0; d < 3; ++d) EXPECT_EQ(view.stride(d).value(), eagerly.stride(d).value()) << d;
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
  // What the one does not use, the other does.
  auto g = compile([](Tensor x, Tensor y, Int n) { return n > 0 ? x + y : x * 3; }, {.name = "used by one"});
  const Tensor x = numbered({2, 3});
  for (const int n : {1, 0}) g(x, x, Int(n));
  for (const Tensor& y :
       {zeros({2, 3}, {.dtype = kInt64}), zeros({6}), zeros({2, 6}).slice(1, 0, 6, 2), x.clone().t(), Tensor()})
    ASSERT_TRUE(equal(g(x, y, Int(0)), x * 3));
  EXPECT_LE(g.stats().compilations, 3) << g.explain();  // an undefined one is another kind of call
  EXPECT_EQ(g.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise
