// What warm_up() makes ahead on a CUDA device: code is loaded and graphs are instantiated before the first call.
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

class CudaWarmUp : public Cuda {};

TEST_F(CudaWarmUp, CallsInstantiateNothing) {
  if (!Simulator::library()) GTEST_SKIP() << "a real driver";
  auto f = compile([](Tensor x, Tensor w) { return softmax(x * w, -1) + 1.0; }, {.name = "warm"});
  const Tensor w = ones({8}).to(d);
  const auto uploads = Simulator::calls("cuGraphUpload");
  for (int n : {2, 20000, 60000})  // of three classes
    EXPECT_TRUE(f.warm_up(empty({n, 8}, {.device = d}), w).recorded);
  EXPECT_EQ(Simulator::calls("cuGraphUpload"), uploads + 3) << "off the way of the calls";
  f.seal();
  const Tensor x = rand({60000, 8});
  const auto there = x.to(d);
  const auto before = Simulator::counters();
  const std::int64_t kernels = stats().kernels_compiled;
  std::vector<Tensor> got;
  for (int n : {20000, 60000, 2, 20000}) got.push_back(f(there.narrow(0, 0, n), w));
  EXPECT_EQ(Simulator::calls("cuGraphUpload"), uploads + 3) << "a launch does it by itself";
  EXPECT_EQ(Simulator::counters().instantiations, before.instantiations);
  EXPECT_EQ(stats().kernels_compiled, kernels);
  EXPECT_EQ(f.stats().recordings_made, 3);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_TRUE(allclose(got[1].cpu(), softmax(x, -1) + 1.0));
}

}  // namespace
}  // namespace reprise::test
