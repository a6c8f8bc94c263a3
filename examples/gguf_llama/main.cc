// The demo's language model out of a GGUF file: weights stay as they are stored, in blocks of 8 or 4 bits, and products
// unpack them.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "example.h"
#include "model.h"
#include "reprise/gguf.h"
#include "writer.h"

namespace rp = reprise;
using rp::gguf::Blocks;

namespace {

struct Layer {
  rp::Tensor attn_norm;
  Blocks attn_q, attn_k, attn_v, attn_output;
  rp::Tensor ffn_norm;
  Blocks ffn_gate, ffn_down, ffn_up;
};
struct Weights {
  Blocks token_embd;  // also the output head
  std::vector<Layer> blk;
  rp::Tensor output_norm;
};

/// The demo's weights as such files call them.
void write(const std::string& path, const llama::Model& m, rp::gguf::Type type) {
  gguf_llama::Writer w;
  const llama::Config& c = m.config;
  w.text("general.architecture", "reprise-demo");
  w.integer("llama.embedding_length", static_cast<std::uint32_t>(c.dim));
  w.integer("llama.block_count", static_cast<std::uint32_t>(c.n_layers));
  w.number("llama.attention.layer_norm_rms_epsilon", static_cast<float>(c.norm_eps));
  std::vector<std::string> bytes;
  for (int b = 0; b < 256; ++b) bytes.emplace_back(1, static_cast<char>(b));
  w.texts("tokenizer.ggml.tokens", bytes);
  w.tensor("token_embd.weight", m.weights.embedding, type);
  for (std::size_t i = 0; i < m.weights.layers.size(); ++i) {
    const llama::Layer& l = m.weights.layers[i];
    const std::string at = "blk." + std::to_string(i) + ".";
    w.tensor(at + "attn_norm.weight", l.attention_norm, type), w.tensor(at + "ffn_norm.weight", l.ffn_norm, type);
    w.tensor(at + "attn_q.weight", l.wq, type), w.tensor(at + "attn_k.weight", l.wk, type),
        w.tensor(at + "attn_v.weight", l.wv, type), w.tensor(at + "attn_output.weight", l.wo, type);
    w.tensor(at + "ffn_gate.weight", l.w1, type), w.tensor(at + "ffn_down.weight", l.w2, type),
        w.tensor(at + "ffn_up.weight", l.w3, type);
  }
  w.tensor("output_norm.weight", m.weights.norm, type);
  w.save(path);
}

Weights load(const rp::gguf::File& file) {
  Weights w;
  w.blk.resize(static_cast<std::size_t>(file.integer("llama.block_count")));
  rp::gguf::load_gguf(file, w, {.name = [](const std::string& field) { return field + ".weight"; }});
  return w;
}

struct Positions {
  rp::Tensor cos, sin;
};

rp::Tensor rope(rp::Tensor x, rp::Tensor cos, rp::Tensor sin) {
  const rp::Int half = x.size(2) / 2;
  const rp::Tensor a = x.slice(2, 0, half), b = x.slice(2, half);
  return rp::cat({a * cos - b * sin, b * cos + a * sin}, 2);
}

/// Logits [t, vocabulary] of tokens [t] at the positions from `pos` on.
rp::Tensor forward(const llama::Config& c, const Weights& w, const Positions& p, llama::Cache& cache, rp::Tensor tokens,
                   rp::Int pos, bool causal, rp::Activations activations) {
  const rp::Int t = tokens.size(0), past = pos + t;
  rp::Tensor x = w.token_embd.rows(tokens);
  const rp::Tensor cos = p.cos.slice(0, pos, past), sin = p.sin.slice(0, pos, past);
  auto linear = [&](const rp::Tensor& y, const Blocks& weight) { return rp::gguf::linear(y, weight, {}, activations); };
  auto heads = [&](rp::Tensor y, std::int64_t n) { return y.view({t, n, c.head_dim}).transpose(0, 1); };
  for (std::size_t i = 0; i < w.blk.size(); ++i) {
    const Layer& l = w.blk[i];
    const rp::Tensor h = rp::rms_norm(x, l.attn_norm, c.norm_eps);
    const rp::Tensor k = cache.k[i], v = cache.v[i];
    k.slice(1, pos, past).copy_(rope(heads(linear(h, l.attn_k), c.n_kv_heads), cos, sin));
    v.slice(1, pos, past).copy_(heads(linear(h, l.attn_v), c.n_kv_heads));
    const rp::Tensor q = rope(heads(linear(h, l.attn_q), c.n_heads), cos, sin);
    const rp::Tensor y = rp::scaled_dot_product_attention(q, k.slice(1, 0, past), v.slice(1, 0, past), {}, 0.0, causal,
                                                          std::nullopt, true);
    x = x + linear(y.transpose(0, 1).reshape({t, c.n_heads * c.head_dim}), l.attn_output);
    const rp::Tensor g = rp::rms_norm(x, l.ffn_norm, c.norm_eps);
    x = x + linear(rp::silu(linear(g, l.ffn_gate)) * linear(g, l.ffn_up), l.ffn_down);
  }
  return linear(rp::rms_norm(x, w.output_norm, c.norm_eps), w.token_embd);
}

/// The same weights unpacked in float32.
Weights unpacked(const Weights& w) {
  Weights all = w;
  auto unpack = [](Blocks& b) { b = {rp::gguf::Type::F32, b.dequantize(), {}}; };
  unpack(all.token_embd);
  for (Layer& l : all.blk)
    for (Blocks* b : {&l.attn_q, &l.attn_k, &l.attn_v, &l.attn_output, &l.ffn_gate, &l.ffn_down, &l.ffn_up}) unpack(*b);
  return all;
}

std::int64_t stored(const Weights& w) {
  std::int64_t n = w.token_embd.bytes();
  for (const Layer& l : w.blk)
    for (const Blocks* b : {&l.attn_q, &l.attn_k, &l.attn_v, &l.attn_output, &l.ffn_gate, &l.ffn_down, &l.ffn_up})
      n += b->bytes();
  return n;
}

double bits_per_byte(const rp::Tensor& logits, const rp::Tensor& text) {
  const rp::Int n = text.size(0);
  const rp::Tensor at = rp::gather(rp::log_softmax(logits.slice(0, 0, n - 1), -1), 1, text.slice(0, 1).unsqueeze(1));
  return -at.mean().item<double>() / std::log(2.0);
}

int run(int argc, char** argv) {
  std::int64_t tokens = 120, prompt_bytes = 96;
  bool bytes = false;
  example::Options("gguf_llama",
                   "Runs the demo's language model out of GGUF files of 8 and 4 bits, and compares it with the same "
                   "weights unpacked, and with those it was made of.")
      .integer("--tokens", &tokens, 1, 300, "bytes to write with each")
      .integer("--prompt", &prompt_bytes, 8, 128, "bytes of text that are read before")
      .flag("--int8-inputs", &bytes, "write with inputs of products that are rounded to 8 bits where that is faster")
      .parse(argc, argv);
  const rp::Activations activations = bytes ? rp::Activations::Int8 : rp::Activations::Float32;
  std::string text =
      "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a "
      "wife. However little known the feelings";
  text.resize(static_cast<std::size_t>(prompt_bytes));
  const llama::Model original = llama::load(REPRISE_LLAMA_MODEL);
  const llama::Config& c = original.config;
  const Positions positions{original.weights.cos, original.weights.sin};
  rp::Tensor prompt = rp::tensor_of(std::vector<std::int64_t>(text.begin(), text.end()));
  example::Checks checks;

  Weights as_it_was;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("reprise_gguf_llama_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  struct Cleaner {
    std::filesystem::path path;
    ~Cleaner() { std::filesystem::remove_all(path); }
  } cleaner{folder};
  double bits_before = 0;
  for (const rp::gguf::Type type : {rp::gguf::Type::F32, rp::gguf::Type::Q8_0, rp::gguf::Type::Q4_0}) {
    const std::string path = (folder / "model.gguf").string(), name = rp::gguf::type_name(type);
    write(path, original, type);
    const rp::gguf::File file = rp::gguf::File::open(path);
    const Weights w = load(file), plain = unpacked(w);
    auto step = rp::compile(forward, {.name = "llama " + name});
    llama::Cache cache = llama::new_cache(c, rp::kFloat32), other = llama::new_cache(c, rp::kFloat32);
    rp::Tensor logits = step(c, w, positions, cache, prompt, 0, true, rp::Activations::Float32);
    if (type != rp::gguf::Type::F32)
      checks.close(name + ", as unpacked weights have it", logits,
                   forward(c, plain, positions, other, prompt, 0, true, rp::Activations::Float32), 1e-4);
    const double bits = bits_per_byte(logits, prompt);
    if (type == rp::gguf::Type::F32) bits_before = bits;
    else
      checks.at_most(name + ", bits a byte beyond float32", bits - bits_before,
                     type == rp::gguf::Type::Q8_0 ? 0.02 : 0.5);
    example::Times reading[2];
    auto read = [&](rp::Activations with) { return step(c, w, positions, other, prompt, 0, true, with); };
    if (type != rp::gguf::Type::F32) {
      checks.at_most(name + ", bits a byte beyond that with inputs of 8 bits",
                     bits_per_byte(read(rp::Activations::Int8), prompt) - bits, 0.02);
      for (int i = 0; i < 20; ++i)
        for (const bool round : {false, true}) {
          const double begin = example::now();
          read(round ? rp::Activations::Int8 : rp::Activations::Float32);
          reading[round].add(example::now() - begin);
        }
    }
    std::string written;
    const double begin = example::now();
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::int64_t next = logits.select(0, -1).argmax().item<std::int64_t>();
      written += static_cast<char>(next);
      if (i + 1 < tokens)
        logits = step(c, w, positions, cache, rp::tensor({next}), prompt_bytes + i, false, activations);
    }
    const double seconds = example::now() - begin;
    std::printf("\n%s: %s\n", name.c_str(), file.texts("tokenizer.ggml.tokens").size() == 256 ? written.c_str() : "");
    example::row("weights", static_cast<double>(stored(w)), "bytes");
    example::row("bits per byte of the prompt", bits, "", 3);
    if (type != rp::gguf::Type::F32) {
      example::row("prompt read", static_cast<double>(prompt_bytes) / reading[0].median(), "tokens/s");
      example::row("prompt read, inputs of 8 bits", static_cast<double>(prompt_bytes) / reading[1].median(),
                   "tokens/s");
    }
    example::row("decoded", static_cast<double>(tokens) / seconds, "tokens/s");
    checks.equal(name + ", eager calls", static_cast<std::int64_t>(step.stats().eager_fallbacks), 0);
  }
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("gguf_llama", run, argc, argv); }
