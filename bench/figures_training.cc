#include <cstdio>

#include "bench/figures.h"
#include "bench/training.h"

namespace reprise::figures {

using Better = Figure::Better;

std::vector<Figure> training_figures() {
  llama::Config c;
  c.dim = 256, c.n_layers = 4, c.n_heads = c.n_kv_heads = 4, c.head_dim = 64, c.hidden_dim = 704, c.vocab_size = 1024,
  c.context = 128;
  manual_seed(0);
  set_num_threads(1);
  const llama::Weights w = training::random_weights(c);
  const optim::AdamState state = optim::AdamState::of(training::parameters(w));
  const optim::AdamWOptions options;
  const Tensor tokens = randint(0, c.vocab_size, {4, c.context + 1}, {.dtype = kInt64});
  auto f = compile(training::step, {.name = "training"});
  auto eagerly = [&] { training::step(c, w, state, options, tokens)[0].item(); };
  auto compiled = [&] { f(c, w, state, options, tokens)[0].item(); };
  compiled(), eagerly();
  std::vector<double> ratio, ms;
  for (int i = 0; i < 9; ++i) {
    double begin = now();
    eagerly();
    const double eager = now() - begin;
    begin = now();
    compiled();
    ms.push_back((now() - begin) * 1e3), ratio.push_back(eager * 1e3 / ms.back());
  }
  set_num_threads(default_num_threads());
  char note[200];
  std::snprintf(
      note, sizeof note,
      "%.1f ms: 4 layers of 256, 4 x 128 tokens, AdamW, one thread; %lld compilation, %lld calls served eagerly",
      median(ms), static_cast<long long>(f.stats().compilations), static_cast<long long>(f.stats().eager_fallbacks));
  return {{"training step of a small Llama", median(ratio), "of eager", 1.5, Better::Higher, true, note}};
}

}  // namespace reprise::figures
