#pragma once
#include <cstdint>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The launches between which a temp holds something.
struct TempLife {
  std::uint32_t buffer;
  std::uint32_t first, last;
};  ///< launch indices, inclusive
std::vector<TempLife> temp_lives(const Lowered&);

/// Where each temp stands in one block of memory. Offsets are multiples of `alignment`.
struct TempPlan {
  std::vector<std::int64_t> offsets;  ///< one for each life given
  std::int64_t total = 0;
};
/// Greedy by size: the largest first, each at the lowest offset that is free for its whole life. `bytes[i]` is the size
/// of lives[i]. Temps whose lives overlap share no byte; empty temps get offset 0 of their own (no byte).
TempPlan plan_offsets(const std::vector<TempLife>& lives, const std::vector<std::int64_t>& bytes,
                      std::int64_t alignment = 64);

}  // namespace reprise::kernels
