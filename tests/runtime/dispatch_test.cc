// Calls among many specializations that guards alone tell apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "reprise/reprise.h"

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
TEST(Dispatch, AmongManyCostsLittleMore) {
  auto time_of = [](int many) {
    auto f = compile([](Tensor x, Int n) { return n.value() % 2 ? x + 1 : x * 2; }, {.name = "cycled", .max_specializations = 512});
    Tensor x = ones({4});
    for (int i = 0; i < 2 * many; ++i) f(x, Int(i % many));
    EXPECT_EQ(f.stats().compilations, many);
    double best = 1;
    for (int round = 0; round < 7; ++round)
      best = std::min(best, seconds([&] {
        for (int i = 0; i < 1920; ++i) f(x, Int(i % many));
      }));
    return best;
  };
  const double few = time_of(8), many = time_of(384);
  EXPECT_LT(many, few * 5);
}

}  // namespace
}  // namespace reprise
