// Ensembles of trees of ai.onnx.ml against a walk in plain C++, eagerly and compiled; and tables that lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::attribute;
using file::floats_attribute;
using file::strings_attribute;
using file::value;
using Attributes = std::vector<file::Message>;
using List = std::vector<std::int64_t>;
const std::vector<std::string> kModes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
constexpr std::int64_t kFeatures = 3;

/// What a regressor's attributes hold. Leaves have mode -1.
struct Ensemble {
  List tree{}, node{}, feature{}, on_true{}, on_false{}, missing{}, mode{};
  std::vector<float> threshold{};
  List weight_tree{}, weight_node{}, target{};
  std::vector<float> weight{};
  std::int64_t trees = 0;

  void grow(std::mt19937& random, int depth, const List& modes, std::int64_t targets) {
    const std::int64_t t = trees++;
    std::int64_t next = 0;
    const auto pick = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const auto make = [&](const auto& self, int left) -> std::int64_t {
      const std::size_t at = tree.size();
      const std::int64_t id = next++;
      const bool leaf = left == 0 || pick(6) == 0;
      tree.push_back(t), node.push_back(id), feature.push_back(leaf ? 0 : pick(kFeatures)), missing.push_back(pick(2));
      mode.push_back(leaf ? -1 : modes[static_cast<std::size_t>(pick(static_cast<std::int64_t>(modes.size())))]);
      threshold.push_back(static_cast<float>(pick(9)) / 2 - 2), on_true.push_back(0), on_false.push_back(0);
      if (leaf) {
        weight_tree.push_back(t), weight_node.push_back(id), target.push_back(pick(targets));
        weight.push_back(static_cast<float>(pick(64)) / 16 - 2);
        return id;
      }
      const std::int64_t a = self(self, left - 1), b = self(self, left - 1);
      on_true[at] = a, on_false[at] = b;
      return id;
    };
    make(make, depth);
  }
  Attributes attributes(std::int64_t targets, const std::string& how, bool tracks) const {
    std::vector<std::string> modes;
    for (std::int64_t m : mode) modes.push_back(m < 0 ? "LEAF" : kModes[static_cast<std::size_t>(m)]);
    Attributes all{attribute("nodes_treeids", tree),           attribute("nodes_nodeids", node),
                   attribute("nodes_featureids", feature),     attribute("nodes_truenodeids", on_true),
                   attribute("nodes_falsenodeids", on_false),  floats_attribute("nodes_values", threshold),
                   strings_attribute("nodes_modes", modes),    attribute("target_treeids", weight_tree),
                   attribute("target_nodeids", weight_node),   attribute("target_ids", target),
                   floats_attribute("target_weights", weight), attribute("n_targets", targets),
                   attribute("aggregate_function", how)};
    if (tracks) all.push_back(attribute("nodes_missing_value_tracks_true", missing));
    return all;
  }
  /// The weights of a row's leaves, by target.
  std::vector<std::vector<double>> weights(const float* row, std::int64_t targets, bool tracks) const {
    std::vector<std::vector<double>> all(static_cast<std::size_t>(targets));
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (node[i] != 0) continue;
      std::size_t at = i;
      while (mode[at] >= 0) {
        const float v = row[feature[at]], t = threshold[at];
        const bool compares[] = {v <= t, v<t, v >= t, v> t, v == t, v != t};
        const bool yes = compares[mode[at]] || (tracks && missing[at] == 1 && std::isnan(v));
        at = i + static_cast<std::size_t>(yes ? on_true[at] : on_false[at]);
      }
      for (std::size_t w = 0; w < weight.size(); ++w)
        if (weight_tree[w] == tree[at] && weight_node[w] == node[at])
          all[static_cast<std::size_t>(target[w])].push_back(weight[w]);
    }
    return all;
  }
};
double combined(const std::vector<double>& w, const std::string& how, std::int64_t trees) {
  if (w.empty()) return 0;
  if (how == "MIN") return *std::min_element(w.begin(), w.end());
  if (how == "MAX") return *std::max_element(w.begin(), w.end());
  double sum = 0;
  for (double v : w) sum += v;
  return how == "AVERAGE" ? sum / static_cast<double>(trees) : sum;
}

std::string model_of(const char* op, Attributes attributes, std::int64_t version, int features = kFeatures) {
  return file::ml_model({.inputs = {value("x", file::kFloat, {"n", features})},
                         .outputs = {file::Message().text(1, "y")},
                         .nodes = {file::node(op, {"x"}, {"y"}, std::move(attributes), {}, "ai.onnx.ml")}},
                        version);
}

void expect_agreement(const Ensemble& e, std::int64_t targets, const std::string& how, bool tracks, unsigned seed) {
  const onnx::Model m = onnx::load_bytes(model_of("TreeEnsembleRegressor", e.attributes(targets, how, tracks), 3));
  auto compiled = compile(m);
  std::mt19937 random(seed);
  for (std::int64_t n : {7, 0, 1, 40}) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < n * kFeatures; ++i)
      x.push_back(random() % 5 == 0 ? NAN : static_cast<float>(random() % 19) / 4 - 2.25f);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < n; ++i)
      for (const auto& w : e.weights(x.data() + i * kFeatures, targets, tracks))
        expected.push_back(combined(w, how, e.trees));
    const Tensor wanted = tensor_of(expected, {n, targets}), in = tensor_of(x, {n, kFeatures});
    EXPECT_TRUE(allclose(m(in)[0].to(kFloat64), wanted, 1e-5, 1e-5)) << how << " " << n;
    EXPECT_TRUE(allclose(compiled(in)[0].to(kFloat64), wanted, 1e-5, 1e-5)) << how << " " << n;
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
  EXPECT_EQ(compiled.stats().compilations, 1) << compiled.explain();
}

TEST(OnnxTrees, RegressorsAgreeWithAWalkOfEachTree) {
  unsigned seed = 0;
  for (const char* how : {"SUM", "AVERAGE", "MIN", "MAX"})
    for (std::int64_t targets : {1, 3})
      for (const List& modes : {List{0}, List{1}, List{2}, List{3}, List{4}, List{5}, List{0, 1, 2, 3, 4, 5}}) {
        std::mt19937 random(++seed);
        Ensemble e;
        for (int t = 0; t < 4; ++t) e.grow(random, static_cast<int>(random() % 5), modes, targets);
        expect_agreement(e, targets, how, seed % 2 == 0, seed);
      }
}

/// A tree that is only one long branch: its steps are a loop.
TEST(OnnxTrees, DeepTreesAreALoop) {
  Ensemble e;
  constexpr std::int64_t kDeep = 100;
  for (std::int64_t i = 0; i <= kDeep; ++i) {
    const bool leaf = i == kDeep;
    e.tree.push_back(0), e.node.push_back(2 * i), e.feature.push_back(leaf ? 0 : i % kFeatures), e.missing.push_back(0);
    e.mode.push_back(leaf ? -1 : 0), e.threshold.push_back(static_cast<float>(i % 7) / 2);
    e.on_true.push_back(leaf ? 0 : 2 * i + 2), e.on_false.push_back(leaf ? 0 : 2 * i + 1);
    e.weight_tree.push_back(0), e.weight_node.push_back(2 * i), e.target.push_back(0), e.weight.push_back(-5);
    if (leaf) break;
    e.tree.push_back(0), e.node.push_back(2 * i + 1), e.feature.push_back(0), e.missing.push_back(0);
    e.mode.push_back(-1), e.threshold.push_back(0), e.on_true.push_back(0), e.on_false.push_back(0);
    e.weight_tree.push_back(0), e.weight_node.push_back(2 * i + 1), e.target.push_back(0);
    e.weight.push_back(static_cast<float>(i));
  }
  e.trees = 1;
  expect_agreement(e, 1, "SUM", false, 3);
}

file::Message numbers(const std::string& name, const std::vector<float>& all) {
  return file::tensor_attribute(name, file::floats("", {static_cast<std::int64_t>(all.size())}, all));
}
/// x0 is one of 3, 1, 4 ? leaf 0 : (x1 <= 2 ? leaf 1 : leaf 2), of version 5.
Attributes members() {
  return {attribute("tree_roots", List{0}),
          attribute("nodes_featureids", List{0, 1}),
          attribute("nodes_trueleafs", List{1, 1}),
          attribute("nodes_truenodeids", List{0, 1}),
          attribute("nodes_falseleafs", List{0, 1}),
          attribute("nodes_falsenodeids", List{1, 2}),
          file::tensor_attribute("nodes_modes", file::tensor("", 2, {2}, std::vector<std::uint8_t>{6, 0})),
          numbers("nodes_splits", {0, 2}),
          numbers("membership_values", {3, 1, 4, NAN}),
          attribute("leaf_targetids", List{0, 1, 1}),
          numbers("leaf_weights", {10, 20, 30}),
          attribute("n_targets", std::int64_t{2})};
}
TEST(OnnxTrees, MembersOfSets) {
  const onnx::Model m = onnx::load_bytes(model_of("TreeEnsemble", members(), 5, 2));
  auto compiled = compile(m);
  const Tensor x = tensor_of<float>({3, 0, 1, 9, 4, 2, 2, 2, 3.5f, 3, NAN, 0, 5, 2}, {7, 2});
  const Tensor expected = tensor_of<float>({10, 0, 10, 0, 10, 0, 0, 20, 0, 30, 0, 20, 0, 20}, {7, 2});
  EXPECT_TRUE(equal(m(x)[0], expected));
  EXPECT_TRUE(equal(compiled(x)[0], expected));
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
}

/// The transforms of version 5 are numbered as the specification has it.
TEST(OnnxTrees, TransformsByNumber) {
  Attributes a = members();
  a.push_back(attribute("post_transform", std::int64_t{1}));
  const Tensor x = tensor_of<float>({3, 0, 0, 0}, {2, 2});
  const Tensor scores = tensor_of<float>({10, 0, 0, 20}, {2, 2});
  EXPECT_TRUE(allclose(onnx::load_bytes(model_of("TreeEnsemble", a, 5, 2))(x)[0], softmax(scores, 1)));
  a.back() = attribute("post_transform", std::int64_t{2});
  EXPECT_TRUE(allclose(onnx::load_bytes(model_of("TreeEnsemble", a, 5, 2))(x)[0], sigmoid(scores)));
}

TEST(OnnxTrees, TablesThatLieAreOneErrorAtLoading) {
  const auto told = [](const std::string& model, const char* message) {
    const Error e = error_of([&] { onnx::load_bytes(model); });
    EXPECT_EQ(e.code(), ErrorCode::FileFormat) << message;
    EXPECT_NE(e.message().find(message), std::string::npos) << e.message();
  };
  const auto changed = [&](const char* message, auto&& change) {
    std::mt19937 random(5);
    Ensemble e;
    e.grow(random, 3, {0}, 2);
    std::int64_t targets = 2;
    change(e, targets);
    told(model_of("TreeEnsembleRegressor", e.attributes(targets, "SUM", true), 1), message);
  };
  changed("'nodes_treeids' has", [](Ensemble& e, std::int64_t&) { e.tree.pop_back(); });
  changed("'nodes_missing_value_tracks_true' has", [](Ensemble& e, std::int64_t&) { e.missing.push_back(1); });
  changed("'target_weights' has", [](Ensemble& e, std::int64_t&) { e.weight.pop_back(); });
  changed("make a cycle", [](Ensemble& e, std::int64_t&) { e.on_false[0] = 0; });
  changed("there is no node 99 in the tree 0", [](Ensemble& e, std::int64_t&) { e.on_true[0] = 99; });
  changed("there is no node 99 in the tree 0", [](Ensemble& e, std::int64_t&) { e.weight_node[0] = 99; });
  changed("compares feature -1", [](Ensemble& e, std::int64_t&) { e.feature[0] = -1; });
  changed("is there twice", [](Ensemble& e, std::int64_t&) { e.node[1] = 0; });
  changed("a weight of target 2, and there are 2", [](Ensemble& e, std::int64_t&) { e.target[0] = 2; });
  changed("has 0 targets", [](Ensemble&, std::int64_t& targets) { targets = 0; });
  changed("has no nodes", [](Ensemble& e, std::int64_t&) { e = {}; });
  const auto with = [](std::size_t i, file::Message m) {
    Attributes a = members();
    a[i] = std::move(m);
    return model_of("TreeEnsemble", a, 5, 2);
  };
  told(with(0, attribute("tree_roots", List{2})), "a tree begins at the node 2 of 2");
  told(with(5, attribute("nodes_falsenodeids", List{1, 3})), "leads to the leaf 3 of 3");
  told(with(5, attribute("nodes_falsenodeids", List{0, 2})), "make a cycle");
  told(with(6, file::tensor_attribute("nodes_modes", file::tensor("", 2, {2}, std::vector<std::uint8_t>{6, 7}))),
       "the mode of a node is 7");
  // Of more targets than memory has room for, and features that a call does not have.
  Attributes many = members();
  many[11] = attribute("n_targets", std::int64_t{1} << 40);
  EXPECT_NE(error_of([&] { onnx::load_bytes(model_of("TreeEnsemble", many, 5, 2)); }).message().find("at most"),
            std::string::npos);
  const onnx::Model m = onnx::load_bytes(model_of("TreeEnsemble", members(), 5, 1));
  EXPECT_NE(error_of([&] {
              m(zeros({2, 1}));
            })
                .message()
                .find("compares 2 features, and is given 1"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise::test
