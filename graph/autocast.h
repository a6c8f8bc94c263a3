#pragma once
#include "graph/op_column.h"

namespace reprise::graph {

/// What autocast makes of an operator's floating operands; of float64 and of in-place calls nothing. The lists are
/// ATen's.
enum class AutocastRule : std::uint8_t {
  Lower,     ///< cast to the scope's dtype: products
  Float32,   ///< cast to float32: what needs its digits or its range
  Result32,  ///< its argument `dtype` is float32 unless given: sums and what divides by them
  Widest,    ///< cast to the widest dtype among them
};
/// "autocast"; of most operators nothing is told, and they take what they are given.
OpColumn<AutocastRule>& autocast_rules();

}  // namespace reprise::graph
