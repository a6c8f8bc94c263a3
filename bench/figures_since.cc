// What has become worse since an earlier revision: both were measured here, in turns (scripts/bench_since.sh).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/figures.h"

namespace reprise::figures {

namespace {

struct Measured {
  std::vector<double> values;  ///< one for each round
  bool higher_is_better = false;
  std::string unit;
  double least() const { return *std::min_element(values.begin(), values.end()); }
  double most() const { return *std::max_element(values.begin(), values.end()); }
};

std::map<std::string, Measured> read(const char* folder) {
  std::map<std::string, Measured> out;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    for (const auto& f : nlohmann::json::parse(std::ifstream(file.path()))) {
      if (f["measured"].is_null()) continue;
      Measured& m = out[f["name"]];
      m.values.push_back(f["measured"]);
      m.unit = f["unit"];
      m.higher_is_better = f.value("better", "lower") == "higher";
    }
  }
  return out;
}

}  // namespace

int since(const char* before, const char* now) {
  // A figure has changed if no round of the one side reaches into the other's, and by more than what two builds of one
  // source differ in.
  constexpr double kNoise = 0.03;
  const auto old = read(before), fresh = read(now);
  int fell = 0, rose = 0, compared = 0;
  for (const auto& [name, f] : fresh) {
    const auto it = old.find(name);
    if (it == old.end()) {
      std::printf("new     %s\n", name.c_str());
      continue;
    }
    ++compared;
    const Measured& o = it->second;
    const double was = median(o.values), is = median(f.values);
    const bool apart = f.least() > o.most() || f.most() < o.least();
    if (!apart || std::abs(is - was) <= kNoise * std::abs(was)) continue;
    const bool worse = (is > was) != f.higher_is_better;
    ++(worse ? fell : rose);
    std::printf("%s  %s: %.4g -> %.4g %s (%.4g..%.4g -> %.4g..%.4g)\n", worse ? "WORSE " : "better", name.c_str(), was,
                is, f.unit.c_str(), o.least(), o.most(), f.least(), f.most());
  }
  for (const auto& [name, o] : old)
    if (!fresh.count(name)) std::printf("gone    %s\n", name.c_str());
  std::printf("%d figures compared: %d worse, %d better, the others within what they vary by\n", compared, fell, rose);
  return fell > 0 ? 1 : 0;
}

}  // namespace reprise::figures
