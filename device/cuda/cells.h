#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// Memory for the addresses that executable graphs read (graph.h). Apart from results, whose bytes are ordered with one
/// stream: a graph may run on any, and writes its block there at once.
/// Threads: every member locks. What was once taken is kept for the life of the process.
class CellBlocks {
 public:
  explicit CellBlocks(const Context& c) : context_(c) {}
  /// Room for so many addresses; nothing queued touches it.
  void* take(std::uint32_t cells);
  /// Serves again when what was queued in the stream `last` (Stream::id; 0: nothing ever ran with it) is over.
  void give_back(void*, std::uint32_t cells, std::uint64_t last) noexcept;

 private:
  struct Free {
    void* block;
    CUevent over;
  };  // over: null when nothing runs
  void* cut(std::int64_t bytes) REPRISE_REQUIRES(mu_);

  const Context& context_;
  Mutex mu_;
  std::map<std::int64_t, std::vector<Free>> free_ REPRISE_GUARDED_BY(mu_);  // by size
  char* slab_ REPRISE_GUARDED_BY(mu_) = nullptr;                            // what is left of the latest one
  std::int64_t slab_left_ = 0;
};

}  // namespace reprise::device::cuda
