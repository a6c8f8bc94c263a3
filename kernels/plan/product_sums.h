#pragma once
#include <cstddef>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// On the host: a sum that is a launch of its own, of a product and something else, becomes a part of the product,
/// which adds what it makes to what is there; where that is needed no more, its memory is the sum's. So a sum of many
/// products takes one buffer, and no pass over memory of its own. `marked`: a launch's number, which stays that
/// launch's.
void join_sums(Lowered&, std::size_t& marked);

}  // namespace reprise::kernels
