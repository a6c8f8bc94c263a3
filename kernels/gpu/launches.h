#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "graph/op_column.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The launches that compute `node` on a device of blocks of threads, in order, or nothing when no such kernel is
/// there: the node's native kernel then runs on the host, between two parts of the recording. Operands as for
/// reference_launch. A launch that needs memory of its own takes it from `scratch`, which adds a Temp buffer and
/// returns its number. Native launches among them are small steps of the host that must come first: checks of index
/// values, which may fail.
struct GpuContext {
  const graph::Graph& graph;
  const graph::Node& node;
  std::vector<Operand> operands;  ///< tensors in schema order, then results
  std::function<std::uint32_t(DType, Int bytes)> scratch;
};
std::optional<std::vector<Launch>> gpu_launches(const GpuContext&);

/// Kernels on devices of blocks of threads: launches in order, those of the host that must come first in `before`;
/// nothing where none serves this node. An operator without a row runs on the host.
using GpuRule = std::optional<std::vector<GpuLaunch>> (*)(const GpuContext&, std::vector<Launch>& before);
graph::OpColumn<GpuRule>& gpu_rules();

/// What last_places_launch does (kernels/reference/native_launches.h).
std::vector<GpuLaunch> gpu_last_places(const std::vector<Operand>& indices, const Ints& extents, const Operand& last,
                                       const std::function<std::uint32_t(DType, Int bytes)>& scratch);

/// Which of a launch's numbers may differ from call to call: the number of blocks, then `ints`. They are words of a
/// recording.
std::vector<bool> words_of(const GpuLaunch&);

/// Makes the checks of values kernels of the device, so that no step of the host stands in their places. They note the
/// first fault in a record (kFaultRecord), which the host reads when the replay is over. Until then the work goes on,
/// but launches that would write an argument, or at the indices, are guarded: after a fault they do nothing. (Reads at
/// bad indices are made at good ones: jit/gpu/loop/values.cc.) Launches must be complete.
void check_on_device(Lowered&);

}  // namespace reprise::kernels
