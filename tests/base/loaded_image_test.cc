#include "base/loaded_image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace reprise::test {
namespace {

TEST(LoadedImage, SaysWhatItIs) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "for the test below";
  std::printf("build %s\n", build_identity().c_str());
}

std::string identity_of(const std::filesystem::path& program) {
  FILE* p =
      popen(("REPRISE_TEST_PROBE=1 '" + program.string() + "' --gtest_filter=LoadedImage.SaysWhatItIs").c_str(), "r");
  std::string found;
  char line[512];
  while (p && std::fgets(line, sizeof line, p))
    if (std::string(line).starts_with("build ")) found = line;
  if (p) pclose(p);
  return found;
}

// So that kernels that were kept for one serve the other.
TEST(LoadedImage, ACopyIsTheSameBuild) {
  if (std::count(build_identity().begin(), build_identity().end(), ' ') > 1)
    GTEST_SKIP() << "the linker was not asked for a build id";
  namespace fs = std::filesystem;
  const fs::path self = fs::read_symlink("/proc/self/exe"),
                 copy = fs::temp_directory_path() / ("reprise_copy_" + std::to_string(getpid()));
  fs::copy_file(self, copy);
  fs::last_write_time(copy, fs::last_write_time(self) - std::chrono::hours(48));
  const std::string of_copy = identity_of(copy);
  fs::remove(copy);
  EXPECT_EQ(of_copy, identity_of(self));
  EXPECT_NE(of_copy, "");
}

}  // namespace
}  // namespace reprise::test
