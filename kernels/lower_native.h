#pragma once
#include <span>
#include <string>
#include <vector>

#include "kernels/launch.h"

namespace reprise::kernels {

/// The native kernels lowering itself asks for.

/// operands: source, destination, of one dtype and equal sizes (strides may be 0 in the source).
Launch copy_launch(Operand from, Operand to, std::string name, SourceLoc loc);

/// operands: an integer tensor. Fails unless every value is within [0, extent), the size of dimension `dim` (or, when
/// negative values wrap, [-extent, extent)). Writes nothing.
Launch check_index_launch(Operand index, Int extent, int dim, bool wraps, SourceLoc loc, std::string name);
bool is_index_check(const Launch&);
/// What its fault says. `position`: of the value among the indices, counted row by row; `sizes`: of the indices.
std::string index_fault(std::int64_t value, std::int64_t position, std::span<const std::int64_t> sizes, std::int64_t extent, std::int64_t dim);

}  // namespace reprise::kernels
