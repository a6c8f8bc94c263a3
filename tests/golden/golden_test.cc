// What the compiler makes of a dozen small programs, as text that is read in review: the program as traced, the graph
// after functionalization and after all passes, the launches, and the guards; code_test.cc: the code. `./run golden`
// writes the files anew.
#include <gtest/gtest.h>

#include <sstream>

#include "golden.h"
#include "programs.h"
#include "stages.h"

namespace reprise::golden {

void PrintTo(const Program& p, std::ostream* out) { *out << p.name; }

namespace {

/// Guards, and who is written where: between the specialization's first line and its graph.
std::string guards_of(const std::string& explain) {
  const std::size_t begin = explain.find("  guards ("), end = explain.find("  graph:\n");
  return begin == std::string::npos ? "" : explain.substr(begin, end - begin);
}

std::string text_of(const Program& p) {
  auto stage = stages_of(p);
  std::ostringstream out;
  out << "# " << p.about << "\n";
  const std::pair<const char*, std::string> stages[] = {{"traced", stage["traced"]},
                                                        {"functional", stage["functionalized"]},
                                                        {"after all passes", stage["optimized"]},
                                                        {"launches", stage["launches"]},
                                                        {"guards and writes", guards_of(stage["explain"])}};
  for (const auto& [title, text] : stages)
    out << "\n== " << title << "\n" << text << (text.ends_with('\n') ? "" : "\n");
  return out.str();
}

class Golden : public ::testing::TestWithParam<Program> {};

TEST_P(Golden, IsAsCommitted) { expect_golden(GetParam().name + ".txt", text_of(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Programs, Golden, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::golden
