#pragma once
#include <cstdint>
#include <vector>

#include "reprise/kernel.h"

namespace reprise::test {

/// f(float&, place in row-major order) for the elements of a view that a kernel is given.
template <class F>
void each(const TensorView& t, F&& f) {
  const std::int64_t n = t.numel();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t at = 0, rest = i;
    for (int d = t.rank; d-- > 0; rest /= t.sizes[d]) at += rest % t.sizes[d] * t.strides[d];
    f(reinterpret_cast<float*>(t.data)[at], i);
  }
}
inline std::vector<float> values_of(const TensorView& t) {
  std::vector<float> out;
  each(t, [&](float& x, std::int64_t) { out.push_back(x); });
  return out;
}

}  // namespace reprise::test
