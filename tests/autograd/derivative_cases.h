#pragma once
#include "tests/operators/row_cases.h"

namespace reprise::test {

/// Calls of the rows of ops.def that have derivatives, as those of families in tests/operators/row_cases.h.
std::vector<RowCase> built_in_derivative_cases();

}  // namespace reprise::test
