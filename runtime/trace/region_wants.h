#pragma once
#include <cstddef>
#include <vector>

#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// What of a region wants gradients, as the tape would see it.
struct RegionWants {
  std::vector<bool> results;  ///< by output of its graph: does it, where it may in one turn or branch within it?
  bool lost = false;          ///< carried state does at first, and no turn's does
  bool cut = false;           ///< something that does is used where gradients are off
  bool any() const;
};

/// `operands`: as the tape knows them. `carried`: how many first ones are the state of a loop.
RegionWants wants_of_region(const TracedBranch&, const std::vector<Tensor>& operands, std::size_t carried);

}  // namespace reprise::detail
