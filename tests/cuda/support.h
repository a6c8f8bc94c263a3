#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
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
  static std::uint64_t calls(const char* entry) {
    return find<decltype(reprise_simulator_calls)>("reprise_simulator_calls")(entry);
  }
  static void fail_next(const char* entry, int result) {
    find<decltype(reprise_simulator_fail_next)>("reprise_simulator_fail_next")(entry, result);
  }
  static void set_memory(std::uint64_t bytes) {
    find<decltype(reprise_simulator_set_memory)>("reprise_simulator_set_memory")(bytes);
  }
};

/// What a command of the shell writes to its standard output.
inline std::string output_of(const std::string& command) {
  std::string out;
  FILE* p = popen(command.c_str(), "r");
  char line[512];
  while (p && std::fgets(line, sizeof line, p)) out += line;
  if (p) pclose(p);
  return out;
}

/// What this program prints when it runs again, in another environment, for the tests that `filter` names: they skip
/// where REPRISE_TEST_PROBE is not set.
inline std::string run_again(const std::string& environment, const std::string& filter) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return output_of("env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX REPRISE_TEST_PROBE=1 REPRISE_CUDA_DRIVER='" +
                   knobs().cuda_driver + "' " + environment + " '" + self + "' --gtest_filter='" + filter +
                   "' 2>/dev/null");
}

/// Takes the simulator as driver when no other one is named; skips where neither is there.
class Cuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    take_simulator();
#ifdef REPRISE_BLASLT_SIM
    // The library of products is opened once, by the first product of any suite.
    if (Simulator::library() && knobs().cublaslt.empty()) knobs().cublaslt = REPRISE_BLASLT_SIM;
#endif
  }
  void SetUp() override {
    if (std::string why = device::why_unavailable(d); !why.empty()) GTEST_SKIP() << why;
  }
  device::Backend& backend() { return device::backend(d); }

  const Device d = Device::cuda(0);
};

}  // namespace reprise::test
