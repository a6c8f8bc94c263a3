#include "stages.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "../runtime/log_lines.h"

namespace reprise::golden {

std::string without_lines(const std::string& text) {
  static const std::regex location(R"(\s*;? ?\(?(at )?[\w./]*\w+\.(cc|h):\d+\)?)");
  return std::regex_replace(text, location, "");
}

std::map<std::string, std::string> stages_of(const Program& p) {
  testing::LogLines log;
  std::map<std::string, std::string> stage;
  stage["explain"] = p.call(p.name);
  for (const std::string& line : log.lines()) {
    const auto event = nlohmann::json::parse(line);
    const std::string name = event["event"], function = event["function"];
    if (function != p.name + "/0") continue;
    if (event.contains("graph")) stage[name] = event["graph"];
    if (name == "launches") stage[name] = event["text"];
  }
  for (auto& [name, text] : stage) text = without_lines(text);
  return stage;
}

}  // namespace reprise::golden
