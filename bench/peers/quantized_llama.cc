// Llama of nets.py with quantized weights: int8 with a scale for each row, or 4 bits with one for each 32 elements of a
// row. Activations are float32.
#include <string>

#include "examples/llama/model.h"
#include "reprise/nn.h"
#include "reprise/quantized.h"
#include "reprise_peer.h"

namespace reprise::peers {

namespace {

struct Int8 {
  rp::Tensor weight, scale;  // [out, in] int8, [1, out]
  static Int8 of(const rp::SafeTensors& file, const std::string& name) {
    return {file.at(name), file.at(name + ".scale").view({1, -1})};
  }
  /// x is quantized by rows, as the gallery's model does it (examples/quantized_llama).
  rp::Tensor operator()(rp::Tensor x) const {
    const rp::Tensor by = x.abs().amax({-1}, true).clamp_min(1e-12) / 127.0;
    return rp::scaled_mm((x / by).round().to(rp::kInt8), weight.t(), by, scale, {}, rp::kFloat32);
  }
};

struct Int4 {
  rp::quantized::Groups weight;
  /// The file's halves of bytes stand as those of GPTQ's files, but for which dimension is the outer one.
  static Int4 of(const rp::SafeTensors& file, const std::string& name) {
    const rp::Tensor q = file.at(name), scale = file.at(name + ".scale");
    const std::int64_t out = q.size(0).value(), groups = q.size(1).value();
    constexpr std::int32_t kEights = static_cast<std::int32_t>(0x88888888);
    return {rp::quantized::groups({q.view({out, groups * 16}).view(rp::kInt32).t().contiguous(),
                                   rp::full({groups, out / 8}, kEights, {.dtype = rp::kInt32}),
                                   scale.t().to(rp::kFloat16),
                                   {}},
                                  rp::quantized::Zeros::Exact)};
  }
  rp::Tensor operator()(rp::Tensor x) const { return rp::quantized::linear(x, weight, {}, rp::Activations::Int8); }
};

template <class Matrix>
struct Layer {
  rp::Tensor attention_norm;
  Matrix wq, wk, wv, wo;
  rp::Tensor ffn_norm;
  Matrix w1, w2, w3;
};
template <class Matrix>
struct Weights {
  rp::Tensor embedding;
  std::vector<Layer<Matrix>> layers;
  rp::Tensor norm;
  Matrix head;
  rp::Tensor cos, sin;
};

rp::Tensor rope(rp::Tensor x, rp::Tensor cos, rp::Tensor sin) {
  const rp::Int half = x.size(2) / 2;
  const rp::Tensor a = x.slice(2, 0, half), b = x.slice(2, half);
  return rp::cat({a * cos - b * sin, b * cos + a * sin}, 2);
}

template <class Matrix>
rp::Tensor forward(const llama::Config& c, const Weights<Matrix>& w, llama::Cache& cache, rp::Tensor tokens,
                   rp::Int pos, bool causal) {
  const rp::Int t = tokens.size(0), past = pos + t;
  const rp::Tensor cos = w.cos.slice(0, pos, past), sin = w.sin.slice(0, pos, past);
  auto heads = [&](rp::Tensor y, std::int64_t n) { return y.view({t, n, c.head_dim}).transpose(0, 1); };
  rp::Tensor x = rp::embedding(w.embedding, tokens);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const Layer<Matrix>& l = w.layers[i];
    const rp::Tensor h = rp::rms_norm(x, l.attention_norm, c.norm_eps), k = cache.k[i], v = cache.v[i];
    k.slice(1, pos, past).copy_(rope(heads(l.wk(h), c.n_kv_heads), cos, sin));
    v.slice(1, pos, past).copy_(heads(l.wv(h), c.n_kv_heads));
    const rp::Tensor y =
        rp::scaled_dot_product_attention(rope(heads(l.wq(h), c.n_heads), cos, sin), k.slice(1, 0, past),
                                         v.slice(1, 0, past), {}, 0.0, causal, std::nullopt, true);
    x = x + l.wo(y.transpose(0, 1).reshape({t, c.n_heads * c.head_dim}));
    const rp::Tensor g = rp::rms_norm(x, l.ffn_norm, c.norm_eps);
    x = x + l.w2(rp::silu(l.w1(g)) * l.w3(g));
  }
  return w.head(rp::rms_norm(x.slice(0, t - 1, t), w.norm, c.norm_eps)).view({c.vocab_size});
}

template <class Matrix>
Call call_of(const Job& job) {
  struct State {
    llama::Config config;
    Weights<Matrix> weights;
    llama::Cache cache;
    decltype(rp::compile(forward<Matrix>)) call = rp::compile(forward<Matrix>, {.name = "quantized_llama"});
    rp::Tensor tokens;
    std::int64_t past = 0;
  };
  auto s = std::make_shared<State>();
  const rp::SafeTensors file = rp::load_safetensors(job.weights);
  Weights<Matrix>& w = s->weights;
  w.embedding = file.at("embedding"), w.norm = file.at("norm"), w.head = Matrix::of(file, "head");
  for (std::int64_t i = 0; file.contains("layers." + std::to_string(i) + ".wq"); ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    auto matrix = [&](const char* name) { return Matrix::of(file, at + name); };
    w.layers.push_back({file.at(at + "attention_norm"), matrix("wq"), matrix("wk"), matrix("wv"), matrix("wo"),
                        file.at(at + "ffn_norm"), matrix("w1"), matrix("w2"), matrix("w3")});
  }
  s->config = llama_config(job, w.embedding, file.at("layers.0.w1").size(0).value(),
                           static_cast<std::int64_t>(w.layers.size()));
  std::tie(w.cos, w.sin) = llama_angles(job, s->config);
  rp::freeze(w);
  s->cache = llama_cache(job, s->config, rp::kFloat32), s->tokens = job.sets.at(0).at("tokens"),
  s->past = job.size("past");
  return [s](std::size_t, std::vector<rp::Tensor>* results) {
    rp::Tensor y = s->call(s->config, s->weights, s->cache, s->tokens, s->past, s->past == 0);
    if (results) results->push_back(y);
  };
}

}  // namespace

Call quantized_llama(const Job& job) {
  return job.point.value("dtype", "") == "int8" ? call_of<Int8>(job) : call_of<Int4>(job);
}

}  // namespace reprise::peers
