#pragma once
#include <functional>
#include <optional>

#include "kernels/launch.h"

namespace reprise::kernels {

/// A reduction of much to little, as two kernels for a device that runs a kept point on few of its processors: `part`
/// keeps the outer reduced dims, too, and stores what it has in scratch; `rest` reduces that and does the remainder.
struct SplitReduction {
  LoopLaunch part, rest;
};
/// Nothing when there is no gain by the sizes at hand (the hints), when reductions depend on each other, when something
/// is stored for every reduced index, or when there is but one reduced dim. `scratch` adds a Temp buffer and returns
/// its number.
std::optional<SplitReduction> split_reduction(const LoopLaunch&,
                                              const std::function<std::uint32_t(DType, Int bytes)>& scratch);

}  // namespace reprise::kernels
