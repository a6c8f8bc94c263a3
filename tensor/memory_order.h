#pragma once
#include <algorithm>
#include <vector>

#include "reprise/int.h"

namespace reprise {

/// Dimensions, the outermost in memory first, by the numbers that a trace met; those of size 1 stay in their places.
inline std::vector<int> memory_order(const Ints& sizes, const Ints& strides) {
  std::vector<int> order, places;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    order.push_back(static_cast<int>(d));
    if (sizes[d].hint() != 1) places.push_back(static_cast<int>(d));
  }
  std::vector<int> sorted = places;
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    return strides[static_cast<std::size_t>(a)].hint() > strides[static_cast<std::size_t>(b)].hint();
  });
  for (std::size_t i = 0; i < places.size(); ++i) order[static_cast<std::size_t>(places[i])] = sorted[i];
  return order;
}
/// The dimensions that permute() takes to come to this order, and back from it.
struct Permutation {
  Ints to, back;
  explicit Permutation(const std::vector<int>& order) : back(order.size(), 0) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      to.push_back(order[i]);
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
  }
};

}  // namespace reprise
