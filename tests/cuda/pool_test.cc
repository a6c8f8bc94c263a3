// The pool's memory goes only when nothing that was queued can reach it: drivers unmap at once.
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/replay/pool.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

/// Work runs late, and the context is well in the end.
class CudaPool : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (!Simulator::library()) GTEST_SKIP() << "a real driver does not tell";
    if (IsSkipped()) return;
    set_async(1);
  }
  void TearDown() override {
    if (Simulator::library()) set_async(0);
  }
  static void set_async(int on) {
    Simulator::find<decltype(reprise_simulator_set_async)>("reprise_simulator_set_async")(on);
  }
  void expect_well() { EXPECT_EQ((ones({3}, {.device = d}) + 1.0).to_vector<float>(), std::vector<float>(3, 2)); }
};

TEST_F(CudaPool, IsReleasedBehindTheReplayThatHasItsTurn) {
  constexpr std::int64_t kBytes = 4096;
  std::atomic<bool> released{false};
  std::thread other;
  {
    runtime::Lane lane(d, kBytes);
    other = std::thread([&] {
      release_pool();
      released = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(released) << "a replay has the lane";
    backend().copy(lane.base(), lane.base() + kBytes / 2, kBytes / 2, backend().current_stream());
  }
  other.join();
  EXPECT_EQ(runtime::pool_bytes(d), 0);
  expect_well();
}

TEST_F(CudaPool, OfAStreamThatEndsIsReleasedBehindItsWork) {
  constexpr std::int64_t kBytes = 4096;
  {
    Stream s = Stream::create(d);
    StreamGuard guard(s);
    runtime::Lane lane(d, kBytes);
    backend().copy(lane.base(), lane.base() + kBytes / 2, kBytes / 2, backend().current_stream());
  }
  expect_well();
}

// Calls and releases side by side: neither starves the other.
TEST_F(CudaPool, ReleasesInALoopLetCallsThrough) {
  auto f = compile([](Tensor x) { return softmax(x * 3.0, -1).cumsum(0); }, {.name = "busy", .mode = "no-fuse"});
  Tensor x = ones({16, 16}, {.device = d});
  std::vector<float> right = f(x).to_vector<float>();
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) release_pool();
  });
  for (int i = 0; i < 100; ++i) {
    Tensor y = f(x);
    if (i % 16 == 0) {
      EXPECT_EQ(y.to_vector<float>(), right);
    }
  }
  over = true;
  other.join();
  expect_well();
}

}  // namespace
}  // namespace reprise::test
