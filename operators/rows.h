#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "device/parallel.h"
#include "kernels/reference/elements.h"

/// What kernels of families go by: rows of views of any strides, shared among threads.
namespace reprise::operators {

using kernels::NativeArgs;
using kernels::TensorView;

/// f(begin, end) over [0, n) on several threads; `cost`: about how many elements one of them looks at. Where memory runs out in one of them,
/// std::bad_alloc is thrown here.
template <class F>
void parallel(std::int64_t n, std::int64_t cost, F&& f) {
  struct Work {
    F& f;
    std::atomic<bool> starved{false};
  } work{f};
  device::parallel_for(
      n, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, cost)),
      [](void* p, std::int64_t begin, std::int64_t end) {
        Work& w = *static_cast<Work*>(p);
        try {
          w.f(begin, end);
        } catch (const std::bad_alloc&) {
          w.starved = true;
        }
      },
      &work);
  if (work.starved) throw std::bad_alloc();
}

/// f(offsets) for every index of the first view's sizes, which are the others', too: where it is in each, in elements. For each thread's
/// share a copy of f, so that what it captures by value is its own.
template <std::size_t N, class F>
void parallel_each(const std::array<TensorView, N>& views, std::int64_t cost, const F& f) {
  parallel(views[0].numel(), cost, [&](std::int64_t begin, std::int64_t end) {
    F own = f;
    const TensorView& v = views[0];
    std::int64_t index[kMaxRank] = {};
    std::array<std::int64_t, N> at{};
    std::int64_t rest = begin;
    for (int d = v.rank; d-- > 0; rest /= v.sizes[d]) {
      index[d] = rest % v.sizes[d];
      for (std::size_t i = 0; i < N; ++i) at[i] += index[d] * views[i].strides[d];
    }
    for (std::int64_t n = begin; n < end; ++n) {
      own(at);
      for (int d = v.rank; d-- > 0;) {
        for (std::size_t i = 0; i < N; ++i) at[i] += views[i].strides[d];
        if (++index[d] < v.sizes[d]) break;
        for (std::size_t i = 0; i < N; ++i) at[i] -= views[i].strides[d] * v.sizes[d];
        index[d] = 0;
      }
    }
  });
}

/// All dimensions of a view but one, or but the last few.
inline TensorView without(const TensorView& v, int dim) { return kernels::reference::keep(v, ~(1u << dim) & ((1u << v.rank) - 1)); }
inline TensorView without_last(const TensorView& v, int n) { return kernels::reference::keep(v, (1u << (v.rank - n)) - 1); }

/// `n` elements, `step` apart from offset `at` on, of any dtype: as doubles or as 64-bit integers.
void read_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, double* to);
void read_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, std::int64_t* to);
/// Rounded once, wrapped; floats into integers saturate.
void write_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, const double* from);
void write_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, const std::int64_t* from);

/// f(T{}), T the type that elements of this dtype are computed in: double or std::int64_t.
template <class F>
void in_registers(DType t, F&& f) {
  if (is_floating(t)) f(double{});
  else f(std::int64_t{});
}

}  // namespace reprise::operators
