#pragma once
#include <cstdint>
#include <functional>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// What a launch moves and computes. Bytes: of each operand the elements that are touched, once, as if a cache held
/// them until the launch ends. Of a loop kernel's predicated accesses (the parts of a cat) each counts as if it were
/// always made. Flops: one for each operation on floats, two for each step of a product; of kernels that compute
/// otherwise, 0: nobody knows.
struct Work {
  std::int64_t bytes = 0, flops = 0;
};
/// `value`: what an expression of the launch is in a call.
Work work_of(const Launch&, const graph::Graph&, const std::function<std::int64_t(const Int&)>& value);

}  // namespace reprise::kernels
