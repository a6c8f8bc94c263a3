#pragma once
#include "graph/interpreter.h"

namespace reprise::graph {

/// Does what the call computes, or the dtype of its result, follow from the thread's default dtype: are its operands
/// integers where its rule makes floats of them, or meets them with a float?
bool follows_default_dtype(const OpCall&);

}  // namespace reprise::graph
