#include "reprise/linalg.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

/// Well-conditioned matrices, and positive-definite ones.
Tensor matrices(const Ints& sizes, DType t = kFloat64, std::int64_t seed = 0) {
  return (numbers(sizes, kFloat64, seed) + 4 * eye(sizes.back(), std::nullopt, {kFloat64, test_device()})).to(t);
}
Tensor definite(const Ints& sizes, DType t = kFloat64) {
  const Tensor m = numbers(sizes, kFloat64) / 4;
  return (m.matmul(m.transpose(-1, -2)) + eye(sizes.back(), std::nullopt, {kFloat64, test_device()})).to(t);
}
double tolerance(DType t) { return t == kFloat64 ? 1e-11 : 1e-4; }

TEST(Linalg, Cholesky) {
  for (DType t : {kFloat64, kFloat32})
    for (Ints sizes : {Ints{1, 1}, Ints{4, 4}, Ints{2, 3, 7, 7}, Ints{0, 3, 3}, Ints{2, 0, 0}}) {
      const Tensor a = definite(sizes, t), l = cholesky(a), u = cholesky(a, true);
      expect_same({l.matmul(l.transpose(-1, -2)), u.transpose(-1, -2), tril(l)}, {a, l, l}, tolerance(t), tolerance(t));
      expect_same({cholesky(tril(a)), cholesky(triu(a), true), cholesky(transposed_memory(a))}, {l, u, l}, 0, 0);
      const Tensor b = numbers(
          [&] {
            Ints s = sizes;
            s.back() = 2;
            return s;
          }(),
          t);
      expect_same({a.matmul(cholesky_solve(b, l)), cholesky_solve(b, u, true), a.matmul(cholesky_inverse(l))},
                  {b, cholesky_solve(b, l), eye(sizes.back(), std::nullopt, {t, test_device()}).expand(sizes)},
                  tolerance(t), tolerance(t));
    }
  for (DType t : {kFloat16, kBFloat16})
    expect_same({cholesky(definite({5, 5}, t))}, {cholesky(definite({5, 5}, t).to(kFloat64)).to(t)}, 0, 0);
}

TEST(Linalg, Solutions) {
  for (DType t : {kFloat64, kFloat32})
    for (Ints sizes : {Ints{1, 1}, Ints{5, 5}, Ints{2, 3, 6, 6}, Ints{0, 3, 3}, Ints{2, 0, 0}}) {
      const Tensor a = matrices(sizes, t);
      Ints right = sizes, vectors(sizes.begin(), sizes.end() - 1);
      right.back() = 3;
      const Tensor b = numbers(right, t, 1), v = numbers(vectors, t, 2), c = b.transpose(-1, -2);
      expect_same({a.matmul(solve(a, b)), a.matmul(solve(a, v).unsqueeze(-1)).squeeze(-1), solve(a, c, false).matmul(a),
                   a.matmul(inverse(a))},
                  {b, v, c, eye(sizes.back(), std::nullopt, {t, test_device()}).expand(sizes)}, tolerance(t),
                  10 * tolerance(t));
      expect_same({solve(transposed_memory(a), with_gaps(b))}, {solve(a, b)}, 0, 0);
      for (bool unit : {false, true})
        for (bool upper : {false, true}) {
          Tensor m = upper ? triu(a) : tril(a);
          // of a the other triangle is not read
          const Tensor x = solve_triangular(a, b, upper, true, unit), y = solve_triangular(a, c, upper, false, unit);
          if (unit)
            m = m - diagonal(m, 0, -2, -1).unsqueeze(-1) * eye(sizes.back(), std::nullopt, {t, test_device()}) +
                eye(sizes.back(), std::nullopt, {t, test_device()});
          expect_same({m.matmul(x), y.matmul(m), triangular_solve(b, a, upper, false, unit).first,
                       m.transpose(-1, -2).matmul(triangular_solve(b, a, upper, true, unit).first)},
                      {b, c, x, b}, 100 * tolerance(t), 1000 * tolerance(t));
        }
    }
  // Batches broadcast, and a vector serves all matrices.
  const Tensor a = matrices({2, 1, 4, 4}), b = numbers({3, 4, 2}, kFloat64);
  expect_same({a.matmul(solve(a, b)), solve(a, numbers({4}, kFloat64)), solve(a.select(0, 0), b)},
              {b.expand({2, 3, 4, 2}), solve(a, numbers({4}, kFloat64).expand({2, 1, 4}).contiguous()),
               solve(a, b).select(0, 0)},
              1e-11, 1e-11);
}

/// By minors.
double determinant(const std::vector<Row>& m) {
  if (m.empty()) return 1;
  double sum = 0;
  for (std::size_t c = 0; c < m.size(); ++c) {
    std::vector<Row> rest;
    for (std::size_t r = 1; r < m.size(); ++r) {
      Row row = m[r];
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
      rest.push_back(row);
    }
    sum += (c % 2 ? -1 : 1) * m[0][c] * determinant(rest);
  }
  return sum;
}

TEST(Linalg, FactorsAndDeterminants) {
  for (std::int64_t n : {0, 1, 2, 3, 6}) {
    const Tensor a = numbers({2, n, n}, kFloat64);
    Row want;
    const Row v = a.to_vector<double>();
    for (std::int64_t b = 0; b < 2; ++b) {
      std::vector<Row> m;
      for (std::int64_t r = 0; r < n; ++r) m.emplace_back(v.begin() + (b * n + r) * n, v.begin() + (b * n + r + 1) * n);
      want.push_back(determinant(m));
    }
    const Tensor d = det(a);
    const auto [sign, log] = slogdet(a);
    expect_same({d, sign * exp(log), det(a.to(kFloat32))},
                {tensor_of(want), tensor_of(want), tensor_of(want).to(kFloat32)}, 1e-4, 1e-4);
  }
  expect_same({det(zeros({3, 3}).to(test_device())), slogdet(zeros({3, 3}).to(test_device())).second},
              {full({}, 0.0), full({}, -kInf)}, 0, 0);
  for (const Ints& other : {Ints{2, 1}, Ints{1, 4}})
    EXPECT_EQ(error_of([&] { cross(zeros({2, 3}), zeros(other)); }).code(), ErrorCode::ShapeMismatch);
  // P A = L U.
  for (Ints sizes : {Ints{4, 4}, Ints{5, 3}, Ints{2, 3, 6}}) {
    const Tensor a = numbers(sizes, kFloat64, 3);
    const auto [lu, pivots] = lu_factor(a);
    const std::int64_t rows = sizes[sizes.size() - 2].value(), k = std::min(rows, sizes.back().value());
    const Tensor l = tril(lu, -1).slice(-1, 0, k) + eye(rows, k, {kFloat64, test_device()}),
                 u = triu(lu).slice(-2, 0, k);
    const Tensor flat = a.reshape({-1, rows, sizes.back()}), moves = pivots.reshape({-1, k}),
                 product = l.matmul(u).reshape({-1, rows, sizes.back()});
    for (std::int64_t b = 0; b < flat.size(0).value(); ++b) {
      std::vector<std::int64_t> order;
      for (std::int64_t r = 0; r < rows; ++r) order.push_back(r);
      const std::vector<std::int64_t> p = moves.select(0, b).to_vector<std::int64_t>();
      for (std::size_t i = 0; i < p.size(); ++i) std::swap(order[i], order[static_cast<std::size_t>(p[i] - 1)]);
      expect_same({product.select(0, b)}, {index_select(flat.select(0, b), 0, tensor_of(order).to(test_device()))},
                  1e-12, 1e-12);
    }
    EXPECT_EQ(pivots.dtype(), kInt32);
  }
}

TEST(Linalg, ProductsOfOtherShapes) {
  for (DType t : {kFloat32, kInt64, kBFloat16}) {
    const Tensor a = numbers({2, 3}, t), b = numbers({4, 5}, t, 1), k = kron(a, b), x = numbers({2, 3}, t, 2);
    expect_same({k.slice(0, 4, 8).slice(1, 5, 10), kron(a.select(0, 0), b).slice(1, 0, 5)},
                {a.select(0, 1).select(0, 1) * b, a.select(0, 0).select(0, 0) * b}, 0, 0);
    const Tensor c = cross(a, x);
    expect_same({c.select(1, 2), cross(a.t(), x.t(), 0).t(), cross(a, x.slice(0, 0, 1))},
                {a.select(1, 0) * x.select(1, 1) - a.select(1, 1) * x.select(1, 0), c,
                 cross(a, x.slice(0, 0, 1).expand({2, 3}))},
                0, 0);
    expect_same({trace(numbers({3, 5}, t))}, {diagonal(numbers({3, 5}, t)).sum()}, 0, 0);
  }
  const Tensor a = numbers({2, 3, 4}, kFloat64), b = numbers({3, 4, 5}, kFloat64, 1);
  expect_same({tensordot(a, b), tensordot(a, b, 0).select(0, 1).select(0, 2).select(0, 3),
               tensordot(a, b, {2, 1}, {1, 0}), tensordot(a, b.transpose(0, 1), {1}, {-2})},
              {einsum("abc,bcd->ad", {a, b}), a.select(0, 1).select(0, 2).select(0, 3) * b,
               einsum("abc,bcd->ad", {a, b}), einsum("abc,dbe->acde", {a, b.transpose(0, 1)})},
              1e-12, 1e-12);
}

TEST(Linalg, DistancesOfRows) {
  for (DType t : {kFloat64, kFloat32, kFloat16, kBFloat16})
    for (double p : {0.0, 1.0, 2.0, 3.0, 0.5, kInf}) {
      const Tensor x = numbers({2, 5, 4}, t), y = numbers({3, 4}, t, 1), d = cdist(x, y, p);
      EXPECT_EQ(graph::sizes_text(d.sizes()), "[2, 5, 3]");
      const Row u = x.to_vector<double>(), v = y.to_vector<double>();
      Row want;
      for (std::size_t i = 0; i < 10; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          double sum = 0;
          for (std::size_t j = 0; j < 4; ++j) {
            const double e = std::abs(u[4 * i + j] - v[4 * k + j]);
            sum = p == 0 ? sum + (e != 0) : std::isinf(p) ? std::max(sum, e) : sum + std::pow(e, p);
          }
          want.push_back(p == 0 || std::isinf(p) ? sum : std::pow(sum, 1 / p));
        }
      expect_same({d}, {tensor_of(want, {2, 5, 3}).to(t)}, 1e-5, 1e-5);
    }
  expect_same({cdist(zeros({2, 0}), zeros({3, 0})), cdist(zeros({0, 2}), zeros({3, 2})),
               cdist(zeros({2, 0}), zeros({3, 0}), kInf)},
              {zeros({2, 3}), zeros({0, 3}), zeros({2, 3})}, 0, 0);
}

TEST(Linalg, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{matrices({2, n, n}), definite({n, n}), numbers({n, 3}, kFloat64)};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{cholesky(a[1] * 2),
                                   solve(a[0], a[2]) + 1,
                                   inverse(a[0]),
                                   det(a[0]),
                                   slogdet(a[1]).second,
                                   solve_triangular(a[0], a[2], true),
                                   trace(a[1]),
                                   cdist(a[2], a[2] * 2, 1.0),
                                   kron(a[2], a[2]),
                                   cross(a[2], a[2] * a[2]),
                                   tensordot(a[2], a[1], {0}, {1})};
      },
      make, {4, 7, 2, 1}, {.rtol = 1e-9, .atol = 1e-9});
  auto f = compile([](Tensor a, Tensor b) { return solve(a, b) + cdist(b, b * 2).sum(); });
  for (std::int64_t n : {3, 6, 40}) f(matrices({n, n}), numbers({n, 2}, kFloat64));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Linalg, RefuseWhatHasNoSolution) {
  Tensor a = matrices({3, 2, 2}, kFloat32).to(Device::cpu()).clone();
  a.select(0, 1).fill_(1);
  a.select(0, 2).fill_(0);
  const Error e = error_of([&] { solve(a, zeros({3, 2, 1})); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(e.op(), "solve");
  EXPECT_EQ(e.message(), "matrix 1 of the batch is singular (pivot 2 is 0)");
  EXPECT_EQ(error_of([&] { inverse(zeros({2, 2})); }).message(), "matrix is singular (pivot 1 is 0)");
  EXPECT_EQ(error_of([&] {
              cholesky(tensor_of<float>({1, 2, 2, 1}, {2, 2}));
            }).message(),
            "matrix is not positive-definite (the leading minor of order 2 is not)");
  EXPECT_EQ(error_of([&] { cholesky(full({1, 1}, NAN)); }).code(), ErrorCode::InvalidArgument);
  auto f = compile([](Tensor x) { return inverse(x) + 1; });
  f(a.select(0, 0));
  EXPECT_EQ(error_of([&] { f(a.select(0, 1)); }).message(), "matrix is singular (pivot 2 is 0)");
  EXPECT_EQ(error_of([&] { cholesky(zeros({2, 3})); }).message(), "wants square matrices, got sizes [2, 3]");
  EXPECT_EQ(error_of([&] { inverse(zeros({2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { det(zeros({2, 2}).to(kInt64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { solve(zeros({2, 2}), zeros({3, 1})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { solve(zeros({2, 2}), zeros({2, 2}).to(kFloat64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { solve(zeros({2, 2}), zeros({2}), false); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { trace(zeros({2, 2, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cross(zeros({2}), zeros({2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { kron(zeros({1, 1, 1, 1, 1}), zeros({1})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { tensordot(zeros({2, 3}), zeros({3, 3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { tensordot(zeros({2, 3}), zeros({3, 3}), 3); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { cdist(zeros({2, 3}), zeros({2, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cdist(zeros({2, 3}), zeros({2, 3}), -1); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
