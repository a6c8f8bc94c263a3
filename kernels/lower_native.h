#pragma once
#include <vector>

#include "kernels/launch.h"

namespace reprise::kernels {

/// The native kernels lowering itself asks for.

/// operands: source, destination, of one dtype and equal sizes (strides may be 0 in the source).
Launch copy_launch(Operand from, Operand to, std::string name, SourceLoc loc);

/// operands: an integer tensor. Fails unless every value is within [0, extent), the size of dimension `dim` (or, when
/// negative values wrap, [-extent, extent)). Writes nothing.
Launch check_index_launch(Operand index, Int extent, int dim, bool wraps, SourceLoc loc, std::string name);

}  // namespace reprise::kernels
