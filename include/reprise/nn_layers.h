#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/losses.h"
#include "reprise/nn.h"
#include "reprise/rnn.h"
#include "reprise/vision.h"

/// More layers of torch::nn, as reprise/nn.h has them: activations, padding, resizing, transposed convolutions, norms
/// of instances, recurrent networks, encoders of transformers, and losses. Errors are those of the functions that they
/// call.
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
    if constexpr (D == 1)
      return max_pool1d(x, kernel, stride, padding, 1, false, loc);
    else
      return max_pool3d(x, kernel, stride, padding, 1, false, loc);
  }
  REPRISE_FIELDS(MaxPool, kernel, stride, padding)
};
using MaxPool1d = MaxPool<1>;
using MaxPool3d = MaxPool<3>;

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
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

// ---- recurrent networks

struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
  double dropout = 0;  ///< between the layers, where `training` is set
};
namespace detail {
using NamedTensors = std::map<std::string, Tensor>;
/// The weights of all layers by the names that files have for them: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_ih_l0_reverse, weight_ih_l1, ....
struct RecurrentWeights : NamedTensors {
  RecurrentWeights() = default;
  RecurrentWeights(std::int64_t gates, std::int64_t inputs, std::int64_t hidden, const RecurrentOptions& o) {
    for (std::int64_t layer = 0; layer < o.num_layers; ++layer)
      for (int back = 0; back <= (o.bidirectional ? 1 : 0); ++back) {
        const std::int64_t in = layer ? hidden * (o.bidirectional ? 2 : 1) : inputs;
        set("weight_ih", layer, back, {gates * hidden, in}, hidden);
        set("weight_hh", layer, back, {gates * hidden, hidden}, hidden);
        if (!o.bias) continue;
        set("bias_ih", layer, back, {gates * hidden}, hidden);
        set("bias_hh", layer, back, {gates * hidden}, hidden);
      }
  }
  /// In ATen's order.
  std::vector<Tensor> in_order(const RecurrentOptions& o) const {
    std::vector<Tensor> all;
    for (std::int64_t layer = 0; layer < o.num_layers; ++layer)
      for (int back = 0; back <= (o.bidirectional ? 1 : 0); ++back)
        for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
          if (o.bias || kind[0] == 'w') all.push_back(at(name(kind, layer, back)));
    return all;
  }

 private:
  static std::string name(const char* kind, std::int64_t layer, int back) {
    return std::string(kind) + "_l" + std::to_string(layer) + (back ? "_reverse" : "");
  }
  void set(const char* kind, std::int64_t layer, int back, std::vector<std::int64_t> sizes, std::int64_t hidden) {
    (*this)[name(kind, layer, back)] = drawn(sizes, hidden);
  }
};
}  // namespace detail

/// forward(x, {h_0, c_0}) gives (outputs, h_n, c_n); sizes as reprise/rnn.h says.
struct LSTM : detail::RecurrentWeights, Callable<LSTM> {
  RecurrentOptions options;
  bool training = false;
  LSTM() = default;
  LSTM(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {})
      : RecurrentWeights(4, inputs, hidden, o), options(o) {}
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const std::vector<Tensor>& hx = {},
                                             SourceLoc loc = SourceLoc::current()) const {
    return lstm(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
                options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(LSTM, REPRISE_BASE(detail::NamedTensors), options, training)
};
/// forward(x, h_0) gives (outputs, h_n).
struct GRU : detail::RecurrentWeights, Callable<GRU> {
  RecurrentOptions options;
  bool training = false;
  GRU() = default;
  GRU(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {})
      : RecurrentWeights(3, inputs, hidden, o), options(o) {}
  TensorPair forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    return gru(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
               options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(GRU, REPRISE_BASE(detail::NamedTensors), options, training)
};
/// The same without gates; nonlinearity: "tanh" or "relu".
struct RNN : detail::RecurrentWeights, Callable<RNN> {
  RecurrentOptions options;
  std::string nonlinearity = "tanh";
  bool training = false;
  RNN() = default;
  RNN(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {}, std::string how = "tanh")
      : RecurrentWeights(1, inputs, hidden, o), options(o), nonlinearity(std::move(how)) {}
  TensorPair forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    const auto rnn = nonlinearity == "relu" ? rnn_relu : rnn_tanh;
    return rnn(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
               options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(RNN, REPRISE_BASE(detail::NamedTensors), options, nonlinearity, training)
};

// ---- transformers

struct TransformerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1, layer_norm_eps = 1e-5;
  std::string activation = "relu";  ///< or "gelu"
  bool batch_first = false, norm_first = false;
};
struct TransformerEncoderLayer : Callable<TransformerEncoderLayer> {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  TransformerOptions options;
  bool training = false;
  TransformerEncoderLayer() = default;
  TransformerEncoderLayer(std::int64_t size, std::int64_t heads, TransformerOptions o = {})
      : self_attn(size, heads, true, o.batch_first),
        linear1(size, o.dim_feedforward),
        linear2(o.dim_feedforward, size),
        norm1(size, o.layer_norm_eps),
        norm2(size, o.layer_norm_eps),
        options(std::move(o)) {}
  /// src and result [len, batch, size], with batch_first [batch, len, size], or without a batch [len, size]. The mask
  /// is MultiheadAttention's.
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, bool is_causal = false,
                 SourceLoc loc = SourceLoc::current()) const {
    auto dropped = [&](const Tensor& x) { return training ? dropout(x, options.dropout, true, loc) : x; };
    auto attended = [&](const Tensor& x) { return dropped(self_attn.forward(x, x, x, src_mask, is_causal, loc)); };
    auto fed = [&](const Tensor& x) {
      const Tensor inner = linear1.forward(x, loc);
      return dropped(
          linear2.forward(dropped(options.activation == "gelu" ? gelu(inner, "none", loc) : relu(inner, loc)), loc));
    };
    if (options.norm_first) {
      const Tensor x = src + attended(norm1.forward(src, loc));
      return x + fed(norm2.forward(x, loc));
    }
    const Tensor x = norm1.forward(src + attended(src), loc);
    return norm2.forward(x + fed(x), loc);
  }
  REPRISE_FIELDS(TransformerEncoderLayer, self_attn, linear1, linear2, norm1, norm2, options, training)
};
struct TransformerEncoder : Callable<TransformerEncoder> {
  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerEncoder() = default;
  /// Layers that begin alike, as copies of one do.
  TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t count,
                     std::optional<LayerNorm> last = std::nullopt)
      : norm(std::move(last)) {
    for (std::int64_t i = 0; i < count; ++i) layers.push_back(copied(layer));
  }
  Tensor forward(Tensor x, const Tensor& mask = {}, bool is_causal = false,
                 SourceLoc loc = SourceLoc::current()) const {
    for (const TransformerEncoderLayer& layer : layers) x = layer.forward(x, mask, is_causal, loc);
    return norm ? norm->forward(x, loc) : x;
  }
  REPRISE_FIELDS(TransformerEncoder, layers, norm)

 private:
  static TransformerEncoderLayer copied(TransformerEncoderLayer layer) {
    detail::Replaced walk([](const Tensor& t) { return t.clone(); });
    reprise::detail::walk(layer, walk);
    return layer;
  }
};

// ---- losses: forward(input, target)
#define REPRISE_LOSS(Name, call)                                                                            \
  struct Name : Callable<Name> {                                                                            \
    std::string reduction = "mean";                                                                         \
    Name() = default;                                                                                       \
    explicit Name(std::string how) : reduction(std::move(how)) {}                                           \
    Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const { \
      return call;                                                                                          \
    }                                                                                                       \
    REPRISE_FIELDS(Name, reduction)                                                                         \
  };
REPRISE_LOSS(L1Loss, l1_loss(input, target, reduction, loc))
REPRISE_LOSS(MSELoss, mse_loss(input, target, reduction, loc))
REPRISE_LOSS(SoftMarginLoss, soft_margin_loss(input, target, reduction, loc))
#undef REPRISE_LOSS
struct SmoothL1Loss : Callable<SmoothL1Loss> {
  std::string reduction = "mean";
  double beta = 1;
  SmoothL1Loss() = default;
  explicit SmoothL1Loss(std::string how, double b = 1) : reduction(std::move(how)), beta(b) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return smooth_l1_loss(input, target, reduction, beta, loc);
  }
  REPRISE_FIELDS(SmoothL1Loss, reduction, beta)
};
struct HuberLoss : Callable<HuberLoss> {
  std::string reduction = "mean";
  double delta = 1;
  HuberLoss() = default;
  explicit HuberLoss(std::string how, double d = 1) : reduction(std::move(how)), delta(d) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return huber_loss(input, target, reduction, delta, loc);
  }
  REPRISE_FIELDS(HuberLoss, reduction, delta)
};
struct KLDivLoss : Callable<KLDivLoss> {
  std::string reduction = "mean";
  bool log_target = false;
  KLDivLoss() = default;
  explicit KLDivLoss(std::string how, bool target_is_log = false)
      : reduction(std::move(how)), log_target(target_is_log) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return kl_div(input, target, reduction, log_target, loc);
  }
  REPRISE_FIELDS(KLDivLoss, reduction, log_target)
};
struct BCELoss : Callable<BCELoss> {
  std::optional<Tensor> weight;
  std::string reduction = "mean";
  BCELoss() = default;
  explicit BCELoss(std::optional<Tensor> w, std::string how = "mean")
      : weight(std::move(w)), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return binary_cross_entropy(input, target, detail::or_none(weight), reduction, loc);
  }
  REPRISE_FIELDS(BCELoss, weight, reduction)
};
struct BCEWithLogitsLoss : Callable<BCEWithLogitsLoss> {
  std::optional<Tensor> weight, pos_weight;
  std::string reduction = "mean";
  BCEWithLogitsLoss() = default;
  explicit BCEWithLogitsLoss(std::optional<Tensor> w, std::optional<Tensor> positive = std::nullopt,
                             std::string how = "mean")
      : weight(std::move(w)), pos_weight(std::move(positive)), reduction(std::move(how)) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return binary_cross_entropy_with_logits(input, target, detail::or_none(weight), detail::or_none(pos_weight),
                                            reduction, loc);
  }
  REPRISE_FIELDS(BCEWithLogitsLoss, weight, pos_weight, reduction)
};
struct NLLLoss : Callable<NLLLoss> {
  std::optional<Tensor> weight;  ///< [classes]
  std::string reduction = "mean";
  std::int64_t ignore_index = -100;
  NLLLoss() = default;
  explicit NLLLoss(std::optional<Tensor> w, std::string how = "mean", std::int64_t ignored = -100)
      : weight(std::move(w)), reduction(std::move(how)), ignore_index(ignored) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return nll_loss(input, target, detail::or_none(weight), reduction, ignore_index, loc);
  }
  REPRISE_FIELDS(NLLLoss, weight, reduction, ignore_index)
};
struct CrossEntropyLoss : Callable<CrossEntropyLoss> {
  std::optional<Tensor> weight;  ///< [classes]
  std::string reduction = "mean";
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  CrossEntropyLoss() = default;
  explicit CrossEntropyLoss(std::optional<Tensor> w, std::string how = "mean", std::int64_t ignored = -100,
                            double smoothing = 0)
      : weight(std::move(w)), reduction(std::move(how)), ignore_index(ignored), label_smoothing(smoothing) {}
  Tensor forward(const Tensor& input, const Tensor& target, SourceLoc loc = SourceLoc::current()) const {
    return cross_entropy(input, target, detail::or_none(weight), reduction, ignore_index, label_smoothing, loc);
  }
  REPRISE_FIELDS(CrossEntropyLoss, weight, reduction, ignore_index, label_smoothing)
};

}  // namespace nn
}  // namespace REPRISE_VISIBLE
