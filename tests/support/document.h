#pragma once
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

/// Documents whose examples a test compiles and runs: each stands in the test's own source, but for the spaces before
/// its lines.
namespace reprise::test {

inline std::string read_source(const std::string& path) {
  std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string without_indents(const std::string& text) {
  std::string out, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) out += line.substr(first) + "\n";
  }
  return out;
}

inline void expect_examples_of(const std::string& document, const std::string& source, int how_many) {
  const std::string text = read_source(document), here = without_indents(read_source(source));
  int examples = 0;
  for (std::size_t at = 0; (at = text.find("```cpp\n", at)) != std::string::npos; ++examples) {
    const std::size_t begin = at + 7, end = text.find("```", begin);
    const std::string example = text.substr(begin, end - begin);
    EXPECT_NE(here.find(without_indents(example)), std::string::npos) << example;
    at = end + 3;
  }
  EXPECT_EQ(examples, how_many);
}

}  // namespace reprise::test
