// Every kind of GPU kernel, in the forms that lowering asks for, is accepted by the assembler for each architecture
// and spills nothing.
#include <gtest/gtest.h>

#include "jit/gpu/kernels/compile.h"
#include "kernels/gpu/kernels.h"
#include "tests/gpu_loop/assembler.h"

namespace reprise::kernels::testing {
namespace {

void expect_assembles(const MicroKernelSpec& spec, bool guarded = false) {
  if (test::ptxas().empty()) GTEST_SKIP() << "no ptxas here";
  std::string name = spec.kind;
  for (std::int64_t p : spec.params) name += " " + std::to_string(p);
  for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
    device::CodeTarget target;
    target.arch = arch;
    device::ImagePtr image = jit::compile_gpu(spec, target, guarded);
    test::Assembled a = test::assemble(image->code, arch);
    ASSERT_TRUE(a.ok) << name << " " << arch << "\n" << a.log;
    EXPECT_EQ(a.spilled_bytes + a.stack_bytes, 0) << name << " " << arch << "\n" << a.log;
    EXPECT_LE(a.registers * static_cast<std::int64_t>(image->block.count()), 65536) << name << " " << arch;
    std::cout << name << " " << arch << ": " << a.registers << " registers, " << a.shared_bytes << " bytes shared\n";
  }
}

std::int64_t n(DType t) { return static_cast<std::int64_t>(t); }

TEST(GpuAssemble, Products) {
  for (DType t :
       {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64, DType::Int64, DType::Int32, DType::Int8}) {
    expect_assembles({kGpuProduct, {n(t), 0, 0, 1, 0}});
    expect_assembles({kGpuProduct, {n(t), 1, 1, 2, 1}});
    expect_assembles({kGpuProductDot, {n(t), 0, 1}});
    expect_assembles({kGpuProductSum, {n(t), 0, 1}});
  }
  expect_assembles({kGpuProduct, {n(DType::Float32), 2, 2, 1, 0}});
  expect_assembles({kGpuProduct, {n(DType::BFloat16), 0, 1, 3, 0}});
  for (std::int64_t m : {1, 3, 8}) {
    expect_assembles({kGpuProductDot, {n(DType::BFloat16), m, 0}});
    expect_assembles({kGpuProductSum, {n(DType::BFloat16), m, 0}});
  }
}

TEST(GpuAssemble, Attention) {
  for (DType t : {DType::Float32, DType::BFloat16})
    for (std::int64_t depth : {64, 128, 80}) {
      expect_assembles({kGpuAttention, {n(t), depth, depth, 0, 1}});
      expect_assembles({kGpuAttentionPart, {n(t), depth, depth, 0, 0, 4}});
      expect_assembles({kGpuAttentionJoin, {n(t), depth}});
    }
  for (std::int64_t mask : {1, 2}) {
    expect_assembles({kGpuAttention, {n(DType::BFloat16), 256, 256, mask, 0}});
    expect_assembles({kGpuAttention, {n(DType::Float32), 16, 9, mask, 0}});
    expect_assembles({kGpuAttention, {n(DType::Float32), 128, 128, mask, 0}});
    for (std::int64_t rows : {1, 2, 4}) {
      expect_assembles({kGpuAttentionPart, {n(DType::BFloat16), 256, 256, mask, 0, rows}});
      expect_assembles({kGpuAttentionPart, {n(DType::Float32), 7, 20, mask, 1, rows}});
    }
  }
}

TEST(GpuAssemble, Rows) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::UInt8, DType::Bool}) {
    for (std::int64_t part : {0, 1, 2})
      if (t != DType::Bool) expect_assembles({kGpuArgReduce, {n(t), 0, 1, 1, part}});
    expect_assembles({kGpuCumsum, {n(t), n(is_floating(t) ? t : DType::Int64), 1}});
    expect_assembles({kGpuOrder, {n(t), 1, 1}});
  }
  for (std::int64_t part : {0, 1, 2}) expect_assembles({kGpuArgReduce, {n(DType::Float32), 1, 2, 3, part}});
  expect_assembles({kGpuOrder, {n(DType::Float32), 0, 3}});
}

TEST(GpuAssemble, Elements) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::UInt8}) {
    expect_assembles({kGpuCopy, {n(t), 3}});
    if (is_floating(t)) expect_assembles({kGpuRandom, {n(t), t == DType::Float64 ? 0 : 1, 1}});
    if (is_floating(t)) expect_assembles({kGpuDraw, {n(t)}}), expect_assembles({kGpuArrivals, {n(t)}}), expect_assembles({kGpuCheckWeights, {n(t)}});
    for (std::int64_t mode : {0, 1, 2}) expect_assembles({kGpuScatter, {n(t), n(DType::Int64), mode, 2}});
    for (std::int64_t add : {0, 1}) expect_assembles({kGpuIndexPut, {n(t), add, 1, 2}});
  }
  expect_assembles({kGpuIndexOffsets, {n(DType::Int64), n(DType::Int32), 2}});
  expect_assembles({kGpuIndexLast, {}});
  for (DType t : {DType::Int8, DType::UInt8, DType::Int32, DType::Int64})
    for (std::int64_t threads : {kCheckFewThreads, kCheckThreads}) expect_assembles({kGpuCheckIndex, {n(t), 1, 2, threads}});
  expect_assembles({kGpuScatter, {n(DType::Float16), n(DType::Int64), 0, 2}}, true);
  expect_assembles({kGpuProductDot, {n(DType::BFloat16), 1, 0}}, true);
}

}  // namespace
}  // namespace reprise::kernels::testing
