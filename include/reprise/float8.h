#pragma once
#include <cstdint>

#include "reprise/tensor.h"
#include "reprise/visible.h"
#include "reprise/wrapper.h"

/// Matrices of 8-bit floats with their scales, as wrapper tensors (docs/wrappers.md), and training with them. Scales
/// are torchao's: max(dtype) / max(amax, 1e-12), where amax is of what shares a scale. P. Micikevicius et al., FP8
/// Formats for Deep Learning (2022).
namespace reprise REPRISE_VISIBLE {

/// Which elements share a scale.
enum class Float8Scaling : std::uint8_t {
  PerTensor,
  PerRow,    ///< those of the last dimension
  PerBlock,  ///< of a matrix: `block_rows` x `block_columns`
};

struct Float8Options {
  Float8Scaling scaling = Float8Scaling::PerTensor;
  DType dtype = kFloat8E4M3FN;  ///< or kFloat8E5M2
  std::int64_t block_rows = 128, block_columns = 128;
  bool power_of_two = false;  ///< scales are rounded down to powers of two
};

/// A tensor of float8 with scales. linear, matmul and mm multiply the bytes as they are stored (scaled_mm), also of
/// weights beside a plain activation; transposing a matrix costs nothing. Every other operator computes with plain().
/// copy_ and what else writes in place quantizes again, by the scales that there are.
struct Float8 : Wrapper<Float8> {
  Tensor data;                   ///< float8
  Tensor scale;                  ///< float32: an element is data * scale
  DType looks_like = kBFloat16;  ///< the dtype of the handle
  /// Elements that share a scale, in the last two dimensions; 0: all of the dimension. scale has as many dimensions as
  /// data, and of each the size divided by this.
  std::int64_t rows = 0, columns = 0;
  REPRISE_FIELDS(Float8, data, scale, looks_like, rows, columns)

  /// The handle of x, quantized; it looks like x. Where x wants gradients they go through to it as they come. Throws
  /// DTypeMismatch for x of no float or a dtype that is no float8, ShapeMismatch for blocks of what is no matrix, or
  /// that do not divide it.
  static Tensor quantize(const Tensor& x, const Float8Options& options = {}, SourceLoc loc = SourceLoc::current());
  /// The same with given scales (1 / factor), of sizes as `scale` has them.
  static Tensor quantize_with(const Tensor& x, const Tensor& scale, const Float8Options& options = {},
                              SourceLoc loc = SourceLoc::current());

  Looks looks() const { return {data.sizes(), looks_like}; }
  Tensor plain(SourceLoc loc) const;
  void store(const Tensor& value, SourceLoc loc) const;
  static void dispatch(WrapperCall&);
};

/// The largest absolute value of what shares a scale, as float32, of sizes as Float8::scale has them.
Tensor float8_amax(const Tensor& x, const Float8Options& options = {}, SourceLoc loc = SourceLoc::current());
/// The scale that goes with it: an element is data * scale.
Tensor float8_scale(const Tensor& amax, const Float8Options& options = {}, SourceLoc loc = SourceLoc::current());

/// How a layer is trained in float8.
struct Float8Training {
  Float8Scaling scaling = Float8Scaling::PerTensor;  ///< or PerRow
  DType forward = kFloat8E4M3FN;                     ///< of activations and weights
  DType backward = kFloat8E5M2;                      ///< of gradients
  /// Delayed scaling (PerTensor): the largest absolute values of the last calls, float32 [n], of activations and of
  /// weights. Scales are of the largest among them, and this call's is put in front; gradients are scaled by
  /// themselves. Undefined: scales are of the tensors themselves.
  Tensor input_history = {}, weight_history = {};
};
/// linear(x, weight, bias) whose three products (forward, and both gradients) multiply float8. x [..., in] and weight
/// [out, in] stay as they are: master weights in float32, bfloat16 or float16, which the optimizer updates.
Tensor float8_linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Float8Training& how = {},
                     SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
