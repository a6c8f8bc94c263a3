// region: equal parts of a function that are compiled once.
#include "reprise/region.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/generator.h"
#include "reprise/map.h"
#include "reprise/name_scope.h"
#include "reprise/regions.h"
#include "reprise/reprise.h"
#include "reprise/while_loop.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using Tensors = std::vector<Tensor>;
using Program = Tensors (*)(Tensors);

std::string shown(const Tensors& all) {
  std::string s;
  for (const Tensor& t : all) s += (t.defined() ? test::show(t.detach()) : "undefined") + "\n";
  return s;
}

/// Everything that a caller sees of two calls with copies of `args`: results, arguments, gradients, the generator, or
/// what it throws.
template <class F>
std::string outcome(F& f, const Tensors& args, bool wants) {
  manual_seed(7);
  std::string s;
  for (int call = 0; call < 2; ++call) {
    Tensors mine, given;
    for (const Tensor& t : args) {
      mine.push_back(t.clone());
      if (wants) mine.back().requires_grad_();
      given.push_back(wants ? mine.back() * 1.0 : mine.back());
    }
    if (const auto e = test::caught([&] {
          const Tensors made = f(given);
          s += shown(made) + shown(given);
          Tensor sum = zeros({});
          for (const Tensor& t : made)
            if (t.requires_grad()) sum = sum + (t * t).sum();
          if (sum.requires_grad()) sum.backward();
          for (const Tensor& t : mine)
            if (wants) s += shown({t.grad().defined() ? t.grad() : zeros_like(t.detach())});
        }))
      s += shown(given) + e->what();
    s += shown({rand({1})});
  }
  return s;
}

Tensor layer(const Tensor& x, const Tensor& w) {
  return region(
      "layer", [&](const Tensor& x) { return tanh(matmul(x, w)) + x; }, x);
}

struct Row {
  const char* what;
  Program program;
  const char* eager = "";  ///< the reason why it is
};

TEST(Region, IsWhatItsFunctionDoes) {
  const Row rows[] = {
      {"layers",
       [](Tensors a) -> Tensors {
         Tensor x = a[0];
         for (int i = 0; i < 3; ++i) x = layer(x, a[1] * (1.0 + i));
         return {x};
       }},
      {"operands given back, and views of them",
       [](Tensors a) -> Tensors {
         Tensor same = region(
             "same", [](const Tensor& x) { return x; }, a[0]);
         Tensors parts = region("parts", [&] { return Tensors{a[0].slice(0, 0, 2), a[1].t(), matmul(a[0], a[1])}; });
         same.add_(1.0), parts[0].mul_(2.0);
         return {same, parts[0], parts[1], parts[2]};
       }},
      {"undefined tensors, and nothing",
       [](Tensors a) -> Tensors {
         region("nothing", [] {});
         auto both = [&] { return std::pair(Tensor(), matmul(a[0], a[1])); };
         return {region("half", both).second, region("half", both).second};
       }},
      {"writes to operands and captured tensors",
       [](Tensors a) -> Tensors {
         Tensor sum = a[0] * 0.0;
         for (int i = 0; i < 2; ++i)
           region(
               "write",
               [&](const Tensor& w) {
                 Tensor row = sum.slice(0, i, i + 1);
                 row.add_(w.slice(0, 0, 1));
                 a[0].slice(0, 1, 2).mul_(0.5);
               },
               a[1]);
         return {sum};
       }},
      {"one tensor under two names, of which one is written",
       [](Tensors a) -> Tensors {
         Tensor all = a[0] + 0.0, part = all.slice(0, 1, 3);
         Tensor y = region("alias", [&] {
           part.add_(1.0);
           return matmul(all, a[1]);
         });
         return {y, all};
       }},
      {"in each other, and in other regions",
       [](Tensors a) -> Tensors {
         auto two = [&](const Tensor& x) {
           return region(
               "two", [&](const Tensor& x) { return layer(layer(x, a[1]), a[1] * 0.5); }, x);
         };
         Tensor x = two(two(a[0]));
         Tensor s = scan([&](const Tensor& s, const Tensor& row) { return layer(layer(s, a[1]), a[1]) + row; },
                         a[0] * 1.0, a[0]);
         Tensor y = cond(
             Bool(true), [&] { return layer(x, a[1]); }, [&] { return x; });
         return {x, s, y};
       }},
      {"random numbers",
       [](Tensors a) -> Tensors {
         Tensor x = a[0];
         for (int i = 0; i < 3; ++i)
           x = region(
               "dropped", [&](const Tensor& x) { return dropout(matmul(x, a[1]), 0.5, true) + rand({1}); }, x);
         return {x, rand({2})};
       }},
      {"random numbers of loops and regions in each other",
       [](Tensors a) -> Tensors {
         auto noisy = [&](const Tensor& x) {
           return region(
               "noisy", [&](const Tensor& x) { return matmul(x, a[1]) * rand({3}) + randn({3}); }, x);
         };
         Tensor s = scan([&](const Tensor& s, const Tensor& row) { return noisy(s) + row * rand({3}) + noisy(row); },
                         rand({3}), a[0]);
         Tensor m = map([&](const Tensor& row) { return row * bernoulli(sigmoid(row)) + noisy(row); }, a[0]);
         Tensor n = region("outer", [&] { return noisy(noisy(a[0])); });
         return {s, m, n, rand({2})};
       }},
      {"variables outside",
       [](Tensors a) -> Tensors {
         Tensor last = a[0];
         for (int i = 0; i < 2; ++i) region("assigns", [&] { last = matmul(last, a[1]); });
         return {last};
       }},
      {"branches on values",
       [](Tensors a) -> Tensors {
         return {region("decides", [&] {
           Tensor y = matmul(a[0], a[1]);
           return y.sum().item() > 0.0 ? y : y * -2.0;
         })};
       }},
      {"what throws",
       [](Tensors a) -> Tensors { return {region("throws", [&] { return matmul(a[0], a[0].slice(0, 0, 2)); })}; }},
      {"gradients asked for, and turned off",
       [](Tensors a) -> Tensors {
         Tensor y = region("asks", [&] { return a[0].requires_grad() ? matmul(a[0], a[1]) : a[0]; });
         Tensor z = region("off", [&] {
           const NoGradScope off;
           return matmul(a[0], a[1]);
         });
         return {y, z + a[0]};
       }},
      {"a derivative of its own, twice",
       [](Tensors a) -> Tensors {
         if (!a[0].requires_grad()) return {a[0]};
         Tensor y = layer(layer(a[0], a[1]), a[1]);
         Tensor g = grad({y.sum()}, {a[0]}, {}, {.create_graph = true})[0];
         return {g, y};
       }},
  };
  const Tensors args{(arange(9, {.dtype = kFloat32}).view({3, 3}) - 4.0) * 0.125, eye(3) * 0.25 + 0.125};
  for (const Row& row : rows)
    for (bool wants : {false, true}) {
      auto f = compile(row.program, {.name = "region"});
      EXPECT_EQ(outcome(f, args, wants), outcome(row.program, args, wants)) << row.what << wants;
      EXPECT_EQ(f.stats().last_fallback_reason, row.eager) << row.what << wants;
    }
}

std::size_t count(const std::string& text, const std::string& of) {
  std::size_t n = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

// Seven layers of other weights, on a tape.
TEST(Region, EqualOnesAreLoweredOnce) {
  std::vector<Tensor> weights;
  for (int i = 0; i < 7; ++i) weights.push_back((eye(4) * (0.1 * (i + 1))).requires_grad_());
  const auto net = [&](const Tensor& x) {
    Tensor h = x;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const NameScope scope("layers", static_cast<std::int64_t>(i));
      h = layer(h, weights[i]);
    }
    return h;
  };
  auto f = compile(net, {.name = "net"});
  const Tensor x = arange(8, {.dtype = kFloat32}).view({2, 4}) * 0.1;
  f(x).sum().backward();
  Tensors compiled, eager;
  for (Tensor& w : weights) compiled.push_back(w.grad()), w.set_grad(Tensor());
  net(x).sum().backward();
  for (Tensor& w : weights) eager.push_back(w.grad());
  EXPECT_EQ(shown(compiled), shown(eager));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  const std::string text = f.explain();
  EXPECT_EQ(count(text, "= reprise::region(region("), 12u) << text;  // backward without the first and the last
  for (const char* name : {"layers[0].layer", "layers[6].layer"}) EXPECT_NE(text.find(name), std::string::npos) << name;
}

// Each layer's weights have a size that no other layer names: equal ones are taken for one, in the backward, too.
TEST(Region, SizesOfWeightsAloneMakeNoOtherBody) {
  constexpr int kLayers = 6;
  std::vector<Tensor> in, out;
  for (int i = 0; i < kLayers; ++i) {
    in.push_back((ones({4, 12}) * (0.05 * (i + 1))).requires_grad_());
    out.push_back((ones({12, 4}) * (0.03 * (i + 1))).requires_grad_());
  }
  const auto net = [&](const Tensor& x) {
    Tensor h = x;
    for (std::size_t i = 0; i < in.size(); ++i)
      h = region(
          "layer", [&](const Tensor& x) { return x + matmul(tanh(matmul(x, in[i])), out[i]); }, h);
    return h;
  };
  auto f = compile(net, {.name = "net"});
  const auto gradients = [&](const Tensor& y) {
    y.sum().backward();
    Tensors all;
    for (Tensors* list : {&in, &out})
      for (Tensor& w : *list) all.push_back(w.grad()), w.set_grad(Tensor());
    return shown(all);
  };
  const auto expect_same = [&] {
    const Tensor x = arange(8, {.dtype = kFloat32}).view({2, 4}) * 0.1;
    const std::string compiled = gradients(f(x));
    EXPECT_EQ(compiled, gradients(net(x)));
  };
  expect_same();
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  const std::string text = f.explain(), call = "= reprise::region(region(";
  std::set<std::string> bodies;
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1))
    bodies.insert(text.substr(at, text.find('\n', at) - at));
  // Of the first layer no gradient of x is wanted: it is like no other one, and a part of the function.
  EXPECT_EQ(count(text, call), 2u * (kLayers - 1)) << text;
  EXPECT_LE(bodies.size(), 3u) << text;
  // Layers that are not equal any more are another specialization.
  in[2] = (ones({4, 9}) * 0.2).requires_grad_(), out[2] = (ones({9, 4}) * 0.1).requires_grad_();
  expect_same();
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Region, SaysWhyItIsAPartOfItsFunction) {
  struct Row {
    void (*call)(const Tensor&);
    const char* kind;
  };
  static Tensor kept;
  const Row rows[] = {
      {[](const Tensor& x) { region("part", [&] { kept = x + 1.0; }); }, "branch_changes"},
      {[](const Tensor& x) { region("part", [&] { return (x.sum().item() > 0.0) ? x : x + 1.0; }); }, "reads_value"},
      {[](const Tensor& x) { region("part", [&] { return matmul(x, x); }); }, "branch_throws"},
  };
  for (const Row& row : rows) {
    std::string told;
    set_log_callback([&](const LogEvent& e) { told += std::string(e.text) + "\n" + std::string(e.json); }, "trace");
    auto f = compile(
        [&](const Tensor& x) {
          row.call(x);
          return x * 2.0;
        },
        {.name = "f"});
    test::caught([&] { f(ones({2, 3})); });
    set_log_callback({});
    EXPECT_NE(told.find("region part (" __FILE__), std::string::npos) << told;
    EXPECT_NE(told.find(row.kind), std::string::npos) << told;
  }
}

/// A part of a storage that the function writes elsewhere: what the body captures does not begin where it does.
TEST(Region, CapturedTensorsBeginAnywhereInTheirStorage) {
  using Body = Tensor (*)(const Tensor& t, const Tensor& a);
  const Body bodies[] = {
      [](const Tensor& t, const Tensor& a) { return matmul(matmul(t, a.t()), a) * 0.1 + t; },
      [](const Tensor& t, const Tensor& a) {
        return matmul(a.as_strided({2, 2}, {1, 2}, 1), t);
      },
      [](const Tensor& t, const Tensor& a) {
        return matmul(a.as_strided({2, 2}, {1, 2}), t);
      },
      [](const Tensor& t, const Tensor& a) {
        return matmul(a.select(0, 1).view({2, 1}), t.slice(0, 1, 2));
      },
      [](const Tensor& t, const Tensor& a) { return a.as_strided({2}, {1}, 1).mul_(2), matmul(a.t(), t); },
  };
  for (const Body& g : bodies)
    for (const bool twice : {true, false}) {
      auto body = [&](Tensor y, Tensor a) {
        y.mul_(0.5);
        auto one = [&](const Tensor& t) { return g(t, a); };
        return region("part", one, twice ? region("part", one, a) : a);
      };
      auto f = compile(body);
      auto run = [](auto&& call) {
        const Tensor all = arange(6, {.dtype = kFloat32}).mul(0.3).sub(0.7);
        const Tensor made = call(all.slice(0, 0, 4).view({2, 2}), all.slice(0, 2, 6).view({2, 2}));
        return shown({made, all});
      };
      EXPECT_EQ(run(body), run(f)) << &g - bodies << twice;
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
    }
}

TEST(Region, DerivativesOfStridedOperands) {
  using Body = Tensor (*)(const Tensor& t, const Tensor& w);
  const Body bodies[] = {
      [](const Tensor& t, const Tensor& w) { return matmul(t, w); },
      [](const Tensor& t, const Tensor& w) { return matmul(matmul(t, w.t()), w) * 0.1 + t; },
      [](const Tensor& t, const Tensor& w) { return matmul(t.t(), w.slice(0, 0, 2)).t() * w; },
  };
  for (const Body& g : bodies)
    for (const std::int64_t step : {1, 2, 3}) {
      auto body = [&](Tensor x) {
        auto one = [&](const Tensor& t) { return g(t, x); };
        return region("part", one, region("part", one, x * x));
      };
      auto f = compile(body);
      auto run = [&](auto&& call) {
        const Tensor all = arange(20, {.dtype = kFloat32}).mul(0.1).sub(0.7).requires_grad_();
        call(all.as_strided({2, 2}, {4 * step, step}, 1)).sum().backward();
        return shown({all.grad()});
      };
      EXPECT_EQ(run(body), run(f)) << &g - bodies << " step " << step;
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
    }
}

struct Doubles : Function<Doubles> {
  static Tensor forward(FunctionContext&, Tensor x) { return x * 3.0; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 2.0}; }
};
struct Seen : Function<Seen> {
  static Tensor forward(FunctionContext&, Tensor x) { return x.view({-1}); }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {(g[0] * 2.0).view({})}; }
};

/// A loop is differentiated as a whole: what its derivative would leave out makes the call eager, with a reason. The
/// body of region() is then traced in place.
TEST(Region, TheTapeInBodies) {
  using Step = Tensor (*)(Tensor t, const Tensor& x);
  struct Case {
    Step step;
    bool compiles = false;
  };
  const Case cases[] = {
      {[](Tensor t, const Tensor& x) { return t.register_hook([](const Tensor& g) { return g * 2.0; }), t * x; }},
      {[](Tensor t, const Tensor& x) { return t.retain_grad(), t * x; }},
      {[](Tensor t, const Tensor& x) { return t.is_leaf() ? t * 2.0 : t * x; }},
      {[](Tensor t, const Tensor& x) { return t.grad_fn() ? t * 2.0 : t * x; }},
      {[](Tensor t, const Tensor& x) { return t.requires_grad() ? t * x : t * 2.0; }},
      {[](Tensor t, const Tensor& x) { return grad({t * t}, {t}, {}, {.create_graph = true})[0] * x; }},
      {[](Tensor t, const Tensor& x) { return Doubles::apply(t) * x; }},
      {[](Tensor t, const Tensor& x) { return Doubles::apply(t * x); }},
      {[](Tensor t, const Tensor& x) { return Seen::apply(t).sum() * x; }},
      {[](Tensor t, const Tensor& x) { return (t * x).detach_() + t; }},
      {[](Tensor t, const Tensor& x) { return t.detach() * t * x; }, true},
      {[](Tensor t, const Tensor& x) { return checkpoint([&](const Tensor& q) { return sin(q) * x; }, t); }, true},
  };
  for (const Case& c : cases)
    for (const bool loop : {false, true}) {
      auto body = [&](Tensor a, Tensor row) {
        if (!loop)
          return region(
              "part", [&](const Tensor& x) { return c.step(a.sum() * 2.0, x.sum()); }, row);
        return scan(
                   [&](const Tensor& s, const Tensor& x) {
                     const Tensor n = c.step(s * a.sum(), x);
                     return std::pair(n, n);
                   },
                   ones({}), row)
            .second;
      };
      auto f = compile(body);
      auto run = [&](auto&& call) {
        const Tensor w = arange(4, {.dtype = kFloat32}).mul(0.3).sub(0.7).requires_grad_();
        const Tensor made = call(w * 1.0, ones({3}) * 0.5);
        if (made.requires_grad()) made.sum().backward();
        return shown({made, w.grad()});
      };
      const std::string eager = run(body);
      EXPECT_EQ(eager, run(f)) << &c - cases << loop;
      EXPECT_EQ(eager, run(f)) << &c - cases << loop;
      EXPECT_EQ(f.stats().eager_fallbacks, c.compiles || !loop ? 0 : 2) << &c - cases << loop;
    }
}

}  // namespace
}  // namespace reprise
