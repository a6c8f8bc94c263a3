// Long programs: what a first call costs is in proportion to their length, and numbers computed from sizes do not grow
// without end.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tests/support/sanitized.h"

namespace reprise {
namespace {

/// Of this process; other work on the machine does not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<double> values(const Tensor& t) {
  std::vector<double> out;
  Tensor flat = t.reshape({-1});
  for (std::int64_t i = 0; i < flat.numel(); ++i) out.push_back(flat.select(0, i).item().to_double());
  return out;
}

/// A first call of f takes no longer than `most` seconds of a processor, is compiled, and gives and writes what f does
/// eagerly.
void expect_quick(const char* name, double most, const std::function<Tensor(Tensor, Int)>& f, const Tensor& x, Int n) {
  auto g = compile(f, {.name = name});
  Tensor written = x.clone(), eagerly = x.clone();
  double t = cpu_seconds();
  Tensor made = g(written, n);
  t = cpu_seconds() - t;
  EXPECT_EQ(g.stats().eager_fallbacks, 0) << name << ": " << g.explain();
  EXPECT_EQ(values(made), values(f(eagerly, n))) << name;
  EXPECT_EQ(values(written), values(eagerly)) << name;
  EXPECT_LT(t, test::kSanitized ? 8 * most : most) << name;
}

// Each of them took minutes, or did not end, where every step searched all that was before it.
TEST(Growth, WritesIntoPartsOfATensor) {
  constexpr int kWrites = 1500;
  Tensor x = ones({kWrites, 2});
  expect_quick(
      "slices", 6,
      [](Tensor t, Int) {
        for (int i = 0; i < kWrites; ++i) t.slice(0, i, i + 1).copy_(t.slice(0, i, i + 1) * 2 + 1);
        return t.sum();
      },
      x, 0);
  expect_quick(
      "rows", 6,
      [](Tensor t, Int) {
        for (int i = 0; i < kWrites; ++i) t.select(0, i).add_(1);
        return t * 2;
      },
      x, 0);
  expect_quick(
      "overlapping", 6,
      [](Tensor t, Int) {
        Tensor y = t + 1;
        for (int i = 0; i < kWrites; ++i) y.slice(0, i % 7, i % 7 + 2).mul_(-1);
        return y;
      },
      x, 0);
  expect_quick(
      "computed places", 6,
      [](Tensor t, Int) {
        Tensor at = arange(1), one = ones({1});
        for (int i = 0; i < kWrites; ++i) t.select(0, i).index_add_(0, at, one);
        t.select(0, 1).index_copy_(0, at + 1, one);
        return t * 2;
      },
      x, 0);
  // Every old row is read when all have been written: each write comes after all that reads the old ones.
  constexpr int kRows = 4000;
  expect_quick(
      "old rows", 8,
      [](Tensor t, Int) {
        std::vector<Tensor> old, all;
        for (int i = 0; i < kRows; ++i) old.push_back(t.select(0, i) * 1.0);
        for (int i = 0; i < kRows; ++i) t.select(0, i).mul_(2.0);
        for (int i = 0; i < kRows; ++i) all.push_back(old[static_cast<std::size_t>(i)] + t.select(0, (i + 1) % kRows));
        return stack(all).sum(0);
      },
      ones({kRows, 2}), 0);
  // Each row may have to be put back.
  expect_quick(
      "rows before faults", 6,
      [](Tensor t, Int) {
        Tensor sum = zeros({2}), table = t + 1;
        for (int i = 0; i < kWrites; ++i) {
          t.select(0, i).add_(1);
          sum = sum + embedding(table, (t.select(0, i).sum() * 0).to(kInt64));
        }
        return sum;
      },
      x, 0);
}

TEST(Growth, ManyOperators) {
  constexpr int kOperators = 3000;
  expect_quick(
      "chain", 6,
      [](Tensor t, Int) {
        for (int i = 0; i < kOperators; ++i) t = i % 2 ? t * 2 : t - 1;
        return t.sum(0).clamp(-1, 1);
      },
      ones({16}), 0);
  expect_quick(
      "one value", 6,
      [](Tensor t, Int) {
        Tensor y = t;
        for (int i = 0; i < kOperators; ++i) y = y + t;
        return y;
      },
      ones({16}), 0);
  expect_quick(
      "kernels", 6,
      [](Tensor t, Int) {
        Tensor y = t;
        for (int i = 0; i < kOperators / 3; ++i) y = relu(mm(y, t)) - t;
        return y;
      },
      zeros({4, 4}), 0);
}

TEST(Growth, BranchesOnSizes) {
  constexpr int kTurns = 3000;
  expect_quick(
      "turns", 4,
      [](Tensor t, Int n) {
        int turns = 0;
        for (Int k = 0; k < n; k += 1) ++turns;
        return t + turns;
      },
      ones({4}), kTurns);
  expect_quick(
      "two numbers", 4,
      [](Tensor t, Int n) {
        int taken = 0;
        for (int i = 0; i < kTurns; ++i) taken += t.size(0) * 3 + i < n * 2 ? 1 : 0;
        return t + taken;
      },
      ones({40}), 1000);
  expect_quick(
      "remainders", 4,
      [](Tensor t, Int n) {
        int taken = 0;
        for (int i = 2; i < kTurns; ++i) taken += n % i == 0 ? 1 : 0;
        return t + taken;
      },
      ones({4}), 30030);
}

TEST(Growth, JoinsOfManyParts) {
  std::vector<Tensor> same(1500, ones({2, 3})), different;
  for (int i = 0; i < 1500; ++i) different.push_back(full({i % 40 + 1, 3}, i));
  for (const auto& parts : {same, different}) {
    auto f = compile([](std::vector<Tensor> all) { return cat(all, 0); }, {.name = "cat"});
    double t = cpu_seconds();
    Tensor made = f(parts);
    EXPECT_LT(cpu_seconds() - t, 6);
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.explain();
    EXPECT_EQ(values(made), values(cat(parts, 0)));
  }
}

// Their text doubles with each turn. Past a bound the number stands in for it, and what it came from is guarded.
TEST(Growth, NumbersComputedFromSizesStayShort) {
  struct Case {
    const char* name;
    std::function<Int(Int, Int)> f;
  };
  const Case cases[] = {
      {"a third less",
       [](Int n, Int) {
         while (n > 3) n -= n / 3;
         return n;
       }},
      {"the larger",
       [](Int n, Int) {
         for (int i = 0; i < 40; ++i) n = Int::max(n / 2, (n + 1) / 3 + 1);
         return n;
       }},
      {"products",
       [](Int n, Int m) {
         Int p = 1;
         for (int i = 0; i < 40; ++i) p = p * (n + m + 1) % 1000003;
         return p;
       }},
      {"sums",
       [](Int n, Int m) {
         Int s = 0;
         for (int i = 1; i < 2000; ++i) s += n / i + m % i;
         return s;
       }},
  };
  for (const Case& c : cases) {
    auto body = [&](Tensor x, Int n, Int m) {
      Int made = c.f(n, m);
      return std::pair(x + Scalar(made), made);
    };
    auto f = compile(body, {.name = c.name});
    double t = cpu_seconds();
    for (std::int64_t n : {2000, 1999, 2000}) {
      auto [made, number] = f(zeros({3}, {.dtype = kInt64}), n, 17);
      EXPECT_EQ(number.value(), c.f(n, 17).value()) << c.name;
      EXPECT_EQ(made.select(0, 2).item().to_int().value(), number.value()) << c.name;
    }
    EXPECT_LT(cpu_seconds() - t, 4) << c.name;
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << c.name << ": " << f.explain();
    EXPECT_LT(f.explain().size(), 40000u) << c.name;
  }
}

}  // namespace
}  // namespace reprise
