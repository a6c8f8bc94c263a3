#pragma once
#include <vector>

#include "tests/random/program.h"

namespace reprise::fuzz {

/// Does one step; an in-place step gives the tensor it wrote. Throws what the operator throws.
Tensor run_step(const Step&, const std::vector<Tensor>& pool, const Arguments&);

}  // namespace reprise::fuzz
