// Programs that are exported: each is called beside its own source.
#include "tests/export/programs.h"

#include "reprise/autograd.h"
#include "reprise/cond.h"
#include "reprise/data_sizes.h"
#include "reprise/generator.h"
#include "reprise/losses.h"
#include "reprise/nn.h"
#include "reprise/nn_layers.h"
#include "reprise/reprise.h"

namespace reprise::exported {

Tensor drawn(std::uint64_t seed, const std::vector<std::int64_t>& sizes) {
  const GeneratorScope scope{Generator(seed)};
  return randn(sizes);
}

namespace {

std::vector<Tensor> one(const Tensor& t) { return {t}; }
/// Modules draw their weights: the same ones in every process.
template <class M, class... A>
M module_of(const A&... args) {
  const GeneratorScope scope{Generator(5)};
  return M(args...);
}

struct Mlp : nn::Callable<Mlp> {
  nn::Linear up{8, 16}, down{16, 4};
  Tensor forward(const Tensor& x) const { return down(gelu(up(x))); }
  REPRISE_FIELDS(Mlp, up, down)
};

struct ConvNet : nn::Callable<ConvNet> {
  nn::Conv2d conv{2, 4, 3};
  nn::BatchNorm2d bn{4};
  nn::Linear fc{4, 5};
  ConvNet() { bn.training = true; }
  Tensor forward(const Tensor& x) { return fc(relu(bn(conv(x))).mean({2, 3})); }
  REPRISE_FIELDS(ConvNet, conv, bn, fc)
};

struct Tied : nn::Callable<Tied> {
  nn::Embedding wte{10, 8};
  Tensor head = wte.weight;
  Tensor forward(const Tensor& tokens) const { return matmul(wte(tokens), head.t()); }
  REPRISE_FIELDS(Tied, wte, head)
};

struct Attention : nn::Callable<Attention> {
  nn::LayerNorm norm{16};
  nn::Linear qkv{16, 48}, out{16, 16};
  bool causal = true;
  Tensor forward(const Tensor& x) const {
    const std::vector<Tensor> parts = chunk(qkv(norm(x)), 3, -1);
    auto heads = [&](const Tensor& t) { return t.view({x.size(0), x.size(1), 2, 8}).transpose(1, 2); };
    const Tensor a = scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, 0.0, causal);
    return x + out(a.transpose(1, 2).reshape({x.size(0), x.size(1), 16}));
  }
  REPRISE_FIELDS(Attention, norm, qkv, out, causal)
};

struct Gpt : nn::Callable<Gpt> {
  nn::Embedding wte{20, 16}, wpe{32, 16};
  std::vector<Attention> layers = std::vector<Attention>(2);
  nn::LayerNorm last{16};
  Tensor forward(const Tensor& tokens) const {
    Tensor x = wte(tokens) + wpe(arange(tokens.size(1)));
    for (const Attention& l : layers) x = l(x);
    return matmul(last(x), wte.weight.t());
  }
  REPRISE_FIELDS(Gpt, wte, wpe, layers, last)
};

struct Encoder : nn::Callable<Encoder> {
  nn::Conv1d first{4, 16, 3, {.padding = {1}}}, second{16, 16, 3, {.stride = {2}, .padding = {1}}};
  Attention layer;
  Encoder() { layer.causal = false; }
  Tensor forward(const Tensor& mel) const { return layer(gelu(second(gelu(first(mel)))).transpose(1, 2)); }
  REPRISE_FIELDS(Encoder, first, second, layer)
};

struct Residual : nn::Callable<Residual> {
  nn::Conv2d a{4, 4, 3, {.padding = {1}, .bias = false}}, b{4, 4, 3, {.padding = {1}, .bias = false}};
  nn::BatchNorm2d na{4}, nb{4};
  Tensor forward(const Tensor& x) { return relu(x + nb(b(relu(na(a(x)))))); }
  REPRISE_FIELDS(Residual, a, b, na, nb)
};
struct ResNet : nn::Callable<ResNet> {
  nn::Conv2d stem{3, 4, 3, {.stride = {2}, .padding = {1}}};
  std::vector<Residual> layers = std::vector<Residual>(2);
  nn::Linear fc{4, 6};
  Tensor forward(const Tensor& x) {
    Tensor y = max_pool2d(relu(stem(x)), {2, 2});
    for (Residual& l : layers) y = l(y);
    return fc(y.mean({2, 3}));
  }
  REPRISE_FIELDS(ResNet, stem, layers, fc)
};

struct Joint : nn::Callable<Joint> {
  nn::Linear fc{6, 3};
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& y) const {
    const Tensor made = tanh(fc(x));
    return {mse_loss(made, y), made};
  }
  REPRISE_FIELDS(Joint, fc)
};

template <class M>
ExportedProgram of_module(std::vector<Tensor> args, ExportOptions o = {}) {
  const M m = module_of<M>();
  return export_module(m, std::tuple(args[0]), std::move(o));
}
template <class M>
std::vector<Tensor> run_module(const std::vector<Tensor>& a) {
  M m = module_of<M>();
  return {m(a[0])};
}
std::vector<Tensor> tokens(int call, std::int64_t most) {
  const Tensor t = arange((3 + call) * (4 + call)).view({3 + call, 4 + call});
  return {remainder(t * 7 + call, most)};
}

std::vector<Tensor> cached(const Tensor& kv, const Tensor& x, Int at) {
  kv.narrow(0, at, x.size(0)).copy_(x * 2.0);
  return {kv.narrow(0, 0, at + x.size(0)).sum(0)};
}
std::vector<Tensor> aliases(const Tensor& x) { return {x, x.t(), x.select(0, 1), x * 2.0, (x + 1.0).t()}; }
std::vector<Tensor> dropped(const Tensor& x) { return {dropout(x, 0.5) + rand(x.sizes())}; }
std::vector<Tensor> branch(const Tensor& x) {
  return {cond(
      x.sum() > 0.0, [](const Tensor& t) { return t * 2.0; }, [](const Tensor& t) { return exp(t); }, x)};
}
std::vector<Tensor> data(const Tensor& x) {
  const Tensor some = masked_select(x, x > 0.0);
  const Int n = some.size(0);
  return {some * 2.0, nonzero(x), ones({n * 2 + 1}) * (Scalar(n) * 0.5), x * (x.sum().item() * 3.0)};
}
std::vector<Tensor> train(const Tensor& w, const Tensor& x, const Tensor& y) {
  const Tensor leaf = w.detach().requires_grad_(true);
  const Tensor loss = mse_loss(matmul(x, leaf), y);
  const Tensor g = grad(TensorArrayRef{loss}, TensorArrayRef{leaf})[0];
  w.sub_(g * 0.1);
  return {loss.detach()};
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"mlp",
       [] {
         return of_module<Mlp>({zeros({3, 8})});
       },
       [](int c) {
         return one(drawn(1, {2 + 3 * c, 8}));
       },
       run_module<Mlp>},
      {"conv_bn",
       [] {
         return of_module<ConvNet>({zeros({3, 2, 8, 8})});
       },
       [](int c) {
         return one(drawn(2, {2 + c, 2, 9, 7 + c}));
       },
       run_module<ConvNet>},
      {"kv_cache",
       [] {
         return export_program([](const Tensor& kv, const Tensor& x, Int at) { return cached(kv, x, at); },
                               std::tuple(zeros({12, 4}), zeros({2, 4}), Int(3)), {.arguments = {"kv", "x", "at"}});
       },
       [](int c) {
         return std::vector<Tensor>{drawn(3, {20, 4}), drawn(4, {3 + c, 4})};
       },
       [](const std::vector<Tensor>& a) { return cached(a[0], a[1], 5); }},
      {"aliases",
       [] {
         return export_program([](const Tensor& x) { return aliases(x); }, std::tuple(zeros({4, 3})));
       },
       [](int c) {
         return one(drawn(5, {3 + c, 5}));
       },
       [](const std::vector<Tensor>& a) { return aliases(a[0]); }},
      {"dropout",
       [] {
         return export_program([](const Tensor& x) { return dropped(x); }, std::tuple(zeros({4, 3})));
       },
       [](int c) {
         return one(drawn(6, {3 + c, 7}));
       },
       [](const std::vector<Tensor>& a) { return dropped(a[0]); }},
      {"tied", [] { return of_module<Tied>(tokens(0, 10)); }, [](int c) { return tokens(c, 10); }, run_module<Tied>},
      {"gpt", [] { return of_module<Gpt>(tokens(0, 20)); }, [](int c) { return tokens(c + 1, 20); }, run_module<Gpt>},
      {"resnet",
       [] {
         return of_module<ResNet>({zeros({2, 3, 16, 16})});
       },
       [](int c) {
         return one(drawn(7, {3 + c, 3, 20, 16}));
       },
       run_module<ResNet>},
      {"encoder",
       [] {
         return of_module<Encoder>({zeros({2, 4, 12})});
       },
       [](int c) {
         return one(drawn(8, {3, 4, 16 + 2 * c}));
       },
       run_module<Encoder>},
      {"train",
       [] {
         return export_program([](const Tensor& w, const Tensor& x, const Tensor& y) { return train(w, x, y); },
                               std::tuple(zeros({6, 3}), zeros({4, 6}), zeros({4, 3})), {.arguments = {"w", "x", "y"}});
       },
       [](int c) {
         return std::vector<Tensor>{drawn(9, {6, 3}), drawn(10, {3 + c, 6}), drawn(11, {3 + c, 3})};
       },
       [](const std::vector<Tensor>& a) { return train(a[0], a[1], a[2]); }},
      {"cond",
       [] {
         return export_program([](const Tensor& x) { return branch(x); }, std::tuple(zeros({4, 3})));
       },
       [](int c) {
         return one(drawn(12, {3 + c, 2}) + (c % 2 ? 3.0 : -3.0));
       },
       [](const std::vector<Tensor>& a) { return branch(a[0]); }},
      {"data",
       [] {
         return export_program([](const Tensor& x) { return data(x); }, std::tuple(zeros({4, 3})));
       },
       [](int c) {
         return one(drawn(13 + static_cast<std::uint64_t>(c), {3 + c, 4}));
       },
       [](const std::vector<Tensor>& a) { return data(a[0]); }},
      {"joint",
       [] {
         const Joint m = module_of<Joint>();
         return export_module(m, std::tuple(zeros({4, 6}), zeros({4, 3})),
                              {.arguments = {"x", "y"}, .trace_joint = true});
       },
       [](int c) {
         return std::vector<Tensor>{drawn(20, {3 + c, 6}), drawn(21, {3 + c, 3})};
       },
       [](const std::vector<Tensor>& a) {
         const Joint m = module_of<Joint>();
         for (const Tensor& t : {m.fc.weight, *m.fc.bias}) t.requires_grad_(true);
         const auto [loss, made] = m(a[0], a[1]);
         std::vector<Tensor> g = grad(TensorArrayRef{loss}, {m.fc.weight, *m.fc.bias});
         return std::vector<Tensor>{loss.detach(), made.detach(), g[1], g[0]};  // by name: fc.bias, fc.weight
       }},
  };
  return all;
}

}  // namespace reprise::exported
