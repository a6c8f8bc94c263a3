#pragma once
#include <vector>

#include "jit/engine/engine.h"

namespace reprise::jit {

/// AMX's instructions, with a thread's tiles in memory, and VDPBF16PS, as functions that generated code calls by name
/// where REPRISE_CPU says so. What they compute is what Intel's manual says of the instructions, bit for bit but for
/// which NaN it is: so the code around them runs, and is tested, on processors that lack them. On other processors than
/// those with AVX-512 there are none.
///
///   reprise_tile_config(config), reprise_tile_release(), reprise_tile_zero(tile), reprise_tile_load(tile, from,
///   stride), reprise_tile_store(tile, to, stride), reprise_tile_bf16(sums, a, b), reprise_tile_int8(sums, a, b) tiles
///   by number, strides in bytes reprise_dot_bf16(sums, a, b, out, lanes)
const std::vector<RuntimeCall>& emulated_instructions();

}  // namespace reprise::jit
