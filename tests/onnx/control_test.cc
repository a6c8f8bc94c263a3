// Graphs inside graphs where they cannot be one operator: loops of no turn, sequences, branches of other sizes, and
// modes that an input gives. Each runs eagerly and compiled, and compiled calls replay.
#include <gtest/gtest.h>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::attribute;
using file::graph_attribute;
using file::node;
using file::value;
using Nodes = std::vector<file::Message>;

file::Message untyped(const std::string& name) { return file::Message().text(1, name); }
file::Message axis(std::int64_t a) { return attribute("axis", a); }

/// Eager results, which compiled ones equal at the first call and at the second.
std::vector<Tensor> agreed(const onnx::Model& m, const onnx::CompiledModel& compiled, const std::vector<Tensor>& x) {
  const std::vector<Tensor> expected = m(x);
  for (int again = 0; again < 2; ++again) {
    const std::vector<Tensor> made = compiled(x);
    EXPECT_EQ(made.size(), expected.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(made[i].dtype(), expected[i].dtype()) << "result " << i;
      EXPECT_EQ(made[i].sizes(), expected[i].sizes()) << "result " << i;
      EXPECT_EQ(made[i].str(), expected[i].str()) << "result " << i;
    }
  }
  return expected;
}

/// rows = Loop(turns): x [n, 3] -> rows [turns, ...], whose body makes "row" of `nodes`.
file::Graph loop(Nodes nodes, file::Message row = untyped("row")) {
  nodes.push_back(node("Identity", {"go"}, {"on"}));
  const file::Graph body{.inputs = {value("i", file::kInt64, {}), value("go", file::kBool, {})},
                         .outputs = {value("on", file::kBool, {}), std::move(row)},
                         .nodes = std::move(nodes)};
  return {
      .inputs = {value("x", file::kFloat, {"n", 3}), value("turns", file::kInt64, {}), value("flag", file::kBool, {})},
      .outputs = {untyped("rows")},
      .initializers = {file::ints("one", {1})},
      .nodes = {node("Loop", {"turns", "flag"}, {"rows"}, {graph_attribute("body", body.message())}, "turns")}};
}
Nodes branches(const char* condition, const char* then, const char* otherwise) {
  const auto side = [](const char* op, const char* name) {
    return file::Graph{.outputs = {untyped(name)}, .nodes = {node(op, {"x"}, {name})}}.message();
  };
  return {
      node("If", {condition}, {"row"},
           {graph_attribute("then_branch", side(then, "t")), graph_attribute("else_branch", side(otherwise, "o"))})};
}

TEST(OnnxControl, NoTurnGivesRowsOfOneShape) {
  const struct {
    const char* what;
    file::Graph graph;
    std::vector<Int> sizes;  ///< of a row, where x is [2, 3]
    DType dtype = kFloat32;
  } all[] = {
      {"tensors", loop({node("Neg", {"x"}, {"row"})}), {2, 3}},
      {"the number of the turn", loop({node("Add", {"i", "i"}, {"row"})}), {}, kInt64},
      {"a size of the turn's number",
       loop({node("Unsqueeze", {"i", "zero"}, {"at"}), node("Slice", {"x", "at", "one"}, {"cut"}),
             node("Concat", {"cut", "x"}, {"row"}, {axis(0)})}),
       {3, 3}},
      {"branches of equal sizes", loop(branches("flag", "Neg", "Abs")), {2, 3}},
      // What no run by shapes tells stands in the file, or is 0.
      {"branches of other sizes",
       loop(branches("flag", "Neg", "Size"), value("row", file::kInt64, {"m", 5})),
       {0, 5},
       kInt64},
  };
  for (auto each : all) {
    SCOPED_TRACE(each.what);
    each.graph.initializers.push_back(file::ints("zero", {0}));
    const onnx::Model m = onnx::load_bytes(file::model(each.graph));
    auto compiled = compile(m);
    const std::vector<Tensor> first{ones({2, 3}), tensor(std::int64_t{0}), scalar_tensor(true)};
    std::vector<Int> sizes{0};
    sizes.insert(sizes.end(), each.sizes.begin(), each.sizes.end());
    const Tensor rows = agreed(m, compiled, first)[0];
    EXPECT_EQ(rows.sizes(), Ints(sizes.data(), sizes.data() + sizes.size()));
    EXPECT_EQ(rows.dtype(), each.dtype);
    // A condition that does not hold is no turn, too.
    const Tensor none = agreed(m, compiled, {ones({2, 3}), tensor(std::int64_t{4}), scalar_tensor(false)})[0];
    EXPECT_EQ(none.sizes(), rows.sizes());
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
  }
}

TEST(OnnxControl, AScanOfNothingGivesRowsOfTheBodysShape) {
  const file::Graph body{.inputs = {value("s", file::kFloat, {3}), value("r", file::kFloat, {3})},
                         .outputs = {value("t", file::kFloat, {3}), untyped("row")},
                         .nodes = {node("Add", {"s", "r"}, {"t"}), node("Neg", {"r"}, {"row"})}};
  const file::Graph g{
      .inputs = {value("x", file::kFloat, {"n", 3}), value("first", file::kFloat, {3})},
      .outputs = {untyped("last"), untyped("rows")},
      .nodes = {node("Scan", {"first", "x"}, {"last", "rows"},
                     {graph_attribute("body", body.message()), attribute("num_scan_inputs", std::int64_t{1}),
                      attribute("scan_output_axes", std::vector<std::int64_t>{1})})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (int n : {0, 2, 0}) {
    const std::vector<Tensor> y = agreed(m, compiled, {ones({n, 3}), arange(3, {.dtype = kFloat32})});
    EXPECT_EQ(y[1].sizes(), Ints({3, n}));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
}

/// A loop that carries a sequence is traced turn by turn; its first call throws nothing.
TEST(OnnxControl, ALoopCarriesASequence) {
  const file::Graph body{
      .inputs = {value("i", file::kInt64, {}), value("go", file::kBool, {}), untyped("held")},
      .outputs = {value("on", file::kBool, {}), untyped("more")},
      .nodes = {node("Gather", {"x", "i"}, {"row"}, {axis(0)}), node("SequenceInsert", {"held", "row"}, {"more"}),
                node("Identity", {"go"}, {"on"})}};
  const file::Graph g{
      .inputs = {value("x", file::kFloat, {"n", 3})},
      .outputs = {untyped("y")},
      .initializers = {file::ints("zero", {0})},
      .nodes = {node("Shape", {"x"}, {"sizes"}), node("Gather", {"sizes", "first"}, {"turns"}),
                node("SequenceEmpty", {}, {"none"}),
                node("Loop", {"turns", "", "none"}, {"all"}, {graph_attribute("body", body.message())}),
                node("ConcatFromSequence", {"all"}, {"y"}, {axis(0), attribute("new_axis", std::int64_t{1})})}};
  file::Graph whole = g;
  whole.initializers.push_back(file::number("first", 0));
  const onnx::Model m = onnx::load_bytes(file::model(whole));
  auto compiled = compile(m);
  for (int n : {2, 4, 2}) {
    const Tensor x = arange(3 * n, {.dtype = kFloat32}).view({n, 3});
    EXPECT_TRUE(equal(agreed(m, compiled, {x})[0], x));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
}

/// The condition is computed: sum(x) > 0.
file::Graph computed(Nodes nodes) {
  nodes.insert(nodes.begin(), {node("ReduceSum", {"x"}, {"sum"}, {attribute("keepdims", std::int64_t{0})}),
                               node("Greater", {"sum", "none"}, {"is"})});
  return {.inputs = {value("x", file::kFloat, {"n", 3})},
          .outputs = {untyped("y")},
          .initializers = {file::floats("none", {}, {0})},
          .nodes = std::move(nodes)};
}

TEST(OnnxControl, BranchesOfOtherSizesAreTakenByTheValue) {
  Nodes nodes = branches("is", "Neg", "Size");
  nodes.push_back(node("Shape", {"row"}, {"y"}));
  const onnx::Model m = onnx::load_bytes(file::model(computed(nodes)));
  auto compiled = compile(m);
  for (int n : {2, 5})
    for (double sign : {1.0, -1.0, 1.0}) {
      const Tensor y = agreed(m, compiled, {full({n, 3}, sign)})[0];
      EXPECT_TRUE(equal(y, sign > 0 ? tensor({n, 3}) : zeros({0}, {.dtype = kInt64})));
    }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
  EXPECT_EQ(compiled.stats().branches.paths, 2);
}

TEST(OnnxControl, BranchesOfEqualSizesStayOneOperator) {
  Nodes nodes = branches("is", "Neg", "Sqrt");
  nodes.push_back(node("Identity", {"row"}, {"y"}));
  const onnx::Model m = onnx::load_bytes(file::model(computed(nodes)));
  auto compiled = compile(m);
  for (double sign : {4.0, -4.0}) agreed(m, compiled, {full({2, 3}, sign)});
  EXPECT_EQ(compiled.stats().compilations, 1);
  EXPECT_EQ(compiled.stats().branches.paths, 0);
  EXPECT_NE(compiled.explain().find("cond("), std::string::npos);
}

TEST(OnnxControl, BranchesGiveSequences) {
  const auto side = [](const char* name, const file::Names& of) {
    return file::Graph{.outputs = {untyped(name)}, .nodes = {node("SequenceConstruct", of, {name})}}.message();
  };
  const onnx::Model m = onnx::load_bytes(file::model(computed(
      {node("If", {"is"}, {"all"},
            {graph_attribute("then_branch", side("t", {"x", "x"})), graph_attribute("else_branch", side("o", {"x"}))}),
       node("ConcatFromSequence", {"all"}, {"y"}, {axis(0)})})));
  auto compiled = compile(m);
  for (double sign : {1.0, -1.0, 1.0})
    EXPECT_EQ(agreed(m, compiled, {full({2, 3}, sign)})[0].size(0), sign > 0 ? 4 : 2);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
}

/// One inside another: what is no operator inside makes none of what is around it.
TEST(OnnxControl, BranchesInsideBranchesAreTakenByTheValue) {
  const file::Graph then{.outputs = {untyped("row")}, .nodes = branches("is", "Neg", "Size")},
      otherwise{.outputs = {untyped("q")}, .nodes = {node("Abs", {"x"}, {"q"})}};
  file::Graph g = computed(
      {node("If", {"flag"}, {"made"},
            {graph_attribute("then_branch", then.message()), graph_attribute("else_branch", otherwise.message())}),
       node("Shape", {"made"}, {"y"})});
  g.inputs.push_back(value("flag", file::kBool, {}));
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (bool flag : {true, false, true})
    for (double sign : {1.0, -1.0})
      EXPECT_EQ(agreed(m, compiled, {full({2, 3}, sign), scalar_tensor(flag)})[0].size(0), flag && sign < 0 ? 0 : 2);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
}

TEST(OnnxControl, AModeThatAnInputGivesIsReadBeforeTheCall) {
  const file::Graph g{
      .inputs = {value("x", file::kFloat, {"n"}), value("training", file::kBool, {}), value("ratio", file::kFloat, {})},
      .outputs = {value("y", file::kFloat, {"n"})},
      .nodes = {node("Dropout", {"x", "ratio", "training"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  EXPECT_TRUE(m.inputs()[1].decides_sizes);
  auto compiled = compile(m);
  for (int n : {3, 5})
    EXPECT_TRUE(equal(agreed(m, compiled, {ones({n}), scalar_tensor(false), tensor(0.5f)})[0], ones({n})));
  EXPECT_EQ(compiled.stats().compilations, 1);
  EXPECT_TRUE(equal(compiled(ones({4}), scalar_tensor(true), tensor(0.0f))[0], ones({4})));
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
}

TEST(OnnxControl, AFlagThatEndsALoopStaysATensor) {
  const onnx::Model m = onnx::load_bytes(file::model(loop({node("Neg", {"x"}, {"row"})})));
  EXPECT_TRUE(m.inputs()[1].decides_sizes);
  EXPECT_FALSE(m.inputs()[2].decides_sizes);
}

}  // namespace
}  // namespace reprise::test
