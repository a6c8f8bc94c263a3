#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::tool {

/// How much of a log is kept, however long it is; what is more is counted.
struct Bounds {
  /// all but the first: of each function
  std::size_t functions = 10000, compilations = 10000, causes = 200, texts = 200;
  std::size_t text_bytes = 65536;  ///< of one graph
  bool graphs = false;             ///< are they wanted at all
  std::size_t points = 4000;       ///< of one curve
};

/// Phases of compilations, as the log's fields call them.
inline constexpr std::array<const char*, 6> kPhaseNames = {"trace", "functionalize", "passes",
                                                           "lower", "machine code",  "load"};
using PhaseUs = std::array<std::int64_t, kPhaseNames.size()>;

/// Why compilations happened again: the same part of the arguments at the same line of the program.
struct Cause {
  std::string what;                 ///< "x.size(0)", "causal (arg 5)"
  std::string line;                 ///< "model.cc:41 (branch)", or ""
  std::string example, remedy;      ///< of the latest
  std::vector<std::string> values;  ///< that were seen, the first ones
  std::int64_t times = 0, values_left_out = 0, lost_us = 0;
};

struct Compilation {
  std::string name;
  double at_ms = 0;
  std::int64_t trace_us = 0, build_us = 0, guards = 0, launches = 0;
  PhaseUs phases{};
  std::string against, failed, remedy;
  std::string traced, functional, optimized, listing;  ///< texts, where they are wanted
};

/// What the log told of one compiled function ("attend" of "attend/2").
struct Function {
  std::string name, file;  ///< of which log
  std::vector<Compilation> compilations;
  std::int64_t compiled = 0, lost_us = 0;
  PhaseUs phases{};
  std::vector<Cause> causes;  ///< in the order of their first compilation
  std::int64_t causes_left_out = 0;
  std::map<std::string, std::int64_t> refusals;  ///< and how often they were told
  std::vector<std::string> mutations;
  std::int64_t mutations_left_out = 0;
  std::int64_t recordings_made = 0, recordings_evicted = 0, recordings_live = 0, recording_bytes = 0, largest_pool = 0;

  std::map<std::string, std::size_t> by_name;                           ///< the latest of a name in `compilations`
  std::map<std::pair<std::string, std::string>, std::size_t> by_cause;  ///< in `causes`
  std::map<std::string, Compilation> begun;                             ///< what is known of one before it is compiled
};

/// A value over time; past its bound every second point goes.
struct Curve {
  std::vector<std::pair<double, double>> points;  ///< milliseconds, value
  std::size_t every = 1, seen = 0;
  void add(double t, double v, std::size_t most);
};

class Account {
 public:
  explicit Account(Bounds b = {}) : bounds(b) {}
  /// The events that follow are of this file.
  void begin_file(const std::string& path);
  void take(const nlohmann::json& event);

  /// Causes and refusals by what they cost, the dearest first, one sentence each.
  struct Advice {
    const Function* function;
    std::int64_t lost_us;
    std::string text;
  };
  std::vector<Advice> advice(std::size_t most) const;
  std::vector<const Function*> by_time() const;  ///< functions, those that compiled longest first

  const Bounds bounds;
  std::vector<Function> functions;  ///< in the order in which they came
  std::int64_t functions_left_out = 0, events = 0;
  std::vector<std::string> files;
  std::int64_t pool_bytes = 0;  ///< the most that all lanes had together, in one process
  std::vector<std::pair<std::string, std::int64_t>> warnings;
  std::map<std::string, Curve> memory;

 private:
  Function* function(const std::string& name);  ///< null: there are too many
  void compiled(const nlohmann::json&, Function&, const std::string& name);
  void recompiled(const nlohmann::json&, Function&, const std::string& name);
  void pool_grew(const nlohmann::json&);
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_name_;  ///< file, function
  std::map<std::string, std::int64_t> lanes_;                           ///< of the file that is read
};

/// A number of microseconds for people: "350 us", "12 ms", "3.4 s".
std::string time_text(std::int64_t us);
std::string bytes_text(std::int64_t bytes);

}  // namespace reprise::tool
