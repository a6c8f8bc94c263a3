#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/attention.h"
#include "reprise/convolution.h"
#include "reprise/normalization.h"
#include "reprise/ops.h"
#include "reprise/pooling.h"
#include "reprise/tensor_names.h"
#include "reprise/weights.h"

/// Layers of models, as torch::nn names and initialises them: plain structs of tensors with a forward(). They are
/// arguments of compiled functions as they stand, members of structs of a user's, and filled by names from a state dict
/// (load_safetensors, gguf::load_gguf): `struct Block { nn::Linear up, down; }` has "up.weight", "up.bias" and so on.
/// Lists of layers are std::vector. Random weights are drawn from the process's generator (manual_seed). What a layer
/// does at training it does where `training` is set; it is not, unless a program does.
namespace reprise REPRISE_VISIBLE {
namespace nn {

/// layer(x) is layer.forward(x), and so is layer->forward(x), which programs for libtorch write.
template <class Layer>
struct Callable {
  using reprise_module = void;  ///< its tensors are parameters, but for REPRISE_BUFFERS (flatten.h)
  template <class... A>
  decltype(auto) operator()(const A&... args) const {
    const reprise::detail::NamesInTrace<Layer> names(static_cast<const Layer&>(*this));
    return static_cast<const Layer&>(*this).forward(args...);
  }
  template <class... A>
  decltype(auto) operator()(const A&... args) {
    const reprise::detail::NamesInTrace<Layer> names(static_cast<const Layer&>(*this));
    return static_cast<Layer&>(*this).forward(args...);
  }
  Layer* operator->() { return static_cast<Layer*>(this); }
  const Layer* operator->() const { return static_cast<const Layer*>(this); }
};

namespace detail {
/// Uniform within the bound that keeps the variance of what many inputs sum up to: 1 / sqrt(fan_in).
inline Tensor drawn(IntArrayRef sizes, std::int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return empty(sizes).uniform_(-bound, bound);
}
inline std::optional<Tensor> made_if(bool wanted, const auto& make) {
  return wanted ? std::optional<Tensor>(make()) : std::nullopt;
}
inline Tensor or_none(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }
}  // namespace detail

/// x [..., in] to [..., out].
struct Linear : Callable<Linear> {
  Tensor weight;               ///< [out, in]
  std::optional<Tensor> bias;  ///< [out]
  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true)
      : weight(detail::drawn({out, in}, in)),
        bias(detail::made_if(with_bias, [&] { return detail::drawn({out}, in); })) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return reprise::linear(x, weight, detail::or_none(bias), loc);
  }
  REPRISE_FIELDS(Linear, weight, bias)
};

/// Indices to rows.
struct Embedding : Callable<Embedding> {
  Tensor weight;  ///< [count, size]
  Embedding() = default;
  Embedding(std::int64_t count, std::int64_t size, std::optional<std::int64_t> padding_idx = std::nullopt)
      : weight(randn({count, size})) {
    if (padding_idx) weight.select(0, *padding_idx).zero_();
  }
  Tensor forward(const Tensor& indices, SourceLoc loc = SourceLoc::current()) const {
    return reprise::embedding(weight, indices, loc);
  }
  REPRISE_FIELDS(Embedding, weight)
};

/// What a convolution of D spatial dimensions does beside its kernel; a list is of one number, or of one for each
/// dimension.
struct ConvOptions {
  std::vector<std::int64_t> stride = {1}, padding = {0}, dilation = {1};
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = {};  ///< "same", "valid", or "" for the numbers
};

template <int D>
struct Conv : Callable<Conv<D>> {
  Tensor weight;               ///< [out, in / groups, kernel...]
  std::optional<Tensor> bias;  ///< [out]
  ConvOptions options;
  Conv() = default;
  Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvOptions o = {})
      : options(std::move(o)) {
    std::vector<std::int64_t> sizes = {out, in / options.groups};
    std::int64_t fan_in = sizes[1];
    for (int d = 0; d < D; ++d)
      sizes.push_back(kernel.size() == 1 ? kernel[0] : kernel.at(static_cast<std::size_t>(d))), fan_in *= sizes.back();
    weight = detail::drawn(sizes, fan_in);
    bias = detail::made_if(options.bias, [&] { return detail::drawn({out}, fan_in); });
  }
  Conv(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions o = {})
      : Conv(in, out, std::vector<std::int64_t>{kernel}, std::move(o)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    constexpr auto conv = D == 1 ? conv1d : D == 2 ? conv2d : conv3d;
    const ConvPadding padding =
        options.padding_mode.empty() ? ConvPadding(options.padding) : ConvPadding(options.padding_mode);
    return conv(x, weight, detail::or_none(bias), options.stride, padding, options.dilation, options.groups, loc);
  }
  REPRISE_FIELDS(Conv, weight, bias, options)
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

/// Over the last dimensions, which have `normalized_shape`'s sizes.
struct LayerNorm : Callable<LayerNorm> {
  std::optional<Tensor> weight, bias;
  std::vector<std::int64_t> normalized_shape;
  double eps = 1e-5;
  LayerNorm() = default;
  LayerNorm(std::vector<std::int64_t> shape, double epsilon = 1e-5, bool affine = true)
      : normalized_shape(std::move(shape)), eps(epsilon) {
    weight = detail::made_if(affine, [&] { return ones(normalized_shape); }),
    bias = detail::made_if(affine, [&] { return zeros(normalized_shape); });
  }
  LayerNorm(std::int64_t size, double epsilon = 1e-5, bool affine = true)
      : LayerNorm(std::vector<std::int64_t>{size}, epsilon, affine) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return layer_norm(
        x, weight && normalized_shape.empty() ? IntArrayRef(weight->sizes().vec()) : IntArrayRef(normalized_shape),
        detail::or_none(weight), detail::or_none(bias), eps, loc);
  }
  REPRISE_FIELDS(LayerNorm, weight, bias, normalized_shape, eps)
};

struct RMSNorm : Callable<RMSNorm> {
  Tensor weight;
  std::optional<double> eps;
  RMSNorm() = default;
  RMSNorm(std::int64_t size, std::optional<double> epsilon = std::nullopt) : weight(ones({size})), eps(epsilon) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return rms_norm(x, weight, eps, loc); }
  REPRISE_FIELDS(RMSNorm, weight, eps)
};

/// Of x [n, c, ...]: over each of `groups` groups of channels and all that is behind.
struct GroupNorm : Callable<GroupNorm> {
  std::optional<Tensor> weight, bias;  ///< [c]
  std::int64_t groups = 1;
  double eps = 1e-5;
  GroupNorm() = default;
  GroupNorm(std::int64_t n_groups, std::int64_t channels, double epsilon = 1e-5, bool affine = true)
      : groups(n_groups), eps(epsilon) {
    weight = detail::made_if(affine, [&] { return ones({channels}); }),
    bias = detail::made_if(affine, [&] { return zeros({channels}); });
  }
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return group_norm(x, groups, detail::or_none(weight), detail::or_none(bias), eps, true, loc);
  }
  REPRISE_FIELDS(GroupNorm, weight, bias, groups, eps)
};

/// Of x [n, c, ...] with D dimensions behind the channels (BatchNorm1d: also of [n, c]): each channel with the running
/// mean and variance. Where `training` is set with those of x, which the running ones follow by `momentum`.
template <int D>
struct BatchNorm : Callable<BatchNorm<D>> {
  std::optional<Tensor> weight, bias;
  Tensor running_mean, running_var;
  std::optional<Tensor> num_batches_tracked;  ///< int64: files have it
  double eps = 1e-5, momentum = 0.1;
  bool training = false;
  BatchNorm() = default;
  explicit BatchNorm(std::int64_t channels, double epsilon = 1e-5, double follow = 0.1, bool affine = true)
      : running_mean(zeros({channels})), running_var(ones({channels})),
        num_batches_tracked(zeros({}, {.dtype = kInt64})), eps(epsilon), momentum(follow) {
    weight = detail::made_if(affine, [&] { return ones({channels}); }),
    bias = detail::made_if(affine, [&] { return zeros({channels}); });
  }
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    if (x.dim() != D + 2 && !(D == 1 && x.dim() == 2))
      throw Error(
          ErrorCode::ShapeMismatch, "BatchNorm",
          "wants " + std::to_string(D + 2) + (D == 1 ? " or 2" : "") + " dimensions, got " + std::to_string(x.dim()),
          loc);
    Tensor y = batch_norm(x, detail::or_none(weight), detail::or_none(bias), running_mean, running_var, training,
                          momentum, eps, true, loc);
    if (training && num_batches_tracked) num_batches_tracked->add_(1, 1, loc);
    return y;
  }
  REPRISE_FIELDS(BatchNorm, weight, bias, running_mean, running_var, num_batches_tracked, eps, momentum, training)
  REPRISE_BUFFERS(running_mean, running_var, num_batches_tracked)
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

struct Dropout : Callable<Dropout> {
  double p = 0.5;
  bool training = false;
  Dropout() = default;
  explicit Dropout(double probability) : p(probability) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return training ? dropout(x, p, true, loc) : x;
  }
  REPRISE_FIELDS(Dropout, p, training)
};

/// Of embed_dim in num_heads heads; query [len, batch, embed_dim], or [batch, len, embed_dim] with batch_first, or
/// without a batch [len, embed_dim]. Where `training` is set, `dropout` of its weights are dropped.
struct MultiheadAttention : Callable<MultiheadAttention> {
  Tensor in_proj_weight;                 ///< [3 embed_dim, embed_dim]: of query, key and value
  std::optional<Tensor> in_proj_bias;    ///< [3 embed_dim]
  std::optional<Tensor> bias_k, bias_v;  ///< [1, 1, embed_dim]: a key more, with its value
  Linear out_proj;
  std::int64_t num_heads = 1;
  bool batch_first = false;
  double dropout = 0;
  bool add_zero_attn = false;  ///< a key of zeros more
  bool training = false;
  MultiheadAttention() = default;
  MultiheadAttention(std::int64_t embed_dim, std::int64_t heads, bool with_bias = true, bool batch_is_first = false,
                     double dropped = 0)
      : out_proj(embed_dim, embed_dim, with_bias), num_heads(heads), batch_first(batch_is_first), dropout(dropped) {
    const double bound = std::sqrt(6.0 / static_cast<double>(4 * embed_dim));
    in_proj_weight = empty({3 * embed_dim, embed_dim}).uniform_(-bound, bound);
    in_proj_bias = detail::made_if(with_bias, [&] { return zeros({3 * embed_dim}); });
    if (with_bias) out_proj.bias->zero_();
  }
  /// attn_mask as scaled_dot_product_attention takes it: bool, true takes part; or floats that are added. Of
  /// key_padding_mask [batch, keys] true is padding, which takes no part; or floats.
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask = {},
                 bool is_causal = false, const Tensor& key_padding_mask = {},
                 SourceLoc loc = SourceLoc::current()) const {
    MultiHeadAttentionOptions o = options(attn_mask, is_causal, key_padding_mask, loc);
    o.need_weights = false;
    return attended(query, key, value, o, loc).first;
  }
  /// The same with the weights: their mean over heads [batch, queries, keys], or each's [batch, num_heads, queries,
  /// keys].
  TensorPair forward_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Tensor& attn_mask = {}, bool is_causal = false,
                                  const Tensor& key_padding_mask = {}, bool average = true,
                                  SourceLoc loc = SourceLoc::current()) const {
    MultiHeadAttentionOptions o = options(attn_mask, is_causal, key_padding_mask, loc);
    o.average_attn_weights = average;
    return attended(query, key, value, o, loc);
  }
  REPRISE_FIELDS(MultiheadAttention, in_proj_weight, in_proj_bias, bias_k, bias_v, out_proj, num_heads, batch_first,
                 dropout, add_zero_attn, training)

 private:
  MultiHeadAttentionOptions options(const Tensor& mask, bool causal, const Tensor& padding, SourceLoc loc) const {
    return {.num_heads = num_heads,
            .in_proj_weight = in_proj_weight,
            .in_proj_bias = detail::or_none(in_proj_bias),
            .bias_k = detail::or_none(bias_k),
            .bias_v = detail::or_none(bias_v),
            .add_zero_attn = add_zero_attn,
            .dropout_p = dropout,
            .out_proj_weight = out_proj.weight,
            .out_proj_bias = detail::or_none(out_proj.bias),
            .training = training,
            .key_padding_mask = padding,
            .attn_mask = mask.defined() && mask.dtype() == kBool ? logical_not(mask, loc) : mask,
            .is_causal = causal};
  }
  TensorPair attended(const Tensor& query, const Tensor& key, const Tensor& value, const MultiHeadAttentionOptions& o,
                      SourceLoc loc) const {
    if (!batch_first || query.dim() != 3) return multi_head_attention_forward(query, key, value, o, loc);
    auto turned = [&](const Tensor& x) { return x.dim() == 3 ? x.transpose(0, 1, loc) : x; };
    TensorPair r = multi_head_attention_forward(turned(query), turned(key), turned(value), o, loc);
    return {turned(r.first), r.second};
  }
};

// ---- layers without weights, which stand in a Sequential
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
REPRISE_ACTIVATION(ReLU, relu(x, loc))
REPRISE_ACTIVATION(SiLU, silu(x, loc))
REPRISE_ACTIVATION(Sigmoid, sigmoid(x, loc))
REPRISE_ACTIVATION(Tanh, tanh(x, loc))
REPRISE_ACTIVATION(Identity, (static_cast<void>(loc), x))
#undef REPRISE_ACTIVATION
struct GELU : Callable<GELU> {
  std::string approximate = "none";
  GELU() = default;
  explicit GELU(std::string how) : approximate(std::move(how)) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const { return gelu(x, approximate, loc); }
  REPRISE_FIELDS(GELU, approximate)
};
struct Softmax : Callable<Softmax> {
  std::int64_t dim = -1;
  Softmax() = default;
  explicit Softmax(std::int64_t along) : dim(along) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return softmax(x, dim, std::nullopt, loc);
  }
  REPRISE_FIELDS(Softmax, dim)
};
struct Flatten : Callable<Flatten> {
  std::int64_t start_dim = 1, end_dim = -1;
  Flatten() = default;
  explicit Flatten(std::int64_t start, std::int64_t end = -1) : start_dim(start), end_dim(end) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return flatten(x, start_dim, end_dim, loc);
  }
  REPRISE_FIELDS(Flatten, start_dim, end_dim)
};

/// Windows of `kernel` every `stride` (its size, if none); averages count what is padded.
struct MaxPool2d : Callable<MaxPool2d> {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  MaxPool2d() = default;
  explicit MaxPool2d(std::int64_t size, std::optional<std::int64_t> every = std::nullopt, std::int64_t around = 0)
      : kernel(size), stride(every.value_or(size)), padding(around) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return max_pool2d(x, kernel, stride, padding, 1, false, loc);
  }
  REPRISE_FIELDS(MaxPool2d, kernel, stride, padding)
};
struct AvgPool2d : Callable<AvgPool2d> {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  AvgPool2d() = default;
  explicit AvgPool2d(std::int64_t size, std::optional<std::int64_t> every = std::nullopt, std::int64_t around = 0)
      : kernel(size), stride(every.value_or(size)), padding(around) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return avg_pool2d(x, kernel, stride, padding, false, true, std::nullopt, loc);
  }
  REPRISE_FIELDS(AvgPool2d, kernel, stride, padding)
};
/// To an image of size x size.
struct AdaptiveAvgPool2d : Callable<AdaptiveAvgPool2d> {
  std::int64_t size = 1;
  AdaptiveAvgPool2d() = default;
  explicit AdaptiveAvgPool2d(std::int64_t to) : size(to) {}
  Tensor forward(const Tensor& x, SourceLoc loc = SourceLoc::current()) const {
    return adaptive_avg_pool2d(x, size, loc);
  }
  REPRISE_FIELDS(AdaptiveAvgPool2d, size)
};

/// One after the other: `nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2))`, in files "0.weight",
/// "2.weight". What a layer takes is what the one before gives.
template <class... Layers>
struct Sequential : std::tuple<Layers...>, Callable<Sequential<Layers...>> {
  Sequential() = default;
  Sequential(Layers... layers) requires(sizeof...(Layers) > 0) : std::tuple<Layers...>(std::move(layers)...) {}
  Tensor forward(Tensor x, SourceLoc loc = SourceLoc::current()) const {
    std::apply([&](const auto&... layer) { ((x = layer.forward(x, loc)), ...); },
               static_cast<const std::tuple<Layers...>&>(*this));
    return x;
  }
  template <std::size_t I>
  auto& get() {
    return std::get<I>(static_cast<std::tuple<Layers...>&>(*this));
  }
  REPRISE_FIELDS(Sequential, REPRISE_BASE(std::tuple<Layers...>))
};
template <class... Layers>
Sequential(Layers...) -> Sequential<Layers...>;

/// All tensors of a struct by the names that files have for them, in the order of its fields.
template <class Model>
std::vector<std::pair<std::string, Tensor>> named_tensors(const Model& model) {
  reprise::detail::WeightCollector found;
  reprise::detail::walk(model, found);
  std::vector<std::pair<std::string, Tensor>> all;
  for (reprise::detail::Weight& w : found.all) all.emplace_back(std::move(w.field), std::move(w.tensor));
  return all;
}

namespace detail {
/// Replaces the tensors of a struct.
template <class F>
struct Replaced : reprise::detail::WeightWalk {
  static constexpr bool shares = true;
  F change;
  explicit Replaced(F f) : change(std::move(f)) {}
  void tensor(Tensor& t) {
    if (t.defined()) t = change(t);
  }
};
}  // namespace detail

namespace detail {
struct Training : reprise::detail::WeightWalk {
  static constexpr bool shares = true;
  bool value = false;
  void tensor(const Tensor&) {}
  template <class C>
  void prepare(C& c) {
    if constexpr (!std::is_const_v<C> && requires {
                    { (c.training) } -> std::same_as<bool&>;
                  })
      c.training = value;
  }
};
}  // namespace detail

/// Moves a struct's tensors to a device, and floating ones to a dtype.
template <class Model>
void to(Model& model, const TensorOptions& options) {
  detail::Replaced walk([&](const Tensor& t) {
    return t.to(
        TensorOptions{.dtype = is_floating(t.dtype()) ? options.dtype : std::nullopt, .device = options.device});
  });
  reprise::detail::walk(model, walk);
}

/// Sets `training` of every layer of a struct that has one. (Layers behind pointers, too.)
template <class Model>
void train(Model& model, bool on = true) {
  detail::Training walk;
  walk.value = on;
  reprise::detail::walk(model, walk);
}

}  // namespace nn
}  // namespace REPRISE_VISIBLE

#include "reprise/nn_layers.h"
#include "reprise/nn_losses.h"
#include "reprise/nn_recurrent.h"
#include "reprise/nn_transformers.h"
