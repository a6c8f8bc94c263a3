#pragma once
#include <initializer_list>
#include <string_view>

#include "reprise/int.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Convolutions, as ATen defines them (no kernel is turned around). input: [n, c, spatial sizes...], or without the
/// batch dimension; weight: [o, c / groups, kernel sizes...]; bias: [o] or undefined; all of one dtype (DTypeMismatch).
/// The result is [n, o, ...], row-major. Lists have a number for each spatial dimension, or one for all; strides,
/// dilations, groups and kernel sizes are constants of a compilation, sizes of images and the batch are not. Half types
/// are summed in float32.
///
/// ShapeMismatch: wrong ranks, channels that are not weight's times groups, a bias of another size, a kernel larger
/// than the padded image. InvalidArgument: groups that do not divide channels and results, a stride or dilation below
/// 1, negative padding, lists of a wrong length, "same" with a stride.
namespace reprise REPRISE_VISIBLE {

/// Zero padding around an image: the same count on both sides of each dimension; "valid": none; "same": the result has
/// the image's sizes (an odd count puts the extra zero behind).
class ConvPadding {
 public:
  ConvPadding(std::initializer_list<Int> l) : sizes_(l) {}
  ConvPadding(IntArrayRef sizes) : sizes_(sizes.vec()) {}
  template <IntegralNumber T>
  ConvPadding(T all) : sizes_{Int(all)} {}
  ConvPadding(Int all) : sizes_{all} {}
  template <IntegralNumber T>
  ConvPadding(const std::vector<T>& sizes) : ConvPadding(IntArrayRef(sizes)) {}
  ConvPadding(const Ints& sizes) : sizes_(sizes) {}
  ConvPadding(std::string_view mode) : mode_(mode) {}
  ConvPadding(const char* mode) : mode_(mode) {}
  const Ints& sizes() const { return sizes_; }
  std::string_view mode() const { return mode_; }  ///< empty where numbers are given

 private:
  Ints sizes_;
  std::string_view mode_;
};

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              const ConvPadding& padding = 0, IntArrayRef dilation = 1, Int groups = 1,
              SourceLoc loc = SourceLoc::current());
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              const ConvPadding& padding = 0, IntArrayRef dilation = 1, Int groups = 1,
              SourceLoc loc = SourceLoc::current());
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
              const ConvPadding& padding = 0, IntArrayRef dilation = 1, Int groups = 1,
              SourceLoc loc = SourceLoc::current());
/// Transposed: each element of input [n, c, ...] adds weight [c, o / groups, kernel sizes...] times itself to the
/// result; sizes are (i - 1) * stride - 2 * padding + dilation * (k - 1) + 1 + output_padding. output_padding is less
/// than the stride or the dilation.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, Int groups = 1,
                        IntArrayRef dilation = 1, SourceLoc loc = SourceLoc::current());
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, Int groups = 1,
                        IntArrayRef dilation = 1, SourceLoc loc = SourceLoc::current());
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, Int groups = 1,
                        IntArrayRef dilation = 1, SourceLoc loc = SourceLoc::current());
/// The operator of graphs, which the functions above call: rank of input and weight as given, with a batch.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, Int groups,
                   SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
