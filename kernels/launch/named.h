#pragma once
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// What lowering makes launches of beside kernels of operators, each told where it is defined: they have names in
/// kernels/cpu/named_kernels.h.
namespace named {
NativeFn linear(), bmm(), convolution(), convolution_rows(), attention(), scaled(), integers(), packed_integers();
NativeFn block_linear(), copy(), check_index(), last_places(), check_weights();
/// Of operators whose results have sizes that depend on data (operators/data_sizes.cc).
NativeFn nonzero(), repeated();
}  // namespace named

}  // namespace reprise::kernels
