// A Llama in libtorch, as such programs are written: weights in plain structs, a cache of keys and values for each layer, prefill and decoding,
// sampling. Random weights, a fixed seed.
#include <reprise/compat.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

namespace F = torch::nn::functional;

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
  torch::Tensor attention_norm, wq, wk, wv, wo;
  torch::Tensor ffn_norm, w1, w2, w3;
};

struct ModelWeights {
  torch::Tensor tok_embeddings;
  std::vector<LayerWeights> layers;
  torch::Tensor norm;
  torch::Tensor output;
};

struct KVCache {
  std::vector<torch::Tensor> k, v;
};

torch::Tensor init_weight(at::IntArrayRef shape, torch::TensorOptions options) {
  double fan_in = static_cast<double>(shape.back());
  return torch::randn(shape, options).mul_(1.0 / std::sqrt(fan_in));
}

ModelWeights init_weights(const ModelArgs& args, torch::TensorOptions options) {
  ModelWeights w;
  int64_t kv_dim = args.n_kv_heads * args.head_dim();
  w.tok_embeddings = torch::randn({args.vocab_size, args.dim}, options);
  for (int64_t i = 0; i < args.n_layers; ++i) {
    LayerWeights l;
    l.attention_norm = torch::ones({args.dim}, options);
    l.wq = init_weight({args.dim, args.dim}, options);
    l.wk = init_weight({kv_dim, args.dim}, options);
    l.wv = init_weight({kv_dim, args.dim}, options);
    l.wo = init_weight({args.dim, args.dim}, options);
    l.ffn_norm = torch::ones({args.dim}, options);
    l.w1 = init_weight({args.hidden_dim, args.dim}, options);
    l.w2 = init_weight({args.dim, args.hidden_dim}, options);
    l.w3 = init_weight({args.hidden_dim, args.dim}, options);
    w.layers.push_back(l);
  }
  w.norm = torch::ones({args.dim}, options);
  w.output = init_weight({args.vocab_size, args.dim}, options);
  return w;
}

int64_t count_parameters(const ModelWeights& w) {
  torch::Int n = w.tok_embeddings.numel() + w.norm.numel() + w.output.numel();
  for (const auto& l : w.layers) {
    for (const auto& t : {l.attention_norm, l.wq, l.wk, l.wv, l.wo, l.ffn_norm, l.w1, l.w2, l.w3}) n += t.numel();
  }
  return n.value();
}

KVCache init_cache(const ModelArgs& args, torch::TensorOptions options) {
  KVCache cache;
  std::vector<int64_t> shape = {args.max_batch, args.max_seq_len, args.n_kv_heads, args.head_dim()};
  for (int64_t i = 0; i < args.n_layers; ++i) {
    cache.k.push_back(torch::zeros(shape, options));
    cache.v.push_back(torch::zeros(shape, options));
  }
  return cache;
}

// cos and sin of every position, [max_seq_len, head_dim / 2] each.
std::tuple<torch::Tensor, torch::Tensor> precompute_freqs(const ModelArgs& args) {
  int64_t half = args.head_dim() / 2;
  auto options = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCPU);
  torch::Tensor exponent = torch::arange(0, half, options) / static_cast<double>(half);
  torch::Tensor freqs = torch::pow(args.rope_theta, -exponent);
  torch::Tensor t = torch::arange(args.max_seq_len, options);
  torch::Tensor angles = torch::outer(t, freqs);
  return std::make_tuple(torch::cos(angles), torch::sin(angles));
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  torch::Tensor h = x.to(torch::kFloat32);
  h = h * torch::rsqrt(h.pow(2).mean(-1, /*keepdim=*/true) + eps);
  return h.to(x.scalar_type()) * weight;
}

torch::Tensor apply_rotary(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin) {
  auto sizes = x.sizes().vec();
  sizes.back() = sizes.back() / 2;
  sizes.push_back(2);
  auto pairs = x.to(torch::kFloat32).reshape(sizes).unbind(-1);
  torch::Tensor c = cos.unsqueeze(1);
  torch::Tensor s = sin.unsqueeze(1);
  torch::Tensor even = pairs[0] * c - pairs[1] * s;
  torch::Tensor odd = pairs[0] * s + pairs[1] * c;
  return torch::stack({even, odd}, -1).flatten(3).type_as(x);
}

torch::Tensor repeat_kv(const torch::Tensor& x, int64_t n_rep) {
  if (n_rep == 1) return x;
  torch::Int batch = x.size(0), len = x.size(1), heads = x.size(2), head_dim = x.size(3);
  return x.unsqueeze(3).expand({batch, len, heads, n_rep, head_dim}).reshape({batch, len, heads * n_rep, head_dim});
}

torch::Tensor attention(const ModelArgs& args, const LayerWeights& l, const torch::Tensor& x, torch::Tensor k_cache,
                        torch::Tensor v_cache, const torch::Tensor& cos, const torch::Tensor& sin,
                        const c10::optional<torch::Tensor>& mask, torch::Int start_pos) {
  torch::Int batch = x.size(0);
  torch::Int len = x.size(1);
  torch::Tensor q = F::linear(x, l.wq).view({batch, len, args.n_heads, args.head_dim()});
  torch::Tensor k = F::linear(x, l.wk).view({batch, len, args.n_kv_heads, args.head_dim()});
  torch::Tensor v = F::linear(x, l.wv).view({batch, len, args.n_kv_heads, args.head_dim()});
  q = apply_rotary(q, cos, sin);
  k = apply_rotary(k, cos, sin);

  k_cache.narrow(0, 0, batch).narrow(1, start_pos, len).copy_(k);
  v_cache.narrow(0, 0, batch).narrow(1, start_pos, len).copy_(v);
  torch::Tensor keys = k_cache.slice(0, 0, batch).slice(1, 0, start_pos + len);
  torch::Tensor values = v_cache.slice(0, 0, batch).slice(1, 0, start_pos + len);
  keys = repeat_kv(keys, args.n_heads / args.n_kv_heads).transpose(1, 2);
  values = repeat_kv(values, args.n_heads / args.n_kv_heads).transpose(1, 2);

  torch::Tensor scores = torch::matmul(q.transpose(1, 2), keys.transpose(2, 3)) / std::sqrt(static_cast<double>(args.head_dim()));
  if (mask.has_value()) scores = scores + mask.value();
  scores = F::softmax(scores.to(torch::kFloat32), F::SoftmaxFuncOptions(-1)).type_as(q);
  torch::Tensor out = torch::matmul(scores, values);
  out = out.transpose(1, 2).contiguous().view({batch, len, -1});
  return F::linear(out, l.wo);
}

torch::Tensor feed_forward(const LayerWeights& l, const torch::Tensor& x) {
  return F::linear(F::silu(F::linear(x, l.w1)) * F::linear(x, l.w3), l.w2);
}

torch::Tensor forward(const ModelArgs& args, const ModelWeights& w, KVCache& cache, const torch::Tensor& freqs_cos,
                      const torch::Tensor& freqs_sin, const torch::Tensor& tokens, torch::Int start_pos) {
  TORCH_CHECK(tokens.dim() == 2, "tokens must be [batch, len]");
  torch::Int len = tokens.size(1);
  torch::Tensor h = F::embedding(tokens, w.tok_embeddings);
  torch::Tensor cos = freqs_cos.slice(0, start_pos, start_pos + len);
  torch::Tensor sin = freqs_sin.slice(0, start_pos, start_pos + len);
  c10::optional<torch::Tensor> mask;
  if (len > 1) {
    torch::Tensor blocked = torch::full({len, len}, -INFINITY, h.options()).triu(1);
    mask = torch::cat({torch::zeros({len, start_pos}, h.options()), blocked}, 1);
  }
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const auto& l = w.layers[i];
    h = h + attention(args, l, rms_norm(h, l.attention_norm, args.norm_eps), cache.k[i], cache.v[i], cos, sin, mask, start_pos);
    h = h + feed_forward(l, rms_norm(h, l.ffn_norm, args.norm_eps));
  }
  h = rms_norm(h, w.norm, args.norm_eps);
  return F::linear(h.select(1, len - 1), w.output).to(torch::kFloat32);
}

torch::Tensor sample(const torch::Tensor& logits, double temperature, int64_t top_k) {
  if (temperature == 0.0) return logits.argmax(-1, /*keepdim=*/true);
  torch::Tensor values, indices;
  std::tie(values, indices) = torch::topk(logits, top_k, -1);
  torch::Tensor probs = torch::softmax(values / temperature, -1);
  torch::Tensor choice = torch::multinomial(probs, 1);
  return torch::gather(indices, -1, choice);
}

int main(int argc, char** argv) {
  int64_t new_tokens = argc > 1 ? std::stoll(argv[1]) : 64;
  double temperature = argc > 2 ? std::stod(argv[2]) : 0.0;
  try {
    torch::NoGradGuard no_grad;
    torch::manual_seed(1337);
    torch::set_num_threads(1);
    ModelArgs args;
    auto options = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCPU);
    ModelWeights weights = init_weights(args, options);
    KVCache cache = init_cache(args, options);
    std::cerr << count_parameters(weights) << " parameters" << std::endl;
    auto [freqs_cos, freqs_sin] = precompute_freqs(args);

    std::vector<int64_t> prompt = {1, 15, 27, 99, 256, 300, 17, 4, 3, 11, 201, 73, 8, 9, 410, 2};
    int64_t prompt_len = static_cast<int64_t>(prompt.size()) / args.max_batch;
    TORCH_CHECK(prompt_len + new_tokens <= args.max_seq_len, "at most ", args.max_seq_len - prompt_len, " new tokens");
    torch::Tensor tokens = torch::from_blob(prompt.data(), {args.max_batch, prompt_len}, torch::kInt64).clone();

    auto step = torch::compile(forward, {.name = "llama"});
    torch::Tensor logits = step(args, weights, cache, freqs_cos, freqs_sin, tokens, 0);
    torch::Tensor text = torch::zeros({args.max_batch, args.max_seq_len}, torch::kInt64);
    text.slice(1, 0, prompt_len).copy_(tokens);
    auto begin = std::chrono::steady_clock::now();
    int64_t pos = prompt_len;
    for (int64_t i = 0; i < new_tokens; ++i, ++pos) {
      torch::Tensor next = sample(logits, temperature, 40);
      text.index_put_({torch::arange(args.max_batch), torch::full({args.max_batch}, pos, torch::kInt64)}, next.squeeze(-1));
      logits = step(args, weights, cache, freqs_cos, freqs_sin, next, pos);
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    TORCH_CHECK(torch::isfinite(logits).all().item<bool>(), "logits are not finite");

    // The whole text at once gives what decoding gave.
    KVCache fresh = init_cache(args, options);
    torch::Tensor again = forward(args, weights, fresh, freqs_cos, freqs_sin, text.slice(1, 0, pos), 0);
    TORCH_CHECK(torch::allclose(logits, again, 1e-3, 1e-3), "decoding with the cache differs");

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
