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
  gives(nn::MaxPool1d(2), x, max_pool1d(x, 2)), gives(nn::AvgPool1d(2), x, avg_pool1d(x, 2));
  gives(nn::Threshold(0.5, -2), x, threshold(x, 0.5, -2.0)), gives(nn::RReLU(), x, leaky_relu(x, 11.0 / 48)),
      gives(nn::Softmin(1), x, softmax(-x, 1)), gives(nn::Softmax2d(), image, softmax(image, 1));
  gives(nn::ChannelShuffle(2), image, channel_shuffle(image, 2));
  const Tensor windows = im2col(image, {2, 3}, 1, 1, 2);
  gives(nn::Unfold({2, 3}, {.padding = {1}, .stride = {2}}), image, windows),
      gives(nn::Fold({5, 6}, {2, 3}, {.padding = {1}, .stride = {2}}), windows,
            col2im(windows, {5, 6}, {2, 3}, 1, 1, 2));
  gives(nn::LPPool1d(2, 3), abs(x), lp_pool1d(abs(x), 2, 3)),
      gives(nn::AdaptiveAvgPool1d(3), x, adaptive_avg_pool1d(x, 3)),
      gives(nn::AdaptiveMaxPool2d({2, 3}), image, adaptive_max_pool2d(image, {2, 3}).first);
  gives(nn::LocalResponseNorm(2), image, local_response_norm(image, 2));
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

// A recurrent layer is cast as a whole: its products and its states have one dtype.
TEST(RecurrentLayers, AutocastCastsThemWhole) {
  const nn::LSTM lstm(3, 4, {.num_layers = 2, .bidirectional = true});
  const nn::GRU gru(3, 4);
  const nn::RNN rnn(3, 4);
  const Tensor x = rand({5, 2, 3});
  const auto all = [&](const Tensor& t) {
    return std::vector<Tensor>{std::get<0>(lstm(t)), std::get<1>(lstm(t)), gru(t).first, rnn(t).second};
  };
  const auto casts = [&](const Tensor& t) {
    const AutocastScope on(kBFloat16);
    return all(t);
  };
  auto compiled = compile(casts);
  const std::vector<Tensor> exact = all(x), eager = casts(x), got = compiled(x);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(eager[i].dtype(), kBFloat16) << i;
    EXPECT_EQ(got[i].dtype(), kBFloat16) << i;
    EXPECT_TRUE(allclose(eager[i].to(kFloat32), exact[i], 2e-2, 2e-2)) << i;
    EXPECT_TRUE(allclose(got[i].to(kFloat32), eager[i].to(kFloat32), 2e-2, 1e-2)) << i;
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
}

TEST(Layers, CellsAreOneStep) {
  manual_seed(8);
  const nn::LSTMCell lstm(3, 4);
  const nn::GRUCell gru(3, 4, false);
  const nn::RNNCell rnn(3, 4, true, "relu");
  const Tensor x = randn({2, 3}), h = randn({2, 4}), c = randn({2, 4});
  close(lstm.forward(x, {h, c}).first,
        lstm_cell(x, {h, c}, lstm.weight_ih, lstm.weight_hh, *lstm.bias_ih, *lstm.bias_hh).first);
  close(lstm(x).second, lstm.forward(x, {zeros({2, 4}), zeros({2, 4})}).second);
  close(gru(x, h), gru_cell(x, h, gru.weight_ih, gru.weight_hh)), close(gru(x[0]), gru(x)[0]);
  close(rnn(x, h), rnn_relu_cell(x, h, rnn.weight_ih, rnn.weight_hh, *rnn.bias_ih, *rnn.bias_hh));
  EXPECT_EQ(names(lstm), (Names{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}));
  EXPECT_EQ(names(gru), (Names{"weight_ih", "weight_hh"}));
  const nn::Bilinear both(3, 4, 5);
  close(both(x, h), bilinear(x, h, both.weight, *both.bias));
}

TEST(Layers, DropoutOfWholeChannelsAndRandomSlopes) {
  manual_seed(9);
  nn::Dropout2d drop(0.5);
  nn::RReLU slopes;
  const Tensor x = ones({8, 16, 3, 3});
  close(drop(x), x);
  drop.training = slopes.training = true;
  const Tensor y = drop(x), of_channel = y.select(3, 0).select(2, 0);
  close(y, of_channel.unsqueeze(2).unsqueeze(3).expand({8, 16, 3, 3}));
  EXPECT_TRUE(all(logical_or(eq(of_channel, 0), eq(of_channel, 2))).item<bool>());
  EXPECT_NEAR(of_channel.mean().item<double>(), 1, 0.4);
  const Tensor s = slopes(-x);
  EXPECT_LT(s.max().item<double>(), -1.0 / 8 + 1e-6);
  EXPECT_GE(s.min().item<double>(), -1.0 / 3);
  EXPECT_GT(s.max().item<double>() - s.min().item<double>(), 0.1);
}

/// Head by head, with the masks as numbers that are added.
TensorPair attention_by_hand(const nn::MultiheadAttention& a, const Tensor& q, const Tensor& k, const Tensor& added) {
  const Int e = q.size(-1), d = e / a.num_heads, batch = q.size(1);
  std::vector<Tensor> heads, weights;
  for (int h = 0; h < static_cast<int>(a.num_heads); ++h) {
    auto part = [&](const Tensor& x, int which) {
      const Int at = e * which + d * h;
      return linear(x, a.in_proj_weight.narrow(0, at, d), a.in_proj_bias->narrow(0, at, d)).transpose(0, 1);
    };
    Tensor keys = part(k, 1), values = part(k, 2);
    auto more = [&](const Tensor& t) { return t.narrow(2, d * h, d).expand({batch, 1, d}); };
    if (a.bias_k) keys = cat({keys, more(*a.bias_k)}, 1), values = cat({values, more(*a.bias_v)}, 1);
    if (a.add_zero_attn) keys = pad(keys, {0, 0, 0, 1}), values = pad(values, {0, 0, 0, 1});
    const Tensor scores = part(q, 0).matmul(keys.mT()) / std::sqrt(static_cast<double>(d.value()));
    const Tensor mask = added.dim() == 4 ? added.select(1, h) : added;
    weights.push_back(softmax(scores + pad(mask, {0, keys.size(1) - mask.size(-1)}), -1));
    heads.push_back(weights.back().matmul(values));
  }
  return {a.out_proj(cat(heads, -1)).transpose(0, 1), stack(weights, 1)};
}

TEST(Layers, AttentionWithMasksAndWeights) {
  manual_seed(10);
  const double never = -std::numeric_limits<double>::infinity();
  const Tensor q = randn({5, 2, 8}), k = randn({4, 2, 8});
  const Tensor padded = tensor({false, false, true, false, false, false, false, true}).view({2, 4});
  const Tensor seen = tensor({true, true, true, false, true,  false, true, true, true, true,
                              true, true, true, true,  false, true,  true, true, true, true})
                          .view({5, 4});
  const Tensor numbers = randn({5, 4}), of_each = randn({4, 5, 4});
  auto added = [&](const Tensor& keep) { return where(keep, 0.0, never); };
  const Tensor no_padding = added(logical_not(padded)).view({2, 1, 4}), causal = added(tril(ones({5, 4}, {kBool})));
  for (int more : {0, 1, 2}) {
    nn::MultiheadAttention a(8, 2);
    a.in_proj_bias = randn({24});
    if (more == 1) a.bias_k = randn({1, 1, 8}), a.bias_v = randn({1, 1, 8});
    a.add_zero_attn = more == 2;
    auto check = [&](const Tensor& mask, bool is_causal, const Tensor& padding, const Tensor& sum) {
      const auto [want, weights] = attention_by_hand(a, q, k, sum);
      const auto [out, mean] = a.forward_with_weights(q, k, k, mask, is_causal, padding);
      close(out, want), close(mean, weights.mean({1}));
      close(a.forward_with_weights(q, k, k, mask, is_causal, padding, false).second, weights);
      close(a.forward(q, k, k, mask, is_causal, padding), want);
      auto step =
          compile([is_causal](const nn::MultiheadAttention& l, const Tensor& x, const Tensor& y, const Tensor& m,
                              const Tensor& p) { return l.forward_with_weights(x, y, y, m, is_causal, p); });
      close(step(a, q, k, mask, padding).first, want), close(step(a, q, k, mask, padding).second, weights.mean({1}));
      EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;
    };
    check({}, false, {}, zeros({1, 1, 4}));
    check(seen, false, {}, added(seen).unsqueeze(0));
    check(numbers, false, {}, numbers.unsqueeze(0));
    check({}, false, padded, no_padding);
    check(numbers, false, padded, numbers.unsqueeze(0) + no_padding);
    check(seen, false, padded, added(seen).unsqueeze(0) + no_padding);
    check({}, true, {}, causal.unsqueeze(0));
    check({}, true, padded, causal.unsqueeze(0) + no_padding);
    check(of_each, false, {}, of_each.view({2, 2, 5, 4}));
    // One sequence, and its gradient.
    close(a.forward(q.select(1, 0), k.select(1, 0), k.select(1, 0), numbers, false, padded[0].unsqueeze(0)),
          a.forward(q, k, k, numbers, false, padded).select(1, 0));
    Tensor leaf = q.clone().requires_grad_(), other = q.clone().requires_grad_();
    a.forward(leaf, k, k, seen, false, padded).square().sum().backward();
    attention_by_hand(a, other, k, added(seen).unsqueeze(0) + no_padding).first.square().sum().backward();
    close(leaf.grad(), other.grad());
  }
}

TEST(Layers, AttentionDropsWeightsAtTraining) {
  manual_seed(11);
  // Of values that are all 1 the result is the sum of the weights that are left: its mean is 1.
  const Tensor q = randn({64, 4, 16, 8}), one = ones({64, 4, 16, 8});
  const Tensor dropped = scaled_dot_product_attention(q, q, one, {}, 0.25);
  EXPECT_NEAR(dropped.mean().item<double>(), 1, 0.02);
  EXPECT_GT(var(dropped.select(3, 0)).item<double>(), 1e-3);
  close(scaled_dot_product_attention(q, q, one, {}, 1.0), zeros({64, 4, 16, 8}));
  const Tensor grouped =
      scaled_dot_product_attention(q, one.narrow(1, 0, 2), one.narrow(1, 0, 2), {}, 0.25, true, std::nullopt, true);
  EXPECT_NEAR(grouped.mean().item<double>(), 1, 0.03);
  // The same numbers are drawn, so that the compiled call drops the same.
  auto step = compile([](const Tensor& a, const Tensor& b) { return scaled_dot_product_attention(a, a, b, {}, 0.25); });
  manual_seed(3);
  const Tensor want = scaled_dot_product_attention(q, q, one, {}, 0.25);
  manual_seed(3);
  close(step(q, one), want);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;
  EXPECT_THROW(scaled_dot_product_attention(q, q, one, {}, 1.5), Error);
  EXPECT_THROW(scaled_dot_product_attention(q, one.narrow(3, 0, 4), one, {}, 0.5), Error);
  nn::MultiheadAttention a(8, 2, true, false, 0.5);
  const Tensor x = randn({5, 3, 8});
  close(a(x, x, x), a(x, x, x));
  nn::train(a);
  EXPECT_FALSE(allclose(a(x, x, x), a(x, x, x)));
}

TEST(Layers, DecodersSeeAMemory) {
  manual_seed(12);
  for (bool norm_first : {false, true}) {
    const nn::TransformerDecoderLayer layer(8, 2, {.dim_feedforward = 16, .norm_first = norm_first});
    const Tensor x = randn({5, 2, 8}), memory = randn({3, 2, 8});
    const nn::DecoderMasks masks{.tgt_is_causal = true};
    auto own = [&](const Tensor& t) { return layer.self_attn(t, t, t, Tensor(), true); };
    auto seen = [&](const Tensor& t) { return layer.multihead_attn(t, memory, memory); };
    auto fed = [&](const Tensor& t) { return layer.linear2(relu(layer.linear1(t))); };
    Tensor want;
    if (norm_first) {
      const Tensor a = x + own(layer.norm1(x)), b = a + seen(layer.norm2(a));
      want = b + fed(layer.norm3(b));
    } else {
      const Tensor a = layer.norm1(x + own(x)), b = layer.norm2(a + seen(a));
      want = layer.norm3(b + fed(b));
    }
    close(layer(x, memory, masks), want);
  }
  const nn::Transformer model(8, 2, 1, 2, {.dim_feedforward = 16});
  const Tensor src = randn({4, 2, 8}), tgt = randn({3, 2, 8});
  close(model(src, tgt), model.decoder(tgt, model.encoder(src)));
  const Names found = names(model);
  EXPECT_EQ(found.front(), "encoder.layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(found.size(), 12u + 2 + 2 * 18 + 2);
  auto step = compile([](const nn::Transformer& m, const Tensor& s, const Tensor& t) { return m(s, t); });
  close(step(model, src, tgt), model(src, tgt));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u) << step.stats().last_fallback_reason;
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
  const Tensor sign = tensor({1.0, -1.0, 1.0, -1.0});
  close(nn::HingeEmbeddingLoss(0.5)(x, y), hinge_embedding_loss(x, y, 0.5)),
      close(nn::MarginRankingLoss(0.5)(x[0], y[0], sign[0]), margin_ranking_loss(x[0], y[0], sign[0], 0.5)),
      close(nn::CosineEmbeddingLoss(0.1)(x, y, sign), cosine_embedding_loss(x, y, sign, 0.1)),
      close(nn::TripletMarginLoss(0.5)(x, y, p), triplet_margin_loss(x, y, p, 0.5)),
      close(nn::PoissonNLLLoss(true, true)(x, y), poisson_nll_loss(x, y, true, true)),
      close(nn::GaussianNLLLoss(true)(x, y, p), gaussian_nll_loss(x, y, p, true)),
      close(nn::CosineSimilarity()(x, y), cosine_similarity(x, y)),
      close(nn::PairwiseDistance(1)(x, y), pairwise_distance(x, y, 1));
  const Tensor steps = log_softmax(randn({5, 2, 4}), -1), targets = tensor({1, 2, 3, 1}).view({2, 2}),
               length = tensor({5, 4}), found = tensor({2, 1});
  close(nn::CTCLoss()(steps, targets, length, found), ctc_loss(steps, targets, length, found));
  auto step = compile([](const nn::CrossEntropyLoss& l, const Tensor& a, const Tensor& b) { return l(a, b); });
  close(step(nn::CrossEntropyLoss(), x, classes), cross_entropy(x, classes));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

}  // namespace
