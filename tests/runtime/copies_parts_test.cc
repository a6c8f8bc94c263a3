// Copies of programs that write parts of tensors: none beyond eager, or the part.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "tests/runtime/copies.h"

namespace reprise::test {
namespace {

TEST(Copies, ThroughATransposedView) {
  Program all = [](std::vector<Tensor> a, Int) {
    a[0].t().add_(a[1]);
    return std::vector{a[0].sum(0)};
  };
  Program rows = [](std::vector<Tensor> a, Int at) {
    a[0].t().slice(0, 0, at).mul_(2);
    a[0].t().select(0, at).copy_(a[1].select(0, 0));
    return std::vector{a[0].sum(1)};
  };
  auto make = [](std::int64_t n) { return std::vector{random_of({n, 9}), random_of({9, n})}; };
  expect_copied("transposed", all, make, {0});
  expect_copied("transposed_rows", rows, make, {3, 4});
}

TEST(Copies, DisjointColumnBlocks) {
  Program arguments = [](std::vector<Tensor> a, Int at) {
    a[0].slice(1, 0, at).add_(a[0].slice(1, at, 2 * at));
    a[0].slice(1, at, 2 * at).mul_(0.5);
    return std::vector{a[0].sum(0)};
  };
  Program inside = [](std::vector<Tensor> a, Int at) {
    Tensor y = a[0].matmul(a[1]);
    y.slice(1, 0, at).add_(1);
    y.slice(1, at, 2 * at).copy_(a[0].slice(1, 0, at));
    return std::vector{y};
  };
  auto make = [](std::int64_t n) { return std::vector{random_of({n, 12}), random_of({12, 12})}; };
  expect_copied("column_blocks", arguments, make, {4, 5});
  Program rows = [](std::vector<Tensor> a, Int at) {
    a[0].slice(0, 0, at - 2).copy_(a[0].slice(0, at - 2, 2 * at - 4) * 2.0 + a[0].slice(0, 0, at - 2));
    a[0][0].sub_(a[0][1]);
    return std::vector{a[0].sum(0)};
  };
  // Blocks that meet: what one gives the other must be read before it is written. Eager copies the operand for the same
  // reason, where they do meet: for other numbers they would not, so this counts.
  Program meeting = [](std::vector<Tensor> a, Int at) {
    a[0].slice(1, 0, at).add_(a[0].slice(1, 1, at + 1));
    a[0].slice(1, at, 12).mul_(a[0].slice(1, 0, 12 - at));
    return std::vector{a[0].sum(0)};
  };
  expect_copied("row_blocks", rows, make, {4, 5});
  expect_copied("blocks_that_meet", meeting, make, {4, 5}, 4 * 6 * 5 + 4 * 6 * 7);
  expect_copied("column_blocks_inside", inside, make, {4, 5});
}

TEST(Copies, ElementByElement) {
  Program program = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0], o = zeros_like(x);
    for (int i = 1; i < 5; ++i) x[i] = a[1] * static_cast<double>(i);
    for (int i = 1; i < 5; ++i) o[i] = x[i] - o[i - 1] * 0.5;
    return std::vector{o, x * 2};
  };
  expect_copied("rows", program, [](std::int64_t n) { return std::vector{random_of({n, 7}), random_of({7})}; }, {0});
}

TEST(Copies, PartOfACapturedTensor) {
  Tensor state = zeros({20, 4});
  auto f = compile(
      [state](Tensor x, Int at) mutable {
        state.slice(0, at, at + x.size(0)).copy_(x);
        return state.slice(0, 0, at + x.size(0)).sum(0);
      },
      {.name = "captured"});
  Tensor twin = zeros({20, 4});
  for (std::int64_t at : {0, 3, 6, 2}) {
    Tensor x = randn({3, 4});
    twin.slice(0, at, at + 3).copy_(x);
    EXPECT_TRUE(allclose(f(x, at), twin.slice(0, 0, at + 3).sum(0), 1e-5, 1e-5));
    EXPECT_TRUE(equal(state, twin));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
}

// What is read of a value that is written in place meanwhile: nothing of the size of the whole is made, and copied is
// what the program copies, or the part. Rotated into its own place: what one half is made of is where the other half is
// stored.
TEST(Copies, HalvesRotatedInPlace) {
  auto halves = [](const Tensor& x) {
    return cat({-x.slice(-1, x.size(-1) / 2, INT64_MAX), x.slice(-1, 0, x.size(-1) / 2)}, -1);
  };
  auto into_itself = [halves](Tensor x, Tensor c, Tensor s) {
    x.copy_(x * c + halves(x) * s);
    return x + 0;
  };
  auto one_by_one = [halves](Tensor x, Tensor c, Tensor s) {
    x.mul_(c);
    x.copy_(halves(x) * s);
    x.copy_(x * c + halves(x) * s);
    return x.sum();
  };
  auto into_a_part = [halves](Tensor x, Tensor c, Tensor s) {
    const Tensor part = x.slice(0, 1, x.size(0));
    part.copy_(halves(part * c) * s + part);
    return x * 2;
  };
  auto by_its_last_row = [](Tensor x, Tensor c, Tensor) {
    const Tensor last = x.slice(0, Int::min(c.size(0) + 2, x.size(0) - 1), x.size(0)),
                 turned = cat({-x.slice(0, x.size(0) / 2, INT64_MAX), x.slice(0, 0, x.size(0) / 2)}, 0);
    x.copy_(x * x.clone() + turned * tanh(last));
    return x * c;
  };
  for (const std::function<Tensor(Tensor, Tensor, Tensor)>& body :
       std::initializer_list<std::function<Tensor(Tensor, Tensor, Tensor)>>{into_itself, one_by_one, into_a_part,
                                                                            by_its_last_row}) {
    auto f = compile(body);
    for (std::int64_t n : {2, 8, 64, 6})
      for (std::int64_t rows : {2, 4}) {
        const Tensor a = arange(rows * n, {.dtype = kFloat32}).view({rows, n}) * 0.1, b = a.clone();
        const Tensor c = (arange(n, {.dtype = kFloat32}) * 0.3).cos(), s = (arange(n, {.dtype = kFloat32}) * 0.3).sin();
        ASSERT_TRUE(allclose(f(a, c, s), body(b, c, s), 1e-4, 1e-5)) << n;
        ASSERT_TRUE(allclose(a, b, 1e-5, 1e-5)) << n;
      }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

TEST(Copies, PartsThatChangePlaces) {
  auto make = [](std::int64_t n) { return std::vector{random_of({n + 4, 8}), random_of({8})}; };
  struct Case {
    const char* name;
    Program program;
    std::int64_t bytes;  // for n = 6, at = 3
  };
  const Case cases[] = {
      {"two rows copied",
       [](std::vector<Tensor> a, Int) {
         a[0][0].copy_(a[0][1]);
         a[0][2].copy_(a[0][3]);
         return std::vector<Tensor>{};
       },
       0},
      {"a chain of rows",
       [](std::vector<Tensor> a, Int) {
         for (int i = 0; i < 4; ++i) a[0][i].copy_(a[0][i + 1]);
         return std::vector<Tensor>{};
       },
       0},
      {"a row and the next",
       [](std::vector<Tensor> a, Int at) {
         a[0].select(0, at).copy_(a[0].select(0, at + 1));
         return std::vector{a[0].sum(0)};
       },
       0},
      {"blocks of columns",
       [](std::vector<Tensor> a, Int at) {
         a[0].slice(1, 0, at).copy_(a[0].slice(1, at, 2 * at));
         return std::vector<Tensor>{};
       },
       0},
      {"two rows change places",
       [](std::vector<Tensor> a, Int at) {
         Tensor x = a[0], old = x.select(0, at).clone();
         x.select(0, at).copy_(x.select(0, at + 1));
         x.select(0, at + 1).copy_(old);
         return std::vector<Tensor>{};
       },
       32},
      {"an old row, after all is written",
       [](std::vector<Tensor> a, Int at) {
         Tensor old = a[0].select(0, at).clone();
         a[0].mul_(2);
         return std::vector{a[0].sum(0) - old, old * a[0]};
       },
       32},
      {"less one of its rows",
       [](std::vector<Tensor> a, Int at) {
         a[0].sub_(a[0].select(0, at));
         return std::vector<Tensor>{};
       },
       32},
      {"a row, then all",
       [](std::vector<Tensor> a, Int at) {
         a[0].select(0, at).add_(a[1]);
         a[0].mul_(0.5);
         return std::vector{a[0].sum(0)};
       },
       0},
      {"all, then a row, then all",
       [](std::vector<Tensor> a, Int at) {
         a[0].mul_(0.5);
         a[0].select(0, at).add_(a[1]);
         a[0].add_(1);
         return std::vector<Tensor>{};
       },
       0},
      {"an intermediate's rows",
       [](std::vector<Tensor> a, Int at) {
         Tensor y = a[0] * 2.0, old = y.select(0, at).clone();
         y.select(0, at).copy_(y.select(0, 0));
         y.select(0, 0).copy_(old);
         y.mul_(3.0);
         return std::vector{y};
       },
       0},
      {"rows change places, one after another",
       [](std::vector<Tensor> a, Int) {
         for (int i = 0; i < 3; ++i) {
           Tensor x = a[0], old = x[i].clone();
           x[i].copy_(x[i + 1]);
           x[i + 1].copy_(old);
         }
         return std::vector<Tensor>{};
       },
       32},
      {"halves",
       [](std::vector<Tensor> a, Int) {
         Tensor x = a[0], l = x.slice(1, 0, 4), r = x.slice(1, 4, 8), old = l.clone();
         l.add_(r);
         r.copy_(old - r);
         return std::vector<Tensor>{};
       },
       0},
      {"what is read beside what is written",
       [](std::vector<Tensor> a, Int at) {
         Tensor x = a[0], before = x.select(0, at + 1).clone();
         x.select(0, at).copy_(a[1]);
         return std::vector{before * x.select(0, at), x.select(0, at + 1) + before};
       },
       0},
  };
  for (const Case& c : cases) expect_copied(c.name, c.program, make, {2, 3}, c.bytes);
}

}  // namespace
}  // namespace reprise::test
