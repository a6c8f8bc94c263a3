#pragma once
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"

namespace reprise::kernels {

/// Regions that several nodes call, as they were lowered at first. They outlive it.
using LoweredRegions = std::unordered_map<const graph::Graph*, Lowered>;

/// What is lowered so far, and goes on growing.
struct RegionSink {
  const std::function<std::uint32_t(Buffer)>& add_buffer;
  std::vector<Launch>& launches;
  std::vector<Repeat>& repeats;
  LoweredRegions* known = nullptr;  ///< null: none are kept
};

/// Launches of a node of OpClass::Control on the host: what each region is lowered to, in the place of the node.
/// `operands`: the node's tensors in order, then its results, where they stand. Nothing is fused across the border of a
/// region.
///
/// cond: both regions, each under the condition that it is taken. Temporaries of the two may share memory, since one
/// ends before the other begins.
///
/// region: the launches of its body, which is lowered once for all that call it.
///
/// scan: the region once, in a Repeat. Carried state stands in two temporaries, which change places behind each turn;
/// slices of the stacked tensors and of the stacked results are windows. while_loop: the same without windows, in a
/// Repeat that its first carried tensor ends.
void region_launches(const graph::Graph&, std::uint32_t node, std::span<const Operand> operands, Mode, RegionSink);

}  // namespace reprise::kernels
