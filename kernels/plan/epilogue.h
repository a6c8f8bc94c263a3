#pragma once
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Appends the launches that copy new values into the written inputs they are not made in (Lowered::Out::target).
void copy_into_inputs(const graph::Graph&, Lowered&);

}  // namespace reprise::kernels
