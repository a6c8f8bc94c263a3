#pragma once
#include <cstdint>
#include <vector>

namespace digits {

inline constexpr std::int64_t kSize = 28;  ///< of an image, both ways

/// Drawn digits, each moved, turned, stretched and blurred a little, on a noisy ground.
struct Batch {
  std::vector<float> images;         ///< [n, 1, kSize, kSize], about 0 to 1
  std::vector<std::int64_t> labels;  ///< [n], 0 to 9
};
/// The same for the same seed.
Batch draw(std::int64_t n, std::uint64_t seed);

}  // namespace digits
