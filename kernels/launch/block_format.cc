#include "kernels/launch/block_format.h"

#include <algorithm>
#include <cstring>

#include "reprise/dtype.h"

namespace reprise::kernels {

namespace {

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kBlockFacts); ++i)
    if (static_cast<std::size_t>(kBlockFacts[i].format) != i) return false;
  return true;
}
static_assert(in_order(), "a row for each format, in their order");

float half_at(const std::uint8_t* p) {
  Half h;
  std::memcpy(&h.bits, p, 2);
  return static_cast<float>(h);
}
int signed_at(const std::uint8_t* p) { return static_cast<std::int8_t>(*p); }

/// One element: q s - m.
struct Element {
  int q = 0;
  float scale = 0, least = 0;
};

/// Of 32 elements in 16 bytes.
int by_halves(const std::uint8_t* q, int e) { return e < 16 ? q[e] & 15 : q[e - 16] >> 4; }

/// Of 12 bytes eight numbers of 6 bits, and eight more: four of each have bytes of their own, whose upper two bits are
/// those of the other four.
void scales_of_k(const std::uint8_t* s, int i, int& scale, int& least) {
  if (i < 4) scale = s[i] & 63, least = s[i + 4] & 63;
  else scale = (s[i + 4] & 15) | (s[i - 4] >> 6) << 4, least = s[i + 4] >> 4 | (s[i] >> 6) << 4;
}

Element element(BlockFormat f, const std::uint8_t* b, int e) {
  const float d = half_at(b);
  switch (f) {
    case BlockFormat::Q4_0: return {by_halves(b + 2, e) - 8, d};
    case BlockFormat::Q4_1: return {by_halves(b + 4, e), d, -half_at(b + 2)};
    case BlockFormat::Q5_0: return {(by_halves(b + 6, e) | (b[2 + e / 8] >> (e % 8) & 1) << 4) - 16, d};
    case BlockFormat::Q5_1: return {by_halves(b + 8, e) | (b[4 + e / 8] >> (e % 8) & 1) << 4, d, -half_at(b + 2)};
    case BlockFormat::Q8_0: return {signed_at(b + 2 + e), d};
    case BlockFormat::Q2_K: {
      const std::uint8_t s = b[e / 16];
      return {b[16 + e / 128 * 32 + e % 32] >> (e / 32 % 4 * 2) & 3, half_at(b + 80) * static_cast<float>(s & 15),
              half_at(b + 82) * static_cast<float>(s >> 4)};
    }
    case BlockFormat::Q3_K: {
      const int i = e / 16, low = i < 8 ? b[96 + i] & 15 : b[88 + i] >> 4,
                s = low | (b[104 + i % 4] >> (i / 4 * 2) & 3) << 4;
      const int q = (b[32 + e / 128 * 32 + e % 32] >> (e / 32 % 4 * 2) & 3) | (b[e % 32] >> (e / 32) & 1) << 2;
      return {q - 4, half_at(b + 108) * static_cast<float>(s - 32)};
    }
    case BlockFormat::Q4_K:
    case BlockFormat::Q5_K: {
      const int i = e / 32;
      int s = 0, t = 0;
      scales_of_k(b + 4, i, s, t);
      const std::uint8_t* q = b + (f == BlockFormat::Q4_K ? 16 : 48) + i / 2 * 32 + e % 32;
      const int fifth = f == BlockFormat::Q4_K ? 0 : b[16 + e % 32] >> i & 1;
      return {(i % 2 ? *q >> 4 : *q & 15) | fifth << 4, d * static_cast<float>(s),
              half_at(b + 2) * static_cast<float>(t)};
    }
    case BlockFormat::Q6_K: {
      const int half = e / 128, in = e % 128, low = b[half * 64 + in % 64],
                high = b[128 + half * 32 + in % 32] >> (in / 32 * 2) & 3;
      return {((in < 64 ? low & 15 : low >> 4) | high << 4) - 32,
              half_at(b + 208) * static_cast<float>(signed_at(b + 192 + e / 16))};
    }
    case BlockFormat::IQ4_NL: return {kIq4Table[by_halves(b + 2, e)], d};
    case BlockFormat::IQ4_XS: {
      const int i = e / 32, s = (b[4 + i / 2] >> (i % 2 * 4) & 15) | ((b[2] | b[3] << 8) >> (i * 2) & 3) << 4;
      return {kIq4Table[by_halves(b + 8 + i * 16, e % 32)], d * static_cast<float>(s - 32)};
    }
    case BlockFormat::G4_32:
    case BlockFormat::G4_64:
    case BlockFormat::G4_128: return {by_halves(b + 4 + e / 32 * 16, e % 32) - static_cast<int>(half_at(b + 2)), d};
    case BlockFormat::G8_32:
    case BlockFormat::G8_64:
    case BlockFormat::G8_128: return {b[4 + e] - static_cast<int>(half_at(b + 2)), d};
  }
  return {};
}

}  // namespace

std::optional<BlockFormat> block_format(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kBlockFacts), std::end(kBlockFacts), [&](const BlockFacts& f) { return f.name == name; });
  if (found == std::end(kBlockFacts)) return std::nullopt;
  return found->format;
}

void unpack_blocks(BlockFormat format, const std::uint8_t* blocks, std::int64_t n, float* to) {
  const BlockFacts& f = facts_of(format);
  for (std::int64_t i = 0; i < n; ++i)
    for (int e = 0; e < f.elements; ++e) {
      const Element x = element(format, blocks + i * f.bytes, e);
      const float product = static_cast<float>(x.q) * x.scale;
      *to++ = product - x.least;
    }
}

}  // namespace reprise::kernels
