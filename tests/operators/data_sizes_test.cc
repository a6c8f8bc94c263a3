#include "reprise/data_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List = std::vector<Tensor>;

const std::vector<std::int64_t> kSizes = {6, 9, 64, 3};

Tensor mask_of(const Ints& sizes, std::int64_t seed = 0) { return numbers(sizes, kInt64, seed) > 0; }

std::int64_t fallbacks(const Stats& s, std::string_view reason) {
  for (const Stats::Fallback& f : s.fallbacks)
    if (f.reason == reason) return f.calls;
  return 0;
}

TEST(DataSizes, NonzeroNamesThePlaces) {
  const Tensor x = tensor_of(std::vector<double>{0, 2, 0, -1, 0, 3}, {2, 3}).to(test_device());
  EXPECT_EQ(nonzero(x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1, 0, 1, 2}));
  EXPECT_EQ(argwhere(x > 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1, 2}));
  EXPECT_EQ(nonzero_static(x, 4).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1, 0, 1, 2, -1, -1}));
  EXPECT_EQ(nonzero_static(x, 1, 7).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(graph::sizes_text(nonzero(zeros({0, 3})).sizes()), "[0, 2]");
  EXPECT_EQ(graph::sizes_text(nonzero(ones({})).sizes()), "[1, 0]");
  EXPECT_EQ(graph::sizes_text(nonzero(zeros({})).sizes()), "[0, 0]");
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8, kBool})
    expect_compiled([](const List& a) { return List{nonzero(a[0])}; },
                    [t](std::int64_t n) {
                      return List{numbers({n, 3}, t)};
                    },
                    kSizes);
}

TEST(DataSizes, MasksSelect) {
  expect_compiled(
      [](const List& a) {
        return List{masked_select(a[0], a[1]), masked_select(a[0], a[1]) * 2 + 1};
      },
      [](std::int64_t n) {
        return List{numbers({n, 4}), mask_of({n, 4})};
      },
      kSizes);
  // Broadcast either way.
  expect_compiled([](const List& a) { return List{masked_select(a[0], a[1])}; },
                  [](std::int64_t n) {
                    return List{numbers({n, 1}), mask_of({4})};
                  },
                  kSizes);
  const Tensor x = tensor_of(std::vector<double>{1, 2, 3, 4}, {4}).to(test_device());
  EXPECT_EQ(masked_select(x, x > 2).to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(masked_select(x, x > 9).numel(), 0);
}

TEST(DataSizes, MasksIndex) {
  expect_compiled(
      [](const List& a) {
        return List{a[0].index({a[1]}), a[0].index({Tensor(), a[2]}), a[0].index({a[3]}).sum(),
                    a[0].index({a[1]}).relu()};
      },
      [](std::int64_t n) {
        return List{numbers({n, 4}), mask_of({n}), mask_of({4}), mask_of({n, 4})};
      },
      kSizes);
  expect_compiled(
      [](const List& a) {
        return List{a[0].index({a[1], a[2]}), a[0].index({a[3]})};
      },
      [](std::int64_t n) {
        return List{numbers({n, 4, 5}), mask_of({n, 4}),
                    tensor_of(std::vector<double>{2}, {1}).to(kInt64).to(test_device()), mask_of({n, 4, 5}, 3)};
      },
      kSizes);
}

TEST(DataSizes, MasksPut) {
  expect_compiled(
      [](const List& a) {
        const Tensor one = full({}, 2.5, {kFloat32, a[0].device()});
        return List{a[0].index_put({a[1]}, one), a[0].index_put({Tensor(), a[2]}, one),
                    a[0].index_put({a[1]}, one, true), a[0].index_put({a[1]}, a[0].index({a[1]}) * 2),
                    a[0].index_put({a[3]}, a[0].index({a[3]}) + 1, true)};
      },
      [](std::int64_t n) {
        return List{numbers({n, 4}), mask_of({n}), mask_of({4}), mask_of({n, 4})};
      },
      kSizes);
  // In place: of what is written afterwards nothing is known before.
  expect_compiled(
      [](const List& a) {
        a[0].index_put_({a[1]}, a[0].index({a[1]}).exp());
        a[0].index_put_({a[0] > 1}, full({}, -1.0, {kFloat32, a[0].device()}));
        return List{a[0].index({a[0] < 0}), a[0] * 2};
      },
      [](std::int64_t n) {
        return List{numbers({n, 4}), mask_of({n})};
      },
      kSizes);
}

TEST(DataSizes, SizesGoOnIntoWhatFollows) {
  auto f = [](const List& a) {
    const Tensor rows = a[0].index({a[1]});  // [u, 4]
    const Int n = rows.size(0);
    const Tensor y = rows.mm(a[2]).softmax(-1);  // a product over them
    const Tensor both = cat({rows, y}, 1);       // views, joins, reductions of them
    return List{both.t() * 1,
                both.sum(0),
                both.mean({0, 1}),
                zeros({n, 2}, {kFloat32, a[0].device()}) + y.slice(1, 0, 2),
                rows.view({n * 2, 2}),
                cat({rows, a[0]}, 0),
                rows.unsqueeze(1) * rows.unsqueeze(0),
                arange(n, {kInt64, a[0].device()})};
  };
  expect_compiled(
      f,
      [](std::int64_t n) {
        return List{numbers({n, 4}), mask_of({n}), numbers({4, 4}, kFloat32, 2)};
      },
      kSizes);
}

TEST(DataSizes, StagesFollowEachOther) {
  expect_compiled(
      [](const List& a) {
        const Tensor x = a[0].index({a[0] > 0});
        const Tensor y = x.index({x > x.mean()});
        return List{y, x, y.sum() + x.sum(), nonzero(y), a[0] * 2};
      },
      [](std::int64_t n) { return List{numbers({n})}; }, {9, 20, 64});
}

TEST(DataSizes, Unique) {
  for (DType t : {kFloat32, kInt64, kInt32, kBool, kBFloat16})
    expect_compiled(
        [](const List& a) {
          const Unique u = unique(a[0], true, true), c = unique_consecutive(a[0], true, true);
          return List{u.values, u.inverse, u.counts, c.values, c.inverse, c.counts, u.values.index({u.inverse})};
        },
        [t](std::int64_t n) {
          return List{numbers({n, 3}, t)};
        },
        kSizes);
  const Tensor x = tensor_of(std::vector<double>{3, 1, 1, 2, 3, 3}, {6}).to(kInt64).to(test_device());
  const Unique u = unique(x, true, true), c = unique_consecutive(x, true, true);
  EXPECT_EQ(u.values.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(u.inverse.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0, 0, 1, 2, 2}));
  EXPECT_EQ(u.counts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(c.values.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 1, 2, 3}));
  EXPECT_EQ(c.counts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 1, 2}));
  EXPECT_EQ(unique(zeros({0}), true, true).counts.numel(), 0);
}

TEST(DataSizes, UniqueSlices) {
  for (DType t : {kFloat32, kInt64, kInt32, kUInt8, kBool, kBFloat16})
    expect_compiled(
        [](const List& a) {
          const Tensor x = a[0].clamp(0, 1);
          const Unique u = unique_dim(x, 0, true, true), v = unique_dim(a[1], -1, true, true), w = unique_dim(a[1], 1),
                       c = unique_consecutive(x, true, true, 0), k = unique_consecutive(a[1], true, true, 2);
          return List{u.values,  u.inverse, u.counts, index_select(u.values, 0, u.inverse) - x,
                      v.values,  v.inverse, v.counts, w.values,
                      c.values,  c.inverse, c.counts, k.values,
                      k.inverse, k.counts};
        },
        [t](std::int64_t n) {
          const Tensor x = numbers({n, 2}, t).to(t == kBool ? kUInt8 : t),
                       y = numbers({2, 3, n}, t).to(t == kBool ? kUInt8 : t);
          return List{x, y};
        },
        kSizes);
  const Tensor x = tensor_of(std::vector<double>{2, 1, 1, 5, 2, 1, 1, 4}, {4, 2}).to(kInt64).to(test_device());
  const Unique u = unique_dim(x, 0, true, true);
  EXPECT_EQ(u.values.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 4, 1, 5, 2, 1}));
  EXPECT_EQ(u.inverse.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 1, 2, 0}));
  EXPECT_EQ(u.counts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(unique_consecutive(cat({x, x.slice(0, 3)}), true, true, 0).counts.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(graph::sizes_text(unique_dim(zeros({0, 3}), 0).values.sizes()), "[0, 3]");
  EXPECT_EQ(graph::sizes_text(unique_dim(zeros({4, 0}), 0).values.sizes()), "[1, 0]");
  const Tensor nan = tensor_of(std::vector<double>{NAN, 0, 1, 0, NAN, 0}, {3, 2}).to(test_device());
  EXPECT_EQ(unique_dim(nan, 0, true).inverse.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(error_of([&] { unique_dim(zeros({}), 0); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { unique_dim(x, 2); }).code(), ErrorCode::IndexOutOfRange);
}

TEST(DataSizes, FamiliesTakeThem) {
  expect_compiled(
      [](const List& a) {
        const Tensor k = a[1].abs(), some = k.index({k < 5}), x = a[0].index({a[0] > -3});
        return List{bincount(k),
                    bincount(some),
                    bincount(some, Tensor(), 20),
                    bincount(k, k.to(kFloat32)),
                    histc(x, 5, -3, 3),
                    sort(x).first,
                    topk(x, 1).first,
                    median(x),
                    quantile(x, 0.5),
                    argmax(x),
                    unique(some, true, true).counts,
                    searchsorted(sort(a[0]).first, x),
                    cat({x, a[0]}, 0)};
      },
      [](std::int64_t n) {
        return List{numbers({n + 4}), numbers({n + 4}, kInt64)};
      },
      kSizes);
  auto boxes = [](std::int64_t n) {
    const Tensor at = numbers({n, 2}).abs(), to = at + numbers({n, 2}, kFloat32, 3).abs() + 0.5;
    return List{cat({at, to}, 1), numbers({n}, kFloat32, 5)};
  };
  expect_compiled(
      [](const List& a) {
        const Tensor m = a[1] > -2.9, b = a[0].index({m}), s = a[1].index({m});
        return List{index_select(a[0], 0, nms(a[0], a[1], 0.3)), index_select(b, 0, nms(b, s, 0.3)),
                    batched_nms(b, s, (s > 0).to(kInt64), 0.3)};
      },
      boxes, {6, 9, 40, 3});
  // One box: the number that is seen while the function is traced is none that it may have.
  expect_compiled([](const List& a) { return List{nms(a[0], a[1], 0.3) * 2}; }, boxes, {1, 7});
}

TEST(DataSizes, RepeatsOfEach) {
  expect_compiled(
      [](const List& a) {
        return List{repeat_interleave(a[0], a[1].abs(), 0), repeat_interleave(a[0], a[2], 1)};
      },
      [](std::int64_t n) {
        return List{numbers({n, 3}), numbers({n}, kInt64),
                    tensor_of(std::vector<double>{2, 0, 1}, {3}).to(kInt32).to(test_device())};
      },
      kSizes);
  const Tensor x = arange(3, {kInt64, test_device()});
  EXPECT_EQ(repeat_interleave(x, x, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(error_of([&] { repeat_interleave(x, x - 1, 0); }).code(), ErrorCode::InvalidArgument);
}

TEST(DataSizes, AnElementIsANumber) {
  expect_compiled(
      [](const List& a) {
        const Scalar s = a[0].max().item(), k = a[1].item();
        return List{a[0] * s + k, a[0] / s, full({2, 2}, s, {kFloat32, a[0].device()})};
      },
      [](std::int64_t n) {
        return List{numbers({n}) + 4, full({}, n, {kInt64, test_device()})};
      },
      kSizes);
}

TEST(DataSizes, AnElementIsASize) {
  expect_compiled(
      [](const List& a) {
        const Int n = check_size(a[1].item().to_int(), 1, a[0].size(0));
        return List{a[0].narrow(0, 0, n),     a[0].slice(0, n - 1),      zeros({n, 2}, {kFloat32, a[0].device()}),
                    a[0].narrow(0, n - 1, 1), a[0].select(0, n - 1) * n, a[0].sum() * (n + 1)};
      },
      [](std::int64_t n) {
        return List{numbers({n, 2}), full({}, n / 2 + 1, {kInt64, test_device()})};
      },
      kSizes);
}

// Bounds that only data tell are clamped by what they come to be, on either side.
TEST(DataSizes, SlicesAreClamped) {
  expect_compiled(
      [](const List& a) {
        const Tensor found = nonzero(a[0]), rows = a[0].index_select(0, found.select(1, 0));
        const Int n = a[1].item().to_int();
        return List{found.slice(0, 0, 3),        rows.slice(0, 0, 100),       rows.slice(0, -3),
                    rows.slice(0, -100, -2),     rows.slice(0, 2, 5),         rows.slice(0, 5, 2),
                    a[0].slice(0, 0, 2 * n + 1), a[0].slice(0, n + 1, 2 * n), rows.slice(0, 1, 9, 2),
                    a[0].slice(0, -n),           a[0].slice(0, -n, -1),       a[0].slice(0, 0, a[0].size(0) / 2) + 1.0};
      },
      [](std::int64_t n) {
        return List{numbers({n}) + 1, full({}, n / 2 + 1, {kInt64, test_device()})};
      },
      {12, 30, 9});
}

TEST(DataSizes, WhatIsDeclaredIsChecked) {
  auto f = compile([](Tensor x, Tensor n) {
    x.add_(1);
    const Int u = check_size(n.item().to_int(), 2, 5);
    return x.narrow(0, 0, u) * 2;
  });
  auto number = [](std::int64_t n) { return full({}, n, {kInt64, test_device()}); };
  Tensor x = numbers({8});
  const Tensor was = x.clone();
  expect_same({f(x, number(3))}, {(was + 1).narrow(0, 0, 3) * 2}, 0, 0);
  const Tensor before = x.clone();
  const Error e = error_of([&] { f(x, number(6)); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(std::string(e.what()).find("check_size: the number is 6, declared to be at least 2 and at most 5"),
            std::string::npos)
      << e.what();
  expect_same({x}, {before}, 0, 0);  // as before the call
  expect_same({f(x, number(5))}, {(before + 1).narrow(0, 0, 5) * 2}, 0, 0);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(error_of([] { check_size(3, 4, 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { check_size(3, 4); }).code(), ErrorCode::InvalidArgument);
}

// With branches (docs/branches.md) it is a path.
TEST(DataSizes, ABranchEndsTheTraceWhereNoneAreTaken) {
  auto body = [](Tensor x) {
    const Tensor y = x.index({x > 0});
    if (y.size(0) > 3) return y.slice(0, 0, 3);
    return y;
  };
  auto f = compile(body, {.branches = 0});
  const Tensor x = numbers({20});
  EXPECT_EQ(f(x).size(0), 3);
  EXPECT_EQ(fallbacks(f.stats(), "asks_of_data"), 1);
  EXPECT_NE(f.stats().last_fallback_reason.find("check_size"), std::string::npos) << f.stats().last_fallback_reason;
  auto taken = compile(body);
  EXPECT_EQ(taken(x).size(0), 3);
  EXPECT_EQ(taken.stats().eager_fallbacks, 0);
  auto g = compile([](Tensor x) { return x * x.sum().item<float>(); });
  g(x);
  EXPECT_EQ(fallbacks(g.stats(), "reads_value"), 1);
}

TEST(DataSizes, NewNumbersCompileNothing) {
  auto f = compile([](Tensor x) { return x.index({x > 0}) * 2; });
  for (std::int64_t n = 1; n < 40; ++n) {
    const Tensor x = arange(-5, n, {kFloat32, test_device()});
    expect_same({f(x)}, {x.slice(0, 6) * 2}, 0, 0);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_LE(f.stats().compilations, 2);
}

TEST(DataSizes, RandomNumbersAreDrawnAsEagerly) {
  auto f = [](const List& a) {
    const Tensor noise = rand({a[0].size(0)}, {kFloat32, a[0].device()});
    const Tensor kept = a[0].index({noise > 0.5});  // before a number of data
    return List{kept, noise, rand({a[0].size(0), 2}, {kFloat32, a[0].device()}) * kept.sum()};  // and behind it
  };
  auto compiled = compile([&](List a) { return f(a); });
  for (std::int64_t n : {8, 21, 50}) {
    manual_seed(static_cast<std::uint64_t>(n));
    const List want = f({numbers({n})});
    manual_seed(static_cast<std::uint64_t>(n));
    expect_same(compiled(List{numbers({n})}), want, 1e-6, 1e-6);
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
}

// How many the data decide: counted behind the stages, and none is drawn twice or left out.
TEST(DataSizes, HowManyRandomNumbersIsCountedBehindTheStages) {
  auto f = [](const List& a) {
    const Tensor first = rand({3}, {kFloat32, a[0].device()});
    const Tensor kept = a[0].index({a[0] > 0.0}), noise = rand({kept.size(0), 2}, {kFloat32, a[0].device()});
    const Tensor again = kept.index({noise.select(1, 0) > 0.5});  // a number that the noise decides
    return List{kept * noise.select(1, 1), first, again, randn({again.size(0)}, {kFloat32, a[0].device()}),
                rand({2}, {kFloat32, a[0].device()})};
  };
  auto compiled = compile([&](List a) { return f(a); });
  auto draws = [](Generator& g, auto&& call) {
    const GeneratorScope scope{g};
    return call();
  };
  Generator plain(7), mine(7);
  for (std::int64_t n : {8, 21, 50, 21, 3}) {
    const List x{numbers({n})};
    const List want = draws(plain, [&] { return f(x); });
    expect_same(draws(mine, [&] { return compiled(x); }), want, 1e-6, 1e-6);
    EXPECT_EQ(plain.offset(), mine.offset()) << n;
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
  // A call that throws behind the stages gives back what it has taken.
  auto fails = [](const Tensor& x, const Tensor& places) {
    const Tensor kept = x.index({x > 0.0});
    return rand({kept.size(0)}, {kFloat32, x.device()}).sum() + x.index_select(0, places);
  };
  auto failing = compile(fails);
  failing(numbers({9}), arange(2, {.device = test_device()}));
  const std::int64_t before = mine.offset();
  draws(mine, [&] {
    EXPECT_THROW(failing(numbers({9}), arange(2, {.device = test_device()}) * 100), Error);
    return 0;
  });
  EXPECT_LE(mine.offset() - before, 9);
}

// Threads that share a generator: no number is drawn by two.
TEST(DataSizes, HowManyRandomNumbersWithOtherThreads) {
  const Tensor x = numbers({40});
  auto f = compile([](const Tensor& x) { return rand({x.index({x > 0.0}).size(0)}, {kFloat32, x.device()}); });
  f(x);
  std::mutex mu;
  std::vector<double> all;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const std::vector<double> made = f(x).to(kFloat64).to_vector<double>();
        const std::lock_guard lock(mu);
        all.insert(all.end(), made.begin(), made.end());
      }
    });
  for (std::thread& t : threads) t.join();
  std::sort(all.begin(), all.end());
  std::size_t equal = 0;  // few of 24 bits are by chance
  for (std::size_t i = 1; i < all.size(); ++i) equal += all[i] == all[i - 1];
  EXPECT_LT(equal, 10u);
}

TEST(DataSizes, ManyCallsAtOnce) {
  auto f = compile([](Tensor x) {
    const Tensor y = x.index({x > 0});
    return y.index({y > y.mean()}) * 2;
  });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t n = 0; n < 40; ++n) {
        const Tensor x = arange(-3, 8 + (n * 7 + t) % 13, {kFloat32, test_device()}), y = x.slice(0, 4),
                     want = y.index({y > y.mean()}) * 2;
        const Tensor got = f(x);
        if (got.sizes() != want.sizes() || !allclose(got, want)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(DataSizes, EqualMasksAreOneNumber) {
  auto f = compile([](Tensor x, Tensor y) { return x.index({x > 0}) + y.index({x > 0}) * masked_select(x, x > 0); });
  const Tensor x = numbers({20}), y = numbers({20}, kFloat32, 3);
  expect_same({f(x, y)}, {x.index({x > 0}) + y.index({x > 0}) * x.index({x > 0})}, 1e-6, 1e-6);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  const std::string text = f.explain();
  EXPECT_NE(text.find("stage 0, 1 recordings: gives 1 number that depends on data ("), std::string::npos) << text;
  EXPECT_NE(text.find("stage 1, the last"), std::string::npos) << text;
}

/// Sizes of data that meet others in broadcasts and views, called with other numbers and sizes: as eager, errors, too.
TEST(DataSizes, SizesThatMeetOthersAreReadAtTheirElements) {
  using T = const Tensor&;
  auto n = [](T z) { return z.item().to_int(); };
  auto small = [](T z) { return check_size(z.item().to_int(), 0, 9); };
  const std::vector<std::function<Tensor(T, T, T)>> programs = {
      [&](T x, T z, T o) {
        return pad(x, {n(z), n(z)}) + o;
      },
      [&](T x, T z, T o) {
        return o - pad(x, {n(z), n(z)}).t();
      },
      [&](T, T z, T o) { return arange(2 * n(z) + 1) + o; },
      [&](T, T z, T o) { return arange(2 * small(z) + 1) + o; },
      [&](T, T z, T o) { return where(arange(2 * small(z) + 1) > 1, o, o * 2.0); },
      [&](T, T z, T o) { return (arange(2 * small(z) + 1) + o + arange(2 * small(z) + 1)).sum(); },
      [&](T, T z, T o) {
        return (ones({2 * small(z) + 1, 2}) * o.unsqueeze(1)).sum(IntArrayRef{0, 1});
      },
      [&](T, T z, T o) { return o.clone().add_(arange(2 * small(z) + 1)); },
      [&](T, T z, T o) { return arange(2 * small(z) + 1).to(kFloat32).expand_as(o).unsqueeze(0).mm(o.unsqueeze(1)); },
      [&](T, T z, T o) {
        return ones({1, small(z) + 1}).mm(o.narrow(0, 0, small(z) + 1).unsqueeze(1));
      },
      [&](T, T z, T o) {
        return pad(o, {-n(z), n(z)});
      },  // crops where n is not 0
      [&](T, T z, T) {
        return zeros({2 * n(z) - 1, 2}) + 1.0;
      },  // may be negative
      [&](T, T z, T) {
        return ones({2, n(z) + 1}).unsqueeze(0).transpose(0, -1).reshape({-1});
      },
      [&](T, T z, T) {
        return ones({n(z), 1}).squeeze(0) * 2.0;
      },  // 1 in some calls
      [&](T, T z, T) {
        return ones({n(z) - 1, 3}).squeeze(0).sum(-1);
      },
      [&](T, T z, T o) { return o.select(0, n(z) - 2); },
      [&](T, T z, T o) { return o.slice(0, n(z) - 2) + 1.0; },
  };
  for (std::size_t i = 0; i < programs.size(); ++i) {
    auto f = compile([&](Tensor x, Tensor z, Tensor o) { return programs[i](x, z, o); });
    for (const auto& [number, elements] : {std::pair(1, 3), {0, 1}, {2, 5}, {0, 3}, {2, 3}, {1, 1}, {3, 7}, {1, 4}}) {
      const Tensor x = numbers({1, 1}).to(Device::cpu()), z = full({}, number, {kInt64}),
                   o = numbers({elements}).to(Device::cpu());
      std::optional<Tensor> want, got;
      try {
        want = programs[i](x, z, o);
      } catch (const Error&) {
      }
      try {
        got = f(x, z, o);
      } catch (const Error& e) {
        EXPECT_FALSE(want) << i << ": " << e.what();
      }
      EXPECT_TRUE(want || !got) << i << ": only eager throws";
      if (want && got) expect_same({*got}, {*want}, 0, 0);
      if (HasFailure()) FAIL() << "program " << i << ", number " << number << ", " << elements << " elements";
    }
    EXPECT_EQ(fallbacks(f.stats(), "replay_throws") + fallbacks(f.stats(), "throws"), 0) << i;
    EXPECT_GE(f.stats().replays, i < 10 ? 2 : 0) << i << ": " << f.stats().last_fallback_reason;
  }
}

/// What a call gives, or which error: as text.
std::string outcome(const std::function<Tensor()>& f) {
  try {
    const Tensor t = f();
    return t.numel() <= 64 ? t.str() : graph::sizes_text(t.sizes());
  } catch (const Error& e) {
    return "throws " + std::string(error_code_name(e.code()));
  }
}
using OfNumbers = std::function<Tensor(Int, Int)>;
Stats expect_alike(const OfNumbers& program, const std::vector<std::pair<std::int64_t, std::int64_t>>& calls) {
  auto body = [&](Tensor n, Tensor m) { return program(n.item().to_int(), m.item().to_int()); };
  auto f = compile(body);
  for (const auto& [n, m] : calls) {
    const Tensor a = full({}, n, {kInt64}), b = full({}, m, {kInt64});
    EXPECT_EQ(outcome([&] { return f(a, b); }), outcome([&] { return body(a, b); })) << n << ", " << m;
  }
  return f.stats();
}

// What eager execution counts is counted, also where only a size of it is wanted.
TEST(DataSizes, NumbersNearTheirBound) {
  constexpr std::int64_t kBig = std::int64_t{1} << 32, kMost = INT64_MAX;
  const Tensor one = zeros({1});
  const struct {
    OfNumbers program;
    std::int64_t n, m;
  } all[] = {
      {[&](Int n, Int m) {
         return full({}, 1.0).expand({n, m}).numel() + one;
       },
       kBig, kBig},
      {[&](Int n, Int m) {
         return zeros({1, 1}).expand({n, m}).size(0) + one;
       },
       kBig, kBig},
      {[&](Int n, Int m) {
         return empty({n, m}).numel() + one;
       },
       kBig, kBig},
      {[&](Int n, Int m) {
         return arange(n).unsqueeze(1).expand({-1, m}).numel() + one;
       },
       5, kMost},
      {[&](Int n, Int m) { return (one.expand({n}).unsqueeze(1) * one.expand({m})).size(0) + one; }, kBig, kBig},
      {[&](Int n, Int m) {
         return pad(zeros({3}), {n, m}).size(0) + one;
       },
       kMost, kMost},
      {[&](Int n, Int m) {
         return zeros({2}).repeat({n, m}).size(0) + one;
       },
       kBig, kBig},
      {[&](Int n, Int m) {
         return cat({one.expand({n}), one.expand({m})}).size(0) + one;
       },
       kMost, kMost},
      {[&](Int n, Int) {
         return full({}, 1.0).expand({n, 1, 1}).reshape({-1});
       },
       kMost, 1},
      {[&](Int n, Int m) {
         return full({}, 1.0).expand({n, m, 1}).reshape({-1});
       },
       kMost, 2},
  };
  for (const auto& c : all) {
    SCOPED_TRACE(&c - all);
    const Stats s = expect_alike(c.program, {{2, 3}, {c.n, c.m}, {4, 5}});
    EXPECT_LE(s.eager_fallbacks, 1) << s.last_fallback_reason;
  }
}

// A number that is made up for the trace decides nothing: neither an error, nor a division.
TEST(DataSizes, NoMadeUpNumberDecides) {
  const Tensor x = arange(1, 7).to(kFloat32) * 0.5;
  const OfNumbers all[] = {
      [&](Int n, Int) { return arange(0, 10, n); },
      [&](Int n, Int m) { return arange(n, m, 2); },
      [&](Int n, Int) { return vander(x, n); },
      [&](Int n, Int) { return randperm(n).sort(0).first; },
      [&](Int n, Int) { return bincount(x.to(kInt64), {}, n); },
      [&](Int n, Int) { return fft(x, n); },
      [&](Int n, Int) { return rfft(x, n); },
      [&](Int n, Int m) { return stft(x, n, m); },
      [&](Int n, Int) { return one_hot(arange(2), n); },
      [&](Int n, Int m) {
        return split_with_sizes(x, {n, m})[1];
      },
      [&](Int n, Int) { return chunk(zeros({n}), 2)[0]; },
      [&](Int n, Int m) {
        return x.view({n, m}).t().reshape({m, n});
      },
      [&](Int n, Int) { return fake_quantize_per_tensor_affine(x, 0.5, n, 0, 4); },
      [&](Int n, Int) {
        return embedding_bag(ones({4, 2}), arange(4), tensor_of<std::int64_t>({0, 2}), "sum", {}, false, n);
      },
      [&](Int n, Int) {
        return conv1d(ones({1, n, 6}), ones({2, 2, 2}), {}, 1, 0, 1, 2);
      },
  };
  const std::function<Int(Int)> forms[] = {[](Int z) { return z - 2; }, [](Int z) { return z - 3; },
                                           [](Int z) { return 9 - z; }};
  for (const OfNumbers& program : all)
    for (const auto& form : forms) {
      SCOPED_TRACE("program " + std::to_string(&program - all) + ", form " + std::to_string(&form - forms));
      expect_alike([&](Int n, Int m) { return program(form(n), form(m)); },
                   {{6, 5}, {4, 4}, {3, 7}, {5, 6}, {2, 2}, {0, 3}});
    }
}

// A number of the call is put in the place of a count that is taken to be it: rows beyond the count hold no place.
TEST(DataSizes, RowsThatHoldNoPlaceMeetNoCheck) {
  auto body = [](Tensor x, Tensor mask, Tensor o) {
    const Tensor rows = x.index_select(0, nonzero(mask).select(1, 0)) * o;
    return x.index_select(0, nonzero(rows > 0).select(1, 0) % x.size(0)).sum() + rows;
  };
  auto f = compile(body);
  const Tensor x = arange(1, 6).to(kFloat32);
  for (const auto& [set, elements] : {std::pair(3, 3), {1, 4}, {2, 2}, {1, 5}, {2, 4}}) {
    const Tensor mask = arange(5) < set, o = arange(1, 1 + elements).to(kFloat32);
    EXPECT_EQ(outcome([&] { return f(x, mask, o); }), outcome([&] { return body(x, mask, o); }))
        << set << ", " << elements;
  }
  EXPECT_EQ(f.stats().replays, 2);
  EXPECT_EQ(fallbacks(f.stats(), "asks_of_data"), 2) << f.stats().last_fallback_reason;  // the last call throws
}

TEST(DataSizes, OneCountForAllSlices) {
  auto body = [](Tensor x, Tensor counts) { return repeat_interleave(x, counts, 0); };
  for (const bool one_first : {false, true}) {
    auto f = compile(body);
    for (std::int64_t n : {one_first ? 1 : 4, one_first ? 4 : 1, 3, 1})
      for (std::int64_t rows : {4, 3, 1}) {
        const Tensor x = arange(rows), counts = arange(1, 1 + n);
        EXPECT_EQ(outcome([&] { return f(x, counts); }), outcome([&] { return body(x, counts); })) << n << ", " << rows;
      }
  }
}

TEST(DataSizes, ACheckedCallWhoseAssumptionFailsIsServedEagerly) {
  auto body = [](Tensor x, Tensor o) { return masked_select(x, x > 0) + o; };
  auto f = compile(body, {.check = 1});
  const Tensor x = tensor_of<float>({1, -1, 2});
  for (std::int64_t n : {2, 1, 3, 2}) {
    const Tensor o = arange(n).to(kFloat32);
    EXPECT_EQ(outcome([&] { return f(x, o); }), outcome([&] { return body(x, o); })) << n;
  }
  EXPECT_EQ(fallbacks(f.stats(), "asks_of_data"), 1);
}

TEST(DataSizes, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({4, 3});
  EXPECT_EQ(error_of([&] { x.index({zeros({3}) > 0}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.index({Tensor(), zeros({3, 3}) > 0}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { x.index_put({zeros({3}) > 0}, ones({})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.index_put({zeros({4}) > -1}, ones({2, 3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.index({zeros({}) > 0}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { masked_select(x, zeros({4}) > 0); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { masked_select(x, x); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { nonzero_static(x, -1); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
