#pragma once
#include <string>

#include "graph/graph.h"

namespace reprise::detail {

/// A joint graph as a table of sequence numbers, a row for each node: its number in the trace, the operator, and the
/// function of the program that it comes from ("forward" or, of a derivative, which number it belongs to).
std::string joint_table(const graph::Graph&);

}  // namespace reprise::detail
