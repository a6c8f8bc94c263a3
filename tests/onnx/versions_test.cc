// Operators as their set has them: what scripts/onnx_versions.py found against ONNX Runtime and the reference
// evaluator, with its numbers. Each runs eagerly and compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::attribute;
using file::node;
using file::value;
using Ints64 = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

/// One node of float x (and constants), at a set.
struct Case {
  const char* op;
  int set;
  std::vector<file::Message> attributes;
  Tensor x, expected;
  std::vector<file::Message> constants = {};
  int outputs = 1;
};

std::string model_of(const Case& k) {
  file::Names inputs{"x"}, outputs;
  for (std::size_t i = 0; i < k.constants.size(); ++i) inputs.push_back("c" + std::to_string(i));
  for (int i = 0; i < k.outputs; ++i) outputs.push_back("y" + std::to_string(i));
  std::vector<file::Dim> dims(static_cast<std::size_t>(k.x.dim()), file::Dim("n"));
  file::Graph g{.inputs = {value("x", file::kFloat, dims)},
                .outputs = {value("y0", file::kFloat, {})},
                .initializers = k.constants,
                .nodes = {node(k.op, inputs, outputs, k.attributes)}};
  g.outputs = {file::Message().text(1, "y0")};
  return file::model(g, k.set);
}

void agrees(const Case& k) {
  SCOPED_TRACE(std::string(k.op) + " of set " + std::to_string(k.set));
  const onnx::Model m = onnx::load_bytes(model_of(k));
  auto compiled = compile(m);
  for (const Tensor& y : {m(k.x)[0], compiled(k.x)[0]}) {
    ASSERT_EQ(y.sizes(), k.expected.sizes());
    EXPECT_TRUE(allclose(y, k.expected, 1e-5, 1e-6, true)) << y.str() << " expected " << k.expected.str();
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
}

Tensor row(const std::vector<float>& v) { return tensor_of<float>(v); }

// Before set 13 what is from `axis` on is one dimension, also where it counts from the end.
TEST(OnnxVersions, SoftmaxCountsItsAxisFromTheEnd) {
  const Tensor x = sin(arange(24, {.dtype = kFloat32})).view({2, 3, 4});
  for (int set : {11, 12})
    for (std::int64_t axis : {-1, -2, -3, 0, 1, 2}) {
      const std::int64_t from = axis < 0 ? axis + 3 : axis, rows = from == 0 ? 1 : from == 1 ? 2 : 6;
      const Tensor flat = x.reshape({rows, 24 / rows}), most = amax(flat, 1, true);
      agrees({"Softmax", set, {attribute("axis", axis)}, x, softmax(flat, 1).view({2, 3, 4})});
      agrees({"LogSoftmax", set, {attribute("axis", axis)}, x, log_softmax(flat, 1).view({2, 3, 4})});
      agrees({"Hardmax", set, {attribute("axis", axis)}, x, (flat == most).to(kFloat32).view({2, 3, 4})});
    }
}

// Pads count where that is asked for; what ceil_mode adds behind them does not.
TEST(OnnxVersions, AveragesCountPadsAndNothingBehindThem) {
  const auto pool = [](std::int64_t kernel, std::int64_t stride, Ints64 pads) {
    return std::vector<file::Message>{attribute("kernel_shape", Ints64{kernel}), attribute("strides", Ints64{stride}),
                                      attribute("pads", pads), attribute("ceil_mode", std::int64_t{1}),
                                      attribute("count_include_pad", std::int64_t{1})};
  };
  const Tensor five = arange(5, {.dtype = kFloat32}).view({1, 1, 5}),
               six = arange(6, {.dtype = kFloat32}).view({1, 1, 6});
  for (int set : {10, 11, 19, 22}) {
    agrees({"AveragePool", set, pool(2, 2, {0, 0}), five, row({0.5, 2.5, 4}).view({1, 1, 3})});
    agrees({"AveragePool", set, pool(3, 2, {0, 0}), six, row({1, 3, 4.5}).view({1, 1, 3})});
    agrees({"AveragePool", set, pool(3, 2, {1, 0}), six, row({1.f / 3, 2, 4}).view({1, 1, 3})});
    agrees({"AveragePool", set, pool(3, 2, {1, 1}), five, row({1.f / 3, 2, 7.f / 3}).view({1, 1, 3})});
  }
}

// Set 10 leaves open which element is nearest: the one before, where it shrinks the one after, as in ONNX Runtime.
TEST(OnnxVersions, NearestOfSet10) {
  const Tensor x = arange(5, {.dtype = kFloat32}).view({1, 1, 5});
  const auto by = [](float scale) { return std::vector<file::Message>{file::floats("c0", {3}, {1, 1, scale})}; };
  agrees({"Resize", 10, {}, x, row({0, 2, 4}).view({1, 1, 3}), by(0.6f)});
  agrees({"Resize", 10, {}, x, row({0, 0, 1, 2, 2, 3, 4}).view({1, 1, 7}), by(1.5f)});
}

TEST(OnnxVersions, ActivationsTakeTheirParametersInOrder) {
  const auto names = [](const std::vector<std::string>& all) {
    file::Message m = file::Message().text(1, "activations");
    for (const std::string& s : all) m.text(9, s);
    return m.number(20, 8);
  };
  const auto reals = [](const char* name, const std::vector<float>& all) {
    file::Message m = file::Message().text(1, name);
    for (float f : all) m.real(7, f);
    return m.number(20, 6);
  };
  const file::Message one = file::floats("c0", {2, 1, 1}, {1, 1}), none = file::floats("c1", {2, 1, 1}, {0, 0});
  const Tensor x = row({2}).view({1, 1, 1});
  // Relu has no alpha: 0.5 and 0.1 are Affine's.
  agrees({"RNN",
          14,
          {attribute("hidden_size", std::int64_t{1}), attribute("direction", std::string("bidirectional")),
           names({"Relu", "Affine"}), reals("activation_alpha", {0.5f}), reals("activation_beta", {0.1f})},
          x,
          row({2, 1.1f}).view({1, 2, 1, 1}),
          {one, none}});
  agrees({"RNN",
          14,
          {attribute("hidden_size", std::int64_t{1}), attribute("direction", std::string("bidirectional")),
           names({"LeakyRelu", "Affine"}), reals("activation_alpha", {0.25f, 0.5f}), reals("activation_beta", {0.1f})},
          -x,
          row({-0.5f, -0.9f}).view({1, 2, 1, 1}),
          {one, none}});
  // Of a GRU's two the second: z = sigmoid(2), h = (1 - z) * -0.25 * 2
  const auto three = [](const char* name, float v) { return file::floats(name, {1, 3, 1}, {v, v, v}); };
  const float z = 1 / (1 + std::exp(2.f));
  agrees(
      {"GRU",
       14,
       {attribute("hidden_size", std::int64_t{1}), names({"Sigmoid", "LeakyRelu"}), reals("activation_alpha", {0.25f})},
       -x,
       row({(1 - z) * -0.5f}).view({1, 1, 1, 1}),
       {three("c0", 1), three("c1", 0)}});
}

// ONNX Runtime's LSTM of bytes is the LSTM of what they stand for.
TEST(OnnxVersions, AnLstmOfBytesIsOneOfFloats) {
  const Tensor x = sin(arange(12, {.dtype = kFloat32})).view({3, 2, 2});
  std::vector<std::int8_t> w, r;
  std::vector<float> fw(2 * 2 * 4), fr(2 * 4);
  for (int d = 0; d < 2; ++d) {
    for (int i = 0; i < 2; ++i)
      for (int g = 0; g < 4; ++g) {
        w.push_back(static_cast<std::int8_t>(20 * d - 13 * i + 7 * g));
        fw[static_cast<std::size_t>((d * 4 + g) * 2 + i)] = (static_cast<float>(w.back()) - 3) * 0.02f;
      }
    for (int g = 0; g < 4; ++g) {
      r.push_back(static_cast<std::int8_t>(30 * d - 9 * g));
      fr[static_cast<std::size_t>(d * 4 + g)] = static_cast<float>(r.back()) * 0.01f * static_cast<float>(g + 1);
    }
  }
  std::vector<float> columns;
  for (int i = 0; i < 8; ++i) columns.push_back(0.01f * static_cast<float>(i % 4 + 1));
  const auto with = [&](const char* op, const char* domain, std::vector<file::Message> constants) {
    file::Names inputs{"x"};
    for (int i = 0; i < 7; ++i) inputs.push_back(i < 2 ? "c" + std::to_string(i) : "");
    for (std::size_t i = 2; i < constants.size(); ++i) inputs.push_back("c" + std::to_string(i));
    const file::Graph g{.inputs = {value("x", file::kFloat, {"t", 2, 2})},
                        .outputs = {file::Message().text(1, "y")},
                        .initializers = constants,
                        .nodes = {node(op, inputs, {"y"},
                                       {attribute("hidden_size", std::int64_t{1}),
                                        attribute("direction", std::string("bidirectional"))},
                                       "", domain)}};
    return onnx::load_bytes(file::Message{file::model(g, 17)}.in(8, file::opset(1, "com.microsoft")).bytes);
  };
  const onnx::Model floats = with("LSTM", "", {file::floats("c0", {2, 4, 2}, fw), file::floats("c1", {2, 4, 1}, fr)});
  const onnx::Model bytes =
      with("DynamicQuantizeLSTM", "com.microsoft",
           {file::tensor("c0", 3, {2, 2, 4}, w), file::tensor("c1", 3, {2, 1, 4}, r),
            file::floats("c2", {2}, {0.02f, 0.02f}), file::tensor("c3", 3, {2}, std::vector<std::int8_t>{3, 3}),
            file::floats("c4", {2, 4}, columns)});
  EXPECT_TRUE(allclose(bytes(x)[0], floats(x)[0], 1e-5, 1e-6));
  EXPECT_TRUE(allclose(compile(bytes)(x)[0], floats(x)[0], 1e-5, 1e-6));
}

TEST(OnnxVersions, ExclusiveSumsSubtractNothing) {
  const auto sums = [](bool reverse) {
    return std::vector<file::Message>{attribute("exclusive", std::int64_t{1}),
                                      attribute("reverse", std::int64_t{reverse})};
  };
  for (int set : {11, 14}) {
    agrees({"CumSum", set, sums(false), row({1, kInf, 2}), row({0, 1, kInf}), {file::number("c0", 0)}});
    agrees({"CumSum", set, sums(false), row({3, 1e20f, 4}), row({0, 3, 1e20f}), {file::number("c0", 0)}});
    agrees({"CumSum", set, sums(true), row({1, kInf, 2}), row({kInf, 2, 0}), {file::number("c0", -1)}});
    agrees({"CumSum", set, sums(false), row({}), row({}), {file::number("c0", 0)}});
  }
}

TEST(OnnxVersions, ReductionsOverNoAxesStillComputeTheirElements) {
  const Tensor x = row({-3, 0.5f, 2});
  const std::vector<file::Message> none{attribute("noop_with_empty_axes", std::int64_t{1})};
  struct {
    const char* op;
    Tensor expected;
  } const all[] = {{"ReduceL1", abs(x)},     {"ReduceL2", abs(x)},   {"ReduceSumSquare", x * x},
                   {"ReduceLogSum", log(x)}, {"ReduceLogSumExp", x}, {"ReduceMax", x},
                   {"ReduceMean", x},        {"ReduceProd", x},      {"ReduceSum", x}};
  for (const auto& r : all) {
    agrees({r.op, 18, none, x, r.expected});
    agrees({r.op, 18, none, x, r.expected, {file::ints("c0", {})}});
  }
}

TEST(OnnxVersions, TheSignOfNaNIsNaN) {
  agrees({"Sign", 13, {}, row({kNan, -kInf, -2, -0.f, 3}), row({kNan, -1, -1, 0, 1})});
}

TEST(OnnxVersions, SmallThingsOfSingleSets) {
  const Tensor x = row({1, -1, 2, -2, 3, -3}).view({1, 3, 2});
  agrees({"PRelu",
          6,
          {},
          x,
          row({1, -0.5f, 2, -2, 3, -0.75f}).view({1, 3, 2}),
          {file::floats("c0", {3}, {0.5f, 1, 0.25f})}});  // a slope for each channel
  for (int set : {9, 13, 21}) {
    agrees(
        {"Cast", set, {attribute("to", std::int64_t{2})}, row({-1, 2.5f, -7, 300}), row({255, 2, 249, 44}).to(kUInt8)});
    agrees({"Cast", set, {attribute("to", std::int64_t{3})}, row({-1, 2.5f, 130}), row({-1, 2, -126}).to(kInt8)});
  }
  agrees({"DynamicQuantizeLinear", 11, {}, zeros({3}), zeros({3}, {.dtype = kUInt8}), {}, 3});
  agrees({"Swish", 24, {attribute("alpha", 2.f)}, x, x * sigmoid(x * 2.0)});
  agrees({"RMSNormalization",
          23,
          {},
          x,
          x * rsqrt(mean(x * x, {-1}, true) + 1e-5) * row({1, 2}),
          {file::floats("c0", {2}, {1, 2})}});
  agrees({"CumProd",
          26,
          {attribute("exclusive", std::int64_t{1})},
          row({2, 3, 4}),
          row({1, 2, 6}),
          {file::number("c0", 0)}});
  // spatial = 0: statistics for each element behind the batch
  const auto four = [](const char* name, float v) { return file::floats(name, {3, 2}, {v, v, v, v, v, 2 * v}); };
  agrees({"BatchNormalization",
          7,
          {attribute("spatial", std::int64_t{0}), attribute("epsilon", 0.f)},
          x,
          row({1, -1, 2, -2, 3, -7}).view({1, 3, 2}),
          {four("c0", 1), four("c1", 0), four("c2", 0), file::floats("c3", {3, 2}, {1, 1, 1, 1, 1, 36.f / 49})}});
}

TEST(OnnxVersions, WhatSets26To28Changed) {
  const Tensor x = row({5.5f, -5.5f, 5.5f, -5.5f, 0, 3, -3}), by = row({2, 2, -2, -2, -2, kInf, kInf});
  const std::vector<file::Message> divisor{file::floats("c0", {7}, by.to_vector<float>())};
  agrees({"Mod", 28, {}, x, row({1.5f, 0.5f, -0.5f, -1.5f, -0.f, 3, kInf}), divisor});
  agrees({"Mod", 28, {attribute("fmod", std::int64_t{1})}, x, row({1.5f, -1.5f, 1.5f, -1.5f, 0, 3, -3}), divisor});
  EXPECT_NE(error_of([&] {
              onnx::load_bytes(model_of({"Mod", 13, {}, x, x, divisor}))(x);
            })
                .message()
                .find("fmod = 1"),
            std::string::npos);
  const Tensor image = arange(16, {.dtype = kFloat32}).view({1, 2, 2, 4});
  const auto mode = [](const char* m) {
    return std::vector<file::Message>{attribute("blocksize", std::int64_t{2}), attribute("mode", std::string(m))};
  };
  agrees({"SpaceToDepth", 28, mode("DCR"), image,
          row({0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}).view({1, 8, 1, 2})});
  agrees({"SpaceToDepth", 28, mode("CRD"), image,
          row({0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}).view({1, 8, 1, 2})});
  agrees({"BitCast",
          26,
          {attribute("to", std::int64_t{6})},
          row({1, -2, 0}).view({3}),
          tensor_of<std::int32_t>(std::vector<std::int32_t>{0x3f800000, -0x40000000, 0})});
  agrees({"SwiGLU",
          28,
          {attribute("alpha", 2.f)},
          image,
          image * sigmoid(image * 2.0) * image,
          {file::floats("c0", {1, 2, 2, 4}, image.to_vector<float>())}});
}

// Of a one-sided spectrum the inverse gives all samples: 2 (m - 1) of m frequencies, or as many as it says.
TEST(OnnxVersions, TheInverseOfOneSideIsReal) {
  const Tensor samples = row({1, 2, 0, -1, 3, 0.5f}).view({1, 6, 1});
  for (int set : {17, 19, 20, 22}) {
    const auto with = [&](std::int64_t inverse, std::vector<file::Message> more) {
      std::vector<file::Message> a{attribute("inverse", inverse), attribute("onesided", std::int64_t{1})};
      if (set < 20) a.push_back(attribute("axis", std::int64_t{1}));
      return std::pair(a, more);
    };
    const auto forward = with(0, {});
    const Tensor spectrum = onnx::load_bytes(model_of({"DFT", set, forward.first, samples, samples}))(samples)[0];
    EXPECT_EQ(spectrum.size(1), 4);
    agrees({"DFT", set, with(1, {}).first, spectrum, samples});
    agrees({"DFT", set, with(1, {}).first, spectrum, samples, {file::number("c0", 6)}});
  }
}

// ---- elements that are held wider than the file says

TEST(OnnxVersions, IntegersOfFewBitsWrapAndSaturate) {
  const Tensor x = row({-9, -1.5f, 0, 6, 8, 300});
  struct {
    int element;
    Tensor cast, quantized;
  } const all[] = {
      {22, row({7, -1, 0, 6, -8, -4}).to(kInt8), row({-8, -2, 0, 6, 7, 7}).to(kInt8)},          // int4
      {21, row({7, 15, 0, 6, 8, 12}).to(kUInt8), row({0, 0, 0, 6, 8, 15}).to(kUInt8)},          // uint4
      {26, row({-1, -1, 0, -2, 0, 0}).to(kInt8), row({-2, -2, 0, 1, 1, 1}).to(kInt8)},          // int2
      {25, row({3, 3, 0, 2, 0, 0}).to(kUInt8), row({0, 0, 0, 3, 3, 3}).to(kUInt8)},             // uint2
      {4, row({65527, 65535, 0, 6, 8, 300}).to(kInt32), row({0, 0, 0, 6, 8, 300}).to(kInt32)},  // uint16
      {5, row({-9, -1, 0, 6, 8, 300}).to(kInt32), row({-9, -2, 0, 6, 8, 300}).to(kInt32)},      // int16
  };
  for (const auto& k : all) {
    SCOPED_TRACE(k.element);
    const std::int64_t to = k.element;
    agrees({"Cast", 25, {attribute("to", to)}, x, k.cast});
    // Two bytes hold two elements of any of these.
    const file::Message like = file::tensor("c0", k.element,
                                            {k.element < 20   ? 1
                                             : k.element < 25 ? 4
                                                              : 8},
                                            std::vector<std::int16_t>{0});
    agrees({"CastLike", 25, {}, x, k.cast, {like}});
    agrees({"QuantizeLinear", 25, {attribute("output_dtype", to)}, x, k.quantized, {file::floats("c0", {}, {1})}});
  }
  const Tensor some = row({0.25f, 0.75f, -1.25f, 2.5f, 3.5f, 5, -100});
  const auto four = compile(onnx::load_bytes(model_of({"Cast", 25, {attribute("to", std::int64_t{23})}, some, some})));
  EXPECT_TRUE(equal(four(some)[0].to(kFloat32), row({0, 1, -1, 2, 4, 4, -6})));
}

TEST(OnnxVersions, PackedConstantsAreUnpacked) {
  struct {
    int element, elements;
    std::vector<std::uint8_t> bytes;
    std::vector<float> values;
  } const all[] = {
      {22, 3, {0xf7, 0x08}, {7, -1, -8}},
      {21, 3, {0xf7, 0x08}, {7, 15, 8}},
      {26, 5, {0b11100100, 0b10}, {0, 1, -2, -1, -2}},
      {25, 5, {0b11100100, 0b10}, {0, 1, 2, 3, 2}},
      {23, 4, {0xf1, 0x7a}, {0.5f, -6, -1, 6}},
      {24, 3, {127, 130, 0}, {1, 8, 5.877471754e-39f}},
      {4, 2, {0xff, 0xff, 1, 0}, {65535, 1}},
      {5, 2, {0xff, 0xff, 1, 0}, {-1, 1}},
      {12, 1, {0xff, 0xff, 0xff, 0xff}, {4294967295.f}},
  };
  for (const auto& k : all) {
    SCOPED_TRACE(k.element);
    const file::Graph g{
        .inputs = {value("x", file::kFloat, {"n"})},
        .outputs = {value("y", file::kFloat, {"n"})},
        .initializers = {file::tensor("w", k.element, {k.elements}, k.bytes)},
        .nodes = {node("Cast", {"w"}, {"f"}, {attribute("to", std::int64_t{1})}), node("Mul", {"x", "f"}, {"y"})}};
    const onnx::Model m = onnx::load_bytes(file::model(g, 25));
    EXPECT_TRUE(equal(m(ones({k.elements}))[0], row(k.values))) << m(ones({k.elements}))[0].str();
    file::Graph cut = g;
    cut.initializers[0] = file::tensor("w", k.element, {k.elements + 8}, k.bytes);
    EXPECT_EQ(error_of([&] { onnx::load_bytes(file::model(cut, 25)); }).code(), ErrorCode::FileFormat);
  }
  // Sums and products wrap as the file's integers do.
  const struct {
    int element;
    const char* op;
    Tensor a, b, expected;
  } sums[] = {
      {4, "Add", row({65535, 7}), row({2, 1}), row({1, 8})},
      {4, "Mul", row({65535, 7}), row({65535, 3}), row({1, 21})},
      {4, "Sub", row({0, 7}), row({1, 3}), row({65535, 4})},
      {5, "Add", row({32767, -1}), row({1, 1}), row({-32768, 0})},
      {5, "Div", row({-32768, 7}), row({-1, 2}), row({-32768, 3})},
      {5, "Max", row({-3, 7}), row({1, 2}), row({1, 7})},
  };
  for (const auto& k : sums) {
    const file::Graph g{.inputs = {value("a", k.element, {"n"}), value("b", k.element, {"n"})},
                        .outputs = {value("y", k.element, {"n"})},
                        .nodes = {node("Identity", {"a"}, {"i"}), node(k.op, {"i", "b"}, {"y"})}};
    const onnx::Model m = onnx::load_bytes(file::model(g, 21));
    auto compiled = compile(m);
    const Tensor a = k.a.to(kInt32), b = k.b.to(kInt32);
    for (const Tensor& y : {m(a, b)[0], compiled(a, b)[0]})
      EXPECT_TRUE(equal(y, k.expected.to(kInt32))) << k.op << y.str();
  }
  // What else there is would wrap elsewhere: not supported, and told when it is loaded, also behind what moves
  // elements.
  const file::Graph sum{.inputs = {value("x", 4, {"n"})},
                        .outputs = {value("y", 4, {"n"})},
                        .nodes = {node("Identity", {"x"}, {"i"}), node("ReduceSum", {"i"}, {"y"}, {}, "adds")}};
  const Error e = error_of([&] { onnx::load_bytes(file::model(sum, 21)); });
  EXPECT_NE(e.message().find("ai.onnx.ReduceSum of version 21: 1 node, the first is 'adds' (of uint16)"),
            std::string::npos)
      << e.what();
}

/// Numbers of any rank stay numbers: pads of PyTorch's older exporter, [0, 0, n, 1] by last dimension first, become
/// ONNX's.
TEST(OnnxVersions, PadsThatExportersComputeAreNoTensors) {
  const auto axis = [](std::int64_t a) { return std::vector<file::Message>{attribute("axis", a)}; };
  file::Graph g{
      .inputs = {value("x", file::kFloat, {"n", 3})},
      .outputs = {value("y", file::kFloat, {"a", "b"})},
      .initializers = {file::ints("two", {2}), file::ints("pairs", {-1, 2}), file::ints("flat", {-1}),
                       file::ints("minus", {-1}), file::ints("end", {INT64_MIN}), file::ints("rows", {0}),
                       file::ints("given", {0, 1}), file::ints("ones", {1, 1}), file::number("zero", 0),
                       file::ints("front", {0}), file::floats("fill", {}, {7})},
      .nodes = {
          node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}), node("Unsqueeze", {"n", "front"}, {"n1"}),
          node("Concat", {"given", "n1", "two"}, {"listed"}, axis(0)), node("Concat", {"listed"}, {"all"}, axis(0)),
          node("Reshape", {"all", "pairs"}, {"p"}), node("Slice", {"p", "minus", "end", "rows", "minus"}, {"q"}),
          node("Transpose", {"q"}, {"t"}, {attribute("perm", Ints64{1, 0})}), node("Reshape", {"t", "flat"}, {"f"}),
          node("Cast", {"f"}, {"c"}, {attribute("to", std::int64_t{7})}), node("Tile", {"p", "ones"}, {"tiled"}),
          node("ReduceSum", {"tiled", "front"}, {"sum"}, {attribute("keepdims", std::int64_t{0})}),
          node("Split", {"sum"}, {"sum0", "sum1"}, axis(0)), node("Mul", {"sum1", "ones"}, {"unused"}),
          node("Pad", {"x", "c", "fill"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g, 13));
  auto compiled = compile(m);
  for (int n : {2, 4, 7}) {
    const Tensor x = ones({n, 3}), expected = pad(x, {0, 1, n, 2}, 7);
    EXPECT_TRUE(equal(m(x)[0], expected));
    EXPECT_TRUE(equal(compiled(x)[0], expected));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 1);
}

/// A rate, or a mode: the branch of the call's number alone is traced.
TEST(OnnxVersions, OneIntegerThatAnIfAsksForIsANumber) {
  const file::Graph then{.outputs = {value("t", file::kFloat, {"a"})}, .nodes = {node("Reshape", {"x", "two"}, {"t"})}},
      otherwise{.outputs = {value("o", file::kFloat, {"a"})}, .nodes = {node("Neg", {"x"}, {"o"})}};
  const file::Graph g{
      .inputs = {value("x", file::kFloat, {"n"}), value("rate", file::kInt64, {}), value("flag", file::kBool, {})},
      .outputs = {value("y", file::kFloat, {"a"}), value("z", file::kFloat, {"n"})},
      .initializers = {file::number("known", 16000), file::ints("two", {2, -1})},
      .nodes = {node("Equal", {"rate", "known"}, {"is"}),
                node("If", {"is"}, {"y"},
                     {file::graph_attribute("then_branch", then.message()),
                      file::graph_attribute("else_branch", otherwise.message())}),
                node("If", {"flag"}, {"z"},
                     {file::graph_attribute("then_branch", file::Graph{.outputs = {value("t2", file::kFloat, {"n"})},
                                                                       .nodes = {node("Neg", {"x"}, {"t2"})}}
                                                               .message()),
                      file::graph_attribute("else_branch", file::Graph{.outputs = {value("o2", file::kFloat, {"n"})},
                                                                       .nodes = {node("Abs", {"x"}, {"o2"})}}
                                                               .message())})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  EXPECT_TRUE(m.inputs()[1].decides_sizes);
  EXPECT_FALSE(m.inputs()[2].decides_sizes);  // a condition itself stays a tensor, and both branches are compiled
  auto compiled = compile(m);
  for (int n : {4, 3})  // 3 has no rows of two: the other branch
    for (bool flag : {true, false}) {
      const Tensor x = arange(n, {.dtype = kFloat32});
      const std::vector<Tensor> y =
          compiled(std::vector<onnx::Argument>{x, onnx::Argument::number(n == 4 ? 16000 : 8000), scalar_tensor(flag)});
      EXPECT_TRUE(equal(y[0], n == 4 ? x.view({2, 2}) : -x));
      EXPECT_TRUE(equal(y[1], flag ? -x : x));
    }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
  EXPECT_EQ(compiled.stats().compilations, 2);
}

/// A small tensor in place of the number is read before the call: other numbers, and other branches, still replay.
TEST(OnnxVersions, ATensorForANumberIsReadBeforeTheCall) {
  const auto then = [](const char* to) {
    return file::graph_attribute("then_branch", file::Graph{.outputs = {value("t", file::kFloat, {"a"})},
                                                            .nodes = {node("Reshape", {"x", to}, {"t"})}}
                                                    .message());
  };
  const file::Message otherwise = file::graph_attribute(
      "else_branch",
      file::Graph{.outputs = {value("o", file::kFloat, {"a"})}, .nodes = {node("Neg", {"x"}, {"o"})}}.message());
  const auto graph = [&](int element, const std::vector<file::Dim>& dims) {
    file::Graph g{.inputs = {value("x", file::kFloat, {"n"}), value("rate", element, dims)},
                  .outputs = {value("y", file::kFloat, {"a"})},
                  .initializers = {file::number("known", 16000), file::ints("two", {2, -1})}};
    if (element == file::kInt64) g.nodes.push_back(node("Equal", {"rate", "known"}, {"is"}));
    g.nodes.push_back(node("If", {element == file::kInt64 ? "is" : "rate"}, {"y"}, {then("two"), otherwise}));
    return g;
  };
  // An integer; and a flag whose branches cannot be compiled together, which is a branch on a value.
  for (const bool flag : {false, true}) {
    const auto m = onnx::load_bytes(file::model(flag ? graph(file::kBool, {1}) : graph(file::kInt64, {})));
    auto compiled = compile(m);
    for (int n : {4, 3, 6, 5})
      for (int again = 0; again < 2; ++again) {
        const bool is = n % 2 == 0;
        const Tensor x = arange(n, {.dtype = kFloat32}),
                     rate = flag ? full({1}, is, {.dtype = kBool}) : scalar_tensor(is ? 16000 : 8000 + n);
        const Tensor expected = is ? x.view({2, n / 2}) : -x;
        EXPECT_TRUE(equal(compiled(x, rate)[0], expected));
        EXPECT_TRUE(equal(compiled(std::vector<Tensor>{x, rate})[0], expected));
      }
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain(Detail::Summary);
    EXPECT_LE(compiled.stats().compilations, 4);
    // What is wrong with it is told as before.
    EXPECT_EQ(error_of([&] { compiled(ones({4}), ones({2})); }).code(), ErrorCode::DTypeMismatch);
    EXPECT_EQ(error_of([&] {
                compiled(ones({4}), full({2, 2}, 1, {.dtype = flag ? kBool : kInt64}));
              }).code(),
              ErrorCode::ShapeMismatch);
    EXPECT_EQ(error_of([&] { compiled(ones({4})); }).code(), ErrorCode::InvalidArgument);
  }
  // Inside a compiled function of the user's nothing can be read: eager, and right.
  const onnx::Model m = onnx::load_bytes(file::model(graph(file::kInt64, {})));
  auto inner = compile(m);
  auto outer = compile([&](Tensor x, Tensor rate) { return inner(x, rate)[0] * 2; });
  EXPECT_TRUE(equal(outer(ones({3}), scalar_tensor(8000)), full({3}, -2.0)));
}

// ---- what turned files away

TEST(OnnxVersions, ADimensionOfMinusOneIsDynamic) {
  const file::Graph g{.inputs = {value("x", file::kFloat, {-1, 2})},
                      .outputs = {value("y", file::kFloat, {-1, 2})},
                      .nodes = {node("Neg", {"x"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  EXPECT_LT((*m.inputs()[0].sizes)[0].size, 0);
  EXPECT_TRUE(equal(m(ones({3, 2}))[0], full({3, 2}, -1)));
}

TEST(OnnxVersions, AnOperatorSetMayBeNamedTwiceAndBeNewer) {
  const file::Graph g{.inputs = {value("x", file::kFloat, {"n"})},
                      .outputs = {value("y", file::kFloat, {"n"})},
                      .nodes = {node("Neg", {"x"}, {"y"})}};
  const auto with = [&](std::vector<std::int64_t> sets) {
    file::Message m = file::Message().number(1, 8).in(7, g.message());
    for (std::int64_t s : sets) m.in(8, file::opset(s));
    return m.bytes;
  };
  for (const auto& sets : {Ints64{17, 17}, {23}, {25}, {1000}})
    EXPECT_TRUE(equal(onnx::load_bytes(with(sets))(ones({3}))[0], full({3}, -1)));
  EXPECT_NE(error_of([&] {
              onnx::load_bytes(with({17, 13}));
            })
                .message()
                .find("named twice, as 17 and 13"),
            std::string::npos);
}

// ---- what bounds a call, and what tells of one that is not compiled

/// y = x + ... for ever.
file::Graph endless(const char* op = "Add") {
  const file::Graph body{
      .inputs = {value("i", file::kInt64, {}), value("go", file::kBool, {}), value("s", file::kFloat, {"n"})},
      .outputs = {value("on", file::kBool, {}), value("t", file::kFloat, {"n"})},
      .nodes = {
          node("Identity", {"go"}, {"on"}),
          node(op, {"s", "x"}, {"t"},
               op == std::string_view("Add") ? std::vector<file::Message>()
                                             : std::vector<file::Message>{file::attribute("axis", std::int64_t{0})},
               "adds")}};
  return {.inputs = {value("x", file::kFloat, {"n"}), value("go", file::kBool, {})},
          .outputs = {value("y", file::kFloat, {"n"})},
          .nodes = {node("Loop", {"", "go", "x"}, {"y"}, {file::graph_attribute("body", body.message())}, "turns")}};
}

TEST(OnnxVersions, ACallRunsNoMoreStepsThanItsModelMay) {
  const onnx::Model m = onnx::load_bytes(file::model(endless()), {.max_steps = 3000});
  const Error e = error_of([&] { m(ones({2}), scalar_tensor(true)); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(e.message().find("3000"), std::string::npos) << e.message();
  EXPECT_NE(e.message().find("max_steps"), std::string::npos) << e.message();
  EXPECT_TRUE(equal(m(ones({2}), scalar_tensor(false))[0], ones({2})));
  EXPECT_EQ(error_of([&] { onnx::load_bytes(file::model(endless()), {.max_steps = 0}); }).code(),
            ErrorCode::InvalidArgument);
}

/// One error each, that names the node, its operator and set, and no line of the library.
TEST(OnnxVersions, ErrorsNameTheNodeAndItsSet) {
  const Ints64 huge{std::int64_t{1} << 40, std::int64_t{1} << 16};
  const struct {
    const char* told;
    Case k;
  } all[] = {
      {"size 0 is -2", {"Reshape", 21, {}, ones({2, 3}), {}, {file::ints("c0", {-2, 3})}}},
      {"no host memory", {"Tile", 21, {}, ones({1, 1}), {}, {file::ints("c0", huge)}}},
      {"kernel_shape",
       {"Conv",
        11,
        {attribute("kernel_shape", Ints64{3, 2})},
        ones({1, 1, 4, 4}),
        {},
        {file::floats("c0", {1, 1, 2, 2}, {1, 1, 1, 1})}}},
      {"hidden_size 7",
       {"RNN",
        14,
        {attribute("hidden_size", std::int64_t{7})},
        ones({2, 1, 1}),
        {},
        {file::floats("c0", {1, 1, 1}, {1}), file::floats("c1", {1, 1, 1}, {1})}}},
      {"division by zero", {"Div", 14, {}, ones({1}), {}, {}}},
      {"wrong type", {"Softmax", 13, {attribute("axis", 1.5f)}, ones({2}), {}, {}}},
      {"input 1 was left out", {"MatMul", 13, {}, ones({2, 2}), {}, {}}},
      {"axis 5 of a tensor of 2",
       {"Gather", 13, {attribute("axis", std::int64_t{5})}, ones({2, 2}), {}, {file::ints("c0", {0})}}},
      {"index 9", {"Gather", 13, {}, ones({2, 2}), {}, {file::ints("c0", {9})}}},
      {"must agree",
       {"Concat", 13, {attribute("axis", std::int64_t{0})}, ones({2, 2}), {}, {file::floats("c0", {1, 3}, {1, 2, 3})}}},
      {"wanted a bool condition",
       {"Where", 16, {}, ones({1}), {}, {file::floats("c0", {1}, {1}), file::floats("c1", {1}, {1})}}},
  };
  for (const auto& each : all) {
    const Case& k = each.k;
    std::string bytes;
    if (std::string_view(k.op) == "Div") {  // of numbers, which are computed when it is loaded
      const file::Graph g{.inputs = {value("x", file::kFloat, {"n"})},
                          .outputs = {file::Message().text(1, "y")},
                          .initializers = {file::number("a", 1), file::number("zero", 0)},
                          .nodes = {node("Div", {"a", "zero"}, {"y"})}};
      bytes = file::model(g, k.set);
    } else {
      bytes = model_of(k);
    }
    const onnx::Model m = onnx::load_bytes(bytes);
    const std::string set = std::string(", ") + k.op + " of set " + std::to_string(k.set) + ")";
    const Error e = error_of([&] { m(k.x); });
    EXPECT_NE(e.message().find(set), std::string::npos) << e.what();
    EXPECT_NE(e.message().find(each.told), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find("import/onnx"), std::string::npos) << e.what();
  }
}

TEST(OnnxVersions, AnEagerCallNamesTheNode) {
  const onnx::Model m = onnx::load_bytes(file::model(endless("Concat")));  // its state changes its size
  auto compiled = compile(m, {.branches = 0});
  std::string told;
  set_log_callback([&](const LogEvent& e) { told += std::string(e.text) + "\n"; }, "recompiles");
  compiled(ones({2}), scalar_tensor(false));
  set_log_callback({});
  EXPECT_EQ(compiled.stats().eager_fallbacks, 1);
  for (const std::string& text : {told, compiled.explain()}) {
    EXPECT_NE(text.find("node 'turns', Loop"), std::string::npos) << text;
    EXPECT_EQ(text.find("control.cc"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace reprise::test
