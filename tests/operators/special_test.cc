#include "reprise/special.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

/// By the sum of reciprocals up to a large argument.
double digamma_of(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (x < 0 && x == std::floor(x)) return kNan;
  long double sum = 0, y = x;
  for (; y < 200; ++y) sum -= 1 / y;
  return static_cast<double>(sum + std::log(y) - 1 / (2 * y) - 1 / (12 * y * y) + 1 / (120 * y * y * y * y));
}
/// By bisection.
double erfinv_of(double y) {
  if (std::isnan(y) || std::abs(y) > 1) return kNan;
  if (std::abs(y) == 1) return std::copysign(kInf, y);
  double low = 0, high = 30;
  for (int i = 0; i < 200; ++i) {
    const double x = (low + high) / 2;
    (std::abs(y) > 0.5 ? std::erfc(x) > 1 - std::abs(y) : std::erf(x) < std::abs(y)) ? low = x : high = x;
  }
  return std::copysign(low, y);
}
double i0e_of(double x) { return std::isinf(x) ? 0 : std::cyl_bessel_i(0.0, std::abs(x)) * std::exp(-std::abs(x)); }

Tensor each(const Tensor& x, double (*f)(double)) {
  return of_rows(
      x, -1,
      [f](const Row& r) {
        Row v;
        for (double e : r) v.push_back(f(e));
        return v;
      },
      x.dtype());
}

TEST(Special, AgreeWithTheirDefinitions) {
  const Row points{1e-6, 0.1, 0.5, 1, 1.4616321449683623, 2, 3.75, 10, 77, 1e5, -0.3, -1.7, -5.5, -20.25, -0.999};
  const Row fractions{0, 1e-9, -1e-3, 0.1, -0.3, 0.5, 0.50001, 0.7, -0.9, 0.99, 0.9999, -0.999999, 1, -1, 1.5, kNan};
  const Row sizes{0, 1e-3, -1, 2.5, -7, 8, 9, 20, 49, 51, 300, 499, -501, 600, kInf, kNan};
  for (auto [t, allowed] : {std::pair(kFloat64, 1e-13), std::pair(kFloat32, 2e-6)}) {
    const Tensor x = tensor_of(points).to(t).to(test_device()), y = tensor_of(fractions).to(t).to(test_device()),
                 z = tensor_of(sizes).to(t).to(test_device());
    expect_same({digamma(x)}, {each(x, digamma_of)}, allowed * 4, allowed);
    expect_same({erfinv(y)}, {each(y, erfinv_of)}, allowed, 0);
    expect_same({i0e(z)}, {each(z, i0e_of)}, allowed * 4, 0);
  }
  const Tensor poles = tensor_of(Row{0, -0.0, -1, -4, kInf, -kInf, kNan});
  const Row got = digamma(poles).to_vector<double>();
  EXPECT_EQ(got[0], -kInf);
  EXPECT_EQ(got[1], kInf);
  EXPECT_EQ(got[4], kInf);
  for (int i : {2, 3, 5, 6}) EXPECT_TRUE(std::isnan(got[static_cast<std::size_t>(i)])) << i;
  EXPECT_EQ(digamma(numbers({3}, kInt64)).dtype(), kFloat32);
  for (DType t : {kFloat16, kBFloat16})
    expect_same({digamma(numbers({40}, t)), erfinv(numbers({40}, t) / 4)},
                {digamma(numbers({40}, t).to(kFloat32)).to(t), erfinv(numbers({40}, t).to(kFloat32) / 4).to(t)}, 0, 0);
}

TEST(Special, NeighboursAreNextToEachOther) {
  const Row from{0, 0, 1, 1, -1, 1.5, kInf, -kInf, 1, kNan, 3e38, 65504, 0x1p-14, 0x1p-24, -0.0, 2};
  const Row towards{1, -1, 2, 0, 0, 1.5, 0, 0, kNan, 1, kInf, kInf, 0, 0, 0.0, -kInf};
  for (DType t : {kFloat64, kFloat32, kFloat16, kBFloat16}) {
    const Tensor x = tensor_of(from).to(t).to(test_device()), y = tensor_of(towards).to(t).to(test_device()),
                 r = nextafter(x, y);
    const Row a = x.to_vector<double>(), b = y.to_vector<double>(), got = r.to_vector<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      SCOPED_TRACE(std::to_string(a[i]) + " to " + std::to_string(b[i]) + " in " + std::string(dtype_name(t)));
      if (std::isnan(a[i]) || std::isnan(b[i])) {
        EXPECT_TRUE(std::isnan(got[i]));
        continue;
      }
      if (a[i] == b[i]) {
        EXPECT_EQ(got[i], b[i]);
        continue;
      }
      EXPECT_TRUE(a[i] < b[i] ? a[i] < got[i] && got[i] <= b[i] : b[i] <= got[i] && got[i] < a[i]) << got[i];
      // Nothing lies between: the middle of the two is one of them.
      const double middle = tensor_of(Row{std::isinf(got[i]) || std::isinf(a[i]) ? a[i] : a[i] + (got[i] - a[i]) / 2})
                                .to(t)
                                .to_vector<double>()[0];
      EXPECT_TRUE(middle == a[i] || middle == got[i]) << middle;
    }
  }
}

TEST(Special, DivisorsAndMultiples) {
  for (DType t : {kInt64, kInt32, kInt8, kUInt8}) {
    const Tensor x = tensor_of<std::int64_t>({12, 0, 7, 0, 9}).to(t).to(test_device()),
                 y = tensor_of<std::int64_t>({18, 5, 3, 0, 6}).to(t).to(test_device());
    expect_same({gcd(x, y), lcm(x, y), gcd(x.view({5, 1}), y).select(0, 0)},
                {tensor_of<std::int64_t>({6, 5, 1, 0, 3}).to(t), tensor_of<std::int64_t>({36, 0, 21, 0, 18}).to(t),
                 tensor_of<std::int64_t>({6, 1, 3, 12, 6}).to(t)},
                0, 0);
  }
  const Tensor x = tensor_of<std::int64_t>({-12, 12, INT64_MIN}), y = tensor_of<std::int64_t>({18, -18, 6});
  expect_same(
      {gcd(x, y), lcm(x, y).slice(0, 0, 2), gcd(x.to(kInt32).slice(0, 0, 2), tensor_of<std::int64_t>({18, -18}))},
      {tensor_of<std::int64_t>({6, 6, 2}), tensor_of<std::int64_t>({36, 36}), tensor_of<std::int64_t>({6, 6})}, 0, 0);
}

TEST(Special, Compositions) {
  const Tensor x = tensor_of(Row{0, 0.5, 2, -1, kNan}).to(test_device()),
               y = tensor_of(Row{kInf, 1, 0.25, 3, 1}).to(test_device());
  expect_same(
      {xlog1py(x, y), xlog1py(2, y), xlog1py(x, 1.0)},
      {tensor_of(Row{0, 0.5 * std::log(2), 2 * std::log(1.25), -std::log(4), kNan}),
       tensor_of(Row{kInf, 2 * std::log(2), 2 * std::log(1.25), 2 * std::log(4), 2 * std::log(2)}), x * std::log(2)},
      1e-12, 0);
  expect_same(
      {entr(x), ndtr(tensor_of(Row{0, 1.96, -kInf})), mvlgamma(tensor_of(Row{3.0, 5.5}), 2)},
      {tensor_of(Row{0, 0.5 * std::log(2), -2 * std::log(2), -kInf, kNan}), tensor_of(Row{0.5, 0.9750021048517795, 0}),
       tensor_of(Row{0.5 * std::log(std::acos(-1)) + std::lgamma(3) + std::lgamma(2.5),
                     0.5 * std::log(std::acos(-1)) + std::lgamma(5.5) + std::lgamma(5)})},
      1e-9, 1e-12);
  expect_same({ldexp(x, 3), ldexp(numbers({3}, kInt64), tensor_of<std::int64_t>({1, 2, 3}).to(test_device())),
               float_power(2, numbers({3}, kInt64)), float_power(numbers({3}), 2)},
              {x * 8, numbers({3}, kInt64) * tensor_of<float>({2, 4, 8}).to(test_device()),
               pow(2.0, numbers({3}, kInt64).to(kFloat64)), square(numbers({3}).to(kFloat64))},
              1e-6, 0);
  const auto [least, most] = aminmax(numbers({3, 4}), 1, true);
  expect_same({least, most, count_nonzero(numbers({3, 4}, kInt64), 1)},
              {amin(numbers({3, 4}), 1, true), amax(numbers({3, 4}), 1, true), ne(numbers({3, 4}, kInt64), 0).sum(1)},
              0, 0);
}

// A half operand beside a float32 one is widened before a function is taken of it.
TEST(Special, WiderOperandsDecide) {
  const Tensor x = tensor_of<float>({0.75, 2.25}).to(test_device()),
               y = tensor_of<float>({2.75, 1.5}).to(test_device()), h = y.to(kFloat16),
               i = tensor_of<std::int64_t>({1, 0}).to(test_device());
  expect_same({xlogy(x, h), xlog1py(x, h), nextafter(h, x), logaddexp(x, i), logaddexp(i.gt(0), h), logaddexp2(h, x)},
              {xlogy(x, y), xlog1py(x, y), nextafter(y, x), logaddexp(x, i.to(kFloat32)), logaddexp(i.to(kFloat16), h),
               logaddexp2(y, x)},
              1e-7, 0);
  EXPECT_EQ(ldexp(h, i).dtype(), kFloat16);
  Tensor one = full({}, 2.0).to(test_device());
  const Tensor first = tensor_of<std::int64_t>({0}).to(test_device()), four = full({1}, 4.0).to(test_device());
  expect_same({one.index_fill_(0, first, 3), index_copy(one, 0, first, four),
               index_add(one, 0, first.select(0, 0), four.select(0, 0)), one.index_add_(0, first, four)},
              {full({}, 7.0), full({}, 4.0), full({}, 7.0), full({}, 7.0)}, 0, 0);
  // Distances of integers do not wrap.
  const Tensor small = tensor_of<std::int64_t>({-128, 0, 127}).to(kInt8).to(test_device());
  expect_same({isclose(small, small.flip({0})), isclose(small.gt(0), small.gt(-1))},
              {tensor_of<std::int64_t>({0, 1, 0}).to(kBool), tensor_of<std::int64_t>({1, 0, 1}).to(kBool)}, 0, 0);
}

TEST(Special, CompileOnceForAllSizes) {
  for (DType t : {kFloat32, kFloat64, kBFloat16}) {
    auto make = [t](std::int64_t n) {
      return std::vector<Tensor>{numbers({n, 5}, t), numbers({n}, t, 1).unsqueeze(1), numbers({n, 5}, kInt32)};
    };
    expect_compiled(
        [](const std::vector<Tensor>& a) {
          return std::vector<Tensor>{digamma(a[0]) * 2,
                                     erfinv(a[0] / 4),
                                     i0e(a[0]),
                                     nextafter(a[0], a[1].expand_as(a[0])),
                                     gcd(a[2], full({1}, 6, {kInt32, a[2].device()})),
                                     entr(a[0].abs()),
                                     xlog1py(a[0], a[1].abs())};
        },
        make, {4, 7, 1, 0});
  }
  auto f = compile([](Tensor x) { return erfinv(tanh(x)) + digamma(exp(x)); });
  for (std::int64_t n : {3, 5, 90}) f(numbers({n, 4}));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Special, RefuseWhatTheyAreNotOf) {
  EXPECT_EQ(error_of([] { gcd(zeros({2}), zeros({2})); }).message(), "wants integers, got float32 and float32");
  EXPECT_EQ(error_of([] { lcm(zeros({2}).to(kInt64), zeros({3}).to(kInt64)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { nextafter(zeros({2}).to(kInt64), zeros({2}).to(kInt64)); }).message(),
            "wants floats, got int64 and int64");
  EXPECT_EQ(error_of([] { mvlgamma(zeros({2}), 0); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
