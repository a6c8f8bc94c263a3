#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "base/knobs.h"
#include "device/backend.h"
#include "reprise/reprise.h"
#include "tests/cuda_sim/control.h"
#include "tests/support/error_of.h"
#include "tests/support/simulator.h"

namespace reprise::test {

/// The simulator's controls, or null: then the driver is a real one, and tests that inject failures are skipped.
struct Simulator {
  static void* library() {
#ifdef REPRISE_CUDA_SIM
    static void* const l = dlopen(knobs().cuda_driver.c_str(), RTLD_NOW);
    return l && dlsym(l, "reprise_simulator") ? l : nullptr;
#else
    return nullptr;
#endif
  }
  template <class F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(library(), name));
  }
  static reprise_simulator_counters counters() {
    reprise_simulator_counters c{};
    find<decltype(reprise_simulator_get_counters)>("reprise_simulator_get_counters")(&c);
    return c;
  }
  static void fail_next(const char* entry, int result) { find<decltype(reprise_simulator_fail_next)>("reprise_simulator_fail_next")(entry, result); }
  static void set_memory(std::uint64_t bytes) { find<decltype(reprise_simulator_set_memory)>("reprise_simulator_set_memory")(bytes); }
};

/// Takes the simulator as driver when no other one is named; skips where neither is there.
class Cuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    take_simulator();
  }
  void SetUp() override {
    if (std::string why = device::why_unavailable(d); !why.empty()) GTEST_SKIP() << why;
  }
  device::Backend& backend() { return device::backend(d); }

  const Device d = Device::cuda(0);
};

}  // namespace reprise::test
