#pragma once
#include <functional>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// A reduction of much to little, as several kernels for a device that runs a kept point on few of its processors; for
/// each depth of reductions
///   "_part"  for some of the reduced dims, or for chunks of one, what each of them gives, in scratch;
///   "_tail"  the same for what remains of a dim cut into chunks of one length, where something may remain;
///   "_rest"  the reduction of these, and at the last depth all that is done once for each kept point.
/// Where something is stored for every reduced index, "_elements" does that after them, and "_points" then what is done
/// once for each kept point. The kernels are right for all sizes that the guards admit, whatever the hints were.
/// Empty when there is no gain by the sizes at hand (the hints). `scratch` adds a Temp buffer and returns its number.
/// `where`: the line that guards on sizes name.
std::vector<LoopLaunch> split_reduction(const LoopLaunch&, SourceLoc where,
                                        const std::function<std::uint32_t(DType, Int bytes)>& scratch);

}  // namespace reprise::kernels
