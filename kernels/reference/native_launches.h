#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The native kernels lowering itself asks for.

/// operands: source, destination, of one dtype and equal sizes (strides may be 0 in the source).
Launch copy_launch(Operand from, Operand to, std::string name, SourceLoc loc);

/// operands: an integer tensor. Fails unless every value is within [0, extent), the size of dimension `dim` (or, when
/// negative values wrap, [-extent, extent)). Writes nothing.
Launch check_index_launch(Operand index, Int extent, int dim, bool wraps, SourceLoc loc, std::string name);
/// operands: integer tensors, which are seen in the sizes of `last` (Int64, row-major), each with the extent of the
/// dimension that it indexes; negative values count from the end. Into `last`: a number for each position, or -1 where
/// a later position names the same place. `table`: Int64, of four times as many elements.
Launch last_places_launch(std::vector<Operand> indices, const Ints& extents, Operand last, Operand table, SourceLoc loc,
                          std::string name);
/// operands: weights, [n] or [rows, n]. Fails unless `wanted` categories can be drawn from each row. Writes nothing.
Launch check_weights_launch(Operand weights, Int wanted, SourceLoc loc, std::string name);
/// What such a launch checks; null when it is neither of them.
std::optional<ValueCheck> value_check(const Launch&);

/// What a fault says. `place`, `value`: as the kernels of kernels/gpu/kernels.h note them; `sizes`: of the checked
/// tensor.
KernelFault check_fault(ValueCheck::Of, std::int64_t place, std::int64_t value, std::span<const std::int64_t> sizes,
                        std::int64_t extent, std::int64_t dim);

}  // namespace reprise::kernels
