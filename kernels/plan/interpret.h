#pragma once
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Mode "interpret": every node through its reference kernel into a buffer of its own, views free, nothing fused and no
/// write in place. Slow and simple: the form the other modes are compared with.
Lowered lower_interpret(const graph::Graph&);

}  // namespace reprise::kernels
