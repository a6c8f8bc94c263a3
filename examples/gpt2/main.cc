// A decoder of GPT-2's shape (Radford et al. 2019): learned positions, LayerNorm before each part, one product for
// queries, keys and values, tanh-gelu, the embedding as output head, and a cache of keys and values that is written in
// place. Weights are random.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <vector>

#include "../common/example.h"

namespace rp = reprise;

namespace {

struct Config {
  std::int64_t layers = 4, dim = 256, heads = 8, vocab = 4096, context = 512;
};

struct Norm {
  rp::Tensor weight, bias;  // [dim]
};
struct Linear {
  rp::Tensor weight, bias;  // [out, in], [out]
  rp::Tensor operator()(const rp::Tensor& x) const { return rp::linear(x, weight, bias); }
};
struct Block {
  Norm before_attention;
  Linear qkv, out;  // [3 * dim, dim], [dim, dim]
  Norm before_mlp;
  Linear up, down;  // [4 * dim, dim], [dim, 4 * dim]
};
struct Weights {
  rp::Tensor tokens, positions;  // [vocab, dim], which is the output head, too; [context, dim]
  std::vector<Block> blocks;
  Norm last;
};
/// Keys and values of what was seen so far, [heads, context, dim / heads] a layer.
struct Cache {
  std::vector<rp::Tensor> k, v;
};

Weights random_weights(const Config& c) {
  auto linear = [](std::int64_t out, std::int64_t in) {
    return Linear{rp::randn({out, in}) * (0.7 / std::sqrt(static_cast<double>(in))), rp::randn({out}) * 0.02};
  };
  auto norm = [&] { return Norm{1.0 + rp::randn({c.dim}) * 0.02, rp::randn({c.dim}) * 0.02}; };
  Weights w{rp::randn({c.vocab, c.dim}) * 0.1, rp::randn({c.context, c.dim}) * 0.05, {}, norm()};
  for (std::int64_t i = 0; i < c.layers; ++i)
    w.blocks.push_back({norm(), linear(3 * c.dim, c.dim), linear(c.dim, c.dim), norm(), linear(4 * c.dim, c.dim),
                        linear(c.dim, 4 * c.dim)});
  return w;
}

Cache empty_cache(const Config& c) {
  Cache cache;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    cache.k.push_back(rp::zeros({c.heads, c.context, c.dim / c.heads}));
    cache.v.push_back(rp::zeros({c.heads, c.context, c.dim / c.heads}));
  }
  return cache;
}

rp::Tensor attention(const Config& c, const Block& b, const rp::Tensor& h, rp::Tensor k_cache, rp::Tensor v_cache,
                     const rp::Tensor& mask, rp::Int pos) {
  const rp::Int t = h.size(0), seen = pos + t;
  // [heads, t, dim / heads] each
  std::vector<rp::Tensor> qkv = b.qkv(h).view({t, 3, c.heads, c.dim / c.heads}).transpose(0, 2).unbind(1);
  k_cache.slice(1, pos, seen).copy_(qkv[1]);
  v_cache.slice(1, pos, seen).copy_(qkv[2]);
  rp::Tensor y = rp::scaled_dot_product_attention(qkv[0], k_cache.slice(1, 0, seen), v_cache.slice(1, 0, seen), mask);
  return b.out(y.transpose(0, 1).reshape({t, c.dim}));
}

/// Plain eager code. Reads `tokens` [t] at positions pos .. pos + t - 1 and writes the cache. Gives the logits of the
/// last one, [vocab], and the likeliest next token, [1].
std::tuple<rp::Tensor, rp::Tensor> forward(const Config& c, const Weights& w, Cache& cache, rp::Tensor tokens,
                                           rp::Int pos) {
  const rp::Int t = tokens.size(0), seen = pos + t;
  rp::Tensor x = rp::embedding(w.tokens, tokens) + w.positions.slice(0, pos, seen);
  // Each token sees those before it and itself.
  rp::Tensor mask = rp::arange(seen) <= rp::arange(pos, seen).unsqueeze(1);
  for (std::size_t i = 0; i < w.blocks.size(); ++i) {
    rp::NameScope layer("blocks", static_cast<std::int64_t>(i));
    const Block& b = w.blocks[i];
    x = x + attention(c, b, rp::layer_norm(x, {c.dim}, b.before_attention.weight, b.before_attention.bias), cache.k[i],
                      cache.v[i], mask, pos);
    x = x + b.down(rp::gelu(b.up(rp::layer_norm(x, {c.dim}, b.before_mlp.weight, b.before_mlp.bias)), "tanh"));
  }
  rp::Tensor last = rp::layer_norm(x.slice(0, t - 1, t), {c.dim}, w.last.weight, w.last.bias);
  rp::Tensor logits = rp::linear(last, w.tokens).view({c.vocab});
  return {logits, logits.argmax(0, true)};
}

int program(int argc, char** argv) {
  Config c;
  std::int64_t prompt = 32, tokens = 200, threads = 1, seed = 1;
  example::Options options("gpt2",
                           "Decodes with a model of GPT-2's shape and random weights, compiled while it runs. Its "
                           "smallest size is --layers 12 --dim 768\n"
                           "--heads 12 --vocab 50257 --context 1024.");
  options.integer("--layers", &c.layers, 1, 200, "blocks")
      .integer("--dim", &c.dim, 8, 16384, "width, a multiple of --heads")
      .integer("--heads", &c.heads, 1, 256, "heads of attention")
      .integer("--vocab", &c.vocab, 2, 1000000, "tokens that there are")
      .integer("--context", &c.context, 2, 1 << 20, "positions of the cache")
      .integer("--prompt", &prompt, 2, 1 << 20, "tokens that are read at once")
      .integer("--tokens", &tokens, 4, 1 << 20, "tokens to decode")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of weights and prompt")
      .parse(argc, argv);
  if (c.dim % c.heads != 0)
    options.fail("--dim " + std::to_string(c.dim) + " is no multiple of --heads " + std::to_string(c.heads));
  if (prompt + tokens > c.context)
    options.fail("--prompt and --tokens are " + std::to_string(prompt + tokens) + " together, --context holds " +
                 std::to_string(c.context));

  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  const Weights w = random_weights(c);
  rp::freeze(w);  // what is computed of them alone is computed once
  const rp::Tensor words = rp::randint(0, c.vocab, {prompt});
  auto step = rp::compile(forward, {.name = "gpt2", .arguments = {"config", "weights", "cache", "tokens", "pos"}});

  // The prompt, then token by token: what is likeliest is the next input, and never leaves the library.
  Cache cache = empty_cache(c);
  double begin = example::now();
  auto [logits, next] = step(c, w, cache, words, 0);
  const double first = example::now() - begin;
  const rp::Tensor after_prompt = logits;
  std::vector<rp::Tensor> all{words};
  example::Times compiled;
  std::int64_t warm = 0;
  for (std::int64_t i = 0; i < tokens; ++i) {
    all.push_back(next);
    begin = example::now();
    std::tie(logits, next) = step(c, w, cache, next, prompt + i);
    if (i >= 2) compiled.add(example::now() - begin);
    else warm = step.stats().compilations;
  }
  const rp::Stats stats = step.stats();

  example::Checks checks;
  Cache other = empty_cache(c);
  checks.close("the prompt, compiled against eager", after_prompt, std::get<0>(forward(c, w, other, words, 0)));
  example::Times eager;
  rp::Tensor eager_logits;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(tokens, 20); ++i) {
    begin = example::now();
    eager_logits = std::get<0>(forward(c, w, other, all[static_cast<std::size_t>(i + 1)], prompt + i));
    eager.add(example::now() - begin);
  }
  other = empty_cache(c);
  const rp::Tensor everything = rp::cat(all);
  checks.close("decoding with the cache against reading the whole text at once", logits,
               std::get<0>(forward(c, w, other, everything, 0)));
  other = empty_cache(c);
  step(c, w, other, words.slice(0, 0, prompt / 2), 0);
  checks.close("a prompt in two parts against one",
               std::get<0>(step(c, w, other, words.slice(0, prompt / 2, prompt), prompt / 2)), after_prompt);
  checks.equal("compilations after the second token", stats.compilations - warm, 0);
  checks.equal("calls served eagerly", stats.eager_fallbacks, 0);

  std::printf("\n");
  example::row("compiled", 1 / compiled.median(), "tokens/s");
  example::row("eager", 1 / eager.median(), "tokens/s");
  example::row("prompt (with compilation)", first * 1e3, "ms", 1);
  example::rows(stats);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("gpt2", program, argc, argv); }
