#pragma once
#include <cstdint>
#include <string>

namespace reprise::bench {

/// A convolution of images [batch, channels, side, side] with `results` kernels of places x places, padded to keep the
/// size at steps of 1.
struct ConvShape {
  std::int64_t batch, channels, side, results, places, step, groups;
  /// Of reprise_bench.
  std::string name() const {
    auto n = [](const char* what, std::int64_t i) { return what + std::to_string(i); };
    return n("conv n", batch) + n(" c", channels) + n(" hw", side) + n(" o", results) + n(" k", places) +
           n(" s", step) + n(" g", groups);
  }
};

/// Of ResNet-18 and -50 (He et al. 2015), and the depthwise ones of MobileNetV2 (Sandler et al. 2018).
inline constexpr ConvShape kConvShapes[] = {
    {1, 3, 224, 64, 7, 2, 1},   {1, 64, 56, 64, 3, 1, 1},     {1, 64, 56, 128, 3, 2, 1},
    {1, 128, 28, 128, 3, 1, 1}, {1, 256, 14, 256, 3, 1, 1},   {1, 512, 7, 512, 3, 1, 1},
    {1, 64, 56, 256, 1, 1, 1},  {1, 256, 56, 64, 1, 1, 1},    {1, 1024, 14, 256, 1, 1, 1},
    {4, 64, 56, 64, 3, 1, 1},   {4, 256, 14, 256, 3, 1, 1},   {1, 128, 28, 128, 3, 1, 32},
    {1, 96, 112, 96, 3, 2, 96}, {1, 144, 56, 144, 3, 1, 144}, {1, 576, 14, 576, 3, 1, 576},
};

}  // namespace reprise::bench
