// What a compiled function's results are: tensors of their own, the argument itself, or one tensor under two names; and
// how they lie in memory.
#include <gtest/gtest.h>

#include <vector>

#include "reprise/reprise.h"
#include "tensor/impl.h"
#include "tests/support/element.h"

namespace reprise {
namespace {

Tensor ramp(int n, int m) { return arange(n * m, {.dtype = kFloat32}).reshape({n, m}); }

TEST(ReturnedTensors, AnArgumentThatIsReturnedIsThatArgument) {
  Tensor captured = ramp(2, 3);
  auto f = compile([&captured](Tensor x, Tensor y) {
    Tensor sum = y + 1;
    return std::vector<Tensor>{x.add_(y), x.to(kFloat32),   y.contiguous(), sum, captured,
                               sum,       x.slice(0, 0, 1), Tensor(),       x};
  });
  for (int n : {2, 5, 2}) {
    Tensor x = ramp(n, 3), y = ramp(n, 3);
    captured = ramp(n, 4);
    std::vector<Tensor> r = f(x, y);
    EXPECT_TRUE(r[0].is_same(x) && r[1].is_same(x) && r[8].is_same(x));
    EXPECT_TRUE(r[2].is_same(y));
    EXPECT_TRUE(r[3].is_same(r[5]) && !r[3].is_same(y) && !r[3].shares_storage_with(y));
    EXPECT_TRUE(r[4].is_same(captured));
    EXPECT_TRUE(r[6].shares_storage_with(x) && !r[6].is_same(x));
    EXPECT_FALSE(r[7].defined());
    EXPECT_EQ(test::at(x, 3 * n - 1), static_cast<float>(2 * (3 * n - 1)));
    r.clear();
    EXPECT_EQ(x.impl()->refs.load(), 1);
    EXPECT_EQ(y.impl()->refs.load(), 1);
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(ReturnedTensors, AHandleWhoseMetadataChangeComesBackChanged) {
  auto f = compile([](Tensor x) { return x.t_(); });
  Tensor x = ramp(2, 5);
  Tensor r = f(x);
  EXPECT_TRUE(r.is_same(x));
  EXPECT_EQ(r.size(0).value(), 5);
  EXPECT_EQ(r.stride(0).value(), 1);
}

TEST(ReturnedTensors, ATransposedIntermediateKeepsItsStrides) {
  auto f = compile([](Tensor x) {
    return std::vector<Tensor>{(x * 2).t(), (x + 1).unsqueeze(0).permute({2, 0, 1}), (x - 1).view({-1})};
  });
  for (int n : {3, 4}) {
    std::vector<Tensor> r = f(ramp(n, 5));
    EXPECT_EQ(r[0].stride(0).value(), 1);
    EXPECT_EQ(r[0].stride(1).value(), 5);
    EXPECT_EQ(test::at(r[0], 1), 10.0f);
    EXPECT_EQ(r[1].stride(0).value(), 1);
    EXPECT_EQ(r[1].stride(2).value(), 5);
    EXPECT_TRUE(r[2].is_contiguous());
  }
  EXPECT_EQ(f.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise
