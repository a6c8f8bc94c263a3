#pragma once
#include "reprise/ops.h"

/// Running values along a dimension (cumsum is in reprise/ops.h), and differences. Results have self's sizes unless
/// told otherwise; a 0-dim tensor counts as one of one element. A dimension that is not there: IndexOutOfRange.
namespace reprise REPRISE_VISIBLE {

/// Running products; integers and bools give int64, unless dtype says otherwise. Half types are multiplied in double
/// and rounded once.
Tensor cumprod(const Tensor& self, Int dim, std::optional<DType> dtype = std::nullopt,
               SourceLoc loc = SourceLoc::current());
/// (values, indices): the largest / smallest so far, and where it stands: the last of equal ones. From the first NaN on
/// the values are NaN.
TensorPair cummax(const Tensor& self, Int dim, SourceLoc loc = SourceLoc::current());
TensorPair cummin(const Tensor& self, Int dim, SourceLoc loc = SourceLoc::current());
/// log of the running sums of exp, without overflow. Floats (DTypeMismatch).
Tensor logcumsumexp(const Tensor& self, Int dim, SourceLoc loc = SourceLoc::current());
/// self[i + 1] - self[i] along dim, `n` times over; of bools whether they differ. prepend and append (of self's sizes
/// but along dim, or undefined) are joined to self first. The size of dim becomes n smaller, or 0; where n is 0 the
/// result is self alone. InvalidArgument: n < 0; ShapeMismatch: a 0-dim tensor.
Tensor diff(const Tensor& self, Int n = 1, Int dim = -1, const Tensor& prepend = {}, const Tensor& append = {},
            SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
