// What compiled derivatives keep for backward, of the models of scripts/compare_partition.py: a line of JSON for each,
// with bytes at these sizes.
//   reprise_partition
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/training.h"

namespace {

namespace rp = reprise;
using rp::Tensor;

Tensor leaf(std::initializer_list<rp::Int> sizes) { return (rp::randn(sizes) * 0.1).requires_grad_(); }

template <class F, class... Args>
void measure(const char* model, F f, const Args&... args) {
  nlohmann::json told{{"model", model}};
  rp::set_log_callback(
      [&](const rp::LogEvent& e) {
        if (e.event != "partitioned") return;
        const nlohmann::json fields = nlohmann::json::parse(e.json);
        told["saved"] = fields["bytes_saved"], told["all"] = fields["bytes_of_all"];
      },
      "graph");
  auto loss = rp::compile(f, {.name = model});
  loss(args...).backward();
  rp::set_log_callback({});
  std::puts(told.dump().c_str());
}

}  // namespace

int main() {
  measure(
      "mlp",
      [](Tensor x, Tensor w1, Tensor b1, Tensor w2, Tensor b2, Tensor w3, Tensor b3, Tensor y) {
        const Tensor h = rp::gelu(rp::linear(rp::gelu(rp::linear(x, w1, b1)), w2, b2));
        return rp::mse_loss(rp::tanh(rp::linear(h, w3, b3)), y);
      },
      rp::randn({64, 128}), leaf({256, 128}), leaf({256}), leaf({256, 256}), leaf({256}), leaf({10, 256}), leaf({10}),
      rp::randn({64, 10}));
  measure(
      "convolutions",
      [](Tensor x, Tensor w1, Tensor s1, Tensor b1, Tensor w2, Tensor s2, Tensor b2, Tensor head, Tensor labels) {
        auto block = [](const Tensor& in, const Tensor& w, const Tensor& s, const Tensor& b) {
          return rp::max_pool2d(rp::relu(rp::batch_norm(rp::conv2d(in, w, {}, 1, 1), s, b, {}, {}, true, 0.1, 1e-5)),
                                2);
        };
        const Tensor h = block(block(x, w1, s1, b1), w2, s2, b2);
        return rp::cross_entropy(rp::linear(h.flatten(1), head), labels);
      },
      rp::randn({16, 3, 32, 32}), leaf({16, 3, 3, 3}), leaf({16}), leaf({16}), leaf({32, 16, 3, 3}), leaf({32}),
      leaf({32}), leaf({10, 32 * 8 * 8}), rp::randint(0, 10, {16}, {.dtype = rp::kInt64}));
  llama::Config c;
  c.dim = 128, c.n_layers = 2, c.n_heads = c.n_kv_heads = 4, c.head_dim = 32, c.hidden_dim = 352, c.vocab_size = 256,
  c.context = 64;
  measure("llama", rp::training::loss, c, rp::training::leaves(rp::training::random_weights(c)),
          rp::randint(0, c.vocab_size, {4, c.context + 1}, {.dtype = rp::kInt64}));
  return 0;
}
