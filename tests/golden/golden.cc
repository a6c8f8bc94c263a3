#include "golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace reprise::golden {

void expect_golden(const std::string& file, const std::string& text) {
  const std::string path = std::string(REPRISE_SOURCE_DIR "/tests/golden/") + file;
  if (std::getenv("GOLDEN_WRITE")) {
    std::ofstream(path) << text;
    return;
  }
  std::ostringstream kept;
  kept << std::ifstream(path).rdbuf();
  if (kept.str() == text) return;
  std::istringstream a(kept.str()), b(text);
  std::string was, is;
  int line = 1;
  while (true) {
    const bool more = static_cast<bool>(std::getline(a, was)), more_now = static_cast<bool>(std::getline(b, is));
    if (!more) was = "(the end)";
    if (!more_now) is = "(the end)";
    if (was != is || !more || !more_now) break;
    ++line;
  }
  ADD_FAILURE() << path << ":" << line << "\n  was: " << was << "\n  is:  " << is
                << "\nIf this is meant: ./run golden, and read the difference.";
}

}  // namespace reprise::golden
