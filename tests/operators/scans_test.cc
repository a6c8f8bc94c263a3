#include "reprise/scans.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

const Ints kShape{3, 5, 4};

TEST(Scans, ProductsOfAllDtypes) {
  const auto products = [](const Row& r) {
    Row p(r);
    for (std::size_t i = 1; i < p.size(); ++i) p[i] *= p[i - 1];
    return p;
  };
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8, kBool})
    for (std::int64_t dim : {0, 1, -1}) {
      const Tensor x = numbers(kShape, t);
      expect_same({cumprod(x, dim)}, {of_rows(x, dim, products, is_floating(t) ? t : kInt64)}, 1e-6, 1e-6);
    }
  // In int8 they wrap; a float is cut off before it is multiplied.
  const Tensor x = tensor_of<double>({2.7, 100.5, 3.9}).to(test_device());
  expect_same({cumprod(x, 0, kInt8)}, {tensor_of<std::int64_t>({2, -56, 88}).to(kInt8)}, 0, 0);
  expect_same({cumprod(full({}, 3.0).to(test_device()), 0)}, {full({}, 3.0)}, 0, 0);
}

// Where an extreme stands, too: of equal ones the last, and of several NaN the last.
TEST(Scans, ExtremesAndTheirPlaces) {
  const auto extreme = [](bool max, bool places) {
    return [=](const Row& r) {
      Row out;
      std::size_t best = 0;
      for (std::size_t i = 0; i < r.size(); ++i) {
        const bool nan_so_far = std::isnan(r[best]);
        if (std::isnan(r[i]) || (!nan_so_far && (max ? r[i] >= r[best] : r[i] <= r[best]))) best = i;
        out.push_back(places ? static_cast<double>(best) : r[best]);
      }
      return out;
    };
  };
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8, kBool})
    for (std::int64_t dim : {0, 1, -1})
      for (bool special : {false, true}) {
        const Tensor x = special && is_floating(t) ? special_numbers(kShape, t) : numbers(kShape, t);
        const TensorPair most = cummax(x, dim), least = cummin(x, dim);
        expect_same({most.first, most.second, least.first, least.second},
                    {of_rows(x, dim, extreme(true, false), t), of_rows(x, dim, extreme(true, true), kInt64),
                     of_rows(x, dim, extreme(false, false), t), of_rows(x, dim, extreme(false, true), kInt64)},
                    0, 0);
      }
}

TEST(Scans, LogarithmsOfSumsOfExponentials) {
  const auto sums = [](const Row& r) {
    Row out;
    for (std::size_t i = 0; i < r.size(); ++i) {
      double most = -kInf, sum = 0;
      bool nan = false;
      for (std::size_t k = 0; k <= i; ++k) nan = nan || std::isnan(r[k]), most = std::fmax(most, r[k]);
      for (std::size_t k = 0; k <= i; ++k) sum += r[k] == most ? 1 : std::exp(r[k] - most);
      out.push_back(nan ? kNan : std::isinf(most) ? most : most + std::log(sum));
    }
    return out;
  };
  for (DType t : kFloats)
    for (std::int64_t dim : {0, 1, -1}) {
      const Tensor x = numbers(kShape, t), y = special_numbers(kShape, t), large = (numbers(kShape, t) * 300).to(t);
      expect_same({logcumsumexp(x, dim), logcumsumexp(y, dim), logcumsumexp(large, dim)},
                  {of_rows(x, dim, sums, t), of_rows(y, dim, sums, t), of_rows(large, dim, sums, t)}, 1e-6, 1e-6);
    }
}

TEST(Scans, Differences) {
  const auto differences = [](const Row& r) {
    Row d;
    for (std::size_t i = 1; i < r.size(); ++i) d.push_back(r[i] - r[i - 1]);
    return d;
  };
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8}) {
    const Tensor x = numbers({4, 6}, t);
    expect_same({diff(x), diff(x, 1, 0)}, {of_rows(x, -1, differences, t), of_rows(x, 0, differences, t)}, 0, 0);
  }
  const Tensor x = tensor_of<double>({1, 4, 9, 16, 25}).to(test_device());
  expect_same({diff(x), diff(x, 2), diff(x, 0), diff(x, 9)},
              {tensor_of<double>({3, 5, 7, 9}), tensor_of<double>({2, 2, 2}), x, tensor_of<double>({}, {0})}, 0, 0);
  expect_same(
      {diff(x, 1, 0, tensor_of<double>({0.0}).to(test_device()), tensor_of<double>({36.0, 0.0}).to(test_device()))},
      {tensor_of<double>({1, 3, 5, 7, 9, 11, -36})}, 0, 0);
  expect_same({diff(x, 0, 0, x)}, {x}, 0, 0);
  expect_same({diff(x.gt(5))}, {tensor_of<double>({0, 1, 0, 0}).to(kBool)}, 0, 0);
}

TEST(Scans, CompileOnceForAllSizes) {
  for (DType t : {kFloat32, kBFloat16, kInt32}) {
    auto f = [t](const std::vector<Tensor>& a) {
      std::vector<Tensor> r{cumprod(a[0], 0), cummax(a[0], 1).first, cummax(a[0], -1).second, cummin(a[0], 0).first + 1,
                            diff(a[0], 1, 0)};
      if (is_floating(t)) r.push_back(logcumsumexp(a[0] * 2, 1));
      return r;
    };
    expect_compiled(f, [t](std::int64_t n) { return std::vector<Tensor>{numbers({n, n + 2}, t)}; }, {4, 7, 20, 1, 0});
  }
  auto f = compile([](Tensor x) { return cumprod(x, 0) + cummin(x, 0).first; });
  for (std::int64_t n : {3, 5, 90}) f(numbers({n, 4}));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Scans, RefuseWhatHasNone) {
  EXPECT_EQ(error_of([] { cumprod(zeros({2}), 1); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([] { cummax(zeros({2}), -2); }).code(), ErrorCode::IndexOutOfRange);
  const Error e = error_of([] { logcumsumexp(zeros({2}).to(kInt64), 0); });
  EXPECT_EQ(e.code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(e.op(), "logcumsumexp");
  EXPECT_EQ(e.message(), "not defined for int64 (wanted a floating dtype; cast with to())");
  EXPECT_EQ(error_of([] { diff(zeros({}), 1); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { diff(zeros({3}), -1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { diff(zeros({3, 2}), 1, 0, zeros({1, 3})); }).op(), "diff");
}

}  // namespace
}  // namespace reprise::test
