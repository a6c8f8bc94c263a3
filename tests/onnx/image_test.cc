// Regions of images against loops in plain C++, eagerly and compiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::attribute;
using file::node;
using file::value;
using Reals = std::vector<float>;

struct Roi {
  std::string mode, transformation;
  std::int64_t ratio;
};
constexpr int kRows = 3, kColumns = 2;  ///< bins

/// Of image x [1, c, h, w] and regions [r, 4], scale 0.5.
Reals aligned(const Roi& k, const Tensor& x, const Tensor& rois) {
  const auto all = x.to_vector<float>(), r = rois.to_vector<float>();
  const int channels = static_cast<int>(x.size(1).value()), h = static_cast<int>(x.size(2).value()),
            w = static_cast<int>(x.size(3).value());
  const bool half = k.transformation == "half_pixel";
  Reals made;
  for (std::size_t n = 0; n < r.size(); n += 4)
    for (int c = 0; c < channels; ++c)
      for (int by = 0; by < kRows; ++by)
        for (int bx = 0; bx < kColumns; ++bx) {
          const float offset = half ? 0.5f : 0.0f;
          float begin[2], bin[2];
          int counts[2];
          for (int d = 0; d < 2; ++d) {  // x, y
            begin[d] = r[n + static_cast<std::size_t>(d)] * 0.5f - offset;
            float extent = r[n + 2 + static_cast<std::size_t>(d)] * 0.5f - offset - begin[d];
            if (!half) extent = std::max(extent, 1.0f);
            bin[d] = extent / static_cast<float>(d == 0 ? kColumns : kRows);
            counts[d] = k.ratio > 0 ? static_cast<int>(k.ratio) : static_cast<int>(std::ceil(bin[d]));
          }
          float sum = 0, most = -1e30f;
          for (int iy = 0; iy < counts[1]; ++iy)
            for (int ix = 0; ix < counts[0]; ++ix) {
              const auto at = [&](int d, int b, int i) {
                const float step = (static_cast<float>(i) + 0.5f) * bin[d] / static_cast<float>(counts[d]);
                return begin[d] + static_cast<float>(b) * bin[d] + step;
              };
              float y = at(1, by, iy), v = at(0, bx, ix), parts[4] = {0, 0, 0, 0};
              if (y >= -1 && y <= static_cast<float>(h) && v >= -1 && v <= static_cast<float>(w)) {
                y = std::max(y, 0.0f), v = std::max(v, 0.0f);
                const int y0 = std::min(static_cast<int>(y), h - 1), x0 = std::min(static_cast<int>(v), w - 1),
                          y1 = std::min(y0 + 1, h - 1), x1 = std::min(x0 + 1, w - 1);
                const float fy = y0 == h - 1 ? 0 : y - static_cast<float>(y0),
                            fx = x0 == w - 1 ? 0 : v - static_cast<float>(x0);
                const auto e = [&](int row, int column) {
                  return all[static_cast<std::size_t>((c * h + row) * w + column)];
                };
                parts[0] = e(y0, x0) * (1 - fy) * (1 - fx), parts[1] = e(y0, x1) * (1 - fy) * fx;
                parts[2] = e(y1, x0) * fy * (1 - fx), parts[3] = e(y1, x1) * fy * fx;
              }
              sum += parts[0] + parts[1] + parts[2] + parts[3];
              most = std::max(most, *std::max_element(parts, parts + 4));
            }
          const int count = counts[0] * counts[1];
          made.push_back(count == 0 ? 0 : k.mode == "max" ? most : sum / static_cast<float>(count));
        }
  return made;
}

/// Of sampling_ratio 0 each region has as many samples as it is large, in one compilation for all regions.
TEST(OnnxImage, RegionsTakeAsManySamplesAsTheyAreLarge) {
  for (const Roi& k : {Roi{"avg", "half_pixel", 0},
                       {"avg", "output_half_pixel", 0},
                       {"max", "half_pixel", 0},
                       {"max", "output_half_pixel", 0},
                       {"avg", "half_pixel", 2}}) {
    const file::Graph g{
        .inputs = {value("x", file::kFloat, {1, 2, "h", "w"}), value("rois", file::kFloat, {"r", 4}),
                   value("batch", file::kInt64, {"r"})},
        .outputs = {value("y", file::kFloat, {"r", 2, kRows, kColumns})},
        .nodes = {
            node("RoiAlign", {"x", "rois", "batch"}, {"y"},
                 {attribute("output_height", std::int64_t{kRows}), attribute("output_width", std::int64_t{kColumns}),
                  attribute("sampling_ratio", k.ratio), attribute("spatial_scale", 0.5f), attribute("mode", k.mode),
                  attribute("coordinate_transformation_mode", k.transformation)})}};
    const onnx::Model m = onnx::load_bytes(file::model(g));
    auto compiled = compile(m);
    const struct {
      std::int64_t h, w;
      Reals rois;
    } calls[] = {{8, 8, {1, 1, 12, 9, 0, 0, 5, 15}}, {6, 9, {}}, {6, 9, {3, 3, 3, 3, -5, -5, 40, 40, 2, 1, 30, 4}}};
    for (const auto& each : calls) {
      const auto r = static_cast<std::int64_t>(each.rois.size() / 4);
      const Tensor x = sin(arange(2 * each.h * each.w, {.dtype = kFloat32}) * 0.7).view({1, 2, each.h, each.w}),
                   rois = tensor_of<float>(each.rois, {r, 4}), batch = zeros({r}, {.dtype = kInt64});
      const Tensor expected = tensor_of<float>(aligned(k, x, rois), {r, 2, kRows, kColumns});
      EXPECT_TRUE(allclose(m(x, rois, batch)[0], expected, 1e-5, 1e-5)) << k.mode << " " << k.transformation;
      EXPECT_TRUE(allclose(compiled(x, rois, batch)[0], expected, 1e-5, 1e-5)) << k.mode << " " << k.transformation;
    }
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
    EXPECT_EQ(compiled.stats().compilations, 1);
  }
}

}  // namespace
}  // namespace reprise::test
