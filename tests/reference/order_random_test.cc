#include <algorithm>
#include <numeric>

#include "device/parallel.h"
#include "kernels/reference/philox.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using L = std::vector<std::int64_t>;

TEST(Order, TopkTakesTheLowerIndexOfEquals) {
  Tensor x = make({3, 9, 9, -kInf, kNan, 1, 0.0, -0.0}, {8});
  auto r = calln(OpId::topk, {&x, Int(3), Int(-1), true, true});
  expect_near(r[0], {kNan, 9, 9});
  EXPECT_EQ(longs(r[1]), (L{4, 1, 2}));
  r = calln(OpId::topk, {&x, Int(4), Int(-1), false, true});
  expect_near(r[0], {-kInf, 0, 0, 1});
  EXPECT_EQ(longs(r[1]), (L{3, 6, 7, 5}));
  EXPECT_TRUE(std::signbit(values(r[0])[2]));  // the elements themselves, not their keys
  Tensor m = make({1, 4, 2, 3, 6, 5}, {2, 3});
  r = calln(OpId::topk, {&m, Int(1), Int(0), true, true});
  EXPECT_EQ(longs(r[1]), (L{1, 1, 1}));
  EXPECT_EQ(sizes_of(calln(OpId::topk, {&m, Int(0), Int(1), true, true})[0]), (L{2, 0}));
  Tensor s = scalar_tensor(3);
  EXPECT_EQ(longs(calln(OpId::topk, {&s, Int(1), Int(0), true, true})[1]), (L{0}));
}

// Against std::stable_sort, for every dtype, many equal values, sizes of each algorithm.
TEST(Order, SortAndTopkAgreeWithAStableSort) {
  for (int t = 0; t < kDTypeCount; ++t) {
    if (is_storage_only(static_cast<DType>(t))) continue;
    for (std::int64_t n : {1, 7, 300, 5000}) {
      std::mt19937 rng(static_cast<unsigned>(t + n));
      Tensor x = random_tensor(rng, static_cast<DType>(t), {n}, -100, 100);
      std::vector<double> v = values(x);
      for (bool descending : {false, true}) {
        L want(static_cast<std::size_t>(n));
        std::iota(want.begin(), want.end(), 0);
        std::stable_sort(want.begin(), want.end(), [&](std::int64_t a, std::int64_t b) {
          double x = v[static_cast<std::size_t>(a)], y = v[static_cast<std::size_t>(b)];
          return descending ? x > y : x < y;
        });
        auto sorted = calln(OpId::sort, {&x, Int(0), descending});
        EXPECT_EQ(longs(sorted[1]), want) << static_cast<DType>(t) << " " << n;
        std::vector<double> in_order;
        for (std::int64_t i : want) in_order.push_back(v[static_cast<std::size_t>(i)]);
        EXPECT_EQ(values(sorted[0]), in_order);
        std::int64_t k = std::min<std::int64_t>(n, 20);
        auto top = calln(OpId::topk, {&x, Int(k), Int(0), descending, true});
        EXPECT_EQ(longs(top[1]), L(want.begin(), want.begin() + k)) << static_cast<DType>(t) << " " << n;
      }
    }
  }
}

TEST(Order, SortAlongADimWithNan) {
  Tensor x = make({2, kNan, 1, 5, -1, kNan}, {2, 3});
  auto r = calln(OpId::sort, {&x, Int(1), false});
  expect_near(r[0], {1, 2, kNan, -1, 5, kNan});
  EXPECT_EQ(longs(r[1]), (L{2, 0, 1, 1, 0, 2}));
  r = calln(OpId::sort, {&x, Int(0), true});
  expect_near(r[0], {5, kNan, kNan, 2, -1, 1});
  Tensor i = make_long({INT64_MAX, INT64_MIN, 0});
  EXPECT_EQ(longs(calln(OpId::sort, {&i, Int(0), false})[0]), (L{INT64_MIN, 0, INT64_MAX}));
}

// The known answers published with the algorithm.
TEST(Random, PhiloxKnownAnswers) {
  using W = std::array<std::uint32_t, 4>;
  EXPECT_EQ(kernels::philox(0, 0), (W{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(kernels::philox(~0ull, ~0ull, ~0ull), (W{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(kernels::philox(0x299f31d0a4093822ull, 0x85a308d3243f6a88ull, 0x0370734413198a2eull),
            (W{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Tensor random(OpId op, std::vector<Int> sizes, DType t, std::int64_t seed, std::int64_t offset) {
  return call(op, {IntArrayRef(sizes), t, std::string_view("cpu"), Int(seed), Int(offset)});
}

TEST(Random, ElementsDependOnSeedAndCounterAlone) {
  std::vector<double> whole = values(random(OpId::rand, {100}, DType::Float32, 7, 0)),
                      tail = values(random(OpId::rand, {10, 5}, DType::Float32, 7, 50));
  EXPECT_EQ(std::vector<double>(whole.begin() + 50, whole.end()), tail);
  EXPECT_NE(values(random(OpId::rand, {100}, DType::Float32, 8, 0)), whole);
  int before = device::num_threads();
  device::set_num_threads(1);
  std::vector<double> one = values(random(OpId::randn, {20000}, DType::Float32, 3, 11));
  device::set_num_threads(before);
  EXPECT_EQ(values(random(OpId::randn, {20000}, DType::Float32, 3, 11)), one);
}

TEST(Random, Distributions) {
  constexpr int n = 20000;
  for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    double sum = 0, top = 0;
    for (double v : values(random(OpId::rand, {n}, t, 1, 0))) {
      ASSERT_GE(v, 0);
      ASSERT_LT(v, 1) << t;
      sum += v;
      top = std::max(top, v);
    }
    EXPECT_NEAR(sum / n, 0.5, 0.01) << t;
    EXPECT_GT(top, 0.99);
    double mean = 0, squares = 0, beyond = 0;
    for (double v : values(random(OpId::randn, {n}, t, 1, 0)))
      mean += v / n, squares += v * v / n, beyond += std::abs(v) > 1.96;
    EXPECT_NEAR(mean, 0, 0.03) << t;
    EXPECT_NEAR(squares, 1, 0.05) << t;
    EXPECT_NEAR(beyond / n, 0.05, 0.01) << t;
  }
}

TEST(Random, MultinomialDrawsByWeight) {
  Tensor w = make({1, 0, 3, 0});
  constexpr int n = 8000;
  L drawn = longs(call(OpId::multinomial, {&w, Int(n), true, Int(5), Int(0)}));
  std::vector<int> count(4);
  for (std::int64_t i : drawn) ++count[static_cast<std::size_t>(i)];
  EXPECT_EQ(count[1] + count[3], 0);
  EXPECT_NEAR(count[2] / double(n), 0.75, 0.02);
  // Without replacement: first draws follow the weights too, and nothing comes twice.
  Tensor rows = make({1, 2, 5, 1, 2, 5}, {2, 3});
  std::vector<int> first(3);
  for (int seed = 0; seed < 2000; ++seed) {
    L r = longs(call(OpId::multinomial, {&rows, Int(3), false, Int(seed), Int(0)}));
    ASSERT_EQ(r.size(), 6u);
    for (int row : {0, 3}) {
      L s(r.begin() + row, r.begin() + row + 3);
      ++first[static_cast<std::size_t>(s[0])];
      std::sort(s.begin(), s.end());
      ASSERT_EQ(s, (L{0, 1, 2}));
    }
  }
  EXPECT_NEAR(first[2] / 4000.0, 5.0 / 8, 0.03);
  EXPECT_NEAR(first[0] / 4000.0, 1.0 / 8, 0.02);
}

TEST(Random, MultinomialRefusesWhatIsNoDistribution) {
  auto message = [](std::vector<float> w, Int k, bool replacement) {
    Tensor t = make(w);
    Error e = error_of([&] { call(OpId::multinomial, {&t, k, replacement, Int(0), Int(0)}); });
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    return e.message();
  };
  EXPECT_EQ(message({0, 0}, 1, true), "the weights in row 0 are all zero");
  EXPECT_NE(message({1, -1}, 1, true).find("weight -1.000000 of category 1 in row 0 is negative"), std::string::npos);
  EXPECT_NE(message({1, kNan}, 1, true).find("of category 1"), std::string::npos);
  EXPECT_EQ(message({1, 0, 1}, 3, false),
            "cannot draw 3 samples without replacement from 2 categories of positive weight in row 0");
}

TEST(Create, FullAndArange) {
  Ints sizes{2, 2}, none{0}, scalar{};
  std::string_view cpu = "cpu";
  expect_near(call(OpId::full, {IntArrayRef(sizes), Scalar(2.5), DType::Float32, cpu}), {2.5, 2.5, 2.5, 2.5});
  EXPECT_EQ(longs(call(OpId::full, {IntArrayRef(scalar), Scalar(true), DType::Bool, cpu})), (L{1}));
  EXPECT_EQ(longs(call(OpId::full, {IntArrayRef(none), Scalar(1), DType::Int64, cpu})), (L{}));
  EXPECT_EQ(longs(call(OpId::arange, {Scalar(0), Scalar(5), Scalar(2), DType::Int64, cpu})), (L{0, 2, 4}));
  EXPECT_EQ(longs(call(OpId::arange, {Scalar(3), Scalar(0), Scalar(-1), DType::Int32, cpu})), (L{3, 2, 1}));
  expect_near(call(OpId::arange, {Scalar(0), Scalar(1.0), Scalar(0.25), DType::Float32, cpu}), {0, 0.25, 0.5, 0.75});
}

}  // namespace
}  // namespace reprise::test
