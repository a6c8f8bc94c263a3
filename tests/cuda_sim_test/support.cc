#include "tests/cuda_sim_test/support.h"

namespace sim_test {

std::string last_error() { return CALL(reprise_simulator_last_error)(); }

void Sim::SetUp() {
  CALL(reprise_simulator_reset)();
  CALL(reprise_simulator_fail_none)();
  CALL(reprise_simulator_set_order)("forward", 1);
  ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
  CUdevice device = 0;
  ASSERT_EQ(CALL(cuDeviceGet)(&device, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context_, device), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
  CALL(reprise_simulator_reset_counters)();
}

void Sim::TearDown() {
  CALL(reprise_simulator_set_async)(0);
  CALL(reprise_simulator_reset)();
  CALL(reprise_simulator_fail_none)();
  CALL(reprise_simulator_set_checks)(1);
  CALL(reprise_simulator_set_memory)(std::uint64_t{2} << 30);
  for (CUmodule m : modules_) EXPECT_EQ(CALL(cuModuleUnload)(m), CUDA_SUCCESS);
  for (CUdeviceptr p : memory_) EXPECT_EQ(CALL(cuMemFree)(p), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease)(0), CUDA_SUCCESS);
}

CUfunction Sim::load(const std::string& entry, const std::vector<int>& params, const std::string& ir) {
  CUmodule m = nullptr;
  CUfunction f = nullptr;
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  EXPECT_EQ(CALL(cuModuleLoadDataEx)(&m, image(entry, params, ir).c_str(), 2, options, values), CUDA_SUCCESS) << log;
  if (!m) return nullptr;
  modules_.push_back(m);
  EXPECT_EQ(CALL(cuModuleGetFunction)(&f, m, entry.c_str()), CUDA_SUCCESS);
  return f;
}

CUdeviceptr Sim::device(std::size_t bytes) {
  CUdeviceptr p = 0;
  EXPECT_EQ(CALL(cuMemAlloc)(&p, bytes), CUDA_SUCCESS);
  memory_.push_back(p);
  return p;
}

CUresult Sim::run(CUfunction f, unsigned blocks, unsigned threads, std::vector<std::uint64_t> args, unsigned shared) {
  std::vector<void*> params;
  for (auto& a : args) params.push_back(&a);
  const CUresult r = CALL(cuLaunchKernel)(f, blocks, 1, 1, threads, 1, 1, shared, nullptr, params.data(), nullptr);
  if (r != CUDA_SUCCESS) return r;
  return CALL(cuCtxSynchronize)();
}

}  // namespace sim_test
