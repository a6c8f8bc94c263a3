#pragma once
#include <vector>

#include "kernels/loop/ir.h"

namespace reprise::jit {

// Note [Values of 16 bits]
// What results know of a value only through a rounding to 8 or 16 bits need not be Float32's best. Such values of exp,
// exp2, sigmoid, tanh and erf are made of the processor's approximations alone (docs/cuda.md says how close they come:
// 2^-14 of the value and better, a Float16 has 2^-11), and sums of products in one rounding. A value counts as one
// where every use of it is one: a store to a narrow dtype or a cast to it, or an operation or reduction whose own value
// is one and does not make more of a relative error than a program that rounds each operation's result would (sums,
// products, comparisons of two values are; exponentials of it, comparisons that choose, integers of it are not; nor are
// differences, in which one operator may take from a number what is near it, as tanhshrink does).
/// By node.
std::vector<bool> rounded_to_16_bits(const kernels::LoopKernel&);
/// By node: is the value only ever added to 1, so that what it loses near 0 is not seen?
std::vector<bool> known_beside_one(const kernels::LoopKernel&);

}  // namespace reprise::jit
