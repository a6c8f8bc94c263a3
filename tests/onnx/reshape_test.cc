// Sizes that a model computes for a Reshape, at those that come out as 0: compiled calls do as eager ones.
#include <gtest/gtest.h>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::node;
using file::value;

/// The sizes of the result, or what was thrown.
template <class F>
std::string outcome(F&& call) {
  try {
    std::string s;
    for (Int d : call()[0].sizes()) s += d.str() + " ";
    return s;
  } catch (const Error& e) {
    return std::string("error ") + std::to_string(static_cast<int>(e.code()));
  }
}
std::string copied(const std::vector<std::int64_t>& sizes) {
  std::string s;
  for (std::int64_t d : sizes) s += std::to_string(d) + " ";
  return s;
}

/// A 0 copies the input's size, whether it was written or computed.
TEST(OnnxReshape, AComputedZeroCopiesAsAWrittenOneDoes) {
  // x [2, n] to [n, -1]: of n = 0 it is [2, 0].
  const file::Graph flipped{.inputs = {value("x", file::kFloat, {2, "n"})},
                            .outputs = {file::Message().text(1, "y")},
                            .initializers = {file::ints("at", {1}), file::ints("rest", {-1})},
                            .nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "at"}, {"n"}),
                                      node("Concat", {"n", "rest"}, {"t"}, {file::attribute("axis", std::int64_t{0})}),
                                      node("Reshape", {"x", "t"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(flipped));
  auto compiled = compile(m);
  for (std::int64_t n : {3, 5, 0, 1, 0}) {
    const Tensor x = zeros({2, n});
    const std::string wanted = n == 0 ? copied({2, 0}) : copied({n, 2});
    EXPECT_EQ(outcome([&] { return m(x); }), wanted);
    EXPECT_EQ(outcome([&] { return compiled(x); }), wanted);
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();

  // x [a, b] to [b, a]: a 0 copies what does not fit.
  const file::Graph turned{
      .inputs = {value("x", file::kFloat, {"a", "b"})},
      .outputs = {file::Message().text(1, "y")},
      .initializers = {file::ints("at", {1, 0})},
      .nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "at"}, {"t"}), node("Reshape", {"x", "t"}, {"y"})}};
  const onnx::Model t = onnx::load_bytes(file::model(turned));
  auto fast = compile(t);
  for (const auto& [a, b] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 2}, {0, 4}, {3, 0}, {4, 5}, {0, 0}}) {
    const Tensor x = zeros({a, b});
    const std::string eager = outcome([&] { return t(x); });
    EXPECT_EQ(outcome([&] { return fast(x); }), eager) << a << " " << b;
    EXPECT_EQ(eager.find("error") == 0, (a == 0) != (b == 0)) << eager;
  }
}

/// A size that depends on data, moved to another dimension: one compilation, and calls of two rows and more are
/// replayed.
TEST(OnnxReshape, SizesThatDependOnDataChangePlaces) {
  const file::Graph g{.inputs = {value("x", file::kFloat, {1, "n"})},
                      .outputs = {file::Message().text(1, "y")},
                      .nodes = {node("NonZero", {"x"}, {"at"}), node("Transpose", {"at"}, {"t"}),
                                node("Shape", {"t"}, {"s"}), node("Reshape", {"at", "s"}, {"y"})}};
  const onnx::Model m = onnx::load_bytes(file::model(g));
  auto compiled = compile(m);
  for (const std::vector<float>& v : {std::vector<float>{1, 0, 2, 3}, {0, 1, 1}, {4, 0, 0, 4, 4, 5, 6}}) {
    const Tensor x = tensor_of(v, {1, static_cast<std::int64_t>(v.size())});
    EXPECT_TRUE(equal(compiled(x)[0], m(x)[0]));
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.explain();
  EXPECT_EQ(compiled.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise::test
