#pragma once
#include <vector>

#include "tests/support/op_case.h"

namespace reprise::test {

/// The cases of an operator: dtypes times layouts (contiguous, permuted memory, every second element of a larger
/// buffer, expanded, empty, all sizes 1) times kinds of arguments. Values are the same in every run. Never empty: a new
/// row of the table that the generic rules cannot serve fails here until it has a line in cases.cc.
std::vector<OpCase> cases_of(graph::OpId);

/// The same elements in a buffer of its own, at the same strides.
Tensor same_layout_copy(const Tensor&);

}  // namespace reprise::test
