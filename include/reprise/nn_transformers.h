#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reprise/nn.h"

/// Encoders and decoders of transformers, as torch::nn has them: structs of layers, as reprise/nn.h says.
namespace reprise REPRISE_VISIBLE {
namespace nn {

struct TransformerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1, layer_norm_eps = 1e-5;
  std::string activation = "relu";  ///< or "gelu"
  bool batch_first = false, norm_first = false;
};
namespace detail {
/// What the layers of encoders and decoders have in common: dropout, and two products with an activation between them.
inline Tensor dropped(const Tensor& x, const TransformerOptions& o, bool training, SourceLoc loc) {
  return training ? dropout(x, o.dropout, true, loc) : x;
}
inline Tensor fed(const Tensor& x, const Linear& first, const Linear& second, const TransformerOptions& o,
                  bool training, SourceLoc loc) {
  const Tensor inner = first.forward(x, loc);
  const Tensor active = o.activation == "gelu" ? gelu(inner, "none", loc) : relu(inner, loc);
  return dropped(second.forward(dropped(active, o, training, loc), loc), o, training, loc);
}
/// A layer with tensors of its own.
template <class Layer>
Layer copied(Layer layer) {
  Replaced walk([](const Tensor& t) { return t.clone(); });
  reprise::detail::walk(layer, walk);
  return layer;
}
}  // namespace detail

/// Masks are MultiheadAttention's: of attention bool, true takes part, or floats; of padding [batch, len], true takes
/// none.
struct TransformerEncoderLayer : Callable<TransformerEncoderLayer> {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  TransformerOptions options;
  bool training = false;
  TransformerEncoderLayer() = default;
  TransformerEncoderLayer(std::int64_t size, std::int64_t heads, TransformerOptions o = {})
      : self_attn(size, heads, true, o.batch_first, o.dropout), linear1(size, o.dim_feedforward),
        linear2(o.dim_feedforward, size), norm1(size, o.layer_norm_eps), norm2(size, o.layer_norm_eps),
        options(std::move(o)) {}
  /// src and result [len, batch, size], with batch_first [batch, len, size], or without a batch [len, size].
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, bool is_causal = false,
                 const Tensor& src_key_padding_mask = {}, SourceLoc loc = SourceLoc::current()) const {
    auto attended = [&](const Tensor& x) {
      return detail::dropped(self_attn.forward(x, x, x, src_mask, is_causal, src_key_padding_mask, loc), options,
                             training, loc);
    };
    auto fed = [&](const Tensor& x) { return detail::fed(x, linear1, linear2, options, training, loc); };
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
    for (std::int64_t i = 0; i < count; ++i) layers.push_back(detail::copied(layer));
  }
  Tensor forward(Tensor x, const Tensor& mask = {}, bool is_causal = false, const Tensor& src_key_padding_mask = {},
                 SourceLoc loc = SourceLoc::current()) const {
    for (const TransformerEncoderLayer& layer : layers)
      x = layer.forward(x, mask, is_causal, src_key_padding_mask, loc);
    return norm ? norm->forward(x, loc) : x;
  }
  REPRISE_FIELDS(TransformerEncoder, layers, norm)
};

/// Masks of a decoder: of its own places, and of those of the memory.
struct DecoderMasks {
  Tensor tgt_mask = {}, memory_mask = {};
  Tensor tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
};
struct TransformerDecoderLayer : Callable<TransformerDecoderLayer> {
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  TransformerOptions options;
  bool training = false;
  TransformerDecoderLayer() = default;
  TransformerDecoderLayer(std::int64_t size, std::int64_t heads, TransformerOptions o = {})
      : self_attn(size, heads, true, o.batch_first, o.dropout),
        multihead_attn(size, heads, true, o.batch_first, o.dropout), linear1(size, o.dim_feedforward),
        linear2(o.dim_feedforward, size), norm1(size, o.layer_norm_eps), norm2(size, o.layer_norm_eps),
        norm3(size, o.layer_norm_eps), options(std::move(o)) {}
  /// tgt and result as an encoder's src; memory: what an encoder has given.
  Tensor forward(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {},
                 SourceLoc loc = SourceLoc::current()) const {
    auto own = [&](const Tensor& x) {
      return detail::dropped(
          self_attn.forward(x, x, x, masks.tgt_mask, masks.tgt_is_causal, masks.tgt_key_padding_mask, loc), options,
          training, loc);
    };
    auto seen = [&](const Tensor& x) {
      return detail::dropped(multihead_attn.forward(x, memory, memory, masks.memory_mask, masks.memory_is_causal,
                                                    masks.memory_key_padding_mask, loc),
                             options, training, loc);
    };
    auto fed = [&](const Tensor& x) { return detail::fed(x, linear1, linear2, options, training, loc); };
    if (options.norm_first) {
      Tensor x = tgt + own(norm1.forward(tgt, loc));
      x = x + seen(norm2.forward(x, loc));
      return x + fed(norm3.forward(x, loc));
    }
    Tensor x = norm1.forward(tgt + own(tgt), loc);
    x = norm2.forward(x + seen(x), loc);
    return norm3.forward(x + fed(x), loc);
  }
  REPRISE_FIELDS(TransformerDecoderLayer, self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3, options,
                 training)
};
struct TransformerDecoder : Callable<TransformerDecoder> {
  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
  TransformerDecoder() = default;
  /// Layers that begin alike, as copies of one do.
  TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t count,
                     std::optional<LayerNorm> last = std::nullopt)
      : norm(std::move(last)) {
    for (std::int64_t i = 0; i < count; ++i) layers.push_back(detail::copied(layer));
  }
  Tensor forward(Tensor x, const Tensor& memory, const DecoderMasks& masks = {},
                 SourceLoc loc = SourceLoc::current()) const {
    for (const TransformerDecoderLayer& layer : layers) x = layer.forward(x, memory, masks, loc);
    return norm ? norm->forward(x, loc) : x;
  }
  REPRISE_FIELDS(TransformerDecoder, layers, norm)
};

/// An encoder and a decoder of `size`, each with a norm at its end. Weights of matrices begin as Xavier's uniform ones.
struct Transformer : Callable<Transformer> {
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  Transformer() = default;
  Transformer(std::int64_t size, std::int64_t heads, std::int64_t encoder_layers = 6, std::int64_t decoder_layers = 6,
              const TransformerOptions& o = {})
      : encoder(TransformerEncoderLayer(size, heads, o), encoder_layers, LayerNorm(size, o.layer_norm_eps)),
        decoder(TransformerDecoderLayer(size, heads, o), decoder_layers, LayerNorm(size, o.layer_norm_eps)) {
    detail::Replaced walk([](const Tensor& t) {
      if (t.dim() < 2) return t;
      const double bound = std::sqrt(6.0 / static_cast<double>(t.size(0).value() + t.size(1).value()));
      return empty(t.sizes(), t.options()).uniform_(-bound, bound);
    });
    reprise::detail::walk(encoder, walk), reprise::detail::walk(decoder, walk);
  }
  /// tgt's sizes. src_mask, src_key_padding_mask: the encoder's.
  Tensor forward(const Tensor& src, const Tensor& tgt, const DecoderMasks& masks = {}, const Tensor& src_mask = {},
                 const Tensor& src_key_padding_mask = {}, SourceLoc loc = SourceLoc::current()) const {
    return decoder.forward(tgt, encoder.forward(src, src_mask, false, src_key_padding_mask, loc), masks, loc);
  }
  REPRISE_FIELDS(Transformer, encoder, decoder)
};

}  // namespace nn
}  // namespace REPRISE_VISIBLE
