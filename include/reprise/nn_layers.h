#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reprise/nn.h"
#include "reprise/products.h"
#include "reprise/vision.h"

/// More layers of torch::nn, as reprise/nn.h has them: activations, padding, resizing, pooling, transposed convolutions
/// and norms of instances. Errors are those of the functions that they call.
namespace reprise REPRISE_VISIBLE {
namespace nn {

// ---- activations
#define REPRISE_ACTIVATION(Name, call)                                                           \
  struct Name : Callable<Name> {                                                                 \
    Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return call; } \
    using reprise_fields_of = Name;                                                              \
    static constexpr const char* reprise_field_names() { return ""; }                            \
    template <class V>                                                                           \
    decltype(auto) reprise_with_fields(V&& visitor) const {                                      \
      return visitor();                                                                          \
    }                                                                                            \
  };
/// An activation with one number, which is the name of its field, too.
#define REPRISE_ACTIVATION_OF(Name, field, value, call)                                          \
  struct Name : Callable<Name> {                                                                 \
    double field = value;                                                                        \
    Name() = default;                                                                            \
    explicit Name(double number) : field(number) {}                                              \
    Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return call; } \
    REPRISE_FIELDS(Name, field)                                                                  \
  };
REPRISE_ACTIVATION(ReLU6, relu6(x, loc))
REPRISE_ACTIVATION(SELU, selu(x, loc))
REPRISE_ACTIVATION(Mish, mish(x, loc))
REPRISE_ACTIVATION(Hardswish, hardswish(x, loc))
REPRISE_ACTIVATION(Hardsigmoid, hardsigmoid(x, loc))
REPRISE_ACTIVATION(Softsign, softsign(x, loc))
REPRISE_ACTIVATION(Tanhshrink, tanhshrink(x, loc))
REPRISE_ACTIVATION(LogSigmoid, log_sigmoid(x, loc))
/// Of images [n, c, h, w] or [c, h, w]: over the channels.
REPRISE_ACTIVATION(Softmax2d, softmax(x, -3, std::nullopt, loc))
REPRISE_ACTIVATION_OF(LeakyReLU, negative_slope, 0.01, leaky_relu(x, negative_slope, loc))
REPRISE_ACTIVATION_OF(ELU, alpha, 1.0, elu(x, alpha, 1, 1, loc))
REPRISE_ACTIVATION_OF(CELU, alpha, 1.0, celu(x, alpha, loc))
REPRISE_ACTIVATION_OF(Hardshrink, lambd, 0.5, hardshrink(x, lambd, loc))
REPRISE_ACTIVATION_OF(Softshrink, lambd, 0.5, softshrink(x, lambd, loc))
#undef REPRISE_ACTIVATION
#undef REPRISE_ACTIVATION_OF
struct Softplus : Callable<Softplus> {
  double beta = 1, threshold = 20;
  Softplus() = default;
  explicit Softplus(double b, double t = 20) : beta(b), threshold(t) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return softplus(x, beta, threshold, loc);
  }
  REPRISE_FIELDS(Softplus, beta, threshold)
};
struct Hardtanh : Callable<Hardtanh> {
  double min_val = -1, max_val = 1;
  Hardtanh() = default;
  Hardtanh(double least, double most) : min_val(least), max_val(most) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return hardtanh(x, min_val, max_val, loc);
  }
  REPRISE_FIELDS(Hardtanh, min_val, max_val)
};
struct PReLU : Callable<PReLU> {
  Tensor weight;  ///< [1], or one for each channel
  PReLU() : PReLU(1) {}
  explicit PReLU(std::int64_t count, double value = 0.25) : weight(full({count}, value)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return prelu(x, weight, loc); }
  REPRISE_FIELDS(PReLU, weight)
};
/// x where it is above threshold, otherwise value.
struct Threshold : Callable<Threshold> {
  double threshold = 0, value = 0;
  Threshold() = default;
  Threshold(double above, double otherwise) : threshold(above), value(otherwise) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return reprise::threshold(x, threshold, value, loc);
  }
  REPRISE_FIELDS(Threshold, threshold, value)
};
/// Negative elements times a slope: where `training` is set one of each element, drawn between the bounds, otherwise
/// their mean.
struct RReLU : Callable<RReLU> {
  double lower = 1.0 / 8, upper = 1.0 / 3;
  bool training = false;
  RReLU() = default;
  RReLU(double least, double most) : lower(least), upper(most) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if (!training) return leaky_relu(x, (lower + upper) / 2, loc);
    const Tensor slope = add(mul(rand_like(x, {}, loc), upper - lower, loc), lower, 1, loc);
    return where(ge(x, 0, loc), x, mul(x, slope, loc), loc);
  }
  REPRISE_FIELDS(RReLU, lower, upper, training)
};
struct Softmin : Callable<Softmin> {
  std::int64_t dim = -1;
  Softmin() = default;
  explicit Softmin(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return softmax(neg(x, loc), dim, std::nullopt, loc);
  }
  REPRISE_FIELDS(Softmin, dim)
};
struct GLU : Callable<GLU> {
  std::int64_t dim = -1;
  GLU() = default;
  explicit GLU(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return glu(x, dim, loc); }
  REPRISE_FIELDS(GLU, dim)
};
struct LogSoftmax : Callable<LogSoftmax> {
  std::int64_t dim = -1;
  LogSoftmax() = default;
  explicit LogSoftmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return log_softmax(x, dim, std::nullopt, loc);
  }
  REPRISE_FIELDS(LogSoftmax, dim)
};

// ---- sizes
struct Unflatten : Callable<Unflatten> {
  std::int64_t dim = 1;
  std::vector<std::int64_t> sizes;
  Unflatten() = default;
  Unflatten(std::int64_t which, std::vector<std::int64_t> to) : dim(which), sizes(std::move(to)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return unflatten(x, dim, sizes, loc); }
  REPRISE_FIELDS(Unflatten, dim, sizes)
};
struct PixelShuffle : Callable<PixelShuffle> {
  std::int64_t factor = 1;
  PixelShuffle() = default;
  explicit PixelShuffle(std::int64_t by) : factor(by) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return pixel_shuffle(x, factor, loc); }
  REPRISE_FIELDS(PixelShuffle, factor)
};
struct PixelUnshuffle : Callable<PixelUnshuffle> {
  std::int64_t factor = 1;
  PixelUnshuffle() = default;
  explicit PixelUnshuffle(std::int64_t by) : factor(by) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return pixel_unshuffle(x, factor, loc);
  }
  REPRISE_FIELDS(PixelUnshuffle, factor)
};

struct ChannelShuffle : Callable<ChannelShuffle> {
  std::int64_t groups = 1;
  ChannelShuffle() = default;
  explicit ChannelShuffle(std::int64_t of) : groups(of) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return channel_shuffle(x, groups, loc);
  }
  REPRISE_FIELDS(ChannelShuffle, groups)
};
/// Windows as columns (im2col), and their sum in an image (col2im); a list is of one number, or of one for each
/// dimension.
struct WindowOptions {
  std::vector<std::int64_t> dilation = {1}, padding = {0}, stride = {1};
};
struct Unfold : Callable<Unfold> {
  std::vector<std::int64_t> kernel_size;
  WindowOptions options;
  Unfold() = default;
  explicit Unfold(std::vector<std::int64_t> kernel, WindowOptions o = {})
      : kernel_size(std::move(kernel)), options(std::move(o)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return im2col(x, kernel_size, options.dilation, options.padding, options.stride, loc);
  }
  REPRISE_FIELDS(Unfold, kernel_size, options)
};
struct Fold : Callable<Fold> {
  std::vector<std::int64_t> output_size, kernel_size;
  WindowOptions options;
  Fold() = default;
  Fold(std::vector<std::int64_t> to, std::vector<std::int64_t> kernel, WindowOptions o = {})
      : output_size(std::move(to)), kernel_size(std::move(kernel)), options(std::move(o)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return col2im(x, output_size, kernel_size, options.dilation, options.padding, options.stride, loc);
  }
  REPRISE_FIELDS(Fold, output_size, kernel_size, options)
};

namespace detail {
/// Padding of D last dimensions: one number for all sides, or {last front, last back, next to last front, ...}.
template <int D>
std::vector<std::int64_t> sides(std::vector<std::int64_t> given) {
  return given.size() == 1 ? std::vector<std::int64_t>(2 * D, given[0]) : given;
}
}  // namespace detail
#define REPRISE_PADDING(Name, mode)                                                                   \
  template <int D>                                                                                    \
  struct Name : Callable<Name<D>> {                                                                   \
    std::vector<std::int64_t> padding;                                                                \
    Name() = default;                                                                                 \
    explicit Name(std::int64_t all) : padding(2 * D, all) {}                                          \
    explicit Name(std::vector<std::int64_t> around) : padding(detail::sides<D>(std::move(around))) {} \
    Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {                     \
      return pad(x, padding, mode, std::nullopt, loc);                                                \
    }                                                                                                 \
    REPRISE_FIELDS(Name, padding)                                                                     \
  };                                                                                                  \
  using Name##1d = Name<1>;                                                                           \
  using Name##2d = Name<2>;                                                                           \
  using Name##3d = Name<3>;
REPRISE_PADDING(ZeroPad, "constant")
REPRISE_PADDING(ReflectionPad, "reflect")
REPRISE_PADDING(ReplicationPad, "replicate")
REPRISE_PADDING(CircularPad, "circular")
#undef REPRISE_PADDING
template <int D>
struct ConstantPad : Callable<ConstantPad<D>> {
  std::vector<std::int64_t> padding;
  double value = 0;
  ConstantPad() = default;
  ConstantPad(std::int64_t all, double with) : padding(2 * D, all), value(with) {}
  ConstantPad(std::vector<std::int64_t> around, double with)
      : padding(detail::sides<D>(std::move(around))), value(with) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return pad(x, padding, value, loc); }
  REPRISE_FIELDS(ConstantPad, padding, value)
};
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;

/// One of size and scale_factor is given: one number, or one for each spatial dimension (reprise/vision.h,
/// interpolate).
struct UpsampleOptions {
  std::vector<std::int64_t> size = {};
  std::vector<double> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = std::nullopt;
};
struct Upsample : Callable<Upsample> {
  UpsampleOptions options;
  Upsample() = default;
  explicit Upsample(UpsampleOptions o) : options(std::move(o)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    InterpolateOptions o{
        .scale_factor = options.scale_factor, .mode = options.mode, .align_corners = options.align_corners};
    if (!options.size.empty()) o.size = IntArrayRef(options.size).vec();
    return interpolate(x, o, loc);
  }
  REPRISE_FIELDS(Upsample, options)
};

/// Windows of `kernel` every `stride` (its size, if none); averages count what is padded.
template <int D>
struct MaxPool : Callable<MaxPool<D>> {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  MaxPool() = default;
  explicit MaxPool(std::int64_t size, std::optional<std::int64_t> every = std::nullopt, std::int64_t around = 0)
      : kernel(size), stride(every.value_or(size)), padding(around) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if constexpr (D == 1) return max_pool1d(x, kernel, stride, padding, 1, false, loc);
    else return max_pool3d(x, kernel, stride, padding, 1, false, loc);
  }
  REPRISE_FIELDS(MaxPool, kernel, stride, padding)
};
using MaxPool1d = MaxPool<1>;
using MaxPool3d = MaxPool<3>;
template <int D>
struct AvgPool : Callable<AvgPool<D>> {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  AvgPool() = default;
  explicit AvgPool(std::int64_t size, std::optional<std::int64_t> every = std::nullopt, std::int64_t around = 0)
      : kernel(size), stride(every.value_or(size)), padding(around) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if constexpr (D == 1) return avg_pool1d(x, kernel, stride, padding, false, true, std::nullopt, loc);
    else return avg_pool3d(x, kernel, stride, padding, false, true, std::nullopt, loc);
  }
  REPRISE_FIELDS(AvgPool, kernel, stride, padding)
};
using AvgPool1d = AvgPool<1>;
using AvgPool3d = AvgPool<3>;
/// The root of sums of powers, without padding.
template <int D>
struct LPPool : Callable<LPPool<D>> {
  double norm_type = 2;
  std::int64_t kernel = 2, stride = 2;
  LPPool() = default;
  LPPool(double norm, std::int64_t size, std::optional<std::int64_t> every = std::nullopt)
      : norm_type(norm), kernel(size), stride(every.value_or(size)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    constexpr auto pool = D == 1 ? lp_pool1d : D == 2 ? lp_pool2d : lp_pool3d;
    return pool(x, norm_type, kernel, stride, false, loc);
  }
  REPRISE_FIELDS(LPPool, norm_type, kernel, stride)
};
using LPPool1d = LPPool<1>;
using LPPool2d = LPPool<2>;
using LPPool3d = LPPool<3>;
/// To one size of all D dimensions, or to one of each. Of the largest only the values.
template <int D>
struct AdaptiveAvgPool : Callable<AdaptiveAvgPool<D>> {
  std::vector<std::int64_t> size = {1};
  AdaptiveAvgPool() = default;
  explicit AdaptiveAvgPool(std::vector<std::int64_t> to) : size(std::move(to)) {}
  explicit AdaptiveAvgPool(std::int64_t to) : size{to} {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    constexpr auto pool = D == 1 ? adaptive_avg_pool1d : adaptive_avg_pool3d;
    return pool(x, size, loc);
  }
  REPRISE_FIELDS(AdaptiveAvgPool, size)
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;
template <int D>
struct AdaptiveMaxPool : Callable<AdaptiveMaxPool<D>> {
  std::vector<std::int64_t> size = {1};
  AdaptiveMaxPool() = default;
  explicit AdaptiveMaxPool(std::vector<std::int64_t> to) : size(std::move(to)) {}
  explicit AdaptiveMaxPool(std::int64_t to) : size{to} {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    constexpr auto pool = D == 1 ? adaptive_max_pool1d : D == 2 ? adaptive_max_pool2d : adaptive_max_pool3d;
    return pool(x, size, loc).first;
  }
  REPRISE_FIELDS(AdaptiveMaxPool, size)
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

/// Drops whole channels of x [n, c, ...] with D dimensions behind them, or without n, where `training` is set.
template <int D>
struct ChannelDropout : Callable<ChannelDropout<D>> {
  double p = 0.5;
  bool training = false;
  ChannelDropout() = default;
  explicit ChannelDropout(double probability) : p(probability) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if (!training || p == 0) return x;
    if (x.dim() != D + 1 && x.dim() != D + 2)
      throw Error(ErrorCode::ShapeMismatch, "Dropout" + std::to_string(D) + "d",
                  "wants " + std::to_string(D + 1) + " or " + std::to_string(D + 2) + " dimensions, got " +
                      std::to_string(x.dim()),
                  loc);
    auto channels = x.sizes().vec();
    for (int d = 0; d < D; ++d) channels[channels.size() - 1 - static_cast<std::size_t>(d)] = 1;
    return mul(x, dropout(ones(channels, x.options(), loc), p, true, loc), loc);
  }
  REPRISE_FIELDS(ChannelDropout, p, training)
};
using Dropout1d = ChannelDropout<1>;
using Dropout2d = ChannelDropout<2>;
using Dropout3d = ChannelDropout<3>;

// ---- convolutions and norms

/// What a transposed convolution does beside its kernel; a list is of one number, or of one for each dimension.
struct ConvTransposeOptions {
  std::vector<std::int64_t> stride = {1}, padding = {0}, output_padding = {0}, dilation = {1};
  std::int64_t groups = 1;
  bool bias = true;
};
template <int D>
struct ConvTranspose : Callable<ConvTranspose<D>> {
  Tensor weight;               ///< [in, out / groups, kernel...]
  std::optional<Tensor> bias;  ///< [out]
  ConvTransposeOptions options;
  ConvTranspose() = default;
  ConvTranspose(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvTransposeOptions o = {})
      : options(std::move(o)) {
    std::vector<std::int64_t> sizes = {in, out / options.groups};
    std::int64_t fan_in = sizes[1];
    for (int d = 0; d < D; ++d) {
      sizes.push_back(kernel.size() == 1 ? kernel[0] : kernel.at(static_cast<std::size_t>(d)));
      fan_in *= sizes.back();
    }
    weight = detail::drawn(sizes, fan_in);
    bias = detail::made_if(options.bias, [&] { return detail::drawn({out}, fan_in); });
  }
  ConvTranspose(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvTransposeOptions o = {})
      : ConvTranspose(in, out, std::vector<std::int64_t>{kernel}, std::move(o)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    constexpr auto conv = D == 1 ? conv_transpose1d : D == 2 ? conv_transpose2d : conv_transpose3d;
    return conv(x, weight, detail::or_none(bias), options.stride, options.padding, options.output_padding,
                options.groups, options.dilation, loc);
  }
  REPRISE_FIELDS(ConvTranspose, weight, bias, options)
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

/// Of x [n, c, ...] with D dimensions behind the channels, or without n: each image and channel by its own mean and
/// variance. With track_running_stats by the running ones, where `training` is not set.
template <int D>
struct InstanceNorm : Callable<InstanceNorm<D>> {
  std::optional<Tensor> weight, bias;               ///< [c]
  std::optional<Tensor> running_mean, running_var;  ///< [c]
  std::optional<Tensor> num_batches_tracked;        ///< int64: files have it
  double eps = 1e-5, momentum = 0.1;
  bool training = false;
  InstanceNorm() = default;
  explicit InstanceNorm(std::int64_t channels, double epsilon = 1e-5, double follow = 0.1, bool affine = false,
                        bool track_running_stats = false)
      : eps(epsilon), momentum(follow) {
    weight = detail::made_if(affine, [&] { return ones({channels}); }),
    bias = detail::made_if(affine, [&] { return zeros({channels}); });
    running_mean = detail::made_if(track_running_stats, [&] { return zeros({channels}); });
    running_var = detail::made_if(track_running_stats, [&] { return ones({channels}); });
    num_batches_tracked = detail::made_if(track_running_stats, [&] { return zeros({}, {.dtype = kInt64}); });
  }
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if (x.dim() == D + 1) return forward(x.unsqueeze(0, loc), loc).squeeze(0, loc);
    if (x.dim() != D + 2)
      throw Error(ErrorCode::ShapeMismatch, "InstanceNorm",
                  "wants " + std::to_string(D + 1) + " or " + std::to_string(D + 2) + " dimensions, got " +
                      std::to_string(x.dim()),
                  loc);
    const bool own = training || !running_mean;
    Tensor y = instance_norm(x, detail::or_none(weight), detail::or_none(bias), detail::or_none(running_mean),
                             detail::or_none(running_var), own, momentum, eps, true, loc);
    if (training && num_batches_tracked) num_batches_tracked->add_(1, 1, loc);
    return y;
  }
  REPRISE_FIELDS(InstanceNorm, weight, bias, running_mean, running_var, num_batches_tracked, eps, momentum, training)
  REPRISE_BUFFERS(running_mean, running_var, num_batches_tracked)
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

struct LocalResponseNorm : Callable<LocalResponseNorm> {
  std::int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, k = 1;
  LocalResponseNorm() = default;
  explicit LocalResponseNorm(std::int64_t channels, double a = 1e-4, double b = 0.75, double more = 1)
      : size(channels), alpha(a), beta(b), k(more) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return local_response_norm(x, size, alpha, beta, k, loc);
  }
  REPRISE_FIELDS(LocalResponseNorm, size, alpha, beta, k)
};

/// Sums of products of two inputs: forward(x [..., in1], y [..., in2]) gives [..., out].
struct Bilinear : Callable<Bilinear> {
  Tensor weight;               ///< [out, in1, in2]
  std::optional<Tensor> bias;  ///< [out]
  Bilinear() = default;
  Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out, bool with_bias = true)
      : weight(detail::drawn({out, in1, in2}, in1)),
        bias(detail::made_if(with_bias, [&] { return detail::drawn({out}, in1); })) {}
  Tensor forward(const Tensor& x, const Tensor& y, SourceLoc loc = SourceLoc::current()) const {
    return bilinear(x, y, weight, detail::or_none(bias), loc);
  }
  REPRISE_FIELDS(Bilinear, weight, bias)
};

}  // namespace nn
}  // namespace REPRISE_VISIBLE
