#include "bench/device/measure.h"
#include "model.h"

namespace reprise::device_figures {

namespace {

llama::Model random_model(const Setting& s, const llama::Config& c) {
  llama::Model m;
  m.config = c;
  // One row of random numbers, repeated: the speed does not depend on the values, and 8 billion would take a while.
  auto weight = [&](std::int64_t rows, std::int64_t cols) {
    Tensor row = (randn({cols}, {}) * 0.02).to(kBFloat16).to(s.device);
    Tensor w = row.unsqueeze(0).expand({rows, cols}).contiguous();
    m.weight_bytes += rows * cols * 2;
    return w;
  };
  auto norm = [&] { return ones({c.dim}, {.dtype = kBFloat16, .device = s.device}); };
  std::int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  m.weights.embedding = weight(c.vocab_size, c.dim);
  m.weights.norm = norm();
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    m.weights.layers.push_back({norm(), weight(q, c.dim), weight(kv, c.dim), weight(kv, c.dim), weight(c.dim, q), norm(), weight(c.hidden_dim, c.dim), weight(c.dim, c.hidden_dim), weight(c.hidden_dim, c.dim)});
  m.weights.cos = ones({c.context, c.head_dim / 2}, {.device = s.device});
  m.weights.sin = zeros({c.context, c.head_dim / 2}, {.device = s.device});
  return m;
}

}  // namespace

void decode(const Setting& s) {
  struct Shape { const char* name; llama::Config c; };
  auto config = [](std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t kv, std::int64_t hidden, std::int64_t vocab, std::int64_t context) {
    llama::Config c;
    c.dim = dim, c.n_layers = layers, c.n_heads = heads, c.n_kv_heads = kv, c.head_dim = dim / heads, c.hidden_dim = hidden, c.vocab_size = vocab, c.context = context;
    return c;
  };
  std::vector<Shape> shapes = s.quick ? std::vector<Shape>{{"tiny", config(64, 2, 4, 2, 128, 256, 32)}}
                                      : std::vector<Shape>{{"0.1B", config(768, 12, 12, 4, 2048, 32000, 2048)}, {"1B", config(2048, 16, 32, 8, 8192, 128256, 2048)}, {"8B", config(4096, 32, 32, 8, 14336, 128256, 2048)}};
  for (const Shape& shape : shapes) {
    llama::Model m = random_model(s, shape.c);
    llama::Cache cache = llama::new_cache(m.config, kBFloat16, s.device);
    Tensor token = tensor_of(std::vector<std::int64_t>{7}).to(s.device);
    // Every position is a new size. With few recordings each is made out of one before it, so that its graph is updated:
    // what a long text costs once the default bound is reached, too.
    auto step = compile(llama::forward, {.name = "decode", .recordings_max = 4});
    auto next = [&](std::int64_t pos) { step(m.config, m.weights, cache, token, pos, false).argmax().item(); };
    const std::int64_t warm = s.quick ? 2 : 20, most = s.quick ? 8 : 200;
    for (std::int64_t pos = 0; pos < warm; ++pos) next(pos);
    double start = now();
    for (std::int64_t pos = warm; !s.quick && now() - start < 0.12; pos = pos + 1 < most ? pos + 1 : warm) next(pos);
    std::vector<double> times;
    for (std::int64_t pos = warm; pos < most; ++pos) {
      double t = now();
      next(pos);
      times.push_back(now() - t);
    }
    double seconds = median(times), bytes = static_cast<double>(m.weight_bytes);
    s.report({"decode", std::string("Llama ") + shape.name + " bfloat16, batch 1", 1 / seconds, "tokens/s", bytes / seconds / s.read_rate, "read"});
    Stats stats = step.stats();
    s.report({"decode", std::string("compilations of ") + shape.name, static_cast<double>(stats.compilations), ""});
  }
}

}  // namespace reprise::device_figures
