#include <cstring>

#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

/// Memory and the driver's bookkeeping.
namespace sim_test {
namespace {

class Memory : public Sim {
 protected:
  static constexpr std::size_t kPiece = std::size_t{2} << 20;
  const CUmemAllocationProp prop_ = [] {
    CUmemAllocationProp p{};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    return p;
  }();
  CUmemAccessDesc access(CUmemAccess_flags f) {
    CUmemAccessDesc d{};
    d.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    d.flags = f;
    return d;
  }
  std::size_t free_bytes() {
    std::size_t free_now = 0, total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo)(&free_now, &total), CUDA_SUCCESS);
    return free_now;
  }
  CUfunction add_one() {
    return load("k", {8, 8, 8}, kernel(R"(
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %v = load i32, ptr addrspace(1) %pp, align 4
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %pp, align 4
)"));
  }
};

TEST_F(Memory, Exhaustion) {
  CALL(reprise_simulator_set_memory)(1 << 20);
  const std::size_t before = free_bytes();
  CUdeviceptr a = 0, b = 0;
  OK(CALL(cuMemAlloc)(&a, 700000));
  EXPECT_EQ(free_bytes(), before - (700000 + 511) / 512 * 512);
  EXPECT_EQ(CALL(cuMemAlloc)(&b, 400000), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemAlloc)(&b, std::size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemAlloc)(&b, 0), CUDA_ERROR_INVALID_VALUE);
  // Not an error that stays.
  OK(CALL(cuMemFree)(a));
  OK(CALL(cuMemAlloc)(&b, 400000));
  OK(CALL(cuMemFree)(b));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(Memory, CopiesAndMemsets) {
  const CUdeviceptr p = device(64), q = device(64);
  OK(CALL(cuMemsetD32)(p, 0x01020304, 16));
  OK(CALL(cuMemsetD16)(p + 8, 0xabcd, 2));
  OK(CALL(cuMemsetD8)(p + 63, 9, 1));
  OK(CALL(cuMemcpyDtoD)(q, p, 64));
  auto got = host<std::uint32_t>(q, 16);
  EXPECT_EQ(got[0], 0x01020304u);
  EXPECT_EQ(got[2], 0xabcdabcdu);
  EXPECT_EQ(got[15], 0x09020304u);
  EXPECT_EQ(CALL(cuMemcpyDtoD)(q, p, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD8)(q + 60, 0, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD32)(q + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  reprise_simulator_counters c;
  CALL(reprise_simulator_get_counters)(&c);
  EXPECT_EQ(c.bytes_on_device, 64u);
  EXPECT_EQ(c.bytes_to_host, 64u);
}

TEST_F(Memory, PinnedMemoryIsSeenByBothSides) {
  void* h = nullptr;
  OK(CALL(cuMemHostAlloc)(&h, 4096, 0));
  int* words = static_cast<int*>(h);
  for (int i = 0; i < 32; ++i) words[i] = i;
  OK(run(add_one(), 1, 32, {reinterpret_cast<std::uint64_t>(h), 0, 0}));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(words[i], i + 1);
  unsigned type = 0;
  OK(CALL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(h)));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  OK(CALL(cuMemFreeHost)(h));
  EXPECT_EQ(CALL(cuMemFreeHost)(h), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, RangesAreBackedPieceByPiece) {
  std::size_t granularity = 0;
  OK(CALL(cuMemGetAllocationGranularity)(&granularity, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  ASSERT_EQ(granularity, kPiece);
  const std::size_t before = free_bytes();
  CUdeviceptr range = 0;
  OK(CALL(cuMemAddressReserve)(&range, std::size_t{64} << 30, 0, 0, 0));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(CALL(cuMemsetD8)(range, 0, 4), CUDA_ERROR_INVALID_VALUE);  // nothing is mapped
  CUmemGenericAllocationHandle piece[2];
  for (int i = 0; i < 2; ++i) {
    OK(CALL(cuMemCreate)(&piece[i], kPiece, &prop_, 0));
    OK(CALL(cuMemMap)(range + i * kPiece, kPiece, 0, piece[i], 0));
    OK(CALL(cuMemRelease)(piece[i]));  // the mapping keeps it
  }
  EXPECT_EQ(free_bytes(), before - 2 * kPiece);
  EXPECT_EQ(CALL(cuMemsetD8)(range, 0, 4), CUDA_ERROR_INVALID_VALUE);  // no access yet
  const auto rw = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  OK(CALL(cuMemSetAccess)(range, 2 * kPiece, &rw, 1));
  OK(CALL(cuMemsetD32)(range + kPiece - 64, 5, 32));  // across both pieces
  CUfunction f = add_one();
  OK(run(f, 1, 32, {range + kPiece - 64, 0, 0}));
  EXPECT_EQ(host<int>(range + kPiece - 64, 32), std::vector<int>(32, 6));
  // Beyond what is backed.
  EXPECT_EQ(run(f, 1, 1, {range + 2 * kPiece, 0, 0}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("no memory is mapped there"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
  EXPECT_EQ(CALL(cuMemAddressFree)(range, std::size_t{64} << 30), CUDA_ERROR_INVALID_VALUE);  // still mapped
  EXPECT_EQ(CALL(cuMemUnmap)(range, kPiece / 2), CUDA_ERROR_INVALID_VALUE);
  OK(CALL(cuMemUnmap)(range, 2 * kPiece));
  EXPECT_EQ(free_bytes(), before);
  OK(CALL(cuMemAddressFree)(range, std::size_t{64} << 30));
  EXPECT_EQ(CALL(cuMemCreate)(&piece[0], kPiece + 1, &prop_, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, UnmappingWaitsForNothing) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle piece = 0;
  OK(CALL(cuMemAddressReserve)(&range, kPiece, 0, 0, 0));
  OK(CALL(cuMemCreate)(&piece, kPiece, &prop_, 0));
  OK(CALL(cuMemMap)(range, kPiece, 0, piece, 0));
  const auto rw = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  OK(CALL(cuMemSetAccess)(range, kPiece, &rw, 1));
  CUfunction f = add_one();
  CALL(reprise_simulator_set_async)(1);
  OK(CALL(cuMemsetD32)(range, 5, 32));
  std::uint64_t args[] = {range, 0, 0};
  void* params[] = {&args[0], &args[1], &args[2]};
  OK(CALL(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  OK(CALL(cuMemUnmap)(range, kPiece));
  EXPECT_NE(last_error().find("cuMemUnmap of 2097152 bytes at"), std::string::npos) << last_error();
  EXPECT_NE(last_error().find("before the end of"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
  CALL(reprise_simulator_set_async)(0);
  CALL(reprise_simulator_reset)();
  OK(CALL(cuMemRelease)(piece));
  OK(CALL(cuMemAddressFree)(range, kPiece));
}

TEST_F(Memory, OnePieceMappedTwice) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle piece;
  OK(CALL(cuMemAddressReserve)(&range, 2 * kPiece, 0, 0, 0));
  OK(CALL(cuMemCreate)(&piece, kPiece, &prop_, 0));
  OK(CALL(cuMemMap)(range, kPiece, 0, piece, 0));
  EXPECT_EQ(CALL(cuMemMap)(range, kPiece, 0, piece, 0), CUDA_ERROR_INVALID_VALUE);
  OK(CALL(cuMemMap)(range + kPiece, kPiece, 0, piece, 0));
  const auto rw = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), none = access(CU_MEM_ACCESS_FLAGS_PROT_NONE);
  OK(CALL(cuMemSetAccess)(range, 2 * kPiece, &rw, 1));
  OK(CALL(cuMemsetD32)(range, 41, 4));
  EXPECT_EQ(host<int>(range + kPiece, 4), std::vector<int>(4, 41));  // bytes, and that they were written
  OK(CALL(cuMemSetAccess)(range + kPiece, kPiece, &none, 1));
  EXPECT_EQ(run(add_one(), 1, 1, {range + kPiece, 0, 0}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("cuMemSetAccess"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
  OK(CALL(cuMemUnmap)(range, 2 * kPiece));
  OK(CALL(cuMemAddressFree)(range, 2 * kPiece));
  OK(CALL(cuMemRelease)(piece));
  EXPECT_EQ(CALL(cuMemRelease)(piece), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Memory, StreamOrderedAllocation) {
  CUdeviceptr p = 0;
  OK(CALL(cuMemAllocAsync)(&p, 128, nullptr));
  OK(CALL(cuMemsetD32Async)(p, 1, 32, nullptr));
  CUmemoryPool pool = nullptr;
  OK(CALL(cuDeviceGetDefaultMemPool)(&pool, 0));
  std::uint64_t used = 0, keep = ~std::uint64_t{0};
  OK(CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  OK(CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 128u);
  OK(CALL(cuMemFreeAsync)(p, nullptr));
  EXPECT_EQ(CALL(cuMemFreeAsync)(p, nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
}

TEST_F(Memory, InjectedFailures) {
  CUdeviceptr p = 0;
  CALL(reprise_simulator_fail_next)("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemAlloc)(&p, 64), CUDA_ERROR_OUT_OF_MEMORY);
  OK(CALL(cuMemAlloc)(&p, 64));
  CALL(reprise_simulator_fail_after)("cuMemFree_v2", 1, CUDA_ERROR_ECC_UNCORRECTABLE);
  OK(CALL(cuMemFree)(0));
  EXPECT_EQ(CALL(cuMemFree)(p), CUDA_ERROR_ECC_UNCORRECTABLE);
  OK(CALL(cuMemFree)(p));
  EXPECT_EQ(CALL(reprise_simulator_calls)("cuMemFree"), 3u);
  const char* name = nullptr;
  OK(CALL(cuGetErrorName)(CUDA_ERROR_ECC_UNCORRECTABLE, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_ECC_UNCORRECTABLE");
}

TEST_F(Memory, EntryPointsByName) {
  void* f = nullptr;
  CUdriverProcAddressQueryResult status;
  OK(CALL(cuGetProcAddress)("cuMemAlloc", &f, 12030, 0, &status));
  EXPECT_EQ(f, reinterpret_cast<void*>(CALL(cuMemAlloc)));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  OK(CALL(cuGetProcAddress)("cuNoSuchThing", &f, 12030, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(f, nullptr);
}

}  // namespace
}  // namespace sim_test
