#pragma once
#include "kernels/launch/block_format.h"
#include "reprise/activations.h"
#include "reprise/tensor.h"

namespace reprise::gguf {

/// Weights in blocks, of whatever file: uint8 [..., rows, bytes of a row], and the same bytes as float16.
struct Rows {
  kernels::BlockFormat format;
  Tensor data, halves;
};
/// What `op`, a public function, makes of x [..., in], in x's dtype: times the weight, of `sizes`, transposed (+ bias).
Tensor linear(const char* op, const Tensor& x, const Rows& weight, const Ints& sizes, const Tensor& bias, Activations,
              SourceLoc loc);

}  // namespace reprise::gguf
