#include "device/cuda/graph_sizes.h"

#include <algorithm>
#include <bit>

#include "device/cuda/driver.h"

namespace reprise::device::cuda {

namespace {

constexpr int kMeasured = 3;  // of each class

std::int64_t free_bytes() {
  std::size_t free_now = 0, total = 0;
  check(cu().cuMemGetInfo(&free_now, &total), "measuring memory");
  return static_cast<std::int64_t>(free_now);
}

}  // namespace

std::int64_t GraphSizes::of(std::int64_t nodes, const std::function<void()>& make) {
  nodes = std::max<std::int64_t>(nodes, 1);
  Class& c = classes_[std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(nodes)), classes_.size() - 1)];
  if (c.measured.load(std::memory_order_relaxed) >= kMeasured) {
    make();
    const std::int64_t each = c.node_bytes.load(std::memory_order_relaxed);
    return nodes * (each ? each : kNodeBytes);
  }
  const std::int64_t before = free_bytes();
  make();
  const std::int64_t bytes = before - free_bytes();
  c.measured.fetch_add(1, std::memory_order_relaxed);
  if (bytes <= 0 || bytes > nodes * (64 << 10) + (4 << 20)) return nodes * kNodeBytes;
  const std::int64_t each = (bytes + nodes - 1) / nodes;
  for (std::int64_t least = c.node_bytes.load(std::memory_order_relaxed); least == 0 || each < least;)
    if (c.node_bytes.compare_exchange_weak(least, each, std::memory_order_relaxed)) break;
  return bytes;
}

}  // namespace reprise::device::cuda
