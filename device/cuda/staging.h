#pragma once
#include <cstdint>

#include "base/mutex.h"
#include "device/cuda/pinned.h"

namespace reprise::device::cuda {

/// Small copies between the device and memory of any kind, by way of pinned memory: nothing has to be known of what the
/// driver does with pageable memory when, and nobody waits for a copy to the device. Threads: any.
class Staging {
 public:
  /// What is larger is not worth the second copy.
  static constexpr std::int64_t kMost = 16 << 10;
  Staging(const Context& c, PinnedMemory& p) : context_(c), pinned_(p) {}
  /// `from` may be changed when it returns. False: the system page-locks no more memory, and nothing was done.
  bool to_device(CUdeviceptr to, const void* from, std::int64_t bytes, CudaStream&);
  /// Waits for the stream. False: as above.
  bool to_host(void* to, CUdeviceptr from, std::int64_t bytes, CudaStream&);

 private:
  static constexpr std::int64_t kBlock = 64 << 10;
  /// Null: there is none.
  void* allocate(std::int64_t bytes);
  /// Room in the current block; null: there is none.
  char* take(std::int64_t bytes) REPRISE_REQUIRES(mu_);

  const Context& context_;
  PinnedMemory& pinned_;
  Mutex mu_;
  char* block_ REPRISE_GUARDED_BY(mu_) = nullptr;  // given back when it is full, and waits for its copies there
  std::int64_t used_ REPRISE_GUARDED_BY(mu_) = 0;
};

}  // namespace reprise::device::cuda
