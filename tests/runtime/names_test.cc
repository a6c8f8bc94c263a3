// Arguments and their parts are called by their names, in what a miss says and in explain().
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "reprise/reprise.h"

namespace reprise {
namespace {

struct Layer {
  Tensor wq;
  std::vector<Tensor> experts;
};
struct Model {
  std::vector<Layer> layers;
  float scale = 1;
  std::optional<Tensor> bias;
  std::map<std::string, Tensor> heads;
};

/// What a sealed function says of a call that fits nothing.
template <class F, class... A>
std::string miss(F& f, const A&... args) {
  try {
    f(args...);
  } catch (const Error& e) {
    EXPECT_EQ(error_code_name(e.code()), error_code_name(ErrorCode::Sealed));
    return e.what();
  }
  return "nothing was thrown";
}

void expect_says(const std::string& text, const char* what) { EXPECT_NE(text.find(what), std::string::npos) << "'" << what << "' in: " << text; }

Model model() { return {{{ones({2, 2}), {}}, {ones({2, 2}), {ones({2}), ones({2})}}}, 1, {}, {{"text", ones({2})}}}; }

TEST(Names, AMissNamesTheArgumentOrFieldAndBothValues) {
  auto f = compile([](const Model& m, Tensor x, bool causal, int, std::string) { return (causal ? x + 1 : x) * m.scale + m.layers[0].wq.sum(); },
                   {.name = "step", .arguments = {"weights", "tokens", "causal"}});
  Tensor x = ones({4, 2});
  f(model(), x, true, 3, "mean");
  f.seal();
  expect_says(miss(f, model(), x, false, 3, "mean"), "causal (arg 2) is false, was true");
  expect_says(miss(f, model(), x, true, 4, "mean"), "arg 3 is 4, was 3");
  expect_says(miss(f, model(), x, true, 3, "a text of more than one word"), "arg 4 is 'a text of more than one word', was 'mean'");
  expect_says(miss(f, model(), x.to(kFloat64), true, 3, "mean"), "tokens (arg 1) is float64, was float32");
  expect_says(miss(f, model(), x.select(0, 0), true, 3, "mean"), "tokens (arg 1) is 1-dimensional, was 2-dimensional");
  expect_says(miss(f, model(), x.t(), true, 3, "mean"), "tokens (arg 1) is dense in order [1, 0], was row-major");
  expect_says(miss(f, model(), Tensor(), true, 3, "mean"), "tokens (arg 1) is undefined, was a tensor");

  Model m = model();
  m.scale = 0.5f;
  expect_says(miss(f, m, x, true, 3, "mean"), "weights.scale (arg 0) is 0.5, was 1");
  m = model();
  m.layers[1].experts.push_back(ones({2}));
  expect_says(miss(f, m, x, true, 3, "mean"), "weights.layers[1].experts (arg 0) is 3 long, was 2 long");
  m = model();
  m.layers[0].wq = m.layers[0].wq.to(kBFloat16);
  expect_says(miss(f, m, x, true, 3, "mean"), "weights.layers[0].wq (arg 0) is bfloat16, was float32");
  expect_says(miss(f, m, x, false, 3, "mean"), "weights.layers[0].wq (arg 0) is bfloat16, was float32 (and 1 other argument differs)");
  m = model();
  m.layers[1].wq = ones({5}, {.dtype = kInt64});  // of which the function does not know
  expect_says(miss(f, m, x, false, 3, "mean"), "causal (arg 2) is false, was true");
  m = model();
  m.bias = ones({2});
  expect_says(miss(f, m, x, true, 3, "mean"), "weights.bias (arg 0) is given, was not given");
  m = model();
  m.heads = {{"audio", ones({2})}};
  expect_says(miss(f, m, x, true, 3, "mean"), "weights.heads (arg 0) is 'audio', was 'text'");
}

TEST(Names, ScalarsAndTypes) {
  auto f = compile([](auto x, Scalar s) { return x * s; });
  f(ones({2}), Scalar(2));
  f.seal();
  expect_says(miss(f, ones({2}), Scalar(2.5)), "arg 1 is a floating-point number, was an integer");
  auto g = compile([](auto x, auto n) { return x * n; });
  g(ones({2}), 2);
  g.seal();
  expect_says(miss(g, ones({2}), 2.0), "arg 1 is a floating-point number, was an integer");
  expect_says(miss(g, ones({2}), Int(2)), "arg 1 is an Int, was an integer");
  expect_says(miss(g, ones({2}), 2L), "the arguments are of other C++ types");
}

TEST(Names, TheNearestOfOtherStructuresIsNamed) {
  auto f = compile([](Tensor x, Tensor y, bool up) { return up ? x + y : x - y; }, {.name = "f"});
  Tensor x = ones({3}), d = x.to(kFloat64);
  f(x, x, true);
  f(d, d, true);
  f.seal();
  expect_says(miss(f, x, x, false), "f/0: arg 2 is false, was true");
  expect_says(miss(f, d, d, false), "f/1: arg 2 is false, was true");
}

TEST(Names, ExplainAndGuardsCallWeightsByTheirFields) {
  auto f = compile([](const Model& m, Tensor x) { return mm(x, m.layers[1].wq); }, {.arguments = {"weights"}});
  f(model(), ones({3, 2}));
  const std::string text = f.explain();
  expect_says(text, "\"weights.layers[1].wq\"");
  expect_says(text, "\"weights.heads[\\\"text\\\"]\"");
  expect_says(text, "\"arg 1\"");
}

// NameScope: graphs, launches and errors say in which part of the program a call was made; it decides nothing.
TEST(Names, ScopesAreToldAndDecideNothing) {
  auto step = [](const char* model) {
    return [=](Tensor x, Tensor w, Tensor rows) {
      NameScope scope(model);
      for (int i = 0; i < 2; ++i) {
        NameScope layer("layers", i);
        x = linear(x, w);
        NameScope part("norm");
        x = x * rsqrt((x * x).mean(-1, true));
      }
      NameScope head("head");
      return x.index_select(0, rows);
    };
  };
  auto f = compile(step("model"), {.name = "step"});
  const Tensor x = ones({4, 2}), w = ones({2, 2});
  f(x, w, arange(3));
  const std::string text = f.explain();
  expect_says(text, "model.layers[0] ");
  expect_says(text, "model.layers[1].norm ");
  expect_says(text, "model.head ");
  const std::string launches = text.substr(text.find("launches:"));
  expect_says(launches, "; model.layers[0] ");
  expect_says(launches, "; model.head ");
  for (auto call : {std::function<void(Tensor)>([&](Tensor rows) { f(x, w, rows); }), std::function<void(Tensor)>([&](Tensor rows) { step("model")(x, w, rows); })}) {
    try {
      call(arange(5));
      ADD_FAILURE() << "an index beyond the table";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
      expect_says(e.what(), "(in model.head)");
    }
  }
  // Equal calls in two scopes are one node, and other names are no other graph.
  auto twice = compile([](Tensor x) {
    auto half = [&](const char* name) {
      NameScope scope(name);
      return exp(x).sum();
    };
    return half("left") + half("right");
  });
  twice(x);
  const std::string merged = twice.explain();
  EXPECT_EQ(merged.find("= exp("), merged.rfind("= exp(")) << merged;
  for (int i = 0; i < 3; ++i) {
    NameScope run("run", i);
    twice(x);
  }
  EXPECT_EQ(twice.stats().specializations, 1);
}

}  // namespace
}  // namespace reprise
