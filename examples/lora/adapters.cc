#include "adapters.h"

#include <cmath>

namespace lora {

namespace {

/// f(name, adapter) for each of a layer.
template <class L, class F>
void each(L& l, F&& f) {
  f("wq", l.wq), f("wk", l.wk), f("wv", l.wv), f("wo", l.wo), f("w1", l.w1), f("w2", l.w2), f("w3", l.w3);
}
/// And of all.
template <class A, class F>
void each_of_all(A& a, F&& f) {
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    each(a.layers[i], [&](const char* name, auto& adapter) { f("layers." + std::to_string(i) + "." + name, adapter); });
}

rp::Tensor project(const rp::Tensor& x, const rp::Tensor& w, const Adapter* a, double scale) {
  const rp::Tensor y = rp::linear(x, w);
  return a ? y + rp::linear(rp::linear(x, a->down), a->up) * scale : y;
}

// Rotary positions, as the model has them (examples/llama/model.cc). x: [n, heads, t, hd]; cos, sin: [t, hd/2].
rp::Tensor rope(const rp::Tensor& x, const rp::Tensor& cos, const rp::Tensor& sin) {
  const rp::Int half = x.size(3) / 2;
  const rp::Tensor a = x.slice(3, 0, half), b = x.slice(3, half, x.size(3));
  return rp::cat({a * cos - b * sin, b * cos + a * sin}, 3);
}

}  // namespace

Adapters new_adapters(const llama::Weights& w, std::int64_t rank) {
  auto of = [&](const rp::Tensor& weight) {
    const rp::Int in = weight.size(1);
    return Adapter{(rp::randn({rank, in}) / std::sqrt(static_cast<double>(in.value()))).to(weight.device()),
                   rp::zeros({weight.size(0), rank}).to(weight.device())};
  };
  Adapters a;
  for (const llama::Layer& l : w.layers)
    a.layers.push_back({of(l.wq), of(l.wk), of(l.wv), of(l.wo), of(l.w1), of(l.w2), of(l.w3)});
  return a;
}

std::vector<rp::Tensor> parameters(const Adapters& a) {
  std::vector<rp::Tensor> all;
  each_of_all(a, [&](const std::string&, const Adapter& one) { all.push_back(one.down), all.push_back(one.up); });
  return all;
}
std::map<std::string, rp::Tensor> named(const Adapters& a) {
  std::map<std::string, rp::Tensor> all;
  each_of_all(a, [&](const std::string& name, const Adapter& one) {
    all.emplace(name + ".down", one.down), all.emplace(name + ".up", one.up);
  });
  return all;
}
Adapters leaves(const Adapters& a) {
  Adapters made = a;
  each_of_all(made, [](const std::string&, Adapter& one) {
    one = {one.down.detach().requires_grad_(), one.up.detach().requires_grad_()};
  });
  return made;
}

rp::Tensor forward(const llama::Config& c, const llama::Weights& w, const Adapters& adapters, double scale,
                   const rp::Tensor& tokens) {
  const rp::Int n = tokens.size(0), t = tokens.size(1);
  const rp::Tensor cos = w.cos.slice(0, 0, t), sin = w.sin.slice(0, 0, t);
  auto heads = [&](const rp::Tensor& x, std::int64_t count) {
    return x.view({n, t, count, c.head_dim}).transpose(1, 2);
  };
  rp::Tensor x = rp::embedding(w.embedding, tokens);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    rp::NameScope layer("layers", static_cast<std::int64_t>(i));
    const llama::Layer& l = w.layers[i];
    const LayerAdapters* a = adapters.layers.empty() ? nullptr : &adapters.layers[i];
    auto at = [&](Adapter LayerAdapters::*which) { return a ? &(a->*which) : nullptr; };
    rp::Tensor h = rp::rms_norm(x, l.attention_norm, c.norm_eps);
    const rp::Tensor q = rope(heads(project(h, l.wq, at(&LayerAdapters::wq), scale), c.n_heads), cos, sin);
    const rp::Tensor k = rope(heads(project(h, l.wk, at(&LayerAdapters::wk), scale), c.n_kv_heads), cos, sin);
    const rp::Tensor v = heads(project(h, l.wv, at(&LayerAdapters::wv), scale), c.n_kv_heads);
    const rp::Tensor y = rp::scaled_dot_product_attention(q, k, v, {}, 0.0, true, std::nullopt, true);
    x = x + project(y.transpose(1, 2).reshape({n, t, c.n_heads * c.head_dim}), l.wo, at(&LayerAdapters::wo), scale);
    h = rp::rms_norm(x, l.ffn_norm, c.norm_eps);
    const rp::Tensor gated =
        rp::silu(project(h, l.w1, at(&LayerAdapters::w1), scale)) * project(h, l.w3, at(&LayerAdapters::w3), scale);
    x = x + project(gated, l.w2, at(&LayerAdapters::w2), scale);
  }
  return rp::linear(rp::rms_norm(x, w.norm, c.norm_eps), w.embedding);
}

rp::Tensor loss(const llama::Config& c, const llama::Weights& w, const Adapters& adapters, double scale,
                const rp::Tensor& pieces) {
  const rp::Int t = pieces.size(1) - 1;
  const rp::Tensor logits = forward(c, w, adapters, scale, pieces.slice(1, 0, t));
  return rp::cross_entropy(logits.reshape({-1, c.vocab_size}), pieces.slice(1, 1, t + 1).reshape({-1}));
}

llama::Weights merged(const llama::Weights& w, const Adapters& a, double scale) {
  llama::Weights made = w;
  for (std::size_t i = 0; i < made.layers.size(); ++i) {
    llama::Layer& l = made.layers[i];
    auto add = [&](rp::Tensor& weight, const Adapter& one) { weight = weight + rp::mm(one.up, one.down) * scale; };
    const LayerAdapters& of = a.layers[i];
    add(l.wq, of.wq), add(l.wk, of.wk), add(l.wv, of.wv), add(l.wo, of.wo), add(l.w1, of.w1), add(l.w2, of.w2),
        add(l.w3, of.w3);
  }
  return made;
}

}  // namespace lora
