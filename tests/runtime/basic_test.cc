#include <gtest/gtest.h>

#include "reprise/reprise.h"

namespace reprise {
namespace {

TEST(Eager, ScatterOfANumber) {
  Tensor i = tensor_of(std::vector<std::int64_t>{0, 2, 1, 1}).view({2, 2});
  for (DType t : {kFloat32, kFloat16, kInt32}) {
    Tensor x = zeros({3, 2}, {.dtype = t});
    EXPECT_EQ(scatter(x, 0, i, 2.0).to(kFloat32).to_vector<float>(), (std::vector<float>{2, 0, 2, 2, 0, 2}))
        << dtype_name(t);
    x.scatter_(0, i, 3);
    EXPECT_EQ(x.to(kFloat32).to_vector<float>(), (std::vector<float>{3, 0, 3, 3, 0, 3})) << dtype_name(t);
  }
}

TEST(Eager, AddsAndMultiplies) {
  Tensor x = tensor_of(std::vector<float>{1, 2, 3});
  EXPECT_EQ((x + 1).to_vector<float>(), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ((x * x).to_vector<float>(), (std::vector<float>{1, 4, 9}));
  Tensor m = mm(tensor_of(std::vector<float>{1, 2, 3, 4}, {2, 2}), tensor_of(std::vector<float>{1, 1, 1, 1}, {2, 2}));
  EXPECT_EQ(m.to_vector<float>(), (std::vector<float>{3, 3, 7, 7}));
}

TEST(Eager, WritesInPlaceAndThroughViews) {
  Tensor x = zeros({4, 3});
  x.slice(0, 1, 3).add_(2);
  x.select(1, 0).copy_(tensor_of(std::vector<float>{9, 8, 7, 6}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{9, 0, 0, 8, 2, 2, 7, 2, 2, 6, 0, 0}));
}

TEST(Compile, OneCompilationForAllSizes) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "f"});
  for (int n = 2; n < 20; ++n)
    EXPECT_EQ(f(ones({n})).to_vector<float>(), std::vector<float>(static_cast<std::size_t>(n), 2.0f));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().recordings_made, 18);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Compile, MutationOfAnArgumentThroughAView) {
  auto f = compile(
      [](Tensor cache, Tensor k, Int pos) {
        cache.slice(0, pos, pos + k.size(0)).copy_(k);
        return cache.slice(0, 0, pos + k.size(0)).sum();
      },
      {.name = "cache"});
  Tensor a = zeros({10, 2}), b = zeros({10, 2});
  double want = 0;
  for (int pos = 0; pos + 2 <= 10; pos += 2) {
    Tensor k = full({2, 2}, pos + 1.0);
    want += 4 * (pos + 1.0);
    EXPECT_EQ(f(a, k, pos).item().to_double(), want);
    b.slice(0, pos, pos + 2).copy_(k);
    EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// The kernel that overwrites z in place also computes a result from z's old elements.
TEST(Compile, AnArgumentOverwrittenInTheKernelThatReadsIt) {
  auto g = [](Tensor z, Tensor v) {
    Tensor a = z * 0.5;
    z.copy_(v);
    return v + a;
  };
  auto f = compile(g, {.name = "overwritten"});
  for (int n : {2, 17, 40}) {
    Tensor z = rand({n, 5}), v = rand({5}), z2 = z.clone();
    EXPECT_EQ(f(z, v).to_vector<float>(), g(z2, v).to_vector<float>());
    EXPECT_EQ(z.to_vector<float>(), z2.to_vector<float>());
  }
}

TEST(Compile, SoftmaxOfAProduct) {
  auto g = [](Tensor x, Tensor w) { return softmax(mm(x, w) * 0.5, -1); };
  auto f = compile(g, {.name = "softmax"});
  for (int n = 1; n < 8; ++n) {
    Tensor x = rand({n, 5}), w = rand({5, 7});
    std::vector<float> a = f(x, w).to_vector<float>(), b = g(x, w).to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  }
  EXPECT_LE(f.stats().compilations, 2);
}

TEST(Compile, ReadingAValueIsServedEagerly) {
  auto f = compile([](Tensor x) { return x.sum().item().to_double() > 0 ? x + 1 : x - 1; }, {.name = "reads"});
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(f(ones({2}) * -1).to_vector<float>(), (std::vector<float>{-2, -2}));
  EXPECT_EQ(f.stats().eager_fallbacks, 2);
  EXPECT_NE(f.stats().last_fallback_reason.find("basic_test.cc"), std::string::npos) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise
