// What compiled calls keep for their backward: the cut, checkpoints' rules, and the other partitioners
// (Note [Joint graphs] in passes/partition.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

Tensor random(std::initializer_list<Int> sizes) { return rand(sizes) - 0.5; }
Tensor wanting(std::initializer_list<Int> sizes) { return random(sizes).requires_grad_(); }

/// Bytes that a function with one specialization keeps of its own, at the traced sizes.
template <class F>
std::int64_t kept(const F& f) {
  const std::string text = f.explain(Detail::Summary), before = "of their own, ";
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + before.size()));
}

using Body = std::function<Tensor(const Tensor& x, const Tensor& w)>;
/// Bytes kept, once gradients are right.
std::int64_t kept_by(const Body& body, BackwardKeeps keeps = BackwardKeeps::MinimumCut) {
  auto f = compile(body, {.name = "kept", .keeps = keeps});
  const Tensor x = wanting({64, 64}), w = wanting({64, 64});
  const Tensor y = body(x, w), tangent = ones(y.sizes());
  const std::vector<Tensor> found = grad({f(x, w)}, {x, w}, {tangent}, {.allow_unused = true}),
                            expected = grad({y}, {x, w}, {tangent}, {.allow_unused = true});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i].defined(), expected[i].defined());
    if (expected[i].defined()) {
      EXPECT_TRUE(allclose(found[i], expected[i], 1e-3, 1e-3));
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  return kept(f);
}

constexpr std::int64_t kValue = 64 * 64 * 4, kRows = 64 * 4;

// PyTorch's minimum cut keeps as much: scripts/compare_partition.py.
TEST(Kept, NoMoreThanAMinimumCutOfBytes) {
  struct Row {
    const char* what;
    Body body;
    std::int64_t most;
  };
  const Row rows[] = {
      {"a chain",
       [](const Tensor& x, const Tensor&) {
         const Tensor h = tanh(sin(exp(x * 2.0)));
         return h * sigmoid(h);
       },
       0},
      {"gelu of gelu", [](const Tensor& x, const Tensor&) { return gelu(gelu(x * 2.0) * 3.0); }, 0},
      {"softmax", [](const Tensor& x, const Tensor&) { return (x * 2.0).softmax(-1).log(); }, 2 * kRows},
      {"norm", [](const Tensor& x, const Tensor&) { return layer_norm(x * 2.0, {64}).tanh(); }, 2 * kRows},
      {"dropout", [](const Tensor& x, const Tensor&) { return (x * x).sin() * x; }, 0},
      {"what the forward does not compute", [](const Tensor& x, const Tensor& w) { return sin(matmul(x, w)); }, kValue},
      {"behind a product", [](const Tensor& x, const Tensor& w) { return gelu(matmul(x, w).exp()).sin(); }, kValue},
      {"two products", [](const Tensor& x, const Tensor& w) { return matmul(gelu(matmul(x, w)), w); }, kValue},
  };
  for (const Row& r : rows) {
    SCOPED_TRACE(r.what);
    EXPECT_LE(kept_by(r.body), r.most);
  }
}

TEST(Kept, RulesOfTheProgramHoldForProductsAndAttention) {
  auto block = [](const Tensor& x, const Tensor& w) {
    const Tensor h = gelu(matmul(x, w)), q = h.reshape({1, 64, 4, 16}).transpose(1, 2);
    const Tensor a = scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape({64, 64});
    return matmul(matmul(a, w).sin(), w);
  };
  const std::int64_t costs = kept_by(block);
  EXPECT_GE(costs, 3 * kValue);
  EXPECT_EQ(kept_by([&](const Tensor& x, const Tensor& w) { return checkpoint(block, x, w); }), 0);
  const auto by = [&](CheckpointPolicy of_products, CheckpointPolicy others) {
    return kept_by([=](const Tensor& x, const Tensor& w) {
      const CheckpointRule rule = [=](std::string_view op) { return op == "matmul" ? of_products : others; };
      return checkpoint(rule, block, x, w);
    });
  };
  EXPECT_EQ(by(CheckpointPolicy::MustRecompute, CheckpointPolicy::MustRecompute), 0);
  EXPECT_EQ(by(CheckpointPolicy::MustSave, CheckpointPolicy::MustRecompute), 2 * kValue);
  EXPECT_LE(by(CheckpointPolicy::PreferSave, CheckpointPolicy::PreferSave), costs + 2 * kValue);
}

TEST(Kept, PartitionersByChoice) {
  const Body body = [](const Tensor& x, const Tensor& w) { return matmul(gelu(matmul(x, w)).softmax(-1), w).tanh(); };
  const std::int64_t nothing = kept_by(body, BackwardKeeps::Nothing), cut = kept_by(body),
                     all = kept_by(body, BackwardKeeps::All);
  EXPECT_EQ(nothing, 0);
  EXPECT_GT(cut, nothing);
  EXPECT_GT(all, cut);
  // A rule of the program holds in each.
  const Body ruled = [](const Tensor& x, const Tensor& w) {
    return checkpoint([](std::string_view) { return CheckpointPolicy::MustSave; },
                      [](const Tensor& a, const Tensor& b) { return matmul(a, b).sin(); }, x, w);
  };
  EXPECT_GE(kept_by(ruled, BackwardKeeps::Nothing), kValue);
}

// What a checkpoint computes again stands where a walk over the tape would run it, so that layers do not live at once.
TEST(Kept, LayersAreComputedAgainOneByOne) {
  constexpr int kLayers = 6;
  auto f = compile(
      [](Tensor x, const Tensor& w) {
        for (int i = 0; i < kLayers; ++i)
          x = checkpoint([](const Tensor& a, const Tensor& b) { return matmul(matmul(a, b).tanh(), b).sin(); }, x, w);
        return x;
      },
      {.name = "layers"});
  const Tensor x = wanting({64, 64}), w = wanting({64, 64});
  grad({f(x, w)}, {x, w}, {ones({64, 64})});
  std::string text = f.explain(Detail::Graph);
  text = text.substr(text.find("graph \"layers/0 backward/0\""));
  // Between two layers' products gradients are made.
  std::size_t again_at_once = 0, longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("matmul(") == std::string::npos && line.find("mm(") == std::string::npos) continue;
    const bool forward = line.find(" of #") == std::string::npos;
    again_at_once = forward ? again_at_once + 1 : 0;
    longest = std::max(longest, again_at_once);
  }
  EXPECT_LE(longest, 2u) << text;
  EXPECT_EQ(kept(f), (kLayers - 1) * kValue) << "their arguments";
}

}  // namespace
}  // namespace reprise::test
