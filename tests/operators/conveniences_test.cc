#include "reprise/conveniences.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor whole(const Row& v, const Ints& sizes, DType t = kInt64) { return tensor_of(v, sizes).to(t).to(test_device()); }
/// 1, 2, 3, ...
Tensor counted(const Ints& sizes, DType t = kInt64) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  return (arange(n) + 1).view(sizes).to(t).to(test_device());
}
std::string sizes_of(const Tensor& t) { return graph::sizes_text(t.sizes()); }

TEST(Conveniences, Shapes) {
  const Tensor x = counted({2, 3}), v = counted({3}), one = full({}, 7, {kInt64, test_device()});
  expect_same({tile(v, {2}), tile(x, {2}), tile(v, {2, 1}), tile(x, {0, 1})}, {whole({1, 2, 3, 1, 2, 3}, {6}), whole({1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, {2, 6}), whole({1, 2, 3, 1, 2, 3}, {2, 3}), whole({}, {0, 3})}, 0, 0);
  EXPECT_EQ(sizes_of(atleast_1d(one)) + sizes_of(atleast_2d(one)) + sizes_of(atleast_3d(one)) + sizes_of(atleast_2d(v)) + sizes_of(atleast_3d(v)) + sizes_of(atleast_3d(x)), "[1][1, 1][1, 1, 1][1, 3][1, 3, 1][2, 3, 1]");
  EXPECT_TRUE(atleast_3d(x).shares_storage_with(x));
  expect_same({column_stack({v, counted({3, 2})}), column_stack({one, one}), dstack({v, v})}, {whole({1, 1, 2, 2, 3, 4, 3, 5, 6}, {3, 3}), whole({7, 7}, {1, 2}), whole({1, 1, 2, 2, 3, 3}, {1, 3, 2})}, 0, 0);
  const std::vector<Tensor> wide = broadcast_tensors({v, counted({2, 1}), one});
  for (const Tensor& t : wide) EXPECT_EQ(sizes_of(t), "[2, 3]");
  EXPECT_TRUE(wide[0].shares_storage_with(v));
  expect_same({rot90(x), rot90(x, 2), rot90(x, -1), rot90(x, 4), rot90(x, 1, {1, 0}), fliplr(x), flipud(v)},
              {whole({3, 6, 2, 5, 1, 4}, {3, 2}), whole({6, 5, 4, 3, 2, 1}, {2, 3}), whole({4, 1, 5, 2, 6, 3}, {3, 2}), x, whole({4, 1, 5, 2, 6, 3}, {3, 2}), whole({3, 2, 1, 6, 5, 4}, {2, 3}), whole({3, 2, 1}, {3})}, 0, 0);
  EXPECT_EQ(error_of([&] { rot90(x, 1, {0, -2}); }).message(), "the dimensions must differ, got [0, -2]");
  EXPECT_EQ(error_of([&] { fliplr(v); }).code(), ErrorCode::ShapeMismatch);
}

TEST(Conveniences, Diagonals) {
  const Tensor v = counted({2}), x = counted({2, 3});
  expect_same({diag(v), diag(v, 1), diag(v, -1), diag(x), diag(x, 1), diagflat(counted({2, 1}))},
              {whole({1, 0, 0, 2}, {2, 2}), whole({0, 1, 0, 0, 0, 2, 0, 0, 0}, {3, 3}), whole({0, 0, 0, 1, 0, 0, 0, 2, 0}, {3, 3}), whole({1, 5}, {2}), whole({2, 6}, {2}), whole({1, 0, 0, 2}, {2, 2})}, 0, 0);
  for (Int offset : {0, 2, -1}) {
    const Tensor made = diag_embed(x, offset, 0, 2);
    EXPECT_EQ(sizes_of(made), sizes_of(zeros({3 + (offset < 0 ? -offset : offset), 2, 3 + (offset < 0 ? -offset : offset)})));
    expect_same({diagonal(made, offset, 0, 2), made.sum()}, {x, x.sum()}, 0, 0);
  }
  expect_same({block_diag({x, v, full({}, 9, {kInt64, test_device()}), zeros({0, 1}, {kInt64, test_device()})})},
              {whole({1, 2, 3, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0}, {4, 7})}, 0, 0);
  EXPECT_EQ(block_diag({x, v.to(kFloat64)}).dtype(), kFloat64);
  EXPECT_EQ(error_of([&] { diag(counted({1, 1, 1})); }).message(), "wants a vector or a matrix, got sizes [1, 1, 1]");
  EXPECT_EQ(error_of([&] { diag_embed(x, 0, 1, -2); }).message(), "dim1 and dim2 are both 1");
}

TEST(Conveniences, OrderAndSets) {
  const Tensor x = whole({3, 1, 2, 1, 5, 2}, {3, 2});
  expect_same({isin(x, whole({1, 2}, {2})), isin(x, whole({}, {0})), isin(x, whole({5}, {}), false, true), msort(x)},
              {whole({0, 1, 1, 1, 0, 1}, {3, 2}, kBool), whole({0, 0, 0, 0, 0, 0}, {3, 2}, kBool), whole({1, 1, 1, 1, 0, 1}, {3, 2}, kBool), whole({2, 1, 3, 1, 5, 2}, {3, 2})}, 0, 0);
  const Tensor order = randperm(100, {.device = test_device()});
  expect_same({sort(order, 0).first}, {arange(100)}, 0, 0);
  EXPECT_FALSE(equal(order, randperm(100, {.device = test_device()})));
  EXPECT_EQ(randperm(0).numel().value(), 0);
}

TEST(Conveniences, ProductsAndStatistics) {
  for (DType t : {kFloat64, kFloat32, kFloat16}) {
    const Tensor x = numbers({3, 7}, t), y = numbers({2, 7}, t, 3), v = numbers({7}, t, 5);
    const Tensor d = x.to(kFloat64), apart = d - d.mean(-1, true), c = matmul(apart, apart.t());
    expect_same({inner(x, y), inner(v, v), vdot(v, v), inner(x, full({}, 2, {t, test_device()}))}, {matmul(x, y.t()), (v * v).sum(), (v * v).sum(), x * 2}, 1e-5, 1e-5);
    const Tensor deviation = sqrt(diagonal(c));
    expect_same({cov(x), cov(x, 0), corrcoef(x), cov(v)}, {(c / 6).to(t), (c / 7).to(t), (c / deviation / deviation.unsqueeze(1)).to(t), var(v)}, 1e-5, 1e-5);
    expect_same({dist(x, x * 2), dist(x, v, 1), var_mean(x, 1).first, std_mean(x, 1, 0, true).second, rsub(x, 1, 2)}, {norm(x), norm(x - v, 1), var(x, 1), mean(x, 1, true), 1 - x * 2}, 1e-5, 1e-5);
    const Tensor short_rows = renorm(x, 2, 0, 1.5), length = norm(d, 2, 1, true);
    expect_same({short_rows}, {where(gt(length, 1.5), d * (1.5 / length), d).to(t)}, 1e-5, 1e-5);
  }
  const Tensor y = counted({2, 4}, kFloat64), at = tensor_of<double>({0, 1, 3, 7}).to(test_device());
  expect_same({trapezoid(y), trapezoid(y, 0.5, 0), trapezoid(y, at), trapezoid(y, at.expand({2, 4})), trapezoid(y.slice(1, 0, 1)), trapezoid(y.slice(1, 0, 0)), trapezoid(counted({4}))},
              {tensor_of<double>({7.5, 19.5}), tensor_of<double>({1.5, 2, 2.5, 3}), tensor_of<double>({20.5, 48.5}), tensor_of<double>({20.5, 48.5}), zeros({2}, {kFloat64}), zeros({2}, {kFloat64}), full({}, 7.5)}, 1e-12, 1e-12);
  expect_same({vander(counted({3})), vander(counted({3}, kFloat32), 2, true), logspace(0, 3, 4, 2)}, {whole({1, 1, 1, 4, 2, 1, 9, 3, 1}, {3, 3}), tensor_of<float>({1, 1, 1, 2, 1, 3}, {3, 2}), tensor_of<float>({1, 2, 4, 8})}, 1e-6, 1e-6);
  EXPECT_EQ(error_of([&] { cov(counted({3})); }).code(), ErrorCode::DTypeMismatch);
}

TEST(Conveniences, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) { return std::vector<Tensor>{numbers({n, n + 1}), numbers({n}), numbers({n + 1})}; };
  expect_compiled([](const std::vector<Tensor>& a) {
    Tensor d = diag(a[1]);
    d.select(0, 0).add_(1);
    return std::vector<Tensor>{tile(a[0], {2, 1}), column_stack({a[1], a[0]}), rot90(a[0]), d, diag_embed(a[0], 1), block_diag({a[0], a[1]}), isin(a[0], a[1]), msort(a[0]), inner(a[0], a[2]), cov(a[0]), renorm(a[0], 2, 0, 1.0), trapezoid(a[0], a[2]), vander(a[1] * 0.25, 3)};
  }, make, {4, 9, 16}, {.rtol = 1e-4, .atol = 1e-4});
}

}  // namespace
}  // namespace reprise::test
