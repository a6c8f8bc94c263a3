#include <cstdio>

#include "bench/figures.h"
#include "bench/training.h"
#include "device/host_memory.h"
#include "device/host_peak.h"

namespace reprise::figures {

using Better = Figure::Better;

namespace {

/// A sealed function's forward and backward, 1,000 times: what is made behind the first.
Figure sealed_steps() {
  auto loss = compile([](Tensor x, Tensor w) { return matmul(gelu(matmul(x, w)), w).dropout(0.1).square().mean(); },
                      {.name = "sealed"});
  const Tensor x = randn({32, 64}), w = (randn({64, 64}) * 0.1).requires_grad_();
  loss.warm_up(x, w);
  loss.seal();
  auto step = [&] { grad({loss(x, w)}, {w}); };
  step();
  const ProcessStats before = stats();
  for (int i = 0; i < 1000; ++i) step();
  const ProcessStats after = stats();
  const std::int64_t kernels = after.kernels_compiled - before.kernels_compiled, traces = after.traces - before.traces,
                     recordings = after.recordings_made - before.recordings_made;
  char note[160];
  std::snprintf(note, sizeof note, "1,000 calls: %lld kernels, %lld traces, %lld recordings behind the first",
                static_cast<long long>(kernels), static_cast<long long>(traces), static_cast<long long>(recordings));
  return {"made by sealed training steps",
          static_cast<double>(kernels + traces + recordings),
          "",
          0,
          Better::Lower,
          true,
          note};
}

/// What the allocator holds at most in a step, with the pool.
Figure checkpointed_step() {
  constexpr int kLayers = 24;
  auto model = [](Tensor x, const std::vector<Tensor>& w) {
    for (const Tensor& one : w)
      x = checkpoint([](const Tensor& a, const Tensor& b) { return matmul(gelu(matmul(a, b)), b).tanh(); }, x, one);
    return x.square().mean();
  };
  std::vector<Tensor> w;
  for (int i = 0; i < kLayers; ++i) w.push_back((randn({256, 256}) * 0.05).requires_grad_());
  const Tensor x = randn({512, 256});
  auto peak = [](const auto& step) {
    step();
    release_pool();
    device::host_trim();
    const std::int64_t base = device::host_memory_stats().live_bytes;
    device::host_reset_peak();
    step();
    return static_cast<double>(device::host_memory_stats().peak_bytes - base + stats().pool_bytes) / (1 << 20);
  };
  const double eager = peak([&] { grad({model(x, w)}, w); });
  auto f = compile(model, {.name = "checkpointed"});
  const double compiled = peak([&] { grad({f(x, w)}, w); });
  char note[160];
  std::snprintf(note, sizeof note, "%.1f MiB of results and pool, eagerly %.1f: 24 layers of 256 x 256, 512 rows",
                compiled, eager);
  return {"peak memory of a checkpointed step", compiled / eager, "of eager", 1, Better::Lower, true, note};
}

}  // namespace

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
  return {{"training step of a small Llama", median(ratio), "of eager", 1.5, Better::Higher, true, note},
          sealed_steps(),
          checkpointed_step()};
}

}  // namespace reprise::figures
