#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace reprise::device {

/// Caching allocator for results on the host. Blocks are 64-byte aligned, size classes per thread first, then shared.
/// What is cached stays below half of the most that was lately in use, and 64 MiB: past that the sizes asked for
/// longest ago go back to the system first. All of it goes on trim() and exhaustion. Threads: any may free what another
/// allocated. Throws Error(OutOfMemory) naming the request and who holds what.
void* host_allocate(std::int64_t bytes);
void host_free(void* p, std::int64_t bytes) noexcept;
struct HostMemoryStats {
  std::int64_t live_bytes, cached_bytes, peak_bytes, allocations, system_allocations;
};
HostMemoryStats host_memory_stats();
void host_trim();
void set_host_memory_limit(std::int64_t bytes);  ///< 0: none. For tests of exhaustion and for users with a budget

/// A reserved range of addresses, backed on demand: grows without moving. One lane of the recordings' pool.
class AddressRange {
 public:
  explicit AddressRange(std::int64_t reserve_bytes);  ///< throws OutOfMemory when the range cannot be reserved
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  char* base() const { return base_; }
  std::int64_t backed() const { return backed_; }
  std::int64_t reserved() const { return reserved_; }
  /// backs at least [0, bytes); throws OutOfMemory, state unchanged
  void ensure(std::int64_t bytes);

 private:
  char* base_ = nullptr;
  std::int64_t reserved_ = 0, backed_ = 0;
};

}  // namespace reprise::device
