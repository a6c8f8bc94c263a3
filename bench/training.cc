#include "bench/training.h"

#include <cmath>
#include <tuple>

#include "examples/lora/adapters.h"

namespace reprise::training {

optim::Tensors parameters(const llama::Weights& w) {
  optim::Tensors all;
  llama::each_weight(w, [&](const Tensor& t) { all.push_back(t); });
  return all;
}

llama::Weights leaves(const llama::Weights& w) {
  llama::Weights made = w;
  llama::each_weight(made, [](Tensor& t) { t = t.detach().requires_grad_(); });
  return made;
}

llama::Weights random_weights(const llama::Config& c) {
  auto matrix = [](std::int64_t out, std::int64_t in) { return randn({out, in}) / std::sqrt(static_cast<double>(in)); };
  llama::Weights w;
  w.embedding = matrix(c.vocab_size, c.dim), w.norm = ones({c.dim});
  const std::int64_t kv = c.n_kv_heads * c.head_dim;
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    w.layers.push_back({ones({c.dim}), matrix(c.dim, c.dim), matrix(kv, c.dim), matrix(kv, c.dim), matrix(c.dim, c.dim),
                        ones({c.dim}), matrix(c.hidden_dim, c.dim), matrix(c.dim, c.hidden_dim),
                        matrix(c.hidden_dim, c.dim)});
  std::tie(w.cos, w.sin) = llama::rotary_angles(c);
  return w;
}

Tensor loss(const llama::Config& c, const llama::Weights& w, const Tensor& tokens) {
  return lora::loss(c, w, {}, 0, tokens);
}

std::vector<Tensor> step(const llama::Config& c, const llama::Weights& w, const optim::AdamState& state,
                         const optim::AdamWOptions& options, const Tensor& tokens) {
  const llama::Weights own = leaves(w);
  const Tensor l = loss(c, own, tokens);
  const optim::Tensors grads = grad({l}, parameters(own));
  optim::adamw_(parameters(w), grads, state, options);
  std::vector<Tensor> r{l.detach(), grads[1]};
  for (std::size_t i = 2; i < grads.size(); i += llama::kWeightsOfALayer)
    r.push_back(grads[i]), r.push_back(grads[i + 1]);
  return r;
}

}  // namespace reprise::training
