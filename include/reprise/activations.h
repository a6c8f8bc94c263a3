#pragma once
#include <cstdint>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What products with quantized weights (reprise/quantized.h, reprise/gguf.h) may take their inputs for.
enum class Activations : std::uint8_t {
  Float32,  ///< what they are
  /// Where a product of bytes is faster, each 16 or 32 elements of a row (as many as have one scale in the weights) are rounded to 8 bits, with a scale of their own: to half of
  /// a 127th of the largest of them. On the host that is so of more than 8 rows, where it takes a half to a quarter of the time; elsewhere nothing is rounded. What other
  /// programs with such files do (llama.cpp; MatMulNBits of ONNX Runtime at accuracy level 4).
  Int8,
};

}  // namespace reprise
