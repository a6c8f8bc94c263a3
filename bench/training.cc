#include "bench/training.h"

#include <cmath>

namespace reprise::training {

namespace {

/// f of every weight that learns, in the order of parameters().
template <class W, class F>
void each(W& w, F&& f) {
  f(w.embedding), f(w.norm);
  for (auto& l : w.layers) f(l.attention_norm), f(l.ffn_norm), f(l.wq), f(l.wk), f(l.wv), f(l.wo), f(l.w1), f(l.w2), f(l.w3);
}
constexpr std::size_t kOfLayer = 9;

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Int half = x.size(3) / 2;
  const Tensor a = x.slice(3, 0, half), b = x.slice(3, half, x.size(3));
  return cat({a * cos - b * sin, b * cos + a * sin}, 3);
}

}  // namespace

optim::Tensors parameters(const llama::Weights& w) {
  optim::Tensors all;
  each(w, [&](const Tensor& t) { all.push_back(t); });
  return all;
}

llama::Weights random_weights(const llama::Config& c) {
  auto matrix = [](std::int64_t out, std::int64_t in) { return randn({out, in}) / std::sqrt(static_cast<double>(in)); };
  llama::Weights w;
  w.embedding = matrix(c.vocab_size, c.dim), w.norm = ones({c.dim});
  const std::int64_t kv = c.n_kv_heads * c.head_dim;
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    w.layers.push_back({ones({c.dim}), matrix(c.dim, c.dim), matrix(kv, c.dim), matrix(kv, c.dim), matrix(c.dim, c.dim), ones({c.dim}), matrix(c.hidden_dim, c.dim), matrix(c.dim, c.hidden_dim), matrix(c.hidden_dim, c.dim)});
  std::tie(w.cos, w.sin) = angles(c);
  return w;
}

std::tuple<Tensor, Tensor> angles(const llama::Config& c) {
  const std::int64_t half = c.head_dim / 2;
  const Tensor rate = exp(arange(half).to(kFloat32) * (-std::log(c.rope_base) / static_cast<double>(half)));
  const Tensor angle = arange(c.context).to(kFloat32).unsqueeze(1) * rate;
  return {cos(angle), sin(angle)};
}

Tensor loss(const llama::Config& c, const llama::Weights& w, const Tensor& tokens) {
  const Int n = tokens.size(0), t = tokens.size(1) - 1;
  const Tensor cos = w.cos.slice(0, 0, t), sin = w.sin.slice(0, 0, t);
  auto heads = [&](const Tensor& x, std::int64_t count) { return x.view({n, t, count, c.head_dim}).transpose(1, 2); };
  Tensor x = embedding(w.embedding, tokens.slice(1, 0, t));
  for (const llama::Layer& l : w.layers) {
    Tensor h = rms_norm(x, l.attention_norm, c.norm_eps);
    const Tensor q = rope(heads(linear(h, l.wq), c.n_heads), cos, sin), k = rope(heads(linear(h, l.wk), c.n_kv_heads), cos, sin), v = heads(linear(h, l.wv), c.n_kv_heads);
    const Tensor y = scaled_dot_product_attention(q, k, v, {}, 0.0, true, std::nullopt, c.n_kv_heads != c.n_heads);
    x = x + linear(y.transpose(1, 2).reshape({n, t, c.n_heads * c.head_dim}), l.wo);
    h = rms_norm(x, l.ffn_norm, c.norm_eps);
    x = x + linear(silu(linear(h, l.w1)) * linear(h, l.w3), l.w2);
  }
  const Tensor logits = linear(rms_norm(x, w.norm, c.norm_eps), w.embedding);
  return cross_entropy(logits.reshape({-1, c.vocab_size}), tokens.slice(1, 1, t + 1).reshape({-1}));
}

std::vector<Tensor> step(const llama::Config& c, const llama::Weights& w, const optim::AdamState& state, const optim::AdamWOptions& options, const Tensor& tokens) {
  llama::Weights own = w;
  each(own, [](Tensor& t) { t = t.detach().requires_grad_(); });
  const Tensor l = loss(c, own, tokens);
  const optim::Tensors grads = grad({l}, parameters(own));
  optim::adamw_(parameters(w), grads, state, options);
  std::vector<Tensor> r{l.detach(), grads[1]};
  for (std::size_t i = 2; i < grads.size(); i += kOfLayer) r.push_back(grads[i]), r.push_back(grads[i + 1]);
  return r;
}

}  // namespace reprise::training
