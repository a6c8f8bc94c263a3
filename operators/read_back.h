#pragma once
#include "graph/op.h"

namespace reprise::operators {

/// reprise::read_back(Tensor self, SymInt number) -> (): the one element of `self`, 64 bits, is the data symbol that
/// has this number in its trace (Note [Sizes that depend on data]). Where it stands, a program's launches are cut into
/// stages.
graph::OpId read_back_op();

}  // namespace reprise::operators
