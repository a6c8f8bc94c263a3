#pragma once
#include "reprise/int.h"

namespace reprise::graph {

/// A slice's bound within a size, as ATen clamps it, whatever they are: nothing is asked (Note [General traces] in
/// guards/general.h).
Int any_bound(Int i, Int size);
/// Are a slice's bounds to be clamped so?
bool clamps_any(Int start, Int end, Int size);

}  // namespace reprise::graph
