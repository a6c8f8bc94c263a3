#pragma once
#include <cstdint>
#include <optional>

#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Results whose sizes depend on elements. Inside a trace such a size is a symbol that is known once a part of the call
/// has run, and so is the number that Tensor::item gives: functions that compute with them are compiled
/// (docs/data_sizes.md).
namespace reprise REPRISE_VISIBLE {

/// n, which lies between lo and hi: both inclusive, numbers or sizes. Of a number that depends on data, what a trace
/// knows of it from here on. Throws InvalidArgument where it does not, with every tensor as before the call if the
/// function is compiled, and for lo > hi.
Int check_size(Int n, Int lo = 0, Int hi = INT64_MAX, SourceLoc loc = SourceLoc::current());

/// Where self is not zero, in row-major order: int64 [n, self.dim()].
Tensor nonzero(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The same of a tensor of any rank; ATen's other name.
Tensor argwhere(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The first `size` rows of nonzero; where there are fewer, the rest is fill_value.
Tensor nonzero_static(const Tensor& self, Int size, Int fill_value = -1, SourceLoc loc = SourceLoc::current());
/// self's elements where mask (bool) holds; the two broadcast: [n].
Tensor masked_select(const Tensor& self, const Tensor& mask, SourceLoc loc = SourceLoc::current());

/// `inverse` and `counts` are undefined where they were not asked for.
struct Unique {
  Tensor values;   ///< [n]
  Tensor inverse;  ///< int64 of self's sizes: values[inverse] is self
  Tensor counts;   ///< int64 [n]: how often each stands in self
};
/// The different elements, in ascending order. A NaN is different from any.
Unique unique(const Tensor& self, bool return_inverse = false, bool return_counts = false,
              SourceLoc loc = SourceLoc::current());
/// The different slices along dim, in ascending order by the first element in which two differ. `values` is self with
/// fewer of them; `inverse` is [self.size(dim)].
Unique unique_dim(const Tensor& self, Int dim, bool return_inverse = false, bool return_counts = false,
                  SourceLoc loc = SourceLoc::current());
/// The same of runs: of equal elements in row-major order, or of equal slices along dim.
Unique unique_consecutive(const Tensor& self, bool return_inverse = false, bool return_counts = false,
                          std::optional<Int> dim = std::nullopt, SourceLoc loc = SourceLoc::current());

/// Each slice of self along dim as often as repeats, integers [self.size(dim)] or of one element, says: repeats.sum()
/// of them. Throws InvalidArgument for a negative one.
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, Int dim, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
