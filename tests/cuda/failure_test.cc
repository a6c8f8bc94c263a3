// What a user sees when the driver is not there, or fails. Failures that end the context run in a child process.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jit/gpu/loop/compile.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaFailure = Cuda;

/// What this program prints when it starts with another driver: `reprise`-like one-liner, by REPRISE_TEST_PROBE.
std::string availability_with(const std::string& driver) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string command = "REPRISE_TEST_PROBE=1 REPRISE_CUDA_DRIVER='" + driver + "' '" + self + "' --gtest_filter=Probe.* 2>/dev/null";
  std::string out;
  FILE* p = popen(command.c_str(), "r");
  char line[512];
  while (p && std::fgets(line, sizeof line, p)) out += line;
  if (p) pclose(p);
  return out;
}

TEST(Probe, SaysWhetherThereIsADevice) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "for the tests below";
  std::printf("cuda is %s\n", why_unavailable("cuda").c_str());
  Tensor x = ones({3}) + 1.0;
  std::printf("cpu gives %g\n", x.sum().item().to_double());
}

TEST(WithoutADriver, EveryReasonIsTold) {
  std::string none = availability_with("/nonexistent/libcuda.so.1");
  EXPECT_NE(none.find("cuda is no CUDA driver: /nonexistent/libcuda.so.1"), std::string::npos) << none;
  EXPECT_NE(none.find("cpu gives 6"), std::string::npos) << "work on the CPU goes on: " << none;
  std::string other = availability_with("libm.so.6");
  EXPECT_NE(other.find("has no cuInit"), std::string::npos) << other;
  const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (std::ifstream(stub)) {
    std::string s = availability_with(stub);
    EXPECT_NE(s.find("the toolkit's stub, not a driver"), std::string::npos) << s;
  }
}

TEST_F(CudaFailure, AKernelThatTheDriverRefuses) {
  auto image = std::make_shared<device::Image>();
  image->entry = "broken";
  image->code = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry broken() { this is no instruction; }\n";
  Error e = error_of([&] { backend().load(image); });
  EXPECT_EQ(e.code(), ErrorCode::DeviceFailed);
  EXPECT_NE(e.message().find("the driver refuses the code of kernel broken"), std::string::npos) << e.message();
  EXPECT_EQ((ones({3}, {.device = d}) + 1.0).to_vector<float>(), std::vector<float>(3, 2)) << "the device goes on";
}

TEST_F(CudaFailure, AStreamDestroyedWhileItIsCurrent) {
  auto stream = backend().new_stream();
  backend().set_current_stream(stream.get());
  stream = nullptr;
  Error e = error_of([&] { ones({3}, {.device = d}); });
  backend().set_current_stream(nullptr);
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
  EXPECT_NE(e.message().find("current stream was destroyed"), std::string::npos) << e.message();
  EXPECT_EQ(ones({3}, {.device = d}).to_vector<float>(), std::vector<float>(3, 1));
}

TEST_F(CudaFailure, CallsThatFailLeaveArgumentsAndTheDeviceAlone) {
  if (!Simulator::library()) GTEST_SKIP() << "a real driver does not fail on request";
  auto f = compile([](Tensor x) { x.mul_(3.0); return x + 1.0; }, {.name = "failing"});
  Tensor x = ones({4}, {.device = d});
  for (const char* entry : {"cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    Simulator::fail_next(entry, CUDA_ERROR_INVALID_VALUE);
    Error e = error_of([&] { f(x); });
    EXPECT_EQ(e.code(), ErrorCode::DeviceFailed) << entry;
    EXPECT_NE(e.message().find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << e.message();
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 1)) << entry;
  }
  f(x);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 3));
}

// An address that is nobody's: the kernel faults, and the context with it.
TEST_F(CudaFailure, AFaultInAKernelIsToldOnceAndLaterCallsSaySo) {
  if (!Simulator::library()) GTEST_SKIP() << "would end the context of the tests that follow";
  testing::internal::CaptureStdout();
  std::fflush(stdout);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string said;
    try {
      void* nobody = reinterpret_cast<void*>(0x7f0000000000);
      Tensor x = from_blob(nobody, {1 << 20}, kFloat32, {}, {}, d);
      auto f = compile([](Tensor t) { return t * 2.0; }, {.name = "faulty"});
      Tensor y = f(x);
      y.to_vector<float>();
      said = "nothing";
    } catch (const Error& e) {
      said = std::string(error_code_name(e.code())) + "|" + e.message();
    }
    try {
      ones({3}, {.device = d}).to_vector<float>();
      said += "|nothing";
    } catch (const Error& e) {
      said += "|" + e.message();
    }
    said += "|" + std::to_string((ones({3}) + 1.0).sum().item().to_double());
    [[maybe_unused]] auto n = write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[1024];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(said.find("DeviceFailed|"), 0u) << said;
  EXPECT_NE(said.find("CUDA_ERROR_"), std::string::npos) << said;
  EXPECT_NE(said.find("the device failed earlier"), std::string::npos) << said;
  EXPECT_NE(said.find("|6.0"), std::string::npos) << "work on the CPU goes on: " << said;
}

}  // namespace
}  // namespace reprise::test
