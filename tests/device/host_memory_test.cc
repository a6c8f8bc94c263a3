#include "device/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "base/knobs.h"
#include "device/device_memory.h"
#include "device/host_accounts.h"
#include "tests/support/sanitized.h"

namespace reprise::device {
namespace {

using test::kSanitized;

ErrorCode code_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::Internal;  // did not throw
}

TEST(HostMemory, BlocksAreAlignedDisjointAndWholeAtEverySize) {
  struct Taken {
    char* p;
    std::int64_t n;
  };
  std::vector<Taken> taken;
  std::vector<std::int64_t> sizes;
  for (std::int64_t base = 1; base <= (8 << 20); base *= 2)
    for (std::int64_t n : {base - 1, base, base + 1, base + base / 8, base + base / 3}) sizes.push_back(n);
  for (std::int64_t n : sizes) {
    char* p = static_cast<char*>(host_allocate(n));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u) << n;
    std::memset(p, static_cast<int>(taken.size()), static_cast<std::size_t>(n));
    taken.push_back({p, n});
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    for (std::int64_t b : {std::int64_t{0}, taken[i].n / 2, taken[i].n - 1}) {
      if (b < 0 || b >= taken[i].n) continue;
      EXPECT_EQ(static_cast<unsigned char>(taken[i].p[b]), i & 255) << taken[i].n;
    }
    host_free(taken[i].p, taken[i].n);
  }
}

TEST(HostMemory, FreedBlocksServeTheNextRequestWithoutTheSystem) {
  host_trim();
  for (std::int64_t n : {1, 100, 5000, 300'000, 5'000'000}) {
    void* p = host_allocate(n);
    host_free(p, n);
    HostMemoryStats before = host_memory_stats();
    for (int i = 0; i < 10; ++i) {
      void* q = host_allocate(n);
      EXPECT_EQ(q, p);
      host_free(q, n);
    }
    HostMemoryStats after = host_memory_stats();
    EXPECT_EQ(after.system_allocations, before.system_allocations) << n;
    EXPECT_EQ(after.allocations - before.allocations, 10) << n;
  }
}

TEST(HostMemory, StatisticsAddUp) {
  host_trim();
  HostMemoryStats s0 = host_memory_stats();
  void* p = host_allocate(1 << 20);
  HostMemoryStats s1 = host_memory_stats();
  EXPECT_GE(s1.live_bytes - s0.live_bytes, 1 << 20);
  EXPECT_LE(s1.live_bytes - s0.live_bytes, (1 << 20) + (1 << 18));
  host_free(p, 1 << 20);
  HostMemoryStats s2 = host_memory_stats();
  EXPECT_EQ(s2.live_bytes, s0.live_bytes);
  EXPECT_EQ(s2.cached_bytes - s0.cached_bytes, s1.live_bytes - s0.live_bytes);
  EXPECT_GE(s2.peak_bytes, s1.live_bytes);
  host_trim();
  EXPECT_EQ(host_memory_stats().cached_bytes, s0.cached_bytes);
}

TEST(HostMemory, LimitThrowsSayingWhoHoldsWhatAndTrimsFirst) {
  host_trim();
  std::int64_t live = host_memory_stats().live_bytes;
  void* big = host_allocate(4 << 20);
  set_host_memory_limit(live + (10 << 20));
  std::string text;
  try {
    host_allocate(8 << 20);
    ADD_FAILURE() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::OutOfMemory);
    text = e.what();
  }
  EXPECT_NE(text.find("8.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("live in tensors"), std::string::npos) << text;
  EXPECT_NE(text.find("limit"), std::string::npos) << text;
  host_free(big, 4 << 20);  // now cached: the next request must give it back first
  void* p = host_allocate(8 << 20);
  host_free(p, 8 << 20);
  set_host_memory_limit(0);
  host_trim();
  EXPECT_EQ(host_memory_stats().live_bytes, live);
}

TEST(HostMemory, WhatIsCachedIsBoundedByWhatIsInUse) {
  host_trim();
  const HostMemoryStats s0 = host_memory_stats();
  constexpr std::int64_t kMiB = std::int64_t{1} << 20, kEnd = 256 * kMiB;
  void* p = nullptr;
  std::int64_t have = 0;
  // a tensor that grows: the next one is there before the last one goes
  for (std::int64_t n = kMiB; n <= kEnd; n += 2 * kMiB) {
    void* larger = host_allocate(n);
    host_free(p, have);
    p = larger, have = n;
    ASSERT_LE(host_memory_stats().cached_bytes - s0.cached_bytes, n + 70 * kMiB) << n;
  }
  host_free(p, have);
  EXPECT_LE(host_memory_stats().cached_bytes - s0.cached_bytes, kEnd + 70 * kMiB);
  // What comes again finds its block: the sizes asked for longest ago have gone first.
  const std::int64_t system = host_memory_stats().system_allocations;
  for (int i = 0; i < 20; ++i) host_free(host_allocate(have), have);
  EXPECT_EQ(host_memory_stats().system_allocations, system);
  host_trim();
}

TEST(HostMemory, RequestsNoMachineCanServeThrow) {
  EXPECT_EQ(code_of([] { host_allocate(-1); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([] { host_allocate(INT64_MAX); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(code_of([] { host_allocate(std::int64_t{1} << 46); }), ErrorCode::OutOfMemory);
}

TEST(HostMemory, AnyThreadMayFreeAndEndedThreadsLeaveTheirBlocks) {
  host_trim();
  std::int64_t live = host_memory_stats().live_bytes;
  constexpr int kThreads = 4, kBlocks = 500;
  std::vector<std::vector<std::pair<void*, std::int64_t>>> made(kThreads);
  auto in_threads = [&](auto&& f) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(f, t);
    for (std::thread& t : threads) t.join();
  };
  in_threads([&](int t) {
    std::mt19937 rng(static_cast<unsigned>(t));
    for (int i = 0; i < kBlocks; ++i) {
      std::int64_t n = rng() % 3000 + 1;
      void* p = host_allocate(n);
      std::memset(p, t, static_cast<std::size_t>(n));
      made[static_cast<std::size_t>(t)].push_back({p, n});
    }
  });
  in_threads([&](int t) {
    for (auto [p, n] : made[static_cast<std::size_t>((t + 1) % kThreads)]) {
      EXPECT_EQ(static_cast<char*>(p)[n - 1], (t + 1) % kThreads);
      host_free(p, n);
    }
  });
  EXPECT_EQ(host_memory_stats().live_bytes, live);
  std::int64_t system = host_memory_stats().system_allocations;
  for (auto [p, n] : made[0]) host_free(host_allocate(n), n);
  EXPECT_EQ(host_memory_stats().system_allocations, system);
}

TEST(HostMemory, OverrunsAreSeenInDebugBuilds) {
  if (!kDebugBuild || kSanitized) GTEST_SKIP() << "canaries exist in debug builds only";
  std::int64_t before = host_memory_overruns();
  char* p = static_cast<char*>(host_allocate(100));
  p[100] = 1;
  ::testing::internal::CaptureStderr();
  host_free(p, 100);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("past its end"), std::string::npos);
  EXPECT_EQ(host_memory_overruns(), before + 1);
}

TEST(HostMemory, SmallBlocksAreFast) {
  if (kDebugBuild || kSanitized) GTEST_SKIP() << "meaningful in optimised builds only";
  double best = 1e9;
  for (int r = 0; r < 20; ++r) {
    auto t0 = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000; ++i) {
      void* p = host_allocate(64);
      asm volatile("" : : "r"(p) : "memory");
      host_free(p, 64);
    }
    best =
        std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - t0).count() / 20000);
  }
  RecordProperty("ns", std::to_string(best));
  EXPECT_LT(best, 30.0);
}

std::int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(AddressRange, ReservingCostsNothingAndGrowthDoesNotMove) {
  std::int64_t before = resident_bytes(), backed = backed_range_bytes();
  {
    AddressRange r(std::int64_t{64} << 30);
    EXPECT_LT(resident_bytes() - before, 16 << 20);
    EXPECT_EQ(r.backed(), 0);
    r.ensure(1000);
    char* base = r.base();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % 4096, 0u);
    base[999] = 42;
    r.ensure(10 << 20);
    EXPECT_EQ(r.base(), base);
    EXPECT_EQ(base[999], 42);
    base[(10 << 20) - 1] = 1;
    EXPECT_GE(r.backed(), 10 << 20);
    EXPECT_EQ(backed_range_bytes() - backed, r.backed());
    r.ensure(5);  // never shrinks
    EXPECT_GE(r.backed(), 10 << 20);
  }
  EXPECT_EQ(backed_range_bytes(), backed);
}

TEST(AddressRange, TooMuchThrowsAndChangesNothing) {
  AddressRange r(4 << 20);
  r.ensure(1 << 20);
  std::int64_t backed = r.backed();
  EXPECT_EQ(code_of([&] { r.ensure(1 << 30); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(r.backed(), backed);
  EXPECT_EQ(code_of([] { AddressRange x(std::int64_t{1} << 60); }), ErrorCode::OutOfMemory);
}

TEST(AddressRange, UnbackedPagesCannotBeTouched) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer reports the fault itself";
  AddressRange r(16 << 20);
  r.ensure(1);
  EXPECT_DEATH(static_cast<volatile char*>(r.base())[r.backed()] = 1, "");
}

TEST(DeviceMemory, OtherDevicesAreRefusedWithAReason) {
  try {
    allocate(Device::cuda(1), 16);
    ADD_FAILURE() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::DeviceUnavailable);
    EXPECT_NE(e.message().find("cuda:1 is not available: "), std::string::npos) << e.message();
  }
  void* p = allocate(Device::null(), 16);
  EXPECT_NE(p, nullptr);
  deallocate(Device::null(), p, 16);
}

TEST(Accounts, SizesReadWell) {
  EXPECT_EQ(bytes_text(640), "640 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{64} << 30), "64.0 GiB");
}

}  // namespace
}  // namespace reprise::device
