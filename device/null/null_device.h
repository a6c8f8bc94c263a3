#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "device/backend.h"

namespace reprise::device {

/// The device that computes nothing: it keeps memory, copies bytes, and writes down every kernel it is told to run.
/// (Captured work is queued: it may compute.) What the host runs between parts of a recording is computed as ever, so
/// with no kernels of its own a program is even right there. For tests of everything above a device.
struct NullLaunch {
  std::string name;  ///< of the node
  Dim3 grid, block;
  std::vector<void*> pointers;
  std::vector<std::int64_t> params;
  std::vector<std::uint32_t> after;  ///< indices of nodes of the same graph
};
struct NullRecord {
  std::vector<NullLaunch> launches;  ///< in the order they would have run
  /// counts; queued: runs of what is no graph
  std::int64_t graph_launches = 0, queued = 0, instantiated = 0, reused = 0;
  std::int64_t copied_to = 0, copied_from = 0;  ///< bytes
};
/// What was told since the last call. Threads: any.
NullRecord take_null_record();
/// Whether loop kernels and kernels of devices are generated for it (sm_80's code, never run), or everything runs on
/// the host (default).
void set_null_kernels(bool on);

Backend& null_backend();

}  // namespace reprise::device
