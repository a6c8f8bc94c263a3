#include "tools/timeline_account.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/log_file.h"

namespace reprise::tool {

using nlohmann::json;

namespace {
json args_of(const json& e) {
  auto at = e.find("args");
  return at != e.end() && at->is_object() ? *at : json::object();
}
}  // namespace

// Launches are told before the call that they are in.
void TimelineAccount::call(const json& e) {
  constexpr std::size_t kMostSizes = 400, kMostLaunches = 200, kMostSpecializations = 500;
  const std::string name = text_of(e, "name");
  std::vector<Launch>& launches = open_[{number_of(e, "pid"), number_of(e, "tid")}];
  const std::string function = name.substr(0, name.rfind('/'));
  if (!functions.contains(function) && functions.size() >= bounds_.functions) return launches.clear();
  TimedFunction& f = functions[function];
  const double us = real_of(e, "dur");
  ++f.calls;
  f.us += us;
  const std::int64_t elements = number_of(args_of(e), "elements");
  if (f.by_elements.contains(elements) || f.by_elements.size() < kMostSizes) {
    CallTimes& t = f.by_elements[elements];
    t.least_us = t.times++ ? std::min(t.least_us, us) : us;
    t.us += us;
  } else {
    ++f.left_out;
  }
  if (f.launches.contains(name) || f.launches.size() < kMostSpecializations)
    for (const Launch& l : launches) {
      auto& all = f.launches[name];
      if (l.begin < real_of(e, "ts") - 0.01 || (all.size() >= kMostLaunches && !all.contains({l.name, l.line})))
        continue;
      LaunchTimes& t = all[{l.name, l.line}];
      t.least_us = t.times++ ? std::min(t.least_us, l.us) : l.us;
      t.us += l.us;
      t.bytes += l.bytes;
    }
  launches.clear();
}

void TimelineAccount::take(const json& e) {
  constexpr std::size_t kMostOpen = 4096, kMostThreads = 4096, kMostCurves = 32;
  ++events;
  const std::string kind = text_of(e, "ph"), category = text_of(e, "cat");
  if (begin_ < 0 && e.contains("ts")) begin_ = real_of(e, "ts");
  if (kind == "C") {
    const std::string name = text_of(e, "name");
    const json args = args_of(e);
    for (const auto& [key, value] : args.items())
      if (key.find("bytes") != std::string::npos && value.is_number() &&
          (memory.contains(name + ", " + key) || memory.size() < kMostCurves))
        memory[name + ", " + key].add((real_of(e, "ts") - begin_) / 1e3, std::clamp(value.get<double>(), 0.0, 1e15),
                                      bounds_.points);
  } else if (kind == "X" && category == "launch") {
    if (open_.size() > kMostThreads) open_.clear();
    auto& open = open_[{number_of(e, "pid"), number_of(e, "tid")}];
    if (open.size() < kMostOpen)
      open.push_back({text_of(e, "name"), text_of(args_of(e), "line"), real_of(e, "ts"), real_of(e, "dur"),
                      std::clamp<std::int64_t>(number_of(args_of(e), "bytes"), 0, std::int64_t{1} << 40)});
  } else if (kind == "X" && category == "call" && text_of(e, "name") != "guards") {
    call(e);
  } else if (kind == "X" && category == "eager") {
    open_.erase({number_of(e, "pid"), number_of(e, "tid")});  // what it launched is its own
  }
}

}  // namespace reprise::tool
