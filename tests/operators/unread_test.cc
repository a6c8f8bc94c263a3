// Numbers of data that nobody reads (Note [Numbers that nobody reads]): the same results, and no wait.
#include <gtest/gtest.h>

#include "base/counters.h"
#include "base/knobs.h"
#include "reprise/data_sizes.h"
#include "reprise/statistics.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List = std::vector<Tensor>;

Tensor mask_of(const Ints& sizes, std::int64_t seed = 0) { return numbers(sizes, kInt64, seed) > 0; }

/// Compiled as eager, and so many waits for numbers of data in each call.
template <class F>
void expect_waits(std::uint64_t waits, F f, const std::function<List(std::int64_t)>& arguments) {
  auto compiled = compile([f](List a) { return f(a); });
  for (std::int64_t n : {7, 16, 33, 7, 2, 40}) {
    const List want = f(arguments(n));
    compiled(arguments(n));  // traced and made here, or not
    const CounterSnapshot before = counter_snapshot();
    expect_same(compiled(arguments(n)), want, 2e-5, 2e-5);
    if (knobs().verify >= 2) continue;  // then the traced program runs beside it, with all its stages
    EXPECT_EQ((counter_snapshot() - before).waits_for_numbers, waits) << n << "\n" << compiled.explain();
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
}

TEST(Unread, ReductionsOfWhatAMaskSelects) {
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8})
    expect_waits(
        0,
        [](const List& a) {
          const Tensor y = a[0].index({a[1]}), z = masked_select(a[2], a[3]);
          return List{
              y.sum(),       y.mean(0, false, kFloat32), (y * 2 + 1).sum(), y.prod(), (y > 1).any(), (y > 0).all(),
              (z + z).sum(), z.to(kFloat32).mean()};
        },
        [t](std::int64_t n) {
          return List{numbers({n}, t), mask_of({n}), numbers({n, 3}, t, 2), mask_of({n, 3}, 1)};
        });
  // Extremes want an element: that is asked of the number. Not so of what is in their places by decomposition.
  expect_waits(
      1, [](const List& a) { return List{a[0].index({a[1]}).max()}; },
      [](std::int64_t n) {
        return List{numbers({n}), numbers({n}) > -9};
      });
}

TEST(Unread, NothingIsSelected) {
  expect_waits(
      0,
      [](const List& a) {
        const Tensor y = a[0].index({a[1]});
        return List{
            y.sum(), y.mean(), y.prod(), (y > 0).any(), (y > 0).all(), a[0] * y.numel(), a[0].index_put({a[1]}, y + 1)};
      },
      [](std::int64_t n) {
        return List{numbers({n}), zeros({n}, {kBool, test_device()})};
      });
}

TEST(Unread, NobodySeesWhatIsNotSelected) {
  expect_waits(
      0,
      [](const List& a) {
        const Tensor y = a[0].index({a[0] > 0});
        const Tensor z = a[1].index({a[1] != 0});
        return List{y.log().sum(),
                    y.sqrt().sum(),
                    (1 / y).sum(),
                    (y.log() > 0).all(),
                    div(100, z, "floor").sum(),
                    y.log().cumsum(0).sum(),
                    remainder(z, z).sum()};
      },
      [](std::int64_t n) {
        return List{numbers({n}), numbers({n}, kInt64)};
      });
}

TEST(Unread, RowsAreWrittenBack) {
  expect_waits(
      0,
      [](const List& a) {
        const Tensor y = a[0].index({a[1]});
        const Tensor wide = a[4].view({a[4].size(0), 4, 2}), mask = a[3].view({a[4].size(0), 4});
        List r{a[0].index_put({a[1]}, y.exp()), a[0].index_put({a[1]}, y * y, true),
               a[2].index_put({a[3]}, a[2].index({a[3]}) + 1), wide.index_put({mask}, wide.index({mask}) * 3, true)};
        a[0].index_put_({a[0] > 1}, a[0].index({a[0] > 1}) - 5);
        r.push_back(a[0] * 1);
        return r;
      },
      [](std::int64_t n) {
        return List{numbers({n}), mask_of({n}), numbers({n, 4}), mask_of({n, 4}), numbers({n, 4, 2})};
      });
}

TEST(Unread, RowsOfSeveralElements) {
  const bool on_host = test_device() == Device::cpu();
  auto f = [](const List& a) {
    const Tensor y = a[0].index({a[1]});
    return List{y.sum(0),
                y.relu().sum(-1).sum(),
                y.t().sum(1),
                y.view({y.size(0), 2, 2}).sum(0),
                (y * a[2]).sum(),
                y.unsqueeze(0).mean({0, 1}),
                y.select(1, 2).sum(),
                y.slice(1, 1, 3).sum(0),
                cat({y, y}, 1).sum(0),
                zeros({y.size(0), 2}, {kFloat32, y.device()}).add(y.slice(1, 0, 2)).sum(0),
                y.cumsum(1).sum(),
                y.cumsum(0).sum(1).sum()};
  };
  auto arguments = [](std::int64_t n) { return List{numbers({n, 4}), mask_of({n}), numbers({4})}; };
  auto fixed = [f](const List& a) { return f({a[0].view({a[0].size(0), 4}), a[1], a[2]}); };
  expect_waits(0, fixed, arguments);
  // As many elements as nobody knows would be computed in vain: on the host it is read.
  expect_waits(
      on_host ? 1 : 0, [](const List& a) { return List{a[0].index({a[1]}).relu().sum(0)}; },
      [](std::int64_t n) {
        return List{numbers({n, n + 60}), mask_of({n})};
      });
}

TEST(Unread, SelectionsOfSelections) {
  expect_waits(
      0,
      [](const List& a) {
        const Tensor x = a[0].index({a[0] > 0}), y = x.index({x > x.mean()});
        return List{y.sum(), y.mean() + x.sum(), a[0] * (y.numel() + 2 * x.numel())};
      },
      [](std::int64_t n) { return List{numbers({n + 3})}; });
  // Of which one is needed.
  expect_waits(
      1,
      [](const List& a) {
        const Tensor x = a[0].index({a[0] > 0}), y = x.index({x > x.mean()});
        return List{y.sum(), x * 2};
      },
      [](std::int64_t n) { return List{numbers({n + 3})}; });
}

TEST(Unread, NumbersInArithmetic) {
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16})
    expect_waits(
        0,
        [](const List& a) {
          const Scalar s = a[0].max().item(), k = a[1].item();
          return List{a[0] * s,
                      a[0] / (s + 2),
                      a[0] - k,
                      a[0] > s,
                      clamp(a[0], Scalar(0), s),
                      where(a[0] > 0, s, 1),
                      full_like(a[0], s),
                      a[1] * k,
                      a[1] + s,
                      maximum(a[0], s),
                      full({2, 2}, k, {kFloat32, a[0].device()}),
                      a[0] * (k * 2 + 1),
                      a[0] + sqrt(s.to_float() * s.to_float()),
                      masked_fill(a[0], a[0] > 0, s),
                      a[0].index({a[0] > 0}).sum() + nonzero(a[0]).sum()};
        },
        [t](std::int64_t n) {
          return List{numbers({n}, t) + 3, full({}, n, {kInt64, test_device()})};
        });
  expect_waits(
      0,
      [](const List& a) {
        const Scalar k = a[1].item();
        return List{a[0] * k, a[0] + k, a[0] > k, a[0] == k, minimum(a[0], k), a[0] / k, (a[0] > 0) * k};
      },
      [](std::int64_t n) {
        return List{numbers({n}, kInt32), full({}, n % 5 + 1, {kInt32, test_device()})};
      });
}

TEST(Unread, DifferentElementsAreCounted) {
  expect_waits(
      0,
      [](const List& a) {
        return List{a[0] * unique(a[0]).values.numel(), unique(a[0]).values.sum()};
      },
      [](std::int64_t n) { return List{numbers({n}, kInt64)}; });
}

TEST(Unread, WhoNeedsANumberIsTold) {
  auto why = [](auto f, List a) {
    auto compiled = compile(f);
    compiled(a);
    return compiled.explain();
  };
  const List a{numbers({9}), numbers({9, 4}), numbers({4, 4})};
  EXPECT_NE(why([](List a) { return a[0].index({a[0] > 0}); }, a).find("a result has it as a size"), std::string::npos);
  EXPECT_NE(why([](List a) { return a[0].index({a[0] > 0}).max(); }, a).find("it is taken for granted that"),
            std::string::npos);
  EXPECT_NE(why(
                [](List a) {
                  return a[1].view({a[1].size(0), 4}).index({a[0] > 0}).mm(a[2]).sum();
                },
                a)
                .find("mm has it as a size"),
            std::string::npos);
  if (test_device() == Device::cpu()) {
    EXPECT_NE(why([](List a) { return a[1].index({a[0] > 0}).sum(); }, a)
                  .find("index takes rows that are too long to be computed in vain"),
              std::string::npos);
  }
  EXPECT_EQ(why([](List a) { return a[0].index({a[0] > 0}).sum(); }, a).find("stage"), std::string::npos);
}

TEST(Unread, SeveralNumbersAreOneWait) {
  expect_waits(
      1,
      [](const List& a) {
        return List{a[0].index({a[0] > 0}), a[0].index({a[1] > 0}), nonzero(a[1])};
      },
      [](std::int64_t n) {
        return List{numbers({n}), numbers({n}, kFloat32, 4)};
      });
}

TEST(Unread, TheTracedProgramReadsAll) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "REPRISE_VERIFY=2 compares on the host";
  struct Verifying {
    const int before = knobs().verify;
    Verifying() { knobs().verify = 2; }
    ~Verifying() { knobs().verify = before; }
  } verifying;
  auto f = compile([](Tensor x, Tensor k) {
    const Tensor y = x.index({x > 0});
    x.mul_(2);
    x.index_put_({x > 1}, x.index({x > 1}) - k.item());
    return std::tuple(y, y.sum(), x.narrow(0, 0, check_size(k.item().to_int(), 1, 5)) + 1);
  });
  auto number = [](std::int64_t n) { return full({}, n, {kInt64}); };
  std::uint64_t waits[2] = {};
  for (int i = 0; i < 6; ++i) {
    const Tensor x = numbers({12 + i % 2}), own = x.clone(), y = own.index({own > 0}), sum = y.sum();
    own.mul_(2);
    own.index_put_({own > 1}, own.index({own > 1}) - 3);
    const CounterSnapshot before = counter_snapshot();
    const auto [a, b, c] = f(x, number(3));
    waits[i / 3] += (counter_snapshot() - before).waits_for_numbers;
    expect_same({a, b, c, x}, {y, sum, own.narrow(0, 0, 3) + 1, own}, 1e-5, 1e-5);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_GT(waits[0], waits[1]);  // the first calls are compared
  auto g = compile([](Tensor x, Tensor k) { return x.narrow(0, 0, check_size(k.item().to_int(), 1, 5)) + 1; });
  const Tensor x = numbers({8});
  EXPECT_EQ(g(x, number(2)).numel(), 2);
  EXPECT_EQ(error_of([&] { g(x, number(7)); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(g(x, number(4)).numel(), 4);
}

/// Of [n, m] only n * (m - 1) = 0 is known, by a reshape of the part beside: that the flattened tensor has n elements,
/// not that m is 1.
TEST(Unread, AViewDropsADimensionOfWhichOnlyTheProductIsKnown) {
  auto body = [](Tensor x, Tensor y) {
    x.slice(1, 0, x.size(1) - 1).reshape({x.size(1) - 1, x.size(0)}).mul_(2);
    const Tensor z = x.copy_(y + 1), kept = z.index({z > 0});
    return zeros({(kept > 1).sum().item().to_int(), 3}, x.options()) + 1;
  };
  auto f = compile(body);
  for (std::int64_t n : {4, 3, 7}) {
    Tensor x = numbers({n, 1}), own = x.clone();
    const Tensor y = numbers({n, 1}, kFloat32, 3);
    expect_same({f(x, y), x}, {body(own, y), own}, 0, 0);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise::test
