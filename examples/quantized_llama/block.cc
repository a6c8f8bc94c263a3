#include "block.h"

#include <cmath>

namespace quantized {

std::int64_t Weights::bytes() const {
  std::int64_t all = head.bytes();
  for (const Layer& l : layers)
    for (const Linear* w : {&l.wq, &l.wk, &l.wv, &l.wo, &l.w1, &l.w2, &l.w3}) all += w->bytes();
  return all;
}

Weights weights_of(const llama::Weights& w, Format format) {
  auto vector = [](const rp::Tensor& t) { return t.to(rp::kBFloat16); };
  Weights out{vector(w.embedding), {}, vector(w.norm), Linear::of(w.embedding, format), w.cos, w.sin};
  for (const llama::Layer& l : w.layers)
    out.layers.push_back({vector(l.attention_norm), Linear::of(l.wq, format), Linear::of(l.wk, format),
                          Linear::of(l.wv, format), Linear::of(l.wo, format), vector(l.ffn_norm),
                          Linear::of(l.w1, format), Linear::of(l.w2, format), Linear::of(l.w3, format)});
  return out;
}

llama::Weights random_weights(const llama::Config& c, rp::Device device) {
  auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return (rp::randn({rows, columns}) / std::sqrt(static_cast<double>(columns))).to(device);
  };
  auto ones = [&] { return rp::ones({c.dim}).to(device); };
  llama::Weights w;
  w.embedding = matrix(c.vocab_size, c.dim);
  const std::int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    w.layers.push_back({ones(), matrix(q, c.dim), matrix(kv, c.dim), matrix(kv, c.dim), matrix(c.dim, q), ones(),
                        matrix(c.hidden_dim, c.dim), matrix(c.dim, c.hidden_dim), matrix(c.hidden_dim, c.dim)});
  w.norm = ones();
  const rp::Tensor turns = rp::pow(
      c.rope_base, rp::arange(c.head_dim / 2, {.dtype = rp::kFloat32}) * (-2.0 / static_cast<double>(c.head_dim)));
  const rp::Tensor angles = rp::outer(rp::arange(c.context, {.dtype = rp::kFloat32}), turns);
  w.cos = angles.cos().to(device), w.sin = angles.sin().to(device);
  return w;
}

namespace {

// Rotary positions (Su et al. 2021), halves rotated against each other. x: [heads, t, hd]; cos, sin: [t, hd/2].
rp::Tensor rope(rp::Tensor x, rp::Tensor cos, rp::Tensor sin) {
  rp::Int half = x.size(2) / 2;
  rp::Tensor a = x.slice(2, 0, half), b = x.slice(2, half, x.size(2));
  return rp::cat({a * cos - b * sin, b * cos + a * sin}, 2).to(x.dtype());
}

rp::Tensor attention(const llama::Config& c, const Layer& l, rp::Tensor h, rp::Tensor k_cache, rp::Tensor v_cache,
                     rp::Tensor cos, rp::Tensor sin, rp::Int pos, bool causal) {
  rp::NameScope part("attention");
  rp::Int t = h.size(0), past = pos + t;
  rp::Tensor q = l.wq(h).view({t, c.n_heads, c.head_dim}).transpose(0, 1);
  rp::Tensor k = l.wk(h).view({t, c.n_kv_heads, c.head_dim}).transpose(0, 1);
  rp::Tensor v = l.wv(h).view({t, c.n_kv_heads, c.head_dim}).transpose(0, 1);
  k_cache.slice(1, pos, past).copy_(rope(k, cos, sin));
  v_cache.slice(1, pos, past).copy_(v);
  rp::Tensor y = rp::scaled_dot_product_attention(rope(q, cos, sin), k_cache.slice(1, 0, past),
                                                  v_cache.slice(1, 0, past), {}, 0.0, causal, std::nullopt, true);
  return l.wo(y.transpose(0, 1).reshape({t, c.n_heads * c.head_dim}));
}

rp::Tensor feed_forward(const Layer& l, rp::Tensor h) {
  rp::NameScope part("feed_forward");
  return l.w2(rp::silu(l.w1(h)) * l.w3(h));
}

}  // namespace

rp::Tensor forward(const llama::Config& c, const Weights& w, llama::Cache& cache, rp::Tensor tokens, rp::Int pos,
                   bool causal) {
  rp::Int t = tokens.size(0);
  rp::Tensor x = rp::embedding(w.embedding, tokens);
  rp::Tensor cos = w.cos.slice(0, pos, pos + t), sin = w.sin.slice(0, pos, pos + t);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    rp::NameScope layer("layers", static_cast<std::int64_t>(i));
    const Layer& l = w.layers[i];
    x.add_(
        attention(c, l, rp::rms_norm(x, l.attention_norm, c.norm_eps), cache.k[i], cache.v[i], cos, sin, pos, causal));
    x.add_(feed_forward(l, rp::rms_norm(x, l.ffn_norm, c.norm_eps)));
  }
  return w.head(rp::rms_norm(x.slice(0, t - 1, t), w.norm, c.norm_eps)).view({c.vocab_size}).to(rp::kFloat32);
}

}  // namespace quantized
