#pragma once
#include <cstdint>

#include "import/gguf/types.h"

/// What blocks mean, twice: as ordinary operators, which compile and fuse and run on any device, and for the product's kernel on the host, which unpacks
/// a few rows at a time. Both compute each element by the same operations of float32, in the same order.
///
/// d and m are scales (float16); q what a few bits say.
///   Q8_0: 32 of          d[2] q[32]                   q d, of bytes with a sign
///   Q4_0: 32 of          d[2] q[16]                   (q - 8) d; of the low halves of bytes, then the high ones
///   Q4_K: 256 of         d[2] m[2] s[12] q[128]       q (d s_i) - (m t_i); eight groups of 32 with s_i and t_i of 6 bits in s; by 64 elements the low
///                                                     halves of 32 bytes, then the high ones
///   Q6_K: 256 of         l[128] h[64] s[16] d[2]      (q - 32) (d s_i); groups of 16; by 128 elements four bits in halves of 64 bytes of l, two in
///                                                     quarters of 32 bytes of h
namespace reprise::gguf {

/// n blocks that stand one behind the other.
void unpack(Type, const std::uint8_t* blocks, std::int64_t n, float* to);

/// data: uint8 [..., bytes of a row], halves: the same as float16; gives float32 [..., elements of a row].
Tensor unpack(Type, const Tensor& data, const Tensor& halves, SourceLoc loc);

}  // namespace reprise::gguf
