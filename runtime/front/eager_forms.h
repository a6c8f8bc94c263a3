#pragma once
#include <vector>

#include "graph/interpreter.h"
#include "graph/op_column.h"

namespace reprise::runtime {

/// What eager execution does otherwise for an operator.
struct EagerForm {
  /// Arguments (bit i: argument i) of which a number stays a number; others become tensors of one element, so that one
  /// piece of code serves all numbers.
  unsigned numbers = 0;
  /// Argument 0 is a list, argument 1 all else: a long list is done by groups, and then their results.
  bool in_groups = false;
  /// Does the call, in place of code that is made for it; null: code is made.
  void (*direct)(const graph::OpCall&, std::vector<Tensor>& results) = nullptr;
};
/// "eager form"; for most operators nothing is told.
graph::OpColumn<EagerForm>& eager_forms();

}  // namespace reprise::runtime
