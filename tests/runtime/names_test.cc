// What signatures call inputs and outputs: paths and kinds, of functions and of their backwards; is_compiling().
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/graph.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace reprise::of_names {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Block : nn::Callable<Block> {
  Tensor wq = rand({4, 4}), wk = rand({4, 4});
  Tensor forward(const Tensor& x) const { return matmul(matmul(x, wq), wk); }
  REPRISE_FIELDS(Block, wq, wk)
};
struct Net : nn::Callable<Net> {
  std::vector<Block> layers = std::vector<Block>(2);
  nn::BatchNorm1d norm = nn::BatchNorm1d(4);
  Tensor count = zeros({});
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (const Block& b : layers) y = b(y);
    count.add_(1);
    return norm(y);
  }
  Tensor operator()(const Tensor& x) {
    const TensorNames names(*this);
    return forward(x);
  }
  REPRISE_FIELDS(Net, layers, norm, count)
  REPRISE_BUFFERS(count)
};

nlohmann::json only_specialization(const std::string& signature) {
  const nlohmann::json all = nlohmann::json::parse(signature);
  EXPECT_EQ(all["specializations"].size(), 1u) << signature;
  return all["specializations"].empty() ? nlohmann::json{{"inputs", {}}, {"outputs", {}}} : all["specializations"][0];
}
Pairs inputs_of(const std::string& signature) {
  Pairs all;
  const nlohmann::json s = only_specialization(signature);
  for (const auto& i : s["inputs"]) all.emplace_back(i["name"], i["kind"]);
  return all;
}
std::vector<std::string> outputs_of(const std::string& signature) {
  std::vector<std::string> all;
  const nlohmann::json s = only_specialization(signature);
  for (const auto& o : s["outputs"])
    all.push_back(o["kind"].get<std::string>() + (o.contains("of") ? " of " + std::to_string(o["of"].get<int>()) : ""));
  return all;
}

const Pairs kNet{{"x", "user"},
                 {"layers[0].wq", "parameter"},
                 {"layers[0].wk", "parameter"},
                 {"layers[1].wq", "parameter"},
                 {"layers[1].wk", "parameter"},
                 {"count", "buffer"}};

TEST(Names, OfACapturedModule) {
  const Tensor x = rand({3, 4});
  const auto check = [&](auto f) {
    f(x);
    Pairs have = inputs_of(f.signature());
    ASSERT_GE(have.size(), kNet.size()) << f.signature();
    EXPECT_EQ(Pairs(have.begin(), have.begin() + static_cast<std::ptrdiff_t>(kNet.size())), kNet);
    for (std::size_t i = kNet.size(); i < have.size(); ++i) {
      const bool state = have[i].first.find("running_") != std::string::npos;
      EXPECT_EQ(have[i].first.find("norm."), 0u) << have[i].first;
      EXPECT_EQ(have[i].second, state ? "buffer" : "parameter") << have[i].first;
    }
    EXPECT_EQ(have.size(), kNet.size() + 4);
    const std::string text = f.explain(Detail::Graph);
    EXPECT_NE(text.find("\"layers[1].wk\": f32["), std::string::npos) << text;
    EXPECT_NE(text.find("\"count\": f32[] captured buffer mutates_data"), std::string::npos) << text;
  };
  Net net;
  check(compile([&](const Tensor& t) { return net(t); }, {.arguments = {"x"}}));          // by reference
  check(compile([p = &net](const Tensor& t) { return (*p)(t); }, {.arguments = {"x"}}));  // by pointer
  check(compile([p = std::make_shared<Net>()](const Tensor& t) { return (*p)(t); }, {.arguments = {"x"}}));  // shared
  check(compile(net, {.arguments = {"x"}}));                                                                 // itself
  check(compile(std::ref(net), {.arguments = {"x"}}));
}

TEST(Names, OfScopesAndOfNobody) {
  struct Plain {
    Tensor w = rand({4, 4}), b = rand({4});
  } plain;
  const Tensor x = rand({3, 4});
  auto f = compile([&](const Tensor& t) { return matmul(t, plain.w) + plain.b; }, {.arguments = {"x"}});
  f(x);
  EXPECT_EQ(inputs_of(f.signature()), (Pairs{{"x", "user"}, {"captured 0", "parameter"}, {"captured 1", "parameter"}}));
  auto g = compile([&](const Tensor& t) { return matmul(t, plain.w) + plain.b; }, {.arguments = {"x"}});
  {
    const TensorNames names(plain, "plain");
    g(x);
  }
  EXPECT_EQ(inputs_of(g.signature()), (Pairs{{"x", "user"}, {"plain.w", "parameter"}, {"plain.b", "parameter"}}));
  // Layers of which nobody says whose they are: names stay apart.
  nn::Linear a(4, 4), b(4, 4);
  auto h = compile([&](const Tensor& t) { return b(a(t)); }, {.arguments = {"x"}});
  h(x);
  const Pairs have = inputs_of(h.signature());
  ASSERT_EQ(have.size(), 5u);
  EXPECT_EQ(have[1].first, "weight");
  EXPECT_EQ(have[3].first, "captured 2.weight");
}

TEST(Names, KindsOfArguments) {
  struct Weights {
    Parameter frozen = rand({4, 4});
    Tensor plain = rand({4, 4});
    nn::BatchNorm1d norm = nn::BatchNorm1d(4);
  } w;
  auto f = compile([](const Weights& p, const Tensor& x, Int n,
                      Scalar s) { return p.norm(matmul(matmul(x, p.frozen), p.plain)) * n + s + rand({1}); },
                   {.arguments = {"w", "x", "n", "s"}});
  f(w, rand({3, 4}), 2, 1.5);
  Pairs have = inputs_of(f.signature());
  const std::vector<std::pair<std::string, std::string>> want{{"w.frozen", "parameter"},
                                                              {"w.plain", "user"},
                                                              {"w.norm.weight", "parameter"},
                                                              {"w.norm.running_mean", "buffer"},
                                                              {"x", "user"},
                                                              {"n", "size"},
                                                              {"s", "float"},
                                                              {"rng seed", "seed"},
                                                              {"rng offset", "offset"}};
  for (const auto& one : want)
    EXPECT_NE(std::find(have.begin(), have.end(), one), have.end()) << one.first << " " << one.second << "\n"
                                                                    << f.signature();
  EXPECT_EQ(have.back().second, "offset");
}

TEST(Names, OfBackwards) {
  Tensor w = rand({4, 4}).requires_grad_();
  auto f = compile([&](const Tensor& x) { return dropout(tanh(matmul(x, w)), 0.5, true); },
                   {.name = "f", .arguments = {"x"}});
  const Tensor x = rand({3, 4}).requires_grad_();
  f(x).sum().backward();
  EXPECT_TRUE(w.grad().defined() && x.grad().defined());
  const std::string text = f.explain(Detail::Graph);
  const std::size_t from = text.find("graph \"f/0 backward");
  ASSERT_NE(from, std::string::npos) << text;
  const std::string back = text.substr(from);
  EXPECT_NE(back.find("\"x\": f32[s0, s1] saved"), std::string::npos) << back;
  EXPECT_NE(back.find("\"tangent of result 0\""), std::string::npos) << back;
  EXPECT_NE(back.find(" tangent"), std::string::npos) << back;
  EXPECT_NE(back.find("as gradient of 0"), std::string::npos) << back;
  EXPECT_NE(back.find("as gradient of 1"), std::string::npos) << back;
  EXPECT_NE(text.find("as saved"), std::string::npos) << text;
}

// A backward that draws a checkpointed mask again: where the generator stood is told as such, and last.
TEST(Names, OfABackwardThatDraws) {
  auto f = compile(
      [](const Tensor& x) { return checkpoint([](const Tensor& t) { return dropout(tanh(t), 0.5, true) * t; }, x); });
  const Tensor x = rand({3, 4}).requires_grad_();
  f(x).sum().backward();
  const std::string text = f.explain(Detail::Graph);
  const std::size_t from = text.find("graph \"f/0 backward");
  ASSERT_NE(from, std::string::npos) << text;
  const std::string back = text.substr(from);
  const std::size_t seed = back.find("\"rng seed\": seed"), offset = back.find("\"rng offset\": offset)");
  EXPECT_TRUE(seed != std::string::npos && offset != std::string::npos && seed < offset) << back;
}

TEST(Names, LossesAndGradientsOfAStep) {
  auto step = compile(
      [](const Tensor& x, const Tensor& w) {
        const Tensor loss = matmul(x, w).pow(2.0).mean();
        return std::tuple(loss, grad({loss}, {w}, {}, {.retain_graph = true})[0], x * 2);
      },
      {.arguments = {"x", "w"}});
  step(rand({3, 4}), rand({4, 4}).requires_grad_());
  EXPECT_EQ(step.stats().compilations, 1) << step.explain();
  const std::vector<std::string> have = outputs_of(step.signature());
  ASSERT_GE(have.size(), 3u) << step.signature();
  EXPECT_EQ(have[0], "loss");
  EXPECT_EQ(have[1], "gradient of 1");
  EXPECT_EQ(have[2], "user");
}

TEST(Names, TextsParseBack) {
  const std::string text =
      R"(graph f(%0 "x": f32[s0, 8], %1 "w": f32[8, 8] captured, %2 "n": f32[8] captured buffer mutates_data, )"
      R"(%3 "y": f32[s0, 8] saved, %4 "t": f32[s0, 8] tangent, %5 "p": f32[8, 8] parameter) where s0 = 4 {
  %6 = add(%2, %2, 1) : f32[8]
  %7 = mul(%3, %4) : f32[s0, 8]
  return user %7 as gradient of 1, user_view %7 as custom_view, user %7 as loss, )"
      R"(new_value_of 2 %6, user %7 as saved, user %7 as gradient
}
)";
  const graph::Graph g = graph::parse(text);
  EXPECT_EQ(graph::print(g), text);
  EXPECT_EQ(g.inputs[2].kind, graph::InputSpec::Kind::Buffer);
  EXPECT_EQ(g.outputs[0].of, 1);
  std::string other = text;
  other.replace(other.find("as loss"), 7, "as lust");
  EXPECT_THROW(graph::parse(other), Error);
}

TEST(IsCompiling, SaysWhetherThisThreadTraces) {
  std::vector<bool> seen;
  auto note = [&](const Tensor& x) {
    seen.push_back(is_compiling());
    return x * 2;
  };
  const Tensor x = rand({3});
  EXPECT_FALSE(is_compiling());
  note(x);
  auto f = compile([&](const Tensor& t) { return note(t); });
  f(x);
  f(x);
  EXPECT_EQ(seen, (std::vector<bool>{false, true}));
  seen.clear();
  auto outer = compile([&](const Tensor& t) { return f(t) + 1; });
  outer(x);
  EXPECT_EQ(seen, (std::vector<bool>{true}));
  seen.clear();
  auto branches = compile([&](const Tensor& p, const Tensor& t) {
    return cond(
        p, [&](const Tensor& a) { return note(a); }, [&](const Tensor& a) { return note(a) + 1; }, t);
  });
  branches(tensor(true), x);
  EXPECT_EQ(seen, (std::vector<bool>{true, true}));
  seen.clear();
  auto eager = compile([&](const Tensor& t) { return note(t); }, {.mode = "off"});
  eager(x);
  EXPECT_EQ(seen, (std::vector<bool>{false}));
  seen.clear();
  const Tensor w = rand({3}).requires_grad_();
  w.register_hook([&](const Tensor& g) { return note(g); });
  (w * w).sum().backward();
  EXPECT_EQ(seen, (std::vector<bool>{false}));
  EXPECT_FALSE(is_compiling());
}

}  // namespace
}  // namespace reprise::of_names
