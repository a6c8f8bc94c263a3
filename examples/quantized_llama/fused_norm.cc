#include "fused_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear.h"
#include "reprise/library.h"
#include "reprise/patterns.h"

namespace quantized {

namespace {

/// x, w: bfloat16, [t, n] and [n]; int8 [t, n] and float32 [t, 1].
void rms_norm_int8(const rp::KernelCall& k) {
  const rp::TensorView &x = k.tensor(0), &w = k.tensor(1), &q = k.result(0), &scale = k.result(1);
  const std::int64_t rows = x.sizes[0], n = x.sizes[1];
  std::vector<float> row(static_cast<std::size_t>(n)), weight(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    weight[static_cast<std::size_t>(j)] = static_cast<float>(w.as<rp::BFloat16>()[j * w.strides[0]]);
  for (std::int64_t i = 0; i < rows; ++i) {
    const rp::BFloat16* from = x.as<rp::BFloat16>() + i * x.strides[0];
    float sum = 0, most = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const float v = row[static_cast<std::size_t>(j)] = static_cast<float>(from[j * x.strides[1]]);
      sum += v * v;
    }
    const float rms = 1 / std::sqrt(sum / static_cast<float>(n) + static_cast<float>(k.number(2).to_double()));
    for (std::int64_t j = 0; j < n; ++j) {
      float& v = row[static_cast<std::size_t>(j)];
      v = static_cast<float>(rp::BFloat16(v * rms * weight[static_cast<std::size_t>(j)]));  // rms_norm gives bfloat16
      most = std::max(most, std::abs(v));
    }
    const float s = scale.as<float>()[i] = std::max(most, 1e-12f) / 127;
    for (std::int64_t j = 0; j < n; ++j)
      q.as<std::int8_t>()[i * n + j] =
          static_cast<std::int8_t>(std::clamp(std::nearbyint(row[static_cast<std::size_t>(j)] / s), -127.f, 127.f));
  }
}

}  // namespace

void register_fused_norm(double eps) {
  auto plain = [eps](rp::Tensor x, rp::Tensor w) { return quantize_rows(rp::rms_norm(x, w, eps), rp::kInt8); };
  const rp::Tensor x = rp::randn({3, 64}).to(rp::kBFloat16), w = rp::randn({64}).to(rp::kBFloat16);
  const rp::Operator fused = rp::Library("quantized")
                                 .define({.schema = "rms_norm_int8(Tensor x, Tensor w, float eps) -> (Tensor, Tensor)",
                                          .shape =
                                              [](rp::ShapeCall& c) {
                                                if (c.dtype(0) != rp::kBFloat16 || c.dtype(1) != rp::kBFloat16)
                                                  c.fail(rp::ErrorCode::DTypeMismatch, "wants bfloat16");
                                                if (c.dim(0) != 2 || c.dim(1) != 1)
                                                  c.fail(rp::ErrorCode::ShapeMismatch, "wants rows and a weight");
                                                c.expect_equal(c.size(0, 1), c.size(1, 0), "the rows and the weight");
                                                c.result(rp::kInt8, c.sizes(0));
                                                c.result(rp::kFloat32, {c.size(0, 0), 1});
                                              },
                                          .cpu = rms_norm_int8,
                                          .decomposition =
                                              [](rp::Tensor t, rp::Tensor by, rp::Scalar e) {
                                                return quantize_rows(rp::rms_norm(t, by, e.to_double()), rp::kInt8);
                                              },
                                          .samples = {{x, w, eps}}});
  rp::register_pattern(
      kFusedNorm, plain,
      [=](rp::Tensor t, rp::Tensor by) {
        const auto both = fused(t, by, eps);
        return std::pair(both[0], both[1]);
      },
      std::tuple(x, w));
}

}  // namespace quantized
