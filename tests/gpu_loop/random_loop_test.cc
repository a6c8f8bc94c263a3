// Random loop kernels, run on the device and by kernels::interpret. All values are small integers, so every element
// must be the same bits. REPRISE_TEST_SEEDS: how many.
#include "tests/gpu_loop/random_loop.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/gpu/loop/compile.h"
#include "tests/gpu_loop/device_run.h"

namespace reprise {
namespace {

using kernels::LoopKernel;
using namespace test;

TEST(RandomLoops, GiveWhatTheInterpreterGives) {
  const std::string why = why_no_device();
  if (!why.empty()) GTEST_SKIP() << why;
  const char* wanted = std::getenv("REPRISE_TEST_SEEDS");
  const int seeds = wanted ? std::atoi(wanted) : 200;
  const char* first = std::getenv("REPRISE_TEST_FIRST_SEED");
  int compared = 0;
  for (int s = first ? std::atoi(first) : 1, end = s + seeds; s < end; ++s) {
    LoopKernel k = random_loop(static_cast<std::uint32_t>(s));
    SCOPED_TRACE("seed " + std::to_string(s) + "\n" + kernels::print(k));
    kernels::verify(k);
    std::mt19937 rng(static_cast<std::uint32_t>(s));
    const Arrays arrays = make_arrays(k, rng, Values::Integers), expected = interpreted(k, arrays);
    set_thread_order(s % 3 == 0 ? "forward" : s % 3 == 1 ? "reverse" : "random", static_cast<std::uint64_t>(s));
    for (const bool narrow : {false, true}) {
      k.narrow = narrow;
      EXPECT_EQ(difference(k, expected, run_on_device(k, arrays, s % 2), 0, 1), "")
          << (narrow ? "32" : "64") << " bits";
    }
    ++compared;
    if (::testing::Test::HasFailure()) break;
  }
  set_thread_order("forward", 0);
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace reprise
