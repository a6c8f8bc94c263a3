#include <cmath>
#include <limits>

#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

/// A list of channels beside [n, c, ...]; of more dimensions (`spatial` = 0, before set 9) they are those behind the
/// batch.
Tensor by_channel(const Tensor& t, int rank) {
  if (t.dim() != 1) return t;
  Ints sizes;
  for (int d = 0; d < std::max(rank, 2); ++d) sizes.push_back(d == 1 ? t.size(0) : Int(1));
  return rank < 2 ? t : t.view(sizes);
}

void batch_norm_of(Call& c) {
  const Tensor x = c.x(0);
  const int rank = x.dim();
  const double eps = c.f("epsilon", 1e-5f), momentum = c.f("momentum", 0.9f);
  Tensor mean = c.x(3), variance = c.x(4);
  const bool training = c.version() >= 14 && c.i("training_mode", 0) != 0;
  if (training) {
    std::vector<int> dims;
    for (int d = 0; d < rank; ++d)
      if (d != 1) dims.push_back(d);
    const Tensor now = reprise::mean(x, dims), spread = var(x, dims, 0);
    c.give(mean * momentum + now * (1 - momentum), 1);
    c.give(variance * momentum + spread * (1 - momentum), 2);
    mean = now, variance = spread;
  }
  const Tensor scale = c.x(1) * rsqrt(variance + eps);
  c.give((x * by_channel(scale, rank) + by_channel(c.x(2) - mean * scale, rank)).to(x.dtype()));
}

/// (x - mean) / sqrt(variance + eps) over the dimensions from `from` on.
Tensor normalized(const Tensor& x, int from, double eps, Tensor* mean = nullptr, Tensor* inverse = nullptr) {
  std::vector<int> dims;
  for (int d = from; d < x.dim(); ++d) dims.push_back(d);
  const Tensor m = reprise::mean(x, dims, true), centred = x - m;
  const Tensor i = rsqrt(reprise::mean(square(centred), dims, true) + eps);
  if (mean) *mean = m;
  if (inverse) *inverse = i;
  return centred * i;
}

void instance_norm(Call& c) {
  const Tensor x = c.x(0);
  c.give(normalized(x, 2, c.f("epsilon", 1e-5f)) * by_channel(c.x(1), x.dim()) + by_channel(c.x(2), x.dim()));
}
void layer_norm_of(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", -1), x.dim());
  const double eps = c.f("epsilon", 1e-5f);
  if (!c.wants(1) && !c.wants(2) && (x.dtype() == kFloat32 || x.dtype() == kFloat64)) {
    Ints sizes;
    for (int d = axis; d < x.dim(); ++d) sizes.push_back(x.size(d));
    const auto fits = [&](const Tensor& t) {
      if (t.dim() != static_cast<int>(sizes.size())) return false;
      for (int d = 0; d < t.dim(); ++d)
        if (t.size(d) != sizes[static_cast<std::size_t>(d)]) return false;
      return true;
    };
    const Tensor scale = c.x(1), bias = c.has(2) ? c.x(2) : Tensor();
    if (fits(scale) && (!c.has(2) || fits(bias))) return c.give(layer_norm(x, sizes, scale, bias, eps));
  }
  Tensor mean, inverse;
  // In float32, as stash_type has it, and rounded before the scale.
  Tensor made =
      normalized(is_low_precision(x.dtype()) ? x.to(kFloat32) : x, axis, eps, &mean, &inverse).to(x.dtype()) * c.x(1);
  if (c.has(2)) made = made + c.x(2);
  c.give(made, 0);
  c.give(mean, 1);
  c.give(inverse, 2);
}
void rms_norm_of(Call& c) {
  const Tensor x = c.x(0), real = is_low_precision(x.dtype()) ? x.to(kFloat32) : x;
  std::vector<int> dims;
  for (int d = axis_of(c, c.i("axis", -1), x.dim()); d < x.dim(); ++d) dims.push_back(d);
  c.give((real * rsqrt(mean(square(real), dims, true) + c.f("epsilon", 1e-5f))).to(x.dtype()) * c.x(1));
}
void group_norm_of(Call& c) {
  const Tensor x = c.x(0);
  const Int groups = c.i("num_groups", 0);
  if (groups < 1) c.bad("has num_groups ", groups.hint());
  if (x.size(1) % groups != 0) c.bad("has ", x.size(1).hint(), " channels for ", groups.hint(), " groups");
  const Int each = x.size(1) / groups;
  const bool by_group = c.version() < 21;  // scale and bias: one for each group, since then for each channel
  const auto beside = [&](const Tensor& t) {
    Ints sizes{1, groups, by_group ? Int(1) : each};
    for (int d = 2; d < x.dim(); ++d) sizes.push_back(1);
    return t.view(sizes);
  };
  Ints split{x.size(0), groups, each};
  for (int d = 2; d < x.dim(); ++d) split.push_back(x.size(d));
  Tensor grouped = x.reshape({x.size(0), groups, x.numel() / Int::max(x.size(0) * groups, 1)});
  grouped =
      normalized(is_low_precision(x.dtype()) ? grouped.to(kFloat32) : grouped, 2, c.f("epsilon", 1e-5f)).to(x.dtype());
  c.give((grouped.reshape(split) * beside(c.x(1)) + beside(c.x(2))).reshape(x.sizes()));
}
void lp_norm(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", -1), x.dim());
  const std::int64_t p = c.i("p", 2);
  if (p != 1 && p != 2) c.bad("has p ", p, "; wanted 1 or 2");
  const Tensor n = p == 1 ? sum(abs(x), axis, true) : sqrt(sum(square(x), axis, true));
  c.give(where(n == 0, zeros_like(x), x / n));
}
void mean_variance(Call& c) {
  const Tensor x = c.x(0);
  const std::vector<std::int64_t> axes = c.list("axes", std::vector<std::int64_t>{0, 2, 3});
  const Tensor centred = x - mean(x, axes, true);
  c.give(centred / (sqrt(mean(square(centred), axes, true)) + 1e-9));
}
void lrn(Call& c) {
  const Tensor x = c.x(0);
  const std::int64_t size = c.i("size", 0);
  if (size < 1) c.bad("has size ", size);
  Ints pads;
  for (int d = x.dim() - 1; d > 1; --d) pads.push_back(0), pads.push_back(0);
  pads.push_back((size - 1) / 2), pads.push_back(size / 2);
  const Tensor windows = reprise::pad(square(x), pads).unfold(1, size, 1);
  c.give(x / pow(sum(windows, -1) * (c.f("alpha", 1e-4f) / static_cast<double>(size)) + c.f("bias", 1),
                 c.f("beta", 0.75f)));
}

constexpr Row kNormRows[] = {
    {"BatchNormalization", 7, 0, batch_norm_of},        {"GroupNormalization", 18, 0, group_norm_of},
    {"InstanceNormalization", 6, 0, instance_norm},     {"LRN", 1, 0, lrn},
    {"LayerNormalization", 17, 0, layer_norm_of},       {"LpNormalization", 1, 0, lp_norm},
    {"MeanVarianceNormalization", 9, 0, mean_variance}, {"RMSNormalization", 23, 0, rms_norm_of},
};

}  // namespace

std::span<const Row> norm_rows() { return kNormRows; }

}  // namespace reprise::onnx
