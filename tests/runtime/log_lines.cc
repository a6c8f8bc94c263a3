#include "log_lines.h"

#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace reprise::testing {

namespace {
using nlohmann::json;

std::mutex mu;
std::vector<std::string> seen;

bool is_of(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  ADD_FAILURE() << "the schema names a type " << type;
  return false;
}

/// The part of JSON Schema that logs::schema() uses: type, const, properties, required.
std::string mistake_in(const json& value, const json& schema) {
  const json required = schema.value("required", json::array());
  for (const json& name : required)
    if (!value.contains(name)) return "lacks " + name.get<std::string>();
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, rule] : properties.items()) {
    if (!value.contains(name)) continue;
    if (rule.contains("const") && value[name] != rule["const"]) return name + " is another";
    if (rule.contains("type") && !is_of(value[name], rule["type"]))
      return name + " is no " + rule["type"].get<std::string>();
  }
  return "";
}

}  // namespace

std::string mistake_in_line(const std::string& text) {
  static const json schema = json::parse(log_schema());
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return "is no object";
  if (std::string m = mistake_in(line, schema); !m.empty()) return m;
  const json* row = nullptr;
  for (const json& one : schema["oneOf"])
    if (one["properties"]["event"]["const"] == line["event"]) row = &one;
  if (!row) return "is an event of no row";
  if (std::string m = mistake_in(line, *row); !m.empty()) return m;
  for (const auto& item : line.items())
    if (!schema["properties"].contains(item.key()) && !(*row)["properties"].contains(item.key()))
      return "has " + item.key() + ", which no row declares";
  return "";
}

LogLines::LogLines() {
  seen.clear();
  logs::set_test_sink([](std::string_view line) {
    std::lock_guard lock(mu);
    seen.emplace_back(line);
  });
}
LogLines::~LogLines() {
  logs::set_test_sink(nullptr);
  for (const std::string& line : lines())
    if (const std::string m = mistake_in_line(line); !m.empty()) {
      ADD_FAILURE() << "a line of the log " << m << ": " << line;
      break;
    }
}
std::vector<std::string> LogLines::lines() const {
  std::lock_guard lock(mu);
  return seen;
}
std::string log_schema() { return logs::schema(); }
void log_warning(const char* text) { logs::warn(text); }

}  // namespace reprise::testing
