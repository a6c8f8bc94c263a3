#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "tests/cuda_sim/module.h"

/// What a stream or a graph node can do.
namespace sim {

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// Of a launch or a node, beyond its parameters: new parameters leave them as they are.
struct Attributes {
  Dim cluster{0, 0, 0};  ///< 0: none was asked for
  int cooperative = 0, priority = 0;
};
struct KernelWork {
  std::shared_ptr<LoadedKernel> function;
  Dim grid, block;
  std::uint32_t shared_bytes = 0;
  std::vector<char> params;  ///< the parameter buffer, frozen
  Attributes attributes{};
};
struct CopyWork {
  std::uint64_t to = 0, from = 0;                  ///< host or device addresses
  std::uint64_t width = 0, height = 1, depth = 1;  ///< bytes, rows, slices
  std::uint64_t to_pitch = 0, to_slice = 0, from_pitch = 0, from_slice = 0;
  std::shared_ptr<std::vector<char>> staged = nullptr;  ///< the source, where the call had to read it at once
};
struct MemsetWork {
  std::uint64_t to = 0, pitch = 0, width = 0, height = 1;  ///< width in elements
  std::uint32_t value = 0, element = 1;
};
struct HostWork {
  CUhostFn function = nullptr;
  void* data = nullptr;
};
struct EmptyWork {};
struct ActionWork {
  std::function<void()> run;
};  ///< of the simulator: frees, event records

struct GraphRun;  ///< graph.h
struct ChildWork {
  std::shared_ptr<const GraphRun> graph;
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, MemsetWork, HostWork, ActionWork, ChildWork>;
using WorkPtr = std::shared_ptr<const Work>;

/// Does it. Errors of the work make the context fail.
void execute(const Work&);
/// Launches with frozen parameters, checked as the driver checks them. params or extra, as cuLaunchKernel takes them.
KernelWork make_kernel_work(const void* function, Dim grid, Dim block, std::uint32_t shared, void** params,
                            void** extra);
void run_kernel(const KernelWork&);
void run_stand_in(const KernelWork&);
void run_graph(const GraphRun&);

bool is_device_address(std::uint64_t p);
/// Copies of one row, as tests and calls need it. Checks at the time of the call what a driver checks.
CopyWork make_copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, const char* entry);
MemsetWork make_memset(std::uint64_t to, std::uint64_t pitch, std::uint32_t value, std::uint32_t element,
                       std::uint64_t width, std::uint64_t height, const char* entry);

}  // namespace sim
