#pragma once
#include "bench/device/device_figures.h"

namespace reprise::device_figures {

inline Tensor random_on(const Setting& s, std::vector<Int> sizes, DType t) {
  return randn(sizes, {.dtype = kFloat32}).to(t).to(s.device);
}

/// A few random rows, repeated: speed does not depend on the values, and the host would take seconds to draw them all.
inline Tensor rows_on(const Setting& s, std::int64_t rows, std::int64_t cols, DType t) {
  const std::int64_t few = std::min<std::int64_t>(rows, 64);
  return random_on(s, {few, cols}, t).unsqueeze(0).expand({rows / few, few, cols}).reshape({rows, cols});
}

}  // namespace reprise::device_figures
