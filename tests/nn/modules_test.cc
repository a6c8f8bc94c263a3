// Layers against single operators and loops; their names, their first weights, and what compiled functions make of
// them.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "reprise/nn.h"
#include "reprise/reprise.h"

using namespace reprise;

namespace {

void close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(allclose(a.to(kFloat64), b.to(kFloat64), tolerance, tolerance)) << (a - b).abs().amax().item<double>();
}
template <class Layer>
std::vector<std::string> names(const Layer& l) {
  std::vector<std::string> all;
  for (auto& [name, t] : nn::named_tensors(l)) all.push_back(name);
  return all;
}
using Names = std::vector<std::string>;

/// The layer compiled is the layer eagerly; one compilation serves another batch.
template <class Layer>
void compiles(const Layer& layer, const Tensor& x, const Tensor& larger) {
  auto step = compile([](const Layer& l, Tensor x) { return l(x); });
  close(step(layer, x), layer(x));
  close(step(layer, larger), layer(larger));
  close(layer->forward(x), layer(x));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
  EXPECT_EQ(step.stats().compilations, 1u);
}

TEST(Nn, LinearAndEmbedding) {
  manual_seed(1);
  const nn::Linear l(8, 5), bare(8, 5, false);
  EXPECT_EQ(names(l), (Names{"weight", "bias"}));
  EXPECT_EQ(names(bare), (Names{"weight"}));
  const Tensor x = randn({3, 4, 8});
  close(l(x), x.matmul(l.weight.t()) + *l.bias);
  close(bare(x), x.matmul(bare.weight.t()));
  compiles(l, x, randn({7, 2, 8}));
  const nn::Embedding e(10, 4, 3);
  EXPECT_EQ(e.weight.select(0, 3).abs().sum().item<double>(), 0);
  close(e(tensor({1, 9})), e.weight.index_select(0, tensor({1, 9})));
}

TEST(Nn, FirstWeightsAreThoseOfTheField) {
  manual_seed(5);
  const nn::Linear l(400, 300);
  const double bound = 1 / std::sqrt(400.0);
  EXPECT_LE(l.weight.abs().amax().item<double>(), bound);
  EXPECT_NEAR(l.weight.std().item<double>(), bound / std::sqrt(3.0), bound * 0.02);
  EXPECT_LE(l.bias->abs().amax().item<double>(), bound);
  const nn::Conv2d c(16, 32, {3, 5}, {.groups = 4});
  EXPECT_EQ(c.weight.sizes(), (Ints{32, 4, 3, 5}));
  EXPECT_LE(c.weight.abs().amax().item<double>(), 1 / std::sqrt(60.0));
  EXPECT_GT(c.weight.abs().amax().item<double>(), 0.9 / std::sqrt(60.0));
  EXPECT_NEAR(nn::Embedding(500, 40).weight.std().item<double>(), 1, 0.02);
  const nn::MultiheadAttention a(64, 4);
  EXPECT_LE(a.in_proj_weight.abs().amax().item<double>(), std::sqrt(6.0 / 256));
  EXPECT_EQ(a.in_proj_bias->abs().sum().item<double>(), 0);
  EXPECT_EQ(a.out_proj.bias->abs().sum().item<double>(), 0);
  manual_seed(5);
  EXPECT_TRUE(equal(nn::Linear(400, 300).weight, l.weight));
}

TEST(Nn, Norms) {
  const Tensor x = randn({4, 6, 5, 3}) * 3 + 1;
  nn::GroupNorm g(3, 6);
  g.weight = randn({6}), g.bias = randn({6});
  const Tensor grouped = x.view({4, 3, -1}).to(kFloat64);
  const Tensor wanted =
      ((grouped - grouped.mean({-1}, true)) / (grouped.var({-1}, 0, true) + g.eps).sqrt()).view({4, 6, 5, 3}) *
          g.weight->view({6, 1, 1}) +
      g.bias->view({6, 1, 1});
  close(g(x), wanted);
  compiles(g, x, randn({9, 6, 2, 2}));
  EXPECT_EQ(names(g), (Names{"weight", "bias"}));

  nn::LayerNorm l(std::vector<std::int64_t>{5, 3});
  close(l(x), layer_norm(x, {5, 3}));
  compiles(l, x, randn({2, 2, 5, 3}));
  nn::RMSNorm r(3, 1e-6);
  close(r(x), rms_norm(x, ones({3}), 1e-6));

  nn::BatchNorm2d b(6);
  EXPECT_EQ(names(b), (Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  b.running_mean = randn({6}), b.running_var = rand({6}) + 0.5, b.weight = randn({6}), b.bias = randn({6});
  auto column = [](const Tensor& t) { return t.view({6, 1, 1}); };
  close(b(x),
        (x - column(b.running_mean)) / (column(b.running_var) + b.eps).sqrt() * column(*b.weight) + column(*b.bias));
  compiles(b, x, randn({2, 6, 7, 7}));
  EXPECT_THROW(b(randn({4, 6})), Error);
  EXPECT_THROW(nn::GroupNorm(4, 6)(x), Error);
}

TEST(Nn, BatchNormFollowsWhatItSeesAtTraining) {
  const Tensor x = randn({4, 6, 5, 3}) * 2 + 3;
  nn::BatchNorm2d eager(6), compiled(6);
  nn::train(eager), nn::train(compiled);
  EXPECT_TRUE(eager.training);
  auto step = compile([](nn::BatchNorm2d& b, Tensor x) { return b(x); });
  for (int i = 0; i < 3; ++i) close(step(compiled, x + i), eager(x + i));
  close(compiled.running_mean, eager.running_mean);
  close(compiled.running_var, eager.running_var);
  EXPECT_EQ(compiled.num_batches_tracked->item<int>(), 3);
  nn::BatchNorm2d once(6);
  once.training = true;
  once(x);
  close(once.running_mean, x.mean({0, 2, 3}) * 0.1);
  close(once.running_var, x.var({0, 2, 3}, 1) * 0.1 + 0.9);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

TEST(Nn, Convolutions) {
  const nn::Conv2d c(4, 6, 3, {.stride = {2}, .padding = {1}, .groups = 2});
  const Tensor x = randn({2, 4, 9, 7});
  close(c(x), conv2d(x, c.weight, *c.bias, 2, 1, 1, 2));
  compiles(c, x, randn({3, 4, 12, 12}));
  const nn::Conv1d same(4, 4, 5, {.bias = false, .padding_mode = "same"});
  EXPECT_EQ(same(randn({2, 4, 11})).sizes(), (Ints{2, 4, 11}));
  EXPECT_EQ(names(same), (Names{"weight"}));
}

TEST(Nn, ASmallNetOfImages) {
  manual_seed(4);
  const nn::Sequential net(nn::Conv2d(3, 8, 3, {.padding = {1}}), nn::BatchNorm2d(8), nn::ReLU(), nn::MaxPool2d(2),
                           nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(8, 5));
  const Tensor x = randn({2, 3, 8, 8});
  EXPECT_EQ(net(x).sizes(), (Ints{2, 5}));
  compiles(net, x, randn({5, 3, 12, 10}));
  close(nn::AvgPool2d(2)(x), avg_pool2d(x, 2));
}

TEST(Nn, Attention) {
  manual_seed(3);
  for (const bool batch_first : {false, true}) {
    nn::MultiheadAttention a(16, 4, true, batch_first);
    a.in_proj_bias = randn({48}), a.out_proj.bias = randn({16});
    const std::int64_t batch = 3, len = 5;
    const Tensor x = batch_first ? randn({batch, len, 16}) : randn({len, batch, 16});
    const Tensor got = a(x, x, x), y = batch_first ? x : x.transpose(0, 1);
    // Head by head.
    std::vector<Tensor> heads;
    for (int h = 0; h < 4; ++h) {
      auto part = [&](int which) {
        return linear(y, a.in_proj_weight.narrow(0, 16 * which + 4 * h, 4),
                      a.in_proj_bias->narrow(0, 16 * which + 4 * h, 4));
      };
      heads.push_back(softmax(part(0).matmul(part(1).mT()) / 2.0, -1).matmul(part(2)));
    }
    const Tensor wanted = linear(cat(heads, -1), a.out_proj.weight, *a.out_proj.bias);
    close(got, batch_first ? wanted : wanted.transpose(0, 1), 1e-4);
    EXPECT_EQ(names(a), (Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
    auto step = compile([](const nn::MultiheadAttention& a, Tensor x) { return a(x, x, x, Tensor(), true); });
    close(step(a, x), a(x, x, x, Tensor(), true), 1e-4);
    EXPECT_EQ(step.stats().eager_fallbacks, 0u);
  }
}

struct Net {
  nn::Sequential<nn::Linear, nn::GELU, nn::Dropout, nn::Linear> head{nn::Linear(6, 12), nn::GELU("tanh"),
                                                                     nn::Dropout(0.5), nn::Linear(12, 2)};
  std::vector<nn::LayerNorm> norms = {nn::LayerNorm(6), nn::LayerNorm(6)};
};

TEST(Nn, SequentialListsAndFiles) {
  Net net;
  EXPECT_EQ(names(net), (Names{"head.0.weight", "head.0.bias", "head.3.weight", "head.3.bias", "norms.0.weight",
                               "norms.0.bias", "norms.1.weight", "norms.1.bias"}));
  const Tensor x = randn({3, 6});
  const auto& [first, gelu_, drop, last] =
      static_cast<const std::tuple<nn::Linear, nn::GELU, nn::Dropout, nn::Linear>&>(net.head);
  close(net.head(x), last(gelu(first(x), "tanh")));
  nn::train(net);
  EXPECT_TRUE(drop.training);
  nn::train(net, false);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("reprise_nn_" + std::to_string(getpid()))).string();
  save_safetensors(path, net);
  Net other;
  load_safetensors(path, other);
  EXPECT_TRUE(equal(net.head(x), other.head(x)));
  nn::Linear no_bias;  // of what the file has, and nothing where it has nothing
  load_safetensors(path, no_bias, {.prefix = "head.3.", .strict = true});
  EXPECT_TRUE(no_bias.bias.has_value());
  std::remove(path.c_str());
  auto step = compile([](const Net& n, Tensor x) {
    for (const nn::LayerNorm& l : n.norms) x = l(x);
    return n.head(x);
  });
  close(step(net, x), step(other, x));
  nn::to(other, {.dtype = kBFloat16});
  EXPECT_EQ(step(other, x.to(kBFloat16)).dtype(), kBFloat16);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

}  // namespace
