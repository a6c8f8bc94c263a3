#pragma once
#include <cstddef>
#include <vector>

#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// What a region that the tape sees writes from outside. Its new values become results of the region, which then writes
/// nothing, and are written back on the tape as the program would have written them (copy_).
///
/// A tensor whose elements do not stand row by row is none of these: the derivative runs the region on copies, which
/// do. Such a write, and those to tensors that are seen under several names, end the trace (NotTraceable).
class RegionWrites {
 public:
  /// Of a loop's body: what it writes is carried state behind the first `carried` tensors, which that then counts too;
  /// what it writes of slices is stacked, behind its results.
  static RegionWrites of_loop(Tracer&, TracedBranch& body, std::size_t& carried, std::size_t stacked, RegionKind,
                              SourceLoc);
  /// Of cond: what either branch writes is a result of both, behind those that they have.
  static RegionWrites of_branches(Tracer&, TracedBranch& then, TracedBranch& otherwise, SourceLoc);

  /// Writes new values back, and gives the other results. `first`: how many leading results of the region are left out.
  std::vector<Tensor> write_back(std::vector<Tensor> results, SourceLoc, std::size_t first = 0) const;

 private:
  struct Write {
    Tensor target;  ///< as the tape knows it
    std::size_t result;
  };
  std::vector<Write> writes_;
};

}  // namespace reprise::detail
