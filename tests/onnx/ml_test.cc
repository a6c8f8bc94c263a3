// Operators of ai.onnx.ml against what ONNX Runtime gives, eagerly and compiled, one compilation for all batches.
#include <gtest/gtest.h>

#include <cmath>

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

/// Two trees of two features: x0 <= 0.5 ? leaf 1 : x1 > 1 ? leaf 3 : leaf 4, and x1 < -1 (or missing) ? leaf 1 :
/// leaf 2.
Attributes trees_and(Attributes more) {
  Attributes all{attribute("nodes_treeids", List{0, 0, 0, 0, 0, 1, 1, 1}),
                 attribute("nodes_nodeids", List{0, 1, 2, 3, 4, 0, 1, 2}),
                 attribute("nodes_featureids", List{0, 0, 1, 0, 0, 1, 0, 0}),
                 attribute("nodes_truenodeids", List{1, 0, 3, 0, 0, 1, 0, 0}),
                 attribute("nodes_falsenodeids", List{2, 0, 4, 0, 0, 2, 0, 0}),
                 attribute("nodes_missing_value_tracks_true", List{0, 0, 0, 0, 0, 1, 0, 0}),
                 floats_attribute("nodes_values", {0.5f, 0, 1, 0, 0, -1, 0, 0}),
                 strings_attribute("nodes_modes",
                                   {"BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"})};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct Case {
  const char *op, *name;
  std::int64_t version, features;
  std::vector<float> x;
  Attributes attributes;
  List labels;  ///< of a classifier
  std::vector<double> expected;
};
std::vector<Case> cases() {
  return {
      {"TreeEnsembleClassifier",
       "tree, one class",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("class_ids", List{1, 1, 1, 1, 1}),
                  floats_attribute("class_weights", {0.25, -0.5, 1, 0.75, -1.25}),
                  attribute("classlabels_int64s", List{3, 7})}),
       {3, 3, 3, 7, 7, 3},
       {0, -1, 0, -1.75, 0, -0.25, 0, 1.75, 0, 1, 0, -0.25}},
      {"TreeEnsembleClassifier",
       "tree, first class alone, positive",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("class_ids", List{0, 0, 0, 0, 0}),
                  floats_attribute("class_weights", {0.25, 0.5, 0.125, 0.375, 0.0625}),
                  attribute("classlabels_int64s", List{3, 7})}),
       {3, 7, 3, 3, 7, 3},
       {0.6875, 0.3125, 0.4375, 0.5625, 0.8125, 0.1875, 0.5, 0.5, 0.375, 0.625, 0.8125, 0.1875}},
      {"TreeEnsembleClassifier",
       "tree, first class alone, logistic",
       3,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("class_ids", List{0, 0, 0, 0, 0}),
                  floats_attribute("class_weights", {0.25, -0.5, 1, 0.75, -1.25}),
                  attribute("classlabels_int64s", List{0, 1}), attribute("post_transform", std::string("LOGISTIC")),
                  floats_attribute("base_values", {0.25})}),
       {0, 0, 0, 1, 1, 0},
       {0.6791787, 0.3208213, 0.8175744, 0.1824256, 0.5, 0.5, 0.119203, 0.880797, 0.2227001, 0.7772999, 0.5, 0.5}},
      {"TreeEnsembleClassifier",
       "tree, two classes",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}),
                  attribute("class_nodeids", List{1, 1, 3, 3, 4, 4, 1, 1, 2, 2}),
                  attribute("class_ids", List{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}),
                  floats_attribute("class_weights", {0.25, 0.25, 0.5, -0.5, 0.125, 1, 0.375, 0.75, 0.0625, -1.25}),
                  attribute("classlabels_int64s", List{0, 1}), attribute("post_transform", std::string("SOFTMAX"))}),
       {0, 0, 0, 1, 1, 0},
       {0.7879312, 0.2120688, 0.909907, 0.09009299, 0.6076632, 0.3923368, 0.2227001, 0.7772999, 0.4073334, 0.5926666,
        0.6076632, 0.3923368}},
      {"TreeEnsembleClassifier",
       "tree, three classes",
       3,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("class_ids", List{0, 1, 1, 2, 0}),
                  floats_attribute("class_weights", {0.25, -0.5, 1, 0.75, -1.25}),
                  attribute("classlabels_int64s", List{5, 6, 9}), floats_attribute("base_values", {0.5, 0, 0.25}),
                  attribute("post_transform", std::string("SOFTMAX_ZERO"))}),
       {9, 9, 6, 6, 9, 6},
       {0.3208213, 0, 0.6791787, 0.1999078, 0.2566866, 0.5434056, 0.1055645, 0.6074815, 0.286954, 0.2326965, 0.3836517,
        0.3836517, 0.4378235, 0, 0.5621765, 0.1055645, 0.6074815, 0.286954}},
      {"TreeEnsembleClassifier",
       "tree, three classes of some",
       3,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("class_ids", List{0, 1, 1, 2, 2}),
                  floats_attribute("class_weights", {-0.25, -0.5, -1, -0.75, -1.25}),
                  attribute("classlabels_int64s", List{5, 6, 9})}),
       {5, 6, 6, 9, 5, 6},
       {-0.25, 0, -1.25, 0, -0.5, -1.25, 0, -1, -1.25, 0, -1, -0.75, -0.25, 0, -0.75, 0, -1, -1.25}},
      {"TreeEnsembleRegressor",
       "one target, probit",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("target_treeids", List{0, 0, 0, 1, 1}), attribute("target_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("target_ids", List{0, 0, 0, 0, 0}),
                  floats_attribute("target_weights", {0.25, 0.5, 0.125, 0.375, 0.0625}),
                  attribute("n_targets", std::int64_t{1}), attribute("post_transform", std::string("PROBIT"))}),
       {},
       {-0.4888142, 0.1573115, -0.887294, 0, 0.3186513, -0.887294}},
      {"TreeEnsembleRegressor",
       "one target, logistic",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("target_treeids", List{0, 0, 0, 1, 1}), attribute("target_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("target_ids", List{0, 0, 0, 0, 0}),
                  floats_attribute("target_weights", {0.25, 0.5, 0.125, 0.375, 0.0625}),
                  attribute("n_targets", std::int64_t{1}), attribute("post_transform", std::string("LOGISTIC")),
                  floats_attribute("base_values", {1})}),
       {},
       {1.3125, 1.5625, 1.1875, 1.5, 1.625, 1.1875}},
      {"TreeEnsembleRegressor",
       "two targets",
       1,
       2,
       {0, 0, 1, 2, 1, 0, NAN, -2, 0.5, NAN, 3, 1},
       trees_and({attribute("target_treeids", List{0, 0, 0, 1, 1}), attribute("target_nodeids", List{1, 3, 4, 1, 2}),
                  attribute("target_ids", List{0, 1, 0, 1, 0}),
                  floats_attribute("target_weights", {0.25, -0.5, 1, 0.75, -1.25}),
                  attribute("n_targets", std::int64_t{2}), attribute("aggregate_function", std::string("MIN")),
                  floats_attribute("base_values", {1, 2})}),
       {},
       {-0.25, 0, -0.25, 1.5, -0.25, 0, 2, 2.75, 1.25, 2.75, -0.25, 0}},
      {"LinearRegressor",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({floats_attribute("coefficients", {1, 2, 3, -1, 0.5, 0}), floats_attribute("intercepts", {0.5, -1}),
                   attribute("targets", std::int64_t{2}), attribute("post_transform", std::string("SOFTMAX"))}),
       {},
       {0.880797, 0.1192029, 0.8175744, 0.1824255, 0.1824255, 0.8175744, 0.006692851, 0.9933072}},
      {"LinearClassifier",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({floats_attribute("coefficients", {1, 2, 3, -1, 0.5, 0, 0, 1, 1}),
                   floats_attribute("intercepts", {0.5, -1, 0}), attribute("classlabels_ints", List{4, 2, 9}),
                   attribute("post_transform", std::string("LOGISTIC"))}),
       {4, 4, 9, 2},
       {0.2689414, 0.04742587, 0.1824256, 0.6224593, 0.2689414, 0.5, 0.02931219, 0.1192029, 0.2689414, 0.004070163,
        0.3775407, 0.1192029}},
      {"LinearClassifier",
       "one score",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({floats_attribute("coefficients", {1, 0.5, 0.25}), floats_attribute("intercepts", {0.5}),
                   attribute("classlabels_ints", List{4, 2}), attribute("post_transform", std::string("LOGISTIC"))}),
       {2, 2, 2, 4},
       {0.3486451, 0.6513549, 0.3775406, 0.6224594, 0.0140636, 0.9859364, 0.7772999, 0.2227001}},
      {"SVMRegressor",
       "",
       1,
       2,
       {1, 0, 0.5, -2, 0, 0},
       Attributes({attribute("n_supports", std::int64_t{3}), floats_attribute("support_vectors", {1, 0, 0, 1, -1, 0.5}),
                   floats_attribute("coefficients", {0.5, -0.25, 0.75}), floats_attribute("rho", {0.1}),
                   attribute("kernel_type", std::string("RBF")), floats_attribute("kernel_params", {0.5, 0, 3})}),
       {},
       {0.5976049, 0.1679637, 0.6530788}},
      {"SVMClassifier",
       "",
       1,
       2,
       {1, 0, 0.5, -2, -1, 1},
       Attributes({attribute("vectors_per_class", List{1, 2, 1}),
                   floats_attribute("support_vectors", {1, 0, 0, 1, -1, 0.5, 0.5, -1}),
                   floats_attribute("coefficients", {0.5, -0.25, 0.75, 1, -0.5, 0.25, 1, -0.75}),
                   floats_attribute("rho", {0.1, -0.2, 0.3}), attribute("classlabels_ints", List{4, 5, 6}),
                   attribute("kernel_type", std::string("POLY")), floats_attribute("kernel_params", {0.5, 1, 2})}),
       {4, 4, 4},
       {1.1625, 0.2375, -0.371875, 0.928125, 3.534375, -3.024219, 1.959375, -0.2625, 3.878125}},
      {"SVMClassifier",
       "probabilities",
       1,
       2,
       {1, 0, 0.5, -2, -1, 1},
       Attributes({attribute("vectors_per_class", List{1, 2, 1}),
                   floats_attribute("support_vectors", {1, 0, 0, 1, -1, 0.5, 0.5, -1}),
                   floats_attribute("coefficients", {0.5, -0.25, 0.75, 1, -0.5, 0.25, 1, -0.75}),
                   floats_attribute("rho", {0.1, -0.2, 0.3}), attribute("classlabels_ints", List{4, 5, 6}),
                   attribute("kernel_type", std::string("RBF")), floats_attribute("kernel_params", {0.5, 1, 2}),
                   floats_attribute("prob_a", {-1, -2, -1.5}), floats_attribute("prob_b", {0.1, 0, -0.2})}),
       {4, 4, 4},
       {0.3517277, 0.314934, 0.3333382, 0.4150742, 0.3284124, 0.2565135, 0.4003116, 0.4034148, 0.1962739}},
      {"SVMClassifier",
       "linear",
       1,
       2,
       {1, 0, 0.5, -2, -1, 1},
       Attributes({floats_attribute("coefficients", {1, -1, 0.5, 2}), floats_attribute("rho", {0.25}),
                   attribute("classlabels_ints", List{4, 5}), attribute("kernel_type", std::string("LINEAR")),
                   floats_attribute("kernel_params", {0, 0, 0})}),
       {5, 5, 5},
       {1.25, 0.75, 2.75, -3.5, -1.75, 1.75}},
      {"Scaler",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({floats_attribute("offset", {1, 2, 3}), floats_attribute("scale", {2, 0.5, -1})}),
       {},
       {0, -2, 2.5, -2, -1, 3, 4, 1, 8, -4, -1.5, 4}},
      {"Scaler",
       "one for all",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({floats_attribute("offset", {1}), floats_attribute("scale", {2})}),
       {},
       {0, -6, -1, -2, -2, -2, 4, 6, -12, -4, -4, -4}},
      {"Normalizer",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({attribute("norm", std::string("MAX"))}),
       {},
       {1, -2, 0.5, 0, 0, 0, 0.75, 1, -1.25, 1, 1, 1}},
      {"Normalizer",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({attribute("norm", std::string("L1"))}),
       {},
       {0.2857143, -0.5714286, 0.1428571, 0, 0, 0, 0.25, 0.3333333, -0.4166667, -0.3333333, -0.3333333, -0.3333333}},
      {"Normalizer",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({attribute("norm", std::string("L2"))}),
       {},
       {0.4364358, -0.8728716, 0.2182179, 0, 0, 0, 0.4242641, 0.5656854, -0.7071068, -0.5773503, -0.5773503,
        -0.5773503}},
      {"Binarizer",
       "",
       1,
       3,
       {1, -2, 0.5, 0, 0, 0, 3, 4, -5, -1, -1, -1},
       Attributes({attribute("threshold", 0.5f)}),
       {},
       {1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}},
      {"Imputer",
       "",
       1,
       2,
       {NAN, 1, 2, NAN},
       Attributes({floats_attribute("imputed_value_floats", {7, 8}), attribute("replaced_value_float", NAN)}),
       {},
       {7, 1, 2, 8}},
      {"OneHotEncoder",
       "",
       1,
       1,
       {1, 7, -2},
       Attributes({attribute("cats_int64s", List{-2, 1, 3})}),
       {},
       {0, 1, 0, 0, 0, 0, 1, 0, 0}},
      {"LabelEncoder",
       "",
       2,
       2,
       {1, 2.5, 7, -1},
       Attributes({floats_attribute("keys_floats", {1, -1, 2.5}), floats_attribute("values_floats", {10, 20, 30}),
                   attribute("default_float", 5.0f)}),
       {},
       {10, 30, 5, 20}},
      {"LabelEncoder",
       "NaN",
       4,
       2,
       {1, NAN, 7, -1},
       Attributes({floats_attribute("keys_floats", {1, -1, NAN}), attribute("values_int64s", List{10, 20, 30})}),
       {},
       {10, 30, -1, 20}},
  };
}

std::string model_of(const Case& k, bool strings = false) {
  const bool classifies = !k.labels.empty();
  file::Graph g{.inputs = {value("x", file::kFloat, {"n", static_cast<int>(k.features)})},
                .outputs = {file::Message().text(1, "y")},
                .nodes = {file::node(k.op, {"x"}, classifies ? file::Names{"l", "y"} : file::Names{"y"}, k.attributes,
                                     {}, "ai.onnx.ml")}};
  if (classifies) g.outputs.insert(g.outputs.begin(), value("l", strings ? 8 : file::kInt64, {"n"}));
  return file::ml_model(g, k.version);
}

TEST(OnnxMl, OperatorsAgreeWithTheRuntimeInOneCompilation) {
  for (const Case& k : cases()) {
    SCOPED_TRACE(std::string(k.op) + ": " + k.name);
    const onnx::Model m = onnx::load_bytes(model_of(k));
    auto compiled = compile(m);
    const std::int64_t rows = static_cast<std::int64_t>(k.x.size()) / k.features;
    const Tensor all = tensor_of(k.x, {rows, k.features});
    const Tensor expected = tensor_of(k.expected, {rows, static_cast<std::int64_t>(k.expected.size()) / rows});
    for (const auto& [begin, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, rows}, {1, 0}, {1, 1}, {0, 2}, {rows - 1, 1}, {0, rows}}) {
      const Tensor x = all.narrow(0, begin, count).contiguous();
      for (const std::vector<Tensor>& made : {m(x), compiled(x)}) {
        ASSERT_EQ(made.size(), k.labels.empty() ? 1u : 2u);
        EXPECT_EQ(made.back().size(0), count);
        EXPECT_TRUE(allclose(made.back().to(kFloat64).reshape({count, expected.size(1)}),
                             expected.narrow(0, begin, count), 1e-5, 1e-5, true))
            << begin << " " << count;
        if (!k.labels.empty()) {
          EXPECT_TRUE(equal(made[0], tensor_of(k.labels).narrow(0, begin, count))) << begin << " " << count;
        }
      }
    }
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
    EXPECT_EQ(compiled.stats().compilations, 1) << compiled.explain();
  }
}

/// A classifier's labels that are strings are their numbers, also where they are a result of the file.
TEST(OnnxMl, LabelsThatAreStringsAreTheirNumbers) {
  for (const char* op : {"TreeEnsembleClassifier", "LinearClassifier"}) {
    Case k{op, "", 1, 2, {0, 0, 1, 2, 3, -2}, {}, {1, 1, 0}, {}};
    if (k.op == std::string("LinearClassifier"))
      k.attributes = {floats_attribute("coefficients", {-1, 0, 1, 1}), floats_attribute("intercepts", {0, 2}),
                      strings_attribute("classlabels_strings", {"no", "yes"})},
      k.x[4] = -9;
    else
      k.attributes = trees_and(
          {attribute("class_treeids", List{0, 0, 0, 1, 1}), attribute("class_nodeids", List{1, 3, 4, 1, 2}),
           attribute("class_ids", List{1, 1, 1, 1, 1}), floats_attribute("class_weights", {1, 2, -3, 0.5f, 0}),
           strings_attribute("classlabels_strings", {"no", "yes"})});
    const onnx::Model m = onnx::load_bytes(model_of(k, true));
    EXPECT_EQ(m.outputs()[0].dtype, kInt64);
    EXPECT_TRUE(equal(m(tensor_of(k.x, {3, 2}))[0], tensor_of(k.labels))) << op;
    // What would compute with the strings is refused.
    const file::Graph g{.inputs = {value("x", file::kFloat, {"n", 2})},
                        .outputs = {file::Message().text(1, "e")},
                        .nodes = {file::node(op, {"x"}, {"l", "y"}, k.attributes, {}, "ai.onnx.ml"),
                                  file::node("Equal", {"l", "l"}, {"e"})}};
    const Error e = error_of([&] { onnx::load_bytes(file::ml_model(g, 1)); });
    EXPECT_NE(e.message().find("labels that are strings"), std::string::npos) << e.message();
  }
}

/// Maps of labels are given as the scores that they are of.
TEST(OnnxMl, ZipMapGivesItsTensor) {
  const file::Graph g{
      .inputs = {value("x", file::kFloat, {"n", 2})},
      .outputs = {file::Message().text(1, "z").in(
          2, file::Message().in(
                 4, file::Message().in(1, file::Message().in(5, file::Message().number(1, file::kInt64)))))},
      .nodes = {file::node("ZipMap", {"x"}, {"z"}, {attribute("classlabels_int64s", List{3, 5})}, {}, "ai.onnx.ml")}};
  const onnx::Model m = onnx::load_bytes(file::ml_model(g, 1));
  const Tensor x = tensor_of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(m.outputs()[0].dtype, kFloat32);
  EXPECT_TRUE(equal(m(x)[0], x));
}

TEST(OnnxMl, PicksAndJoinsFeatures) {
  const file::Graph g{.inputs = {value("x", file::kFloat, {"n", 3}), value("w", file::kFloat, {"n", 1})},
                      .outputs = {file::Message().text(1, "y")},
                      .initializers = {file::ints("at", {2, 0, 2})},
                      .nodes = {file::node("ArrayFeatureExtractor", {"x", "at"}, {"p"}, {}, {}, "ai.onnx.ml"),
                                file::node("FeatureVectorizer", {"p", "w"}, {"y"},
                                           {attribute("inputdimensions", List{2, 2})}, {}, "ai.onnx.ml")}};
  const onnx::Model m = onnx::load_bytes(file::ml_model(g, 1));
  auto compiled = compile(m);
  for (std::int64_t n : {3, 0, 1, 5}) {
    const Tensor x = arange(n * 3, {.dtype = kFloat32}).view({n, 3}), w = ones({n, 1});
    // Two of the three that were picked, and one with a zero beside it.
    const Tensor expected = cat({x.narrow(1, 2, 1), x.narrow(1, 0, 1), w, zeros({n, 1})}, 1);
    EXPECT_TRUE(equal(m(x, w)[0], expected));
    EXPECT_TRUE(equal(compiled(x, w)[0], expected));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
}

TEST(OnnxMl, WhatIsOfStringsIsRefusedByItsAttribute) {
  const auto told = [](const char* op, Attributes attributes) {
    const Case k{op, "", 2, 1, {}, std::move(attributes), {}, {}};
    return error_of([&] { onnx::load_bytes(model_of(k)); }).message();
  };
  EXPECT_NE(told("LabelEncoder", {strings_attribute("keys_strings", {"a"}), attribute("values_int64s", List{1})})
                .find("'keys_strings'"),
            std::string::npos);
  EXPECT_NE(told("OneHotEncoder", {strings_attribute("cats_strings", {"a"})}).find("'cats_strings'"),
            std::string::npos);
  EXPECT_NE(told("CategoryMapper", {}).find("ai.onnx.ml.CategoryMapper"), std::string::npos);
}

TEST(OnnxMl, DamagedAttributesAreOneErrorAtLoading) {
  const auto told = [](const char* op, Attributes attributes) {
    const Case k{op, "", 2, 1, {}, std::move(attributes), {}, {}};
    return error_of([&] { onnx::load_bytes(model_of(k)); });
  };
  const struct {
    const char* op;
    Attributes attributes;
    const char* message;
  } lies[] = {
      {"LinearRegressor",
       {floats_attribute("coefficients", {1, 2, 3}), attribute("targets", std::int64_t{2})},
       "3 coefficients of 2 targets"},
      {"LinearRegressor",
       {floats_attribute("coefficients", {1}), attribute("targets", std::int64_t{-1})},
       "coefficients of -1 targets"},
      {"LinearClassifier",
       {floats_attribute("coefficients", {1, 2}), floats_attribute("intercepts", {1, 2}),
        attribute("classlabels_ints", List{1})},
       "1 labels of 2 classes"},
      {"SVMRegressor",
       {floats_attribute("coefficients", {1, 2}), floats_attribute("rho", {1}),
        attribute("n_supports", std::int64_t{3}), floats_attribute("support_vectors", {1, 2, 3})},
       "2 coefficients of 3 support vectors"},
      {"SVMClassifier",
       {floats_attribute("coefficients", {1, 2}), floats_attribute("rho", {1}),
        attribute("vectors_per_class", List{1, -1}), attribute("classlabels_ints", List{0, 1})},
       "-1 support vectors"},
      {"LabelEncoder",
       {attribute("keys_int64s", List{1, 2}), attribute("values_int64s", List{1})},
       "2 keys, and 1 values"},
      {"LinearRegressor",
       {floats_attribute("coefficients", {1}), attribute("post_transform", std::string("ODD"))},
       "the post_transform is 'ODD'"},
  };
  for (const auto& lie : lies) {
    const Error e = told(lie.op, lie.attributes);
    EXPECT_EQ(e.code(), ErrorCode::FileFormat) << lie.message;
    EXPECT_NE(e.message().find(lie.message), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace reprise::test
