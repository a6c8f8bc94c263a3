#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace reprise {

/// Stable 64-bit hashing: the same value in every process and build (files and cache keys hold it).
inline constexpr std::uint64_t kHashSeed = 0x8f2d5a3c71e94b67ull;

inline std::uint64_t hash_mix(std::uint64_t h, std::uint64_t word) {
  unsigned __int128 p = static_cast<unsigned __int128>(h ^ 0x9e3779b97f4a7c15ull) * (word ^ 0xd6e8feb86659fd93ull);
  // h and word are added back in because either factor may be zero, which would forget the other one.
  std::uint64_t x = static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
  x = (x + ((h << 23) | (h >> 41)) + word) * 0xa0761d6478bd642full;
  return x ^ (x >> 32);
}

inline std::uint64_t hash_mix(std::uint64_t h, std::string_view text) {
  h = hash_mix(h, static_cast<std::uint64_t>(text.size()));
  for (std::size_t i = 0; i < text.size(); i += 8) {
    std::uint64_t w = 0;
    std::memcpy(&w, text.data() + i, text.size() - i < 8 ? text.size() - i : 8);
    h = hash_mix(h, w);
  }
  return h;
}

inline std::uint64_t hash_text(std::string_view text) { return hash_mix(kHashSeed, text); }

}  // namespace reprise
