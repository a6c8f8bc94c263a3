#pragma once
#include "reprise/ops.h"

/// Medians and quantiles. Rows are sorted; NaN is the largest.
namespace reprise REPRISE_VISIBLE {

/// The median of all elements as a 0-dim tensor, the lower one of two; NaN where there is one (nanmedian: where there
/// is nothing else), and of no elements. Integers and floats.
Tensor median(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor nanmedian(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// (values, indices) along dim, which must have elements (ShapeMismatch).
TensorPair median(const Tensor& self, Int dim, bool keepdim = false, SourceLoc loc = SourceLoc::current());
TensorPair nanmedian(const Tensor& self, Int dim, bool keepdim = false, SourceLoc loc = SourceLoc::current());

/// The values below which the parts q of the elements lie, along dim or (none) of all elements. q: a number of [0, 1]
/// (InvalidArgument), or a tensor [m] of self's dtype, for which the result has a first dimension of size m (0-dim:
/// none). interpolation between two elements: "linear", "lower", "higher", "midpoint" or "nearest" (halves go to the
/// even one). A row with a NaN gives NaN; nanquantile leaves NaN out. float32 and float64 (DTypeMismatch).
Tensor quantile(const Tensor& self, const Operand& q, std::optional<Int> dim = std::nullopt, bool keepdim = false,
                std::string_view interpolation = "linear", SourceLoc loc = SourceLoc::current());
Tensor nanquantile(const Tensor& self, const Operand& q, std::optional<Int> dim = std::nullopt, bool keepdim = false,
                   std::string_view interpolation = "linear", SourceLoc loc = SourceLoc::current());
/// mean without the NaN among the elements; NaN where nothing is left.
Tensor nanmean(const Tensor& self, const OptionalDims& dim = {}, bool keepdim = false,
               std::optional<DType> dtype = std::nullopt, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
