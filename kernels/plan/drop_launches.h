#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Takes launches out. `marked`: a launch's number, which stays that launch's (or becomes that of the one behind it).
inline void drop_launches(Lowered& l, const std::vector<bool>& gone, std::size_t& marked) {
  std::size_t kept = 0;
  for (std::size_t i = 0, was = marked; i < l.launches.size(); ++i) {
    if (i == was) marked = kept;
    if (gone[i]) continue;
    if (kept != i) l.launches[kept] = std::move(l.launches[i]);
    ++kept;
  }
  l.launches.erase(l.launches.begin() + static_cast<std::ptrdiff_t>(kept), l.launches.end());
}

}  // namespace reprise::kernels
