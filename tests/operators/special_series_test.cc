#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor of(const Row& v, DType t = kFloat64) { return tensor_of(v).to(t).to(test_device()); }

// exp(-x) I1(x) by its integral, (1/pi) int_0^pi exp(x (cos u - 1)) cos(u) du: the trapezoids of a periodic function
// converge faster than any power.
double scaled_bessel(double x) {
  const int n = 4096;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double u = M_PI * (i + 0.5) / n;
    sum += std::exp(std::abs(x) * (std::cos(u) - 1)) * std::cos(u);
  }
  return std::copysign(sum / n, x);
}

TEST(SpecialSeries, BesselFunctionsOfOrderOne) {
  const Row points{0, 1e-300, 1e-8, 0.1, 0.5, 1, 3, 8, 15, 29.9, 30, 30.1, 50, 200, 1e4, -0.25, -7, -45};
  Row scaled, plain;
  for (double x : points)
    scaled.push_back(std::abs(x) < 1e-7 ? x / 2 * std::exp(-std::abs(x)) : scaled_bessel(x)),
        plain.push_back(scaled.back() * std::exp(std::abs(x)));
  expect_same({i1e(of(points)), i1(of(points))}, {tensor_of(scaled), tensor_of(plain)}, 1e-12, 0);
  expect_same({i1e(of({kInf, -kInf, kNan, 1e30})), i1(of({kInf, -kInf, kNan, 800, 710}))},
              {tensor_of<double>({0, -0.0, kNan, std::sqrt(0.5e-30 / M_PI)}),
               tensor_of<double>({kInf, -kInf, kNan, kInf, scaled_bessel(710) * std::exp(355.0) * std::exp(355.0)})},
              1e-12, 0);
  EXPECT_EQ(i1(numbers({3}, kInt64)).dtype(), kFloat32);
}

TEST(SpecialSeries, ZetaAndPolygamma) {
  // Known values, and the recurrence that they obey: zeta(s, q) = zeta(s, q + 1) + q^-s, also below 0.
  const double pi2 = M_PI * M_PI;
  expect_same({zeta(of({2, 4, 2, 3}), of({1, 1, 0.5, 1}))},
              {tensor_of<double>({pi2 / 6, pi2 * pi2 / 90, pi2 / 2, 1.2020569031595942})}, 1e-14, 0);
  expect_same({polygamma(1, of({1, 0.5, 2})), polygamma(2, of({1})), polygamma(3, of({1}))},
              {tensor_of<double>({pi2 / 6, pi2 / 2, pi2 / 6 - 1}), tensor_of<double>({-2 * 1.2020569031595942}),
               tensor_of<double>({pi2 * pi2 / 15})},
              1e-13, 0);
  const Tensor q = of({0.1, 0.75, 3.5, 20, 1e3, -0.25, -3.5, -17.125, -1e6 - 0.5});
  for (double s : {2.0, 3.0, 7.0})
    expect_same({zeta(full_like(q, s), q)}, {zeta(full_like(q, s), q + 1) + pow(q, -s)}, 1e-11, 1e-11);
  expect_same({zeta(full({3}, 2.5, {kFloat64}), tensor_of<double>({0.3, 4, 100})).to(test_device())},
              {(zeta(full({3}, 2.5, {kFloat64}), tensor_of<double>({1.3, 5, 101})) +
                pow(tensor_of<double>({0.3, 4, 100}), -2.5))
                   .to(test_device())},
              1e-13, 0);
  for (std::int64_t n : {1, 2, 3})  // psi^(n)(x + 1) - psi^(n)(x) = (-1)^n n! x^(-n-1)
    expect_same({polygamma(n, q + 1)},
                {polygamma(n, q) + (n % 2 ? -1.0 : 1.0) * std::tgamma(n + 1.0) * pow(q, -static_cast<double>(n) - 1)},
                1e-10, 1e-10);
  expect_same({zeta(of({1, 0.5, 2, 2, 2.5, kNan, 2}), of({2, 2, 0, -3, -0.5, 1, kInf}))},
              {tensor_of<double>({kInf, kNan, kInf, kInf, kNan, kNan, 0})}, 0, 0);
  expect_same({polygamma(1, of({0, -2, kInf, kNan})), polygamma(2, of({0, -2})), polygamma(0, q)},
              {tensor_of<double>({kInf, kInf, 0, kNan}), tensor_of<double>({-kInf, -kInf}), digamma(q)}, 0, 0);
  EXPECT_EQ(error_of([&] { polygamma(-1, q); }).message(), "n must not be negative, got -1");
  EXPECT_EQ(graph::sizes_text(zeta(full({3, 1}, 2.0), full({4}, 1.5)).sizes()), "[3, 4]");
}

}  // namespace
}  // namespace reprise::test
