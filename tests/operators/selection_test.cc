#include "reprise/selection.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor longs(const std::vector<std::int64_t>& v) { return tensor_of(v).to(test_device()); }

TEST(Selection, ByIndex) {
  for (DType t : {kFloat32, kBFloat16, kInt64, kBool}) {
    const Tensor x = numbers({3, 4}, t), flat = x.reshape({-1});
    expect_same({take(x, longs({0, 5, -1, 11}).view({2, 2})), take(transposed_memory(x), longs({1}))},
                {index_select(flat, 0, longs({0, 5, 11, 11})).view({2, 2}), flat.slice(0, 1, 2)}, 0, 0);
    expect_same({take_along_dim(x, longs({2, 0}).view({1, 2}), 1), take_along_dim(x, longs({3, 7})),
                 take_along_dim(x.slice(0, 0, 1), longs({1, 2, 0}).view({3, 1}), 1)},
                {x.index({{}, longs({2, 0})}), index_select(flat, 0, longs({3, 7})),
                 index_select(x.select(0, 0), 0, longs({1, 2, 0})).unsqueeze(1)},
                0, 0);
  }
}

TEST(Selection, BagsOfRows) {
  const std::vector<std::int64_t> at{1, 3, 0, 3, 3, 2}, begins{0, 2, 2, 5}, by_two{1, 3, 0, 3, 3, 2};
  for (DType t : kFloats) {
    const Tensor w = numbers({4, 5}, t), by = numbers({6}, t, 3);
    const Row rows = w.to_vector<double>(), scale = by.to_vector<double>();
    const auto bag = [&](std::size_t from, std::size_t to, const std::string& mode, bool scaled, std::int64_t padding) {
      Row r(5);
      double count = 0;
      for (std::size_t i = from; i < to; ++i) {
        if (at[i] == padding) continue;
        for (std::size_t k = 0; k < 5; ++k) {
          const double v = rows[static_cast<std::size_t>(at[i]) * 5 + k] * (scaled ? scale[i] : 1);
          r[k] = mode == "max" && count > 0 ? std::max(r[k], v) : mode == "max" ? v : r[k] + v;
        }
        ++count;
      }
      if (mode == "mean" && count > 0)
        for (double& v : r) v /= count;
      return r;
    };
    const auto want = [&](const std::vector<std::size_t>& ends, const std::string& mode, bool scaled,
                          std::int64_t padding) {
      Row all;
      for (std::size_t b = 0; b + 1 < ends.size(); ++b) {
        const Row r = bag(ends[b], ends[b + 1], mode, scaled, padding);
        all.insert(all.end(), r.begin(), r.end());
      }
      return tensor_of(all, {static_cast<std::int64_t>(ends.size()) - 1, 5}).to(t);
    };
    for (const char* mode : {"sum", "mean", "max"}) {
      expect_same({embedding_bag(w, longs(at), longs(begins), mode),
                   embedding_bag(w, longs(at), longs(begins).to(kInt32), mode, {}, true),
                   embedding_bag(w, longs(at).view({3, 2}), {}, mode),
                   embedding_bag(w, longs(at), longs(begins), mode, {}, false, -1)},
                  {want({0, 2, 2, 5, 6}, mode, false, -1), want({0, 2, 2, 5}, mode, false, -1),
                   want({0, 2, 4, 6}, mode, false, -1), want({0, 2, 2, 5, 6}, mode, false, 3)},
                  1e-6, 1e-6);
    }
    expect_same({embedding_bag(w, longs(at), longs(begins), "sum", by),
                 embedding_bag(w, longs(at).view({2, 3}), {}, "sum", by.view({2, 3}), false, 0)},
                {want({0, 2, 2, 5, 6}, "sum", true, -1), want({0, 3, 6}, "sum", true, 0)}, 1e-6, 1e-6);
    expect_same({embedding_bag(w, longs({}), longs({}), "sum"), embedding_bag(w, longs({}), longs({0, 0}), "mean")},
                {zeros({0, 5}).to(t), zeros({2, 5}).to(t)}, 0, 0);
  }
}

TEST(Selection, ProductsOfGroups) {
  for (DType t : kFloats) {
    const Tensor ends = longs({2, 2, 5}).to(kInt32), x = numbers({7, 4}, t), w = numbers({3, 4, 6}, t, 1),
                 left = numbers({3, 2, 4}, t), right = numbers({4, 6}, t, 1);
    const Tensor rows = grouped_mm(x, w, ends), columns = grouped_mm(left, right, ends),
                 inner = grouped_mm(x.t(), numbers({7, 3}, t, 2), ends);
    expect_same({rows.slice(0, 0, 2), rows.slice(0, 2, 5), rows.slice(0, 5)},
                {x.slice(0, 0, 2).mm(w.select(0, 0)), x.slice(0, 2, 5).mm(w.select(0, 2)), zeros({2, 6}).to(t)}, 1e-5,
                1e-4);
    expect_same(
        {columns.slice(1, 0, 2), columns.slice(1, 2, 5), columns.slice(1, 5)},
        {left.select(0, 0).mm(right.slice(1, 0, 2)), left.select(0, 2).mm(right.slice(1, 2, 5)), zeros({2, 1}).to(t)},
        1e-5, 1e-4);
    expect_same({inner.select(0, 0), inner.select(0, 1), inner.select(0, 2)},
                {x.slice(0, 0, 2).t().mm(numbers({7, 3}, t, 2).slice(0, 0, 2)), zeros({4, 3}).to(t),
                 x.slice(0, 2, 5).t().mm(numbers({7, 3}, t, 2).slice(0, 2, 5))},
                1e-5, 1e-4);
    expect_same({grouped_mm(left, w)}, {bmm(left, w)}, 0, 0);
  }
}

Tensor boxes() {
  return tensor_of<float>({0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 21, 20, 30, 30, 0, 0, 9, 10}, {5, 4})
      .to(test_device());
}

TEST(Selection, BoxesThatStay) {
  const Tensor scores = tensor_of<float>({0.5, 0.9, 0.3, 0.8, 0.6}).to(test_device());
  // 1 overlaps 0 (81 of 119) and 4 (72 of 118); 3 overlaps 2 (90 of 100).
  expect_same({nms(boxes(), scores, 0.5), nms(boxes(), scores, 0.65), nms(boxes(), scores, 0.95),
               nms(boxes().slice(0, 0, 0), scores.slice(0, 0, 0), 0.5)},
              {longs({1, 3}), longs({1, 3, 4}), longs({1, 3, 4, 0, 2}), longs({})}, 0, 0);
  const auto [indices, count] = nms_padded(boxes(), scores, 0.5);
  expect_same({indices, count}, {longs({1, 3, -1, -1, -1}), full({}, 2)}, 0, 0);
  expect_same({batched_nms(boxes(), scores, longs({0, 1, 0, 1, 1}), 0.5),
               batched_nms(boxes(), scores, longs({0, 0, 0, 0, 0}), 0.5)},
              {longs({1, 3, 0, 2}), longs({1, 3})}, 0, 0);
}

// A picture that is a plane: a mean of samples is the plane's value at their middle.
TEST(Selection, WhatIsInABox) {
  Tensor plane = (arange(12, {kFloat64}).unsqueeze(1) * 3 + arange(10, {kFloat64}) * 2).to(test_device());
  const Tensor x = stack({plane, plane + 100}).unsqueeze(0),
               box = tensor_of<double>({0, 2, 1, 8, 9, 0, 4, 4, 5, 6}, {2, 5}).to(test_device());
  for (bool aligned : {false, true})
    for (std::int64_t ratio : {-1, 1, 2}) {
      const Tensor r = roi_align(x, box, 2, 3, 1, ratio, aligned);
      EXPECT_EQ(graph::sizes_text(r.sizes()), "[2, 2, 2, 3]");
      const Row got = r.to_vector<double>(), b = box.to_vector<double>();
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t c = 0; c < 2; ++c)
          for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
              const double shift = aligned ? 0.5 : 0, left = b[5 * k + 1] - shift, top = b[5 * k + 2] - shift,
                           width = b[5 * k + 3] - shift - left, height = b[5 * k + 4] - shift - top;
              const double want = 3 * (top + height * (static_cast<double>(i) + 0.5) / 2) +
                                  2 * (left + width * (static_cast<double>(j) + 0.5) / 3) +
                                  100 * static_cast<double>(c);
              EXPECT_NEAR(got[((k * 2 + c) * 2 + i) * 3 + j], want, 1e-9);
            }
    }
  expect_same({roi_align(x.to(kFloat32), (box * 2).to(kFloat32) * tensor_of<float>({0.5, 1, 1, 1, 1}).to(test_device()),
                         2, 3, 0.5),
               roi_align(transposed_memory(x), with_gaps(box), 2, 3)},
              {roi_align(x, box, 2, 3).to(kFloat32), roi_align(x, box, 2, 3)}, 1e-5, 1e-5);
  EXPECT_EQ(
      roi_align(x, box + tensor_of<double>({0, 50, 50, 50, 50}).to(test_device()), 2, 2).abs().max().item().to_double(),
      0);
}

TEST(Selection, RandomNumbersHaveTheirDistributions) {
  manual_seed(7);
  for (DType t : {kFloat32, kFloat64, kFloat16}) {
    Tensor x = zeros({20000}).to(t).to(test_device());
    EXPECT_NEAR(exponential_(x, 2).to(kFloat64).mean().item().to_double(), 0.5, 0.02);
    EXPECT_GE(x.min().item().to_double(), 0);
    EXPECT_NEAR(cauchy_(x, 3, 2).to(kFloat64).le(5).to(kFloat64).mean().item().to_double(), 0.75, 0.02);
    EXPECT_NEAR(log_normal_(x, 0.5, 0.25).to(kFloat64).log().mean().item().to_double(), 0.5, 0.01);
    EXPECT_NEAR(geometric_(x, 0.25).to(kFloat64).mean().item().to_double(), 4, 0.15);
    EXPECT_EQ(x.min().item().to_double(), 1);
    EXPECT_TRUE(equal(x, x.round()));
  }
  auto f = compile([](Tensor x) { return exponential_(x * 0).clone(); });
  const Tensor x = zeros({100}).to(test_device());
  EXPECT_FALSE(equal(f(x), f(x)));
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Selection, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n + 2, 5}), remainder(arange(2 * n), n + 2).to(test_device()),
                               numbers({3, 5, 4}), tensor_of<std::int32_t>({0, 1, 2}).to(test_device())};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const Tensor bags = embedding_bag(a[0] * 2, a[1].view({-1, 2}), {}, "sum");
        const auto [kept, count] = nms_padded(a[0].slice(1, 0, 4), a[0].select(1, 4), 0.5);
        return std::vector<Tensor>{bags + 1,
                                   embedding_bag(a[0], a[1], a[1].slice(0, 0, 1) * 0),
                                   grouped_mm(a[0], a[2], a[3]) * 2,
                                   take(a[0], a[1] * 2),
                                   take_along_dim(a[0], argsort(a[0], 1), 1),
                                   kept,
                                   count};
      },
      make, {3, 8, 30, 1});
  auto f = compile([](Tensor w, Tensor i) { return embedding_bag(w, i, {}, "mean") * 2; });
  for (std::int64_t n : {3, 6, 40}) f(numbers({9, 4}), remainder(arange(n * 3), 9).view({n, 3}).to(test_device()));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Selection, RefuseWhatDoesNotFit) {
  const Tensor w = zeros({4, 5}), i = tensor_of<std::int64_t>({1, 3}), one = tensor_of<std::int64_t>({0});
  EXPECT_EQ(error_of([&] { take(w, tensor_of<std::int64_t>({20})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { take_along_dim(w, i, 0); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { embedding_bag(w, i); }).message(), "indices of sizes [2] want offsets");
  EXPECT_EQ(error_of([&] { embedding_bag(w, i + 1, one); }).message(),
            "index 4 at position [1] is out of range for 4 rows");
  EXPECT_EQ(error_of([&] { embedding_bag(w, i, one + 1); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { embedding_bag(w, i, tensor_of<std::int64_t>({0, 3})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { embedding_bag(w, i, one, "min"); }).message(), "mode is 'min', expected sum, mean or max");
  EXPECT_EQ(error_of([&] { embedding_bag(w, i, one, "mean", zeros({2})); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { embedding_bag(w, i.to(kFloat32), one); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { embedding_bag(w, i, one, "sum", {}, false, 4); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { grouped_mm(w, zeros({2, 5, 3})); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { grouped_mm(w, zeros({2, 5, 3}), i); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { grouped_mm(w, zeros({2, 4, 3}), i.to(kInt32)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] {
              grouped_mm(w, zeros({2, 5, 3}), tensor_of<std::int32_t>({3, 2}));
            }).message(),
            "group 1 ends at 2, the one before at 3 of 4");
  EXPECT_EQ(error_of([&] { nms(w, zeros({4}), 0.5); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] {
              roi_align(zeros({1, 1, 4, 4}), full({1, 5}, 1.0), 2, 2);
            }).code(),
            ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { roi_align(zeros({1, 1, 4, 4}), zeros({1, 5}), 0, 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] {
              roi_align(zeros({1, 1, 4, 4}), tensor_of<float>({0, 0, 0, 1e30f, 1}, {1, 5}), 2, 2);
            }).code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] {
              roi_align(zeros({1, 1, 4, 4}), zeros({1, 5}), 2, 2, INFINITY);
            }).code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { exponential_(zeros({2}).to(kInt64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { exponential_(zeros({2}), 0); }).message(), "lambd must be above 0, got 0");
}

}  // namespace
}  // namespace reprise::test
