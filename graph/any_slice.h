#pragma once
#include <optional>

#include "reprise/int.h"

namespace reprise::graph {

/// A slice's bound within a size, as ATen clamps it, whatever they are: nothing is asked (Note [General traces] in
/// guards/general.h).
Int any_bound(Int i, Int size);
/// The same of what counts from the end by a number of data (-n), whose sign nobody knows. None: it is no such bound.
std::optional<Int> bound_from_end(Int i, Int size);
/// Are a slice's bounds to be clamped so?
bool clamps_any(Int start, Int end, Int size);

}  // namespace reprise::graph
