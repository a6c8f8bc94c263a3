#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "reprise/device.h"

namespace reprise::device {
class Stream;
}

namespace reprise::runtime {

/// A stretch of a device's pool that one replay works in. Recordings keep only offsets, so that all of them, of all
/// compiled functions, stand on the same bytes. On the host two replays at once take two lanes; on a device with
/// streams every stream has one, since its work runs in order: one replay after the other queues into it, as some come
/// back to what they have left there (what checks noted, steps of the host).
class Lane {
 public:
  Lane(Device, std::int64_t bytes);  ///< backs at least so many; throws OutOfMemory
  ~Lane();
  Lane(const Lane&) = delete;
  char* base() const { return base_; }

  struct OfStream;  ///< pool.cc

 private:
  void take_host(std::int64_t bytes);

  char* base_ = nullptr;
  int index_ = -1;  // of a lane on the host
  std::shared_ptr<OfStream> of_stream_;
  std::unique_lock<std::mutex> turn_;  // of of_stream_; released before it
};

std::int64_t pool_bytes();        ///< backed now, all lanes of all devices
std::int64_t pool_bytes(Device);  ///< of one device
/// Gives back the lane of a stream that is about to go, after waiting for what still runs in it.
void release_lane(Device, device::Stream&) noexcept;
/// Gives back what no replay works in: on the host lanes that are free, on devices all of them, each when the replay
/// that queues into it has done so and its work is over. Not from within a replay.
void release_pool_memory();

}  // namespace reprise::runtime
