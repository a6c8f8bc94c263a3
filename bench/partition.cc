// What compiled derivatives keep for backward, of the models of scripts/compare_partition.py: a line of JSON for each,
// with bytes at these sizes, and the microseconds of a forward with its backward.
//   reprise_partition                  the models, kept as BackwardKeeps::MinimumCut, All and Nothing say, and by a
//   partitioner of
//                                      their own
//   reprise_partition --programs FILE  programs, one a line, as that script draws them
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/training.h"
#include "reprise/partition.h"

namespace {

namespace rp = reprise;
using rp::Tensor;

Tensor leaf(std::initializer_list<rp::Int> sizes) { return (rp::randn(sizes) * 0.1).requires_grad_(); }

/// A partitioner of a program's own: products and convolutions, which take long, are kept, and all else is computed
/// again.
void products(rp::JointRequest& joint) {
  for (rp::JointValue& v : joint.values)
    v.save = !v.can_be_recomputed || v.op == "matmul" || v.op == "mm" || v.op == "bmm" || v.op == "linear" ||
             v.op == "addmm" || v.op == "convolution" || v.op == "scaled_dot_product_attention";
}

struct Partitioner {
  const char* name;
  rp::BackwardKeeps keeps;
  rp::PartitionFunction own = {};
};
const Partitioner kPartitioners[] = {{"min-cut", rp::BackwardKeeps::MinimumCut},
                                     {"all", rp::BackwardKeeps::All},
                                     {"nothing", rp::BackwardKeeps::Nothing},
                                     {"products", rp::BackwardKeeps::MinimumCut, products}};

template <class F, class... Args>
void measure_with(const std::string& model, const Partitioner& by, int times, F f, const Args&... args) {
  nlohmann::json told{{"model", model}, {"by", by.name}};
  rp::set_log_callback(
      [&](const rp::LogEvent& e) {
        if (e.event != "partitioned") return;
        const nlohmann::json fields = nlohmann::json::parse(e.json);
        told["saved"] = fields["bytes_saved"], told["all"] = fields["bytes_of_all"];
      },
      "graph");
  auto loss = rp::compile(f, {.name = model, .keeps = by.keeps, .partition = by.own});
  loss(args...).backward();
  rp::set_log_callback({});
  if (times) {
    std::vector<double> us;
    for (int i = 0; i < times; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      loss(args...).backward();
      us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(us.begin(), us.begin() + times / 2, us.end());
    told["us"] = us[static_cast<std::size_t>(times / 2)];
  }
  std::puts(told.dump().c_str());
}
template <class F, class... Args>
void measure(const char* model, F f, const Args&... args) {
  for (const auto& by : kPartitioners) measure_with(model, by, 31, f, args...);
}

/// A program of scripts/compare_partition.py: steps "operator a b" of a pool of values, which begins with x, w, v
/// [64, 64] and row [64]. The loss is the mean of the last value's square.
Tensor run(const std::string& program, const Tensor& x, const Tensor& w, const Tensor& v, const Tensor& row) {
  std::vector<Tensor> pool{x, w, v, row};
  std::istringstream steps(program);
  for (std::string step; std::getline(steps, step, ';');) {
    std::istringstream words(step);
    std::string op;
    std::size_t i = 0, j = 0;
    words >> op >> i >> j;
    const Tensor a = pool.at(i), b = pool.at(j);
    const std::vector<rp::Int> last{64};
    auto heads = [](const Tensor& t) { return t.reshape({1, 64, 4, 16}).transpose(1, 2); };
    pool.push_back(
        op == "exp"           ? rp::exp(a * 0.1)
        : op == "sin"         ? rp::sin(a)
        : op == "cos"         ? rp::cos(a)
        : op == "tanh"        ? rp::tanh(a)
        : op == "sigmoid"     ? rp::sigmoid(a)
        : op == "relu"        ? rp::relu(a)
        : op == "gelu"        ? rp::gelu(a)
        : op == "silu"        ? rp::silu(a)
        : op == "square"      ? rp::square(a)
        : op == "log"         ? rp::log(a * a + 1.0)
        : op == "scale"       ? a * 0.5 + 0.25
        : op == "add"         ? a + b
        : op == "mul"         ? a * b
        : op == "sub"         ? a - b
        : op == "row"         ? a * row
        : op == "matmul"      ? rp::matmul(a, b) * 0.125
        : op == "transposed"  ? a.transpose(0, 1) * 1.5
        : op == "softmax"     ? rp::softmax(a, -1)
        : op == "log_softmax" ? rp::log_softmax(a, -1)
        : op == "layer_norm"  ? rp::layer_norm(a, last)
        : op == "rms_norm"    ? rp::rms_norm(a, row)
        : op == "attention"
            ? rp::scaled_dot_product_attention(heads(a), heads(b), heads(a)).transpose(1, 2).reshape({64, 64})
            : throw std::runtime_error("no such operator: " + op));
  }
  return pool.back().square().mean();
}

void measure_programs(const char* file) {
  std::ifstream in(file);
  const Tensor x = leaf({64, 64}), w = leaf({64, 64}), v = leaf({64, 64}), row = leaf({64});
  for (std::string line; std::getline(in, line);)
    measure_with(
        line, kPartitioners[0], 0, [line](Tensor a, Tensor b, Tensor c, Tensor d) { return run(line, a, b, c, d); }, x,
        w, v, row);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--programs") return measure_programs(argv[2]), 0;
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
