#pragma once
#include "reprise/tensor.h"
#include "reprise/visible.h"
#include "reprise/wrapper.h"

/// Matrices with two zeros in each four elements of a row, as wrapper tensors (docs/wrappers.md). A. Mishra et al.,
/// Accelerating Sparse Deep Neural Networks (2021).
namespace reprise REPRISE_VISIBLE {

/// A matrix [n, k] that keeps two of each four elements: about half of the bytes. linear of one row reads these alone;
/// every other operator computes with plain(). A write in place changes the kept elements alone.
struct SemiSparse24 : Wrapper<SemiSparse24> {
  Tensor values;  ///< [2, n, k / 4]: the first and the second kept element of each four
  Tensor places;  ///< uint8 [n, k / 4]: where they stood, the first + 4 * the second
  REPRISE_FIELDS(SemiSparse24, values, places)

  /// The handle of x without the two smallest absolute values in each four of a row. Throws ShapeMismatch unless x is a
  /// matrix whose rows are a multiple of 4 long, DTypeMismatch for what is no float.
  static Tensor prune(const Tensor& x, SourceLoc loc = SourceLoc::current());

  Looks looks() const { return {{values.size(1), values.size(2) * 4}, values.dtype()}; }
  Tensor plain(SourceLoc loc) const;
  void store(const Tensor& value, SourceLoc loc) const;
  static void dispatch(WrapperCall&);
};

}  // namespace REPRISE_VISIBLE
