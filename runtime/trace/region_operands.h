#pragma once
#include <string>

#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

// Of traced tensors, which regions are given.
inline TracedRef& ref_of_traced(const Tensor& t) { return static_cast<TracedRef&>(*t.impl()->trace); }
/// As the function sees it.
inline const TensorMeta& user_meta_of(const Tensor& t) { return ref_of_traced(t).user_meta; }
/// May a write to the one change the other?
bool may_meet(const Tensor&, const Tensor&);
/// Do they show the same elements in the same way?
bool is_same_value(const Tensor&, const Tensor&);

/// "float32 [4, s0]", in what is refused.
std::string shown(const TensorMeta&);
/// Behind a change of a graph's inputs: each value knows which input it is.
void number_inputs(graph::Graph&);
/// Throws NotTraceable: what the region does, a phrase that follows its name, has no derivative that is compiled.
[[noreturn]] void refuse_on_tape(RegionKind, SourceLoc, const char* what);

}  // namespace reprise::detail
