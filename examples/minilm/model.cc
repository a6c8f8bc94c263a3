#include "model.h"

namespace minilm {

Model random_model(std::int64_t vocabulary, std::int64_t positions, std::int64_t dim, std::int64_t hidden,
                   std::int64_t layers) {
  Model m{{{vocabulary, dim}, {positions, dim}, {2, dim}, {dim}}, {}};
  for (std::int64_t i = 0; i < layers; ++i)
    m.encoder.layer.push_back(
        {{{{dim, dim}, {dim, dim}, {dim, dim}}, {{dim, dim}, {dim}}}, {{dim, hidden}}, {{hidden, dim}, {dim}}});
  return m;
}

namespace {

rp::Tensor norm(const nn::LayerNorm& l, rp::Tensor x, double eps) {
  return rp::layer_norm(x, {x.size(-1)}, *l.weight, *l.bias, eps);
}

rp::Tensor attention(const SelfAttention& a, rp::Tensor x, rp::Tensor mask, std::int64_t heads) {
  const rp::Int batch = x.size(0), n = x.size(1), dim = x.size(2);
  auto by_heads = [&](rp::Tensor y) { return y.view({batch, n, heads, dim / heads}).transpose(1, 2); };
  const rp::Tensor y =
      rp::scaled_dot_product_attention(by_heads(a.query(x)), by_heads(a.key(x)), by_heads(a.value(x)), mask);
  return y.transpose(1, 2).reshape({batch, n, dim});
}

}  // namespace

rp::Tensor embed(const Model& m, rp::Tensor tokens, rp::Tensor present, std::int64_t heads, double eps) {
  const Embeddings& e = m.embeddings;
  rp::Tensor x = e.word_embeddings(tokens) + e.position_embeddings.weight.slice(0, 0, tokens.size(1)) +
                 e.token_type_embeddings.weight.select(0, 0);
  x = norm(e.LayerNorm, x, eps);
  const rp::Tensor mask = present.unsqueeze(1).unsqueeze(1);  // [batch, 1, 1, longest]
  for (const Layer& l : m.encoder.layer) {
    x = norm(l.attention.output.LayerNorm, x + l.attention.output.dense(attention(l.attention.self, x, mask, heads)),
             eps);
    x = norm(l.output.LayerNorm, x + l.output.dense(rp::gelu(l.intermediate.dense(x))), eps);
  }
  const rp::Tensor weight = present.to(x.dtype()).unsqueeze(-1);
  const rp::Tensor mean = (x * weight).sum(1) / weight.sum(1);
  return mean / rp::norm(mean, 2, -1, true).clamp_min(1e-12);
}

}  // namespace minilm
