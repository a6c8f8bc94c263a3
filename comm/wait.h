#pragma once
#include <cstdint>

#include "comm/region.h"

namespace reprise::comm {

/// Publishes `value` to who waits for the counter.
void post(Counter& c, std::uint32_t value);
/// Has the counter come to `value`? They wrap around.
inline bool reached(std::uint32_t at, std::uint32_t value) { return static_cast<std::int32_t>(at - value) >= 0; }

/// Waits for counters of other ranks, awake for some microseconds and asleep after that, as long as the run goes on.
class Waiter {
 public:
  Waiter(World& w, const std::vector<int>& members, int rank, const Communicator::Call& call)
      : world_(w), members_(members), rank_(rank), call_(call) {}
  /// Until the counter of rank `of` (of the group) has come to `value`. Throws DeviceFailed where it will not.
  void until(Counter& c, std::uint32_t value, int of);

 private:
  void asleep(Counter& c, std::uint32_t value, int of);
  [[noreturn]] void give_up(const std::string& why) const;
  World& world_;
  const std::vector<int>& members_;
  const int rank_;
  const Communicator::Call& call_;
};

}  // namespace reprise::comm
