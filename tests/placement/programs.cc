#include "tests/placement/programs.h"

#include "reprise/reprise.h"
#include "reprise/shape_only.h"

namespace reprise::test {

namespace {

Tensor weight(std::initializer_list<Int> sizes) { return empty(sizes, {.device = Device::shape_only()}); }

Tensor two_layers(const Tensor& x, const Tensor& w1, const Tensor& w2) { return linear(linear(x, w1).relu(), w2); }

/// [batch, length, heads * d] as [batch, heads, length, d].
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).permute({0, 2, 1, 3});
}
Tensor attend(const Tensor& x, const Tensor& wq, const Tensor& wk, const Tensor& wv, const Tensor& wo,
              std::int64_t heads, bool causal) {
  const Tensor o = scaled_dot_product_attention(split_heads(linear(x, wq), heads), split_heads(linear(x, wk), heads),
                                                split_heads(linear(x, wv), heads), {}, 0.0, causal);
  return linear(o.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(1), x.size(2)}), wo);
}

struct Layer {
  Tensor norm1, wq, wk, wv, wo, norm2, gate, up, down;
  REPRISE_FIELDS(Layer, norm1, wq, wk, wv, wo, norm2, gate, up, down)
};
struct Llama {
  std::int64_t heads = 1;
  Tensor embed;
  std::vector<Layer> layers;
  Tensor norm, head;
  REPRISE_FIELDS(Llama, embed, layers, norm, head)

  Tensor operator()(const Tensor& ids, const Tensor& targets) const {
    Tensor h = embedding(embed, ids);
    for (const Layer& l : layers) {
      const std::vector<Int> shape{h.size(2)};
      h = h + attend(rms_norm(h, shape, l.norm1), l.wq, l.wk, l.wv, l.wo, heads, true);
      const Tensor x = rms_norm(h, shape, l.norm2);
      h = h + linear(silu(linear(x, l.gate)) * linear(x, l.up), l.down);
    }
    const Tensor scores = log_softmax(linear(rms_norm(h, {h.size(2)}, norm), head), -1);
    return -gather(scores, -1, targets.unsqueeze(-1)).mean();
  }
};

}  // namespace

ExportedProgram mlp(std::int64_t batch, std::int64_t width, std::int64_t hidden) {
  return export_program([](const Tensor& x, const Tensor& w1, const Tensor& w2) { return two_layers(x, w1, w2); },
                        std::tuple(weight({batch, width}), weight({hidden, width}), weight({width, hidden})),
                        {.name = "mlp", .arguments = {"x", "w1", "w2"}, .static_sizes = true});
}

ExportedProgram mlp_step(std::int64_t batch, std::int64_t width, std::int64_t hidden) {
  const auto step = [](const Tensor& x, const Tensor& y, const Tensor& w1, const Tensor& w2) {
    const Tensor d = two_layers(x, w1, w2) - y;
    return (d * d).mean();
  };
  const Tensor w1 = weight({hidden, width}).requires_grad_(true), w2 = weight({width, hidden}).requires_grad_(true);
  return export_program(
      step, std::tuple(weight({batch, width}), weight({batch, width}), w1, w2),
      {.name = "mlp_step", .arguments = {"x", "y", "w1", "w2"}, .static_sizes = true, .trace_joint = true});
}

ExportedProgram attention(std::int64_t batch, std::int64_t length, std::int64_t heads, std::int64_t width) {
  const auto f = [heads](const Tensor& x, const Tensor& wq, const Tensor& wk, const Tensor& wv, const Tensor& wo) {
    return attend(x, wq, wk, wv, wo, heads, false);
  };
  const Tensor w = weight({width, width});
  return export_program(f,
                        std::tuple(weight({batch, length, width}), w, weight({width, width}), weight({width, width}),
                                   weight({width, width})),
                        {.name = "attention", .arguments = {"x", "wq", "wk", "wv", "wo"}, .static_sizes = true});
}

ExportedProgram llama_step(int layers, std::int64_t batch, std::int64_t length, std::int64_t width, std::int64_t hidden,
                           std::int64_t heads, std::int64_t vocabulary) {
  Llama net{heads, weight({vocabulary, width}), {}, weight({width}), weight({vocabulary, width})};
  for (int i = 0; i < layers; ++i)
    net.layers.push_back({weight({width}), weight({width, width}), weight({width, width}), weight({width, width}),
                          weight({width, width}), weight({width}), weight({hidden, width}), weight({hidden, width}),
                          weight({width, hidden})});
  const Tensor ids = empty({batch, length}, {.dtype = kInt64, .device = Device::shape_only()}),
               targets = empty({batch, length}, {.dtype = kInt64, .device = Device::shape_only()});
  return export_module(
      net, std::tuple(ids, targets),
      {.name = "llama_step", .arguments = {"ids", "targets"}, .static_sizes = true, .trace_joint = true});
}

}  // namespace reprise::test
