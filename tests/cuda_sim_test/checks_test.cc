#include <thread>

#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

/// Kernels with mistakes: each is found, named, and makes the context fail as a driver does.
namespace sim_test {
namespace {

const std::string kBarrier = "declare void @llvm.nvvm.barrier0()\n";

class Checks : public Sim {
 protected:
  void expect_error(CUresult got, CUresult wanted, std::initializer_list<const char*> words) {
    EXPECT_EQ(got, wanted);
    for (const char* w : words)
      EXPECT_NE(last_error().find(w), std::string::npos) << w << " is not in: " << last_error();
    // Every later call fails alike, until the state is reset (which a driver has no way to).
    std::size_t free_bytes = 0, total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo)(&free_bytes, &total), wanted);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), wanted);
    CALL(reprise_simulator_reset)();
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
  }
  /// q[t] = p[t]
  CUfunction copy_kernel() {
    return load("k", {8, 8, 8}, kernel(R"(
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %v = load i32, ptr addrspace(1) %pp, align 4
  %pq = getelementptr i32, ptr addrspace(1) %q, i32 %t
  store i32 %v, ptr addrspace(1) %pq, align 4
)"));
  }
};

TEST_F(Checks, ReadOutOfBounds) {
  const CUdeviceptr p = device(std::vector<int>(100)), q = device(1024);
  CUfunction f = copy_kernel();
  for (EACH_ORDER) {
    USE_ORDER;
    expect_error(run(f, 2, 64, {p, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
                 {"kernel k", "block (1,0,0)", "reads 4 bytes", "out of bounds", "400 bytes at", "cuMemAlloc",
                  "[%v = load i32"});
  }
}

TEST_F(Checks, WriteOutOfBounds) {
  const CUdeviceptr p = device(std::vector<int>(128)), q = device(400);
  expect_error(run(copy_kernel(), 1, 128, {p, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"thread (100,0,0)", "writes 4 bytes", "is 0 bytes after the end of allocation", "store i32"});
  // Partly outside.
  const CUdeviceptr odd = device(402);
  expect_error(run(copy_kernel(), 1, 128, {p, odd, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"2 bytes past the end"});
}

TEST_F(Checks, Misaligned) {
  const CUdeviceptr p = device(std::vector<int>(64)), q = device(256);
  CUfunction f = copy_kernel();
  expect_error(run(f, 1, 1, {p + 2, q, 0}), CUDA_ERROR_MISALIGNED_ADDRESS, {"misaligned", "multiple of 4"});
  CUfunction wide = load("k", {8, 8, 8}, kernel("%v = load <4 x float>, ptr addrspace(1) %p, align 16"));
  OK(run(wide, 1, 1, {p + 16, q, 0}));
  expect_error(run(wide, 1, 1, {p + 8, q, 0}), CUDA_ERROR_MISALIGNED_ADDRESS, {"reads 16 bytes", "multiple of 16"});
}

TEST_F(Checks, ReadsWhatNobodyWrote) {
  const CUdeviceptr fresh = device(256), q = device(256);
  CUfunction f = copy_kernel();
  expect_error(run(f, 1, 1, {fresh, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"nobody wrote 4 of them", "byte 0 of allocation"});
  OK(CALL(cuMemsetD8)(fresh, 0, 6));
  OK(run(f, 1, 1, {fresh, q, 0}));
  expect_error(run(f, 1, 2, {fresh, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"thread (1,0,0)", "nobody wrote 2 of them"});
  // A copy carries the knowledge with it, and the host gets a pattern for such bytes.
  const CUdeviceptr copied = device(256);
  OK(CALL(cuMemcpyDtoD)(copied, fresh, 8));
  expect_error(run(f, 1, 2, {copied, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"nobody wrote 2 of them"});
  EXPECT_EQ(host<std::uint32_t>(copied, 2), (std::vector<std::uint32_t>{0, 0xffff0000u}));
}

TEST_F(Checks, AllocatorsMayForgetAndBlock) {
  const CUdeviceptr p = device(std::vector<int>(64)), q = device(256);
  CUfunction f = copy_kernel();
  OK(run(f, 1, 64, {p, q, 0}));
  CALL(reprise_simulator_forget)(p + 128, 128);
  OK(run(f, 1, 32, {p, q, 0}));
  expect_error(run(f, 1, 64, {p, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"thread (32,0,0)", "nobody wrote"});
  CALL(reprise_simulator_block)(q, 128);
  expect_error(run(f, 1, 1, {p, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"writes 4 bytes", "given back to the allocator"});
  int word = 0;
  OK(CALL(cuMemcpyHtoD)(q + 128, &word, 4));
  expect_error(CALL(cuMemcpyDtoH)(&word, q + 124, 4), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"a copy: reads 4 bytes", "given back"});
  CALL(reprise_simulator_forget)(q, 128);
  OK(run(f, 1, 32, {p, q, 0}));
}

TEST_F(Checks, FreedMemory) {
  CUdeviceptr p = 0;
  const CUdeviceptr q = device(256);
  OK(CALL(cuMemAlloc)(&p, 64));
  OK(CALL(cuMemsetD8)(p, 0, 64));
  OK(CALL(cuMemFree)(p));
  EXPECT_EQ(CALL(cuMemFree)(p), CUDA_ERROR_INVALID_VALUE);
  expect_error(run(copy_kernel(), 1, 1, {p, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"byte 0 of freed allocation"});
}

TEST_F(Checks, PointersThatAreNone) {
  int on_host = 0;
  const CUdeviceptr q = device(256);
  CUfunction f = copy_kernel();
  expect_error(run(f, 1, 1, {reinterpret_cast<std::uint64_t>(&on_host), q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"host memory"});
  expect_error(run(f, 1, 1, {0, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"null pointer"});
}

// What is asked for in advance must be memory, in whole runs of 16 bytes; nobody need have written it.
TEST_F(Checks, PrefetchesOfBytes) {
  const CUdeviceptr p = device(256), q = device(256);
  CUfunction f =
      load("k", {8, 8, 8},
           kernel("  %bytes = trunc i64 %n to i32\n  call void asm sideeffect \"cp.async.bulk.prefetch.L2.global [$0], "
                  "$1;\", \"l,r,~{memory}\"(ptr addrspace(1) %p, i32 %bytes)\n"));
  OK(run(f, 1, 1, {p, q, 256}));
  OK(run(f, 1, 1, {p + 16, q, 0}));
  expect_error(run(f, 1, 1, {p + 16, q, 256}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"reads 256 bytes", "16 bytes past the end"});
  expect_error(run(f, 1, 1, {p + 8, q, 16}), CUDA_ERROR_MISALIGNED_ADDRESS, {"multiple of 16"});
  expect_error(run(f, 1, 1, {p, q, 24}), CUDA_ERROR_MISALIGNED_ADDRESS, {"the size needs a multiple of 16"});
  CUfunction line =
      load("k", {8, 8, 8},
           kernel("  call void asm sideeffect \"prefetch.global.L2 [$0];\", \"l,~{memory}\"(ptr addrspace(1) %p)\n"));
  OK(run(line, 1, 1, {p + 255, q, 0}));
  expect_error(run(line, 1, 1, {p + 256, q, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"reads 1 byte", "after the end of allocation"});
}

TEST_F(Checks, SharedMemory) {
  const std::string table = "@s = internal addrspace(3) global [32 x i32] undef, align 4\n" + kBarrier;
  CUfunction beyond = load("k", {8, 8, 8},
                           kernel(R"(
  %e = getelementptr i32, ptr addrspace(3) @s, i32 %t
  store i32 %t, ptr addrspace(3) %e, align 4
)",
                                  table));
  OK(run(beyond, 1, 32, {0, 0, 0}));
  expect_error(run(beyond, 1, 33, {0, 0, 0}), CUDA_ERROR_ILLEGAL_ADDRESS,
               {"thread (32,0,0)", "byte 128 of shared variable s of 128 bytes"});
  CUfunction unwritten = load("k", {8, 8, 8},
                              kernel(R"(
  %e = getelementptr i32, ptr addrspace(3) @s, i32 %t
  %v = load i32, ptr addrspace(3) %e, align 4
)",
                                     table));
  // What an earlier block left there does not count.
  OK(run(beyond, 1, 32, {0, 0, 0}));
  expect_error(run(unwritten, 1, 32, {0, 0, 0}), CUDA_ERROR_ILLEGAL_ADDRESS, {"nobody wrote 4 of them: shared memory"});
}

TEST_F(Checks, BarrierAfterSomeThreadsEnded) {
  CUfunction f = load("k", {8, 8, 8},
                      kernel(R"(
  %early = icmp sge i32 %tid, 40
  br i1 %early, label %end, label %wait
wait:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
)",
                             kBarrier));
  for (EACH_ORDER) {
    USE_ORDER;
    expect_error(run(f, 1, 64, {0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED,
                 {"divergent code", "40 threads", "24 have ended", "barrier 0"});
  }
  OK(run(f, 1, 40, {0, 0, 0}));
}

TEST_F(Checks, BarriersAtDifferentPlacesOfOneWarp) {
  CUfunction f = load("k", {8, 8, 8},
                      kernel(R"(
  %odd = trunc i32 %tid to i1
  br i1 %odd, label %one, label %other
one:
  call void @llvm.nvvm.barrier0()
  br label %end
other:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
)",
                             kBarrier));
  expect_error(run(f, 1, 64, {0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED, {"divergent code", "same warp"});
}

TEST_F(Checks, ShuffleInDivergentCode) {
  const std::string shuffle = "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n";
  CUfunction waits = load("k", {8, 8, 8},
                          kernel(R"(
  %low = icmp slt i32 %tid, 16
  br i1 %low, label %one, label %end
one:
  %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 16, i32 31)
  br label %end
end:
)",
                                 shuffle));
  // The others have ended: the lanes they would have been read from take no part.
  expect_error(run(waits, 1, 32, {0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED, {"shuffle", "takes no part"});
  CUfunction mask =
      load("k", {8, 8, 8},
           kernel("%v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %tid, i32 1, i32 31)", shuffle));
  OK(run(mask, 1, 16, {0, 0, 0}));
  expect_error(run(mask, 1, 32, {0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED, {"lane 16 is not in the mask 0xffff"});
}

TEST_F(Checks, TrapsAndShapes) {
  CUfunction f = load("k", {8, 8, 8}, kernel("call void @llvm.trap()", "declare void @llvm.trap()\n"));
  expect_error(run(f, 1, 1, {0, 0, 0}), CUDA_ERROR_LAUNCH_FAILED, {"executes a trap"});
  EXPECT_EQ(run(f, 0, 1, {0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(f, 1, 0, {0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(f, 1, 1025, {0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  CUfunction bounded =
      load("k", {8, 8, 8}, kernel("") + "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"maxntidx\", i32 64}\n");
  OK(run(bounded, 1, 64, {0, 0, 0}));
  EXPECT_EQ(run(bounded, 1, 128, {0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Checks, TheKernelThatUploadsCells) {
  // Written by hand as PTX (device/cuda/graph.cc): it carries no bitcode and is known by its name.
  CUmodule m = nullptr;
  CUfunction f = nullptr;
  OK(CALL(cuModuleLoadData)(&m, R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry reprise_upload_cells(.param .u64 block, .param .u64 first, .param .u64 count, .param .align 8 .b8 values[64])
{ ret; })"));
  modules_.push_back(m);
  OK(CALL(cuModuleGetFunction)(&f, m, "reprise_upload_cells"));
  const CUdeviceptr cells = device(64);
  std::uint64_t first = 2, count = 3, values[8] = {11, 12, 13, 14};
  CUdeviceptr block = cells;
  void* params[] = {&block, &first, &count, values};
  auto launch = [&] { return CALL(cuLaunchKernel)(f, 1, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr); };
  OK(launch());
  const std::uint64_t none = ~std::uint64_t{0};
  EXPECT_EQ(host<std::uint64_t>(cells, 8), (std::vector<std::uint64_t>{none, none, 11, 12, 13, none, none, none}));
  first = 6;
  OK(launch());
  expect_error(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS, {"reprise_upload_cells", "8 bytes past the end"});
}

TEST_F(Checks, DeviceMemoryIsNotTheHosts) {
  const CUdeviceptr p = device(64);
  EXPECT_DEATH({ *reinterpret_cast<volatile int*>(p) = 1; }, "");
}

TEST_F(Checks, AThreadWithoutContext) {
  std::thread([] {
    CUdeviceptr p = 0;
    EXPECT_EQ(CALL(cuMemAlloc)(&p, 64), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

}  // namespace
}  // namespace sim_test
