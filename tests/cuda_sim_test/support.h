#pragma once
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda_sim/control.h"
#include "tests/cuda_sim_test/image.h"

/// The simulator, loaded as a program loads the driver, and kernels written as LLVM IR.
namespace sim_test {

/// An entry point by its exported name; the type comes from cuda.h or control.h.
template <class F>
F* entry(const char* name) {
  static void* const library = dlopen(REPRISE_CUDA_SIM, RTLD_NOW);
  void* p = library ? dlsym(library, name) : nullptr;
  if (!p) ADD_FAILURE() << name << ": " << dlerror();
  return reinterpret_cast<F*>(p);
}
#define SIM_STRING2(x) #x
#define SIM_STRING(x) SIM_STRING2(x)
#define CALL(name) (::sim_test::entry<decltype(::name)>(SIM_STRING(name)))
#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

std::string last_error();

/// A fresh state, a context, and what tests do again and again.
class Sim : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  /// Loads a kernel; a failure to load fails the test.
  CUfunction load(const std::string& entry, const std::vector<int>& params, const std::string& ir);
  CUdeviceptr device(std::size_t bytes);
  template <class T>
  CUdeviceptr device(const std::vector<T>& v) {
    const CUdeviceptr p = device(v.size() * sizeof(T));
    EXPECT_EQ(CALL(cuMemcpyHtoD)(p, v.data(), v.size() * sizeof(T)), CUDA_SUCCESS);
    return p;
  }
  template <class T>
  std::vector<T> host(CUdeviceptr p, std::size_t n) {
    std::vector<T> v(n);
    EXPECT_EQ(CALL(cuMemcpyDtoH)(v.data(), p, n * sizeof(T)), CUDA_SUCCESS);
    return v;
  }
  /// Launches with 8-byte arguments and waits; gives the result of waiting.
  CUresult run(CUfunction f, unsigned blocks, unsigned threads, std::vector<std::uint64_t> args, unsigned shared = 0);
  CUcontext context_ = nullptr;
  std::vector<CUmodule> modules_;
  std::vector<CUdeviceptr> memory_;
};

/// Sets the order of threads, for messages and for the simulator.
#define EACH_ORDER \
  const char* order : { "forward", "reverse", "random" }
#define USE_ORDER      \
  SCOPED_TRACE(order); \
  CALL(reprise_simulator_set_order)(order, 7)

}  // namespace sim_test
