#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "device/cuda/context.h"
#include "device/cuda/stream.h"

namespace reprise::device::cuda {

/// Page-locked memory of the host, kept for reuse: page-locking takes the driver a millisecond. A block that was given
/// back waits for events behind the copies from and to it, on whatever streams these were. Threads: every member locks.
class PinnedMemory {
 public:
  explicit PinnedMemory(const Context& c) : context_(c) {}
  void* allocate(std::int64_t bytes);
  void free(void*) noexcept;
  /// A copy that touches `p`, an address in a block, has been queued in the stream.
  void used(const void* p, CudaStream&);

 private:
  struct Use {
    std::uint64_t stream;
    CUevent event;
  };
  struct Block {
    std::int64_t bytes;
    std::vector<Use> uses;
  };                                           ///< a stream's latest use stands for all of its
  bool is_idle(Block&) REPRISE_REQUIRES(mu_);  // ends the uses that are over

  const Context& context_;
  Mutex mu_;
  std::map<const char*, Block> live_ REPRISE_GUARDED_BY(mu_);          // by first byte
  std::vector<std::pair<char*, Block>> free_ REPRISE_GUARDED_BY(mu_);  // perhaps still in use
};

}  // namespace reprise::device::cuda
