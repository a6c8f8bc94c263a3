// mma.sync and ldmatrix: what lanes hold is told here element by element, as PTX tells it.
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

struct Form {
  const char* name;
  const char* type;  ///< of a register of a and b in LLVM's signature
  const char* sum;   ///< of c's
  int depth, in_register;
};

/// Lane t loads 10 registers of %p, and stores 4 to %q.
std::string mma_kernel(const Form& f) {
  std::string body = "  %own = mul i32 %t, 10\n  %to = mul i32 %t, 4\n", arguments, types;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i), type = i < 6 ? f.type : f.sum;
    body += "  %i" + n + " = add i32 %own, " + n + "\n  %a" + n + " = getelementptr i32, ptr addrspace(1) %p, i32 %i" +
            n + "\n  %v" + n + " = load " + type + ", ptr addrspace(1) %a" + n + ", align 4\n";
    arguments += (i ? ", " : "") + type + " %v" + n;
    types += (i ? ", " : "") + type;
  }
  const std::string s = f.sum, result = "{" + s + ", " + s + ", " + s + ", " + s + "}";
  body += "  %r = call " + result + " @llvm.nvvm." + f.name + "(" + arguments + ")\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    body += "  %r" + n + " = extractvalue " + result + " %r, " + n + "\n  %o" + n + " = add i32 %to, " + n + "\n  %q" +
            n + " = getelementptr i32, ptr addrspace(1) %q, i32 %o" + n + "\n  store " + s + " %r" + n +
            ", ptr addrspace(1) %q" + n + ", align 4\n";
  }
  return kernel(body, "declare " + result + " @llvm.nvvm." + f.name + "(" + types + ")\n");
}

std::uint32_t bits_of(const Form& f, int value) {
  const std::uint32_t single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (f.in_register == 4) return static_cast<std::uint32_t>(value) & 0xff;
  if (f.in_register == 1) return single;
  if (std::string(f.type) == "i32") return single >> 16;
  if (value == 0) return 0;
  const int e = std::ilogb(std::abs(static_cast<float>(value)));
  return (value < 0 ? 0x8000u : 0u) | static_cast<std::uint32_t>(e + 15) << 10 |
         (static_cast<std::uint32_t>(std::abs(value)) << (10 - e) & 1023u);
}

TEST_F(Sim, TensorCoresMultiply) {
  for (const Form& f :
       {Form{"mma.m16n8k16.row.col.bf16", "i32", "float", 16, 2},
        Form{"mma.m16n8k16.row.col.f32.f32", "<2 x half>", "float", 16, 2},
        Form{"mma.m16n8k8.row.col.tf32", "i32", "float", 8, 1}, Form{"mma.m16n8k32.row.col.s8", "i32", "i32", 32, 4}}) {
    std::mt19937 rng(7);
    const int k = f.depth;
    auto draw = [&] { return static_cast<int>(rng() % 200) - 100; };
    std::vector<int> a(16 * static_cast<std::size_t>(k)), b(8 * static_cast<std::size_t>(k)), c(16 * 8);
    for (auto* all : {&a, &b, &c})
      for (int& x : *all) x = draw();
    std::vector<std::uint32_t> in(320, 0);
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane >> 2, in_group = lane % 4;
      auto put = [&](int reg, int i, int value) {
        in[static_cast<std::size_t>(lane * 10 + reg)] |= bits_of(f, value) << (32 / f.in_register * i) % 32;
      };
      for (int n = 0; n < 4 * f.in_register; ++n) {  // a_n
        const int reg = n / f.in_register, i = n % f.in_register;
        const int row = reg == 0 || reg == 2 ? group : group + 8;
        const int column = in_group * f.in_register + i + (reg < 2 ? 0 : k / 2);
        put(reg, i, a[static_cast<std::size_t>(row * k + column)]);
      }
      for (int n = 0; n < 2 * f.in_register; ++n) {  // b_n
        const int reg = n / f.in_register, i = n % f.in_register;
        const int row = in_group * f.in_register + i + (reg < 1 ? 0 : k / 2);
        put(4 + reg, i, b[static_cast<std::size_t>(row * 8 + group)]);
      }
      for (int n = 0; n < 4; ++n) {  // c_n
        const int value = c[static_cast<std::size_t>((n < 2 ? group : group + 8) * 8 + in_group * 2 + (n & 1))];
        in[static_cast<std::size_t>(lane * 10 + 6 + n)] = f.in_register == 4
                                                              ? static_cast<std::uint32_t>(value)
                                                              : std::bit_cast<std::uint32_t>(static_cast<float>(value));
      }
    }
    CUfunction run_it = load("k", {8, 8, 8}, mma_kernel(f));
    const CUdeviceptr p = device(in), q = device(128 * 4);
    for (EACH_ORDER) {
      USE_ORDER;
      OK(run(run_it, 1, 32, {p, q, 0}));
      const auto out = host<std::uint32_t>(q, 128);
      for (int lane = 0; lane < 32; ++lane)
        for (int n = 0; n < 4; ++n) {
          const int row = (n < 2 ? 0 : 8) + (lane >> 2), column = lane % 4 * 2 + (n & 1);
          int sum = c[static_cast<std::size_t>(row * 8 + column)];
          for (int i = 0; i < k; ++i)
            sum += a[static_cast<std::size_t>(row * k + i)] * b[static_cast<std::size_t>(i * 8 + column)];
          const std::uint32_t bits = out[static_cast<std::size_t>(lane * 4 + n)];
          EXPECT_EQ(f.in_register == 4 ? static_cast<int>(bits) : static_cast<int>(std::bit_cast<float>(bits)), sum)
              << f.name << " " << row << ", " << column;
        }
    }
  }
}

TEST_F(Sim, MatricesAreLoadedFromSharedMemory) {
  for (bool transposed : {false, true}) {
    const std::string name =
        std::string("@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2") + (transposed ? ".trans" : "") + ".b16";
    // Lanes from 16 on name no row: their address is none of the block's.
    CUfunction f = load("k", {8, 8, 8},
                        kernel(R"(
  %from = getelementptr <4 x i32>, ptr addrspace(1) %p, i32 %t
  %line = getelementptr <4 x i32>, ptr addrspace(3) @rows, i32 %t
  %v = load <4 x i32>, ptr addrspace(1) %from, align 16
  store <4 x i32> %v, ptr addrspace(3) %line, align 16
  call void @llvm.nvvm.barrier0()
  %few = icmp ult i32 %t, 16
  %row = select i1 %few, ptr addrspace(3) %line, ptr addrspace(3) null
  %r = call {i32, i32} )" + name + R"((ptr addrspace(3) %row)
  %x = extractvalue {i32, i32} %r, 0
  %y = extractvalue {i32, i32} %r, 1
  %at = getelementptr <2 x i32>, ptr addrspace(1) %q, i32 %t
  store i32 %x, ptr addrspace(1) %at, align 4
  %next = getelementptr i32, ptr addrspace(1) %at, i32 1
  store i32 %y, ptr addrspace(1) %next, align 4
)",
                               "@rows = internal addrspace(3) global [32 x <4 x i32>] poison, align 16\ndeclare void "
                               "@llvm.nvvm.barrier0()\ndeclare {i32, i32} " +
                                   name + "(ptr addrspace(3))\n"));
    std::vector<std::uint16_t> in(256);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);  // matrix, row, column
    const CUdeviceptr p = device(in), q = device(256);
    OK(run(f, 1, 32, {p, q, 0}));
    const auto out = host<std::uint16_t>(q, 128);
    for (int lane = 0; lane < 32; ++lane)
      for (int m = 0; m < 2; ++m)
        for (int e = 0; e < 2; ++e) {
          const int row = transposed ? lane % 4 * 2 + e : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + e;
          EXPECT_EQ(out[static_cast<std::size_t>(lane * 4 + m * 2 + e)], m * 64 + row * 8 + column)
              << lane << (transposed ? " transposed" : "");
        }
  }
}

TEST_F(Sim, TensorCoresAreAWholeWarps) {
  const Form f{"mma.m16n8k16.row.col.bf16", "i32", "float", 16, 2};
  CUfunction k = load("k", {8, 8, 8}, mma_kernel(f));
  const CUdeviceptr p = device(std::vector<std::uint32_t>(320, 0)), q = device(512);
  EXPECT_EQ(run(k, 1, 16, {p, q, 0}), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace sim_test
