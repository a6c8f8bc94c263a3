// wgmma: how matrices lie in shared memory and sums in registers is told here element by element, as PTX tells it; and
// what the simulator says of products that are used wrongly.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

namespace sim_test {
namespace {

constexpr int kRows = 64, kColumns = 16, kDepth = 16, kSums = kColumns / 2;
constexpr std::size_t kOfB = 8192, kBytes = kOfB + 2048;

/// Where element (line, k) stands: eight lines of 128 bytes together, runs of 16 bytes exchanged by the line's number;
/// or, by k, eight of k.
std::size_t place(int line, int k, bool by_k) {
  const auto l = static_cast<std::size_t>(by_k ? k : line), x = static_cast<std::size_t>(by_k ? line : k);
  return l * 128 + ((x / 8) ^ (l % 8)) * 16 + x % 8 * 2;
}

struct Wrongly {
  bool no_wait = false, no_fence = false;
  int off = 0;  ///< bytes that the matrix of a begins too late
};

/// 128 threads copy kBytes from %p to shared memory, multiply, and store their sums to %q; sums begin at 1.
std::string wgmma_kernel(bool a_by_k, bool b_by_k, Wrongly w = {}) {
  std::string text, types, tied, ins = "l,l", outs, operands, body;
  for (int i = 0; i < kSums; ++i) {
    const std::string n = std::to_string(i);
    outs += "=f,", tied += "," + n, operands += (i ? ", $" : "$") + n, types += (i ? ", float" : "float");
  }
  const std::string result = "{" + types + "}", a = std::to_string(kSums), b = std::to_string(kSums + 1);
  text = "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {" + operands +
         "}, $" + a + ", $" + b + ", p, 1, 1, " + (a_by_k ? "1" : "0") + ", " + (b_by_k ? "1" : "0") + "; }";
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    body += "  %i" + n + " = add i32 %t, " + std::to_string(i * 128) + "\n  %g" + n +
            " = getelementptr <4 x i32>, ptr addrspace(1) %p, i32 %i" + n + "\n  %s" + n +
            " = getelementptr <4 x i32>, ptr addrspace(3) @tiles, i32 %i" + n + "\n  %v" + n +
            " = load <4 x i32>, ptr addrspace(1) %g" + n + ", align 16\n  store <4 x i32> %v" + n +
            ", ptr addrspace(3) %s" + n + ", align 16\n";
  }
  // Stride from eight lines (of k) to the next: 1024 bytes; the kind of swizzle: 1.
  const long long rest = 1ll << 16 | 64ll << 32 | 1ll << 62;
  body +=
      "  call void asm sideeffect \"fence.proxy.async.shared::cta;\", \"~{memory}\"()\n  call void "
      "@llvm.nvvm.barrier0()\n";
  body += "  %address = ptrtoint ptr addrspace(3) @tiles to i64\n  %low = and i64 %address, 262143\n";
  for (const auto& [name, offset] : {std::pair<std::string, int>{"a", w.off}, {"b", static_cast<int>(kOfB)}})
    body += "  %" + name + "0 = add i64 %low, " + std::to_string(offset) + "\n  %" + name + "1 = lshr i64 %" + name +
            "0, 4\n  %" + name + " = or i64 %" + name + "1, " + std::to_string(rest) + "\n";
  if (!w.no_fence) body += "  call void asm sideeffect \"wgmma.fence.sync.aligned;\", \"~{memory}\"()\n";
  std::string ones, all_types = "i64, i64, " + types;
  for (int i = 0; i < kSums; ++i) ones += ", float 1.0";
  body += "  %made = call " + result + " asm sideeffect \"" + text + "\", \"" + outs + ins + tied +
          ",~{memory}\"(i64 %a, i64 %b" + ones + ")\n";
  body += "  call void asm sideeffect \"wgmma.commit_group.sync.aligned;\", \"~{memory}\"()\n";
  std::string sums;
  for (int i = 0; i < kSums; ++i)
    body += "  %m" + std::to_string(i) + " = extractvalue " + result + " %made, " + std::to_string(i) + "\n",
        sums += (i ? ", float %m" : "float %m") + std::to_string(i);
  if (!w.no_wait)
    body += "  %there = call " + result + " asm sideeffect \"wgmma.wait_group.sync.aligned 0;\", \"" + outs +
            tied.substr(1) + ",~{memory}\"(" + sums + ")\n";
  body += "  %to = mul i32 %t, " + std::to_string(kSums) + "\n";
  for (int i = 0; i < kSums; ++i) {
    const std::string n = std::to_string(i);
    body += "  %r" + n + " = extractvalue " + result + (w.no_wait ? " %made, " : " %there, ") + n + "\n  %o" + n +
            " = add i32 %to, " + n + "\n  %q" + n + " = getelementptr float, ptr addrspace(1) %q, i32 %o" + n +
            "\n  store float %r" + n + ", ptr addrspace(1) %q" + n + ", align 4\n";
  }
  return kernel(body, "@tiles = internal addrspace(3) global [" + std::to_string(kBytes / 16) +
                          " x <4 x i32>] poison, align 1024\ndeclare void @llvm.nvvm.barrier0()\n");
}

std::vector<std::uint8_t> tiles_of(const std::vector<int>& a, const std::vector<int>& b, bool a_by_k, bool b_by_k) {
  std::vector<std::uint8_t> bytes(kBytes, 0);
  auto put = [&](std::size_t at, int value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
    bytes[at] = static_cast<std::uint8_t>(bits), bytes[at + 1] = static_cast<std::uint8_t>(bits >> 8);
  };
  for (int k = 0; k < kDepth; ++k) {
    for (int i = 0; i < kRows; ++i) put(place(i, k, a_by_k), a[static_cast<std::size_t>(i * kDepth + k)]);
    for (int j = 0; j < kColumns; ++j) put(kOfB + place(j, k, b_by_k), b[static_cast<std::size_t>(j * kDepth + k)]);
  }
  return bytes;
}

TEST_F(Sim, WarpgroupsMultiplySharedMemory) {
  std::mt19937 rng(3);
  std::vector<int> a(kRows * kDepth), b(kColumns * kDepth);
  for (auto* all : {&a, &b})
    for (int& x : *all) x = static_cast<int>(rng() % 200) - 100;
  for (bool a_by_k : {false, true})
    for (bool b_by_k : {false, true}) {
      CUfunction f = load("k", {8, 8, 8}, wgmma_kernel(a_by_k, b_by_k));
      const CUdeviceptr p = device(tiles_of(a, b, a_by_k, b_by_k)), q = device(128 * kSums * 4);
      for (EACH_ORDER) {
        USE_ORDER;
        OK(run(f, 1, 128, {p, q, 0}));
        const auto out = host<float>(q, 128 * kSums);
        for (int t = 0; t < 128; ++t)
          for (int n = 0; n < kSums; ++n) {
            const int row = t / 32 * 16 + t % 32 / 4 + (n % 4 < 2 ? 0 : 8), column = n / 4 * 8 + t % 4 * 2 + n % 2;
            int sum = 1;
            for (int k = 0; k < kDepth; ++k)
              sum += a[static_cast<std::size_t>(row * kDepth + k)] * b[static_cast<std::size_t>(column * kDepth + k)];
            ASSERT_EQ(out[static_cast<std::size_t>(t * kSums + n)], static_cast<float>(sum))
                << row << ", " << column << (a_by_k ? " a by k" : "") << (b_by_k ? " b by k" : "");
          }
      }
    }
}

TEST_F(Sim, SumsOfWarpgroupsAreThereForThoseWhoWait) {
  CUfunction f = load("k", {8, 8, 8}, wgmma_kernel(false, false, {.no_wait = true}));
  const CUdeviceptr p = device(std::vector<std::uint8_t>(kBytes, 0)), q = device(128 * kSums * 4);
  OK(run(f, 1, 128, {p, q, 0}));
  for (float x : host<float>(q, 128 * kSums)) EXPECT_TRUE(std::isnan(x));
}

TEST_F(Sim, ProductsOfWarpgroupsNeedAFence) {
  CUfunction f = load("k", {8, 8, 8}, wgmma_kernel(false, false, {.no_fence = true}));
  const CUdeviceptr p = device(std::vector<std::uint8_t>(kBytes, 0)), q = device(128 * kSums * 4);
  EXPECT_EQ(run(f, 1, 128, {p, q, 0}), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Sim, SwizzledMatricesBeginWhereThePatternDoes) {
  CUfunction f = load("k", {8, 8, 8}, wgmma_kernel(false, false, {.off = 128}));
  const CUdeviceptr p = device(std::vector<std::uint8_t>(kBytes, 0)), q = device(128 * kSums * 4);
  EXPECT_EQ(run(f, 1, 128, {p, q, 0}), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace sim_test
