#pragma once
#include "device/backend.h"
#include "runtime/replay/program.h"

namespace reprise::runtime {

/// A step that queues another library's work (kernels/reference/captured.h), as a node for these sizes. It refers to
/// the program. What the step reports when it is captured is thrown there, as an Error that names the operator.
device::CapturedNode captured_node(const Program&, const Program::NativeStep&, SlotValues slots);

}  // namespace reprise::runtime
