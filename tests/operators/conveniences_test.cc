#include "reprise/conveniences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reprise/reprise.h"
#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Floats = std::vector<float>;
Tensor floats(const Floats& v, const Ints& sizes) { return tensor_of(v, sizes).to(test_device()); }
Floats values(const Tensor& t) { return t.to(Device::cpu()).to(kFloat32).to_vector<float>(); }
Tensor whole(const Row& v, const Ints& sizes, DType t = kInt64) { return tensor_of(v, sizes).to(t).to(test_device()); }
Tensor filled(const Ints& sizes, double v) { return full(sizes, v, {kFloat32, test_device()}); }
/// 1, 2, 3, ...
Tensor counted(const Ints& sizes, DType t = kInt64) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  return (arange(n) + 1).view(sizes).to(t).to(test_device());
}
std::string sizes(const Tensor& t) { return graph::sizes_text(t.sizes()); }

TEST(Conveniences, SizesAndDiagonalsCompile) {
  auto f = [](const std::vector<Tensor>& a) {
    const Tensor &x = a[0], &v = a[1];
    std::vector<Tensor> all{atleast_1d(v.sum()),
                            atleast_2d(v),
                            atleast_3d(v),
                            atleast_3d(x),
                            tile(v, {2, 3}),
                            tile(x, {2}),
                            ravel(x),
                            moveaxis(x, 0, -1),
                            adjoint(x),
                            column_stack({v, x.t(), v}),
                            dstack({x, x}),
                            block_diag({x, v, v.sum()}),
                            diag(v),
                            diag(v, -2),
                            diag(x, 1),
                            diag_embed(x, 1),
                            diag_embed(x, -1, 0, 2),
                            diagflat(x, 1),
                            fliplr(x),
                            flipud(v),
                            rot90(x),
                            rot90(x, 2),
                            rot90(x, -1),
                            rot90(x, 4),
                            concat({x, x}, 1),
                            concatenate({v, v}),
                            row_stack({v, v})};
    for (const Tensor& t : broadcast_tensors({x, v, v.sum()})) all.push_back(t);
    return all;
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({3, n}), numbers({n}, kFloat32, 3)};
                  },
                  {4, 6, 1, 0});
}

TEST(Conveniences, ArithmeticAndStatisticsCompile) {
  auto f = [](const std::vector<Tensor>& a) {
    const Tensor &x = a[0], &v = a[1];
    const Tensor spread = logspace(0, 3, v.size(0), 10.0, {.device = v.device()});
    return std::vector<Tensor>{divide(x, 2),
                               divide(x, 2, "floor"),
                               true_divide(x, v),
                               subtract(x, v, 2),
                               rsub(x, 1, 2),
                               spread,
                               vander(v, 4),
                               vander(v, 3, true),
                               trapezoid(x),
                               trapezoid(x, 0.5, 0),
                               trapezoid(x, v),
                               trapezoid(x, x),
                               var_mean(x, 1).first,
                               var_mean(x, 1).second,
                               std_mean(x, {}, 0).first,
                               cov(x),
                               cov(v, 0),
                               cov(x, 1, v.abs().to(kInt64)),
                               dist(x, v, 1),
                               renorm(x, 2, 0, 1.0),
                               inner(x, v),
                               inner(x, x),
                               inner(v.sum(), x),
                               vdot(v, v),
                               ger(v, v),
                               isin(x, v),
                               isin(v, x, false, true),
                               msort(x)};
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({3, n}), numbers({n}, kFloat32, 3)};
                  },
                  {4, 7, 2}, {.rtol = 1e-4, .atol = 1e-4});
}

TEST(Conveniences, AreWhatTheyAreCalled) {
  const Tensor m = floats({1, 2, 3, 4, 5, 6}, {2, 3}), v = floats({1, 2, 4}, {3});
  EXPECT_EQ(values(rot90(m)), (Floats{3, 6, 2, 5, 1, 4}));
  EXPECT_EQ(values(rot90(m, 3)), (Floats{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(values(rot90(m, -2)), (Floats{6, 5, 4, 3, 2, 1}));
  EXPECT_FALSE(rot90(m, 0).shares_storage_with(m));
  EXPECT_EQ(values(diag(v, -1)), (Floats{0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 4, 0}));
  EXPECT_EQ(values(diag(m, 1)), (Floats{2, 6}));
  EXPECT_EQ(sizes(diag_embed(m, 1, 0, 2)), "[4, 2, 4]");
  EXPECT_EQ(values(diag_embed(m).select(0, 1)), (Floats{4, 0, 0, 0, 5, 0, 0, 0, 6}));
  EXPECT_EQ(values(block_diag({v, m})), (Floats{1, 2, 4, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 4, 5, 6}));
  EXPECT_EQ(values(column_stack({v, v})), (Floats{1, 1, 2, 2, 4, 4}));
  EXPECT_EQ(sizes(dstack({m, m})), "[2, 3, 2]");
  EXPECT_EQ(sizes(atleast_3d(v)), "[1, 3, 1]");
  EXPECT_EQ(sizes(tile(v, {2, 2})), "[2, 6]");
  EXPECT_EQ(values(vander(v)), (Floats{1, 1, 1, 4, 2, 1, 16, 4, 1}));
  EXPECT_EQ(values(vander(v.to(kInt64), 2, true)), (Floats{1, 1, 1, 2, 1, 4}));
  EXPECT_EQ(values(trapezoid(v)), (Floats{4.5f}));
  EXPECT_EQ(values(trapezoid(v.to(kInt64), v)), (Floats{7.5f}));
  EXPECT_EQ(values(trapezoid(floats({}, {2, 0}))), (Floats{0, 0}));
  EXPECT_EQ(values(logspace(0, 3, 4)), (Floats{1, 10, 100, 1000}));
  EXPECT_EQ(values(rsub(v, 10)), (Floats{9, 8, 6}));
  EXPECT_EQ(values(inner(m, v)), (Floats{17, 38}));
  EXPECT_EQ(values(dist(v, v + 2, std::numeric_limits<double>::infinity())), (Floats{2}));
  EXPECT_EQ(values(isin(m, floats({2, 6, 9}, {3}))), (Floats{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values(isin(m, floats({}, {0}), false, true)), (Floats{1, 1, 1, 1, 1, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(values(isin(floats({nan, 7}, {2}), floats({nan, 1}, {2}))), (Floats{0, 0}));
  EXPECT_EQ(values(isin(floats({1, 2.5f}, {2}), floats({2.5f}, {1}).to(kFloat64))), (Floats{0, 1}));
  EXPECT_EQ(values(isin(m.to(kInt32) > 3, (v > 3).slice(0, 0, 1))), (Floats{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(values(msort(floats({3, 1, 2, 0}, {2, 2}))), (Floats{2, 0, 3, 1}));
  EXPECT_NEAR(logdet(floats({2, 0, 0, 3}, {2, 2})).item<float>(), std::log(6.0f), 1e-6);
  EXPECT_TRUE(std::isnan(logdet(floats({-2, 0, 0, 3}, {2, 2})).item<float>()));
  EXPECT_EQ(logdet(floats({0, 0, 0, 3}, {2, 2})).item<float>(), -std::numeric_limits<float>::infinity());
}

TEST(Conveniences, ProductsAndStatistics) {
  for (DType t : {kFloat64, kFloat32, kFloat16}) {
    const Tensor x = numbers({3, 7}, t), y = numbers({2, 7}, t, 3), v = numbers({7}, t, 5);
    const Tensor d = x.to(kFloat64), apart = d - d.mean(-1, true), c = matmul(apart, apart.t());
    expect_same({inner(x, y), inner(v, v), vdot(v, v), inner(x, full({}, 2, {t, test_device()}))},
                {matmul(x, y.t()), (v * v).sum(), (v * v).sum(), x * 2}, 1e-5, 1e-5);
    const Tensor deviation = sqrt(diagonal(c));
    expect_same({cov(x), cov(x, 0), corrcoef(x), cov(v)},
                {(c / 6).to(t), (c / 7).to(t), (c / deviation / deviation.unsqueeze(1)).to(t), var(v)}, 1e-5, 1e-5);
    expect_same({dist(x, x * 2), dist(x, v, 1), var_mean(x, 1).first, std_mean(x, 1, 0, true).second, rsub(x, 1, 2)},
                {norm(x), norm(x - v, 1), var(x, 1), mean(x, 1, true), 1 - x * 2}, 1e-5, 1e-5);
    const Tensor short_rows = renorm(x, 2, 0, 1.5), length = norm(d, 2, 1, true);
    expect_same({short_rows}, {where(gt(length, 1.5), d * (1.5 / length), d).to(t)}, 1e-5, 1e-5);
  }
  const Tensor y = counted({2, 4}, kFloat64), at = tensor_of<double>({0, 1, 3, 7}).to(test_device());
  expect_same({trapezoid(y), trapezoid(y, 0.5, 0), trapezoid(y, at), trapezoid(y, at.expand({2, 4})),
               trapezoid(y.slice(1, 0, 1)), trapezoid(y.slice(1, 0, 0)), trapezoid(counted({4}))},
              {tensor_of<double>({7.5, 19.5}), tensor_of<double>({1.5, 2, 2.5, 3}), tensor_of<double>({20.5, 48.5}),
               tensor_of<double>({20.5, 48.5}), zeros({2}, {kFloat64}), zeros({2}, {kFloat64}), full({}, 7.5)},
              1e-12, 1e-12);
  expect_same({vander(counted({3})), vander(counted({3}, kFloat32), 2, true), logspace(0, 3, 4, 2)},
              {whole({1, 1, 1, 4, 2, 1, 9, 3, 1}, {3, 3}), tensor_of<float>({1, 1, 1, 2, 1, 3}, {3, 2}),
               tensor_of<float>({1, 2, 4, 8})},
              1e-6, 1e-6);
}

TEST(Conveniences, ClassesAreCountedFromTheLargest) {
  const Tensor x = tensor({0, 3, 1}).to(test_device());
  expect_same({one_hot(x), one_hot(x.to(kInt32), -1), one_hot(x.select(0, 1))},
              {one_hot(x, 4), one_hot(x, 4), one_hot(x.select(0, 1), 4)}, 0, 0);
  auto step = compile([](const Tensor& t) { return one_hot(t, -1) * 2; });
  for (const Tensor& t : {x, x + 2, x.narrow(0, 0, 1), x}) expect_same({step(t)}, {one_hot(t, -1) * 2}, 0, 0);
  if (test_device() == Device::cpu()) {  // on devices a size by data that is a largest element is not known in time
    EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;
  }
  EXPECT_EQ(error_of([&] { one_hot(x.narrow(0, 0, 0)); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { one_hot(x, -2); }).code(), ErrorCode::InvalidArgument);
}

TEST(Conveniences, NumbersAndTheirSumsStayInPlace) {
  const TensorOptions own{kFloat32, test_device()};
  const Tensor number = full({}, -2.0, own), slope = full({1}, 0.5, own);
  expect_same({prelu(number, slope), prelu(-number, slope)}, {full({}, -1.0, own), full({}, 2.0, own)}, 0, 0);
  Tensor x = numbers({2, 3});
  const Tensor want = cumsum(x, 1), before = x.clone();
  EXPECT_EQ(error_of([&] { x.cumsum_(1, kInt64); }).code(), ErrorCode::DTypeMismatch);
  expect_same({x}, {before}, 0, 0);
  expect_same({x.cumsum_(1, kFloat32)}, {want}, 0, 0);
}

TEST(Conveniences, GroupedHeadsBroadcastTheirBatch) {
  const Tensor q = numbers({4, 3, 8}), k = numbers({2, 2, 6, 8}, kFloat32, 1), v = numbers({2, 2, 6, 5}, kFloat32, 2);
  auto attended = [&](const Tensor& query) {
    return scaled_dot_product_attention(query, k, v, {}, 0, false, std::nullopt, true);
  };
  expect_same({attended(q)}, {attended(q.expand({2, 4, 3, 8}))}, 1e-6, 1e-6);
}

TEST(Conveniences, CovariancesHaveTheWeightsDType) {
  const Tensor x = numbers({2, 5}, kBFloat16), w = abs(numbers({5}, kFloat32, 1)) + 1;
  expect_same({cov(x, 1, {}, w), cov(x.to(kFloat64), 1, {}, w)},
              {cov(x.to(kFloat32), 1, {}, w), cov(x.to(kFloat64), 1, {}, w.to(kFloat64))}, 1e-5, 1e-5);
}

TEST(Conveniences, CovariancesWeighObservations) {
  const Tensor x = floats({0, 1, 2, 2, 1, 0}, {2, 3});
  EXPECT_EQ(values(cov(x)), (Floats{1, -1, -1, 1}));
  EXPECT_EQ(values(cov(x.select(0, 0), 0)), (Floats{2.0f / 3}));
  EXPECT_EQ(cov(x.select(0, 0)).dim(), 0);
  // Counting an observation twice is having it twice.
  const Tensor twice = floats({0, 1, 2, 2, 2, 1, 0, 0}, {2, 4}),
               counts = tensor_of(std::vector<std::int64_t>{1, 1, 2}).to(test_device());
  expect_same({cov(x, 1, counts)}, {cov(twice)}, 1e-6, 1e-6);
  // ATen's: [[0.9, -0.9], [-0.9, 0.9]] of weights 1, 1, 0.5 (the sum of w less the sum of its squares by it).
  const double w[] = {1, 1, 0.5}, rows[] = {0, 1, 2};
  double total = 0, squares = 0, mean = 0, spread = 0;
  for (int i = 0; i < 3; ++i) total += w[i], squares += w[i] * w[i], mean += w[i] * rows[i];
  mean /= total;
  for (int i = 0; i < 3; ++i) spread += w[i] * (rows[i] - mean) * (rows[i] - mean);
  const float want = static_cast<float>(spread / (total - squares / total));
  expect_same({cov(x, 1, {}, floats({1, 1, 0.5f}, {3}))}, {floats({want, -want, -want, want}, {2, 2})}, 1e-6, 1e-6);
  expect_same({corrcoef(x)}, {floats({1, -1, -1, 1}, {2, 2})}, 1e-6, 1e-6);
  EXPECT_EQ(corrcoef(x.select(0, 0)).item<float>(), 1);
}

TEST(Conveniences, PermutationsHoldEveryNumberOnce) {
  manual_seed(3);
  auto f = compile([](Tensor x) { return randperm(x.size(0), {.device = x.device()}); });
  for (std::int64_t n : {0, 1, 5, 100}) {
    const Tensor p = f(numbers({n}));
    std::vector<std::int64_t> got = p.to(Device::cpu()).to_vector<std::int64_t>(), want;
    if (n == 100) {
      EXPECT_FALSE(std::is_sorted(got.begin(), got.end()));
    }
    std::sort(got.begin(), got.end());
    for (std::int64_t i = 0; i < n; ++i) want.push_back(i);
    EXPECT_EQ(got, want);
  }
  EXPECT_EQ(randperm(4, {.dtype = kInt32}).dtype(), kInt32);
}

TEST(Conveniences, SecondNamesAreTheFirst) {
  auto f = [](const std::vector<Tensor>& a) {
    Tensor x = a[0].clone(), y = a[1];
    std::vector<Tensor> all{absolute(x),
                            x.negative(),
                            arcsin(x / 4),
                            (x / 4).arccos(),
                            arctan(x),
                            arcsinh(x),
                            arccosh(x.abs() + 1),
                            arctanh(x / 4),
                            fix(x),
                            sgn(x),
                            multiply(x, y),
                            multiply(2, y),
                            arctan2(x, y),
                            x.greater(y),
                            x.greater_equal(0),
                            x.less(y),
                            x.less_equal(y),
                            not_equal(x, y),
                            x.subtract(y, 2),
                            x.divide(4),
                            x.divide(4, "floor"),
                            positive(x)};
    x.multiply_(2).subtract_(y).divide_(4).absolute_().negative_();
    all.push_back(x);
    return all;
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({n, 3}), numbers({n, 3}, kFloat32, 2)};
                  },
                  {2, 5, 1, 0});
  const Tensor x = numbers({2, 2}, kFloat16);
  EXPECT_EQ(x.new_zeros({3}).dtype(), kFloat16);
  EXPECT_EQ(x.new_ones({3}).device(), x.device());
  EXPECT_EQ(values(x.new_full({2}, 2.5)), (Floats{2.5f, 2.5f}));
  EXPECT_EQ(x.new_empty({0, 4}, {.dtype = kInt32}).dtype(), kInt32);
  EXPECT_EQ(x.new_full({1}, 7, {.dtype = kInt64}).item<std::int64_t>(), 7);
}

TEST(Conveniences, RefuseWhatHasNoMeaning) {
  const Tensor v = zeros({3}), m = zeros({2, 3}), c = zeros({2, 2, 2});
  auto refused = [](auto&& f, const char* op, ErrorCode code) {
    const Error e = error_of(f);
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.op(), op);
  };
  refused([&] { diag(c); }, "diag", ErrorCode::ShapeMismatch);
  refused([&] { diag_embed(v, 0, 1, -1); }, "diag_embed", ErrorCode::InvalidArgument);
  refused([&] { diag_embed(zeros({})); }, "diag_embed", ErrorCode::ShapeMismatch);
  refused([&] { fliplr(v); }, "fliplr", ErrorCode::ShapeMismatch);
  refused([&] { rot90(m, 1, {0, -2}); }, "rot90", ErrorCode::InvalidArgument);
  refused([&] { rot90(m, 1, {0}); }, "rot90", ErrorCode::InvalidArgument);
  refused([&] { block_diag({c}); }, "block_diag", ErrorCode::ShapeMismatch);
  refused([&] { block_diag({}); }, "block_diag", ErrorCode::InvalidArgument);
  refused([&] { vander(m); }, "vander", ErrorCode::ShapeMismatch);
  refused([&] { vander(v, -1); }, "vander", ErrorCode::InvalidArgument);
  refused([&] { trapezoid(v, zeros({4})); }, "trapezoid", ErrorCode::ShapeMismatch);
  refused([&] { cov(c); }, "cov", ErrorCode::ShapeMismatch);
  refused([&] { cov(m, 1, zeros({3})); }, "cov", ErrorCode::DTypeMismatch);
  refused([&] { cov(m, 1, {}, zeros({2})); }, "cov", ErrorCode::ShapeMismatch);
  refused([&] { randperm(-1); }, "randperm", ErrorCode::InvalidArgument);
  refused([&] { tile(m, {-1}); }, "tile", ErrorCode::InvalidArgument);
  refused([&] { column_stack({v, zeros({4})}); }, "column_stack", ErrorCode::ShapeMismatch);
  refused([&] { broadcast_tensors({v, zeros({4})}); }, "broadcast_tensors", ErrorCode::ShapeMismatch);
  refused([&] { inner(v, zeros({4})); }, "inner", ErrorCode::ShapeMismatch);
}

// What ATen takes, too: several dimensions moved, places behind the point, factors, words, sizes that broadcast,
// indices from the end.
TEST(Conveniences, WhatAtenTakesToo) {
  const Tensor x = counted({2, 3, 4, 5});
  EXPECT_EQ(sizes(movedim(x, {0, 1}, {-1, 0})), "[3, 4, 5, 2]");
  EXPECT_EQ(sizes(movedim(x, {3, 1}, {1, 2})), "[2, 5, 3, 4]");
  EXPECT_EQ(sizes(moveaxis(x, {2, 0, 1}, {0, 1, 2})), "[4, 2, 3, 5]");
  EXPECT_TRUE(equal(movedim(x, {1}, {3}), movedim(x, 1, 3)));
  EXPECT_TRUE(movedim(x, {0, 1}, {1, 0}).shares_storage_with(x));
  EXPECT_EQ(error_of([&] { movedim(x, {0, 0}, {1, 2}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { movedim(x, {0, 1}, {1, -3}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { movedim(x, {0, 1}, std::vector<std::int64_t>{1}); }).code(), ErrorCode::InvalidArgument);

  const Tensor y = floats({0.126f, 1.125f, -2.375f, 1234.5f, std::numeric_limits<float>::infinity(), 0}, {6});
  EXPECT_EQ(values(round(y, 2)), (Floats{0.13f, 1.12f, -2.38f, 1234.5f, std::numeric_limits<float>::infinity(), 0}));
  EXPECT_EQ(values(round(y, -2)), (Floats{0, 0, 0, 1200, std::numeric_limits<float>::infinity(), 0}));
  EXPECT_TRUE(equal(round(y, 0), round(y)));
  EXPECT_EQ(error_of([] { round(counted({2}), 1); }).code(), ErrorCode::DTypeMismatch);

  const Tensor rows = counted({3, 4}, kFloat32), at = whole({0, 0}, {2}), pair = whole({0, 1, 1, 0}, {2, 2}),
               twos = filled({2, 4}, 1) * 2;
  expect_same({index_add(rows, 0, at, twos, 0.25)}, {index_add(rows, 0, at, twos * 0.25)}, 0, 0);
  EXPECT_EQ(index_add(rows.to(kInt32), 0, at, twos.to(kInt32), 3).dtype(), kInt32);
  expect_same({scatter(rows, 0, pair, filled({2, 2}, 1), "add"), scatter(rows, 0, pair, 3.0, "multiply"),
               scatter(rows, 0, pair * 0, twos, "multiply")},
              {scatter_add(rows, 0, pair, filled({2, 2}, 1)), scatter_reduce(rows, 0, pair, filled({2, 2}, 3), "prod"),
               scatter_reduce(rows, 0, pair * 0, twos, "prod")},
              0, 0);
  EXPECT_EQ(error_of([&] { scatter(rows, 0, pair, 1.0, "sum"); }).code(), ErrorCode::InvalidArgument);

  expect_same({normalize(rows), normalize(rows, 1.0, 0), normalize(rows * 0), normalize(rows.select(0, 0), 2.0, 0)},
              {rows / norm(rows, 2, 1, true), rows / norm(rows, 1, 0, true), rows * 0,
               rows.select(0, 0) / norm(rows.select(0, 0))},
              1e-6, 1e-6);
  const Tensor complex = polar(rows, rows * 0.5);
  EXPECT_EQ(sizes(complex), "[3, 4, 2]");
  expect_same({complex.select(-1, 0), complex.select(-1, 1)}, {rows * cos(rows * 0.5), rows * sin(rows * 0.5)}, 1e-6,
              1e-6);
  EXPECT_TRUE(view_as_real(view_as_complex(complex)).shares_storage_with(complex));
  EXPECT_EQ(error_of([&] { view_as_complex(rows); }).code(), ErrorCode::ShapeMismatch);

  const Tensor a = numbers({5, 2, 3}), b = numbers({5, 3, 4}, kFloat32, 1), s = numbers({4}, kFloat32, 2);
  expect_same({addbmm(s, a, b, 0.5, 2)}, {s * 0.5 + bmm(a, b).sum(0) * 2}, 1e-5, 1e-5);
  expect_same({addbmm(s, a.slice(0, 0, 0), b.slice(0, 0, 0))}, {s.expand({2, 4}).clone()}, 0, 0);
  EXPECT_EQ(error_of([&] { addbmm(s, a, b.slice(0, 0, 2)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { addbmm(s, a, b.t()); }).op(), "t");

  expect_same(
      {tensordot(rows, filled({1, 2}, 1), Ints{1}, Ints{0}), tensordot(filled({3, 1}, 1), rows, Ints{1}, Ints{0})},
      {rows.sum(1).unsqueeze(1).expand({3, 2}).clone(), rows.sum(0).expand({3, 4}).clone()}, 1e-6, 0);
  EXPECT_EQ(error_of([&] { tensordot(rows, filled({2, 2}, 1), Ints{1}, Ints{0}); }).code(), ErrorCode::ShapeMismatch);
  expect_same({take_along_dim(rows, whole({-1, 1, -4}, {3, 1}), 1)}, {floats({4, 6, 9}, {3, 1})}, 0, 0);
  expect_same({cov(rows.slice(0, 0, 1)), corrcoef(rows.slice(0, 0, 1))}, {cov(rows.select(0, 0)), filled({}, 1)}, 1e-6,
              0);
  expect_same({linear(rows, filled({4}, 1)), linear(rows.select(0, 0), filled({4}, 1))},
              {rows.sum(1), rows.select(0, 0).sum()}, 0, 0);
  const Tensor mask = whole({1, 0, 1, 0}, {4}, kBool), source = counted({12}, kFloat32) + 100;
  expect_same({masked_scatter(rows, mask, source).slice(1, 0, 3),
               masked_scatter(rows.select(0, 0), filled({2, 4}, 1) > 0, source)},
              {floats({101, 2, 102, 103, 6, 104, 105, 10, 106}, {3, 3}), source.slice(0, 0, 8).view({2, 4})}, 0, 0);
  EXPECT_EQ(error_of([&] {
              rows.select(0, 0).clone().masked_scatter_(filled({2, 4}, 1) > 0, source);
            }).code(),
            ErrorCode::ShapeMismatch);
  EXPECT_EQ(values(linspace(0, 10, 4, {kInt64})), (Floats{0, 3, 6, 10}));
  EXPECT_EQ(values(linspace(0.9, -10.7, 5, {kInt32})), (Floats{0, -2, -5, -7, -10}));
  for (DType t : {kBFloat16, kFloat16})
    EXPECT_TRUE(equal(linspace(0, 1, 7, {t}), linspace(0, 1, 7).to(t))) << dtype_name(t);
  EXPECT_EQ(error_of([] { linspace(0, 1, 3, {kBool}); }).code(), ErrorCode::DTypeMismatch);
}

TEST(Conveniences, WhatAtenTakesTooCompiles) {
  auto f = [](const std::vector<Tensor>& a) {
    const Tensor &x = a[0], &b = a[1];
    const Tensor at = arange(3, {kInt64, test_device()}) % 2;
    return std::vector<Tensor>{movedim(b, {0, 2}, {1, 0}),
                               round(x, 1),
                               index_add(x, 0, at, x, 0.5),
                               scatter(x, 0, at.unsqueeze(1), x, "add"),
                               normalize(x),
                               polar(x, x),
                               addbmm(x, b, b, 0.5, 2),
                               take_along_dim(x, at.unsqueeze(1) - 2, 0),
                               tensordot(x, filled({1, 2}, 1), Ints{1}, Ints{0}),
                               linear(x, filled({3}, 1)),
                               ravel(x.t())};
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({3, 3}), numbers({n, 3, 3}, kFloat32, 3)};
                  },
                  {4, 6, 1, 0});
}

// Which results show the argument's memory and which are copies is ATen's: eagerly and compiled.
TEST(Conveniences, ViewsAndCopiesAreAtens) {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor&);
    Tensor x;
    bool view;
  };
  const Tensor cube = counted({2, 3, 4}, kFloat32), row = counted({12}, kFloat32),
               image = counted({1, 4, 1, 1}, kFloat32);
  const Case cases[] = {
      {"ravel", [](const Tensor& x) { return ravel(x); }, cube, true},
      {"ravel of every second", [](const Tensor& x) { return ravel(x); }, row.slice(0, 0, 12, 2), false},
      {"ravel of rows of more", [](const Tensor& x) { return ravel(x); }, cube.transpose(0, 2), false},
      {"ravel of a number", [](const Tensor& x) { return ravel(x); }, row.select(0, 0), true},
      {"flatten of every second", [](const Tensor& x) { return flatten(x); }, row.slice(0, 0, 12, 2), true},
      {"reshape of every second", [](const Tensor& x) { return reshape(x, {-1}); }, row.slice(0, 0, 12, 2), true},
      {"pixel_shuffle by 1", [](const Tensor& x) { return pixel_shuffle(x, 1); }, cube, false},
      {"pixel_shuffle of one place", [](const Tensor& x) { return pixel_shuffle(x, 2); }, image, false},
      {"pixel_unshuffle by 1", [](const Tensor& x) { return pixel_unshuffle(x, 1); }, cube, false},
      {"channel_shuffle by 1", [](const Tensor& x) { return channel_shuffle(x, 1); }, cube, false},
      {"cartesian_prod of one", [](const Tensor& x) { return cartesian_prod({x}); }, row, true},
      {"rot90 by 0", [](const Tensor& x) { return rot90(x, 4); }, cube, false},
      {"movedim",
       [](const Tensor& x) {
         return movedim(x, {0, 1}, {1, 0});
       },
       cube, true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.f(c.x).shares_storage_with(c.x), c.view) << c.name;
    auto compiled = compile([&c](const Tensor& x) { return c.f(x); });
    EXPECT_EQ(compiled(c.x).shares_storage_with(c.x), c.view) << c.name << ", compiled";
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << c.name;
  }
}

}  // namespace
}  // namespace reprise::test
