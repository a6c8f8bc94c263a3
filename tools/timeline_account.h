#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/account.h"

namespace reprise::tool {

/// What a timeline measured of one launch of a specialization: its name and its line.
struct LaunchTimes {
  std::int64_t times = 0, bytes = 0;  ///< bytes: of all of them together
  double us = 0, least_us = 0;
};
/// Of the calls with as many elements in their tensors.
struct CallTimes {
  std::int64_t times = 0;
  double us = 0, least_us = 0;
};
struct TimedFunction {
  std::int64_t calls = 0;
  double us = 0;
  /// by specialization, by name and line
  std::map<std::string, std::map<std::pair<std::string, std::string>, LaunchTimes>> launches;
  std::map<std::int64_t, CallTimes> by_elements;
  std::int64_t left_out = 0;  ///< calls of sizes that are not in `by_elements`: there are too many
};

/// Bounded, as Account is.
class TimelineAccount {
 public:
  explicit TimelineAccount(Bounds b) : bounds_(b) {}
  void take(const nlohmann::json& event);
  std::map<std::string, TimedFunction> functions;
  std::map<std::string, Curve> memory;
  std::int64_t events = 0;

 private:
  struct Launch {
    std::string name, line;
    double begin, us;
    std::int64_t bytes;
  };
  void call(const nlohmann::json&);
  const Bounds bounds_;
  /// by process and thread: of calls that are not over
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Launch>> open_;
  double begin_ = -1;
};

}  // namespace reprise::tool
