// The main() of every suite. TEST_SHARE=2/3 runs the second of three shares of the tests that --gtest_filter takes, by
// a hash of their names: how a suite that is dear in one way of running it takes its turns (tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>

#include "tests/support/share.h"

namespace {

/// Adds to the filter those that are not in the share.
void keep_share() {
  std::string& filter = testing::GTEST_FLAG(filter);
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string left_out;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(t)->name();
      if (!reprise::test::in_share("TEST_SHARE", name)) left_out += ":" + name;
    }
  }
  if (left_out.empty()) return;
  if (filter.find('-') == std::string::npos) left_out[0] = '-';
  filter += left_out;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    keep_share();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  return RUN_ALL_TESTS();
}
