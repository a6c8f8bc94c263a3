// Shipped wrappers mean what plain() of them means: by operator, eagerly, compiled, with gradients.
#include <gtest/gtest.h>

#include <map>

#include "reprise/float8.h"
#include "reprise/gguf_wrapper.h"
#include "reprise/optim.h"
#include "reprise/semi_sparse.h"
#include "tests/support/error_of.h"
#include "tests/wrappers/wrappers.h"

namespace reprise::test {
namespace {

/// w [32, 64], x [32, 64], index int64 [5].
using Program = Tensor (*)(const Tensor& w, const Tensor& x);
struct Row {
  const char* text;
  Program run;
};
#define ROW(...)                                                                                           \
  Row {                                                                                                    \
#__VA_ARGS__, [](const Tensor& w, const Tensor& x) -> Tensor { static_cast<void>(x); return __VA_ARGS__; } \
  }
const Row kRows[] = {
    ROW(w + x),
    ROW(x + w),
    ROW(w - x),
    ROW(x - w),
    ROW(w* x),
    ROW(x* w),
    ROW(w / (x.abs() + 1.0)),
    ROW(w + 1.0),
    ROW(1.0 - w),
    ROW(w * 2.0),
    ROW(-w),
    ROW(w.abs()),
    ROW(exp(w)),
    ROW(sin(w)),
    ROW(cos(w)),
    ROW(tanh(w)),
    ROW(sigmoid(w)),
    ROW(relu(w)),
    ROW(gelu(w)),
    ROW(silu(w)),
    ROW(erf(w)),
    ROW(w.square()),
    ROW((w.abs() + 1.0).sqrt()),
    ROW(rsqrt(w.abs() + 1.0)),
    ROW((w.abs() + 1.0).log()),
    ROW(w.pow(2.0)),
    ROW(clamp(w, -0.5, 0.5)),
    ROW(floor(w)),
    ROW(ceil(w)),
    ROW(round(w)),
    ROW(sign(w)),
    ROW(maximum(w, x)),
    ROW(minimum(x, w)),
    ROW(where(gt(w, 0.0), w, x)),
    ROW(where(gt(x, 0.0), x, w)),
    ROW(masked_fill(w, gt(x, 0.0), 1.0)),
    ROW(lerp(w, x, 0.5)),
    ROW(addcmul(x, w, x)),
    ROW(w.sum()),
    ROW(w.sum({0})),
    ROW(w.sum({1}, true)),
    ROW(w.mean()),
    ROW(w.mean({1})),
    ROW(w.amax({1})),
    ROW(w.amin({0})),
    ROW(w.prod({0})),
    ROW(var(w, {1})),
    ROW(norm(w)),
    ROW(softmax(w, 1)),
    ROW(log_softmax(w, 0)),
    ROW(logsumexp(w, {1})),
    ROW(cumsum(w, 1)),
    ROW(layer_norm(w, {64})),
    ROW(rms_norm(w, ones({64}), 1e-5)),
    ROW(linear(x, w)),
    ROW(linear(w, x)),
    ROW(linear(x, w, x.sum({1}))),
    ROW(linear(x.view({4, 8, 64}), w)),
    ROW(matmul(x, w.t())),
    ROW(matmul(w, x.t())),
    ROW(matmul(x.t(), w)),
    ROW(mm(w.t(), x)),
    ROW(matmul(w, x.sum({0}))),
    ROW(bmm(x.view({1, 32, 64}), w.t().unsqueeze(0))),
    ROW(addmm(ones({32, 32}), x, w.t())),
    ROW(einsum("ij,kj->ik", {x, w})),
    ROW(outer(w.select(0, 0), x.select(0, 0))),
    ROW(w.t()),
    ROW(w.transpose(0, 1)),
    ROW(w.permute({1, 0})),
    ROW(w.view({64, 32})),
    ROW(w.reshape({2, 16, 64})),
    ROW(w.flatten()),
    ROW(w.unsqueeze(0)),
    ROW(w.unsqueeze(1).squeeze(1)),
    ROW(w.select(0, 3)),
    ROW(w.slice(0, 1, 5)),
    ROW(w.slice(1, 0, 64, 2)),
    ROW(w.narrow(0, 2, 4)),
    ROW(w.expand({2, 32, 64})),
    ROW(w.diagonal(0, 0, 1)),
    ROW(w.contiguous()),
    ROW(w.clone()),
    ROW(w.detach() + x),
    ROW(w.to(kBFloat16).to(kFloat32)),
    ROW(w.to(kFloat64).to(kFloat32)),
    ROW(cat({w, x}, 0)),
    ROW(stack({x, w}, 0)),
    ROW(w.repeat({2, 1})),
    ROW(w.flip({1})),
    ROW(w.roll(3, 1)),
    ROW(tril(w)),
    ROW(triu(w)),
    ROW(index_select(w, 0, arange(0, 5))),
    ROW(embedding(w, arange(0, 5))),
    ROW(gather(w, 1, zeros({32, 3}).to(kInt64))),
    ROW(w.split(16, 0)[1]),
    ROW(w.chunk(2, 1)[0]),
    ROW(w.topk(3).first),
    ROW(w.sort().first),
    ROW(w.argmax(1).to(kFloat32)),
    ROW(eq(w, x).to(kFloat32)),
    ROW(lt(w, x).to(kFloat32)),
    ROW(zeros_like(w) + x),
    ROW(x.clone().copy_(w)),
    ROW(x.clone().add_(w)),
    ROW(x.clone().mul_(w)),
    ROW(mse_loss(w, x)),
    ROW(scaled_dot_product_attention(x, w, w)),
    ROW(conv1d(x.view({1, 32, 64}), w.view({1, 32, 64}))),
};

gguf::Blocks q4_0() {  // [32, 64]: 2 blocks of 32 a row, each a float16 and 16 bytes
  std::vector<std::uint8_t> bytes;
  for (int row = 0; row < 32; ++row)
    for (int b = 0; b < 2; ++b) {
      const Half scale(0.03125f * static_cast<float>(1 + (row + b) % 4));
      const auto* s = reinterpret_cast<const std::uint8_t*>(&scale);
      bytes.push_back(s[0]), bytes.push_back(s[1]);
      for (int i = 0; i < 16; ++i) bytes.push_back(static_cast<std::uint8_t>(row * 37 + b * 11 + i * 73));
    }
  gguf::Blocks blocks;
  blocks.type = gguf::Type::Q4_0;
  blocks.data = tensor_of(bytes, {32, 36});
  blocks.halves = blocks.data.view(kFloat16);
  return blocks;
}

std::map<std::string, Tensor> wrapped() {
  manual_seed(5);
  const Tensor w = randn({32, 64});
  return {{"Float8 of a tensor", Float8::quantize(w)},
          {"Float8 of rows", Float8::quantize(w, {.scaling = Float8Scaling::PerRow})},
          {"Float8 of blocks",
           Float8::quantize(w, {.scaling = Float8Scaling::PerBlock, .block_rows = 16, .block_columns = 32})},
          {"SemiSparse24", SemiSparse24::prune(w)},
          {"Quantized4", Quantized4::of_blocks(q4_0())}};
}

bool close(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor p = plain(a).to(kFloat32), q = plain(b).to(kFloat32);
  const float most = std::max(1.f, q.abs().amax().item<float>());
  return (p - q).abs().amax().item<float>() <= 2e-4f * most;
}

TEST(ShippedWrappers, EachOperatorIsThatOfThePlainTensor) {
  const Tensor x = randn({32, 64});
  int compiled = 0;
  for (const auto& [name, w] : wrapped()) {
    const Tensor p = plain(w).clone();
    const bool all = name == "Float8 of rows";
    int i = 0;
    for (const Row& row : kRows) {
      SCOPED_TRACE(name + ": " + row.text);
      const Tensor want = row.run(p, x);
      EXPECT_TRUE(close(row.run(w, x), want));
      const bool product = std::string(row.text).find("m") != std::string::npos && i < 66 && i > 53;
      if (!all && !product && i++ % 9 != 0) continue;
      i += all || product;
      auto f = compile(row.run);
      EXPECT_TRUE(close(f(w, x), want)) << "compiled";
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
      ++compiled;
    }
  }
  EXPECT_GT(compiled, 150);
}

TEST(ShippedWrappers, GradientsAreThoseOfThePlainTensor) {
  const Tensor x = randn({32, 64}).requires_grad_();
  const Program programs[] = {
      [](const Tensor& w, const Tensor& x) { return linear(x, w).square().sum(); },
      [](const Tensor& w, const Tensor& x) { return matmul(x, w.t()).sin().sum(); },
      [](const Tensor& w, const Tensor& x) { return (w * x).tanh().sum() + (w.abs() * x).sum(); },
  };
  for (auto& [name, w] : wrapped())
    for (const Program run : programs) {
      SCOPED_TRACE(name);
      const Tensor p = plain(w).clone().requires_grad_();
      const Tensor handle = w.detach().requires_grad_();
      x.set_grad({});
      run(p, x).backward();
      const Tensor gx = x.grad().clone();
      auto f = compile(run);
      for (int i = 0; i < 2; ++i) {
        x.set_grad({}), handle.set_grad({});
        (i ? f(handle, x) : run(handle, x)).backward();
        EXPECT_TRUE(close(x.grad(), gx)) << i;
        EXPECT_TRUE(close(handle.grad(), p.grad())) << i;
        EXPECT_FALSE(is_wrapper(handle.grad()));
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    }
}

TEST(ShippedWrappers, ProductsReadWhatIsStored) {
  const Tensor x = randn({4, 64});
  const std::map<std::string, std::string> kernels{{"Float8 of a tensor", "scaled_mm"},
                                                   {"Float8 of rows", "scaled_mm"},
                                                   {"Float8 of blocks", "scaled_mm"},
                                                   {"Quantized4", "block_linear"}};
  const auto all = wrapped();
  for (const auto& [name, kernel] : kernels)
    for (const Program run : {+[](const Tensor&w, const Tensor&x) { return linear(x, w); },
                              +[](const Tensor&w, const Tensor&x) { return matmul(x, w.t()); }}) {
      auto f = compile(run);
      f(all.at(name), x);
      EXPECT_NE(f.explain(Detail::Graph).find(kernel), std::string::npos) << name << "\n" << f.explain(Detail::Graph);
    }
  auto row = compile([](const Tensor& w, const Tensor& x) { return linear(x, w); });
  row(all.at("SemiSparse24"), randn({1, 64}));
  EXPECT_EQ(row.explain(Detail::Graph).find("linear"), std::string::npos) << row.explain(Detail::Graph);
  EXPECT_TRUE(close(row(all.at("SemiSparse24"), x), linear(x, plain(all.at("SemiSparse24")))));
}

TEST(ShippedWrappers, InPlaceTheyAreQuantizedAgainOrRefuse) {
  auto body = [](const Tensor& w) { return w.mul_(0.5); };
  for (const bool compiles : {false, true}) {
    for (const auto& [name, w] : wrapped()) {
      SCOPED_TRACE(name);
      const Tensor p = plain(w).clone();
      auto f = compile(body);
      auto call = [&] { compiles ? f(w) : body(w); };
      if (name == "Quantized4") {
        EXPECT_NE(error_of(call).message().find("wrapper Quantized4 is not written in place"), std::string::npos);
        continue;
      }
      call();
      EXPECT_TRUE(allclose(plain(w), p * 0.5, 0.07, 1e-3));
    }
  }
}

TEST(ShippedWrappers, Float8IsTorchaos) {
  // amax 3.5: the factor is 448 / 3.5 = 128.
  const Tensor x = tensor({{1.f, -3.5f, 0.3f}, {0.01f, 0.02f, 0.04f}});
  const Float8 f = Float8::from(Float8::quantize(x));
  EXPECT_EQ(f.scale.to_vector<float>(), std::vector<float>{1.f / 128});
  EXPECT_EQ(f.data.to(kFloat32).to_vector<float>(), (std::vector<float>{128, -448, 40, 1.25, 2.5, 5}));
  const Float8 rows = Float8::from(Float8::quantize(x, {.scaling = Float8Scaling::PerRow, .power_of_two = true}));
  EXPECT_EQ(rows.scale.to_vector<float>(), (std::vector<float>{1.f / 128, 1.f / 8192}));
  const Float8 e5 = Float8::from(Float8::quantize(zeros({2, 2}), {.dtype = kFloat8E5M2}));
  EXPECT_EQ(plain(e5.tensor()).to_vector<float>(), std::vector<float>(4, 0.f));
  EXPECT_EQ(error_of([&] { Float8::quantize(x, {.scaling = Float8Scaling::PerBlock}); }).message(),
            "blocks of 128 x 128 of sizes [2, 3]");
  EXPECT_EQ(error_of([&] { Float8::quantize(x.to(kInt64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { Float8::quantize(x, {.dtype = kFloat32}); }).code(), ErrorCode::DTypeMismatch);
  const Tensor kept = plain(SemiSparse24::prune(tensor({{1.f, -5.f, 2.f, 0.5f, 3.f, 3.f, 4.f, -9.f}})));
  EXPECT_EQ(kept.to_vector<float>(), (std::vector<float>{0, -5, 2, 0, 0, 0, 4, -9}));
  EXPECT_EQ(error_of([&] { SemiSparse24::prune(x); }).code(), ErrorCode::ShapeMismatch);
}

// A multilayer perceptron learns y = tanh(A x), in float8 about as well as in bfloat16.
TEST(ShippedWrappers, TrainingWithMasterWeights) {
  manual_seed(3);
  const Tensor target = randn({32, 16}) * 0.3;
  auto train = [&](int how) {
    manual_seed(7);
    Tensor a = (randn({64, 32}) * 0.2).requires_grad_(), b = (randn({16, 64}) * 0.2).requires_grad_();
    Tensor hx = zeros({8}), hw = zeros({8});
    auto step = compile(
        [how](const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b, const Tensor& hx, const Tensor& hw) {
          Float8Training options{.scaling = how == 2 ? Float8Scaling::PerRow : Float8Scaling::PerTensor};
          if (how == 3) options.input_history = hx, options.weight_history = hw;
          const Tensor h =
              how == 0 ? linear(x.to(kBFloat16), a.to(kBFloat16)).to(kFloat32) : float8_linear(x, a, {}, options);
          const Tensor out =
              how == 0 ? linear(relu(h).to(kBFloat16), b.to(kBFloat16)).to(kFloat32) : float8_linear(relu(h), b);
          return mse_loss(out, y);
        });
    float last = 0;
    for (int i = 0; i < 150; ++i) {
      const Tensor x = randn({64, 32});
      Tensor loss = step(x, tanh(matmul(x, target)), a, b, hx, hw);
      loss.backward();
      NoGradScope off;
      for (Tensor* w : {&a, &b}) w->sub_(w->grad() * 0.3), w->set_grad({});
      last = i < 140 ? 0 : last + loss.item<float>() / 10;
    }
    EXPECT_EQ(step.stats().eager_fallbacks, 0) << step.stats().last_fallback_reason;
    EXPECT_EQ(hx.amax().item<float>() > 0, how == 3);
    return last;
  };
  const float reference = train(0);
  for (int how = 1; how < 4; ++how) EXPECT_NEAR(train(how), reference, 0.05f * reference) << how;
}

}  // namespace
}  // namespace reprise::test
