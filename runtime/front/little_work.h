#pragma once
#include "graph/interpreter.h"

namespace reprise::runtime {

/// Does the reference kernel of this call's operator (kernels/reference) take less than making code would by far, some
/// hundreds of microseconds at most? By the sizes of its operands; false where these do not tell, and of what writes,
/// which wants code to copy.
bool is_little_by_reference(const graph::OpCall&);

}  // namespace reprise::runtime
