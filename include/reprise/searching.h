#pragma once
#include "reprise/ops.h"

/// Where values stand among sorted ones, how many there are of each, and the k-th of them.
namespace reprise REPRISE_VISIBLE {

/// Of each element of self the place in sorted_sequence (sorted along the last dimension, which is not looked at) where
/// it would keep the order: the first such place, or with right the last (side "left" / "right" says the same).
/// sorted_sequence [n] serves self of any sizes; otherwise both have equal sizes but for the last (ShapeMismatch).
/// Dtypes agree (DTypeMismatch); a number becomes sorted_sequence's. int64, or int32 with out_int32, of self's sizes.
/// NaN stands behind all. sorter: sorted_sequence's elements in order, as argsort gives it.
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& self, bool out_int32 = false, bool right = false,
                    std::string_view side = {}, const Tensor& sorter = {}, SourceLoc loc = SourceLoc::current());
/// searchsorted in boundaries [n].
Tensor bucketize(const Operand& self, const Tensor& boundaries, bool out_int32 = false, bool right = false,
                 SourceLoc loc = SourceLoc::current());

/// How many elements lie in each of `bins` equal parts of [min, max], whose end belongs to the last; self's dtype,
/// [bins]. What lies outside, and NaN, is not counted. Where min and max are equal they are those of the elements.
/// InvalidArgument: bins < 1, max < min, a range that is not finite. Not of bools (DTypeMismatch).
Tensor histc(const Tensor& self, Int bins = 100, Scalar min = 0, Scalar max = 0, SourceLoc loc = SourceLoc::current());
/// How often each number from 0 on stands in self ([n], integers; none negative: IndexOutOfRange), int64; with weights
/// (of self's sizes) their sums, of their dtype if that is float32 or float64 and of float64 otherwise. As long as the
/// largest number wants, at least minlength: this is read from self's elements, which ends a capture.
Tensor bincount(const Tensor& self, const Tensor& weights = {}, Int minlength = 0,
                SourceLoc loc = SourceLoc::current());
/// The same of `size` numbers, which compiles: a number that is not below `size` is an IndexOutOfRange.
Tensor bincount_within(const Tensor& self, Int size, const Tensor& weights = {}, SourceLoc loc = SourceLoc::current());

/// (values, indices): the k-th smallest along dim, counted from 1 (IndexOutOfRange); NaN counts as the largest.
TensorPair kthvalue(const Tensor& self, Int k, Int dim = -1, bool keepdim = false,
                    SourceLoc loc = SourceLoc::current());
/// (values, indices): the most frequent value along dim, the smallest of several, and its last index.
TensorPair mode(const Tensor& self, Int dim = -1, bool keepdim = false, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
