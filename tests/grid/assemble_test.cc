// Every PTX that loop kernels give is assembled by ptxas for each architecture, without spills.
#include <gtest/gtest.h>

#include "jit/grid.h"
#include "tests/grid/assembler.h"
#include "tests/grid/kernels.h"

namespace reprise {
namespace {

using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;
using namespace test;

struct Assemble : ::testing::Test {
  void SetUp() override {
    if (test::ptxas().empty()) GTEST_SKIP() << "ptxas is not in $CUDA_HOME/bin, $PATH or /usr/local/cuda/bin";
  }
  void TearDown() override {
    RecordProperty("kernels", kernels_);
    RecordProperty("most_registers", most_);
  }
  /// Appends what is wrong, so that a test can put several kernels into one name.
  void check(const LoopKernel& k, const std::string& what, bool indirect = false) {
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      device::CodeTarget target;
      target.arch = arch, target.indirect = indirect;
      const jit::GridKernelPtr made = jit::compile_grid(k, target);
      ASSERT_TRUE(made) << what;
      const test::Assembled a = test::assemble(made->image->code, arch);
      EXPECT_TRUE(a.ok) << what << " for " << arch << ": " << a.log << made->image->code;
      EXPECT_EQ(a.spilled_bytes, 0) << what << " for " << arch << ": " << a.registers << " registers";
      kernels_ += 1, most_ = std::max(most_, a.registers);
    }
  }
  int kernels_ = 0, most_ = 0;
};

TEST_F(Assemble, EveryOperationOfEveryDtype) {
  for (const DType t :
       {DType::Float32, DType::Float64, DType::Int8, DType::UInt8, DType::Int32, DType::Int64, DType::Bool}) {
    int stored = 0;
    for (int o = 0; o <= static_cast<int>(ScalarOp::Fma); ++o) {
      const ScalarOp op = static_cast<ScalarOp>(o);
      KernelBuilder one({64, 32}, 2);
      const int arity = kernels::scalar_op_arity(op);
      std::uint32_t in[3] = {~0u, ~0u, ~0u};
      for (int j = 0; j < arity; ++j) in[j] = one.input(op == ScalarOp::Where && j == 0 ? DType::Bool : t, {32, 1});
      for (const DType result : {t, DType::Bool}) {
        KernelBuilder attempt = one;
        const std::uint32_t v = attempt.op(op, result, in[0], in[1], in[2]);
        attempt.output(result, v, {32, 1});
        try {
          kernels::verify(attempt.k);
        } catch (const Error&) {
          continue;
        }
        device::CodeTarget target;
        target.arch = "sm_80";
        const bool has_code = jit::compile_grid(attempt.k, target) != nullptr;
        if (!has_code) {
          EXPECT_TRUE(op == ScalarOp::Lgamma || t == DType::Float64) << kernels::scalar_op_name(op);
          continue;
        }
        check(attempt.k, std::string(kernels::scalar_op_name(op)) + " of " + std::string(dtype_name(t)), o % 2 == 1);
        ++stored;
        break;
      }
    }
    EXPECT_GT(stored, 10);
  }
}

TEST_F(Assemble, EveryCast) {
  for (const DType from : kAllDTypes) {
    check(casts(from, {64, 32}, {32, 1}), "casts from " + std::string(dtype_name(from)));
    check(casts(from, {64}, {Int(1)}), "casts of one dim from " + std::string(dtype_name(from)));
    check(casts(from, {}, {}), "casts of a scalar from " + std::string(dtype_name(from)));
  }
}

TEST_F(Assemble, NormalizationsInOneKernel) {
  for (const DType t : {DType::Float32, DType::BFloat16, DType::Float16})
    for (const bool rows : {true, false}) {
      check(softmax(t, rows, 64, 512), "softmax of " + std::string(dtype_name(t)), rows);
      check(layer_norm(t, rows, 64, 128), "layer norm of " + std::string(dtype_name(t)), !rows);
    }
}

TEST_F(Assemble, EveryReduction) {
  for (const bool rows : {true, false})
    for (const DType t : kAllDTypes)
      for (const ReduceOp o :
           {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All}) {
        if ((o == ReduceOp::Any || o == ReduceOp::All) != (t == DType::Bool)) continue;
        check(reduction(o, t, rows, 64, 512),
              std::string(dtype_name(t)) + (rows ? " rows " : " columns ") + std::to_string(static_cast<int>(o)));
      }
}

}  // namespace
}  // namespace reprise
