#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

const std::vector<Ints> kSizes{{1, 1},    {4, 4},    {6, 3},    {3, 6},   {2, 3, 5, 4},
                               {0, 3, 3}, {2, 3, 0}, {2, 0, 3}, {2, 0, 0}};
double precision(DType t) { return t == kFloat64 ? 1e-12 : 1e-5; }
Tensor unit_matrix(const Tensor& like) {
  return eye(like.size(-1), std::nullopt, {like.dtype(), test_device()}).expand(like.sizes());
}
Tensor rows_first(const Tensor& t) { return t.transpose(-1, -2); }
/// Two equal columns and one of zeros: of rank n - 2.
Tensor deficient(Int m, Int n) {
  Tensor x = numbers({m, n}, kFloat64);
  x.select(1, 1).copy_(x.select(1, 0));
  x.select(1, 2).zero_();
  return x;
}

TEST(Factors, QrGivesOrthonormalColumnsAndATriangle) {
  for (DType t : {kFloat64, kFloat32})
    for (const Ints& sizes : kSizes)
      for (const char* mode : {"reduced", "complete"}) {
        const Tensor a = numbers(sizes, t);
        const auto [q, r] = qr(a, mode);
        const Tensor gram = matmul(rows_first(q), q);
        expect_same({matmul(q, r), gram, triu(r), qr(transposed_memory(a), mode).second}, {a, unit_matrix(gram), r, r},
                    precision(t), precision(t));
        EXPECT_EQ(graph::sizes_text(qr(a, "r").second.sizes()), graph::sizes_text(qr(a).second.sizes()));
        EXPECT_EQ(q.size(-1).value(), mode[0] == 'c' ? sizes[sizes.size() - 2].value()
                                                     : std::min(sizes[sizes.size() - 2].value(), sizes.back().value()));
      }
  // Diagonal elements have the opposite of the sign that stood there; what is triangular already stays.
  const Tensor x = tensor_of<double>({3, 1, 4, 2}, {2, 2}).to(test_device());
  expect_same({qr(x).second.select(0, 0).select(0, 0), qr(triu(x)).second}, {full({}, -5.0, {kFloat64}), triu(x)},
              1e-15, 1e-15);
  const auto [q, r] = qr(deficient(5, 4));
  expect_same({matmul(q, r), matmul(rows_first(q), q)},
              {deficient(5, 4), eye(4, std::nullopt, {kFloat64, test_device()})}, 1e-13, 1e-13);
}

TEST(Factors, EigenvaluesOfSymmetricMatrices) {
  for (DType t : {kFloat64, kFloat32})
    for (const Ints& sizes : {Ints{1, 1}, Ints{5, 5}, Ints{2, 3, 7, 7}, Ints{0, 3, 3}, Ints{2, 0, 0}}) {
      const Tensor half = numbers(sizes, t), a = half + rows_first(half);
      const auto [values, vectors] = eigh(a);
      const Tensor gram = matmul(rows_first(vectors), vectors);
      expect_same({matmul(vectors * values.unsqueeze(-2), rows_first(vectors)), gram, std::get<0>(sort(values, -1)),
                   eigh(tril(a)).first, eigh(triu(a), "U").first, eigvalsh(with_gaps(a))},
                  {a, unit_matrix(gram), values, values, values, values}, precision(t), 10 * precision(t));
    }
  // Known ones; large and small numbers; a matrix of one rank, and of none.
  for (double by : {1.0, 1e200, 1e-200}) {
    const Tensor a = tensor_of<double>({2 * by, by, 0, by, 2 * by, by, 0, by, 2 * by}, {3, 3}).to(test_device());
    expect_same({eigvalsh(a) / by}, {tensor_of<double>({2 - std::sqrt(2.0), 2, 2 + std::sqrt(2.0)})}, 1e-14, 1e-14);
  }
  expect_same({eigvalsh(ones({6, 6}, {kFloat64, test_device()})), eigvalsh(zeros({2, 2}, {kFloat64, test_device()}))},
              {tensor_of<double>({0, 0, 0, 0, 0, 6}), zeros({2}, {kFloat64})}, 1e-14, 1e-14);
  EXPECT_EQ(error_of([] {
              eigh(full({2, 2}, kNan).to(test_device()));
            }).message(),
            "matrix has elements that are not finite");
  EXPECT_EQ(error_of([] { eigh(zeros({2, 3})); }).message(), "wants square matrices, got sizes [2, 3]");
  EXPECT_EQ(error_of([] { eigh(zeros({2, 2}), "x"); }).message(), "UPLO is 'x', expected L or U");
}

TEST(Factors, SingularValues) {
  for (DType t : {kFloat64, kFloat32})
    for (const Ints& sizes : kSizes)
      for (bool complete : {false, true}) {
        const Tensor a = numbers(sizes, t);
        const auto [u, s, vh] = svd(a, complete);
        const Tensor gram_u = matmul(rows_first(u), u), gram_v = matmul(vh, rows_first(vh)), k = s.unsqueeze(-2);
        expect_same({matmul(u.slice(-1, 0, s.size(-1)) * k, vh.slice(-2, 0, s.size(-1))), gram_u, gram_v,
                     -std::get<0>(sort(-s, -1)), svdvals(with_gaps(a)), s.abs()},
                    {a, unit_matrix(gram_u), unit_matrix(gram_v), s, s, s}, precision(t), 10 * precision(t));
        EXPECT_EQ(u.size(-1).value(), complete ? sizes[sizes.size() - 2].value() : s.size(-1).value());
        EXPECT_EQ(vh.size(-2).value(), complete ? sizes.back().value() : s.size(-1).value());
      }
  for (const Tensor& a :
       {deficient(5, 4), rows_first(deficient(5, 4)), zeros({3, 2}, {kFloat64, test_device()}),
        ones({4, 4}, {kFloat64, test_device()}) * 1e-200, ones({4, 4}, {kFloat64, test_device()}) * 1e200}) {
    const auto [u, s, vh] = svd(a);
    const double by = std::max(a.abs().max().item<double>(), 1e-300);
    const Int k = s.size(0);
    expect_same(
        {matmul(u.slice(1, 0, k) * (s / by), vh.slice(0, 0, k)), matmul(u, rows_first(u)), matmul(vh, rows_first(vh))},
        {a / by, unit_matrix(u), unit_matrix(vh)}, 1e-13, 1e-13);
  }
  EXPECT_EQ(error_of([] {
              svd(full({2, 2, 3}, kInf).to(test_device()));
            }).message(),
            "matrix 0 of the batch has elements that are not finite");
}

TEST(Factors, InversesOfAnyMatrix) {
  for (const Tensor& a :
       {numbers({5, 3}, kFloat64), numbers({3, 5}, kFloat64), deficient(5, 4), numbers({2, 3, 4, 4}, kFloat64),
        zeros({2, 3}, {kFloat64, test_device()}), zeros({0, 3}, {kFloat64, test_device()})}) {
    const Tensor p = pinv(a);
    expect_same({matmul(matmul(a, p), a), matmul(matmul(p, a), p), rows_first(matmul(a, p))}, {a, p, matmul(a, p)},
                1e-10, 1e-10);
  }
  expect_same({pinv(tensor_of<double>({4, 0, 0, 1e-3}, {2, 2}).to(test_device()), 0.01)},
              {tensor_of<double>({0.25, 0, 0, 0}, {2, 2})}, 1e-14, 1e-14);
  expect_same({logdet(tensor_of<double>({2, 1, 0, 3}, {2, 2}).to(test_device())),
               logdet(tensor_of<double>({0, 1, 1, 0}, {2, 2}).to(test_device())),
               logdet(zeros({2, 2}, {kFloat64, test_device()}))},
              {full({}, std::log(6.0), {kFloat64}), full({}, kNan, {kFloat64}), full({}, -kInf, {kFloat64})}, 1e-14,
              1e-14);
}

TEST(Factors, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({2, n, n}, kFloat64), numbers({n, 4}, kFloat64)};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const Tensor symmetric = a[0] * 0.5 + rows_first(a[0]) * 0.5;
        const auto [q, r] = qr(a[1] * 2);
        const auto [u, s, vh] = svd(a[1], false);
        return std::vector<Tensor>{eigh(symmetric).first + 1, matmul(q, r), s * 2, matmul(u * s.unsqueeze(0), vh),
                                   matmul(pinv(a[1]), a[1])};
      },
      make, {5, 8, 13, 2}, {.rtol = 1e-9, .atol = 1e-9});
}

TEST(Factors, APseudoInverseOfNothingCompiles) {
  auto f = [](const std::vector<Tensor>& a) { return std::vector<Tensor>{pinv(a[0]), pinv(a[0].mT())}; };
  auto make = [](std::int64_t n) { return std::vector<Tensor>{numbers({2, n, 3}, kFloat64)}; };
  expect_compiled(f, make, {0, 4, 1, 5}, {.rtol = 1e-9, .atol = 1e-9});
}

}  // namespace
}  // namespace reprise::test
