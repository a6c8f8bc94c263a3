// Joint graphs are open before the cut: registered passes, patterns that are pairs, partitioners of the program's, and
// the table of sequence numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/text.h"
#include "passes/registered.h"
#include "passes/rewrite.h"
#include "reprise/export_joint.h"
#include "reprise/partition.h"
#include "reprise/patterns.h"
#include "reprise/reprise.h"
#include "tests/runtime/log_lines.h"

namespace reprise::test {
namespace {

Tensor random(std::initializer_list<Int> sizes) { return rand(sizes) - 0.5; }
Tensor wanting(std::initializer_list<Int> sizes) { return random(sizes).requires_grad_(); }

struct Registration {
  explicit Registration(std::function<bool(graph::Graph&)> run) {
    passes::register_pass({"joint_test", {passes::Place::Point::BeforePartition}, std::move(run)});
  }
  ~Registration() { passes::unregister_pass("joint_test"); }
};

TEST(JointGraph, PassesSeeItBeforeTheCut) {
  std::string seen;
  const Registration look([&](graph::Graph& g) {
    seen = graph::print(g, false);
    return false;
  });
  auto body = [](const Tensor& x, const Tensor& w) { return matmul(x, w).tanh(); };
  auto f = compile(body);
  const Tensor x = wanting({4, 4}), w = wanting({4, 4});
  EXPECT_TRUE(allclose(grad({f(x, w)}, {w}, {ones({4, 4})})[0], grad({body(x, w)}, {w}, {ones({4, 4})})[0], 1e-5));
  EXPECT_NE(seen.find("tangent("), std::string::npos) << seen;
  EXPECT_NE(seen.find("gradient("), std::string::npos) << seen;
  EXPECT_NE(seen.find("tanh("), std::string::npos) << seen;
  seen.clear();
  const NoGradScope off;
  compile(body)(x, w);
  EXPECT_EQ(seen, "") << "a call that wants no gradient has none";
}

// What a pass makes of it is what both parts compute.
TEST(JointGraph, PassesChangeBothParts) {
  const Registration twice([](graph::Graph& g) {
    return passes::rewrite(
        g, [](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<graph::ValueId>> {
          if (graph::op(s.node.op).name() != "tanh") return std::nullopt;
          return std::vector{rw.emit(graph::OpId::sin, s.args)};
        });
  });
  auto f = compile([](const Tensor& x) { return x.tanh(); });
  const Tensor x = wanting({5});
  const Tensor y = f(x);
  EXPECT_TRUE(allclose(y, x.detach().sin()));
  // The derivative was traced of tanh: 1 - y^2, of the replacement's y.
  EXPECT_TRUE(allclose(grad({y}, {x}, {ones({5})})[0], 1 - y.detach().square()));
}

TEST(JointGraph, APassThatDropsAMarkIsRefused) {
  const Registration drop([](graph::Graph& g) {
    std::vector<bool> keep(g.nodes.size(), true);
    for (std::size_t i = 0; i < g.nodes.size(); ++i)
      if (graph::op(g.nodes[i].op).name() == "reprise::gradient") keep[i] = false;
    g.erase_nodes(keep);
    g.compact();
    return true;
  });
  auto f = compile([](const Tensor& x) { return x.tanh(); });
  const Tensor x = wanting({5});
  EXPECT_TRUE(allclose(grad({f(x)}, {x}, {ones({5})})[0], grad({x.tanh()}, {x}, {ones({5})})[0])) << "eagerly";
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_NE(f.stats().last_fallback_reason.find("tangent or a gradient"), std::string::npos)
      << f.stats().last_fallback_reason;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(softmax(matmul(q, k.transpose(-2, -1)) * 0.25, -1), v);
}

// Attention and its derivative are one pair, whose replacement saves no probabilities.
// What no used result depends on has no gradient, as eagerly: an optimizer leaves it alone.
TEST(JointGraph, ResultsThatNobodyUsesGiveNoGradient) {
  auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return std::vector<Tensor>{x.exp(), x * w, (w + b).sum()};
  };
  auto f = compile(body, {.second_order = true});
  for (const int used : {1, 2, 4, 3, 5, 6, 7, 2}) {
    std::vector<std::string> seen;
    for (const bool compiled : {false, true}) {
      const Tensor x = ones({3}).requires_grad_(), w = full({3}, 2.0).requires_grad_(), b = ones({3}).requires_grad_();
      const std::vector<Tensor> y = compiled ? f(x, w, b) : body(x, w, b);
      Tensor sum = zeros({});
      for (int i = 0; i < 3; ++i)
        if (used >> i & 1) sum = sum + y[static_cast<std::size_t>(i)].sum();
      std::string text;
      for (const bool again : {false, true}) {
        for (const Tensor& g :
             grad({sum}, {x, w, b}, {}, {.retain_graph = true, .create_graph = again, .allow_unused = true}))
          text += g.defined() ? std::to_string(g.sum().item<float>()) + " " : "none ";
      }
      seen.push_back(text);
    }
    EXPECT_EQ(seen[0], seen[1]) << used;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(JointGraph, APatternMatchesAFunctionWithItsDerivative) {
  struct Pattern {
    Pattern() {
      register_pattern("attention_pair", attention,
                       [](const Tensor& q, const Tensor& k, const Tensor& v) {
                         return scaled_dot_product_attention(q, k, v, {}, 0.0, false, 0.25);
                       },
                       std::tuple(random({2, 3, 8, 16}), random({2, 3, 8, 16}), random({2, 3, 8, 16})),
                       {.with_derivative = true});
    }
    ~Pattern() { unregister_pattern("attention_pair"); }
  };
  auto body = [](const Tensor& x, const Tensor& w) {
    const Tensor q = matmul(x, w).reshape({2, 24, 4, 16}).transpose(1, 2);
    return attention(q, q * 2.0, q.sin()).transpose(1, 2).reshape({2, 24, 64}).square().mean();
  };
  const Tensor x = random({2, 24, 64}), w = wanting({64, 64});
  const Tensor expected = grad({body(x, w)}, {w})[0];
  auto kept = [&](auto& f) {
    EXPECT_TRUE(allclose(grad({f(x, w)}, {w})[0], expected, 1e-4, 1e-5));
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    const std::string text = f.explain(Detail::Summary), before = "of their own, ";
    return std::stoll(text.substr(text.find(before) + before.size()));
  };
  auto without = compile(body, {.name = "without"});
  const std::int64_t bytes_without = kept(without);
  const Pattern registered;
  auto f = compile(body, {.name = "pair"});
  const std::int64_t bytes = kept(f);
  const std::vector<Stats::Match> matches = f.stats().matches;
  EXPECT_TRUE(std::any_of(matches.begin(), matches.end(), [](const Stats::Match& m) {
    return m.pattern == "attention_pair" && m.matches >= 1;
  })) << f.explain();
  EXPECT_LT(bytes, bytes_without);
  // Where no gradient is wanted the function alone is sought.
  const NoGradScope off;
  auto inference = compile(body, {.name = "inference"});
  EXPECT_TRUE(allclose(inference(x, w), body(x, w), 1e-5));
  EXPECT_FALSE(inference.stats().matches.empty());
}

// ---- partitioners of the program's own

std::int64_t bytes_kept(const std::string& text) {
  const std::string before = "of their own, ";
  return std::stoll(text.substr(text.find(before) + before.size()));
}

TEST(Partition, TheProgramChoosesWhatIsKept) {
  auto body = [](const Tensor& x, const Tensor& w) { return matmul(gelu(matmul(x, w)), w).tanh().sum(); };
  const Tensor x = random({16, 16}), w = wanting({16, 16});
  const Tensor expected = grad({body(x, w)}, {w})[0];
  auto kept = [&](PartitionFunction choose, BackwardKeeps keeps = BackwardKeeps::MinimumCut) {
    auto f = compile(body, {.name = "chosen", .keeps = keeps, .partition = std::move(choose)});
    EXPECT_TRUE(allclose(grad({f(x, w)}, {w})[0], expected, 1e-4, 1e-5));
    return bytes_kept(f.explain(Detail::Summary));
  };
  std::set<std::string> seen;
  const std::int64_t as_it_is = kept([&](JointRequest& r) {
    EXPECT_EQ(r.name.substr(0, 6), "chosen");
    EXPECT_NE(r.text.find("gradient("), std::string::npos);
    EXPECT_FALSE(r.graph.nodes.empty());
    for (const JointValue& v : r.values) {
      seen.insert(std::string(v.op));
      EXPECT_NE(r.text.find(v.name + " = "), std::string::npos) << v.name;
    }
  });
  EXPECT_EQ(as_it_is, kept({}));
  EXPECT_TRUE(seen.contains("matmul") || seen.contains("mm")) << "products are among them";
  auto all = [](bool save) {
    return [save](JointRequest& r) {
      for (JointValue& v : r.values) v.save = save && v.is_read;
    };
  };
  EXPECT_EQ(kept(all(false)), 0) << "even products are computed again";
  EXPECT_GE(kept(all(true)), as_it_is);
  EXPECT_EQ(kept(all(false), BackwardKeeps::All), 0);
  const std::int64_t products = kept([](JointRequest& r) {
    for (JointValue& v : r.values)
      v.save = v.op.find("m") != std::string_view::npos && (v.op == "matmul" || v.op == "mm");
  });
  EXPECT_GT(products, 0);
  EXPECT_LE(products, 2 * 16 * 16 * 4);
}

TEST(Partition, ExportedFunctionsAreCutByIt) {
  const Tensor x = wanting({4, 4}), w = wanting({4, 4});
  const JointFunction j = export_joint([](Tensor a, Tensor b) { return matmul(a, b).tanh().sin(); }, std::tuple(x, w));
  EXPECT_EQ(j.partition([](JointRequest& r) {
               for (JointValue& v : r.values) v.save = false;
             }).first.bytes_saved(),
            0);
  EXPECT_GT(j.partition().first.bytes_saved(), 0);
}

TEST(Partition, TheImpossibleIsOneClearError) {
  auto body = [](const Tensor& x, const Tensor& at) { return (x.index_select(0, at) * 2.0).exp().sum(); };
  auto f = compile(body, {.name = "impossible", .partition = [](JointRequest& r) {
                            for (JointValue& v : r.values) v.save = false;
                          }});
  const Tensor x = wanting({4, 4}), at = tensor({0, 1, 3}, {.dtype = kInt64});
  for (int call = 0; call < 2; ++call) {
    try {
      f(x, at);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      EXPECT_NE(std::string(e.what()).find("index_select"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("joint_test.cc"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("cannot be computed again"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(f.stats().compilations, 0);
  auto throws = compile(body, {.partition = [](JointRequest&) { throw std::runtime_error("not today"); }});
  EXPECT_THROW(throws(x, at), std::runtime_error);
  auto grows = compile(body, {.partition = [](JointRequest& r) { r.values.clear(); }});
  EXPECT_THROW(grows(x, at), Error);
}

// ---- the log

TEST(JointLog, PrintsTheTableOfSequenceNumbers) {
  std::string table;
  set_log_callback(
      [&](const LogEvent& e) {
        if (e.event == "joint") table = e.text;
      },
      "joint");
  const Tensor x = wanting({4, 4});
  compile(
      [](const Tensor& a) {
        const NameScope scope("layer");
        return a.sin().exp();
      },
      {.name = "logged"})(x);
  set_log_callback({});
  EXPECT_NE(table.find("number"), std::string::npos) << table;
  EXPECT_NE(table.find("derivative of"), std::string::npos) << table;
  auto line_with = [&](const std::string& op, const std::string& also) {
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);)
      if (line.find(op) != std::string::npos && line.find(also) != std::string::npos) return line;
    return std::string();
  };
  EXPECT_NE(line_with("sin", "#0"), "") << table;
  EXPECT_NE(line_with("exp", "layer"), "") << table;
  EXPECT_NE(line_with("mul", "#1"), "") << table << "the derivative of the second call";
  EXPECT_NE(line_with("sin", "joint_test.cc:"), "") << table;
}

}  // namespace
}  // namespace reprise::test
