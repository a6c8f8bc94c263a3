#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Which buffers launches use, and who uses a buffer: for passes that join launches, and keep it true with note() and
/// forget() as these change.
class LaunchUses {
 public:
  struct Use {
    std::uint32_t buffer;
    bool written;
  };
  explicit LaunchUses(const Lowered& l) : l_(l), uses_(l.launches.size()), users_(l.buffers.size()) {
    for (std::uint32_t i = 0; i < l.launches.size(); ++i) note(i);
  }
  void note(std::uint32_t i) {
    uses_[i].clear();
    for_each_use(l_.launches[i], [&](std::uint32_t b, bool, bool written) {
      uses_[i].push_back({b, written});
      std::vector<std::uint32_t>& users = users_[b];
      if (const auto at = std::lower_bound(users.begin(), users.end(), i); at == users.end() || *at != i)
        users.insert(at, i);
    });
  }
  /// Of one that is gone, or becomes another: it uses nothing.
  void forget(std::uint32_t i) {
    for (const Use& u : uses_[i]) {
      std::vector<std::uint32_t>& users = users_[u.buffer];
      if (const auto at = std::lower_bound(users.begin(), users.end(), i); at != users.end() && *at == i)
        users.erase(at);
    }
    uses_[i].clear();
  }
  const std::vector<Use>& of(std::uint32_t launch) const { return uses_[launch]; }
  /// Launches, in order.
  const std::vector<std::uint32_t>& users(std::uint32_t buffer) const { return users_[buffer]; }
  /// Must one of two launches wait for the other: does it write what that one uses?
  bool meet(std::uint32_t i, std::uint32_t j) const {
    for (const Use& u : uses_[i])
      for (const Use& v : uses_[j])
        if (u.buffer == v.buffer && (u.written || v.written)) return true;
    return false;
  }

 private:
  const Lowered& l_;
  std::vector<std::vector<Use>> uses_;             // by launch
  std::vector<std::vector<std::uint32_t>> users_;  // by buffer
};

}  // namespace reprise::kernels
