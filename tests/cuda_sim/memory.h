#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_sim/handles.h"

/// The device's memory. Three ranges of host addresses of equal size and layout:
///   arena   the addresses that programs see. No access (device memory is not the host's), but for pinned host memory;
///   data    the bytes, at address + data_delta: what kernels and copies really read and write;
///   shadow  one byte for each byte, at address + shadow_delta: what is known of it.
/// A shadow byte is kUnknown (nobody wrote it, or there is no memory: the table of allocations tells), kWritten or
/// kBlocked.
namespace sim {

constexpr std::uint8_t kUnknown = 0, kWritten = 1, kBlocked = 2;
constexpr std::uint64_t kArenaBytes = std::uint64_t{256} << 30;  ///< three of them fit under ThreadSanitizer
/// Shared memory of the running block lies at the start of the arena.
constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 20;

struct Arena {
  std::uint64_t base = 0;
  std::uint64_t data_delta = 0, shadow_delta = 0;  ///< added to an address (modulo 2^64)
  bool holds(std::uint64_t p) const { return p - base < kArenaBytes; }
  char* data(std::uint64_t p) const { return reinterpret_cast<char*>(p + data_delta); }
  std::uint8_t* shadow(std::uint64_t p) const { return reinterpret_cast<std::uint8_t*>(p + shadow_delta); }
};
extern Arena g_arena;  ///< set when the library is loaded, constant then

struct Allocation {
  std::uint64_t base = 0, bytes = 0;
  enum class What { Device, Host, Reserved, Global } what = What::Device;
  std::string from;          ///< the entry point that made it
  std::uint64_t number = 0;  ///< counts allocations
  bool async = false;
  std::uint64_t pool = 0;  ///< handle of the pool it came from
  unsigned host_flags = 0;
};

/// Physical memory (cuMemCreate). The bytes and their shadow are files in memory, so that it can be mapped twice.
struct Physical : Object {
  static constexpr Kind kKind = Kind::Physical;
  explicit Physical(std::uint64_t bytes);
  ~Physical() override;
  std::uint64_t bytes;
  int data_file = -1, shadow_file = -1;
};

struct Mapping {
  std::uint64_t base = 0, bytes = 0;
  std::shared_ptr<Physical> memory;
  bool accessible = false;  ///< cuMemSetAccess; the bytes are in the arena from then on
};

/// Kernel memory ranges and everything that is allocated. Under the lock.
class Memory {
 public:
  Memory();
  /// Fails with CUDA_ERROR_OUT_OF_MEMORY when it would pass the device's memory.
  std::uint64_t allocate(std::uint64_t bytes, const char* from);
  std::uint64_t allocate_host(std::uint64_t bytes, unsigned flags, const char* from);
  /// Memory of a module's variables: outside the device's account.
  std::uint64_t allocate_global(std::uint64_t bytes, std::uint64_t align, const std::string& name);
  /// `base` is the start of a live allocation of that kind, or it fails with CUDA_ERROR_INVALID_VALUE.
  Allocation& at(std::uint64_t base, Allocation::What, const char* doing);
  void release(std::uint64_t base, Allocation::What, const char* doing);

  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t align, std::uint64_t fixed);
  void unreserve(std::uint64_t base, std::uint64_t bytes);
  std::shared_ptr<Physical> create(std::uint64_t bytes);
  void map(std::uint64_t base, std::uint64_t bytes, std::shared_ptr<Physical>);
  void unmap(std::uint64_t base, std::uint64_t bytes);
  void set_access(std::uint64_t base, std::uint64_t bytes, bool on);
  const Mapping* mapping(std::uint64_t p) const;

  /// The live allocation that holds p; null.
  const Allocation* find(std::uint64_t p) const;
  /// What [p, p+bytes) lacks for an access; empty when it may be made. Does not look at what was written.
  std::string why_not(std::uint64_t p, std::uint64_t bytes) const;
  /// "3.1e8, 16 bytes past the end of allocation 12 (4096 bytes at 0x..., by cuMemAlloc_v2)".
  std::string describe(std::uint64_t p, std::uint64_t bytes) const;
  /// Fails with CUDA_ERROR_INVALID_VALUE unless the whole range is accessible device or pinned memory.
  void require_range(std::uint64_t p, std::uint64_t bytes, const char* doing) const;
  bool is_pinned(const void* host) const;

  void mark(std::uint64_t p, std::uint64_t bytes, std::uint8_t state);
  std::uint64_t used() const { return used_; }
  /// Counted against the device's memory without having an address (executable graphs).
  void charge(std::int64_t bytes);
  std::uint64_t live() const { return live_; }

 private:
  std::uint64_t take(std::uint64_t bytes, std::uint64_t align);
  void erase(std::uint64_t p, std::uint64_t bytes);
  std::map<std::uint64_t, Allocation> table_;
  std::map<std::uint64_t, Mapping> mappings_;
  struct Freed {
    std::uint64_t base, bytes;
    Allocation was;
  };
  std::vector<Freed> freed_;  ///< the latest ones, for messages
  struct Range {
    std::uint64_t base, bytes;
  };
  std::deque<Range> recycled_;  ///< addresses that are free again, the oldest first
  std::uint64_t next_ = 0, used_ = 0, live_ = 0, numbers_ = 0;
  mutable const Allocation* last_ = nullptr;
  friend struct Physical;
};
Memory& memory();

}  // namespace sim
