#pragma once
#include <string_view>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// What a device runs. Calls: loop kernels and native kernels are functions of the host. Gpu: loop kernels and GPU
/// kernels are launched on the device, and native kernels are what is left to the host; the epilogue's copies into
/// written inputs are launches, too, the last ones. Apart: the host runs everything for a device with memory of its own,
/// and the epilogue's copies are launches.
enum class LaunchStyle : std::uint8_t { Calls, Gpu, Apart };

/// Fuses, assigns buffers, builds launches. `mode`: "full", "no-fuse" (one launch a node), "interpret"
/// (every node through its reference kernel). The graph must be functional and verified.
Lowered lower(const graph::Graph&, std::string_view mode, LaunchStyle style = LaunchStyle::Calls);

}  // namespace reprise::kernels
