// Models of ONNX files as functions: eager is what the formula says, compiled is eager, and one compilation serves all
// sizes of dynamic dimensions.
#include <gtest/gtest.h>

#include <chrono>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"
#include "tests/support/error_of.h"
#include "tests/support/sanitized.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::node;
using file::value;
using onnx::Argument;

bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.str() == b.str(); }

/// x [n, 3] -> relu(x w + b) [n, 2]
file::Graph layer() {
  return {.inputs = {value("x", file::kFloat, {"n", 3})},
          .outputs = {value("y", file::kFloat, {"n", 2})},
          .initializers = {file::floats("w", {3, 2}, {1, -2, 3, 4, -5, 6}), file::floats("b", {2}, {0.5, -0.5})},
          .nodes = {node("MatMul", {"x", "w"}, {"xw"}, {}, "product"), node("Add", {"xw", "b"}, {"sum"}),
                    node("Relu", {"sum"}, {"y"})}};
}

TEST(Onnx, ALayerIsOneCompilationForAllBatches) {
  const onnx::Model m = onnx::load_bytes(file::model(layer()));
  ASSERT_EQ(m.inputs().size(), 1u);
  EXPECT_EQ(m.inputs()[0].name, "x");
  EXPECT_EQ((*m.inputs()[0].sizes)[0].name, "n");
  EXPECT_EQ((*m.inputs()[0].sizes)[1].size, 3);
  EXPECT_EQ(m.output("y"), 0u);
  auto compiled = compile(m);
  const Tensor w = tensor_of<float>({1, -2, 3, 4, -5, 6}, {3, 2}), b = tensor_of<float>({0.5, -0.5});
  for (int n : {2, 1, 5, 0, 9}) {
    const Tensor x = arange(3 * n, {.dtype = kFloat32}).view({n, 3}) * 0.25 - 1;
    const Tensor expected = relu(matmul(x, w) + b);
    EXPECT_TRUE(same(m(x)[0], expected)) << n;
    EXPECT_TRUE(allclose(compiled(x)[0], expected)) << n;
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
  EXPECT_EQ(compiled.stats().copied_bytes, 0);
}

TEST(Onnx, SizesThatAreComputedStaySymbolic) {
  // y = x.reshape(x.size(0), x.size(1) * x.size(2)), as exporters write it
  file::Graph g{
      .inputs = {value("x", file::kFloat, {"a", "b", "c"})},
      .outputs = {value("y", file::kFloat, {"a", "d"}), value("n", file::kInt64, {})},
      .initializers = {file::number("zero", 0), file::number("one", 1), file::number("two", 2),
                       file::ints("axis", {0})},
      .nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"a"}), node("Gather", {"s", "one"}, {"b"}),
                node("Gather", {"s", "two"}, {"c"}), node("Mul", {"b", "c"}, {"bc"}),
                node("Unsqueeze", {"a", "axis"}, {"a1"}), node("Unsqueeze", {"bc", "axis"}, {"bc1"}),
                node("Concat", {"a1", "bc1"}, {"to"}, {file::attribute("axis", std::int64_t{0})}),
                node("Reshape", {"x", "to"}, {"y"}), node("Size", {"y"}, {"n"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (auto [a, b, c] : {std::array{2, 3, 4}, {5, 2, 7}, {3, 9, 2}}) {
    const std::vector<Tensor> y = compiled(ones({a, b, c}));
    EXPECT_EQ(y[0].size(0), a);
    EXPECT_EQ(y[0].size(1), b * c);
    EXPECT_EQ(y[1].item<std::int64_t>(), a * b * c);
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
}

TEST(Onnx, ConstantsOfSymbolicSizesStayTensors) {
  // y = expand(7, [x.size(0), 2])
  file::Graph g{.inputs = {value("x", file::kFloat, {"n", 2})},
                .outputs = {value("y", file::kInt64, {"n", 2})},
                .initializers = {file::number("seven", 7)},
                .nodes = {node("Shape", {"x"}, {"s"}), node("Expand", {"seven", "s"}, {"y"})}};
  auto compiled = compile(onnx::load_bytes(file::model(g)));
  for (int n : {2, 3, 9}) EXPECT_TRUE(same(compiled(ones({n, 2}))[0], full({n, 2}, 7)));
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
}

TEST(Onnx, InputsThatDecideSizesAreNumbers) {
  file::Graph g{.inputs = {value("x", file::kFloat, {"n"}), value("to", file::kInt64, {2})},
                .outputs = {value("y", file::kFloat, {"a", "b"})},
                .nodes = {node("Reshape", {"x", "to"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  EXPECT_FALSE(m.inputs()[0].decides_sizes);
  EXPECT_TRUE(m.inputs()[1].decides_sizes);
  auto compiled = compile(m);
  for (int rows : {2, 3, 4, 6}) {
    const std::vector<Tensor> y = compiled(std::vector<Argument>{ones({12}), Argument::numbers({rows, 12 / rows})});
    EXPECT_EQ(y[0].size(0), rows);
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
  // -1 is another compilation
  EXPECT_EQ(compiled(std::vector<Argument>{ones({12}), Argument::numbers({4, -1})})[0].size(1), 3);
  EXPECT_EQ(compiled(std::vector<Argument>{ones({12}), Argument::numbers({0, 1})})[0].size(0), 12);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(m(ones({12}), tensor({3, 4}))[0].size(1), 4);  // eagerly a tensor is read
}

TEST(Onnx, ConstantsMayBeGivenWhenItIsLoaded) {
  file::Graph g{.inputs = {value("x", file::kFloat, {"n"}), value("to", file::kInt64, {2})},
                .outputs = {value("y", file::kFloat, {"a", "b"})},
                .nodes = {node("Reshape", {"x", "to"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g), {.constants = {{"to", tensor({3, -1})}}});
  ASSERT_EQ(m.inputs().size(), 1u);
  auto compiled = compile(m);
  for (int n : {6, 9, 12}) EXPECT_EQ(compiled(ones({n}))[0].size(1), n / 3);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_NE(error_of([&] {
              onnx::load_bytes(file::model(g), {.constants = {{"two", tensor({3, -1})}}});
            })
                .message()
                .find("no input 'two'"),
            std::string::npos);
  EXPECT_EQ(error_of([&] {
              onnx::load_bytes(file::model(g), {.constants = {{"to", ones({2})}}});
            }).code(),
            ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] {
              onnx::load_bytes(file::model(g), {.constants = {{"to", Tensor()}}});
            }).code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { onnx::Model().inputs(); }).code(), ErrorCode::InvalidArgument);
}

/// then: x * 2, otherwise: x - 1
file::Graph branches(const file::Message& condition, bool is_constant) {
  file::Graph g{.inputs = {value("x", file::kFloat, {"n"})},
                .outputs = {value("y", file::kFloat, {"n"})},
                .initializers = {file::floats("two", {}, {2}), file::floats("one", {}, {1})}};
  (is_constant ? g.initializers : g.inputs).push_back(condition);
  const file::Graph then{.outputs = {value("t", file::kFloat, {"n"})}, .nodes = {node("Mul", {"x", "two"}, {"t"})}},
      otherwise{.outputs = {value("o", file::kFloat, {"n"})}, .nodes = {node("Sub", {"x", "one"}, {"o"})}};
  g.nodes = {node("If", {"c"}, {"y"},
                  {file::graph_attribute("then_branch", then.message()),
                   file::graph_attribute("else_branch", otherwise.message())})};
  return g;
}
// A constant of one float is a number: what exporters spell out is the operator it means.
TEST(Onnx, ConstantsOfOneFloatAreNumbersThatPatternsSee) {
  file::Graph g{
      .inputs = {value("x", file::kFloat, {"n", 4, 8})},
      .outputs = {value("y", file::kFloat, {"n", 4, 8}), value("z", file::kFloat, {"n", 4, 8}),
                  value("r", file::kFloat, {1, "n", 4, 8})},
      .initializers = {file::floats("half", {}, {0.5f}), file::floats("one", {1}, {1.0f}),
                       file::floats("root", {}, {1.41421356f}), file::floats("scale", {1, 1}, {0.35355339f}),
                       file::floats("deep", {1, 1, 1, 1}, {2.0f}), file::floats("two", {}, {2.0f})},
      .nodes = {node("Transpose", {"x"}, {"t"}, {file::attribute("perm", std::vector<std::int64_t>{0, 2, 1})}),
                node("MatMul", {"x", "t"}, {"s0"}), node("Mul", {"scale", "s0"}, {"s1"}),
                node("Softmax", {"s1"}, {"p"}, {file::attribute("axis", std::int64_t{-1})}),
                node("MatMul", {"p", "x"}, {"y"}), node("Mul", {"x", "half"}, {"h"}), node("Div", {"x", "root"}, {"d"}),
                node("Erf", {"d"}, {"e"}), node("Add", {"one", "e"}, {"f"}), node("Mul", {"h", "f"}, {"z"}),
                node("Pow", {"x", "two"}, {"w"}), node("Sub", {"w", "deep"}, {"r"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (int n : {2, 3, 7}) {
    const Tensor x = arange(32 * n, {.dtype = kFloat32}).view({n, 4, 8}) * 0.01 - 0.3;
    const std::vector<Tensor> y = compiled(x);
    EXPECT_TRUE(allclose(y[0], scaled_dot_product_attention(x, x, x), 1e-5, 1e-6));
    EXPECT_TRUE(allclose(y[1], gelu(x), 1e-5, 1e-6));
    // a constant of more dimensions gives the result its own
    EXPECT_TRUE(allclose(y[2], (x * x - 2.0).unsqueeze(0), 1e-5, 1e-6));
    EXPECT_EQ(y[2].dim(), 4);
  }
  EXPECT_EQ(compiled.stats().compilations, 1);
  const std::string text = compiled.explain(Detail::Launches);
  EXPECT_NE(text.find("scaled_dot_product_attention"), std::string::npos) << text;
  EXPECT_EQ(text.find("erf"), std::string::npos) << text;
}

TEST(Onnx, ABranchIsChosenInTheCall) {
  const onnx::Model m = onnx::load_bytes(file::model(branches(value("c", file::kBool, {}), false)));
  auto compiled = compile(m);
  for (int n : {3, 4})
    for (bool which : {true, false}) {
      const Tensor x = arange(n, {.dtype = kFloat32}), c = scalar_tensor(which), expected = which ? x * 2 : x - 1;
      EXPECT_TRUE(same(m(x, c)[0], expected));
      EXPECT_TRUE(same(compiled(x, c)[0], expected));
    }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
}
TEST(Onnx, ABranchThatIsKnownIsTheOnlyOne) {
  const onnx::Model m =
      onnx::load_bytes(file::model(branches(file::tensor("c", file::kBool, {}, std::vector<char>{0}), true)));
  auto compiled = compile(m);
  EXPECT_TRUE(same(compiled(ones({3}))[0], zeros({3})));
  EXPECT_EQ(compiled.explain().find("cond("), std::string::npos);
}

TEST(Onnx, LoopsTurnAsOftenAsTheySay) {
  // state = state + x, `turns` times; each state is a row of the second result
  const file::Graph body{
      .inputs = {value("i", file::kInt64, {}), value("go", file::kBool, {}), value("s", file::kFloat, {"n"})},
      .outputs = {value("on", file::kBool, {}), value("t", file::kFloat, {"n"}), value("row", file::kFloat, {"n"})},
      .nodes = {node("Identity", {"go"}, {"on"}), node("Add", {"s", "x"}, {"t"}), node("Identity", {"t"}, {"row"})}};
  file::Graph g{
      .inputs = {value("x", file::kFloat, {"n"}), value("turns", file::kInt64, {})},
      .outputs = {value("last", file::kFloat, {"n"}), value("all", file::kFloat, {"turns", "n"})},
      .nodes = {node("Loop", {"turns", "", "x"}, {"last", "all"}, {file::graph_attribute("body", body.message())})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (int turns : {3, 1})
    for (int n : {2, 5}) {
      const Tensor x = arange(n, {.dtype = kFloat32});
      for (const std::vector<Tensor>& y :
           {m(x, tensor(turns)), compiled(std::vector<Argument>{x, Argument::number(turns)})}) {
        EXPECT_TRUE(same(y[0], x * (turns + 1)));
        EXPECT_EQ(y[1].size(0), turns);
      }
    }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);  // for any number of turns
}

TEST(Onnx, FunctionsOfTheModelTakeAttributesOfTheCall) {
  // local.Scale(x; by) = LeakyRelu(x, alpha = by)
  file::Message alpha = file::Message().text(1, "alpha").number(20, 1).text(21, "by");
  const file::Message scale = file::Message()
                                  .text(1, "Scale")
                                  .text(4, "a")
                                  .text(5, "b")
                                  .text(6, "by")
                                  .in(7, node("LeakyRelu", {"a"}, {"b"}, {alpha}))
                                  .in(9, file::opset(17))
                                  .text(10, "local");
  file::Graph g{.inputs = {value("x", file::kFloat, {"n"})},
                .outputs = {value("y", file::kFloat, {"n"})},
                .nodes = {node("Scale", {"x"}, {"h"}, {file::attribute("by", 0.5f)}, "", "local"),
                          node("Scale", {"h"}, {"y"}, {file::attribute("by", 0.25f)}, "", "local")}};
  const onnx::Model m = onnx::load_bytes(file::model(g.message(), 17, {scale}));
  EXPECT_TRUE(same(m(tensor_of<float>({-8, 8}))[0], tensor_of<float>({-1, 8})));
  auto compiled = compile(m);
  EXPECT_TRUE(same(compiled(tensor_of<float>({-8, 8}))[0], tensor_of<float>({-1, 8})));
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
}

TEST(Onnx, WhatAnOperatorMeansIsThatOfItsVersion) {
  // Before version 13 all dimensions from axis (1) on are one.
  const file::Graph g{.inputs = {value("x", file::kFloat, {2, 2, 2})},
                      .outputs = {value("y", file::kFloat, {2, 2, 2})},
                      .nodes = {node("Softmax", {"x"}, {"y"})}};
  const Tensor x = zeros({2, 2, 2});
  EXPECT_TRUE(same(onnx::load_bytes(file::model(g, 12))(x)[0], full({2, 2, 2}, 0.25)));
  EXPECT_TRUE(same(onnx::load_bytes(file::model(g, 13))(x)[0], full({2, 2, 2}, 0.5)));
}

TEST(Onnx, ProductsOfBytesAreExactWithTheirZeroPoints) {
  constexpr int kUnsignedByte = 2, kSignedByte = 3;
  auto bytes = [](std::vector<Int> sizes, int step, DType t) {
    Int count = 1;
    for (const Int& n : sizes) count *= n;
    return (arange(count) * step % 256 - (t == kInt8 ? 128 : 0)).to(t).view(sizes);
  };
  for (bool a_signed : {false, true})
    for (bool b_signed : {false, true})
      for (int zeros = 0; zeros < 4; ++zeros)  // none, one each, one for each row and column, one of b
        for (bool batched : {false, true}) {
          if (batched && zeros == 2) continue;
          const int ea = a_signed ? kSignedByte : kUnsignedByte, eb = b_signed ? kSignedByte : kUnsignedByte;
          const DType ta = a_signed ? kInt8 : kUInt8, tb = b_signed ? kInt8 : kUInt8;
          const std::vector<file::Dim> sizes =
              batched ? std::vector<file::Dim>{2, "n", 30} : std::vector<file::Dim>{"n", 30};
          std::vector<file::Message> inputs{value("a", ea, sizes), value("b", eb, {30, 9})};
          file::Names names{"a", "b"};
          if (zeros) {
            inputs.push_back(zeros == 2 ? value("za", ea, {"n"}) : value("za", ea, {}));
            inputs.push_back(zeros == 2 ? value("zb", eb, {9}) : value("zb", eb, {}));
            names.push_back(zeros == 3 ? "" : "za"), names.push_back("zb");
          }
          const file::Graph g{
              .inputs = inputs,
              .outputs = {value("y", 6, batched ? std::vector<file::Dim>{2, "n", 9} : std::vector<file::Dim>{"n", 9})},
              .nodes = {node("MatMulInteger", names, {"y"})}};
          const onnx::Model m = onnx::load_bytes(file::model(g));
          auto compiled = compile(m);
          for (int n : {1, 20, 7}) {
            const Tensor a = batched ? bytes({2, n, 30}, 37, ta) : bytes({n, 30}, 37, ta), b = bytes({30, 9}, 91, tb);
            const Tensor za = zeros == 2 ? bytes({n}, 53, ta) : full({}, a_signed ? -3 : 200, {.dtype = ta}),
                         zb = zeros == 2 ? bytes({9}, 29, tb) : full({}, b_signed ? 7 : 131, {.dtype = tb});
            Tensor left = a.to(kInt64), right = b.to(kInt64);
            if (zeros == 1) left = left - za.to(kInt64);
            if (zeros == 2) left = left - za.to(kInt64).unsqueeze(-1);
            if (zeros) right = right - zb.to(kInt64);
            const Tensor expected = matmul(left, right).to(kInt32);
            std::vector<Argument> arguments{a, b};
            if (zeros) arguments.push_back(za), arguments.push_back(zb);
            EXPECT_TRUE(same(m(arguments)[0], expected)) << a_signed << b_signed << zeros << batched << " " << n;
            EXPECT_TRUE(same(compiled(arguments)[0], expected)) << a_signed << b_signed << zeros << batched << " " << n;
          }
          EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
        }
}

TEST(Onnx, LoadingTakesTimeByTheNodes) {
  const auto seconds = [](int nodes) {
    file::Graph g{.inputs = {value("x0", file::kFloat, {"n"})},
                  .outputs = {value("x" + std::to_string(nodes), file::kFloat, {"n"})}};
    const file::Graph inner{.outputs = {value("y", file::kFloat, {"n"})}, .nodes = {node("Neg", {"x0"}, {"y"})}};
    for (int i = 0; i < nodes; ++i)
      g.nodes.push_back(i % 10 == 0 ? node("If", {"yes"}, {"x" + std::to_string(i + 1)},
                                           {file::graph_attribute("then_branch", inner.message()),
                                            file::graph_attribute("else_branch", inner.message())})
                                    : node("Relu", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)}));
    g.initializers = {file::tensor("yes", file::kBool, {}, std::vector<char>{1})};
    const std::string bytes = file::model(g);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      onnx::load_bytes(bytes);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  // 30 us a node on a machine that is busy otherwise; what looked at all others for each would take seconds.
  EXPECT_LT(seconds(8000), 3);
}

TEST(Onnx, LoadingFoldsNodesInTimeByTheirNumber) {
  const auto seconds = [](int nodes) {
    file::Graph g{.inputs = {value("x", file::kFloat, {"n"})},
                  .outputs = {value("y", file::kFloat, {"n"})},
                  .initializers = {file::ints("c0", {1}), file::ints("one", {1})}};
    for (int i = 0; i < nodes; ++i)
      g.nodes.push_back(node("Mul", {"c" + std::to_string(i), "one"}, {"c" + std::to_string(i + 1)}));
    g.nodes.push_back(node("Tile", {"x", "c" + std::to_string(nodes)}, {"y"}));
    const std::string bytes = file::model(g);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      onnx::load_bytes(bytes);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  // A room of all values for each node took 5 s of 40,000. Sanitizers keep what is freed, which takes more than its
  // part.
  EXPECT_LT(seconds(32000), std::max(1.0, (test::kSanitized ? 14 : 9) * seconds(8000)));
}

TEST(Onnx, ErrorsNameTheNode) {
  const onnx::Model m = onnx::load_bytes(file::model(layer()));
  Error e = error_of([&] { m(ones({2, 4})); });
  EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch);
  EXPECT_NE(e.message().find("'x' has sizes [n, 3] in the file, and [2, 4] here"), std::string::npos) << e.message();
  EXPECT_EQ(error_of([&] { m(ones({2, 3}, {.dtype = kFloat64})); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { m(std::vector<Tensor>{}); }).code(), ErrorCode::InvalidArgument);
  file::Graph g = layer();
  g.inputs = {value("x", file::kFloat, {"n", "k"})};
  const onnx::Model open = onnx::load_bytes(file::model(g));
  e = error_of([&] { open(ones({2, 4})); });
  EXPECT_NE(e.message().find("node 'product'"), std::string::npos) << e.message();
  auto compiled = compile(open);
  compiled(ones({2, 3}));
  EXPECT_NE(std::string(error_of([&] { compiled(ones({2, 4})); }).what()).find("product"), std::string::npos);
}

TEST(Onnx, AllThatIsMissingIsToldAtOnce) {
  file::Graph g = layer();
  g.nodes.push_back(node("Fancy", {"y"}, {"p"}, {}, "first fancy"));
  g.nodes.push_back(node("Fancy", {"p"}, {"q"}, {}, "second fancy"));
  g.nodes.push_back(node("Other", {"q"}, {"r"}, {}, "", "com.example"));
  const Error e = error_of([&] { onnx::load_bytes(file::model(g)); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(e.message().find("ai.onnx.Fancy of version 17: 2 nodes, the first is 'first fancy'"), std::string::npos)
      << e.message();
  EXPECT_NE(e.message().find("com.example.Other: 1 node"), std::string::npos) << e.message();
  EXPECT_NO_THROW(onnx::load_bytes(file::model(layer(), 99)));  // newer than the newest that is known: with a warning
}

}  // namespace
}  // namespace reprise::test
