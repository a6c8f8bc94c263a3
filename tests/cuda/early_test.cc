// Kernels of a graph start while the only one before them ends (programmatic dependent launch; Note [Early launches] in
// jit/gpu/module.h).
#include <cstdlib>
#include <iostream>

#include "tests/cuda/support.h"
#include "tests/runtime/log_lines.h"

namespace reprise::test {
namespace {

class CudaEarly : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (!IsSkipped() && !Simulator::library()) GTEST_SKIP() << "the simulator counts edges";
  }
  static std::uint64_t edges() { return Simulator::counters().early_edges; }
};

Tensor chain(Tensor x) { return (exp(x) * 2.0).sum({-1}).tanh(); }

TEST_F(CudaEarly, NodesOfAChain) {
  auto f = compile(chain, {.name = "chain", .mode = "no-fuse"});
  const Tensor x = (arange(48).to(kFloat32) * 0.7).sin().reshape({6, 8});
  const std::uint64_t before = edges();
  std::string told;
  {
    testing::LogLines log;
    const Tensor got = f(x.to(d));
    EXPECT_TRUE(allclose(got.cpu(), chain(x), 1e-5, 1e-6)) << got.cpu();
    for (const std::string& line : log.lines())
      if (line.find("launched_early") != std::string::npos) told = line;
  }
  if (knobs().cuda_early != "on") {
    EXPECT_EQ(edges(), before);
    return;
  }
  EXPECT_EQ(edges() - before, 3u);
  EXPECT_NE(told.find("\"early\":3"), std::string::npos) << told;
  EXPECT_NE(told.find("nothing comes before it"), std::string::npos) << told;
  // The same graph with other addresses and sizes.
  const Tensor y = (arange(640).to(kFloat32) * 0.3).sin().reshape({10, 64});
  EXPECT_TRUE(allclose(f(y.to(d)).cpu(), chain(y), 1e-5, 1e-6));
}

TEST_F(CudaEarly, NotWhereSeveralMeet) {
  auto body = [](Tensor x, Tensor y) { return x.sum({0}) * y.sum({0}); };
  auto f = compile(body, {.name = "fork", .mode = "no-fuse"});
  const Tensor x = ones({3, 4}), y = ones({5, 4});
  const std::uint64_t before = edges();
  std::string told;
  {
    testing::LogLines log;
    EXPECT_TRUE(allclose(f(x.to(d), y.to(d)).cpu(), body(x, y)));
    for (const std::string& line : log.lines())
      if (line.find("launched_early") != std::string::npos) told = line;
  }
  EXPECT_EQ(edges(), before);
  if (knobs().cuda_early == "on") {
    EXPECT_NE(told.find("it comes after 2 nodes"), std::string::npos) << told;
  }
}

/// In a process of its own: how many edges there are, and what the code says.
TEST_F(CudaEarly, Probe) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP();
  const Tensor x = (arange(48).to(kFloat32) * 0.7).sin().reshape({6, 8});
  const Tensor got = compile(chain, {.mode = "no-fuse"})(x.to(d));
  std::cout << "edges " << edges() << (allclose(got.cpu(), chain(x), 1e-5, 1e-6) ? " right" : " wrong") << std::endl;
}

TEST_F(CudaEarly, OffWhereTheDeviceTheDriverOrAKnobSaysSo) {
  if (std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP();
  const std::string probe = "CudaEarly.Probe";
  EXPECT_NE(run_again("", probe).find("edges 3 right"), std::string::npos);
  for (const char* environment : {"REPRISE_CUDA_EARLY=off", "REPRISE_SIM_ARCH=80", "REPRISE_SIM_DRIVER_VERSION=12020",
                                  "REPRISE_CUDA_DEBUG=serial"}) {
    const std::string out = run_again(environment, probe);
    EXPECT_NE(out.find("edges 0 right"), std::string::npos) << environment << "\n" << out;
  }
}

}  // namespace
}  // namespace reprise::test
