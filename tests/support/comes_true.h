#pragma once
#include <chrono>
#include <thread>

namespace reprise::test {

/// Waits for what other threads do: whether it came true within a time that no machine needs, so that a test fails
/// instead of never ending.
template <class F>
bool comes_true(F&& f) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!f()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace reprise::test
