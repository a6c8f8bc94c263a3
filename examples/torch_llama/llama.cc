// A Llama in libtorch, as such programs are written: weights in plain structs, a cache of keys and values for each layer, prefill and decoding,
// sampling. Random weights, a fixed seed.
#include <reprise/reprise.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace F = reprise;
#define TORCH_CHECK(holds, ...) if (!(holds)) throw reprise::Error(reprise::ErrorCode::InvalidArgument, "llama", message(__VA_ARGS__))
template <class... T>
std::string message(const T&... parts) { std::ostringstream all; (all << ... << parts); return all.str(); }

struct ModelArgs {
  int64_t dim = 256;
  int64_t n_layers = 4;
  int64_t n_heads = 8;
  int64_t n_kv_heads = 4;
  int64_t vocab_size = 512;
  int64_t hidden_dim = 688;
  int64_t max_batch = 2;
  int64_t max_seq_len = 256;
  double norm_eps = 1e-5;
  double rope_theta = 10000.0;
  int64_t head_dim() const { return dim / n_heads; }
};

struct LayerWeights {
  reprise::Tensor attention_norm, wq, wk, wv, wo;
  reprise::Tensor ffn_norm, w1, w2, w3;
};

struct ModelWeights {
  reprise::Tensor tok_embeddings;
  std::vector<LayerWeights> layers;
  reprise::Tensor norm;
  reprise::Tensor output;
};

struct KVCache {
  std::vector<reprise::Tensor> k, v;
};

reprise::Tensor init_weight(reprise::IntArrayRef shape, reprise::TensorOptions options) {
  double fan_in = static_cast<double>(shape[shape.size() - 1]);
  return reprise::randn(shape, options).mul_(1.0 / std::sqrt(fan_in));
}

ModelWeights init_weights(const ModelArgs& args, reprise::TensorOptions options) {
  ModelWeights w;
  int64_t kv_dim = args.n_kv_heads * args.head_dim();
  w.tok_embeddings = reprise::randn({args.vocab_size, args.dim}, options);
  for (int64_t i = 0; i < args.n_layers; ++i) {
    LayerWeights l;
    l.attention_norm = reprise::ones({args.dim}, options);
    l.wq = init_weight({args.dim, args.dim}, options);
    l.wk = init_weight({kv_dim, args.dim}, options);
    l.wv = init_weight({kv_dim, args.dim}, options);
    l.wo = init_weight({args.dim, args.dim}, options);
    l.ffn_norm = reprise::ones({args.dim}, options);
    l.w1 = init_weight({args.hidden_dim, args.dim}, options);
    l.w2 = init_weight({args.dim, args.hidden_dim}, options);
    l.w3 = init_weight({args.hidden_dim, args.dim}, options);
    w.layers.push_back(l);
  }
  w.norm = reprise::ones({args.dim}, options);
  w.output = init_weight({args.vocab_size, args.dim}, options);
  return w;
}

int64_t count_parameters(const ModelWeights& w) {
  reprise::Int n = w.tok_embeddings.numel() + w.norm.numel() + w.output.numel();
  for (const auto& l : w.layers) {
    for (const auto& t : {l.attention_norm, l.wq, l.wk, l.wv, l.wo, l.ffn_norm, l.w1, l.w2, l.w3}) n += t.numel();
  }
  return n.value();
}

KVCache init_cache(const ModelArgs& args, reprise::TensorOptions options) {
  KVCache cache;
  std::vector<int64_t> shape = {args.max_batch, args.max_seq_len, args.n_kv_heads, args.head_dim()};
  for (int64_t i = 0; i < args.n_layers; ++i) {
    cache.k.push_back(reprise::zeros(shape, options));
    cache.v.push_back(reprise::zeros(shape, options));
  }
  return cache;
}

// cos and sin of every position, [max_seq_len, head_dim / 2] each.
std::tuple<reprise::Tensor, reprise::Tensor> precompute_freqs(const ModelArgs& args) {
  int64_t half = args.head_dim() / 2;
  auto options = reprise::TensorOptions{.dtype = reprise::kFloat32, .device = reprise::Device::cpu()};
  reprise::Tensor exponent = reprise::arange(0, half, options) / static_cast<double>(half);
  reprise::Tensor freqs = reprise::pow(args.rope_theta, -exponent);
  reprise::Tensor t = reprise::arange(args.max_seq_len, options);
  reprise::Tensor angles = reprise::outer(t, freqs);
  return std::make_tuple(reprise::cos(angles), reprise::sin(angles));
}

reprise::Tensor rms_norm(const reprise::Tensor& x, const reprise::Tensor& weight, double eps) {
  reprise::Tensor h = x.to(reprise::kFloat32);
  h = h * reprise::rsqrt(h.pow(2).mean(-1, /*keepdim=*/true) + eps);
  return h.to(x.scalar_type()) * weight;
}

reprise::Tensor apply_rotary(const reprise::Tensor& x, const reprise::Tensor& cos, const reprise::Tensor& sin) {
  auto sizes = x.sizes();
  sizes.back() = sizes.back() / 2;
  sizes.push_back(2);
  auto pairs = x.to(reprise::kFloat32).reshape(sizes).unbind(-1);
  reprise::Tensor c = cos.unsqueeze(1);
  reprise::Tensor s = sin.unsqueeze(1);
  reprise::Tensor even = pairs[0] * c - pairs[1] * s;
  reprise::Tensor odd = pairs[0] * s + pairs[1] * c;
  return reprise::stack({even, odd}, -1).flatten(3).type_as(x);
}

reprise::Tensor repeat_kv(const reprise::Tensor& x, int64_t n_rep) {
  if (n_rep == 1) return x;
  reprise::Int batch = x.size(0), len = x.size(1), heads = x.size(2), head_dim = x.size(3);
  return x.unsqueeze(3).expand({batch, len, heads, n_rep, head_dim}).reshape({batch, len, heads * n_rep, head_dim});
}

reprise::Tensor attention(const ModelArgs& args, const LayerWeights& l, const reprise::Tensor& x, reprise::Tensor k_cache,
                        reprise::Tensor v_cache, const reprise::Tensor& cos, const reprise::Tensor& sin,
                        const std::optional<reprise::Tensor>& mask, reprise::Int start_pos) {
  reprise::Int batch = x.size(0);
  reprise::Int len = x.size(1);
  reprise::Tensor q = F::linear(x, l.wq).view({batch, len, args.n_heads, args.head_dim()});
  reprise::Tensor k = F::linear(x, l.wk).view({batch, len, args.n_kv_heads, args.head_dim()});
  reprise::Tensor v = F::linear(x, l.wv).view({batch, len, args.n_kv_heads, args.head_dim()});
  q = apply_rotary(q, cos, sin);
  k = apply_rotary(k, cos, sin);

  k_cache.narrow(0, 0, batch).narrow(1, start_pos, len).copy_(k);
  v_cache.narrow(0, 0, batch).narrow(1, start_pos, len).copy_(v);
  reprise::Tensor keys = k_cache.slice(0, 0, batch).slice(1, 0, start_pos + len);
  reprise::Tensor values = v_cache.slice(0, 0, batch).slice(1, 0, start_pos + len);
  keys = repeat_kv(keys, args.n_heads / args.n_kv_heads).transpose(1, 2);
  values = repeat_kv(values, args.n_heads / args.n_kv_heads).transpose(1, 2);

  reprise::Tensor scores = reprise::matmul(q.transpose(1, 2), keys.transpose(2, 3)) / std::sqrt(static_cast<double>(args.head_dim()));
  if (mask.has_value()) scores = scores + mask.value();
  scores = F::softmax(scores.to(reprise::kFloat32), -1).type_as(q);
  reprise::Tensor out = reprise::matmul(scores, values);
  out = out.transpose(1, 2).contiguous().view({batch, len, -1});
  return F::linear(out, l.wo);
}

reprise::Tensor feed_forward(const LayerWeights& l, const reprise::Tensor& x) {
  return F::linear(F::silu(F::linear(x, l.w1)) * F::linear(x, l.w3), l.w2);
}

reprise::Tensor forward(const ModelArgs& args, const ModelWeights& w, KVCache& cache, const reprise::Tensor& freqs_cos,
                      const reprise::Tensor& freqs_sin, const reprise::Tensor& tokens, reprise::Int start_pos) {
  TORCH_CHECK(tokens.dim() == 2, "tokens must be [batch, len]");
  reprise::Int len = tokens.size(1);
  reprise::Tensor h = F::embedding(w.tok_embeddings, tokens);
  reprise::Tensor cos = freqs_cos.slice(0, start_pos, start_pos + len);
  reprise::Tensor sin = freqs_sin.slice(0, start_pos, start_pos + len);
  std::optional<reprise::Tensor> mask;
  if (len > 1) {
    reprise::Tensor blocked = reprise::full({len, len}, -INFINITY, h.options()).triu(1);
    mask = reprise::cat({reprise::zeros({len, start_pos}, h.options()), blocked}, 1);
  }
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const auto& l = w.layers[i];
    h = h + attention(args, l, rms_norm(h, l.attention_norm, args.norm_eps), cache.k[i], cache.v[i], cos, sin, mask, start_pos);
    h = h + feed_forward(l, rms_norm(h, l.ffn_norm, args.norm_eps));
  }
  h = rms_norm(h, w.norm, args.norm_eps);
  return F::linear(h.select(1, len - 1), w.output).to(reprise::kFloat32);
}

reprise::Tensor sample(const reprise::Tensor& logits, double temperature, int64_t top_k) {
  if (temperature == 0.0) return logits.argmax(-1, /*keepdim=*/true);
  reprise::Tensor values, indices;
  std::tie(values, indices) = reprise::topk(logits, top_k, -1);
  reprise::Tensor probs = reprise::softmax(values / temperature, -1);
  reprise::Tensor choice = reprise::multinomial(probs, 1);
  return reprise::gather(indices, -1, choice);
}

int main(int argc, char** argv) {
  int64_t new_tokens = argc > 1 ? std::stoll(argv[1]) : 64;
  double temperature = argc > 2 ? std::stod(argv[2]) : 0.0;
  try {
    reprise::manual_seed(1337);
    reprise::set_num_threads(1);
    ModelArgs args;
    auto options = reprise::TensorOptions{.dtype = reprise::kFloat32, .device = reprise::Device::cpu()};
    ModelWeights weights = init_weights(args, options);
    KVCache cache = init_cache(args, options);
    std::cerr << count_parameters(weights) << " parameters" << std::endl;
    auto [freqs_cos, freqs_sin] = precompute_freqs(args);

    std::vector<int64_t> prompt = {1, 15, 27, 99, 256, 300, 17, 4, 3, 11, 201, 73, 8, 9, 410, 2};
    int64_t prompt_len = static_cast<int64_t>(prompt.size()) / args.max_batch;
    TORCH_CHECK(prompt_len + new_tokens <= args.max_seq_len, "at most ", args.max_seq_len - prompt_len, " new tokens");
    reprise::Tensor tokens = reprise::from_blob(prompt.data(), {args.max_batch, prompt_len}, reprise::kInt64).clone();

    auto step = reprise::compile(forward, {.name = "llama"});
    reprise::Tensor logits = step(args, weights, cache, freqs_cos, freqs_sin, tokens, 0);
    reprise::Tensor text = reprise::zeros({args.max_batch, args.max_seq_len}, {.dtype = reprise::kInt64});
    text.slice(1, 0, prompt_len).copy_(tokens);
    auto begin = std::chrono::steady_clock::now();
    int64_t pos = prompt_len;
    for (int64_t i = 0; i < new_tokens; ++i, ++pos) {
      reprise::Tensor next = sample(logits, temperature, 40);
      text.index_put_({reprise::arange(args.max_batch), reprise::full({args.max_batch}, pos, {.dtype = reprise::kInt64})}, next.squeeze(-1));
      logits = step(args, weights, cache, freqs_cos, freqs_sin, next, pos);
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    TORCH_CHECK(reprise::isfinite(logits).all().item<bool>(), "logits are not finite");

    // The whole text at once gives what decoding gave.
    KVCache fresh = init_cache(args, options);
    reprise::Tensor again = forward(args, weights, fresh, freqs_cos, freqs_sin, text.slice(1, 0, pos), 0);
    TORCH_CHECK(reprise::allclose(logits, again, 1e-3, 1e-3), "decoding with the cache differs");

    for (int64_t b = 0; b < args.max_batch; ++b) {
      for (int64_t i = prompt_len; i < pos; ++i) std::cout << text[b][i].item<int64_t>() << (i + 1 < pos ? ' ' : '\n');
    }
    std::cerr << new_tokens / seconds << " tokens/s" << std::endl;
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
  return 0;
}
