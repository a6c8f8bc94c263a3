#pragma once
#include <atomic>

/// Does anybody want to know of each launch: the timeline, or a profile? Whoever runs launches asks with one load for
/// all of them.
namespace reprise::watchers {

namespace detail {
extern std::atomic<int> count;  // timeline.cc
}
inline bool launches() { return detail::count.load(std::memory_order_relaxed) != 0; }
/// One more, or one fewer.
inline void add(int n) { detail::count.fetch_add(n, std::memory_order_relaxed); }

}  // namespace reprise::watchers
