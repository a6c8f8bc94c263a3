#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/stream.h"

namespace reprise::device::cuda {

/// The caching allocator of results. A block belongs to the stream that was current when it was first handed out; freed
/// under that stream it may be handed out there again at once, since the stream runs in order. Freed under another one
/// it waits for an event that stands behind that stream's work. Sizes are classes (at most 12.5 % unused). Threads:
/// every member locks.
class Allocator {
 public:
  explicit Allocator(const Context& c) : context_(c) {}
  /// `held`: bytes that others hold (ranges, graphs), for the message when memory runs out.
  void* allocate(std::int64_t bytes, CudaStream&, std::int64_t held);
  void free(void*, CudaStream*) noexcept;  ///< null: the current stream is gone; the whole device is waited for
  void trim();                             ///< gives cached blocks back; waits for the device
  void set_limit(std::int64_t bytes);
  struct Stats {
    std::int64_t live, cached, peak;
  };
  Stats stats();

 private:
  struct Block {
    std::int64_t bytes;
    std::uint64_t stream;
  };
  struct Waiting {
    void* p;
    Block block;
    CUevent event;
  };
  void* take_cached(std::int64_t bytes, std::uint64_t stream) REPRISE_REQUIRES(mu_);
  void collect() REPRISE_REQUIRES(mu_);  // blocks whose events are over
  void trim_locked() REPRISE_REQUIRES(mu_);

  const Context& context_;
  Mutex mu_;
  std::unordered_map<void*, Block> live_ REPRISE_GUARDED_BY(mu_);
  /// By stream and size.
  std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<void*>> cached_ REPRISE_GUARDED_BY(mu_);
  std::vector<Waiting> waiting_ REPRISE_GUARDED_BY(mu_);
  std::int64_t live_bytes_ REPRISE_GUARDED_BY(mu_) = 0, cached_bytes_ REPRISE_GUARDED_BY(mu_) = 0,
                           peak_ REPRISE_GUARDED_BY(mu_) = 0, limit_ REPRISE_GUARDED_BY(mu_) = 0;
};

}  // namespace reprise::device::cuda
