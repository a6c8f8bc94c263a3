#include "linear.h"

namespace quantized {

namespace {

constexpr double kInt8Max = 127, kFloat8Max = 448;  // of float8_e4m3fn

}  // namespace

std::pair<rp::Tensor, rp::Tensor> quantize_rows(rp::Tensor x, rp::DType dtype) {
  const double most = dtype == rp::kInt8 ? kInt8Max : kFloat8Max;
  rp::Tensor f = x.to(rp::kFloat32);
  rp::Tensor scale = f.abs().amax({-1}, true).clamp_min(1e-12) / most;
  rp::Tensor q = (f / scale).clamp(-most, most);
  if (dtype == rp::kInt8) q = q.round();
  return {q.to(dtype), scale};
}

Linear Linear::of(rp::Tensor weight, Format format) {
  if (format == Format::BFloat16) return {weight.to(rp::kBFloat16), {}};
  auto [w, scale] = quantize_rows(weight, format == Format::Int8 ? rp::kInt8 : rp::kFloat8E4M3FN);
  return {w, scale.t().contiguous()};
}

rp::Tensor Linear::operator()(rp::Tensor x) const {
  if (!scale.defined()) return rp::linear(x, weight);
  auto [q, row_scale] = quantize_rows(x, weight.dtype());
  return rp::scaled_mm(q, weight.t(), row_scale, scale, {}, rp::kBFloat16);
}

std::int64_t Linear::bytes() const {
  return weight.numel().value() * rp::item_size(weight.dtype()) + (scale.defined() ? scale.numel().value() * 4 : 0);
}

}  // namespace quantized
