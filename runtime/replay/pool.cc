#include "runtime/replay/pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/errors.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/timeline.h"
#include "device/backend.h"
#include "device/host_memory.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

// The range goes only while somebody has the turn and nothing that was queued with an earlier one still runs: drivers
// do not wait for work that touches what they unmap.
struct Lane::OfStream {
  OfStream(std::uint64_t id, device::Backend& d) : stream(id), backend(d) {}
  ~OfStream() { release(nullptr); }
  /// Under turn: waits for what is queued, in `only` where that is known to be all, and gives the memory back.
  void release(device::Stream* only) noexcept {
    if (!range) return;
    try {
      if (only) only->synchronize();
      else backend.synchronize();
      // the memory goes all the same: nothing runs on a device that has failed
    } catch (const std::exception& e) {
      logs::warn(std::string("the pool of a stream: ") + e.what());
    }
    backed.store(0, std::memory_order_relaxed);
    range = nullptr;
  }
  const std::uint64_t stream;  // its id
  device::Backend& backend;
  std::mutex turn;                             // held by the replay that queues into it
  std::unique_ptr<device::MemoryRange> range;  // guarded by turn
  std::atomic<std::int64_t> backed{0};
};

namespace {

constexpr int kLanes = 64;

struct Slot {
  std::atomic<bool> taken{false};
  std::unique_ptr<device::AddressRange> range;  // touched only by who has taken the slot
  std::atomic<std::int64_t> backed{0};
};

std::array<Slot, kLanes>& lanes() {
  static auto& all = *new std::array<Slot, kLanes>;
  return all;
}

void log_growth(Device d, std::uint64_t lane, std::int64_t bytes) {
  if (logs::on(logs::Channel::Memory))
    logs::event(
        logs::Event::pool_grew, "",
        "the pool on " + d.str() + " grew to " + std::to_string(bytes) + " bytes (lane " + std::to_string(lane) + ")",
        {{"device", d.str()}, {"lane", lane}, {"bytes", bytes}});
  if (timeline::on()) timeline::counter("pool on " + d.str(), {{"bytes", pool_bytes(d)}});
}

/// The lanes of one device with streams.
class DeviceLanes {
 public:
  std::shared_ptr<Lane::OfStream> lane(Device d) {
    device::Backend& backend = device::backend(d);
    std::uint64_t stream = backend.current_stream().id();
    std::lock_guard lock(mu_);
    std::shared_ptr<Lane::OfStream>& lane = lanes_[stream];
    if (!lane) lane = std::make_shared<Lane::OfStream>(stream, backend);
    return lane;
  }
  std::int64_t bytes() {
    std::lock_guard lock(mu_);
    std::int64_t total = 0;
    for (const auto& [stream, lane] : lanes_) total += lane->backed.load(std::memory_order_relaxed);
    return total;
  }
  void release(device::Stream& stream) {
    std::shared_ptr<Lane::OfStream> lane;
    {
      std::lock_guard lock(mu_);
      auto it = lanes_.find(stream.id());
      if (it == lanes_.end()) return;
      lane = std::move(it->second);
      lanes_.erase(it);
    }
    release(*lane, &stream);
  }
  /// Waits for the replays that queue into its lanes now; those that come later back them again.
  void release() {
    std::vector<std::shared_ptr<Lane::OfStream>> all;
    {
      std::lock_guard lock(mu_);
      for (const auto& [stream, lane] : lanes_) all.push_back(lane);
    }
    for (const auto& lane : all) release(*lane, nullptr);
  }

 private:
  /// Whoever calls this again and again keeps no replay from its turn: a lane that has no memory is passed by.
  static void release(Lane::OfStream& lane, device::Stream* only) {
    if (lane.backed.load(std::memory_order_relaxed) == 0) return;
    std::lock_guard lock(lane.turn);
    lane.release(only);
  }

  std::mutex mu_;
  std::map<std::uint64_t, std::shared_ptr<Lane::OfStream>> lanes_;  // guarded by mu_; by stream id
};

constinit ForkMutex devices_mu;
std::map<int, DeviceLanes>& devices() {
  static auto* all = new std::map<int, DeviceLanes>;  // guarded by devices_mu; never destroyed: as the backends
  return *all;
}
DeviceLanes& lanes_of(Device d) {
  std::lock_guard lock(devices_mu);
  return devices()[static_cast<int>(d.type) << 8 | d.index];
}

}  // namespace

Lane::Lane(Device d, std::int64_t bytes) {
  if (bytes == 0) return;
  if (device::runs_host_code(d)) {
    take_host(bytes);
    return;
  }
  of_stream_ = lanes_of(d).lane(d);
  turn_ = std::unique_lock(of_stream_->turn);
  std::unique_ptr<device::MemoryRange>& range = of_stream_->range;
  if (!range) range = device::backend(d).reserve(knobs().pool_reserve);
  if (range->backed() < bytes) {
    range->ensure(bytes);
    of_stream_->backed.store(range->backed(), std::memory_order_relaxed);
    log_growth(d, of_stream_->stream, range->backed());
  }
  base_ = range->base();
}

namespace {
// All that may ever be needed, unless the process is limited in addresses (ulimit -v, containers): then a little more
// than is needed now, and a larger one later, as nothing stays in a lane between replays.
std::unique_ptr<device::AddressRange> reserve_lane(std::int64_t bytes) {
  constexpr std::int64_t kLeast = std::int64_t{16} << 20;
  const std::int64_t all = knobs().pool_reserve;
  for (std::int64_t size : {all, std::clamp(bytes / 2 * 3, std::min(kLeast, all), all)}) {
    try {
      return std::make_unique<device::AddressRange>(size);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::OutOfMemory || bytes > all) throw;
    }
  }
  device::host_trim();
  return std::make_unique<device::AddressRange>(bytes);
}
}  // namespace

void Lane::take_host(std::int64_t bytes) {
  auto& all = lanes();
  for (int i = 0;; i = (i + 1) % kLanes) {  // more than 64 replays at once wait for a lane
    if (!all[i].taken.load(std::memory_order_relaxed) && !all[i].taken.exchange(true, std::memory_order_acquire)) {
      index_ = i;
      break;
    }
  }
  Slot& slot = all[index_];
  try {
    if (slot.range && slot.range->reserved() < std::min(bytes, knobs().pool_reserve)) {
      slot.backed.store(0, std::memory_order_relaxed);
      slot.range.reset();
    }
    if (!slot.range) slot.range = reserve_lane(bytes);
    if (slot.range->backed() < bytes) {
      slot.range->ensure(bytes);
      slot.backed.store(slot.range->backed(), std::memory_order_relaxed);
      log_growth(Device::cpu(), static_cast<std::size_t>(index_), slot.range->backed());
    }
  } catch (...) {
    slot.taken.store(false, std::memory_order_release);
    throw;
  }
  base_ = slot.range->base();
}

Lane::~Lane() {
  if (index_ >= 0) lanes()[index_].taken.store(false, std::memory_order_release);
}

namespace {
std::int64_t host_pool_bytes() {
  std::int64_t total = 0;
  for (Slot& s : lanes()) total += s.backed.load(std::memory_order_relaxed);
  return total;
}
}  // namespace

std::int64_t pool_bytes() {
  std::int64_t total = host_pool_bytes();
  std::lock_guard lock(devices_mu);
  for (auto& [device, lanes] : devices()) total += lanes.bytes();
  return total;
}

std::int64_t pool_bytes(Device d) { return device::runs_host_code(d) ? host_pool_bytes() : lanes_of(d).bytes(); }

void release_lane(Device d, device::Stream& stream) noexcept { lanes_of(d).release(stream); }

void release_pool_memory() {
  std::vector<DeviceLanes*> all;
  {
    std::lock_guard lock(devices_mu);
    for (auto& [device, lanes] : devices()) all.push_back(&lanes);  // none of them ever goes
  }
  for (DeviceLanes* lanes : all) lanes->release();
  for (Slot& s : lanes()) {
    if (s.taken.exchange(true, std::memory_order_acquire)) continue;
    s.range.reset();
    s.backed.store(0, std::memory_order_relaxed);
    s.taken.store(false, std::memory_order_release);
  }
  if (timeline::on()) timeline::counter("pool on cpu", {{"bytes", host_pool_bytes()}});
}

}  // namespace reprise::runtime
