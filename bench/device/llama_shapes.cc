#include "bench/device/llama_shapes.h"

namespace reprise::device_figures {

llama::Config llama_config(std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t kv,
                           std::int64_t hidden, std::int64_t vocab, std::int64_t context) {
  llama::Config c;
  c.dim = dim, c.n_layers = layers, c.n_heads = heads, c.n_kv_heads = kv, c.head_dim = dim / heads,
  c.hidden_dim = hidden, c.vocab_size = vocab, c.context = context;
  return c;
}

std::vector<LlamaShape> llama_shapes() {
  return {{"0.1B", llama_config(768, 12, 12, 4, 2048, 32000, 2048)},
          {"1B", llama_config(2048, 16, 32, 8, 8192, 128256, 2048)},
          {"8B", llama_config(4096, 32, 32, 8, 14336, 128256, 2048)}};
}

llama::Model model_of(const llama::Config& c, const std::function<Tensor(std::int64_t, std::int64_t)>& weight,
                      const std::function<Tensor(std::vector<Int>, DType, double)>& filled) {
  llama::Model m;
  m.config = c;
  // As examples/llama/model.cc does: sizes of a model never change.
  auto marked = [](Tensor t) {
    for (int d = 0; d < t.dim(); ++d) mark_static(t, d);
    return t;
  };
  auto counted = [&](std::int64_t rows, std::int64_t cols) {
    m.weight_bytes += rows * cols * 2;
    return marked(weight(rows, cols));
  };
  auto norm = [&] { return marked(filled({c.dim}, kBFloat16, 1)); };
  const std::int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  m.weights.embedding = counted(c.vocab_size, c.dim);
  m.weights.norm = norm();
  for (std::int64_t i = 0; i < c.n_layers; ++i)
    m.weights.layers.push_back({norm(), counted(q, c.dim), counted(kv, c.dim), counted(kv, c.dim), counted(c.dim, q),
                                norm(), counted(c.hidden_dim, c.dim), counted(c.dim, c.hidden_dim),
                                counted(c.hidden_dim, c.dim)});
  m.weights.cos = filled({c.context, c.head_dim / 2}, kFloat32, 1);
  m.weights.sin = filled({c.context, c.head_dim / 2}, kFloat32, 0);
  return m;
}

}  // namespace reprise::device_figures
