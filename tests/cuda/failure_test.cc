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

TEST(Probe, SaysWhetherThereIsADevice) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "for the tests below";
  std::printf("cuda is %s\n", why_unavailable("cuda").c_str());
  Tensor x = ones({3}) + 1.0;
  std::printf("cpu gives %g\n", x.sum().item().to_double());
}

TEST(WithoutADriver, EveryReasonIsTold) {
  std::string none = run_again("REPRISE_CUDA_DRIVER=/nonexistent/libcuda.so.1", "Probe.SaysWhetherThereIsADevice");
  EXPECT_NE(none.find("cuda is no CUDA driver: /nonexistent/libcuda.so.1"), std::string::npos) << none;
  EXPECT_NE(none.find("cpu gives 6"), std::string::npos) << "work on the CPU goes on: " << none;
  std::string other = run_again("REPRISE_CUDA_DRIVER=libm.so.6", "Probe.SaysWhetherThereIsADevice");
  EXPECT_NE(other.find("has no cuInit"), std::string::npos) << other;
  const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (std::ifstream(stub)) {
    std::string s = run_again(std::string("REPRISE_CUDA_DRIVER=") + stub, "Probe.SaysWhetherThereIsADevice");
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
  auto f = compile(
      [](Tensor x) {
        x.mul_(3.0);
        return x + 1.0;
      },
      {.name = "failing"});
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

/// What `f` throws, or "nothing".
template <class F>
std::string thrown(F&& f) {
  try {
    f();
    return "nothing";
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
}

// An address that is nobody's: the kernel faults, and the context with it.
TEST(Probe, AKernelFaults) {
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "for the tests below";
  const Device d = Device::cuda(0);
  std::printf("first %s\n",
              thrown([&] {
                void* nobody = reinterpret_cast<void*>(0x7f0000000000);
                Tensor x = from_blob(nobody, {1 << 20}, kFloat32, {}, {}, d), good = ones({1000}, {.device = d});
                auto f = compile([](Tensor good, Tensor x) { return std::pair(good.cumsum(0), (x * 2.0).sum()); },
                                 {.name = "faulty"});
                f(good, x).second.item();
              }).c_str());
  std::printf("then %s\n", thrown([&] { ones({3}, {.device = d}).to_vector<float>(); }).c_str());
  std::printf("cpu gives %g\n", (ones({3}) + 1.0).sum().item().to_double());
}

TEST_F(CudaFailure, AFaultInAKernelIsToldOnceAndLaterCallsSaySo) {
  if (!Simulator::library()) GTEST_SKIP() << "the fault of a real device is seen as something else";
  const std::string said = run_again("", "Probe.AKernelFaults");
  EXPECT_NE(said.find("first DeviceFailed: "), std::string::npos) << said;
  EXPECT_NE(said.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << said;
  EXPECT_NE(said.find("REPRISE_CUDA_DEBUG=serial the kernel is named"), std::string::npos) << said;
  EXPECT_NE(said.find("then DeviceFailed: the device failed earlier"), std::string::npos) << said;
  EXPECT_NE(said.find("cpu gives 6"), std::string::npos) << "work on the CPU goes on: " << said;
}

TEST_F(CudaFailure, OneByOneAFaultNamesItsKernel) {
  if (!Simulator::library()) GTEST_SKIP() << "the fault of a real device is seen as something else";
  const std::string said = run_again("REPRISE_CUDA_DEBUG=serial", "Probe.AKernelFaults");
  const std::size_t at = said.find("first DeviceFailed: running kernel reprise_gpu_");
  ASSERT_NE(at, std::string::npos) << said;
  const std::string line = said.substr(at, said.find('\n', at) - at);
  for (const char* part : {" (node ", " of ", "grid ", "block ", "CUDA_ERROR_ILLEGAL_ADDRESS"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  EXPECT_EQ(line.find("cumsum"), std::string::npos) << "the other kernel ran well: " << line;
}

TEST_F(CudaFailure, OneByOneResultsAreTheSame) {
  auto body = [](Tensor x, Tensor w) { return softmax(linear(x, w), -1).cumsum(0); };
  const Tensor x = rand({12, 10}, {.device = d}), w = rand({11, 10}, {.device = d});
  const std::vector<float> want = compile(body, {.name = "graph"})(x, w).to_vector<float>();
  Scoped<std::string> serial(knobs().cuda_debug, "serial");
  auto f = compile(body, {.name = "serial"});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(f(x, w).to_vector<float>(), want);
  knobs().cuda_debug = "parallel";
  Error e = error_of([&] { compile(body, {.name = "wrong"})(x, w); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
  EXPECT_NE(e.message().find("\"parallel\" is not serial"), std::string::npos) << e.message();
}

TEST_F(CudaFailure, AGraphThatTheDriverDoesNotChangeIsMadeAnew) {
  if (!Simulator::library()) GTEST_SKIP() << "a real driver does not fail on request";
  auto f = compile([](Tensor x) { return (x + 1.0).cumsum(0) * 2.0; }, {.name = "refused"});
  Tensor a = ones({5}, {.device = d}), b = full({5}, 2.0, {.device = d});
  const std::vector<float> of_a{4, 8, 12, 16, 20}, of_b{6, 12, 18, 24, 30};
  EXPECT_EQ(f(a).to_vector<float>(), of_a);
  for (CUresult r : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, CUDA_ERROR_NOT_SUPPORTED}) {
    const auto made = Simulator::counters().instantiations;
    Simulator::fail_next("cuGraphExecKernelNodeSetParams", r);
    EXPECT_EQ(f(b).to_vector<float>(), of_b) << r;
    EXPECT_EQ(Simulator::counters().instantiations, made + 1) << r;
    EXPECT_EQ(f(a).to_vector<float>(), of_a) << r;
  }
}

// The driver of the parent is in the child's memory, and of no use there.
TEST_F(CudaFailure, AChildOfAForkIsTold) {
  EXPECT_EQ(ones({3}, {.device = d}).to_vector<float>(), std::vector<float>(3, 1));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = thrown([&] { ones({3}, {.device = d}).to_vector<float>(); }) + "; cpu gives " +
                             std::to_string((ones({3}) + 1.0).sum().item().to_double());
    [[maybe_unused]] auto n = write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[1024];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  EXPECT_NE(said.find("DeviceFailed: this process was forked from one that had used CUDA"), std::string::npos) << said;
  EXPECT_NE(said.find("cpu gives 6"), std::string::npos) << said;
  EXPECT_EQ(ones({3}, {.device = d}).to_vector<float>(), std::vector<float>(3, 1)) << "the parent goes on";
}

}  // namespace
}  // namespace reprise::test
