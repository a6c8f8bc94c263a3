#pragma once
#include <optional>
#include <vector>

#include "kernels/gpu/kernels.h"
#include "kernels/gpu/launches.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

// What rows of the column in launches.cc name (GridRule, launches.h).
using GridLaunches = std::optional<std::vector<GridLaunch>>;
GridLaunches grid_matmul(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_attention(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_argmax(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_argmin(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_cumsum(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_topk(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_sort(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_rand(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_randn(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_scatter(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_scatter_add(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_index_put(const GridContext&, std::vector<Launch>& before);
GridLaunches grid_multinomial(const GridContext&, std::vector<Launch>& before);

// Launches that several of them are made of.
/// Running sums of x along `dim`.
GridLaunch cumsum_launch(const Operand& x, const Operand& out, int dim);
/// The first k along `dim` in order; k = 0: nothing to do.
GridLaunch order_launch(const GridContext&, const Operand& x, const Operand& values, const Operand& places, int dim, Int k,
                        bool descending);
/// Where kernels of random numbers find seed and offset: a step of the host writes them.
Operand random_state(const GridContext&, Int seed, Int offset, std::vector<Launch>& before);

/// Collects a launch's buffers; ints follow in the order that kernels/gpu/kernels.h gives.
struct GridLaunchBuilder {
  GridLaunch launch;

  GridLaunchBuilder(const char* kind, std::vector<std::int64_t> params, device::Dim3 (*grid)(const std::int64_t*)) {
    launch.code = {kind, std::move(params)};
    launch.grid = grid;
  }
  GridLaunchBuilder& buffer(std::uint32_t b, bool written = false) {
    launch.buffers.push_back(b);
    launch.written.push_back(written);
    return *this;
  }
  GridLaunchBuilder& buffer(const Operand& o) { return buffer(o.buffer, o.written); }
  GridLaunchBuilder& ints(std::initializer_list<Int> v) {
    launch.ints.insert(launch.ints.end(), v.begin(), v.end());
    return *this;
  }
};

/// Some dims that tensors share, without those of size 1, neighbours joined where all strides provably allow it; at
/// least one. As kernels take it: sizes, then strides by tensor.
struct GridWalkDims {
  GridWalkDims(const Ints& sizes, const std::vector<Ints>& strides, std::uint32_t dims);
  Ints sizes;
  std::vector<Ints> strides;
  std::int64_t dims() const { return static_cast<std::int64_t>(sizes.size()); }
  Int count() const;
  void add_to(GridLaunchBuilder&) const;
};

/// Numbers the blocks of a grid along x. More than the device can number is more than any memory holds.
inline device::Dim3 grid_of(std::int64_t blocks) { return {static_cast<std::uint32_t>(blocks), 1, 1}; }
inline std::int64_t blocks_for(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

/// Is v this number in every call that the guards admit?
inline bool known_as(Int v, std::int64_t k) { return same_number(v, k); }
inline bool known_above(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() > k; }
inline bool known_at_most(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() <= k; }

}  // namespace reprise::kernels
