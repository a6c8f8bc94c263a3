// Loop kernels run on the device (a GPU, or the simulator of the driver) against kernels::interpret, threads in several
// orders.
#include <gtest/gtest.h>

#include "tensor/layout.h"
#include "tests/gpu_loop/device_run.h"
#include "tests/gpu_loop/kernels.h"

namespace reprise {
namespace {

using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;
using namespace test;

struct GpuLoops : ::testing::Test {
  void SetUp() override {
    const std::string why = why_no_device();
    if (!why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (why_no_device().empty()) set_thread_order("forward", 0);
  }
  /// The same bits in every order, for every alignment and with indices of both widths, and within `tolerance` of the
  /// interpreter's.
  void check(const LoopKernel& k, const std::string& what, double tolerance, bool specials = false, double scale = 1) {
    const Arrays arrays = make_arrays(k, rng_, specials ? Values::Specials : Values::Plain);
    const Arrays expected = interpreted(k, arrays);
    set_thread_order("forward", 0);
    const Arrays first = run_on_device(k, arrays);
    EXPECT_EQ(difference(k, expected, first, tolerance, scale), "") << what << "\n" << kernels::print(k);
    set_thread_order("reverse", 0);
    EXPECT_EQ(difference(k, first, run_on_device(k, arrays, 1), 0, 1), "") << what << ", moved by an element";
    set_thread_order("random", rng_());
    LoopKernel narrow = k;
    narrow.narrow = !k.narrow;
    EXPECT_EQ(difference(k, first, run_on_device(narrow, arrays, 1), 0, 1), "")
        << what << ", other indices, in random order";
  }
  std::mt19937 rng_{20261121};
};

TEST_F(GpuLoops, OperationsOfEveryDtype) {
  for (const auto& [what, k] : operations()) check(k, what, 1e-6, true, 1e-30);
}

TEST_F(GpuLoops, ReductionsOfEveryLength) {
  for (const bool rows : {true, false})
    for (const DType t : {DType::Float32, DType::BFloat16, DType::Int8, DType::Int64, DType::Float64})
      for (const auto& [n, m] :
           {std::pair{3, 5}, {1, 33}, {37, 64}, {5, 100}, {2, 1111}, {300, 7}, {2, 9000}, {70, 0}, {0, 4}})
        check(reduction(ReduceOp::Sum, t, rows, n, m),
              std::string(dtype_name(t)) + " sum of " + std::to_string(n) + " x " + std::to_string(m), 1e-6, false,
              30.0 + m);
}

TEST_F(GpuLoops, EveryReduction) {
  for (const bool rows : {true, false})
    for (const DType t : kLoopDTypes)
      for (const ReduceOp o : {ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All}) {
        if ((o == ReduceOp::Any || o == ReduceOp::All) && t != DType::Bool) continue;
        if (o == ReduceOp::Prod && t == DType::Bool) continue;
        check(reduction(o, t, rows, 9, 80),
              std::string(dtype_name(t)) + " reduction " + std::to_string(static_cast<int>(o)), 1e-5,
              o == ReduceOp::Max || o == ReduceOp::Min, 1e-30);
      }
}

TEST_F(GpuLoops, NormalizationsInOneKernel) {
  for (const bool rows : {true, false})
    for (const DType t : {DType::Float32, DType::Float16, DType::BFloat16})
      for (const auto& [n, m] : {std::pair{3, 16}, {2, 1000}, {40, 12}, {33, 7}}) {
        check(softmax(t, rows, n, m), "softmax of " + std::string(dtype_name(t)), 3e-6, false, 1e-2);
        check(layer_norm(t, rows, n, m), "layer norm of " + std::string(dtype_name(t)), 3e-6);
      }
}

TEST_F(GpuLoops, DimsThatAreOneInMemory) {
  for (const Ints& e :
       {Ints{5, 6, 8}, Ints{3, 3}, Ints{4, 1, 9}, Ints{1, 7, 3}, Ints{12, 1}, Ints{3, 0, 4}, Ints{2, 3, 2, 10}})
    for (const DType t : {DType::Float32, DType::BFloat16}) {
      KernelBuilder b(e, static_cast<int>(e.size()));
      const Ints whole = contiguous_strides(e), none(e.size(), Int(0));
      Ints padded = whole;
      padded[0] = whole[0] + 4;
      const std::uint32_t x = b.input(t, whole), y = b.input(t, whole), z = b.input(DType::Float32, none);
      const std::uint32_t sum = b.op(ScalarOp::Fma, DType::Float32, x, y, z);
      KernelBuilder one = b, other = b;
      one.output(t, sum, whole);
      check(one.k, "all alike", 1e-6);
      other.output(t, sum, padded);
      check(other.k, "padded", 1e-6);
    }
}

TEST_F(GpuLoops, CastsOfEveryDtype) {
  for (const DType from : kLoopDTypes) {
    check(casts(from, {5, 16}, {16, 1}), "casts from " + std::string(dtype_name(from)), 1e-7, true, 1e-30);
    check(casts(from, {}, {}), "casts of a scalar from " + std::string(dtype_name(from)), 1e-7, true, 1e-30);
  }
}

}  // namespace
}  // namespace reprise
