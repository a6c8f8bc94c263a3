#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace reprise::test {

using Random = std::minstd_rand;

inline std::int64_t storm_ms() {
  const char* asked = std::getenv("REPRISE_TEST_STORM_MS");
  return asked ? std::atoll(asked) : 150;
}
/// Of processors, by all threads: a machine that is busy with others takes longer, and the storm is the same.
inline std::int64_t ms_taken() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

/// Runs f(thread, random) again and again on so many threads, and tells the first thing that was wrong: what f returns,
/// or throws.
template <class F>
void storm(int threads, const F& f) {
  std::atomic<bool> over{false};
  std::mutex mu;
  std::string wrong;  // guarded by mu
  const auto run = [&](int id) {
    Random random(static_cast<unsigned>(id) + 1);
    std::string what;
    try {
      do what = f(id, random);
      while (what.empty() && !over);
    } catch (const std::exception& e) {
      what = e.what();
    }
    if (what.empty()) return;
    over = true;
    const std::lock_guard lock(mu);
    if (wrong.empty()) wrong = what;
  };
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(run, t);
  for (const std::int64_t end = ms_taken() + storm_ms(); !over && ms_taken() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  over = true;
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong, "");
}

inline int below(Random& r, int n) { return static_cast<int>(r() % static_cast<unsigned>(n)); }

}  // namespace reprise::test
