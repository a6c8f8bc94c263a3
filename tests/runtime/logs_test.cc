// What is logged keeps the schema that is printed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "log_lines.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using nlohmann::json;

bool is_of(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  ADD_FAILURE() << "the schema names a type " << type;
  return false;
}

/// The part of JSON Schema that log::schema() uses: type, const, properties, required.
std::string mistake_in(const json& value, const json& schema) {
  const json required = schema.value("required", json::array());
  for (const json& name : required)
    if (!value.contains(name)) return "lacks " + name.get<std::string>();
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, rule] : properties.items()) {
    if (!value.contains(name)) continue;
    if (rule.contains("const") && value[name] != rule["const"]) return name + " is another";
    if (rule.contains("type") && !is_of(value[name], rule["type"])) return name + " is no " + rule["type"].get<std::string>();
  }
  return "";
}

std::string mistake_in_line(const json& line, const json& schema) {
  if (std::string m = mistake_in(line, schema); !m.empty()) return m;
  const json* row = nullptr;
  for (const json& one : schema["oneOf"])
    if (one["properties"]["event"]["const"] == line["event"]) row = &one;
  if (!row) return "is an event of no row";
  if (std::string m = mistake_in(line, *row); !m.empty()) return m;
  for (const auto& item : line.items())
    if (!schema["properties"].contains(item.key()) && !(*row)["properties"].contains(item.key())) return "has " + item.key() + ", which no row declares";
  return "";
}

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
    EXPECT_EQ(mistake_in_line(j, schema), "") << line;
    seen.insert(j["event"].get<std::string>());
    if (j["event"] == "guard") {
      EXPECT_NE(j["function"], "");
    }
  }
  for (const char* event : {"traced", "guard", "functionalized", "optimized", "pass", "launches", "compiled", "recompiled", "not_traceable", "recording_made", "recording_evicted", "mutation", "warning"})
    EXPECT_TRUE(seen.contains(event)) << event;
}

TEST(Logs, TheCheckItselfFindsMistakes) {
  const json schema = json::parse(testing::log_schema());
  json line = {{"t_us", 1}, {"channel", "graph"}, {"event", "optimized"}, {"function", "f"}, {"text", ""}, {"nodes", 3}, {"graph", "g"}};
  EXPECT_EQ(mistake_in_line(line, schema), "");
  line["nodes"] = "3";
  EXPECT_EQ(mistake_in_line(line, schema), "nodes is no integer");
  line["nodes"] = 3, line["more"] = 1;
  EXPECT_EQ(mistake_in_line(line, schema), "has more, which no row declares");
  line.erase("more"), line.erase("graph");
  EXPECT_EQ(mistake_in_line(line, schema), "lacks graph");
  line["graph"] = "g", line["channel"] = "trace";
  EXPECT_EQ(mistake_in_line(line, schema), "channel is another");
}

}  // namespace
}  // namespace reprise
