// What a call asks of the driver, where that costs time.
#include <map>

#include "device/cuda/driver_times.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

/// Calls are counted by the simulator.
class CudaCalls : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (!IsSkipped() && !Simulator::library()) GTEST_SKIP() << "counted by the simulator";
  }
};

TEST_F(CudaCalls, ANumberOfTheHostIsNotWaitedFor) {
  auto f = compile([](Tensor x, Tensor s) { return x * s; }, {.name = "scaled"});
  Tensor x = ones({4}, {.device = d}), s = full({}, 3.0);
  f(x, s);
  const auto waits = Simulator::calls("cuStreamSynchronize");
  Tensor y;
  for (int i = 0; i < 10; ++i) y = f(x, s);
  EXPECT_EQ(Simulator::calls("cuStreamSynchronize"), waits);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4, 3));
}

// More of them than a block of pinned memory holds, each another one, while nothing has run yet.
TEST_F(CudaCalls, NumbersOfTheHostKeepTheirValuesUntilTheyAreRead) {
  auto* set_async = Simulator::find<decltype(reprise_simulator_set_async)>("reprise_simulator_set_async");
  auto f = compile([](Tensor x, Tensor s) { return x + s; }, {.name = "added"});
  Tensor x = zeros({1}, {.device = d});
  f(x, full({}, 0.0));
  set_async(1);
  std::vector<Tensor> results;
  for (int i = 0; i < 6000; ++i) results.push_back(f(x, full({}, static_cast<double>(i))));
  for (int i = 0; i < 6000; i += 37) EXPECT_EQ(results[static_cast<std::size_t>(i)].item().to_double(), i);
  set_async(0);
}

// However many kernels there are: the graph's launch, and one change of a node where the result lies elsewhere.
TEST_F(CudaCalls, ACallAsksForAsLittleWithManyKernels) {
  const Scoped<std::string> own(knobs().cuda_products, "own");
  const bool block = backend().target().indirect;
  for (int nodes : {1, 20}) {
    auto f = compile(
        [nodes](Tensor x, Tensor w) {
          for (int i = 0; i < nodes; ++i) x = linear(x, w);
          return x;
        },
        {.name = "steady"});
    const Tensor x = ones({9, 8}, {.device = d}), w = ones({8, 8}, {.device = d});
    Tensor y;
    auto dropped = [&] { f(x, w); };
    auto kept = [&] { y = f(x, w); };
    auto asked = [&](auto call) {
      for (int i = 0; i < 6; ++i) call();
      device::cuda::DriverTimes times;
      for (int i = 0; i < 10; ++i) times.add_up(call);
      std::map<std::string, std::int64_t> all;
      for (const device::cuda::DriverTimes::Entry& e : times.entries()) all[e.name] = e.calls;
      return all;
    };
    using Asked = std::map<std::string, std::int64_t>;
    EXPECT_EQ(asked(dropped), (Asked{{"cuCtxSetCurrent", 10}, {"cuGraphLaunch", 10}})) << nodes;
    if (block) {
      EXPECT_EQ(asked(kept),
                (Asked{{"cuCtxSetCurrent", 20}, {"cuGraphExecKernelNodeSetParams", 10}, {"cuGraphLaunch", 10}}))
          << nodes;
    }
    const auto launches = Simulator::calls("cuGraphLaunch");
    f(x, w);
    EXPECT_EQ(Simulator::calls("cuGraphLaunch"), launches + 1) << "nobody looks at the clock any more";
  }
}

TEST_F(CudaCalls, ManyGraphsOfASizeAreMeasuredByAFew) {
  const auto add = [](double by) {
    return compile([by](Tensor x) { return (x + by).cumsum(0); }, {.name = "measured", .mode = "no-fuse"});
  };
  std::vector<decltype(add(0))> all;
  auto some = [&](int first, int end) {
    for (int i = first; i < end; ++i) all.push_back(add(i + 0.25)), all.back()(ones({4}, {.device = d}));
  };
  some(0, 4);
  const auto asked = Simulator::calls("cuMemGetInfo"), made = Simulator::counters().instantiations;
  some(4, 8);
  EXPECT_EQ(Simulator::counters().instantiations, made + 4);
  EXPECT_EQ(Simulator::calls("cuMemGetInfo"), asked);
  const std::int64_t graphs = device_memory(d).graphs;
  for (auto& f : all) f.reset();
  EXPECT_LT(device_memory(d).graphs, graphs) << "all are counted";
}

TEST_F(CudaCalls, ManyKernelsAreUnloadedAfterOneWait) {
  const auto loaded = [] { return Simulator::counters().live_handles; };
  empty_cache(d);
  const auto before = loaded();
  {
    auto f = compile([](Tensor x) { return (softmax(x, -1) * 1.7183).cumsum(0).sum(1) + 0.577215; },
                     {.name = "unloaded", .mode = "no-fuse"});
    f(ones({5, 7}, {.device = d}));
    EXPECT_GT(loaded(), before + 4);
    synchronize(d);
    const auto waits = Simulator::calls("cuCtxSynchronize");
    f.reset();
    EXPECT_LE(Simulator::calls("cuCtxSynchronize"), waits + 1);
  }
  empty_cache(d);
  EXPECT_LE(loaded(), before + 2) << "but for uploads of addresses and words, perhaps";
}

}  // namespace
}  // namespace reprise::test
