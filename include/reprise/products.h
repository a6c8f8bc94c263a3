#pragma once
#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Products of more than two factors. Operands have one dtype (DTypeMismatch), and sizes that fit (ShapeMismatch).
namespace reprise REPRISE_VISIBLE {

/// input1 [..., n], input2 [..., m], weight [o, n, m], bias [o] or undefined: [..., o], the sums over n and m of input1
/// * weight * input2, and bias. The sizes before the last are the same in both inputs.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {},
                SourceLoc loc = SourceLoc::current());
/// The product of matrices in the order of multiplications that is cheapest at the sizes of the traced call; the first
/// and the last may be vectors. ATen's multi_dot.
Tensor multi_dot(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// self [..., n, n] multiplied n times by itself (n: a constant of a trace), in about 2 log2(n) products. 0 gives
/// identities, n < 0 the inverse's powers (floats).
Tensor matrix_power(const Tensor& self, std::int64_t n, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
