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
using test::KernelBuilder;

constexpr DType kAll[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8,
                          DType::UInt8,   DType::Int32,   DType::Int64,   DType::Bool};

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

LoopKernel casts(DType from, Ints extents, Ints strides) {
  KernelBuilder b(extents, static_cast<int>(extents.size()));
  const std::uint32_t x = b.input(from, strides);
  for (const DType to : kAll) b.output(to, b.cast(to, x), strides);
  return b.k;
}

TEST_F(Assemble, EveryCast) {
  for (const DType from : kAll) {
    check(casts(from, {64, 32}, {32, 1}), "casts from " + std::string(dtype_name(from)));
    check(casts(from, {64}, {Int(1)}), "casts of one dim from " + std::string(dtype_name(from)));
    check(casts(from, {}, {}), "casts of a scalar from " + std::string(dtype_name(from)));
  }
}

/// Softmax of rows or columns (reduced dim of stride 1, or kept dim).
LoopKernel softmax(DType t, bool rows) {
  KernelBuilder b({64, 512}, 1);
  const Ints strides = rows ? Ints{512, 1} : Ints{1, 64};
  const std::uint32_t x = b.input(t, strides);
  const std::uint32_t top = b.reduce(ReduceOp::Max, DType::Float32, x);
  const std::uint32_t e = b.op(ScalarOp::Exp, DType::Float32, b.op(ScalarOp::Sub, DType::Float32, x, top));
  const std::uint32_t sum = b.reduce(ReduceOp::Sum, DType::Float32, e);
  b.output(t, b.op(ScalarOp::Div, DType::Float32, e, sum), strides);
  return b.k;
}

/// (x - mean) * rsqrt(variance + eps) * weight + bias over two reduced dims, and the mean.
LoopKernel layer_norm(DType t, bool rows) {
  KernelBuilder b({64, 4, 128}, 1);
  const Ints strides = rows ? Ints{512, 128, 1} : Ints{1, 64, 256};
  const DType f = DType::Float32;
  auto number = [&](double v) {
    BodyNode n{BodyNode::Kind::Const, f};
    n.fimm = v;
    return b.add(n);
  };
  const std::uint32_t x = b.input(t, strides), w = b.input(t, {0, 128, 1}), bias = b.input(t, {0, 128, 1});
  const std::uint32_t inverse = number(1.0 / 512);
  const std::uint32_t mean = b.op(ScalarOp::Mul, f, b.reduce(ReduceOp::Sum, f, x), inverse);
  const std::uint32_t centred = b.op(ScalarOp::Sub, f, x, mean);
  const std::uint32_t square = b.op(ScalarOp::Mul, f, centred, centred);
  const std::uint32_t variance = b.op(ScalarOp::Mul, f, b.reduce(ReduceOp::Sum, f, square), inverse);
  const std::uint32_t scale = b.op(ScalarOp::Rsqrt, f, b.op(ScalarOp::Add, f, variance, number(1e-5)));
  b.output(t, b.op(ScalarOp::Fma, f, b.op(ScalarOp::Mul, f, centred, scale), w, bias), strides);
  b.output(f, mean, {1, 0, 0});
  return b.k;
}

TEST_F(Assemble, NormalizationsInOneKernel) {
  for (const DType t : {DType::Float32, DType::BFloat16, DType::Float16})
    for (const bool rows : {true, false}) {
      check(softmax(t, rows), "softmax of " + std::string(dtype_name(t)), rows);
      check(layer_norm(t, rows), "layer norm of " + std::string(dtype_name(t)), !rows);
    }
}

LoopKernel reduction(ReduceOp o, DType t, bool rows) {
  KernelBuilder b({64, 512}, 1);
  const DType r = is_low_precision(t) ? DType::Float32 : t;
  const std::uint32_t x = b.input(t, rows ? Ints{512, 1} : Ints{1, 64});
  b.output(r, b.reduce(o, r, x), {1, 0});
  return b.k;
}

TEST_F(Assemble, EveryReduction) {
  for (const bool rows : {true, false})
    for (const DType t : kAll)
      for (const ReduceOp o :
           {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All}) {
        if ((o == ReduceOp::Any || o == ReduceOp::All) != (t == DType::Bool)) continue;
        check(reduction(o, t, rows),
              std::string(dtype_name(t)) + (rows ? " rows " : " columns ") + std::to_string(static_cast<int>(o)));
      }
}

}  // namespace
}  // namespace reprise
