#pragma once
#include "reprise/tensor.h"

namespace reprise::test {

/// Element i in row-major order, as a float32.
inline float at(const Tensor& t, int i) { return t.to_vector<float>()[static_cast<std::size_t>(i)]; }

}  // namespace reprise::test
