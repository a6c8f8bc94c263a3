#include "reprise/vision.h"
#include "bench/aten/evaluate.h"
#include "reprise/convolution.h"
#include "reprise/normalization.h"
#include "reprise/pooling.h"

namespace reprise::aten {

template <>
struct Argument<ConvPadding> {
  std::string word;
  std::vector<Int> sizes;
  explicit Argument(const Json& j) { j.is_string() ? void(word = j.get<std::string>()) : void(sizes = ints_from(j)); }
  ConvPadding get() const {
    return word.empty() ? ConvPadding(IntArrayRef(sizes)) : ConvPadding(std::string_view(word));
  }
};
template <>
struct Argument<std::vector<double>> {
  std::vector<double> held;
  explicit Argument(const Json& j) {
    if (j.is_array())
      for (const Json& v : j) held.push_back(scalar_from(v).to_double());
  }
  const std::vector<double>& get() const { return held; }
};

namespace {

/// size, scale_factor, mode, align_corners, recompute_scale_factor, antialias.
Tensor interpolated(const Tensor& input, const OptionalDims& size, const std::vector<double>& scale_factor,
                    std::string_view mode, std::optional<bool> align_corners, bool recompute, bool antialias,
                    SourceLoc loc) {
  InterpolateOptions o{.scale_factor = scale_factor,
                       .mode = mode,
                       .align_corners = align_corners,
                       .recompute_scale_factor = recompute,
                       .antialias = antialias};
  if (size.given()) o.size = size.dims();
  return interpolate(input, o, loc);
}
Tensor padded(const Tensor& self, IntArrayRef by, std::string_view mode, SourceLoc loc) {
  return pad(self, by, mode, std::nullopt, loc);
}
std::vector<Tensor> batch_normed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                                 const Tensor& var, bool training, double momentum, double eps, SourceLoc loc) {
  const Tensor m = mean.defined() ? mean.clone() : mean, v = var.defined() ? var.clone() : var;
  std::vector<Tensor> all{batch_norm(input, weight, bias, m, v, training, momentum, eps, true, loc)};
  if (m.defined()) all.push_back(m), all.push_back(v);
  return all;
}
std::vector<Tensor> instance_normed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                                    const Tensor& var, bool own, double momentum, double eps, SourceLoc loc) {
  const Tensor m = mean.defined() ? mean.clone() : mean, v = var.defined() ? var.clone() : var;
  std::vector<Tensor> all{instance_norm(input, weight, bias, m, v, own, momentum, eps, true, loc)};
  if (m.defined()) all.push_back(m), all.push_back(v);
  return all;
}

}  // namespace

#define REPRISE_CALL(name) calls[#name] = call_of(&reprise::name);
#define REPRISE_OF_DIMS(name) \
  REPRISE_CALL(name##1d)      \
  REPRISE_CALL(name##2d)      \
  REPRISE_CALL(name##3d)

void add_vision(Calls& calls) {
  REPRISE_OF_DIMS(conv)
  REPRISE_OF_DIMS(conv_transpose)
  REPRISE_OF_DIMS(max_pool)
  REPRISE_OF_DIMS(avg_pool)
  REPRISE_OF_DIMS(adaptive_avg_pool)
  REPRISE_OF_DIMS(adaptive_max_pool)
  REPRISE_OF_DIMS(lp_pool)
  REPRISE_CALL(max_pool1d_with_indices)
  REPRISE_CALL(max_pool2d_with_indices)
  REPRISE_CALL(max_pool3d_with_indices)
  calls["batch_norm"] = call_of(&batch_normed);
  calls["instance_norm"] = call_of(&instance_normed);
  REPRISE_CALL(group_norm)
  REPRISE_CALL(local_response_norm)
  calls["pad"] = call_of(&padded);
  calls["interpolate"] = call_of(&interpolated);
  REPRISE_CALL(pixel_shuffle)
  REPRISE_CALL(pixel_unshuffle)
  REPRISE_CALL(channel_shuffle)
  REPRISE_CALL(im2col)
  REPRISE_CALL(col2im)
  REPRISE_CALL(grid_sample)
  REPRISE_CALL(affine_grid)
}

}  // namespace reprise::aten
