#pragma once
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

/// Documents whose examples a test compiles and runs: each stands in the test's own source, but for spaces and line
/// breaks.
namespace reprise::test {

inline std::string read_source(const std::string& path) {
  std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

inline void expect_examples_of(const std::string& document, const std::string& source, int how_many) {
  const std::string text = read_source(document), here = without_spaces(read_source(source));
  int examples = 0;
  for (std::size_t at = 0; (at = text.find("```cpp\n", at)) != std::string::npos; ++examples) {
    const std::size_t begin = at + 7, end = text.find("```", begin);
    const std::string example = text.substr(begin, end - begin);
    EXPECT_NE(here.find(without_spaces(example)), std::string::npos) << example;
    at = end + 3;
  }
  EXPECT_EQ(examples, how_many);
}

}  // namespace reprise::test
