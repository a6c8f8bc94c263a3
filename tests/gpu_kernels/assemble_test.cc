// Every kind of GPU kernel, in the forms that lowering asks for, is accepted by the assembler for each architecture
// and spills nothing.
#include <gtest/gtest.h>

#include "jit/gpu/kernels/compile.h"
#include "kernels/gpu/kernels.h"
#include "tests/gpu_loop/assembler.h"

namespace reprise::kernels::testing {
namespace {

void expect_assembles(const KernelCode& code, bool guarded = false) {
  if (test::ptxas().empty()) GTEST_SKIP() << "no ptxas here";
  const std::string& name = code.text();
  for (auto [arch, warpgroups] : {std::pair{"sm_75", false}, {"sm_80", false}, {"sm_90", false}, {"sm_90", true}}) {
    device::CodeTarget target;
    target.arch = arch, target.warpgroups = warpgroups;
    device::ImagePtr image = jit::compile_gpu(code, target, guarded);
    test::Assembled a = test::assemble(image->code, arch);
    ASSERT_TRUE(a.ok) << name << " " << arch << "\n" << a.log;
    EXPECT_EQ(a.spilled_bytes + a.stack_bytes, 0) << name << " " << arch << "\n" << a.log;
    // What it says where it lets each product of a warpgroup wait for the one before.
    EXPECT_EQ(a.log.find("serialized"), std::string::npos) << name << "\n" << a.log;
    EXPECT_LE(a.registers * static_cast<std::int64_t>(image->block.count()), 65536) << name << " " << arch;
    std::cout << name << " " << arch << ": " << a.registers << " registers, " << a.shared_bytes << " bytes shared\n";
  }
}

using gpu::Lines;
using gpu::Mask;

TEST(GpuAssemble, Products) {
  for (DType t :
       {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64, DType::Int64, DType::Int32, DType::Int8}) {
    expect_assembles(gpu::ProductTiles{t, Lines::Deep, Lines::Deep, 1, false});
    expect_assembles(gpu::ProductTiles{t, Lines::Wide, Lines::Wide, 2, true});
    expect_assembles(gpu::ProductDot{t, 0, true});
    expect_assembles(gpu::ProductSum{t, 0, true});
  }
  expect_assembles(gpu::ProductTiles{DType::Float32, Lines::Any, Lines::Any, 1, false});
  expect_assembles(gpu::ProductTiles{DType::BFloat16, Lines::Deep, Lines::Wide, 3, false});
  for (ProductTileSize tile : kProductTilesOfCores) {
    expect_assembles(gpu::ProductTiles{DType::BFloat16, Lines::Deep, Lines::Deep, 1, false, tile.rows, tile.columns});
    expect_assembles(gpu::ProductTiles{DType::Float16, Lines::Wide, Lines::Wide, 1, true, tile.rows, tile.columns});
    expect_assembles(gpu::ProductTiles{DType::BFloat16, Lines::Deep, Lines::Any, 2, true, tile.rows, tile.columns});
    expect_assembles(
        gpu::ProductTiles{DType::Float32, Lines::Deep, Lines::Deep, 1, false, tile.rows, tile.columns, true});
    expect_assembles(
        gpu::ProductTiles{DType::Float32, Lines::Wide, Lines::Wide, 1, true, tile.rows, tile.columns, true});
  }
  for (int m : {1, 3, 8}) {
    expect_assembles(gpu::ProductDot{DType::BFloat16, m, false});
    if (m > 1)
      for (DType t : {DType::BFloat16, DType::Float16}) expect_assembles(gpu::ProductStrip{t, m, m == 3});
    expect_assembles(gpu::ProductSum{DType::BFloat16, m, false});
  }
}

TEST(GpuAssemble, ScaledProducts) {
  using D = DType;
  for (auto [a, b, c] : {std::array<D, 3>{D::Int8, D::Int8, D::Int32},
                         {D::Int8, D::Int8, D::BFloat16},
                         {D::Float8E4M3FN, D::Float8E5M2, D::BFloat16},
                         {D::Float32, D::Int8, D::Float16}}) {
    const bool biased = c == D::BFloat16;
    expect_assembles(gpu::ScaledTiles{a, b, c, biased ? Lines::Any : Lines::Deep, biased ? Lines::Wide : Lines::Deep,
                                      biased, D::Float32, false});
    if (item_size(a) == 1)
      for (int size : {kProductTile, kScaledTileOfCores.rows}) {
        expect_assembles(gpu::ScaledTiles{a, b, c, Lines::Deep, Lines::Deep, biased, D::Float32, true, size, size});
        expect_assembles(gpu::ScaledTiles{a, b, c, Lines::Any, Lines::Wide, false, D::Float32, true, size, size});
      }
    expect_assembles(gpu::ScaledDot{a, b, c, biased ? 0 : 1, biased, D::BFloat16});
  }
}

TEST(GpuAssemble, Attention) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float16})
    for (int depth : {64, 128, 80, 20}) {
      expect_assembles(gpu::AttentionTiles{t, depth, depth, Mask::None, true});
      expect_assembles(gpu::AttentionPart{t, depth, depth, Mask::None, false, 4});
    }
  for (Mask mask : {Mask::Bool, Mask::Added}) {
    expect_assembles(gpu::AttentionTiles{DType::BFloat16, 256, 256, mask, false});
    expect_assembles(gpu::AttentionTiles{DType::Float32, 16, 9, mask, false});
    expect_assembles(gpu::AttentionTiles{DType::Float32, 128, 128, mask, false});
    expect_assembles(gpu::AttentionTiles{DType::BFloat16, 128, 128, mask, true});
    expect_assembles(gpu::AttentionTiles{DType::Float16, 40, 128, mask, false});
    for (int rows : {1, 2, 4}) {
      expect_assembles(gpu::AttentionPart{DType::BFloat16, 256, 256, mask, false, rows});
      expect_assembles(gpu::AttentionPart{DType::Float32, 7, 20, mask, true, rows});
    }
  }
}

TEST(GpuAssemble, Rows) {
  using Step = gpu::ArgReduce::Step;
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::UInt8, DType::Bool}) {
    for (Step step : {Step::Whole, Step::Chunks, Step::Join})
      if (t != DType::Bool) expect_assembles(gpu::ArgReduce{t, false, 1, 1, step});
    for (auto step : {gpu::Cumsum::Step::Whole, gpu::Cumsum::Step::Totals, gpu::Cumsum::Step::Rest})
      expect_assembles(gpu::Cumsum{t, is_floating(t) ? t : DType::Int64, 1, step});
    for (auto step : {gpu::Order::Step::Whole, gpu::Order::Step::Chunks, gpu::Order::Step::Join})
      expect_assembles(gpu::Order{t, true, 1, step});
  }
  for (Step step : {Step::Whole, Step::Chunks, Step::Join})
    expect_assembles(gpu::ArgReduce{DType::Float32, true, 2, 3, step});
  expect_assembles(gpu::Order{DType::Float32, false, 3, gpu::Order::Step::Whole});
}

TEST(GpuAssemble, Elements) {
  using Mode = gpu::Scatter::Mode;
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::UInt8}) {
    expect_assembles(gpu::CopyElements{t, 3});
    if (is_floating(t)) expect_assembles(gpu::Random{t, t != DType::Float64, 1});
    if (is_floating(t))
      expect_assembles(gpu::Draw{t}), expect_assembles(gpu::Arrivals{t}), expect_assembles(gpu::CheckWeights{t});
    for (Mode mode : {Mode::Set, Mode::Number, Mode::Add}) expect_assembles(gpu::Scatter{t, DType::Int64, mode, 2});
    for (bool add : {false, true}) expect_assembles(gpu::IndexPut{t, add, 1, 2});
  }
  expect_assembles(gpu::IndexOffsets{{DType::Int64, DType::Int32}, 2});
  expect_assembles(gpu::IndexLast{});
  for (DType t : {DType::Int8, DType::UInt8, DType::Int32, DType::Int64})
    for (int threads : {kCheckFewThreads, kCheckThreads}) expect_assembles(gpu::CheckIndex{t, true, 2, threads});
  expect_assembles(gpu::Scatter{DType::Float16, DType::Int64, Mode::Set, 2}, true);
  expect_assembles(gpu::ProductDot{DType::BFloat16, 1, false}, true);
}

}  // namespace
}  // namespace reprise::kernels::testing
