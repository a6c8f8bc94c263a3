#pragma once
#include <algorithm>
#include <chrono>

namespace reprise::test {

/// The least that each of two things was seen to take, measured in turns.
struct Least {
  double one = 1e9, other = 1e9;
};

/// Whether `one` takes less than `factor` times what `other` does. What else a machine does only adds to a time, so the
/// least of each comes closer to what it is worth: they are measured on until that holds, for two seconds at most (a
/// quarter of a second suffices on a machine that does nothing else).
template <class One, class Other>
bool at_most(double factor, One&& one, Other&& other, Least& least) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int round = 0; round < 9 || (least.one >= least.other * factor && std::chrono::steady_clock::now() < until);
       ++round) {
    least.one = std::min(least.one, one());
    least.other = std::min(least.other, other());
  }
  return least.one < least.other * factor;
}

}  // namespace reprise::test
