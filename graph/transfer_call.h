#pragma once
#include "graph/interpreter.h"

namespace reprise::graph {

/// Eager execution of operators of OpClass::Transfer. What is to be copied in between is called for (contiguous).
void transfer_call(const OpCall&, std::vector<Tensor>& results);

}  // namespace reprise::graph
