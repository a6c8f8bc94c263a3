#pragma once
#include <string>
#include <variant>
#include <vector>

#include "graph/op.h"

namespace reprise::test {

using OpArg =
    std::variant<std::monostate, Tensor, std::vector<Tensor>, Int, std::vector<Int>, Scalar, bool, DType, std::string>;

/// One call: an argument for each of the schema, tensors as they are to be passed.
struct OpCase {
  graph::OpId op;
  std::vector<OpArg> args;
};

/// The cases of an operator: dtypes times layouts (contiguous, permuted memory, every second element of a larger
/// buffer, expanded, empty, all sizes 1) times kinds of arguments. Values are the same in every run. Never empty: a new
/// row of the table that the generic rules cannot serve fails here until it has a line in cases.cc.
std::vector<OpCase> cases_of(graph::OpId);

/// The same elements in a buffer of its own, at the same strides.
Tensor same_layout_copy(const Tensor&);

}  // namespace reprise::test
