#include "tests/cuda_sim_test/kernels.h"

#include <cmath>
#include <numeric>

#include "tests/cuda_sim_test/support.h"

namespace sim_test {
namespace {

std::string with_barrier(std::string ir, const std::string& barrier) {
  for (std::size_t at; (at = ir.find("BARRIER")) != std::string::npos;) ir.replace(at, 7, barrier);
  return ir;
}

TEST_F(Sim, Pointwise) {
  const int n = 1000;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i) * 0.5f, b[i] = static_cast<float>(i % 7) - 3;
  CUfunction f = load("pointwise", {8, 8, 8, 8}, kPointwise);
  const CUdeviceptr da = device(a), db = device(b);
  IN_EVERY_ORDER({
    const CUdeviceptr out = device(n * sizeof(float));
    OK(run(f, 4, 256, {out, da, db, n}));
    const auto got = host<float>(out, n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], a[i] * std::exp2(b[i])) << i;
  })
}

TEST_F(Sim, BlockSum) {
  const int blocks = 5;
  std::vector<float> in(blocks * 256);
  std::iota(in.begin(), in.end(), 1.0f);
  CUfunction f = load("block_sum", {8, 8, 8}, with_barrier(kBlockSum, "call void @llvm.nvvm.barrier0()"));
  const CUdeviceptr d = device(in);
  IN_EVERY_ORDER({
    const CUdeviceptr out = device(blocks * sizeof(float));
    OK(run(f, blocks, 256, {out, d, in.size()}));
    const auto got = host<float>(out, blocks);
    for (int b = 0; b < blocks; ++b)
      EXPECT_EQ(got[b], std::accumulate(in.begin() + b * 256, in.begin() + (b + 1) * 256, 0.0f));
  })
}

}  // namespace
}  // namespace sim_test
