#pragma once
#include <cstddef>
#include <string_view>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// On devices of blocks of threads: products of one row, what is computed of their elements and what makes that row
/// become one launch (Note [Joined products] in kernels/gpu/product_joined.h). `function`: for the log; `marked`: a
/// launch's number, which stays that launch's.
void join_products(Lowered&, std::string_view function, std::size_t& marked);
/// Of such a launch: may its matrices be read before earlier launches are over? Launches must be complete.
void read_matrices_early(Lowered&);

}  // namespace reprise::kernels
