#pragma once
#include <cstdint>
#include <vector>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What a message along an axis of a mesh costs: latency + bytes / bandwidth (the alpha-beta model).
struct LinkCosts {
  double latency_us = 5;        ///< of one step of a collective; a ring of n ranks takes n - 1 of them
  double bytes_per_us = 200e3;  ///< that a rank sends along the axis: 200 GB/s
};

/// What a plan's costs are computed by (docs/placement.md). The defaults are round numbers of an H100 with NVLink;
/// put in what you measured. All must be positive (latencies may be 0).
struct PlacementCosts {
  std::vector<LinkCosts> axes = {};  ///< by axis of the mesh; the last stands for further ones, the defaults for none
  double flops_per_us = 400e6;       ///< of products on one rank
  double bytes_per_us = 2e6;         ///< of memory that one rank reads and writes
};

}  // namespace REPRISE_VISIBLE
