#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace reprise::kernels {

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011): four random words
/// for a 128-bit counter under a 64-bit key. Element i of a random tensor uses counter offset + i, so a value depends
/// on (seed, offset, i) alone: not on threads, not on chunks, not on the device.
inline std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t counter, std::uint64_t stream = 0) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0, p1 = std::uint64_t{0xCD9E8D57} * c2;
    std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0,
                  n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = static_cast<std::uint32_t>(p1), c2 = n2, c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

/// Uniform in [0, 1) with `bits` bits, so that a type of that precision holds it exactly and never rounds it to 1.
inline double uniform(const std::array<std::uint32_t, 4>& words, int bits) {
  std::uint64_t w = static_cast<std::uint64_t>(words[0]) << 32 | words[1];
  return static_cast<double>(w >> (64 - bits)) / static_cast<double>(std::uint64_t{1} << bits);
}

/// Standard normal by Box and Muller's transform of two words.
inline double normal(const std::array<std::uint32_t, 4>& words) {
  double u = (static_cast<double>(words[0]) + 1) * 0x1p-32, angle = static_cast<double>(words[1]) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * angle);
}

}  // namespace reprise::kernels
