#include "runtime/pool.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"

#include <nlohmann/json.hpp>

namespace reprise::runtime {

namespace {

constexpr int kLanes = 64;

struct Slot {
  std::atomic<bool> taken{false};
  std::unique_ptr<device::AddressRange> range;   // touched only by who has taken the slot
  std::atomic<std::int64_t> backed{0};
};

std::array<Slot, kLanes>& lanes() {
  static std::array<Slot, kLanes> all;
  return all;
}

}  // namespace

Lane::Lane(std::int64_t bytes) {
  if (bytes == 0) return;
  auto& all = lanes();
  for (int i = 0;; i = (i + 1) % kLanes) {  // more than 64 replays at once wait for a lane
    if (!all[i].taken.load(std::memory_order_relaxed) && !all[i].taken.exchange(true, std::memory_order_acquire)) {
      index_ = i;
      break;
    }
  }
  Slot& slot = all[index_];
  try {
    if (!slot.range) slot.range = std::make_unique<device::AddressRange>(knobs().pool_reserve);
    if (slot.range->backed() < bytes) {
      slot.range->ensure(bytes);
      slot.backed.store(slot.range->backed(), std::memory_order_relaxed);
      if (log::on(log::Channel::Memory))
        log::event(log::Channel::Memory, "pool_grew", "", "the pool grew to " + std::to_string(slot.range->backed()) + " bytes (lane " + std::to_string(index_) + ")",
                   {{"lane", index_}, {"bytes", slot.range->backed()}});
    }
  } catch (...) {
    slot.taken.store(false, std::memory_order_release);
    throw;
  }
  range_ = slot.range.get();
}

Lane::~Lane() {
  if (index_ >= 0) lanes()[index_].taken.store(false, std::memory_order_release);
}

std::int64_t pool_bytes() {
  std::int64_t total = 0;
  for (Slot& s : lanes()) total += s.backed.load(std::memory_order_relaxed);
  return total;
}

void release_pool_memory() {
  for (Slot& s : lanes()) {
    if (s.taken.exchange(true, std::memory_order_acquire)) continue;
    s.range.reset();
    s.backed.store(0, std::memory_order_relaxed);
    s.taken.store(false, std::memory_order_release);
  }
}

}  // namespace reprise::runtime
