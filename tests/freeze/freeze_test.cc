// Frozen tensors: what depends on them alone is computed once (docs/freezing.md).
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/knobs.h"
#include "device/cpu_info.h"
#include "reprise/compile.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"
#include "reprise/safetensors.h"

namespace reprise::test {
namespace {

std::uint64_t folded() { return counters().values_folded.value(); }

/// Bit by bit.
void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes().size(), b.sizes().size());
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.numel().value(), b.numel().value());
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
}

/// What a product of a frozen weight gives, and one of a weight that is not: bit by bit; of 5 to 32 rows of a weight
/// that stands row by row they may differ by rounding.
void expect_product(int rows, const Tensor& a, const Tensor& b) {
  if (rows < 5 || rows > 32) return expect_same(a, b);
  ASSERT_EQ(a.dtype(), b.dtype());
  const double most = a.dtype() == kFloat64 ? 1e-12 : a.dtype() == kFloat32 ? 1e-4 : 2e-2;
  EXPECT_TRUE(allclose(a, b, most, most)) << rows << " rows";
}

Tensor drawn(IntArrayRef sizes, DType t = kFloat32) {
  Tensor x = randn(sizes);
  return t == kFloat32 ? x : x.to(t);
}

Tensor scaled(const Tensor& x, const Tensor& w) { return x * (w.exp() + 1.0).sqrt(); }

TEST(Freeze, WhatDependsOnFrozenTensorsAloneIsComputedOnce) {
  Tensor w = drawn({8, 64});
  freeze(w);
  EXPECT_TRUE(is_frozen(w));
  auto f = compile(scaled, {.name = "scaled"});
  const std::uint64_t before = folded();
  for (int n : {3, 5, 7}) {
    Tensor x = drawn({n, 8, 64});
    expect_same(f(x, w), scaled(x, w));
  }
  EXPECT_EQ(folded() - before, 1u);
  EXPECT_EQ(f.stats().folded_values, 1);
  EXPECT_EQ(f.stats().folded_bytes, 8 * 64 * 4);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_NE(f.explain().find("folded: 1 value of 1 frozen tensor (arg 1)"), std::string::npos) << f.explain();
}

TEST(Freeze, NothingIsFoldedOfTensorsThatAreNotDeclared) {
  Tensor w = drawn({8, 64});
  auto f = compile(scaled);
  const std::uint64_t before = folded();
  Tensor x = drawn({3, 8, 64});
  expect_same(f(x, w), scaled(x, w));
  EXPECT_FALSE(is_frozen(w));
  EXPECT_EQ(folded(), before);
}

TEST(Freeze, AChangedTensorIsNoticedByItsVersion) {
  Tensor w = drawn({8, 64});
  freeze(w);
  auto f = compile(scaled);
  Tensor x = drawn({3, 8, 64});
  f(x, w);
  const std::uint64_t before = folded();
  w.mul_(2.0);
  expect_same(f(x, w), scaled(x, w));
  w.select(0, 3).fill_(1.0);  // through a view
  expect_same(f(x, w), scaled(x, w));
  w.data<float>()[5] = 3;  // behind the library's back
  changed(w);
  expect_same(f(x, w), scaled(x, w));
  expect_same(f(x, w), scaled(x, w));
  EXPECT_EQ(folded() - before, 3u);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().folded_bytes, 8 * 64 * 4);  // what was made of the old elements is gone
}

TEST(Freeze, TensorsThatACallHasSeenBeforeMayShowSomethingElse) {
  Tensor w = drawn({6, 8, 64}), other = drawn({8, 64}), x = drawn({3, 8, 64});
  freeze(w), freeze(other);
  auto f = compile(scaled);
  auto eager = [&](const Tensor& t) { return scaled(x, t.clone()); };
  for (int i = 0; i < 12; ++i) {  // one dies, and the next one may stand at its address
    Tensor view = w[i % 6];
    expect_same(f(x, view), eager(view));
    expect_same(f(x, view), eager(view));
  }
  Tensor at = w[0];
  for (int i = 1; i < 6; ++i) {
    at.as_strided_({8, 64}, {64, 1}, i * 8 * 64);
    expect_same(f(x, at), eager(at));
  }
  at.set_(other);
  expect_same(f(x, at), eager(at));
  auto moves = compile([](Tensor t, const Tensor& to) {
    t.set_(to);
    return Int(0);
  });
  moves(at, w[3]);
  expect_same(f(x, at), eager(w[3]));
  auto writes = compile([](Tensor t) { t.add_(1.0); });
  writes(w);
  expect_same(f(x, at), eager(w[3]));
  w[3].copy_(other);
  expect_same(f(x, at), eager(other));
}

TEST(Freeze, SpecializationsAndFunctionsShareWhatTheyNeedAlike) {
  Tensor w = drawn({16, 64}), u = drawn({16, 64});
  freeze(w), freeze(u);
  auto f = compile([](const Tensor& x, const Tensor& a) { return x * (a.exp() + 1.0).sqrt(); });
  auto g = compile([](const Tensor& a, const Tensor& b, const Tensor& x) { return (x - b) / (a.exp() + 1.0).sqrt(); });
  const std::uint64_t before = folded();
  Tensor x = drawn({3, 16, 64});
  f(x, w);
  f(x.to(kFloat64), w);  // another specialization
  EXPECT_EQ(folded() - before, 1u);
  expect_same(g(w, u, x), (x - u) / (w.exp() + 1.0).sqrt());
  EXPECT_EQ(folded() - before, 1u);
  f(x, u);  // other memory
  f(x, w);
  f(x, u);
  EXPECT_EQ(folded() - before, 2u);
}

TEST(Freeze, WhatWasMadeOfMemoryGoesWithIt) {
  auto f = compile(scaled);
  Tensor x = drawn({3, 256, 256});
  std::int64_t live = 0;
  for (int i = 0; i < 6; ++i) {
    Tensor w = drawn({256, 256});
    freeze(w);
    f(x, w);
    if (i == 0) live = stats().result_bytes_live;
    EXPECT_EQ(f.stats().folded_bytes, 256 * 256 * 4);
    EXPECT_LE(stats().result_bytes_live, live);
  }
  EXPECT_EQ(f.stats().folded_bytes, 0);
  Tensor w = drawn({256, 256});
  freeze(w);
  f(x, w);
  w.release_storage();
  EXPECT_EQ(f.stats().folded_bytes, 0);
  EXPECT_THROW(f(x, w), Error);
}

TEST(Freeze, ATensorThatTheFunctionWritesIsNotFolded) {
  Tensor w = drawn({8, 8}), plain = w.clone();
  freeze(w);
  auto body = [](const Tensor& x, Tensor w) {
    Tensor y = x * (w.exp() + 1.0).sqrt();
    w.mul_(0.5);
    return y;
  };
  auto f = compile(body, {.arguments = {"x", "w"}});
  Tensor x = drawn({3, 8, 8});
  const std::uint64_t before = folded();
  for (int i = 0; i < 3; ++i) expect_same(f(x, w), body(x, plain));
  expect_same(w, plain);
  EXPECT_EQ(folded(), before);
  EXPECT_NE(f.explain().find("frozen, but not folded since the function writes it: w"), std::string::npos)
      << f.explain();
}

TEST(Freeze, AnotherTensorInTheFrozenOnesPlaceIsComputedAtEachCall) {
  Tensor w = drawn({8, 64}), other = drawn({8, 64});
  freeze(w);
  auto f = compile(scaled);
  Tensor x = drawn({3, 8, 64});
  f(x, w);
  for (int i = 0; i < 3; ++i) {
    expect_same(f(x, other), scaled(x, other));
    other.data<float>()[i] = 2;  // nobody is told, and nobody need be
  }
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Freeze, CapturedTensorsAreFrozenOnRequest) {
  Tensor w = drawn({8, 64}), count = zeros({1});
  auto f = compile(
      [&](const Tensor& x) {
        count.add_(1.0);
        return scaled(x, w);
      },
      {.freeze = Freeze::Captured});
  Tensor x = drawn({3, 8, 64});
  const std::uint64_t before = folded();
  for (int i = 0; i < 3; ++i) expect_same(f(x), scaled(x, w));
  EXPECT_TRUE(is_frozen(w));
  EXPECT_FALSE(is_frozen(count));
  EXPECT_EQ(count.item<float>(), 3);
  EXPECT_EQ(folded() - before, 1u);
  w = drawn({8, 64});  // another tensor, which is declared when it is met
  for (int i = 0; i < 3; ++i) expect_same(f(x), scaled(x, w));
  EXPECT_EQ(folded() - before, 2u);
  auto g = compile([&](const Tensor& y) { return scaled(y, w); }, {.freeze = Freeze::Nothing});
  expect_same(g(x), scaled(x, w));
  EXPECT_EQ(folded() - before, 2u);
}

struct Mlp {
  Parameter up, down;
  std::vector<Parameter> scales;
  Tensor operator()(const Tensor& x) const {
    Tensor h = linear(x, up).relu();
    for (const Parameter& s : scales) h = h * (s.exp() + 1.0);
    return linear(h, down);
  }
};
Mlp mlp(int n, int hidden) { return {drawn({hidden, n}), drawn({n, hidden}), {drawn({hidden}), drawn({hidden})}}; }

TEST(Freeze, ParametersAreTensorsInStructsAndLists) {
  Mlp m = mlp(48, 96);
  EXPECT_TRUE(is_frozen(m.up) && is_frozen(m.scales[1]));
  auto f = compile([](const Mlp& m, const Tensor& x) { return m(x); }, {.arguments = {"mlp", "x"}});
  const std::uint64_t before = folded();
  for (int n : {20, 40, 64}) {
    Tensor x = drawn({n, 48});
    expect_same(f(m, x), m(x));
  }
  EXPECT_EQ(folded() - before, 4u);  // two scales, two weights in panels
  EXPECT_NE(f.explain(Detail::Summary)
                .find("folded: 4 values of 4 frozen tensors (mlp.up, mlp.down, mlp.scales[0], mlp.scales[1]), 2 of "
                      "them weights in panels"),
            std::string::npos)
      << f.explain(Detail::Summary);
  m.up = drawn({96, 48});  // assigned: frozen, too
  EXPECT_TRUE(is_frozen(m.up));
  Tensor x = drawn({33, 48});
  expect_same(f(m, x), m(x));
  m.down.mul_(3.0);
  expect_same(f(m, x), m(x));
  EXPECT_EQ(folded() - before, 6u);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Freeze, AModuleIsFrozenAsAWhole) {
  nn::Linear layer(64, 80);
  freeze(layer);
  EXPECT_TRUE(is_frozen(layer.weight) && is_frozen(*layer.bias));
  auto f = compile([](const nn::Linear& l, const Tensor& x) { return l(x).relu(); });
  Tensor x = drawn({2, 30, 64});
  const std::uint64_t before = folded();
  expect_same(f(layer, x), layer(x).relu());
  EXPECT_EQ(folded() - before, 1u);
}

// Few rows read the weights as they stand: nothing is made for them, and panels are made when more rows come.
TEST(Freeze, PanelsAreMadeWhenSomebodyReadsThem) {
  Tensor w = drawn({70, 50});
  freeze(w);
  auto f = compile([](const Tensor& x, const Tensor& w) { return linear(x, w); });
  const std::uint64_t before = folded();
  for (int n : {2, 3, 4}) {
    Tensor x = drawn({n, 50});
    expect_same(f(x, w), linear(x, w));
  }
  EXPECT_EQ(folded(), before);
  for (int n : {17, 5, 100, 2}) {
    Tensor x = drawn({n, 50});
    expect_product(n, f(x, w), linear(x, w));
  }
  EXPECT_EQ(folded() - before, 1u);
  EXPECT_EQ(f.stats().compilations, 1);
}

// Rows of one product are summed in one order, however many read the panels.
TEST(Freeze, RowsGiveTheSameBitsInProductsOfManyAndOfFew) {
  for (DType t : {kFloat32, kFloat64})
    for (auto [n, k] : std::vector<std::pair<int, int>>{{5, 1}, {47, 33}, {96, 64}, {200, 1300}}) {
      Tensor w = drawn({n, k}, t), x = drawn({100, k}, t), r = drawn({100, n}, t);
      freeze(w);
      auto f = compile([](const Tensor& x, const Tensor& w, const Tensor& r) {
        return std::pair(linear(x, w), linear(x, w.clone()) + r);
      });
      auto [all, sums] = f(x, w, r);
      for (int m = 5; m < 35; ++m) {
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " rows " + std::to_string(m));
        auto [some, some_sums] = f(x.slice(0, 0, m), w, r.slice(0, 0, m));
        expect_same(some, all.slice(0, 0, m));
        expect_same(some_sums, sums.slice(0, 0, m));
        EXPECT_TRUE(allclose(some, linear(x.slice(0, 0, m).to(kFloat64), w.to(kFloat64)).to(t),
                             t == kFloat32 ? 1e-4 : 1e-12, t == kFloat32 ? 1e-4 : 1e-12));
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
      EXPECT_EQ(f.stats().compilations, 1);
    }
}

// One order of summation: panels that were made before give the bits of those that a call packs.
TEST(Freeze, ProductsOfPanelsGiveTheBitsOfEagerOnes) {
  for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16})
    for (auto [n, k] :
         t == kFloat32
             ? std::vector<std::pair<int, int>>{{1, 7}, {4, 64}, {5, 1}, {47, 33}, {48, 16}, {49, 800}, {200, 1300}}
             : std::vector<std::pair<int, int>>{{49, 800}}) {
      Tensor w = drawn({n, k}, t), v = drawn({k, n}, t), bias = drawn({n}, t);
      freeze(w), freeze(v), freeze(bias);
      auto f = compile([](const Tensor& x, const Tensor& w, const Tensor& v, const Tensor& bias) {
        return std::tuple(linear(x, w, bias).relu(), linear(x, w) + x.sum(-1, true), mm(x, v), linear(x, v.t()),
                          mm(x, w.t()) * 2.0);
      });
      for (int m : {1, 8, 17, 31, 200}) {
        Tensor x = drawn({m, k}, t);
        auto [a, b, c, d, e] = f(x, w, v, bias);
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " rows " + std::to_string(m));
        expect_product(m, a, linear(x, w, bias).relu());
        expect_same(c, mm(x, v));
        expect_same(d, linear(x, v.t()));
        auto g = compile(
            [](const Tensor& x, const Tensor& w, const Tensor& v, const Tensor& bias) {
              return std::tuple(linear(x, w, bias).relu(), linear(x, w) + x.sum(-1, true), mm(x, v), linear(x, v.t()),
                                mm(x, w.t()) * 2.0);
            },
            {.freeze = Freeze::Nothing});
        auto [a2, b2, c2, d2, e2] = g(x, w, v, bias);
        expect_product(m, b, b2);
        expect_product(m, e, e2);
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
    }
}

// Panels have the form that the processor's products want: pairs of bfloat16, groups of four bytes. Where they are as
// wide, other forms have other keys.
TEST(Freeze, PanelsOfHalvesAndBytes) {
  const bool avx512 = device::cpu_info().avx512;
  for (const char* cpu : {"", "amx,emulated", "avx512-bf16,emulated", "avx512-vnni", "avx2"}) {
    if (!avx512 && *cpu && std::string(cpu) != "avx2") continue;
    SCOPED_TRACE(cpu);
    Scoped<std::string> wanted(knobs().cpu, cpu);
    if (!device::cpu_info().refusal.empty()) continue;
    for (auto [n, k] : std::vector<std::pair<int, int>>{{5, 1}, {33, 31}, {48, 64}, {97, 130}, {200, 1300}}) {
      for (DType t : {kBFloat16, kFloat16}) {
        Tensor w = drawn({n, k}, t), v = drawn({k, n}, t);
        freeze(w), freeze(v);
        auto body = [](const Tensor& x, const Tensor& w, const Tensor& v) { return std::pair(linear(x, w), mm(x, v)); };
        auto f = compile(body), g = compile(body, {.freeze = Freeze::Nothing});
        for (int m : {1, 4, 5, 17, 40, 200}) {
          SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " rows " + std::to_string(m));
          Tensor x = drawn({m, k}, t);
          auto [a, b] = f(x, w, v);
          auto [a2, b2] = g(x, w, v);
          expect_product(m, a, a2);
          expect_product(m, b, b2);
        }
        EXPECT_EQ(f.stats().eager_fallbacks, 0);
        EXPECT_LE(f.stats().compilations, 2);
        EXPECT_GE(f.stats().folded_values, 1);
      }
      Tensor w = randint(-128, 128, {n, k}).to(kInt8), v = randint(-128, 128, {k, n}).to(kInt8);
      freeze(w), freeze(v);
      auto body = [](const Tensor& x, const Tensor& w, const Tensor& v) {
        return std::pair(int_mm(x, w.t()), int_mm(x, v));
      };
      auto f = compile(body);
      for (int m : {1, 4, 5, 17, 40, 300}) {
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " rows " + std::to_string(m));
        Tensor x = randint(-128, 128, {m, k}).to(kInt8);
        auto [a, b] = f(x, w, v);
        expect_same(a, mm(x.to(kInt32), w.to(kInt32).t()));
        expect_same(b, mm(x.to(kInt32), v.to(kInt32)));
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
      if (k > 1) EXPECT_GE(f.stats().folded_values, 1) << "panels, or the weight turned";
    }
  }
}

TEST(Freeze, WeightsAreCastAndTransposedOnce) {
  Tensor w = drawn({64, 96}, kBFloat16);
  freeze(w);
  auto body = [](const Tensor& x, const Tensor& w) {
    return linear(x, w.to(kFloat32).t()) + w.to(kFloat32).sum(0).slice(0, 0, 96);
  };
  auto f = compile(body);
  const std::uint64_t before = folded();
  for (int n : {4, 40}) {
    Tensor x = drawn({n, 64});
    Tensor made = f(x, w), eager = body(x, w);
    EXPECT_TRUE(allclose(made, eager, 1e-4, 1e-4));
  }
  EXPECT_GE(folded() - before, 2u);
  EXPECT_LE(folded() - before, 3u);
}

TEST(Freeze, TiedWeightsAndOneTensorTwice) {
  Tensor w = drawn({60, 40});
  freeze(w);
  auto body = [](const Tensor& x, const Tensor& a, const Tensor& b) {
    return linear(linear(x, a.t()), b) * (a.exp() + b).sum();
  };
  auto f = compile(body);
  for (int n : {3, 30}) {
    Tensor x = drawn({n, 60});
    EXPECT_TRUE(allclose(f(x, w, w), body(x, w, w), 1e-4, 1e-4));
  }
  Tensor other = w.clone();
  Tensor x = drawn({30, 60});
  EXPECT_TRUE(allclose(f(x, w, other), body(x, w, other), 1e-4, 1e-4));
  w.mul_(0.1);
  EXPECT_TRUE(allclose(f(x, w, w), body(x, w, w), 1e-4, 1e-4));
}

TEST(Freeze, ResultsThatAreFoldedAreTheCallersOwn) {
  Tensor w = drawn({8, 8});
  freeze(w);
  auto f = compile([](const Tensor& x, const Tensor& w) { return std::pair((w * 2.0).exp(), x + (w * 2.0).exp()); });
  Tensor x = drawn({8, 8});
  auto [a, b] = f(x, w);
  Tensor was = a.clone();
  a.fill_(0.0);
  auto [c, d] = f(x, w);
  expect_same(c, was);
  expect_same(d, b);
}

TEST(Freeze, SizesOfFrozenTensorsMayVary) {
  auto f = compile(scaled);
  std::vector<Tensor> all;
  for (int n : {5, 9, 5, 1, 0, 12}) {
    all.push_back(drawn({n, 64}));
    freeze(all.back());
  }
  for (int i = 0; i < 3; ++i)
    for (const Tensor& w : all) {
      Tensor x = drawn({2, w.size(0), 64});
      expect_same(f(x, w), scaled(x, w));
    }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Freeze, NumbersOfDataAndBranchesComeAfter) {
  Tensor w = drawn({16, 16});
  freeze(w);
  auto body = [](const Tensor& x, const Tensor& w) { return linear(x.index({x.gt(0.0).any(1)}), (w.exp() + 1.0)); };
  auto f = compile(body);
  for (int n : {20, 40}) {
    Tensor x = drawn({n, 16});
    EXPECT_TRUE(allclose(f(x, w), body(x, w), 1e-4, 1e-4));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_GE(f.stats().folded_values, 1);
}

TEST(Freeze, PanelsOfAProductWhoseRowsDependOnData) {
  Tensor w = drawn({70, 50});
  freeze(w);
  auto body = [](const Tensor& x, const Tensor& w) { return linear(x.index({x.gt(0.0).any(1)}), w); };
  auto f = compile(body);
  for (int n : {40, 3, 200}) {
    Tensor x = drawn({n, 50});
    EXPECT_TRUE(allclose(f(x, w), body(x, w), 1e-4, 1e-4)) << n;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// Panels fill up columns and rows: that is no reason to pack at every call.
TEST(Freeze, PanelsOfWeightsThatAreCastFromEightBits) {
  Tensor q = randint(0, 255, {100, 4096}).to(kUInt8);
  freeze(q);
  auto body = [](const Tensor& x, const Tensor& q) { return linear(x, q.to(kFloat32) - 128.0); };
  auto f = compile(body);
  Tensor x = drawn({40, 4096});
  EXPECT_TRUE(allclose(f(x, q), body(x, q), 1e-4, 1e-1));
  const std::uint64_t before = folded();
  f(x, q);
  EXPECT_EQ(folded(), before);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  const std::string text = f.explain(Detail::Launches);
  EXPECT_EQ(text.substr(0, text.find("computed once")).find("prepack"), std::string::npos) << text;
}

TEST(Freeze, ViewsWithoutEndAreNotKeptWithoutEnd) {
  Tensor table = drawn({12000, 4});
  freeze(table);
  auto f = compile([](const Tensor& x, const Tensor& row) { return x * row.cos().exp(); });
  Tensor x = drawn({1, 4});
  for (std::int64_t t = 0; t < 12000; ++t) {
    Tensor row = table.slice(0, t, t + 1), y = f(x, row);
    if (t % 997 == 0) EXPECT_TRUE(allclose(y, x * row.cos().exp(), 1e-5, 1e-6)) << t;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Freeze, AParameterIsAssignedAsATensorIs) {
  struct Model {
    Parameter w, b;
  };
  Model m;
  m.w = drawn({4, 4});
  m.b = {};
  EXPECT_FALSE(m.b.defined());
  m.b = m.w;
  const Model other = m;
  m.w = m.w + 1.0;
  EXPECT_TRUE(is_frozen(m.w));
  EXPECT_TRUE(is_frozen(other.w));
}

TEST(Freeze, ASealedFunctionFoldsAnew) {
  Tensor w = drawn({8, 64});
  freeze(w);
  auto f = compile(scaled);
  f.warm_up(empty({3, 8, 64}), w);
  const std::uint64_t before = folded();
  f.seal();
  Tensor x = drawn({3, 8, 64});
  expect_same(f(x, w), scaled(x, w));
  EXPECT_EQ(folded(), before);  // it was warmed up
  w.mul_(2.0);
  expect_same(f(x, w), scaled(x, w));
  EXPECT_EQ(folded() - before, 1u);
}

TEST(Freeze, ThreadsFoldOnce) {
  Tensor w = drawn({512, 512});
  freeze(w);
  auto f = compile([](const Tensor& x, const Tensor& w) { return linear(x, w); });
  Tensor x = drawn({40, 512}), want = linear(x, w);
  f.warm_up(empty({3, 512}), w);  // compiled; nothing is folded for three rows
  const std::uint64_t before = folded();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k)
        if (f(x, w).to_vector<float>() != want.to_vector<float>()) ++wrong;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(folded() - before, 1u);
}

TEST(Freeze, ChecksCompareWithTheFunction) {
  Tensor w = drawn({32, 48});
  freeze(w);
  auto f = compile([](const Tensor& x, const Tensor& w) { return linear(x, w).relu(); }, {.check = 1});
  for (int n : {3, 30, 50}) {
    Tensor x = drawn({n, 48});
    f(x, w);
    w.mul_(0.5);
  }
  EXPECT_EQ(f.stats().checks, 3);
}

TEST(Freeze, FoldedBitsAreServedMeanwhileToo) {
  Tensor w = drawn({8, 64});
  freeze(w);
  auto f = compile(scaled, {.on_miss = OnMiss::ServeMeanwhile});
  Tensor x = drawn({3, 8, 64});
  expect_same(f(x, w), scaled(x, w));
  f.wait();
  expect_same(f(x, w), scaled(x, w));
  EXPECT_EQ(f.stats().folded_values, 1);
}

// What costs less to compute than to read stays where it is.
TEST(Freeze, WhatIsMuchLargerThanWhatItIsMadeOfIsNotKept) {
  Tensor a = drawn({600}), b = drawn({600});
  freeze(a), freeze(b);
  auto body = [](const Tensor& x, const Tensor& a, const Tensor& b) { return x + a.unsqueeze(1) * b; };
  auto f = compile(body);
  Tensor x = drawn({600, 600});
  expect_same(f(x, a, b), body(x, a, b));
  EXPECT_EQ(f.stats().folded_values, 0);
}

TEST(Freeze, ChangedOfNothingIsAnError) {
  EXPECT_THROW(changed(Tensor()), Error);
  freeze(Tensor());
  EXPECT_FALSE(is_frozen(Tensor()));
}

}  // namespace
}  // namespace reprise::test
