// Registered passes: where they run, on what, and what becomes of one that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/text.h"
#include "passes/difference.h"
#include "passes/pass.h"
#include "passes/registered.h"
#include "passes/rewrite.h"
#include "reprise/reprise.h"
#include "tests/runtime/log_lines.h"

namespace reprise {
namespace {

using graph::Graph;
using graph::OpId;
using passes::Place;
using Point = Place::Point;

struct Registration {
  Registration(std::string n, Place where, std::function<bool(Graph&)> run, passes::Preserves preserves = {})
      : name(n) {
    passes::register_pass({std::move(n), std::move(where), std::move(run), preserves});
  }
  ~Registration() { passes::unregister_pass(name); }
  std::string name;
};

Tensor x(std::int64_t n = 4) { return arange(n, {.dtype = kFloat32}); }
Tensor body(Tensor a) {
  a.slice(0, 1, 3).add_(1);
  return exp(a).neg();
}
void expect_right(const Tensor& got, const Tensor& a) {
  Tensor b = x();
  EXPECT_TRUE(equal(got, body(b)));
  EXPECT_TRUE(equal(a, b));
}

TEST(Hooks, RunOnTheFormThatTheyAreFor) {
  std::vector<std::pair<std::string, std::string>> seen;
  auto look = [&](std::string where) {
    return [&seen, where](Graph& g) {
      seen.emplace_back(where, graph::print(g, false));
      return false;
    };
  };
  Registration last("last", {Point::AfterReinplacing}, look("last"));
  Registration before("before", {Point::Before, "decompose"}, look("before"));
  Registration after("after", {Point::After, "decompose"}, look("after"));
  Registration functional("functional", {Point::AfterFunctionalization}, look("functional"));
  Registration traced("traced", {Point::BeforeFunctionalization}, look("traced"));
  auto f = compile([](Tensor a) {
    a.slice(0, 1, 3).add_(1);
    return softmax(a, 0);
  });
  f(x());
  ASSERT_EQ(seen.size(), 5u) << "eager execution asks none of them";
  EXPECT_EQ(seen[0].first, "traced");
  EXPECT_NE(seen[0].second.find("add_("), std::string::npos);
  EXPECT_EQ(seen[1].first, "functional");
  EXPECT_NE(seen[1].second.find("slice_scatter"), std::string::npos);
  EXPECT_EQ(seen[2].first, "before");
  EXPECT_NE(seen[2].second.find("softmax"), std::string::npos);
  EXPECT_EQ(seen[3].first, "after");
  EXPECT_EQ(seen[3].second.find("softmax"), std::string::npos);
  EXPECT_EQ(seen[4].first, "last");
  EXPECT_NE(seen[4].second.find(" in %0 keeps"), std::string::npos) << seen[4].second;
  x().exp();
  EXPECT_EQ(seen.size(), 5u);
}

// A pass on the traced graph meets no view that shows what it is of, and nothing that is copied to itself: known sizes
// decide.
TEST(Hooks, TracedGraphsHaveNoNoops) {
  std::string seen;
  Registration look("look", {Point::BeforeFunctionalization}, [&](Graph& g) {
    seen = graph::print(g, false);
    return false;
  });
  auto body = [](Tensor a, Tensor b) {
    const Tensor c = a.view({a.size(0), b.size(1)}).slice(0, 0, b.size(0)).permute({0, 1});
    c.add_(b);
    a.copy_(c.expand({a.size(0), a.size(1)}));
    const Tensor row = a.slice(0, 1, 2);
    row.mul_(2);
    return std::pair(a.alias(), row.view({-1}));
  };
  auto f = compile(body);
  for (std::int64_t n : {3, 5}) {
    Tensor a = x(4 * n).view({n, 4}), b = a.cos(), c = a.clone();
    const auto got = f(a, b), want = body(c, b);
    EXPECT_TRUE(equal(got.first, want.first) && equal(got.second, want.second) && equal(a, c));
    got.first.zero_();
    EXPECT_TRUE(equal(a, zeros({n, 4}))) << "still a view of the argument";
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  for (const char* gone : {"permute", "expand", "alias", "copy_"})
    EXPECT_EQ(seen.find(gone), std::string::npos) << gone << "\n" << seen;
  EXPECT_NE(seen.find("slice(%0, 0, 1, 2, 1)"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("slice("), seen.rfind("slice(")) << seen;
}

// What a pass makes of the graph is what runs. It may number values anew, on the traced graph, too.
TEST(Hooks, ChangeWhatIsCompiled) {
  auto abs_for_neg = [](Graph& g) {
    return passes::rewrite(
        g, [](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<graph::ValueId>> {
          if (s.node.op != OpId::neg) return std::nullopt;
          return {{rw.emit(OpId::abs, {s.args[0]})}};
        });
  };
  for (Point point : {Point::AfterFunctionalization, Point::Before, Point::After}) {
    Registration r("abs", {point, point == Point::AfterFunctionalization ? "" : "cat_last"}, abs_for_neg);
    auto f = compile(body);
    Tensor a = x(), b = x();
    EXPECT_TRUE(equal(f(a), body(b).abs()));
    EXPECT_TRUE(equal(a, b));
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
  Registration traced("abs", {Point::BeforeFunctionalization}, [](Graph& g) {
    bool changed = false;
    for (graph::Node& n : g.nodes)
      if (n.op == OpId::neg) n.op = OpId::abs, changed = true;
    g.compact();
    return changed;
  });
  auto f = compile([](Tensor a, Tensor unused) {
    exp(unused);
    a.unsqueeze_(0);
    return neg(a);
  });
  for (int call = 0; call < 2; ++call) {
    Tensor a = x() - 2, b = x(3);
    EXPECT_TRUE(equal(f(a, b), (x() - 2).abs().unsqueeze(0)));
    EXPECT_EQ(a.dim(), 2);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 1);
}

// A composite that comes late is taken apart, unless the pass says that it makes none.
TEST(Hooks, TheNormalFormIsMadeAgain) {
  Registration r("softmax", {Point::After, "fold_constants"}, [](Graph& g) {
    return passes::rewrite(
        g, [](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<graph::ValueId>> {
          if (s.node.op != OpId::neg) return std::nullopt;
          return {{rw.emit(OpId::softmax, {s.args[0], Int(0), std::monostate{}})}};
        });
  });
  auto f = compile([](Tensor a) { return neg(a) + 1; });
  const Tensor got = f(x()), want = softmax(x(), 0) + 1;
  EXPECT_LT((got - want).abs().max().item<float>(), 1e-6f);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// What follows from what was asked of sizes, but was not said, comes up when a pass's graph is looked at. It is no
// change.
TEST(Hooks, OneThatChangesNothingKeepsTheSignature) {
  Registration r("looks", {Point::Before, "layouts"}, [](Graph&) { return false; });
  auto f = compile([](Tensor a, Tensor b) {
    const Tensor rows = a.select(1, 0) * b.view({b.numel()});  // as many as b has elements: with b's sizes, one column
    return std::pair(rows, a + b);
  });
  const Tensor a = full({1, 1}, 3.0f), b = full({1, 1}, 4.0f);
  EXPECT_EQ(f(a, b).second.item<float>(), 7);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

void expect_eager(std::function<bool(Graph&)> pass, const std::string& why,
                  Place where = {Point::AfterFunctionalization}) {
  Registration r("wrong", where, std::move(pass));
  auto f = compile(body);
  Tensor a = x();
  expect_right(f(a), a);
  ASSERT_EQ(f.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(f.stats().fallbacks[0].reason, "pass_failed");
  EXPECT_NE(f.stats().last_fallback_reason.find("pass 'wrong' " + why), std::string::npos)
      << f.stats().last_fallback_reason;
}

TEST(Hooks, OneThatFailsIsNamedAndTheCallServedEagerly) {
  expect_eager([](Graph&) -> bool { throw std::runtime_error("no luck"); }, "throws: no luck");
  expect_eager([](Graph&) -> bool { throw 7; }, "throws what is no std::exception");
  expect_eager([](Graph& g) { return g.nodes[0].args.pop_back(), true; },
               "leaves a graph that is not right: node 0 (slice)");
  expect_eager([](Graph& g) { return std::swap(g.nodes.front(), g.nodes.back()), true; },
               "leaves a graph that is not right");
  expect_eager([](Graph& g) { return g.outputs.pop_back(), true; },
               "leaves a graph that is not right: input 0: says that it is written, and no output is its new value");
  expect_eager([](Graph& g) { return g.outputs.clear(), true; }, "changes the signature",
               {Point::BeforeFunctionalization});
  expect_eager(
      [](Graph& g) {
        for (graph::Node& n : g.nodes) n.tied.assign(n.results.size(), {999});
        return true;
      },
      "leaves a graph that is not right", {Point::AfterReinplacing});
}

TEST(Hooks, ASealedFunctionThrows) {
  auto f = compile(body);
  Tensor a = x();
  f(a);
  f.seal();
  Registration r("wrong", {}, [](Graph&) -> bool { throw std::runtime_error("no luck"); });
  expect_right(f(a = x()), a);  // what is compiled is served
}

TEST(Hooks, Mistakes) {
  auto nothing = [](Graph&) { return false; };
  auto refusal = [&](std::string name, Place where, std::function<bool(Graph&)> run) -> std::string {
    try {
      passes::register_pass({std::move(name), std::move(where), std::move(run)});
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      return e.message();
    }
  };
  Registration r("mine", {}, nothing);
  EXPECT_EQ(refusal("mine", {Point::AfterReinplacing}, nothing), "a pass 'mine' is registered already");
  EXPECT_EQ(refusal("", {}, nothing), "a pass needs a name");
  EXPECT_EQ(refusal("other", {}, nullptr), "pass 'other' has no function");
  EXPECT_EQ(refusal("decompose", {}, nothing), "'decompose' is the name of a pass of the library");
  EXPECT_TRUE(refusal("other", {Point::After, "fuse"}, nothing)
                  .starts_with("pass 'other' wants to run by 'fuse', which is none of use_known_sizes, merge_equal, "))
      << refusal("other", {Point::After, "fuse"}, nothing);
  EXPECT_FALSE(passes::unregister_pass("other"));
  EXPECT_EQ(passes::registered()->passes.size(), 1u);
}

TEST(Hooks, TheLogShowsWhatEachPassDid) {
  const reprise::testing::LogLines log;
  Registration r("mine", {Point::AfterFunctionalization}, [](Graph& g) {
    g.nodes.back().op = OpId::abs;
    return true;
  });
  auto f = compile([](Tensor a) { return neg(exp(a)); }, {.name = "logged"});
  f(x());
  const std::vector<std::string> lines = log.lines();
  auto line = std::find_if(lines.begin(), lines.end(),
                           [](const std::string& l) { return l.find("\"pass\":\"mine\"") != std::string::npos; });
  ASSERT_NE(line, lines.end());
  EXPECT_NE(line->find("\"difference\":\"-   %2 = neg(%1) : f32[s0]"), std::string::npos) << *line;
  EXPECT_NE(line->find("\\n+   %2 = abs(%1) : f32[s0]"), std::string::npos) << *line;
  EXPECT_GT(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& l) { return l.find("\"event\":\"pass\"") != std::string::npos; }),
            8);
}

TEST(Difference, IsTheFewestLines) {
  EXPECT_EQ(passes::difference("a\nb\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(passes::difference("a\nb\nc\n", "a\nx\nc\n"), "- b\n+ x\n");
  EXPECT_EQ(passes::difference("a\nb\nc\nd\n", "b\nd\ne\n"), "- a\n- c\n+ e\n");
  EXPECT_EQ(passes::difference("", "a\n"), "+ a\n");
  std::string was, is;
  for (int i = 0; i < 5000; ++i) was += std::to_string(i) + "\n", is += std::to_string(-1 - i) + "\n";
  EXPECT_EQ(passes::difference(was, is).size(), was.size() + is.size() + 20000);
}

}  // namespace
}  // namespace reprise
