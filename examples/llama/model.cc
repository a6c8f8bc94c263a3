#include "model.h"

#include <cmath>
#include <cstdlib>
#include <vector>

namespace llama {

namespace {

constexpr std::int64_t kLargestContext = std::int64_t{4} << 30;  ///< bytes of cache and angles that a file may ask for

[[noreturn]] void bad_file(const std::string& path, const std::string& what) {
  throw rp::Error(rp::ErrorCode::FileFormat, "load model", path + ": " + what);
}

std::int64_t integer(const rp::SafeTensors& file, const std::string& path, const std::string& key) {
  auto it = file.metadata().find(key);
  if (it == file.metadata().end()) bad_file(path, "the metadata has no '" + key + "'");
  char* end = nullptr;
  long long v = std::strtoll(it->second.c_str(), &end, 10);
  // Products of two of them fit 64 bits.
  if (end == it->second.c_str() || *end != 0 || v <= 0 || v > INT32_MAX)
    bad_file(path, "the metadata '" + key + "' is '" + it->second.substr(0, 40) + "', expected an integer from 1 to " +
                       std::to_string(INT32_MAX));
  return v;
}

double number(const rp::SafeTensors& file, const std::string& path, const std::string& key) {
  auto it = file.metadata().find(key);
  if (it == file.metadata().end()) bad_file(path, "the metadata has no '" + key + "'");
  char* end = nullptr;
  double v = std::strtod(it->second.c_str(), &end);
  if (end == it->second.c_str() || *end != 0 || !(v > 0) || !std::isfinite(v))
    bad_file(path, "the metadata '" + key + "' is '" + it->second.substr(0, 40) + "', expected a positive number");
  return v;
}

}  // namespace

Model load(const std::string& path, rp::Device device) {
  rp::SafeTensors file = rp::load_safetensors(path);
  Model m;
  Config& c = m.config;
  c.dim = integer(file, path, "dim");
  c.n_layers = integer(file, path, "n_layers");
  c.n_heads = integer(file, path, "n_heads");
  c.n_kv_heads = integer(file, path, "n_kv_heads");
  c.head_dim = integer(file, path, "head_dim");
  c.hidden_dim = integer(file, path, "hidden_dim");
  c.vocab_size = integer(file, path, "vocab_size");
  c.context = integer(file, path, "context");
  c.norm_eps = number(file, path, "norm_eps");
  c.rope_base = number(file, path, "rope_base");
  if (c.n_heads % c.n_kv_heads != 0) bad_file(path, "n_heads is not a multiple of n_kv_heads");
  if (c.head_dim % 2 != 0) bad_file(path, "head_dim is odd: positions rotate halves");
  if (c.vocab_size > 256)
    bad_file(path, "vocab_size is " + std::to_string(c.vocab_size) + "; a byte-level model has at most 256");

  auto take = [&](const std::string& name, std::vector<std::int64_t> want) {
    rp::Tensor t = file.at(name);
    bool fits = t.dim() == static_cast<int>(want.size());
    for (int d = 0; fits && d < t.dim(); ++d) fits = t.size(d).value() == want[static_cast<std::size_t>(d)];
    if (!fits) bad_file(path, "'" + name + "' does not have the shape that the metadata implies");
    if (!rp::is_floating(t.dtype())) bad_file(path, "'" + name + "' does not hold floating-point numbers");
    m.weight_bytes += t.numel().value() * rp::item_size(t.dtype());
    t = t.to(device);
    // a model's sizes never change, and code for these is better
    for (int d = 0; d < t.dim(); ++d) rp::mark_static(t, d);
    return t;
  };
  std::int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  m.weights.embedding = take("tok_embeddings.weight", {c.vocab_size, c.dim});
  m.weights.norm = take("norm.weight", {c.dim});
  for (std::int64_t i = 0; i < c.n_layers; ++i) {
    std::string p = "layers." + std::to_string(i) + ".";
    m.weights.layers.push_back({take(p + "attention_norm.weight", {c.dim}), take(p + "attention.wq.weight", {q, c.dim}),
                                take(p + "attention.wk.weight", {kv, c.dim}),
                                take(p + "attention.wv.weight", {kv, c.dim}),
                                take(p + "attention.wo.weight", {c.dim, q}), take(p + "ffn_norm.weight", {c.dim}),
                                take(p + "feed_forward.w1.weight", {c.hidden_dim, c.dim}),
                                take(p + "feed_forward.w2.weight", {c.dim, c.hidden_dim}),
                                take(p + "feed_forward.w3.weight", {c.hidden_dim, c.dim})});
  }

  // The weights are as large as the file; the context is a number that anybody can write into it.
  std::int64_t position = kv * c.n_layers * 2 * rp::item_size(m.weights.embedding.dtype()) + c.head_dim * 4;
  if (c.context > kLargestContext / position)
    bad_file(path, "a context of " + std::to_string(c.context) + " positions takes " + std::to_string(position) +
                       " bytes for each; at most " + std::to_string(kLargestContext >> 30) + " GiB are taken");
  const auto [cos, sin] = rotary_angles(c);
  m.weights.cos = cos.to(device), m.weights.sin = sin.to(device);
  return m;
}

std::pair<rp::Tensor, rp::Tensor> rotary_angles(const Config& c) {
  std::int64_t half = c.head_dim / 2;
  std::vector<float> cos, sin;
  for (std::int64_t p = 0; p < c.context; ++p)
    for (std::int64_t i = 0; i < half; ++i) {
      double angle = static_cast<double>(p) *
                     std::pow(c.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(c.head_dim));
      cos.push_back(static_cast<float>(std::cos(angle)));
      sin.push_back(static_cast<float>(std::sin(angle)));
    }
  return {rp::tensor_of(cos, {c.context, half}), rp::tensor_of(sin, {c.context, half})};
}

Cache new_cache(const Config& c, rp::DType dtype, rp::Device device) {
  Cache cache;
  for (std::int64_t i = 0; i < c.n_layers; ++i) {
    cache.k.push_back(rp::zeros({c.n_kv_heads, c.context, c.head_dim}, {.dtype = dtype, .device = device}));
    cache.v.push_back(rp::zeros({c.n_kv_heads, c.context, c.head_dim}, {.dtype = dtype, .device = device}));
  }
  return cache;
}

namespace {

// Rotary positions (Su et al. 2021), halves rotated against each other. x: [heads, t, hd]; cos, sin: [t, hd/2].
rp::Tensor rope(rp::Tensor x, rp::Tensor cos, rp::Tensor sin) {
  rp::Int half = x.size(2) / 2;
  rp::Tensor a = x.slice(2, 0, half), b = x.slice(2, half, x.size(2));
  return rp::cat({a * cos - b * sin, b * cos + a * sin}, 2).to(x.dtype());
}

rp::Tensor attention(const Config& c, const Layer& l, rp::Tensor x, rp::Tensor k_cache, rp::Tensor v_cache,
                     rp::Tensor cos, rp::Tensor sin, rp::Int pos, bool causal) {
  rp::NameScope part("attention");
  rp::Int t = x.size(0), past = pos + t;
  rp::Tensor h = rp::rms_norm(x, l.attention_norm, c.norm_eps);
  rp::Tensor q = rp::linear(h, l.wq).view({t, c.n_heads, c.head_dim}).transpose(0, 1);
  rp::Tensor k = rp::linear(h, l.wk).view({t, c.n_kv_heads, c.head_dim}).transpose(0, 1);
  rp::Tensor v = rp::linear(h, l.wv).view({t, c.n_kv_heads, c.head_dim}).transpose(0, 1);
  k_cache.slice(1, pos, past).copy_(rope(k, cos, sin));
  v_cache.slice(1, pos, past).copy_(v);
  rp::Tensor y = rp::scaled_dot_product_attention(rope(q, cos, sin), k_cache.slice(1, 0, past),
                                                  v_cache.slice(1, 0, past), {}, 0.0, causal, std::nullopt, true);
  return x + rp::linear(y.transpose(0, 1).reshape({t, c.n_heads * c.head_dim}), l.wo);
}

rp::Tensor feed_forward(const Config& c, const Layer& l, rp::Tensor x) {
  rp::NameScope part("feed_forward");
  rp::Tensor h = rp::rms_norm(x, l.ffn_norm, c.norm_eps);
  return x + rp::linear(rp::silu(rp::linear(h, l.w1)) * rp::linear(h, l.w3), l.w2);
}

}  // namespace

rp::Tensor forward(const Config& c, const Weights& w, Cache& cache, rp::Tensor tokens, rp::Int pos, bool causal) {
  rp::Int t = tokens.size(0);
  rp::Tensor x = rp::embedding(w.embedding, tokens);
  rp::Tensor cos = w.cos.slice(0, pos, pos + t), sin = w.sin.slice(0, pos, pos + t);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    rp::NameScope layer("layers", static_cast<std::int64_t>(i));
    x = attention(c, w.layers[i], x, cache.k[i], cache.v[i], cos, sin, pos, causal);
    x = feed_forward(c, w.layers[i], x);
  }
  rp::Tensor last = rp::rms_norm(x.slice(0, t - 1, t), w.norm, c.norm_eps);
  return rp::linear(last, w.embedding).view({c.vocab_size}).to(rp::kFloat32);
}

}  // namespace llama
