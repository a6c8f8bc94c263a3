#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

namespace reprise::device::cuda {

/// What executable graphs take of the device. Asking the driver how much memory is free is a call of the system, twice
/// for each graph, and the difference is also what others allocate meanwhile; so a few graphs of each number of nodes,
/// to a power of two, are measured, and their smallest figure a node is taken for the rest. Threads: any.
class GraphSizes {
 public:
  /// What a node takes where the driver's figure cannot be told from what others allocate.
  static constexpr std::int64_t kNodeBytes = 2048;
  /// Of a graph of so many nodes that `make` instantiates. What it throws comes out.
  std::int64_t of(std::int64_t nodes, const std::function<void()>& make);

 private:
  struct Class {
    std::atomic<int> measured{0};
    std::atomic<std::int64_t> node_bytes{0};  ///< 0: none was measured that could be
  };
  std::array<Class, 32> classes_;
};

}  // namespace reprise::device::cuda
