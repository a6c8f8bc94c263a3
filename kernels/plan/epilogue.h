#pragma once
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// to[index] = from[index] as one loop kernel, in the order of the destination's dims.
LoopLaunch copy_loop(const Operand& from, const Operand& to);

/// Appends the launches that copy new values into the written inputs they are not made in (Lowered::Out::target).
void copy_into_inputs(const graph::Graph&, Lowered&);

}  // namespace reprise::kernels
