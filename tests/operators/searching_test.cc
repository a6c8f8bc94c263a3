#include "reprise/searching.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor longs(const std::vector<std::int64_t>& v) { return tensor_of(v).to(test_device()); }
Tensor doubles(const std::vector<double>& v) { return tensor_of(v).to(test_device()); }

TEST(Searching, PlacesInSortedRows) {
  for (DType t : kNumbers) {
    const Tensor sorted = doubles({1, 3, 3, 5, 7}).to(t), x = doubles({0, 1, 3, 4, 7, 9}).to(t);
    expect_same({searchsorted(sorted, x), searchsorted(sorted, x, false, true), searchsorted(sorted, x, true)},
                {longs({0, 0, 1, 3, 4, 5}), longs({0, 1, 3, 3, 5, 5}), longs({0, 0, 1, 3, 4, 5}).to(kInt32)}, 0, 0);
    expect_same({bucketize(x, sorted), bucketize(x.view({2, 3}), sorted, true, true)},
                {longs({0, 0, 1, 3, 4, 5}), longs({0, 1, 3, 3, 5, 5}).view({2, 3}).to(kInt32)}, 0, 0);
  }
  const Tensor sorted = doubles({1, 3, 3, 5, 7}), x = doubles({kNan, kInf, -kInf});
  expect_same({searchsorted(sorted, x), searchsorted(sorted, x, false, false, "right"), searchsorted(sorted, 4),
               searchsorted(doubles({}), x)},
              {longs({5, 5, 0}), longs({5, 5, 0}), full({}, 3), longs({0, 0, 0})}, 0, 0);
  // Rows of their own, in any memory, and a sorter.
  const Tensor rows = doubles({3, 1, 2, 9, 7, 8}).view({2, 3}), order = argsort(rows);
  const Tensor values = doubles({0, 2, 2.5, 9, 8, 7, 10, 1}).view({2, 4}),
               want = longs({0, 1, 2, 3, 1, 0, 3, 0}).view({2, 4});
  expect_same({searchsorted(sort(rows).first, values), searchsorted(rows, values, false, false, {}, order),
               searchsorted(transposed_memory(sort(rows).first), with_gaps(values))},
              {want, want, want}, 0, 0);
}

TEST(Searching, Histograms) {
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32}) {
    const Tensor x = doubles({1, 2, 1, 0, 3, 4, 5, -1}).to(t);
    expect_same({histc(x, 4, 0, 4), histc(x, 3), histc(x.view({2, 4}), 2, 1, 3)},
                {doubles({1, 2, 1, 2}).to(t), doubles({2, 3, 3}).to(t), doubles({2, 2}).to(t)}, 0, 0);
  }
  const Tensor some = doubles({kNan, 1, kInf, 2, -kInf}), none = doubles({});
  expect_same({histc(some, 2, 0, 4), histc(none, 2), histc(doubles({2, 2}), 2)},
              {doubles({1, 1}), doubles({0, 0}), doubles({0, 2})}, 0, 0);
  const Tensor many = numbers({1000, 41});
  EXPECT_EQ(histc(many, 25, -3, 3).sum().item().to_double(), 41000);
}

TEST(Searching, CountsOfNumbers) {
  for (DType t : {kInt64, kInt32, kInt8, kUInt8}) {
    const Tensor x = longs({1, 3, 3, 0, 5}).to(t);
    expect_same({bincount(x), bincount(x, {}, 8), bincount_within(x, 6), bincount(longs({}).to(t), {}, 2)},
                {longs({1, 1, 0, 2, 0, 1}), longs({1, 1, 0, 2, 0, 1, 0, 0}), longs({1, 1, 0, 2, 0, 1}), longs({0, 0})},
                0, 0);
    for (DType w : {kFloat32, kFloat64, kFloat16, kInt64})
      expect_same({bincount(x, doubles({1, 2, 3, 4, 5}).to(w))},
                  {doubles({4, 1, 0, 5, 0, 5}).to(w == kFloat32 ? w : kFloat64)}, 0, 0);
  }
}

TEST(Searching, TheKthAndTheMostFrequent) {
  for (DType t : kNumbers)
    for (std::int64_t dim : {0, 1, -1})
      for (bool keepdim : {false, true}) {
        const Tensor x = is_floating(t) ? special_numbers({3, 5, 4}, t) : numbers({3, 5, 4}, t);
        const auto sorted = [](Row r) {
          std::sort(r.begin(), r.end(), [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
          return r;
        };
        const auto kept = [&](const Tensor& y) { return keepdim ? y : y.squeeze(dim); };
        const auto [third, at] = kthvalue(x, 3, dim, keepdim);
        expect_same({third},
                    {kept(of_rows(
                        x, dim, [&](const Row& r) { return Row{sorted(r)[2]}; }, t))},
                    0, 0);
        expect_same({gather(x, dim, keepdim ? at : at.unsqueeze(dim))}, {keepdim ? third : third.unsqueeze(dim)}, 0, 0);
        const auto [most, last] = mode(x, dim, keepdim);
        const auto of_most = [&](bool place) {
          return [&, place](const Row& r) {
            double best = kNan;
            std::ptrdiff_t times = 0;
            for (double v : sorted(r)) {
              const std::ptrdiff_t n = std::isnan(v) ? 1 : std::count(r.begin(), r.end(), v);
              if (n > times) times = n, best = v;
            }
            double where = 0;
            for (std::size_t i = 0; i < r.size(); ++i)
              if (r[i] == best) where = static_cast<double>(i);
            return Row{place ? where : best};
          };
        };
        expect_same({most, last},
                    {kept(of_rows(x, dim, of_most(false), t)), kept(of_rows(x, dim, of_most(true), kInt64))}, 0, 0);
      }
  expect_same(
      {kthvalue(full({}, 2.0), 1).first, mode(full({}, 2.0).to(test_device())).first, mode(zeros({0, 3}), 1).first},
      {full({}, 2.0), full({}, 2.0), zeros({0})}, 0, 0);
}

TEST(Searching, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n, n + 3}), numbers({n + 1}, kFloat32, 1), numbers({n}, kUInt8)};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const Tensor edges = sort(a[1]).first;
        return std::vector<Tensor>{searchsorted(edges, a[0]) * 2, bucketize(a[0] + 1, edges, true),
                                   histc(a[0] * 1.5, 7, -4, 4),   bincount_within(a[2], 30),
                                   kthvalue(a[0], 2, 1).first,    mode(a[0], -1).first};
      },
      make, {4, 7, 20, 1, 0});
  auto f = compile([](Tensor x, Tensor e) { return bucketize(x, e) + histc(x, 5, 0, 1).sum().to(kInt64); });
  for (std::int64_t n : {3, 5, 90}) f(numbers({n, 4}), numbers({n + 1}));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Searching, RefuseWhatDoesNotFit) {
  const Tensor sorted = zeros({3}), x = zeros({2});
  EXPECT_EQ(error_of([&] { searchsorted(sorted, x.to(kInt64)); }).message(),
            "sorted_sequence is float32 and self is int64; cast with to()");
  EXPECT_EQ(error_of([&] { searchsorted(zeros({2, 3}), zeros({3, 3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { searchsorted(zeros({}), x); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { searchsorted(sorted, x, false, true, "left"); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { searchsorted(sorted, x, false, false, "middle"); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { searchsorted(sorted, x, false, false, {}, zeros({4}).to(kInt64)); }).code(),
            ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { searchsorted(sorted, x, false, false, {}, full({3}, 3)); }).code(),
            ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { bucketize(x, zeros({2, 2})); }).op(), "bucketize");
  EXPECT_EQ(error_of([&] { histc(x, 0); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { histc(x, 2, 1, 0); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { histc(full({2}, INFINITY), 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { histc(x.gt(0), 2); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { bincount(x); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { bincount(zeros({2, 2}).to(kInt64)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { bincount(tensor_of<std::int64_t>({1, -1})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { bincount(full({2}, 1), x.view({1, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { bincount(full({2}, 1), {}, -1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { bincount_within(full({2}, 3), 3); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { kthvalue(x, 3); }).message(), "k = 3 is out of range for dimension 0 of sizes [2]");
  EXPECT_EQ(error_of([&] { kthvalue(x, 0); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { mode(zeros({3, 0}), 1); }).code(), ErrorCode::ShapeMismatch);
}

}  // namespace
}  // namespace reprise::test
