#pragma once
#include <cstddef>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// On the host: loops over what a product makes, and nobody else reads, become a part of its launch (Note [Fragments]
/// in kernels/cpu/fragment.h). Where what they read beside it is there when the product starts, they run then; else the
/// product waits for them, if what it reads stays as it is. `marked`: a launch's number, which stays that launch's.
void join_fragments(Lowered&, std::size_t& marked);

}  // namespace reprise::kernels
