// What a call waits for, counted in calls of the driver: numbers that depend on data.
#include "base/counters.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaNumbers = Cuda;

/// How often a call of a compiled function waited for the device or copied from it. f is called twice before.
template <class F, class... A>
std::uint64_t waits(F f, const A&... a) {
  auto calls = [](const char* entry) {
    return Simulator::find<decltype(reprise_simulator_calls)>("reprise_simulator_calls")(entry);
  };
  auto all = [&] {
    return calls("cuStreamSynchronize") + calls("cuCtxSynchronize") + calls("cuEventSynchronize") +
           calls("cuMemcpyDtoH");
  };
  f(a...), f(a...);
  const std::uint64_t before = all();
  f(a...);
  const std::uint64_t after = all();
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  return after - before;
}

TEST_F(CudaNumbers, OneWaitWhereASizeIsNeededNoneWhereABoundServes) {
  if (!Simulator::library()) GTEST_SKIP() << "counts calls of the simulator";
  const Tensor x = (rand({50, 8}) - 0.5).to(d), y = (rand({50, 8}) - 0.5).to(d);
  const std::uint64_t none = waits(compile([](Tensor x, Tensor y) { return x * y; }), x, y);
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(waits(compile([](Tensor x) { return x.index({x > 0}).sum(); }), x), none);
  EXPECT_EQ(waits(compile([](Tensor x) { return x.index({x.sum(-1) > 0}).relu().mean(0); }), x), none);
  EXPECT_EQ(waits(compile([](Tensor x) { return x / x.max().item() + x.index({x > 0}).numel(); }), x), none);
  EXPECT_EQ(waits(compile([](Tensor x) { return x.index_put({x > 0}, x.index({x > 0}).exp()); }), x), none);
  // Several numbers that are needed at one point.
  const auto before = counter_snapshot();
  EXPECT_EQ(waits(compile([](Tensor x, Tensor y) {
                    const Int a = check_size((x > 0).sum().item().to_int(), 1, 400),
                              b = check_size((y > 0).sum().item().to_int(), 1, 400);
                    return zeros({a, 2}, {.device = x.device()}) + zeros({b, 1, 1}, {.device = x.device()});
                  }),
                  x, y),
            1u);
  EXPECT_EQ((counter_snapshot() - before).numbers_read, 2 * (counter_snapshot() - before).waits_for_numbers);
  EXPECT_EQ(waits(compile([](Tensor x) {
                    return zeros({check_size((x > 0).sum().item().to_int(), 1, 400)}, {.device = x.device()});
                  }),
                  x),
            1u);
}

}  // namespace
}  // namespace reprise::test
