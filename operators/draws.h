#pragma once
#include "graph/op.h"

namespace reprise::operators {

/// rand, randn and multinomial where the place of the generator is data, as it is in bodies that run several times:
/// `seed` and `offset` are int64 of one element, and the numbers begin `plus` behind that offset.
///
///   reprise::rand_at(Tensor seed, Tensor offset, SymInt[] size, *, ScalarType dtype, str device='cpu', SymInt plus)
///   reprise::multinomial_at(Tensor self, Tensor seed, Tensor offset, SymInt num_samples, bool replacement, SymInt
///   plus)
///
/// Null for an operator that draws none.
const graph::OpDef* draws_at(graph::OpId);

/// reprise::place_of_draws(SymInt number) -> Tensor: the seed or the offset as data. No fused kernel makes it: the
/// numbers of those are a recording's, and these are other ones in each call.
graph::OpId place_of_draws_op();

void register_draws();

}  // namespace reprise::operators
