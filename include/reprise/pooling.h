#pragma once
#include <optional>

#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Pooling over the one, two or three last dimensions of self [n, c, ...], or [c, ...]: names, arguments and results
/// are ATen's, results row-major. Lists have a number for each of these dimensions, or one for all; a stride that is
/// left out is the kernel's size. Kernels, strides, padding and dilations are constants of a compilation, sizes of self
/// are not.
///
/// Padding is never the maximum, and counts as 0 in an average. ceil_mode: windows that begin in self or in its padding
/// before it count, though they reach further. ShapeMismatch: wrong ranks, a result of no elements. InvalidArgument: a
/// kernel, stride or dilation below 1, padding of more than half of the kernel, lists of a wrong length, a divisor of
/// 0. DTypeMismatch: averages of integers but int64 (rounded towards 0), bools.
namespace reprise REPRISE_VISIBLE {

Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false, SourceLoc loc = SourceLoc::current());
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false, SourceLoc loc = SourceLoc::current());
Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  IntArrayRef dilation = 1, bool ceil_mode = false, SourceLoc loc = SourceLoc::current());
/// And where in a plane of self each comes from: int64, counted row by row, of equal ones the first, of several NaN the
/// last.
TensorPair max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                   IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false,
                                   SourceLoc loc = SourceLoc::current());
TensorPair max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                   IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false,
                                   SourceLoc loc = SourceLoc::current());
TensorPair max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                   IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false,
                                   SourceLoc loc = SourceLoc::current());
/// Sums over what is there divided by divisor_override, by the window's size with padding, or without count_include_pad
/// by what lies in self.
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<Int> divisor_override = std::nullopt, SourceLoc loc = SourceLoc::current());
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<Int> divisor_override = std::nullopt, SourceLoc loc = SourceLoc::current());
Tensor avg_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<Int> divisor_override = std::nullopt, SourceLoc loc = SourceLoc::current());
/// Pools to these sizes (the last two of three are compile-time constants): window i of a dimension of size m goes from
/// i * m / output to (i + 1) * m / output, rounded up.
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
Tensor adaptive_avg_pool3d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
/// Values and places, as above.
TensorPair adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
TensorPair adaptive_max_pool2d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
TensorPair adaptive_max_pool3d(const Tensor& self, IntArrayRef output_size, SourceLoc loc = SourceLoc::current());
/// The root of sums of powers: sum(x^p)^(1/p).
Tensor lp_pool1d(const Tensor& self, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false, SourceLoc loc = SourceLoc::current());
Tensor lp_pool2d(const Tensor& self, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false, SourceLoc loc = SourceLoc::current());
Tensor lp_pool3d(const Tensor& self, double norm_type, IntArrayRef kernel_size, IntArrayRef stride = {},
                 bool ceil_mode = false, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
