#pragma once
#include "tests/cuda/support.h"
#include "tests/support/blend.h"

namespace reprise::test {

/// With the operator of another library (Blend), whose work the simulator queues and runs; skips on a real driver.
class CudaBlend : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (IsSkipped()) return;
    if (!Simulator::library()) GTEST_SKIP() << "the operator's kernels are the simulator's";
    Blend::submit = Simulator::find<int(void*, void (*)(void*), const void*, std::size_t)>("reprise_simulator_submit");
    Blend::reach = Simulator::find<void*(std::uint64_t, std::size_t, int, const char*)>("reprise_simulator_reach");
  }
  void TearDown() override { Blend::submit = nullptr, Blend::reach = nullptr; }
};

}  // namespace reprise::test
