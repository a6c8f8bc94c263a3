// A program with libtorch's names.
#include "reprise/compat.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace F = torch::nn::functional;
using namespace torch::indexing;

namespace {

struct Net {
  torch::nn::Linear fc1{torch::nn::LinearOptions(8, 16).bias(false)};
  torch::nn::LayerNorm norm{torch::nn::LayerNormOptions({16}).eps(1e-6)};
  torch::nn::Conv2d conv{torch::nn::Conv2dOptions(3, 4, {3, 3}).stride(2).padding({1, 1})};
  torch::nn::Embedding table{torch::nn::EmbeddingOptions(10, 8).padding_idx(0)};
  torch::nn::BatchNorm2d bn{torch::nn::BatchNormOptions(4)};
  torch::Tensor forward(torch::Tensor x) { return norm(torch::relu(fc1->forward(x))); }
};

TEST(Compat, OptionsAndCreation) {
  torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU);
  EXPECT_EQ(torch::zeros({2, 3}, options).dtype(), torch::kDouble);
  EXPECT_EQ(torch::zeros({2, 3}, torch::kInt64).scalar_type(), at::kLong);
  EXPECT_EQ(torch::ones({2}, torch::dtype(torch::kInt32)).dtype(), torch::kInt32);
  EXPECT_EQ(torch::randn({2}, torch::kCPU).dtype(), torch::kFloat32);
  EXPECT_EQ(torch::arange(5, torch::kFloat32).sum().item<float>(), 10);
  EXPECT_EQ(torch::arange(1, 5, options).dtype(), torch::kFloat64);
  EXPECT_EQ(torch::full({2}, 3, torch::kHalf).dtype(), torch::kHalf);
  EXPECT_EQ(torch::tensor({1, 2, 3}, torch::kFloat32).dtype(), torch::kFloat32);
  EXPECT_EQ(torch::tensor({1, 2, 3}).dtype(), torch::kInt64);
  EXPECT_EQ(torch::tensor(std::vector<float>{1, 2}).sizes(), (at::IntArrayRef{2}).vec());
  EXPECT_EQ(torch::empty_like(torch::ones({2}), torch::kInt8).dtype(), torch::kChar);
  const torch::Tensor x = torch::ones({2, 2});
  EXPECT_EQ(torch::zeros({1}, torch::TensorOptions(x.options()).dtype(torch::kLong)).dtype(), torch::kLong);
  EXPECT_EQ(torch::zeros({1}, x.options()).dtype(), torch::kFloat);
  EXPECT_EQ(x.to(torch::TensorOptions().dtype(torch::kInt)).dtype(), torch::kInt32);
  EXPECT_TRUE(x.device() == torch::kCPU);
  EXPECT_EQ(x.to(torch::Device("cpu")).nbytes(), 16);
  EXPECT_EQ(torch::Device("cuda:1").index, 1);
  EXPECT_EQ(torch::Device(torch::kCUDA, 2).index, 2);
  EXPECT_THROW(torch::Device("tpu"), c10::Error);
  float data[] = {1, 2, 3, 4};
  EXPECT_EQ(torch::from_blob(data, {2, 2}, {1, 2}, torch::kFloat32)[0][1].item<float>(), 3);
  EXPECT_EQ(torch::from_blob(data, {4}, torch::TensorOptions().dtype(torch::kFloat)).sum().item<float>(), 10);
  EXPECT_EQ(torch::from_blob(data, {4}).sum().item<float>(), 10);
  bool gone = false;
  torch::from_blob(
      data, {4}, [&](void*) { gone = true; }, torch::kFloat32);
  EXPECT_TRUE(gone);
}

TEST(Compat, GradientScopesAreTheLibrarysOwn) {
  const torch::Tensor w = torch::ones({3}).requires_grad_();
  auto on_tape = [&] { return (w * 2.0).requires_grad(); };
  EXPECT_TRUE(on_tape() && torch::GradMode::is_enabled());
  {
    torch::NoGradGuard no_grad;
    EXPECT_FALSE(on_tape() || torch::GradMode::is_enabled());
    w.sub_(torch::ones({3}), 0.5);  // a step of SGD
    torch::AutoGradMode again(true);
    EXPECT_TRUE(on_tape());
  }
  {
    torch::InferenceMode inference;
    EXPECT_FALSE(on_tape());
  }
  {
    torch::AutoGradMode off(false);
    EXPECT_FALSE(on_tape());
    torch::InferenceMode no_inference(false);
    EXPECT_TRUE(on_tape());
  }
  EXPECT_TRUE(on_tape());
  EXPECT_EQ(w.sum().item<float>(), 1.5f);
  // The same inside a compiled function.
  auto f = torch::compile([](torch::Tensor x) {
    torch::Tensor held;
    {
      torch::NoGradGuard no_grad;
      held = x * 3;
    }
    return (held * x).sum();
  });
  f(w).backward();
  EXPECT_TRUE(allclose(w.grad(), w.detach() * 3));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Compat, OptionsAskForLeaves) {
  const auto o = torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true);
  EXPECT_TRUE(o.requires_grad() && !torch::TensorOptions().requires_grad() && !o.requires_grad(false).requires_grad());
  float data[] = {1, 2};
  const torch::Tensor x = torch::ones({2});
  const std::vector<torch::Tensor> made{torch::zeros({2}, o),
                                        torch::ones({2}, o),
                                        torch::empty({2}, o),
                                        torch::rand({2}, o),
                                        torch::randn({2}, o),
                                        torch::full({2}, 3, o),
                                        torch::arange(3, o),
                                        torch::arange(0, 3, o),
                                        torch::arange(0, 3, 1, o),
                                        torch::linspace(0, 1, 3, o),
                                        torch::eye(2, o),
                                        torch::eye(2, 3, o),
                                        torch::scalar_tensor(1, o),
                                        torch::tensor(1.5, o),
                                        torch::tensor({1.5, 2.0}, o),
                                        torch::tensor({{1.5}, {2.0}}, o),
                                        torch::tensor(std::vector<double>{1, 2}, o),
                                        torch::zeros_like(x, o),
                                        torch::ones_like(x, o),
                                        torch::empty_like(x, o),
                                        torch::rand_like(x, o),
                                        torch::randn_like(x, o),
                                        torch::full_like(x, 2, o),
                                        torch::from_blob(data, {2}, torch::requires_grad()),
                                        torch::from_blob(data, {2}, {1}, torch::requires_grad()),
                                        torch::from_blob(
                                            data, {2}, [](void*) {}, torch::requires_grad()),
                                        torch::randint(3, {2}, o),
                                        torch::randint(1, 3, {2}, o)};
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_TRUE(made[i].requires_grad() && made[i].is_leaf()) << i;
  EXPECT_FALSE(torch::zeros({2}, o.requires_grad(false)).requires_grad());
  EXPECT_FALSE(torch::zeros({2}, torch::kFloat64).requires_grad());
  EXPECT_THROW(torch::zeros({2}, o.dtype(torch::kInt64)), c10::Error);  // no floats
  EXPECT_THROW(x.to(o), c10::Error);                                    // makes no leaf, as in libtorch
  torch::Tensor y = torch::ones({2}, torch::requires_grad());
  (y * y).sum().backward();
  EXPECT_TRUE(allclose(y.grad(), torch::full({2}, 2.0)));
}

TEST(Compat, SizesAreLists) {
  const std::vector<int64_t> shape = {2, 3};
  torch::Tensor x = torch::zeros(shape).view({3, -1});
  auto sizes = x.sizes().vec();
  sizes.push_back(1);
  EXPECT_EQ(x.reshape(sizes).dim(), 3);
  const c10::IntArrayRef list(shape);
  EXPECT_EQ(list.back(), 3);
  EXPECT_EQ(list.front(), 2);
  const int64_t n = 3;
  EXPECT_EQ(x.expand({n, 2}).numel(), 6);
  const torch::Scalar s = 2;
  EXPECT_EQ((s + 1.5).to_double(), 3.5);
  EXPECT_EQ((-s * 3).to_int(), -6);
}

TEST(Compat, IndexingAndAccessors) {
  torch::Tensor x = torch::arange(12, torch::kFloat32).view({3, 4});
  EXPECT_EQ(x.index({Slice(1, None), "...", -1}).sum().item<float>(), 18);
  EXPECT_EQ(x.index({torch::tensor({0, 2})}).sizes(), (torch::Ints{2, 4}));
  x.index_put_({x > 5}, 0);
  x.index_put_({Slice(), 0}, torch::ones({3}));
  auto a = x.accessor<float, 2>();
  EXPECT_EQ(a[2][0] + a[0][3], 4);
  EXPECT_EQ(a.size(1), 4);
}

TEST(Compat, Functional) {
  const torch::Tensor x = torch::randn({3, 8}), w = torch::randn({10, 8});
  EXPECT_TRUE(torch::allclose(F::softmax(x, F::SoftmaxFuncOptions(-1)), F::softmax(x, -1)));
  EXPECT_TRUE(torch::allclose(F::log_softmax(x, F::LogSoftmaxFuncOptions(1)), torch::log_softmax(x, 1)));
  EXPECT_EQ(F::embedding(torch::tensor({1, 2}), w).sizes(), (torch::Ints{2, 8}));
  EXPECT_TRUE(torch::allclose(F::gelu(x, F::GELUFuncOptions().approximate("tanh")), torch::gelu(x, "tanh")));
  EXPECT_TRUE(torch::allclose(F::layer_norm(x, F::LayerNormFuncOptions({8}).eps(1e-6)),
                              torch::layer_norm(x, {8}, {}, {}, 1e-6)));
  EXPECT_EQ(F::pad(x, F::PadFuncOptions({1, 2}).value(1)).sizes(), (torch::Ints{3, 11}));
  EXPECT_TRUE(torch::equal(F::dropout(x, F::DropoutFuncOptions().p(0.3)), x));
  EXPECT_EQ(F::linear(x, w).size(1), 10);
  torch::Tensor values, indices;
  std::tie(values, indices) = torch::topk(x, 2);
  EXPECT_EQ(values.size(-1), 2);
  const c10::optional<torch::Tensor> nothing = c10::nullopt;
  EXPECT_FALSE(nothing.has_value());
}

TEST(Compat, ModulesCompile) {
  torch::manual_seed(2);
  Net net;
  EXPECT_FALSE(net.fc1->bias.has_value());
  EXPECT_EQ(net.conv(torch::ones({1, 3, 8, 8})).sizes(), (torch::Ints{1, 4, 4, 4}));
  EXPECT_EQ(net.bn(net.conv(torch::ones({1, 3, 8, 8}))).size(1), 4);
  auto step = torch::compile([](Net& n, torch::Tensor x) { return n.forward(x); });
  for (int n : {2, 5}) {
    const torch::Tensor x = torch::randn({n, 8});
    EXPECT_TRUE(torch::allclose(step(net, x), net.forward(x), 1e-5, 1e-5));
  }
  EXPECT_EQ(step.stats().compilations, 1u);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

TEST(Compat, ChecksThrow) {
  auto told = [](auto f) {
    try {
      f();
    } catch (const c10::Error& e) {
      return e.message();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(told([] { TORCH_CHECK(1 + 1 == 3, "one and one are ", 2); }), "one and one are 2");
  EXPECT_EQ(told([] { TORCH_CHECK(1 + 1 == 3); }), "'1 + 1 == 3' does not hold");
  EXPECT_EQ(told([] { TORCH_CHECK(true, "x"); }), "nothing");
}

}  // namespace
