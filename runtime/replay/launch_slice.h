#pragma once
#include <cstdint>

#include "base/timeline.h"
#include "kernels/launch/launch.h"

namespace reprise::runtime {
/// Adds a slice to the timeline (base/timeline.h): a launch has run on the host. `bytes`: kernels::Work.
void add_launch_slice(const kernels::Launch&, timeline::Time begin, timeline::Time end, std::int64_t bytes);
}  // namespace reprise::runtime
