#pragma once
#include <vector>

#include "graph/interpreter.h"

namespace reprise::detail {

// Note [Shape-only calls]
// Eagerly, an operator of tensors without elements (reprise/shape_only.h), or one that makes such a tensor, is answered
// by its shape rule, the one that serves traces: results are on the device that the rule says, with storages that have
// a size and no bytes. What would be written counts as written (Storage::version), after the checks that a real write
// has. Views, and what moves tensors between devices, are served where they always are. A trace has no such tensors: a
// function that meets one runs eagerly, and one that is called with one is not traced (compile()).

/// Is it such a call?
bool is_shape_only_call(const graph::OpCall&);
/// Throws what the real call throws before it reads elements; then nothing has changed.
void call_shape_only(const graph::OpCall&, std::vector<Tensor>& results);

}  // namespace reprise::detail
