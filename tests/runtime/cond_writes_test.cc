// Writes in branches of cond: those of the branch that is taken alone, parts, and after an error.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/runtime/branches.h"

namespace reprise::test {
namespace {

TEST(Cond, WritesOfTheBranchThatIsTakenAlone) {
  same(
      "a part of an argument",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 1).add_(10); }, [&] { a[0].mul_(2); });
        return {a[0].sum()};
      },
      {{ramp(12).view({3, 4}), flag(true)}, {ramp(12).view({3, 4}), flag(false)}, {ramp(20).view({5, 4}), flag(true)}});
  same("one branch writes, the other reads",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         Tensor y = cond(
             a[2], [&] { return a[0].add_(a[1]).sum(); }, [&] { return a[0].sum() + a[1].sum(); });
         return {y, a[0] * 1};
       },
       {{ramp(4), ramp(4), flag(true)}, {ramp(4), ramp(4), flag(false)}});
  same("a view of an intermediate, seen later through its base",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         Tensor base = a[0] * 2, row = base.select(0, 1);
         cond(
             a[1], [&] { row.fill_(7); }, [&] { row.neg_(); });
         return {base, row};
       },
       {{ramp(12).view({3, 4}), flag(true)}, {ramp(12).view({3, 4}), flag(false)}});
  same("what is written decides the next",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         for (int i = 0; i < 3; ++i)
           cond(
               a[0].sum() > 20, [&] { a[0].sub_(5); }, [&] { a[0].mul_(3); });
         return {a[0].max()};
       },
       {{ramp(4)}, {ramp(4) * 10}, {ramp(7)}});
  same("the flag itself",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         cond(
             a[1], [&] { a[1].fill_(false), a[0].add_(1); }, [&] { a[1].fill_(true), a[0].sub_(1); });
         return {a[1].clone()};
       },
       {{ramp(4), flag(true)}, {ramp(4), flag(false)}});
}

// Parts that a branch writes are what it gives, not the tensors that they are of.
TEST(Cond, WritesOfParts) {
  const auto both = [](auto make) {
    return std::vector<std::vector<Tensor>>{
        {make(5), flag(true)}, {make(5), flag(false)}, {make(7), flag(true)}, {make(4), flag(false)}};
  };
  const auto rows = both([](std::int64_t n) { return ramp(n * 4).view({n, 4}); });
  same(
      "rows of one branch",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 1).add_(10), a[0].slice(1, 2, 4).mul_(3), a[0].select(0, 1).sub_(1); }, [&] {});
        return {a[0].sum(0)};
      },
      rows);
  same(
      "the same rows of both",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, -1).copy_(a[0].select(0, 0)); }, [&] { a[0].select(0, -1).fill_(7); });
        return {a[0] * 1};
      },
      rows);
  same(
      "others of each",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 0).mul_(2); }, [&] { a[0].select(0, 1).mul_(3), a[0].select(0, 2).fill_(1); });
        return {};
      },
      rows);
  same(
      "that overlap",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].slice(0, 0, 2).mul_(2); }, [&] { a[0].slice(0, 1, 3).mul_(3); });
        return {a[0].select(1, 0)};
      },
      rows);
  same(
      "one after another",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1],
            [&] { a[0].select(0, 0).add_(1), a[0].select(0, 1).add_(a[0].select(0, 0)), a[0].diagonal().fill_(2); },
            [&] {});
        return {};
      },
      rows);
  same(
      "a part of a part",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].slice(0, 1, 3).select(1, 0).neg_(); }, [&] {});
        return {a[0].slice(0, 1, 3)};
      },
      rows);
  same(
      "of a view from outside",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        Tensor turned = a[0].t().slice(1, 1);
        cond(
            a[1], [&] { turned.select(0, 1).neg_(); }, [&] { turned.select(0, 0).fill_(1); });
        return {turned.sum()};
      },
      rows);
  same(
      "all of it, or a part",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 0).mul_(2); }, [&] { a[0].mul_(3); });
        return {};
      },
      rows);
  auto f = compile([](Tensor cache, Tensor row, Int at, Tensor p) {
    cond(
        p, [&] { cache.select(0, at).copy_(row); }, [&] {});
  });
  Tensor cache = zeros({64, 256}), row = ones({256});
  f(cache, row, 3, flag(true)), f(cache, row, 5, flag(false)), f(cache, row, 9, flag(true));
  EXPECT_EQ(cache.sum().item<float>(), 512);
  EXPECT_EQ(cache.select(0, 9).sum().item<float>(), 256);
  EXPECT_LE(f.stats().copied_bytes, 3 * 3 * 256 * 4);
  EXPECT_EQ(f.stats().compilations, 1);
}

// An index out of range in the branch that is not taken is nobody's; in the one that is, it is raised, and nothing has
// changed.
TEST(Cond, OnlyTheBranchThatIsTakenRaises) {
  auto body = [](Tensor x, Tensor rows, Tensor p) {
    cond(
        p, [&] { x.copy_(x.index_select(0, rows)); }, [&] { x.add_(1); });
    return x * 2;
  };
  auto f = compile(body);
  const Tensor bad = tensor_of<std::int64_t>({0, 1, 9, 2}, {4});
  for (int round = 0; round < 2; ++round) {
    Tensor x = ramp(4);
    EXPECT_EQ(shown(f(x, bad, flag(false))), shown(body(ramp(4), bad, flag(false))));
    EXPECT_EQ(shown(x), shown(ramp(4) + 1));
    const std::string before = shown(x);
    auto e = test::caught([&] { f(x, bad, flag(true)); });
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(shown(x), before);
    EXPECT_EQ(shown(f(x, arange(4), flag(true))), shown(x * 2));
  }
  EXPECT_EQ(f.stats().specializations, 1);
}

// A branch that may fail after it has written something: what it writes is no argument's memory.
TEST(Cond, ABranchThatFailsHalfWayLeavesArgumentsAsTheyWere) {
  auto body = [](Tensor x, Tensor t, Tensor rows, Tensor p) {
    auto [a, b] = cond(
        p, [&] { return std::tuple(t * 2, t.index_select(0, rows)); }, [&] { return std::tuple(t + 1, t + 2); });
    x.copy_(a + b);
    x.slice(0, 0, 2).copy_(b.slice(0, 0, 2));
  };
  auto f = compile(body);
  Tensor x = ramp(4);
  f(x, ramp(4), arange(4), flag(true));
  const std::string before = shown(x);
  auto e = test::caught([&] { f(x, ramp(4) * 7, tensor_of<std::int64_t>({0, 1, 2, -9}, {4}), flag(true)); });
  ASSERT_TRUE(e);
  EXPECT_EQ(shown(x), before);
}

}  // namespace
}  // namespace reprise::test
