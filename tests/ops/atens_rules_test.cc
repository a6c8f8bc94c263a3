// What ATen takes and refuses at the edges: 0-dim indices, repeated letters and dots of einsum, bools, extremes of
// nothing (docs/differences.md lists the rest).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reprise/reprise.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor number(std::int64_t i) { return full({}, i, {.dtype = kInt64}).to(test_device()); }
Tensor counted(const Ints& sizes) {
  Int n = 1;
  for (const Int& s : sizes) n = n * s;
  return arange(n, {.dtype = kFloat32}).view(sizes).to(test_device());
}
/// f compiled gives what f gives, without falling back.
template <class F>
std::vector<Tensor> both(F f, const std::vector<Tensor>& args) {
  auto compiled = compile([&](std::vector<Tensor> a) { return f(a); });
  const std::vector<Tensor> want = f(args), got = compiled(args);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(allclose(got[i], want[i], 1e-5, 1e-8, true)) << i;
  return got;
}
using Args = std::vector<Tensor>;

TEST(AtensRules, IndicesWithoutDimensionsAreOfVectors) {
  const Tensor x = counted({3}), zero = full({}, 7.0).to(test_device());
  const auto got = both(
      [](const Args& a) {
        Tensor own = a[0].clone(), one = a[2].clone();
        Tensor same = own.scatter_(0, a[1], a[2]);
        one.scatter_add_(0, a[3], a[4]);
        return Args{a[0].gather(0, a[1]),
                    a[2].gather(-1, a[3].view({1})),
                    a[0].scatter(0, a[1], a[2]),
                    a[0].scatter(0, a[1], 5),
                    a[0].scatter_add(0, a[1], a[2]),
                    own,
                    same,
                    one};
      },
      {x, number(1), zero, number(0), full({1}, 2.0).to(test_device())});
  EXPECT_EQ(got[0].dim(), 0);
  EXPECT_EQ(got[0].item<float>(), 1);
  EXPECT_EQ(got[1].sizes().size(), 1u);
  EXPECT_EQ(got[2].to_vector<float>(), (std::vector<float>{0, 7, 2}));
  EXPECT_EQ(got[3].to_vector<float>(), (std::vector<float>{0, 5, 2}));
  EXPECT_EQ(got[4].to_vector<float>(), (std::vector<float>{0, 8, 2}));
  EXPECT_EQ(got[5].to_vector<float>(), (std::vector<float>{0, 7, 2}));
  EXPECT_EQ(got[7].dim(), 0);
  EXPECT_EQ(got[7].item<float>(), 9);
  EXPECT_EQ(error_of([&] { counted({2, 3}).gather(0, number(1)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.gather(1, number(1)); }).code(), ErrorCode::IndexOutOfRange);
}

TEST(AtensRules, EinsumTakesDiagonalsDotsAndSizesOfOne) {
  const Tensor x = counted({3, 3}), y = counted({2, 4, 3}), z = counted({3, 5}), one = counted({1, 3});
  const auto got = both(
      [](const Args& a) {
        return Args{einsum("ii->i", {a[0]}),
                    einsum("ii", {a[0]}),
                    einsum("...i,ij->...j", {a[1], a[2]}),
                    einsum("...ij->...ji", {a[1]}),
                    einsum("i...", {a[0]}),
                    einsum("...i->...", {a[1]}),
                    einsum("ij,ij->i", {a[0], a[3]}),
                    einsum("bii->bi", {a[0].expand({2, 3, 3})}),
                    einsum("...ij,...jk", {a[1], a[2].expand({2, 3, 5})}),
                    einsum("...ij,...jk", {a[1], a[2]}),
                    einsum("...i->i", {a[1]}),
                    einsum("ij,kj->ik", {a[0], a[3]})};
      },
      {x, y, z, one});
  const Tensor want[] = {x.diagonal(), x.diagonal().sum(), y.matmul(z),         y.transpose(1, 2),
                         x.t(),        y.sum({-1}),        x.mul(one).sum({1}), x.diagonal().expand({2, 3}),
                         y.matmul(z),  y.matmul(z),        y.sum({0, 1}),       x.matmul(one.t())};
  for (std::size_t i = 0; i < std::size(want); ++i) {
    ASSERT_EQ(got[i].dim(), want[i].dim()) << i;
    EXPECT_TRUE(allclose(got[i], want[i])) << i;
  }
  for (const char* wrong : {"ij..->i", "......i->i", "ij->ii", "ij->...", "...ijk->i", "ij->k"})
    EXPECT_EQ(error_of([&] { einsum(wrong, {x}); }).code(), ErrorCode::InvalidArgument) << wrong;
  EXPECT_EQ(error_of([&] { einsum("ii", {z}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { einsum("ij,ij->i", {x, z}); }).code(), ErrorCode::ShapeMismatch);
}

TEST(AtensRules, BoolsAreNotSubtracted) {
  const Tensor x = counted({3}), mask = x.gt(1);
  for (auto f :
       {+[](const Tensor&a, const Tensor&b) { return a - b; }, +[](const Tensor&a, const Tensor&b) { return b - a; },
        +[](const Tensor&a, const Tensor&) { return a - 1.5; }, +[](const Tensor&a, const Tensor&) { return 1 - a; },
        +[](const Tensor&, const Tensor&b) { return b - true; }})
    EXPECT_EQ(error_of([&] { f(mask, x); }).code(), ErrorCode::DTypeMismatch);
}

TEST(AtensRules, OfNothing) {
  const Tensor none = zeros({0, 3}).to(test_device()), q = zeros({1, 2, 3, 0}).to(test_device());
  for (double p : {-1.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    const Error e = error_of([&] { norm(none, p, 0); });
    EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch);
    EXPECT_EQ(e.op(), "norm");
  }
  EXPECT_EQ(norm(none, 2, 0).to_vector<float>(), std::vector<float>(3, 0));
  EXPECT_EQ(norm(none, -1, 1).sizes()[0], 0);
  const auto got = both([](const Args& a) { return Args{scaled_dot_product_attention(a[0], a[0], a[1])}; },
                        {q, ones({1, 2, 3, 2}).to(test_device())});
  EXPECT_TRUE(allclose(got[0], ones({1, 2, 3, 2}).to(test_device())));
  const Tensor one = full({}, 4.0).to(test_device());
  EXPECT_EQ(one.unfold(0, 1, 1).dim(), 1);
  EXPECT_EQ(one.unfold(0, 1, 1).to_vector<float>(), std::vector<float>{4});
  EXPECT_EQ(one.unfold(0, 0, 2).sizes()[0], 0);
  EXPECT_EQ(error_of([&] { one.unfold(0, 2, 1); }).code(), ErrorCode::InvalidArgument);
}

TEST(AtensRules, DimensionsAreNamedOnce) {
  EXPECT_EQ(error_of([&] { ones({1, 2}).squeeze({0, 0}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { ones({1, 2}).squeeze({0, -2}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { ones({1, 2}).flip({1, -1}); }).code(), ErrorCode::InvalidArgument);
}

TEST(AtensRules, SourcesAndCountsFit) {
  const Tensor x = counted({2, 3}), rows = stack({number(0), number(1)}), row = ones({1, 3}).to(test_device());
  for (auto f : {+[](const Tensor&a, const Tensor&i, const Tensor&s) { return index_copy(a, 0, i, s); },
                 +[](const Tensor&a, const Tensor&i, const Tensor&s) { return index_add(a, 0, i, s); }}) {
    EXPECT_EQ(
        error_of([&] { f(x, rows, row); }).message(),
        "along dimension 0 of sizes [2, 3] an index of sizes [2] wants a slice for each, not a source of sizes [1, 3]");
    auto compiled = compile(f);
    EXPECT_EQ(error_of([&] { compiled(x, rows, row); }).code(), ErrorCode::ShapeMismatch);
  }
  EXPECT_EQ(error_of([&] { repeat(x, {-1, 2}); }).message(), "cannot repeat -1 times");
  // A dimension that is rolled twice is rolled by both.
  EXPECT_EQ(roll(x, {1, 1}, {1, 1}).to_vector<float>(), roll(x, 2, 1).to_vector<float>());
  EXPECT_EQ(error_of([&] { roll(x, {1, 1}, {1}); }).code(), ErrorCode::InvalidArgument);
  // What is added to a product has its sizes or fewer, also where it does not count.
  for (Scalar beta : {Scalar(1), Scalar(0), Scalar(0.5)}) {
    EXPECT_EQ(error_of([&] {
                addmv(counted({4}), counted({3, 4}), counted({4}), beta);
              }).code(),
              ErrorCode::ShapeMismatch);
    EXPECT_EQ(error_of([&] {
                addr(counted({2, 3, 4}), counted({3}), counted({4}), beta);
              }).code(),
              ErrorCode::ShapeMismatch);
  }
  // Slopes: one, or one for each channel. Nothing is one part of nothing.
  EXPECT_EQ(error_of([&] { prelu(counted({1}), counted({3})); }).message(),
            "weight has 3 numbers, wanted one or 1, the channels of sizes [1]");
  EXPECT_EQ(error_of([&] { prelu(counted({2, 1, 4}), counted({3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(split(counted({3, 0}), 0, 1).size(), 1u);
  EXPECT_EQ(error_of([&] { split(x, 0, 1); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
