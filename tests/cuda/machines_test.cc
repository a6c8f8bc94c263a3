// Machines that differ from the simulator's usual one, and folders of kernels that hold something else.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaMachine = Cuda;

TEST(Probe, Computes) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "for the tests below";
  std::printf("cuda is %s\n", why_unavailable("cuda").c_str());
  if (why_unavailable("cuda") != "available") return;
  const Device d = Device::cuda(0);
  auto f = compile([](Tensor x) { return softmax(x, -1).cumsum(0).sum(0); }, {.name = "probe", .mode = "no-fuse"});
  double total = 0;
  for (Int rows : {3, 700, 5}) total += f(ones({rows, 4}, {.device = d})).sum().item().to_double();
  std::printf("total %g, on the host %g\n", total, f(ones({3, 4})).sum().item().to_double());
  // What tensor cores serve has code for machines without.
  manual_seed(3);
  auto model = compile(
      [](Tensor x, Tensor w, Tensor few) {
        Tensor heads = linear(x, w).reshape({x.size(0), 2, 96}).transpose(0, 1);
        return std::pair{scaled_dot_product_attention(heads, heads, heads, {}, 0.0, true), linear(few, w)};
      },
      {.name = "halves"});
  const Tensor x = randn({70, 64}).to(kBFloat16), w = (randn({192, 64}) * 0.1).to(kBFloat16),
               few = randn({5, 64}).to(kBFloat16);
  const auto [a, b] = model(x.to(d), w.to(d), few.to(d));
  const auto [host_a, host_b] = model(x, w, few);
  auto agree = [](Tensor on_device, Tensor host) {
    return (on_device.cpu().to(kFloat32) - host.to(kFloat32)).abs().max().item().to_double() < 0.03;
  };
  std::printf("halves agree %d %d\n", agree(a, host_a), agree(b, host_b));
}

constexpr const char* kRight = "total 245371, on the host 6\nhalves agree 1 1\n";  // 6 + 245350 + 15

std::string computed(const std::string& environment) { return run_again(environment, "Probe.Computes"); }

TEST_F(CudaMachine, OtherGranularitiesAndArchitectures) {
  if (!Simulator::library()) GTEST_SKIP() << "a real machine is what it is";
  for (const char* environment :
       {"REPRISE_SIM_GRANULARITY=65536", "REPRISE_SIM_GRANULARITY=33554432", "REPRISE_SIM_ARCH=75",
        "REPRISE_SIM_ARCH=89", "REPRISE_SIM_ARCH=120", "REPRISE_SIM_LACKS=pools"}) {
    const std::string out = computed(environment);
    EXPECT_NE(out.find("cuda is available\n"), std::string::npos) << environment << ": " << out;
    EXPECT_NE(out.find(kRight), std::string::npos) << environment << ": " << out;
  }
}

// Note [Trial of warpgroups] in runtime/replay/warpgroup_trial.h.
TEST_F(CudaMachine, WarpsMultiplyWhereWarpgroupsDoSoOtherwise) {
  if (!Simulator::library()) GTEST_SKIP() << "a real machine is what it is";
  const std::string log =
      (std::filesystem::temp_directory_path() / ("reprise_trial_" + std::to_string(getpid()))).string();
  struct Case {
    const char *environment, *told;
  };
  for (const Case& c : {Case{"REPRISE_SIM_LACKS=swizzle", "\"agree\":false"},
                        {"", "\"agree\":true"},
                        {"REPRISE_CUDA_WARPGROUPS=off", ""}}) {
    const std::string out = computed("REPRISE_LOG_FILE='" + log + "' " + c.environment);
    EXPECT_NE(out.find(kRight), std::string::npos) << c.environment << ": " << out;
    std::ostringstream events;
    events << std::ifstream(log).rdbuf();
    std::filesystem::remove(log);
    EXPECT_EQ(events.str().find("\"agree\":") != std::string::npos, *c.told != 0) << c.environment;
    EXPECT_NE(events.str().find(c.told), std::string::npos) << c.environment;
    EXPECT_EQ(events.str().find("of a known product has") != std::string::npos,
              std::string(c.told).find("false") != std::string::npos)
        << c.environment;
  }
}

TEST_F(CudaMachine, WhatCannotBeUsedSaysWhy) {
  if (!Simulator::library()) GTEST_SKIP() << "a real machine is what it is";
  std::string out = computed("REPRISE_SIM_ARCH=70");
  EXPECT_NE(out.find("is of sm_70; sm_75 or newer is needed"), std::string::npos) << out;
  out = computed("REPRISE_SIM_LACKS=mapping");
  EXPECT_NE(out.find("does not map memory piece by piece"), std::string::npos) << out;
}

// Of the kernels here those of the host are kept in the folder: the simulator's images are not, and pass by the same
// door.
TEST_F(CudaMachine, AFolderOfForeignKernels) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("reprise_foreign_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  const std::string environment = "REPRISE_CACHE_DIR='" + folder.string() + "'";
  EXPECT_NE(computed(environment).find(kRight), std::string::npos);
  int files = 0;
  for (const auto& f : std::filesystem::recursive_directory_iterator(folder)) {
    if (!f.is_regular_file()) continue;
    std::ofstream(f.path(), std::ios::binary) << "\x7f"
                                                 "ELF"
                                              << std::string(2000, '\x33');  // a cubin, of whatever
    ++files;
  }
  std::ofstream(folder / "somebody's.cubin", std::ios::binary) << "\x7f"
                                                                  "ELF";
  EXPECT_GT(files, 0);
  EXPECT_NE(computed(environment).find(kRight), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace reprise::test
