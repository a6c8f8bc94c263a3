// Every PTX that loop kernels give is assembled by ptxas for each architecture, without spills.
#include <gtest/gtest.h>

#include "base/knobs.h"
#include "guards/shape_env.h"
#include "jit/gpu/loop/compile.h"
#include "tests/gpu_loop/assembler.h"
#include "tests/gpu_loop/kernels.h"
#include "tests/gpu_loop/random_loop.h"

namespace reprise {
namespace {

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
  void check(LoopKernel k, const std::string& what, bool indirect = false, bool narrow = true) {
    k.narrow = narrow;
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      device::CodeTarget target;
      target.arch = arch, target.indirect = indirect;
      const jit::GpuKernelPtr made = jit::compile_gpu(k, target);
      ASSERT_TRUE(made) << what;
      const test::Assembled a = test::assemble(made->image->code, arch);
      EXPECT_TRUE(a.ok) << what << " for " << arch << ": " << a.log << made->image->code;
      EXPECT_EQ(a.spilled_bytes, 0) << what << " for " << arch << ": " << a.registers << " registers";
      kernels_ += 1, most_ = std::max(most_, a.registers);
    }
  }
  Scoped<std::string> no_disk_{knobs().cache_dir, "off"};
  int kernels_ = 0, most_ = 0;
};

TEST_F(Assemble, EveryOperationOfEveryDtype) {
  bool indirect = false;
  for (const auto& [what, k] : operations()) check(k, what, indirect = !indirect);
}

TEST_F(Assemble, Float8IsReadAndWritten) {
  for (const DType from : {DType::Float8E4M3FN, DType::Float8E5M2, DType::Float32})
    for (const DType to : {DType::Float8E4M3FN, DType::Float8E5M2, DType::BFloat16}) {
      KernelBuilder b({64, 64}, 2);
      b.output(to, b.op(ScalarOp::Neg, DType::Float32, b.input(from, {64, 1})), {64, 1});
      check(b.k, std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
    }
}

// More than 4 KiB of arguments: what was written before PTX 8.1 may not have them.
TEST_F(Assemble, ManyArguments) {
  auto env = std::make_shared<guards::ShapeEnv>();
  auto size = [&] {
    const auto i = static_cast<std::uint32_t>(env->symbols().size());
    return env->new_symbol({i, "word " + std::to_string(i)}, 7, 0);
  };
  auto sum_of = [&](int inputs) {
    KernelBuilder b({size(), size(), size()}, 3);
    std::uint32_t sum = b.input(DType::Float32, {size(), size(), 1});
    for (int i = 1; i < inputs; ++i)
      sum = b.op(ScalarOp::Add, DType::Float32, sum, b.input(DType::Float32, {size(), size(), 1}));
    b.output(DType::Float32, sum, {size(), size(), 1});
    return b.k;
  };
  check(sum_of(180), "180 inputs");
  device::CodeTarget target;
  target.arch = "sm_90";
  EXPECT_EQ(jit::compile_gpu(sum_of(1400), target), nullptr);  // more than any kernel may have
}

TEST_F(Assemble, RandomLoops) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed)
    check(random_loop(seed), "seed " + std::to_string(seed), seed % 2, seed % 4 < 2);
}

struct GpuCode : ::testing::Test {
  Scoped<std::string> no_disk_{knobs().cache_dir, "off"};
};

TEST_F(GpuCode, WhatThereIsNoneForIsSaidBefore) {
  device::CodeTarget target;
  target.arch = "sm_90";
  for (const DType t : {DType::Float32, DType::Float64})
    for (int o = 0; o < static_cast<int>(kernels::scalar_ops().size()); ++o) {
      const ScalarOp op = static_cast<ScalarOp>(o);
      if (kernels::scalar_op_arity(op) != 1 || op == ScalarOp::BitNot || op == ScalarOp::Not) continue;
      const bool truth = op == ScalarOp::IsNan || op == ScalarOp::IsInf;
      KernelBuilder b({8}, 1);
      b.output(truth ? DType::Bool : t, b.op(op, truth ? DType::Bool : t, b.input(t, {1})), {1});
      const bool function = (kernels::is_function(op) && t == DType::Float64) ||
                            kernels::scalar_op(op).device == kernels::ScalarDevice::None;
      EXPECT_EQ(jit::compile_gpu(b.k, target) == nullptr, function) << kernels::scalar_op_name(op);
    }
}

TEST_F(GpuCode, OfUnknownArchitecturesIsRefused) {
  const LoopKernel k = reduction(ReduceOp::Sum, DType::Float32, true, 4, 4);
  for (const char* arch : {"sm_60", "gfx90a", "", "sm_"}) {
    device::CodeTarget target;
    target.arch = arch;
    EXPECT_THROW(jit::compile_gpu(k, target), Error) << arch;
  }
  device::CodeTarget newer, known;
  newer.arch = "sm_120", known.arch = "sm_90";
  // The same but for its name: kernels of one that is not known may have less shared memory.
  auto code = [&](const device::CodeTarget& t) {
    const device::ImagePtr image = jit::compile_gpu(k, t)->image;
    std::string text = image->code;
    for (std::size_t at; (at = text.find(image->entry)) != std::string::npos;)
      text.replace(at, image->entry.size(), "kernel");
    return text;
  };
  EXPECT_EQ(code(newer), code(known));
}

TEST_F(GpuCode, CarriesItsIrInLinesThatReadersTake) {
  const LoopKernel k = layer_norm(DType::Float32, true, 4, 4);
  device::CodeTarget target;
  target.arch = "sm_90", target.with_ir = true;
  const std::string code = jit::compile_gpu(k, target)->image->code;
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = code.find("// reprise-ir ", at)) != code.npos; ++at, ++lines)
    EXPECT_LE(code.find('\n', at) - at, 4000u);
  EXPECT_GT(lines, 1u);
}

TEST_F(Assemble, EveryCast) {
  for (const DType from : kLoopDTypes) {
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
    for (const DType t : kLoopDTypes)
      for (const ReduceOp o :
           {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All}) {
        if ((o == ReduceOp::Any || o == ReduceOp::All) != (t == DType::Bool)) continue;
        check(reduction(o, t, rows, 64, 512),
              std::string(dtype_name(t)) + (rows ? " rows " : " columns ") + std::to_string(static_cast<int>(o)));
      }
}

}  // namespace
}  // namespace reprise
