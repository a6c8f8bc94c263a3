#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "device/parallel.h"
#include "kernels/reference/elements.h"

/// Work on rows of views of any strides, shared among threads: each row is one thread's, so results do not depend on
/// how many there are.
namespace reprise::kernels::reference {

/// f(begin, end) over [0, n) on several threads; `cost`: about how many elements one of them looks at. Where memory
/// runs out in one of them, std::bad_alloc is thrown here.
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

/// f(offsets) for every index of the first view's sizes, which are the others', too: where it is in each, in elements.
/// For each thread's share a copy of f, so that what it captures by value is its own.
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

}  // namespace reprise::kernels::reference
