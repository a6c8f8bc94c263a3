#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// What a device runs. Calls: loop kernels and native kernels are functions of the host. Gpu: loop kernels and GPU
/// kernels are launched on the device, and native kernels are what is left to the host; the epilogue's copies into
/// written inputs are launches, too, the last ones. Apart: the host runs everything for a device with memory of its
/// own, and the epilogue's copies are launches.
enum class LaunchStyle : std::uint8_t { Calls, Gpu, Apart };

/// A ladder for bisecting a wrong result: every node through its reference kernel (what has none by what it
/// has); one launch a node; all that is there.
enum class Mode : std::uint8_t { Interpret, NoFuse, Full };
/// "interpret", "no-fuse", "full".
std::optional<Mode> mode_named(std::string_view);

/// Fuses, assigns buffers, builds launches. May add guards to the graph's environment. The graph must be functional and
/// verified.
Lowered lower(const graph::Graph&, Mode, LaunchStyle style = LaunchStyle::Calls);

}  // namespace reprise::kernels
