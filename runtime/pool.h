#pragma once
#include <cstdint>

#include "device/host_memory.h"

namespace reprise::runtime {

/// A stretch of the pool that one replay works in. Recordings keep only offsets, so that all of them, of all compiled
/// functions, stand on the same bytes; two replays at once take two lanes.
class Lane {
 public:
  explicit Lane(std::int64_t bytes);   ///< backs at least so many; throws OutOfMemory
  ~Lane();
  Lane(const Lane&) = delete;
  char* base() const { return range_ ? range_->base() : nullptr; }

 private:
  device::AddressRange* range_ = nullptr;
  int index_ = -1;
};

std::int64_t pool_bytes();             ///< backed now, all lanes
void release_pool_memory();            ///< no replay may be running

}  // namespace reprise::runtime
