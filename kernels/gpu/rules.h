#pragma once
#include <optional>
#include <vector>

#include "kernels/gpu/kernels.h"
#include "kernels/gpu/launches.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

// What rows of the column in launches.cc name (GpuRule, launches.h).
using GpuLaunches = std::optional<std::vector<GpuLaunch>>;
GpuLaunches gpu_matmul(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_attention(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_argmax(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_argmin(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_cumsum(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_topk(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_sort(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_rand(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_randn(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_scatter(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_scatter_add(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_index_put(const GpuContext&, std::vector<Launch>& before);
GpuLaunches gpu_multinomial(const GpuContext&, std::vector<Launch>& before);

// Launches that several of them are made of.
/// Running sums of x along `dim`.
GpuLaunch cumsum_launch(const Operand& x, const Operand& out, int dim);
/// The first k along `dim` in order; k = 0: nothing to do.
GpuLaunch order_launch(const GpuContext&, const Operand& x, const Operand& values, const Operand& places, int dim, Int k,
                        bool descending);
/// Where kernels of random numbers find seed and offset: a step of the host writes them.
Operand random_state(const GpuContext&, Int seed, Int offset, std::vector<Launch>& before);

/// Collects a launch's buffers; ints follow in the order that kernels/gpu/kernels.h gives.
struct GpuLaunchBuilder {
  GpuLaunch launch;

  GpuLaunchBuilder(const char* kind, std::vector<std::int64_t> params, device::Dim3 (*grid)(const std::int64_t*)) {
    launch.code = {kind, std::move(params)};
    launch.grid = grid;
  }
  GpuLaunchBuilder& buffer(std::uint32_t b, bool written = false) {
    launch.buffers.push_back(b);
    launch.written.push_back(written);
    return *this;
  }
  GpuLaunchBuilder& buffer(const Operand& o) { return buffer(o.buffer, o.written); }
  GpuLaunchBuilder& ints(std::initializer_list<Int> v) {
    launch.ints.insert(launch.ints.end(), v.begin(), v.end());
    return *this;
  }
};

/// Some dims that tensors share, without those of size 1, neighbours joined where all strides provably allow it; at
/// least one. As kernels take it: sizes, then strides by tensor.
struct GpuWalkDims {
  GpuWalkDims(const Ints& sizes, const std::vector<Ints>& strides, std::uint32_t dims);
  Ints sizes;
  std::vector<Ints> strides;
  std::int64_t dims() const { return static_cast<std::int64_t>(sizes.size()); }
  Int count() const;
  void add_to(GpuLaunchBuilder&) const;
};

/// Numbers the blocks of a grid along x. More than the device can number is more than any memory holds.
inline device::Dim3 grid_of(std::int64_t blocks) { return {static_cast<std::uint32_t>(blocks), 1, 1}; }
inline std::int64_t blocks_for(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

/// Is v this number in every call that the guards admit?
inline bool known_as(Int v, std::int64_t k) { return same_number(v, k); }
inline bool known_above(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() > k; }
inline bool known_at_most(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() <= k; }

}  // namespace reprise::kernels
