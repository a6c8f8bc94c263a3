// Low-rank fine-tuning of the demo's language model on a text: the model's weights stay as they are, and two thin
// matrices for each of them learn. The derivative is taken ahead of time: the loss is a compiled function of the
// adapters, backward() calls its compiled derivative, and the optimizer's step is a third one.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "../common/example.h"
#include "../common/plot.h"
#include "adapters.h"
#include "generate.h"
#include "reprise/losses.h"
#include "reprise/optim.h"
#include "reprise/safetensors.h"

namespace rp = reprise;

namespace {

llama::Weights in_float32(const llama::Weights& w) {
  llama::Weights made = w;
  llama::each_weight(made, [](rp::Tensor& t) { t = t.to(rp::kFloat32); });
  return made;
}

std::string read_text(const example::Options& options, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  if (!in || !(all << in.rdbuf())) options.fail("cannot read '" + file + "'");
  return all.str();
}

/// `n` windows of t + 1 bytes.
rp::Tensor windows(const std::string& text, std::int64_t n, std::int64_t t, std::mt19937_64& rng, rp::Device device) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t from = rng() % (text.size() - static_cast<std::size_t>(t));
    for (std::int64_t k = 0; k <= t; ++k)
      all.push_back(static_cast<unsigned char>(text[from + static_cast<std::size_t>(k)]));
  }
  return rp::tensor_of(all, {n, t + 1}).to(device);
}

int program(int argc, char** argv) {
  std::int64_t steps = 80, batch = 4, length = 96, rank = 8, threads = 2, seed = 1, tokens = 160;
  double rate = 4e-3, alpha = 16;
  std::string text_file = REPRISE_LORA_TEXT, model_file = REPRISE_LLAMA_MODEL, device_name = "cpu", save, picture,
              prompt = "Day 41. Wind";
  example::Options options(
      "lora",
      "Fine-tunes the demo's language model on a text by low-rank adapters; derivatives and optimizer are compiled.");
  options.text("--text", &text_file, "what to learn")
      .text("--model", &model_file, "a safetensors file")
      .integer("--steps", &steps, 1, 100000, "batches")
      .integer("--batch", &batch, 1, 256, "pieces of text in a batch")
      .integer("--length", &length, 2, 4096, "bytes of a piece")
      .integer("--rank", &rank, 1, 1024, "of the adapters")
      .number("--alpha", &alpha, 0, 1e6, "what they add is scaled by alpha / rank")
      .number("--rate", &rate, 0, 1, "learning rate")
      .text("--save", &save, "where to leave the adapters (safetensors)")
      .text("--plot", &picture, "where to draw the loss (SVG)")
      .text("--prompt", &prompt, "what to go on from, before and after")
      .integer("--tokens", &tokens, 0, 100000, "bytes to write then")
      .text("--device", &device_name, "cpu, or cuda")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of adapters and pieces")
      .parse(argc, argv);
  if (device_name != "cpu" && device_name != "cuda")
    options.fail("--device is '" + device_name + "', expected cpu or cuda");
  const rp::Device device = device_name == "cuda" ? rp::Device::cuda(0) : rp::Device::cpu();
  const std::string text = read_text(options, text_file);
  llama::Model model = llama::load(model_file, device);
  length = std::min(length, model.config.context);
  if (text.size() < static_cast<std::size_t>(length) + 2)
    options.fail("'" + text_file + "' has " + std::to_string(text.size()) + " bytes, and a piece takes " +
                 std::to_string(length + 1));
  for (unsigned char c : text)
    if (c >= model.config.vocab_size)
      options.fail("'" + text_file + "' has the byte " + std::to_string(c) + ", the model knows " +
                   std::to_string(model.config.vocab_size));

  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
  model.weights = in_float32(model.weights);
  const llama::Config config = model.config;
  const llama::Weights base = model.weights;
  const double scale = alpha / static_cast<double>(rank);
  const lora::Adapters adapters = lora::leaves(lora::new_adapters(base, rank));

  auto loss_of = [config, base](const lora::Adapters& a, double by, const rp::Tensor& pieces) {
    return lora::loss(config, base, a, by, pieces);
  };
  auto loss = rp::compile(loss_of, {.name = "loss", .arguments = {"adapters", "scale", "pieces"}});
  auto sample = [&](const llama::Weights& w) {
    llama::Model m = model;
    m.weights = w;
    auto step =
        rp::compile([config, &m](llama::Cache& cache, rp::Tensor t, rp::Int pos,
                                 bool causal) { return llama::forward(config, m.weights, cache, t, pos, causal); },
                    {.name = "step"});
    return llama::generate(m, step, prompt, tokens, {.temperature = 0.6, .seed = static_cast<std::uint64_t>(seed)},
                           [](char) {})
        .text;
  };
  const std::string before = tokens ? sample(base) : "";

  rp::optim::AdamW optimizer(lora::parameters(adapters), {.lr = rate, .weight_decay = 0.0});
  example::Curve losses{"loss of a batch", {}, {}};
  example::Times took;
  {
    example::Progress progress("lora", steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      const rp::Tensor pieces = windows(text, batch, length, rng, device);
      const double begin = example::now();
      const rp::Tensor l = loss(adapters, scale, pieces);
      l.backward();
      optimizer.step();
      optimizer.zero_grad();
      losses.x.push_back(static_cast<double>(i)), losses.y.push_back(l.item<double>());
      took.add(example::now() - begin);
      char note[64];
      std::snprintf(note, sizeof note, "loss %.4f", losses.y.back());
      progress.at(i + 1, note);
    }
  }
  if (!picture.empty())
    example::plot(picture, "Cross entropy of the text, by low-rank adapters", "step", "loss", {losses});

  example::Checks checks;
  const rp::Tensor pieces = windows(text, batch, length, rng, device);
  const std::vector<rp::Tensor> own = lora::parameters(adapters);
  const std::vector<rp::Tensor> compiled = rp::grad({loss(adapters, scale, pieces)}, own);
  example::Times eagerly;
  std::vector<rp::Tensor> eager;
  for (int i = 0; i < 3; ++i) {
    const double begin = example::now();
    eager = rp::grad({loss_of(adapters, scale, pieces)}, own);
    eager.back().sum().item();
    eagerly.add(example::now() - begin);
  }
  checks.close("gradient of the first adapter, compiled against eager", compiled[1], eager[1], 1e-3);
  checks.close("gradient of the last adapter, compiled against eager", compiled.back(), eager.back(), 1e-3);

  const lora::Adapters plain = adapters;
  const llama::Weights whole = [&] {
    const rp::NoGradScope off;
    return lora::merged(base, plain, scale);
  }();
  {
    const rp::NoGradScope off;
    const rp::Tensor some = pieces.slice(1, 0, length);
    checks.close("logits of the merged weights against those of base and adapters",
                 lora::forward(config, whole, {}, 0, some), lora::forward(config, base, plain, scale, some), 1e-3);
  }
  if (!save.empty()) {
    rp::save_safetensors(save, lora::named(plain), {{"rank", std::to_string(rank)}, {"alpha", std::to_string(alpha)}});
    const rp::SafeTensors saved = rp::load_safetensors(save);
    double apart = 0;
    for (const auto& [name, t] : lora::named(plain))
      apart = std::max(apart, (saved.at(name) - t.detach().cpu()).abs().max().item<double>());
    checks.at_most("adapters read back, apart from those that were saved", apart, 0);
  }
  double last = 0;
  const std::int64_t some = std::min<std::int64_t>(steps, 5);
  for (std::int64_t i = 0; i < some; ++i)
    last += losses.y[losses.y.size() - 1 - static_cast<std::size_t>(i)] / static_cast<double>(some);
  if (steps >= 20) checks.at_most("loss at the end, of that at the beginning", last / losses.y.front(), 0.75);
  checks.equal("losses served eagerly", loss.stats().eager_fallbacks, 0);
  checks.equal("compilations of the loss", loss.stats().compilations, 1);
  checks.equal("compilations of the optimizer", optimizer.stats().compilations, 1);

  if (tokens)
    std::printf("\nbefore: %s%s\n\nafter: %s%s\n", prompt.c_str(), before.c_str(), prompt.c_str(),
                sample(whole).c_str());
  std::printf("\n");
  std::int64_t learned = 0;
  for (const rp::Tensor& p : own) learned += p.numel().value();
  example::row("numbers that learn", static_cast<double>(learned), "");
  example::row("loss at the beginning", losses.y.front(), "", 3);
  example::row("loss at the end", last, "", 3);
  example::row("a step, compiled", took.median() * 1e3, "ms", 1);
  example::row("loss and gradients, eager", eagerly.median() * 1e3, "ms", 1);
  example::rows(loss.stats());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("lora", program, argc, argv); }
