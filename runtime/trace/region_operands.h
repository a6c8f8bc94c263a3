#pragma once
#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// Of traced tensors, which regions are given: as the function sees it.
const TensorMeta& user_meta_of(const Tensor&);
/// May a write to the one change the other?
bool may_meet(const Tensor&, const Tensor&);
/// Do they show the same elements in the same way?
bool is_same_value(const Tensor&, const Tensor&);

}  // namespace reprise::detail
