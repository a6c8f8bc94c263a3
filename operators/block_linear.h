#pragma once
#include "kernels/launch/block_format.h"
#include "reprise/activations.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"

namespace reprise::operators {

/// x [m, k], float32, times the matrix of which `rows`, uint8 [n, bytes of a row], holds the blocks, transposed:
/// float32 [m, n], by the kernel of the host (kernels/cpu/block_linear.h), which may round x as `activations` says. On
/// devices it is a step of the host. Throws DTypeMismatch, ShapeMismatch.
Tensor block_linear(const Tensor& x, const Tensor& rows, kernels::BlockFormat, Activations, SourceLoc);

}  // namespace reprise::operators
