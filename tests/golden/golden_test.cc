// What the compiler makes of a dozen small programs, as text that is read in review: the program as traced, the graph after
// functionalization and after all passes, the launches, the guards, and the PTX of its loops for a device.
// `./run golden` writes the files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "../runtime/log_lines.h"
#include "programs.h"

namespace reprise::golden {

void PrintTo(const Program& p, std::ostream* out) { *out << p.name; }

namespace {

std::string file_of(const Program& p) { return REPRISE_SOURCE_DIR "/tests/golden/" + p.name + ".txt"; }

/// Lines of this test's sources move; what they say does not depend on it.
std::string without_lines(const std::string& text) {
  static const std::regex location(R"(\s*;? ?\(?(at )?[\w./]*\w+\.(cc|h):\d+\)?)");
  return std::regex_replace(text, location, "");
}

/// Guards, and who is written where: between the specialization's first line and its graph.
std::string guards_of(const std::string& explain) {
  const std::size_t begin = explain.find("  guards ("), end = explain.find("  graph:\n");
  return begin == std::string::npos ? "" : explain.substr(begin, end - begin);
}

std::string text_of(const Program& p) {
  testing::LogLines log;
  const std::string explain = p.call(p.name);
  std::map<std::string, std::string> stage;
  for (const std::string& line : log.lines()) {
    const auto event = nlohmann::json::parse(line);
    const std::string name = event["event"], function = event["function"];
    if (function != p.name + "/0") continue;
    if (event.contains("graph")) stage[name] = event["graph"];
    if (name == "launches") stage[name] = event["text"];
  }
  std::ostringstream out;
  out << "# " << p.about << "\n";
  const std::pair<const char*, std::string> stages[] = {{"traced", stage["traced"]}, {"functional", stage["functionalized"]}, {"after all passes", stage["optimized"]},
                                                        {"launches", stage["launches"]}, {"guards and writes", guards_of(explain)}};
  for (const auto& [title, text] : stages) out << "\n== " << title << "\n" << text << (text.ends_with('\n') ? "" : "\n");
  return without_lines(out.str());
}

class Golden : public ::testing::TestWithParam<Program> {};

TEST_P(Golden, IsAsCommitted) {
  const Program& p = GetParam();
  const std::string now = text_of(p);
  if (std::getenv("GOLDEN_WRITE")) {
    std::ofstream(file_of(p)) << now;
    return;
  }
  std::ifstream in(file_of(p));
  std::ostringstream kept;
  kept << in.rdbuf();
  if (kept.str() == now) return;
  std::istringstream a(kept.str()), b(now);
  std::string was, is;
  int line = 1;
  while (std::getline(a, was) && std::getline(b, is) && was == is) ++line;
  FAIL() << file_of(p) << ":" << line << "\n  was: " << was << "\n  is:  " << is << "\nIf this is meant: ./run golden, and read the difference.";
}

INSTANTIATE_TEST_SUITE_P(Programs, Golden, ::testing::ValuesIn(programs()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::golden
