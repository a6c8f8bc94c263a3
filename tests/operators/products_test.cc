#include "reprise/products.h"

#include <gtest/gtest.h>

#include "graph/op.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Families, AnOperatorIsFoundByNameBeforeItIsCalled) {
  const graph::OpDef* o = graph::find_op("bilinear");
  ASSERT_NE(o, nullptr);
  EXPECT_EQ(o->cls, graph::OpClass::Composite);
  EXPECT_EQ(graph::find_op("no_such_operator"), nullptr);
}

TEST(Products, BilinearIsItsSum) {
  for (DType t : {kFloat32, kFloat64, kBFloat16, kInt64}) {
    auto make = [t](std::int64_t n) {
      return std::vector<Tensor>{numbers({n, 2, 3}, t), numbers({n, 2, 4}, t, 1), numbers({5, 3, 4}, t, 2),
                                 numbers({5}, t, 3)};
    };
    auto f = [](const std::vector<Tensor>& a) {
      return std::vector<Tensor>{bilinear(a[0], a[1], a[2], a[3]), bilinear(a[0], a[1], a[2])};
    };
    expect_compiled(f, make, {3, 7, 1, 0, 64});
    const std::vector<Tensor> a = make(3);
    const Tensor want =
        (a[0].to(kFloat64).view({3, 2, 1, 3, 1}) * a[1].to(kFloat64).view({3, 2, 1, 1, 4}) * a[2].to(kFloat64))
            .sum({-1, -2}) +
        a[3].to(kFloat64);
    expect_same(f({a[0], a[1], a[2], a[3]}), {want.to(t), (want - a[3].to(kFloat64)).to(t)}, 1e-6, 1e-6);
  }
}

TEST(Products, OfSeveralMatricesInAnyOrder) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n}), numbers({n, 3}), numbers({3, 50}), numbers({50, 2}),
                               numbers({2}, kFloat32, 4)};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{multi_dot({a[1], a[2], a[3]}), multi_dot({a[0], a[1], a[2], a[3], a[4]}),
                                   multi_dot({a[0], a[1]})};
      },
      make, {4, 9, 1, 0});
  const std::vector<Tensor> a = make(4);
  expect_same({multi_dot({a[1], a[2], a[3]})}, {a[1].mm(a[2]).mm(a[3])}, 1e-5, 1e-4);
}

// A product and a sum of half types: the product is rounded, as bmm's, and the scaled sum once.
TEST(Products, ScaledSumsAreRoundedOnce) {
  for (DType t : {kBFloat16, kFloat16, kFloat32, kFloat64}) {
    const Tensor c = numbers({2, 4, 3}, t), x = numbers({2, 4, 5}, t, 1), y = numbers({2, 5, 3}, t, 2);
    const Tensor row = x.select(1, 0).select(0, 0), column = y.select(0, 0).select(1, 0);
    auto scaled = [&](const Tensor& self, const Tensor& product) {
      const DType wide = t == kFloat64 ? t : kFloat32;
      return (self.to(wide) * 0.7 + product.to(wide) * 1.3).to(t);
    };
    auto f = [](const std::vector<Tensor>& a) {
      return std::vector<Tensor>{
          baddbmm(a[0], a[1], a[2], 0.7, 1.3), addmv(a[0].select(0, 0).select(1, 0), a[1].select(0, 0), a[4], 0.7, 1.3),
          addr(a[0].select(0, 0), a[1].select(0, 0).select(1, 0), a[2].select(0, 0).select(0, 0), 0.7, 1.3),
          baddbmm(a[0], a[1], a[2])};
    };
    const std::vector<Tensor> a{c, x, y, row, column};
    expect_same(
        f(a),
        {scaled(c, bmm(x, y)), scaled(c.select(0, 0).select(1, 0), mv(x.select(0, 0), column)),
         scaled(c.select(0, 0), outer(x.select(0, 0).select(1, 0), y.select(0, 0).select(0, 0))), c + bmm(x, y)},
        0, 0);
  }
  const Tensor whole = ones({2, 2, 2}, {kInt64, test_device()}), one = whole.select(0, 0), row = one.select(0, 0);
  expect_same({baddbmm(whole, whole, whole, 2, 3), addmv(row, one, row, 2, 3), addr(one, row, row, 2, 3)},
              {full({2, 2, 2}, 8, {kInt64, test_device()}), full({2}, 8, {kInt64, test_device()}),
               full({2, 2}, 5, {kInt64, test_device()})},
              0, 0);
  EXPECT_EQ(error_of([&] { baddbmm(whole, whole, whole, 0.5); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { addmv(row, one, row, 1, 0.5); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { addr(one, row, row, 1.0); }).code(), ErrorCode::DTypeMismatch);
}

TEST(Products, PowersOfMatrices) {
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{matrix_power(a[0], 0), matrix_power(a[0], 1), matrix_power(a[0], 5)};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({2, n, n}, kFloat64)};
      },
      {3, 4, 1, 0});
  Tensor x = numbers({2, 3, 3}, kFloat64);
  expect_same({matrix_power(x, 5)}, {x.matmul(x).matmul(x).matmul(x).matmul(x)}, 1e-12, 1e-9);
  const Tensor y = x * 0.25 + 4 * eye(3, std::nullopt, {kFloat64, test_device()});
  expect_same({matrix_power(y, -3).matmul(matrix_power(y, 3))},
              {eye(3, std::nullopt, {kFloat64, test_device()}).expand({2, 3, 3})}, 1e-12, 1e-12);
}

TEST(Products, RefuseWhatDoesNotFit) {
  Tensor a = zeros({2, 3}), w = zeros({5, 3, 4});
  EXPECT_EQ(error_of([&] { bilinear(a, a, w); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { bilinear(a, zeros({3, 4}), w); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { bilinear(a, zeros({2, 4}), w, zeros({4})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { bilinear(a, zeros({2, 4}), w.to(kFloat64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { multi_dot({a}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { multi_dot({a, a}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { multi_dot({a, w, a}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { matrix_power(a, 2); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { matrix_power(zeros({2, 2}), -1); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
