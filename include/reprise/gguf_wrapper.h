#pragma once
#include "reprise/gguf.h"
#include "reprise/visible.h"
#include "reprise/wrapper.h"

namespace reprise REPRISE_VISIBLE {

/// Weights of a GGUF file as one tensor (docs/wrappers.md), so that functions written for plain tensors take them.
/// linear, and matmul with the transpose, unpack in registers (gguf::linear); embedding unpacks the rows that are
/// looked up; every other operator computes with what dequantize() gives. They are not written.
struct Quantized4 : Wrapper<Quantized4> {
  gguf::Blocks blocks;  ///< of any type of the format, not only of 4 bits
  DType looks_like = kFloat32;
  bool transposed = false;
  Activations activations = Activations::Float32;  ///< of linear
  REPRISE_FIELDS(Quantized4, blocks, looks_like, transposed, activations)

  /// The handle. Throws InvalidArgument where there are no blocks, DTypeMismatch for a dtype that is no float.
  static Tensor of_blocks(const gguf::Blocks& blocks, DType looks_like = kFloat32,
                          Activations activations = Activations::Float32, SourceLoc loc = SourceLoc::current());

  Looks looks() const;
  Tensor plain(SourceLoc loc) const;
  static void dispatch(WrapperCall&);
};

}  // namespace REPRISE_VISIBLE
