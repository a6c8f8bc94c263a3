#pragma once
#include "kernels/launch/block_format.h"
#include "reprise/tensor.h"

/// What blocks mean as ordinary operators, which compile and fuse and run on any device. Each element is computed by
/// the operations of float32 that kernels/launch/block_format.h tells, in that order, as the product's kernel does it.
namespace reprise::gguf {

/// data: uint8 [..., bytes of a row], halves: the same as float16; gives float32 [..., elements of a row].
Tensor unpack(kernels::BlockFormat, const Tensor& data, const Tensor& halves, SourceLoc loc);

}  // namespace reprise::gguf
