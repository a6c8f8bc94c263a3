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
  for (EACH_ORDER) {
    USE_ORDER;
    const CUdeviceptr out = device(n * sizeof(float));
    OK(run(f, 4, 256, {out, da, db, n}));
    const auto got = host<float>(out, n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(got[i], a[i] * std::exp2(b[i])) << i;
  }
}

TEST_F(Sim, BlockSum) {
  const int blocks = 5;
  std::vector<float> in(blocks * 256);
  std::iota(in.begin(), in.end(), 1.0f);
  CUfunction f = load("block_sum", {8, 8, 8}, with_barrier(kBlockSum, "call void @llvm.nvvm.barrier0()"));
  const CUdeviceptr d = device(in);
  for (EACH_ORDER) {
    USE_ORDER;
    const CUdeviceptr out = device(blocks * sizeof(float));
    OK(run(f, blocks, 256, {out, d, in.size()}));
    const auto got = host<float>(out, blocks);
    for (int b = 0; b < blocks; ++b)
      EXPECT_EQ(got[b], std::accumulate(in.begin() + b * 256, in.begin() + (b + 1) * 256, 0.0f));
  }
}

/// Counts its threads in out[block], but returns at once from blocks that WHEN says, behind a word in memory.
std::string counting(const std::string& when) {
  return kThreadRegisters + R"(
declare void @llvm.nvvm.barrier0()
define ptx_kernel void @count(ptr addrspace(1) %out, ptr addrspace(1) %word) {
  %blocks = load i32, ptr addrspace(1) %word, align 4
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %none = icmp uge i32 )" +
         when + R"(, %blocks
  br i1 %none, label %over, label %body
over:
  ret void
body:
  )" + (when == "%c" ? "call void @llvm.nvvm.barrier0()" : "") +
         R"(
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %c
  %n = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, align 4
  ret void
}
)";
}

TEST_F(Sim, BlocksThatReturnAtOnce) {
  const CUdeviceptr word = device(std::vector<std::uint32_t>{3});
  CUfunction by_block = load("count", {8, 8}, counting("%c")), by_thread = load("count", {8, 8}, counting("%t"));
  for (EACH_ORDER) {
    USE_ORDER;
    CUdeviceptr out = device(std::vector<std::uint32_t>(1000, 0));
    OK(run(by_block, 1000, 64, {out, word}));
    const auto some = host<std::uint32_t>(out, 1000);
    for (std::size_t b = 0; b < some.size(); ++b) ASSERT_EQ(some[b], b < 3 ? 64u : 0u) << b;
    out = device(std::vector<std::uint32_t>(4, 0));
    OK(run(by_thread, 4, 64, {out, word}));
    EXPECT_EQ(host<std::uint32_t>(out, 4), std::vector<std::uint32_t>(4, 3))
        << "threads that return are no reason for others";
  }
}

TEST_F(Sim, MissingBarrierIsFoundInSomeOrder) {
  std::vector<float> in(256, 1.0f);
  CUfunction f = load("block_sum", {8, 8, 8}, with_barrier(kBlockSum, ""));
  const CUdeviceptr d = device(in);
  int wrong = 0;
  for (EACH_ORDER) {
    USE_ORDER;
    const CUdeviceptr out = device(sizeof(float));
    if (run(f, 1, 256, {out, d, in.size()}) != CUDA_SUCCESS) {
      // A partial sum was read before its thread wrote it.
      EXPECT_NE(last_error().find("nobody wrote"), std::string::npos) << last_error();
      ++wrong;
      CALL(reprise_simulator_reset)();
    } else if (host<float>(out, 1)[0] != 256) {
      ++wrong;
    }
  }
  EXPECT_GT(wrong, 0);
}

TEST_F(Sim, Shuffles) {
  std::vector<float> in(64);
  std::iota(in.begin(), in.end(), 0.0f);
  CUfunction f = load("warp_sum", {8, 8, 8}, kWarpSum);
  const CUdeviceptr d = device(in);
  for (EACH_ORDER) {
    USE_ORDER;
    const CUdeviceptr out = device(2 * sizeof(float)), all = device(64 * sizeof(float));
    OK(run(f, 1, 64, {out, all, d}));
    EXPECT_EQ(host<float>(out, 2), (std::vector<float>{496, 1520}));
    const auto crossed = host<float>(all, 64);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(crossed[i], static_cast<float>(i ^ 5));
  }
}

TEST_F(Sim, ShufflesOfSegmentsAndEdges) {
  // Within segments of 8 lanes: up keeps a lane's own value at the edge, idx wraps to the segment.
  CUfunction f = load("k", {8, 8, 8},
                      kernel(R"(
  %up = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %t, i32 3, i32 6144)
  %idx = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 10, i32 6175)
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  store i32 %up, ptr addrspace(1) %pp, align 4
  %pq = getelementptr i32, ptr addrspace(1) %q, i32 %t
  store i32 %idx, ptr addrspace(1) %pq, align 4
)",
                             "declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)\ndeclare i32 "
                             "@llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"));
  const CUdeviceptr p = device(128), q = device(128);
  OK(run(f, 1, 32, {p, q, 0}));
  const auto up = host<int>(p, 32), idx = host<int>(q, 32);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i % 8 >= 3 ? i - 3 : i);
    EXPECT_EQ(idx[i], i / 8 * 8 + 2);
  }
}

TEST_F(Sim, VotesAndReductions) {
  CUfunction f = load("k", {8, 8, 8},
                      kernel(R"(
  %odd = trunc i32 %t to i1
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %odd)
  %all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %odd)
  %sum = call i32 @llvm.nvvm.redux.sync.add(i32 %t, i32 -1)
  %max = call i32 @llvm.nvvm.redux.sync.umax(i32 %t, i32 -1)
  %any32 = zext i1 %any to i32
  %all32 = zext i1 %all to i32
  %two = shl i32 %all32, 1
  %votes = or i32 %any32, %two
  %s1 = insertelement <4 x i32> undef, i32 %ballot, i32 0
  %s2 = insertelement <4 x i32> %s1, i32 %votes, i32 1
  %s3 = insertelement <4 x i32> %s2, i32 %sum, i32 2
  %s4 = insertelement <4 x i32> %s3, i32 %max, i32 3
  %pp = getelementptr <4 x i32>, ptr addrspace(1) %p, i32 %t
  store <4 x i32> %s4, ptr addrspace(1) %pp, align 16
)",
                             R"(
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare i32 @llvm.nvvm.redux.sync.umax(i32, i32)
)"));
  const CUdeviceptr p = device(16 * 32);
  for (EACH_ORDER) {
    USE_ORDER;
    OK(run(f, 1, 32, {p, 0, 0}));
    const auto got = host<std::uint32_t>(p, 128);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(got[4 * i], 0xaaaaaaaau);
      EXPECT_EQ(got[4 * i + 1], 1u);
      EXPECT_EQ(got[4 * i + 2], 496u);
      EXPECT_EQ(got[4 * i + 3], 31u);
    }
  }
}

TEST_F(Sim, Atomics) {
  CUfunction f = load("k", {8, 8, 8}, kernel(R"(
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic, align 4
  %x = sitofp i32 %t to float
  %fold = atomicrmw fadd ptr addrspace(1) %q, float %x monotonic, align 4
  %m = getelementptr i32, ptr addrspace(1) %p, i32 1
  %mold = atomicrmw max ptr addrspace(1) %m, i32 %t monotonic, align 4
  %c = getelementptr i32, ptr addrspace(1) %p, i32 2
  %pair = cmpxchg ptr addrspace(1) %c, i32 0, i32 7 monotonic monotonic
)"));
  const CUdeviceptr p = device(std::vector<int>{0, 0, 0}), q = device(std::vector<float>{0});
  OK(run(f, 4, 32, {p, q, 0}));
  EXPECT_EQ(host<int>(p, 3), (std::vector<int>{128, 127, 7}));
  EXPECT_EQ(host<float>(q, 1)[0], 127 * 64.0f);
}

TEST_F(Sim, DynamicSharedMemory) {
  const std::string ir =
      kernel(R"(
  %mine = getelementptr i32, ptr addrspace(3) @dynamic, i32 %tid
  store i32 %t, ptr addrspace(3) %mine, align 4
  call void @llvm.nvvm.barrier0()
  %last = sub i32 %ntid, 1
  %other = sub i32 %last, %tid
  %theirs = getelementptr i32, ptr addrspace(3) @dynamic, i32 %other
  %v = load i32, ptr addrspace(3) %theirs, align 4
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  store i32 %v, ptr addrspace(1) %pp, align 4
)",
             "declare void @llvm.nvvm.barrier0()\n@dynamic = external addrspace(3) global [0 x i32], align 16\n");
  CUfunction f = load("k", {8, 8, 8}, ir);
  const CUdeviceptr p = device(2 * 64 * 4);
  for (EACH_ORDER) {
    USE_ORDER;
    OK(run(f, 2, 64, {p, 0, 0}, 256));
    const auto got = host<int>(p, 128);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(got[i], i / 64 * 64 + 63 - i % 64);
  }
  // More than 48 KiB only for a function that asked for it.
  EXPECT_EQ(run(f, 1, 64, {p, 0, 0}, 60000), CUDA_ERROR_INVALID_VALUE);
  OK(CALL(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
  OK(run(f, 1, 64, {p, 0, 0}, 60000));
  EXPECT_EQ(CALL(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 240000),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Sim, ArithmeticAsTheDeviceDoesIt) {
  // Conversions saturate, NaN becomes 0, division by zero does not trap, bfloat16 rounds to nearest even.
  CUfunction f = load("k", {8, 8, 8},
                      kernel(R"(
  %px = getelementptr float, ptr addrspace(1) %q, i32 %t
  %x = load float, ptr addrspace(1) %px, align 4
  %i = fptosi float %x to i32
  %z = zext i32 %t to i64
  %zero = sub i64 %z, %z
  %d64 = sdiv i64 %n, %zero
  %d = trunc i64 %d64 to i32
  %h = fptrunc float %x to bfloat
  %hb = bitcast bfloat %h to i16
  %hw = zext i16 %hb to i32
  %ch = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %x, float 1.0)
  %cb = bitcast <2 x bfloat> %ch to i32
  %s1 = insertelement <4 x i32> undef, i32 %i, i32 0
  %s2 = insertelement <4 x i32> %s1, i32 %d, i32 1
  %s3 = insertelement <4 x i32> %s2, i32 %hw, i32 2
  %s4 = insertelement <4 x i32> %s3, i32 %cb, i32 3
  %pp = getelementptr <4 x i32>, ptr addrspace(1) %p, i32 %t
  store <4 x i32> %s4, ptr addrspace(1) %pp, align 16
)",
                             "declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)\n"));
  const CUdeviceptr q = device(std::vector<float>{3e9f, -3e9f, NAN, 1.00390625f, 1e-40f}), p = device(5 * 16);
  OK(run(f, 1, 5, {p, q, 5}));
  const auto got = host<std::uint32_t>(p, 20);
  EXPECT_EQ(got[0], 0x7fffffffu);
  EXPECT_EQ(got[4], 0x80000000u);
  EXPECT_EQ(got[8], 0u);
  EXPECT_EQ(got[12], 1u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(got[4 * i + 1], 0xffffffffu);
  EXPECT_EQ(got[8 + 2], 0x7fffu);
  EXPECT_EQ(got[12 + 2], 0x3f80u);  // halfway: to even
  EXPECT_EQ(got[16 + 2], 0x0001u);  // subnormal: kept
  EXPECT_EQ(got[12 + 3], 0x3f803f80u);
}

TEST_F(Sim, GlobalTables) {
  CUfunction f =
      load("k", {8, 8, 8},
           kernel(R"(
  %e = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %t
  %v = load i32, ptr addrspace(4) %e, align 4
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  store i32 %v, ptr addrspace(1) %pp, align 4
)",
                  "@table = internal addrspace(4) constant [4 x i32] [i32 2, i32 3, i32 5, i32 7], align 4\n"));
  const CUdeviceptr p = device(64);
  OK(run(f, 1, 4, {p, 0, 0}));
  EXPECT_EQ(host<int>(p, 4), (std::vector<int>{2, 3, 5, 7}));
  EXPECT_EQ(run(f, 1, 5, {p, 0, 0}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("variable table"), std::string::npos) << last_error();
}

TEST_F(Sim, ParametersOfOtherSizesAndPackedBuffers) {
  CUfunction f = load("mixed", {8, 4, 2, 8}, R"(
define ptx_kernel void @mixed(ptr addrspace(1) %p, i32 %a, i16 %b, i64 %c) {
  %aw = zext i32 %a to i64
  %bw = zext i16 %b to i64
  %s = add i64 %aw, %bw
  %r = add i64 %s, %c
  store i64 %r, ptr addrspace(1) %p, align 8
  ret void
}
)");
  const CUdeviceptr p = device(8);
  struct {
    CUdeviceptr p;
    std::uint32_t a;
    std::uint16_t b;
    std::uint64_t c;
  } args{p, 1000, 200, 30};
  std::size_t size = sizeof args;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(CALL(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(host<std::uint64_t>(p, 1)[0], 1230u);
}

TEST_F(Sim, WithoutChecks) {
  CALL(reprise_simulator_set_checks)(0);
  std::vector<float> in(256, 1.0f);
  CUfunction f = load("block_sum", {8, 8, 8}, with_barrier(kBlockSum, "call void @llvm.nvvm.barrier0()"));
  const CUdeviceptr d = device(in), out = device(4);
  OK(run(f, 1, 256, {out, d, 256}));
  OK(CALL(cuMemsetD32)(out, 0, 1));  // what kernels write is not seen as written
  OK(run(f, 1, 256, {out, d, 256}));
  EXPECT_EQ(host<float>(out, 1)[0], 256.0f);
}

TEST_F(Sim, UnknownCodeIsRefusedByName) {
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule m = nullptr;
  auto load_fails = [&](const std::string& body, const std::string& declarations, const char* word) {
    log[0] = 0;
    EXPECT_EQ(
        CALL(cuModuleLoadDataEx)(&m, image("k", {8, 8, 8}, kernel(body, declarations)).c_str(), 2, options, values),
        CUDA_ERROR_INVALID_PTX);
    EXPECT_NE(std::string(log).find(word), std::string::npos) << log;
  };
  load_fails("call void asm sideeffect \"tcgen05.wait::ld.sync.aligned;\", \"\"()", "",
             "tcgen05.wait::ld.sync.aligned");
  load_fails("%r = call i32 @llvm.nvvm.dp4a.unknown(i32 1)", "declare i32 @llvm.nvvm.dp4a.unknown(i32)\n",
             "dp4a.unknown");
  load_fails("call void @outside()", "declare void @outside()\n", "outside");
  EXPECT_EQ(CALL(cuModuleLoadData)(&m, "not ptx"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(CALL(cuModuleLoadData)(&m, ".version 7.8\n.target sm_120\n"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(CALL(cuModuleLoadData)(&m, ".version 12.0\n.target sm_90\n"), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(CALL(cuModuleLoadData)(&m, ".version 7.8\n.target sm_90\n.visible .entry k(.param .u64 a) { ret; }"),
            CUDA_ERROR_INVALID_PTX);
  // The parameters of the text and of the bitcode must agree.
  EXPECT_EQ(CALL(cuModuleLoadData)(&m, image("k", {8, 8}, kernel("")).c_str()), CUDA_ERROR_INVALID_PTX);
}

}  // namespace
}  // namespace sim_test
