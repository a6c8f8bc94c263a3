#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "reprise/int.h"

namespace reprise::graph {

/// What a part of a program took from the generator, so that the same part can be run with the same numbers again.
struct RandomLog {
  std::vector<std::pair<Int, Int>> taken;  ///< (seed, offset), in order
  bool replays = false;                    ///< they are given again, and the generator stays where it is
  std::size_t next = 0;                    ///< of them
};
/// While it lives, this thread's numbers go into the log, or come from it. Of scopes in each other the innermost
/// counts; what it takes, the outer ones have seen taken.
class RandomLogScope {
 public:
  explicit RandomLogScope(RandomLog&);
  ~RandomLogScope();
  RandomLogScope(const RandomLogScope&) = delete;
  RandomLogScope& operator=(const RandomLogScope&) = delete;
  static RandomLog* current();

 private:
  RandomLog* const before_;
};

/// (seed, offset) from the innermost log that replays, or of `take()`, noted in all logs.
template <class Take>
std::pair<Int, Int> random_by_log(Take&& take) {
  RandomLog* log = RandomLogScope::current();
  if (!log) [[likely]]
    return take();
  if (log->replays && log->next < log->taken.size()) return log->taken[log->next++];
  std::pair<Int, Int> made = take();
  if (!log->replays) log->taken.push_back(made);
  return made;
}

}  // namespace reprise::graph
