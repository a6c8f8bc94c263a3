#pragma once
#include <functional>
#include <span>
#include <vector>

#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"

namespace reprise::kernels {

/// Launches of a node of OpClass::Control on the host: what each region is lowered to, in the place of the node, under
/// the condition that it is taken. `operands`: the node's tensors in order (what decides first), then its results,
/// where they stand. Nothing is fused across the border of a region; temporaries of the two may share memory, since one
/// ends before the other begins.
void region_launches(const graph::Graph&, std::uint32_t node, std::span<const Operand> operands, Mode,
                     const std::function<std::uint32_t(Buffer)>& add_buffer, std::vector<Launch>& out);

}  // namespace reprise::kernels
