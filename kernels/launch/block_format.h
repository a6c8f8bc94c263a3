#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace reprise::kernels {

/// How weights stand in blocks, each row of a matrix a number of them. An element is q s - m: q of a few bits, scale
/// and minimum of a part of the block.
///
/// d and m are float16; numbers in brackets are bytes, in the order in which they stand. "halves": of 16 bytes the low
/// four bits are 16 elements, the high ones the 16 after them.
///   Q4_0: 32 of     d[2] q[16]                      (q - 8) d, by halves
///   Q4_1: 32 of     d[2] m[2] q[16]                 q d + m, by halves
///   Q5_0: 32 of     d[2] h[4] q[16]                 (q - 16) d; as Q4_0, and bit e of h is the fifth of element e
///   Q5_1: 32 of     d[2] m[2] h[4] q[16]            q d + m, as Q5_0
///   Q8_0: 32 of     d[2] q[32]                      q d, of bytes with a sign
///   Q2_K: 256 of    s[16] q[64] d[2] m[2]           q (d s_i) - (m t_i); by 128 elements quarters of 32 bytes; s_i,
///   t_i the halves of byte i, for 16 elements Q3_K: 256 of    h[32] q[64] s[12] d[2]          (q - 4) (d (s_i - 32));
///   as Q2_K, and bit i of byte j of h is the third of element 32 i + j; s_i: six bits, for 16 Q4_K: 256 of    d[2]
///   m[2] s[12] q[128]          q (d s_i) - (m t_i); s_i, t_i: six bits, for 32 elements; by 64 elements the low halves
///   of 32 bytes, then the high ones Q5_K: 256 of    d[2] m[2] s[12] h[32] q[128]    as Q4_K, and bit i of byte j of h
///   is the fifth of element 32 i + j Q6_K: 256 of    l[128] h[64] s[16] d[2]         (q - 32) (d s_i); s_i: bytes with
///   a sign, for 16; by 128 elements four bits in halves of 64 bytes of l, two in
///                                                   quarters of 32 bytes of h
///   IQ4_NL: 32 of   d[2] q[16]                      table[q] d, by halves
///   IQ4_XS: 256 of  d[2] h[2] l[4] q[128]           table[q] (d (s_i - 32)); s_i: four bits of l, two of h, for 32;
///   each 16 bytes by halves G4_n: n of      s[2] z[2] q[n / 2]              (q - z) s; each 16 bytes by halves G8_n: n
///   of      s[2] z[2] q[n]                  (q - z) s
/// The last two are Reprise's own: what files of groups (reprise/quantized.h) become when they are loaded.
enum class BlockFormat : std::uint8_t {
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
  G4_32,
  G4_64,
  G4_128,
  G8_32,
  G8_64,
  G8_128
};

struct BlockFacts {
  BlockFormat format;
  std::string_view name;
  int elements, bytes;
};
inline constexpr BlockFacts kBlockFacts[] = {
    {BlockFormat::Q4_0, "Q4_0", 32, 18},      {BlockFormat::Q4_1, "Q4_1", 32, 20},
    {BlockFormat::Q5_0, "Q5_0", 32, 22},      {BlockFormat::Q5_1, "Q5_1", 32, 24},
    {BlockFormat::Q8_0, "Q8_0", 32, 34},      {BlockFormat::Q2_K, "Q2_K", 256, 84},
    {BlockFormat::Q3_K, "Q3_K", 256, 110},    {BlockFormat::Q4_K, "Q4_K", 256, 144},
    {BlockFormat::Q5_K, "Q5_K", 256, 176},    {BlockFormat::Q6_K, "Q6_K", 256, 210},
    {BlockFormat::IQ4_NL, "IQ4_NL", 32, 18},  {BlockFormat::IQ4_XS, "IQ4_XS", 256, 136},
    {BlockFormat::G4_32, "G4_32", 32, 20},    {BlockFormat::G4_64, "G4_64", 64, 36},
    {BlockFormat::G4_128, "G4_128", 128, 68}, {BlockFormat::G8_32, "G8_32", 32, 36},
    {BlockFormat::G8_64, "G8_64", 64, 68},    {BlockFormat::G8_128, "G8_128", 128, 132},
};
constexpr const BlockFacts& facts_of(BlockFormat f) { return kBlockFacts[static_cast<int>(f)]; }
/// Elements that have one scale: 16 or 32.
constexpr int part_of(BlockFormat f) {
  return f == BlockFormat::Q2_K || f == BlockFormat::Q3_K || f == BlockFormat::Q6_K ? 16 : 32;
}
/// What is added to q so that it has no sign, and the most that it is then.
struct UnsignedRange {
  int added, most;
};
constexpr UnsignedRange unsigned_range(BlockFormat f) {
  switch (f) {
    case BlockFormat::Q4_0: return {8, 15};
    case BlockFormat::Q4_1:
    case BlockFormat::Q4_K:
    case BlockFormat::G4_32:
    case BlockFormat::G4_64:
    case BlockFormat::G4_128: return {0, 15};
    case BlockFormat::Q5_0: return {16, 31};
    case BlockFormat::Q5_1:
    case BlockFormat::Q5_K: return {0, 31};
    case BlockFormat::Q2_K: return {0, 3};
    case BlockFormat::Q3_K: return {4, 7};
    case BlockFormat::Q6_K: return {32, 63};
    case BlockFormat::Q8_0:
    case BlockFormat::IQ4_NL:
    case BlockFormat::IQ4_XS: return {128, 255};
    case BlockFormat::G8_32:
    case BlockFormat::G8_64:
    case BlockFormat::G8_128: return {0, 255};
  }
  return {0, 255};
}
/// Are a block's elements, in order, 4 bits by halves or bytes behind one or two float16 that are the scale, and the
/// minimum or zero, of all of them?
constexpr bool is_plain(BlockFormat f) {
  switch (f) {
    case BlockFormat::Q4_0:
    case BlockFormat::Q4_1:
    case BlockFormat::IQ4_NL:
    case BlockFormat::Q8_0: return true;
    default: return f >= BlockFormat::G4_32;
  }
}
constexpr std::string_view name_of(BlockFormat f) { return facts_of(f).name; }
/// The format of that name.
std::optional<BlockFormat> block_format(std::string_view name);

/// What the four bits of IQ4_NL and IQ4_XS stand for.
inline constexpr std::int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// n blocks that stand one behind the other, in plain C++: the oracle.
void unpack_blocks(BlockFormat, const std::uint8_t* blocks, std::int64_t n, float* to);

}  // namespace reprise::kernels
