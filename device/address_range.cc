#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/errors.h"
#include "device/host_accounts.h"
#include "device/host_memory.h"

namespace reprise::device {
namespace {
constexpr std::int64_t kStep = std::int64_t{2} << 20;  // of backing: one huge page
std::atomic<std::int64_t> backed_total{0};
std::int64_t round_up(std::int64_t n) { return (n + kStep - 1) / kStep * kStep; }
}  // namespace

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(bytes);
  int u = 0;
  while (v >= 1024 && u < 4) v /= 1024, ++u;
  char text[32];
  std::snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
  return text;
}
std::int64_t backed_range_bytes() { return backed_total.load(std::memory_order_relaxed); }

// Reserved pages are neither readable nor counted by the system (PROT_NONE, MAP_NORESERVE). Backing them is mprotect:
// pages then appear when they are touched.
AddressRange::AddressRange(std::int64_t reserve_bytes) {
  if (reserve_bytes < 0 || reserve_bytes > (std::int64_t{1} << 46))
    fail(ErrorCode::OutOfMemory, "", {}, "cannot reserve ", reserve_bytes, " bytes of addresses");
  reserved_ = std::max(kStep, round_up(reserve_bytes));
  void* m = mmap(nullptr, static_cast<std::size_t>(reserved_ + kStep), PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED)
    fail(ErrorCode::OutOfMemory, "", {}, "cannot reserve ", bytes_text(reserved_),
         " of addresses: ", std::strerror(errno));
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(m);
  std::uintptr_t up = (at + kStep - 1) / kStep * kStep;
  if (up > at) munmap(m, up - at);
  if (std::uintptr_t tail = kStep - (up - at)) munmap(reinterpret_cast<char*>(up) + reserved_, tail);
  base_ = reinterpret_cast<char*>(up);
  madvise(base_, static_cast<std::size_t>(reserved_), MADV_HUGEPAGE);  // advice: may be refused
}

AddressRange::~AddressRange() {
  munmap(base_, static_cast<std::size_t>(reserved_));
  backed_total.fetch_sub(backed_, std::memory_order_relaxed);
}

void AddressRange::ensure(std::int64_t bytes) {
  if (bytes <= backed_) return;
  if (bytes > reserved_)
    fail(ErrorCode::OutOfMemory, "", {}, "a recording needs ", bytes_text(bytes), ", but ", bytes_text(reserved_),
         " of addresses are reserved (REPRISE_POOL_RESERVE); ", bytes_text(backed_), " are backed");
  std::int64_t want = round_up(bytes);
  auto back = [&] {
    return mprotect(base_ + backed_, static_cast<std::size_t>(want - backed_), PROT_READ | PROT_WRITE) == 0;
  };
  bool done = back();
  if (!done) {
    host_trim();
    done = back();
  }
  if (!done)
    fail(ErrorCode::OutOfMemory, "", {}, "cannot back ", bytes_text(want - backed_),
         " more of the recordings' pool: ", std::strerror(errno), "; ", bytes_text(backed_), " are backed");
  backed_total.fetch_add(want - backed_, std::memory_order_relaxed);
  backed_ = want;
}

}  // namespace reprise::device
