#pragma once
#include <cstdint>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What products with quantized weights (reprise/quantized.h, reprise/gguf.h) may take their inputs for.
enum class Activations : std::uint8_t {
  Float32,  ///< what they are
  /// Where a product of bytes is faster, each 16 or 32 elements of a row (as many as have one scale in the weights) are
  /// rounded to 8 bits, with a scale of their own: to half of a 127th of the largest of them. On hosts of x86 that is
  /// so of more than 4 rows, and of fewer with GGUF's Q4_0, Q4_1, IQ4_NL and Q8_0 and with weights quantized by groups;
  /// it takes a half to a quarter of the time. Elsewhere nothing is rounded. What other programs with such files do
  /// (llama.cpp; MatMulNBits of ONNX Runtime at accuracy level 4).
  Int8,
};

}  // namespace REPRISE_VISIBLE
