#pragma once
#include "reprise/ops.h"

/// Floats as integers and back, q = clamp(round(x / scale) + zero_point): plain tensors of int8, uint8 or int32 beside
/// their scales. (Products of quantized matrices: scaled_mm, int_mm.) Halves go to the even number. Scales must be
/// positive; those in tensors are not looked at.
namespace reprise REPRISE_VISIBLE {

/// zero_point lies within dtype's range (InvalidArgument), which what is beyond is clamped to; NaN becomes 0.
Tensor quantize_per_tensor(const Tensor& self, double scale, Int zero_point, DType dtype,
                           SourceLoc loc = SourceLoc::current());
/// scales and zero_points [n]: of each slice along axis.
Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, Int axis, DType dtype,
                            SourceLoc loc = SourceLoc::current());
/// (q - zero_point) * scale, float32 unless told otherwise.
Tensor dequantize_per_tensor(const Tensor& self, double scale, Int zero_point,
                             std::optional<DType> out_dtype = std::nullopt, SourceLoc loc = SourceLoc::current());
Tensor dequantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points, Int axis,
                              std::optional<DType> out_dtype = std::nullopt, SourceLoc loc = SourceLoc::current());
/// There and back, between quant_min and quant_max: self's dtype.
Tensor fake_quantize_per_tensor_affine(const Tensor& self, double scale, Int zero_point, Int quant_min, Int quant_max,
                                       SourceLoc loc = SourceLoc::current());
Tensor fake_quantize_per_channel_affine(const Tensor& self, const Tensor& scale, const Tensor& zero_point, Int axis,
                                        Int quant_min, Int quant_max, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
