// The layers of reprise/nn_layers.h against the functions that they call; their names; compiled and trained.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "reprise/nn.h"
#include "reprise/reprise.h"

using namespace reprise;

namespace {

void close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(allclose(a, b, 1e-5, 1e-5)) << a.str() << " not " << b.str();
}
template <class Layer>
std::vector<std::string> names(const Layer& l) {
  std::vector<std::string> all;
  for (auto& [name, t] : nn::named_tensors(l)) all.push_back(name);
  return all;
}
using Names = std::vector<std::string>;

/// Each layer gives what its function gives, compiled, too.
template <class Layer>
void gives(const Layer& layer, const Tensor& x, const Tensor& want) {
  close(layer(x), want);
  auto step = compile([](const Layer& l, const Tensor& t) { return l(t); });
  close(step(layer, x), want);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;
}

TEST(Layers, WithoutWeights) {
  manual_seed(2);
  const Tensor x = randn({2, 4, 6}) * 3, image = randn({2, 4, 5, 6});
  gives(nn::ReLU6(), x, relu6(x)), gives(nn::SELU(), x, selu(x)), gives(nn::Mish(), x, mish(x)),
      gives(nn::Hardswish(), x, hardswish(x));
  gives(nn::Hardsigmoid(), x, hardsigmoid(x)), gives(nn::Softsign(), x, softsign(x)),
      gives(nn::Tanhshrink(), x, tanhshrink(x)), gives(nn::LogSigmoid(), x, log_sigmoid(x));
  gives(nn::LeakyReLU(0.2), x, leaky_relu(x, 0.2)), gives(nn::ELU(0.5), x, elu(x, 0.5)),
      gives(nn::CELU(0.5), x, celu(x, 0.5));
  gives(nn::Hardshrink(1), x, hardshrink(x, 1.0)), gives(nn::Softshrink(1), x, softshrink(x, 1.0));
  gives(nn::Softplus(2), x, softplus(x, 2)), gives(nn::Hardtanh(-2, 1), x, hardtanh(x, -2, 1)),
      gives(nn::GLU(1), x, glu(x, 1)), gives(nn::LogSoftmax(1), x, log_softmax(x, 1));
  gives(nn::PReLU(4), x, prelu(x, full({4}, 0.25)));
  gives(nn::Unflatten(2, {2, 3}), x, x.view({2, 4, 2, 3})), gives(nn::PixelShuffle(2), image, pixel_shuffle(image, 2)),
      gives(nn::PixelUnshuffle(1), image, image);
  gives(nn::ZeroPad2d({1, 2, 0, 1}), image, pad(image, {1, 2, 0, 1})),
      gives(nn::ReflectionPad1d(2), x, pad(x, {2, 2}, "reflect"));
  gives(nn::ReplicationPad2d(1), image, pad(image, {1, 1, 1, 1}, "replicate")),
      gives(nn::CircularPad1d({1, 2}), x, pad(x, {1, 2}, "circular"));
  gives(nn::ConstantPad1d(1, 2.5), x, pad(x, {1, 1}, 2.5));
  gives(nn::Upsample({.scale_factor = {2}}), image, interpolate(image, {.scale_factor = {2}}));
  gives(nn::Upsample({.size = {7, 8}, .mode = "bilinear", .align_corners = true}), image,
        interpolate(image, {.size = Ints{7, 8}, .mode = "bilinear", .align_corners = true}));
  gives(nn::MaxPool1d(2), x, max_pool1d(x, 2));
  EXPECT_TRUE(names(nn::LeakyReLU()).empty());
  EXPECT_EQ(names(nn::PReLU()), (Names{"weight"}));
}

TEST(Layers, ConvolutionsAndNorms) {
  manual_seed(3);
  const Tensor x = randn({2, 4, 6}), image = randn({2, 4, 5, 6});
  const nn::ConvTranspose2d up(4, 6, 3, {.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2});
  EXPECT_EQ(up.weight.sizes(), (Ints{4, 3, 3, 3}));
  EXPECT_EQ(names(up), (Names{"weight", "bias"}));
  gives(up, image, conv_transpose2d(image, up.weight, *up.bias, 2, 1, 1, 2));
  const nn::ConvTranspose1d bare(4, 2, {3}, {.dilation = {2}, .bias = false});
  gives(bare, x, conv_transpose1d(x, bare.weight, {}, 1, 0, 0, 1, 2));
  EXPECT_LE(bare.weight.abs().amax().item<double>(), 1 / std::sqrt(6.0));

  const nn::InstanceNorm2d plain(4);
  EXPECT_TRUE(names(plain).empty());
  gives(plain, image, instance_norm(image, {}, {}, {}, {}, true, 0.1, 1e-5));
  gives(plain, image[0], plain(image)[0]);
  nn::InstanceNorm1d tracked(4, 1e-5, 0.1, true, true);
  EXPECT_EQ(names(tracked), (Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  gives(tracked, x, x / std::sqrt(1 + 1e-5));
  nn::train(tracked);
  tracked(x);
  close(*tracked.running_mean, x.mean({0, 2}) * 0.1);
  EXPECT_EQ(tracked.num_batches_tracked->item<int>(), 1);
  EXPECT_THROW(plain(x[0]), Error);

  nn::BatchNorm1d batch(6);
  const Tensor rows = randn({8, 6});
  gives(batch, rows, rows / std::sqrt(1 + 1e-5));
  nn::train(batch);
  close(batch(rows), (rows - rows.mean(0)) / sqrt(rows.var(0, 0) + 1e-5));
  close(batch.running_mean, rows.mean(0) * 0.1);
  EXPECT_THROW(batch(rows.slice(0, 0, 1)), Error);
  EXPECT_EQ(batch.num_batches_tracked->item<int>(), 1);  // a call that throws counts nothing
}

// Convolution and batch norm, trained by a compiled function that is made once: running statistics change, and nothing
// else of a step stays.
TEST(Layers, ABatchNormTrainsCompiled) {
  manual_seed(4);
  using Net = nn::Sequential<nn::Conv2d, nn::BatchNorm2d, nn::ReLU>;
  Net net(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3), nn::ReLU()),
      eager(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3), nn::ReLU());
  nn::train(net), nn::train(eager);
  std::vector<Tensor> leaves, own;
  auto a = nn::named_tensors(net), b = nn::named_tensors(eager);
  for (std::size_t i = 0; i < a.size(); ++i) {
    b[i].second.copy_(a[i].second);
    if (a[i].first.find("running") != std::string::npos || a[i].first.find("num_") != std::string::npos) continue;
    leaves.push_back(a[i].second.requires_grad_()), own.push_back(b[i].second.requires_grad_());
  }
  auto forward = compile([](const Net& n, const Tensor& x) { return n(x).square().mean(); }, {.name = "conv_bn"});
  optim::SGD optimizer(leaves, {.lr = 0.1}), reference(own, {.lr = 0.1});
  std::int64_t live = 0;
  for (int n = 0; n < 8; ++n) {
    const Tensor x = randn({4, 2, 6, 6});
    const Tensor loss = forward(net, x), want = eager(x).square().mean();
    close(loss, want);
    loss.backward(), want.backward();
    optimizer.step(), reference.step();
    optimizer.zero_grad(), reference.zero_grad();
    for (std::size_t i = 0; i < a.size(); ++i)
      close(a[i].second.detach().to(kFloat32), b[i].second.detach().to(kFloat32));
    if (n == 4) live = stats().result_bytes_live;
    if (n > 4) {
      EXPECT_LE(stats().result_bytes_live, live);
    }
  }
  EXPECT_EQ(forward.stats().eager_fallbacks, 0u) << forward.stats().last_fallback_reason;
  EXPECT_EQ(forward.stats().compilations, 1u);
}

TEST(Layers, RecurrentNetworksHaveTheirFilesNames) {
  manual_seed(5);
  const nn::LSTM lstm_layer(3, 4, {.num_layers = 2, .bidirectional = true});
  Names found = names(lstm_layer);
  EXPECT_EQ(found.size(), 16u);
  for (const char* name :
       {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0_reverse", "weight_ih_l1", "weight_hh_l1_reverse"})
    EXPECT_NE(std::find(found.begin(), found.end(), name), found.end()) << name;
  EXPECT_EQ(lstm_layer.at("weight_ih_l1").sizes(), (Ints{16, 8}));
  const Tensor x = randn({5, 2, 3}), h = randn({4, 2, 4}), c = randn({4, 2, 4});
  std::vector<Tensor> in_order;
  for (const char* at : {"_l0", "_l0_reverse", "_l1", "_l1_reverse"})
    for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
      in_order.push_back(lstm_layer.at(std::string(kind) + at));
  const auto [y, hn, cn] = lstm_layer(x, std::vector<Tensor>{h, c});
  const auto [wy, whn, wcn] = lstm(x, {h, c}, in_order, true, 2, 0.0, false, true);
  close(y, wy), close(hn, whn), close(cn, wcn);
  close(std::get<0>(lstm_layer(x)), std::get<0>(lstm(x, {}, in_order, true, 2, 0.0, false, true)));
  auto step = compile([](const nn::LSTM& l, const Tensor& t) { return std::get<0>(l(t)); });
  close(step(lstm_layer, x), std::get<0>(lstm_layer(x)));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;

  const nn::GRU g(3, 4, {.bias = false, .batch_first = true});
  EXPECT_EQ(names(g).size(), 2u);
  close(g(x).first, gru(x, {}, {g.at("weight_ih_l0"), g.at("weight_hh_l0")}, false, 1, 0.0, false, false, true).first);
  const nn::RNN r(3, 4, {}, "relu");
  close(r(x).first,
        rnn_relu(x, {}, {r.at("weight_ih_l0"), r.at("weight_hh_l0"), r.at("bias_ih_l0"), r.at("bias_hh_l0")}).first);

  // Through a file, by those names.
  struct Model {
    nn::LSTM lstm;
    nn::Linear out;
  };
  Model saved{nn::LSTM(3, 4), nn::Linear(4, 2)}, loaded;
  const std::string file =
      std::filesystem::temp_directory_path() / ("layers_test." + std::to_string(getpid()) + ".safetensors");
  save_safetensors(file, saved);
  EXPECT_TRUE(load_safetensors(file).contains("lstm.weight_hh_l0"));
  load_safetensors(file, loaded);
  std::filesystem::remove(file);
  close(std::get<0>(loaded.lstm(x)), std::get<0>(saved.lstm(x)));
}

TEST(Layers, AttentionWithoutABatchAndEncoders) {
  manual_seed(6);
  const nn::MultiheadAttention last(8, 2), first(8, 2, true, true);
  const Tensor q = randn({5, 8}), k = randn({3, 8});
  close(last(q, k, k), last(q.unsqueeze(1), k.unsqueeze(1), k.unsqueeze(1)).squeeze(1));
  close(first(q, k, k), first(q.unsqueeze(0), k.unsqueeze(0), k.unsqueeze(0)).squeeze(0));

  for (bool norm_first : {false, true}) {
    const nn::TransformerEncoderLayer layer(
        8, 2, {.dim_feedforward = 16, .activation = "gelu", .batch_first = true, .norm_first = norm_first});
    const nn::TransformerEncoder encoder(layer, 2, nn::LayerNorm(8));
    const Names found = names(encoder);
    EXPECT_EQ(found.size(), 2u * 12 + 2);
    EXPECT_EQ(found[0], "layers.0.self_attn.in_proj_weight");
    EXPECT_EQ(found.back(), "norm.bias");
    EXPECT_FALSE(encoder.layers[0].linear1.weight.shares_storage_with(encoder.layers[1].linear1.weight));
    const Tensor x = randn({2, 5, 8});
    auto by_hand = [&](const Tensor& t) {
      auto fed = [&](const Tensor& u) { return layer.linear2(gelu(layer.linear1(u))); };
      if (norm_first) {
        const Tensor n = layer.norm1(t), u = t + layer.self_attn(n, n, n);
        return u + fed(layer.norm2(u));
      }
      const Tensor u = layer.norm1(t + layer.self_attn(t, t, t));
      return layer.norm2(u + fed(u));
    };
    gives(encoder, x, nn::LayerNorm(8)(by_hand(by_hand(x))));
    close(encoder(x[0]), encoder(x)[0]);
  }
}

TEST(Layers, Losses) {
  manual_seed(7);
  const Tensor x = randn({4, 3}), y = rand({4, 3}), p = sigmoid(x), classes = tensor({0, 2, 1, 2}),
               w = tensor({1.0, 2.0, 0.5});
  close(nn::L1Loss()(x, y), l1_loss(x, y)), close(nn::MSELoss("sum")(x, y), mse_loss(x, y, "sum")),
      close(nn::SoftMarginLoss()(x, y), soft_margin_loss(x, y));
  close(nn::SmoothL1Loss("mean", 0.5)(x, y), smooth_l1_loss(x, y, "mean", 0.5)),
      close(nn::HuberLoss("mean", 0.5)(x, y), huber_loss(x, y, "mean", 0.5));
  close(nn::KLDivLoss("batchmean")(x, y), kl_div(x, y, "batchmean"));
  close(nn::BCELoss()(p, y), binary_cross_entropy(p, y)),
      close(nn::BCEWithLogitsLoss(std::nullopt, w)(x, y), binary_cross_entropy_with_logits(x, y, {}, w));
  close(nn::NLLLoss(w)(log_softmax(x, 1), classes), nll_loss(log_softmax(x, 1), classes, w));
  close(nn::CrossEntropyLoss(std::nullopt, "mean", -100, 0.1)(x, classes),
        cross_entropy(x, classes, {}, "mean", -100, 0.1));
  auto step = compile([](const nn::CrossEntropyLoss& l, const Tensor& a, const Tensor& b) { return l(a, b); });
  close(step(nn::CrossEntropyLoss(), x, classes), cross_entropy(x, classes));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

}  // namespace
