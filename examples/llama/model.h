#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"

namespace llama {

namespace rp = reprise;

/// What a model file's metadata says. All sizes in elements.
struct Config {
  std::int64_t dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, hidden_dim = 0, vocab_size = 0,
               context = 0;
  double norm_eps = 1e-5, rope_base = 10000;
};

struct Layer {
  rp::Tensor attention_norm, wq, wk, wv, wo;  // [dim], [heads*hd, dim], [kv*hd, dim], [kv*hd, dim], [dim, heads*hd]
  rp::Tensor ffn_norm, w1, w2, w3;            // [dim], [hidden, dim], [dim, hidden], [hidden, dim]
};

struct Weights {
  rp::Tensor embedding;  // [vocab, dim], also the output head
  std::vector<Layer> layers;
  rp::Tensor norm;      // [dim]
  rp::Tensor cos, sin;  // [context, hd/2], float32: the rotary angles of every position
};

/// Keys and values of the positions seen so far, written in place: [n_kv_heads, context, head_dim] a layer.
struct Cache {
  std::vector<rp::Tensor> k, v;
};

/// f of every weight that a model's file holds: the embedding, the last norm, and of each layer its norms, then its
/// matrices.
template <class W, class F>
void each_weight(W& w, F&& f) {
  f(w.embedding), f(w.norm);
  for (auto& l : w.layers)
    f(l.attention_norm), f(l.ffn_norm), f(l.wq), f(l.wk), f(l.wv), f(l.wo), f(l.w1), f(l.w2), f(l.w3);
}
inline constexpr std::size_t kWeightsOfALayer = 9;

struct Model {
  Config config;
  Weights weights;
  std::int64_t weight_bytes = 0;  // what one decoded token has to read
};

/// Reads a safetensors file onto a device. Throws rp::Error(FileFormat) naming what is missing or has the wrong shape.
Model load(const std::string& path, rp::Device device = rp::Device::cpu());
/// The rotary angles of positions 0 .. context - 1: cos and sin, [context, head_dim/2] float32.
std::pair<rp::Tensor, rp::Tensor> rotary_angles(const Config&);
Cache new_cache(const Config&, rp::DType dtype, rp::Device device = rp::Device::cpu());

/// Plain eager code: nothing in it knows about compilation. Runs `tokens` [t] (int64) at positions pos .. pos+t-1,
/// writes their keys and values into the cache, and returns the logits of the last one, [vocab] float32.
/// `causal`: several tokens at once, starting at position 0 (a prompt); otherwise one token that sees all before it.
rp::Tensor forward(const Config& c, const Weights& w, Cache& cache, rp::Tensor tokens, rp::Int pos, bool causal);

}  // namespace llama
