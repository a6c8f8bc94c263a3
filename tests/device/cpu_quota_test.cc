#include "device/cpu_quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace reprise::device {
namespace {

struct Groups : ::testing::Test {
  std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / ("cpu_quota_" + std::to_string(::getpid()));
  ~Groups() override { std::filesystem::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  int cores(const std::string& of) const {
    write("cgroup", of);
    return quota_cores((root / "cgroup").string(), (root / "mount").string());
  }
};

TEST_F(Groups, WithoutFilesThereIsNoBound) {
  EXPECT_EQ(quota_cores((root / "none").string(), (root / "mount").string()), 0);
  EXPECT_EQ(cores("0::/a/b\n"), 0);
  EXPECT_EQ(cores("nothing of the kind\n:\n::\n0::\n"), 0);
}

TEST_F(Groups, TheLeastOfAllAroundIsIt) {
  write("mount/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores("0::/a/b\n"), 0);
  write("mount/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores("0::/a/b\n"), 3);
  write("mount/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cores("0::/a/b\n"), 1);
  EXPECT_EQ(cores("0::/a\n"), 3);
  EXPECT_EQ(cores("0::/\n"), 0);
  write("mount/cpu.max", "400000 100000\n");  // of a container: its root, whatever the path says
  EXPECT_EQ(cores("0::/elsewhere/c\n"), 4);
}

TEST_F(Groups, FirstVersion) {
  write("mount/cpu/a/cpu.cfs_period_us", "100000\n");
  write("mount/cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cores("3:memory:/a\n4:cpu,cpuacct:/a\n"), 0);
  write("mount/cpu/a/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(cores("3:memory:/a\n4:cpu,cpuacct:/a\n"), 2);
  EXPECT_EQ(cores("4:cpuset:/a\n"), 0);
}

TEST_F(Groups, WhatIsNoSensibleNumberIsNoBound) {
  for (const char* text : {"", "x y", "0 100000", "100000 0", "-5 -5", "1e300 1", "nan 1", "100000"}) {
    write("mount/a/cpu.max", text);
    EXPECT_EQ(cores("0::/a\n"), 0) << text;
  }
}

}  // namespace
}  // namespace reprise::device
