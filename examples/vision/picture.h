#pragma once
// Pictures as cameras and files have them: [height, width, 3] of uint8, the three colours of a pixel side by side.
#include <random>
#include <string>

#include "reprise/tensor.h"

namespace vision {

inline constexpr const char* kShapes[] = {"disk",  "ring", "square",  "triangle",
                                          "cross", "star", "stripes", "checkerboard"};
inline constexpr std::int64_t kShapeCount = sizeof kShapes / sizeof *kShapes;

/// One of the shapes, light on dark, about in the middle, a little turned, with noise. [size, size, 3].
reprise::Tensor draw(std::int64_t shape, std::int64_t size, std::mt19937& random);
/// A binary PPM (P6) of 8 bits. Throws std::runtime_error, which says what is wrong with the file.
reprise::Tensor read_ppm(const std::string& path);

}  // namespace vision
