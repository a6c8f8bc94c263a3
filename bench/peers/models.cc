// The models of nets.py: the gallery's MiniLM and Llama, Whisper's encoder as plain code, and what is read from the
// ONNX file that the peers run.
#include <string>

#include "examples/llama/model.h"
#include "examples/minilm/model.h"
#include "reprise/nn.h"
#include "reprise/onnx.h"
#include "reprise_peer.h"

namespace reprise::peers {

namespace {

Call minilm_net(const Job& job) {
  struct State {
    minilm::Model model;
    decltype(rp::compile(minilm::embed)) embed = rp::compile(minilm::embed, {.name = "minilm"});
    std::vector<std::pair<rp::Tensor, rp::Tensor>> sets;
  };
  auto s = std::make_shared<State>();
  rp::load_safetensors(job.weights, s->model, {.strict = false});
  rp::freeze(s->model);
  for (const Tensors& x : job.sets) s->sets.emplace_back(x.at("tokens"), x.at("present"));
  const std::int64_t heads = job.size("heads", 12);
  return [s, heads](std::size_t i, std::vector<rp::Tensor>* results) {
    rp::Tensor y = s->embed(s->model, s->sets[i].first, s->sets[i].second, heads, 1e-12);
    if (results) results->push_back(y);
  };
}

Call llama_net(const Job& job) {
  struct State {
    llama::Config config;
    llama::Weights weights;
    llama::Cache cache;
    decltype(rp::compile(llama::forward)) forward = rp::compile(llama::forward, {.name = "llama"});
    rp::Tensor tokens;
    std::int64_t past = 0;
  };
  auto s = std::make_shared<State>();
  const rp::SafeTensors file = rp::load_safetensors(job.weights);
  llama::Weights& w = s->weights;
  w = llama_weights(file), s->tokens = job.sets.at(0).at("tokens"), s->past = job.size("past");
  s->config =
      llama_config(job, w.embedding, w.layers.at(0).w1.size(0).value(), static_cast<std::int64_t>(w.layers.size()));
  std::tie(w.cos, w.sin) = llama_angles(job, s->config);
  rp::freeze(w);
  s->cache = llama_cache(job, s->config, w.embedding.dtype());
  return [s](std::size_t, std::vector<rp::Tensor>* results) {
    rp::Tensor y = s->forward(s->config, s->weights, s->cache, s->tokens, s->past, s->past == 0);
    if (results) results->push_back(y);
  };
}

struct WhisperLayer {
  rp::nn::LayerNorm attn_norm, mlp_norm;
  rp::nn::Linear q, k, v, out, up, down;
};
struct Whisper {
  rp::nn::Conv1d conv1, conv2;
  rp::Tensor positions;
  std::vector<WhisperLayer> layer;
  rp::nn::LayerNorm norm;
};

rp::Tensor normed(const rp::nn::LayerNorm& l, rp::Tensor x) {
  return rp::layer_norm(x, {x.size(-1)}, *l.weight, *l.bias, 1e-5);
}

rp::Tensor encode(const Whisper& w, rp::Tensor mel, std::int64_t heads) {
  rp::Tensor x = rp::gelu(w.conv2(rp::gelu(w.conv1(mel)))).transpose(1, 2) + w.positions;
  const rp::Int batch = x.size(0), n = x.size(1), dim = x.size(2);
  auto split = [&](rp::Tensor t) { return t.view({batch, n, heads, dim / heads}).transpose(1, 2); };
  for (const WhisperLayer& l : w.layer) {
    rp::Tensor y = normed(l.attn_norm, x);
    y = rp::scaled_dot_product_attention(split(l.q(y)), split(l.k(y)), split(l.v(y)))
            .transpose(1, 2)
            .reshape({batch, n, dim});
    x = x + l.out(y);
    x = x + l.down(rp::gelu(l.up(normed(l.mlp_norm, x))));
  }
  return normed(w.norm, x);
}

Call whisper_net(const Job& job) {
  struct State {
    Whisper weights;
    decltype(rp::compile(encode)) call = rp::compile(encode, {.name = "whisper"});
    rp::Tensor mel;
  };
  auto s = std::make_shared<State>();
  s->weights.conv1.options.padding = {1}, s->weights.conv2.options.padding = {1}, s->weights.conv2.options.stride = {2};
  const rp::SafeTensors file = rp::load_safetensors(job.weights);
  for (std::int64_t i = 0; file.contains(std::to_string(i) + ".q.weight"); ++i) s->weights.layer.emplace_back();
  // The file's layers are "0.q.weight", and so on.
  rp::load_safetensors(file, s->weights, {.name = [](const std::string& field) {
                         return field.starts_with("layer.") ? field.substr(6) : field;
                       }});
  rp::freeze(s->weights);
  s->mel = job.sets.at(0).at("mel");
  const std::int64_t heads = job.size("dim") / 64;
  return [s, heads](std::size_t, std::vector<rp::Tensor>* results) {
    rp::Tensor y = s->call(s->weights, s->mel, heads);
    if (results) results->push_back(y);
  };
}

Call onnx_net(const Job& job) {
  rp::onnx::Model model = rp::onnx::load(job.onnx);
  std::vector<std::vector<rp::Tensor>> sets;
  for (const Tensors& x : job.sets) {
    std::vector<rp::Tensor>& set = sets.emplace_back();
    for (const rp::onnx::Port& port : model.inputs()) set.push_back(x.at(port.name));
  }
  auto call = std::make_shared<decltype(rp::compile(model))>(rp::compile(model, {.name = job.net}));
  return [call, sets](std::size_t i, std::vector<rp::Tensor>* results) {
    std::vector<rp::Tensor> y = (*call)(sets[i]);
    if (results) append(*results, std::move(y));
  };
}

}  // namespace

llama::Weights llama_weights(const rp::SafeTensors& file) {
  llama::Weights w;
  w.embedding = file.at("embedding"), w.norm = file.at("norm");
  for (std::int64_t i = 0; file.contains("layers." + std::to_string(i) + ".wq"); ++i) {
    auto at = [&](const char* name) { return file.at("layers." + std::to_string(i) + "." + name); };
    w.layers.push_back(
        {at("attention_norm"), at("wq"), at("wk"), at("wv"), at("wo"), at("ffn_norm"), at("w1"), at("w2"), at("w3")});
  }
  return w;
}
llama::Config llama_config(const Job& job, const rp::Tensor& embedding, std::int64_t hidden, std::int64_t layers) {
  llama::Config c;
  c.vocab_size = embedding.size(0).value(), c.dim = embedding.size(1).value(), c.hidden_dim = hidden,
  c.n_layers = layers;
  c.n_heads = job.size("heads"), c.n_kv_heads = job.size("kv"), c.head_dim = job.size("head"),
  c.context = job.size("past") + job.size("length");
  return c;
}
std::pair<rp::Tensor, rp::Tensor> llama_angles(const Job& job, const llama::Config& c) {
  // Those of the positions before are not looked at.
  auto from = [&](const rp::Tensor& t) { return rp::cat({rp::zeros({job.size("past"), c.head_dim / 2}), t}, 0); };
  return {from(job.sets.at(0).at("cos")), from(job.sets.at(0).at("sin"))};
}
llama::Cache llama_cache(const Job& job, const llama::Config& c, rp::DType dtype) {
  llama::Cache cache = llama::new_cache(c, dtype);
  const std::int64_t past = job.size("past");
  for (std::int64_t i = 0; past && i < c.n_layers; ++i) {
    const std::size_t n = static_cast<std::size_t>(i);
    cache.k[n].slice(1, 0, past).copy_(job.sets.at(0).at("k" + std::to_string(i))),
        cache.v[n].slice(1, 0, past).copy_(job.sets.at(0).at("v" + std::to_string(i)));
  }
  return cache;
}

Call model(const Job& job) {
  if (!job.onnx.empty()) return onnx_net(job);
  if (job.net == "minilm") return minilm_net(job);
  if (job.net == "llama")
    return job.point.value("dtype", "").starts_with("int") ? quantized_llama(job) : llama_net(job);
  if (job.net == "training") return training_step(job);
  if (job.net == "whisper") return whisper_net(job);
  return {};
}

}  // namespace reprise::peers
