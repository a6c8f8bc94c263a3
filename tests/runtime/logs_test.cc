// What is logged keeps the schema that is printed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "log_lines.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using nlohmann::json;
using testing::mistake_in_line;

TEST(Logs, EveryLineKeepsTheSchema) {
  testing::LogLines log;
  auto f = compile([](Tensor x, Tensor y, bool up) {
    if (x.size(0) > 100) x.sum().item();
    y.slice(0, 0, 1).add_(x.sum());
    return softmax(up ? x + 1 : x.t() * 2, 1).matmul(up ? x.t() : x);
  }, {.name = "logged", .recordings_max = 1});
  Tensor y = ones({4});
  for (std::int64_t n : {3, 5, 3, 1}) f(ones({n, 4}), y, true);
  f(ones({3, 4}), y, false);
  f(ones({200, 4}), y, true);
  testing::log_warning("a warning");
  const json schema = json::parse(testing::log_schema());
  EXPECT_EQ(schema["oneOf"].size(), 20u);
  std::set<std::string> seen;
  for (const std::string& line : log.lines()) {
    const json j = json::parse(line);
    EXPECT_EQ(mistake_in_line(line), "") << line;
    seen.insert(j["event"].get<std::string>());
    if (j["event"] == "guard") {
      EXPECT_NE(j["function"], "");
    }
  }
  for (const char* event : {"traced", "guard", "functionalized", "optimized", "pass", "launches", "compiled", "recompiled", "not_traceable", "recording_made", "recording_evicted", "mutation", "warning"})
    EXPECT_TRUE(seen.contains(event)) << event;
}

TEST(Logs, TheCheckItselfFindsMistakes) {
  json line = {{"t_us", 1}, {"channel", "graph"}, {"event", "optimized"}, {"function", "f"}, {"text", ""}, {"nodes", 3}, {"graph", "g"}};
  EXPECT_EQ(mistake_in_line(line.dump()), "");
  line["nodes"] = "3";
  EXPECT_EQ(mistake_in_line(line.dump()), "nodes is no integer");
  line["nodes"] = 3, line["more"] = 1;
  EXPECT_EQ(mistake_in_line(line.dump()), "has more, which no row declares");
  line.erase("more"), line.erase("graph");
  EXPECT_EQ(mistake_in_line(line.dump()), "lacks graph");
  line["graph"] = "g", line["channel"] = "trace";
  EXPECT_EQ(mistake_in_line(line.dump()), "channel is another");
}

}  // namespace
}  // namespace reprise
