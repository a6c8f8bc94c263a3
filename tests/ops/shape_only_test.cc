// Tensors without elements: every operator gives the sizes, dtypes and strides that the real call gives, and nobody
// reads a value.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "reprise/nn.h"
#include "reprise/reprise.h"
#include "tensor/impl.h"
#include "tests/ops/cases.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

const Device kShapes = Device::shape_only();

/// A shape-only tensor that stands in its storage as this one does in its own.
Tensor shape_like(const Tensor& t) {
  const std::int64_t elements = t.impl()->storage->bytes / item_size(t.dtype());
  return empty({elements}, {.dtype = t.dtype(), .device = kShapes})
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}
OpCase on_shapes(OpCase c) {
  const std::vector<graph::ArgDef>& args = graph::op(c.op).schema.args;
  for (std::size_t i = 0; i < c.args.size(); ++i)
    if (args[i].name == "device" && std::holds_alternative<std::string>(c.args[i])) c.args[i] = kShapes.str();
  return c;
}
std::vector<Tensor> shapes_of(const std::vector<Tensor>& all) {
  std::vector<Tensor> made;
  for (const Tensor& t : all) made.push_back(shape_like(t));
  return made;
}
void expect_shapes(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(is_shape_only(got[i])) << what;
    EXPECT_EQ(got[i].impl()->storage->data, nullptr) << what;
    EXPECT_EQ(describe(got[i]), describe(want[i])) << what << ", result " << i;
    EXPECT_EQ(got[i].storage_offset().value(), want[i].storage_offset().value()) << what << ", result " << i;
  }
}

TEST(ShapeOnly, EveryOperatorGivesTheShapesOfTheRealCall) {
  std::size_t operators = 0, in_place = 0;
  for (const graph::OpDef& d : graph::all_ops()) {
    if (static_cast<std::size_t>(d.id) >= graph::kBuiltinOps || d.id == graph::OpId::set) continue;
    if (d.cls == graph::OpClass::Transfer || d.cls == graph::OpClass::Control) continue;
    std::size_t n = 0;
    for (const OpCase& c : cases_of(d.id)) {
      if (++n > 4) break;  // of each operator some of its dtypes and layouts
      std::vector<Tensor> real = tensors_of(c), want;
      try {
        want = call(c, real);
      } catch (const Error&) {
        continue;  // its elements decide
      }
      const OpCase s = on_shapes(c);
      const std::vector<Tensor> shapes = shapes_of(real);
      expect_shapes(call(s, shapes), want, describe(c));
      ++operators;
      if (!d.has_inplace || real.empty()) continue;
      std::vector<Tensor> copies = real;
      copies[0] = same_layout_copy(real[0]);
      std::string refused;
      try {
        call(c, copies, true);
      } catch (const Error& e) {
        refused = e.what();
      }
      const std::uint64_t before = shapes[0].version();
      if (!refused.empty()) {
        EXPECT_EQ(error_of([&] { call(s, shapes, true); }).what(), refused) << describe(c);
        EXPECT_EQ(shapes[0].version(), before) << describe(c);
        continue;
      }
      const std::vector<Tensor> got = call(s, shapes, true);
      ASSERT_EQ(got.size(), 1u);
      EXPECT_TRUE(got[0].is_same(shapes[0])) << describe(c);
      EXPECT_EQ(shapes[0].version(), before + 1) << describe(c);
      ++in_place;
    }
  }
  EXPECT_GT(operators, 300u);
  EXPECT_GT(in_place, 50u);
}

TEST(ShapeOnly, ReadingAValueIsOneError) {
  const Tensor x = empty({1}, {.device = kShapes});
  const std::uint32_t line = __LINE__;
  struct Row {
    const char* what;
    std::function<void()> read;
  };
  const std::vector<Row> rows{
      {"item", [&] { x.item(); }},
      {"to_vector", [&] { x.to_vector<float>(); }},
      {"data_ptr", [&] { x.data_ptr(); }},
      {"data", [&] { x.data<float>(); }},
      {"bool", [&] { static_cast<void>(static_cast<bool>(x)); }},
      {"to", [&] { x.to(Device::cpu()); }},
      {"copy_", [&] { zeros({1}).copy_(x); }},
      {"dlpack", [&] { to_dlpack(x); }},
      {"save",
       [&] {
         save_safetensors("shape_only_test.safetensors", {{"x", x}});
       }},
      {"nonzero", [&] { nonzero(x); }},
  };
  for (const Row& r : rows) {
    const Error e = error_of(r.read);
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << r.what << ": " << e.what();
    EXPECT_NE(std::string(e.what()).find("shape-only"), std::string::npos) << r.what << ": " << e.what();
  }
  const Error at = error_of([&] { x.item(); });
  EXPECT_GT(at.where().line, line);
  EXPECT_NE(std::string(at.where().file).find("shape_only_test.cc"), std::string::npos);
  EXPECT_EQ(x.str(), "tensor(..., size=(1,), dtype=float32, device=shape_only)");
}

TEST(ShapeOnly, MixesWithNumbersAlone) {
  const Tensor x = empty({2, 3}, {.device = kShapes}), real = ones({2, 3}), number = ones({});
  EXPECT_TRUE(is_shape_only(x + number) && is_shape_only(number * x) && is_shape_only(x + 2.5));
  EXPECT_EQ(error_of([&] { x + real; }).code(), ErrorCode::DeviceMismatch);
  EXPECT_EQ(error_of([&] { real.add_(x); }).code(), ErrorCode::DeviceMismatch);
  EXPECT_EQ(error_of([&] { number.clone().add_(x.sum()); }).code(), ErrorCode::DeviceMismatch);
  x.copy_(real);  // takes the values that it does not have
  EXPECT_EQ(error_of([&] { x.copy_(ones({4})); }).code(), ErrorCode::ShapeMismatch);
  const Tensor t = real.t().to(kShapes);
  EXPECT_EQ(describe(t), "f32[3, 2]{1, 3}");
  EXPECT_TRUE(t.to(kShapes).is_same(t));
  EXPECT_EQ(error_of([&] { x.clone().set_(real); }).code(), ErrorCode::DeviceMismatch);
  Tensor grown = empty({2}, {.device = kShapes});
  grown.resize_({4, 5});
  EXPECT_EQ(describe(grown), "f32[4, 5]{5, 1}");
  EXPECT_EQ(error_of([&] { matmul(x, x); }).code(), ErrorCode::ShapeMismatch);
  const Tensor row = x.select(0, 1);
  EXPECT_TRUE(row.shares_storage_with(x));
  EXPECT_EQ(error_of([&] {
              x.narrow(0, 0, 1).expand({4, 3}).add_(1);
            }).code(),
            error_of([&] {
              real.narrow(0, 0, 1).expand({4, 3}).add_(1);
            }).code());
}

TEST(ShapeOnly, RandomDrawsAdvanceAsRealOnes) {
  manual_seed(3);
  rand({5});
  const std::vector<float> want = rand({4}).to_vector<float>();
  manual_seed(3);
  rand({5}, {.device = kShapes});
  EXPECT_EQ(rand({4}).to_vector<float>(), want);
}

struct Block : nn::Callable<Block> {
  nn::Linear up, gate, down;
  Tensor norm;
  Block(std::int64_t width, std::int64_t hidden)
      : up(width, hidden), gate(width, hidden), down(hidden, width), norm(ones({width})) {}
  Tensor forward(const Tensor& x) const {
    const Tensor y = x * rsqrt((x * x).mean(-1, true) + 1e-5) * norm;
    return x + down(silu(gate(y)) * up(y));
  }
  REPRISE_FIELDS(Block, up, gate, down, norm)
};

std::int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::int64_t kb = 0;
      status >> kb;
      return kb;
    }
  return 0;
}

TEST(ShapeOnly, AModelOf70BillionParametersTakesNoMemory) {
  const std::int64_t before = resident_kb();
  const ShapeOnlyScope scope;
  std::vector<Block> blocks;
  for (int i = 0; i < 100; ++i) blocks.emplace_back(8192, 28672);
  std::int64_t parameters = 0;
  for (const auto& [name, t] : nn::named_tensors(blocks)) parameters += t.numel().value();
  EXPECT_GT(parameters, 70'000'000'000);
  Tensor x = empty({4, 2048, 8192});
  for (const Block& b : blocks) x = b(x);
  EXPECT_EQ(describe(x), "f32[4, 2048, 8192]{16777216, 8192, 1}");
  EXPECT_LT(resident_kb() - before, 200'000);
}

TEST(ShapeOnly, TheScopeIsWhereNoDeviceIsGiven) {
  {
    const ShapeOnlyScope scope;
    EXPECT_TRUE(is_shape_only(zeros({2})) && is_shape_only(arange(5)) && is_shape_only(randn({2})) &&
                is_shape_only(eye(3)));
    EXPECT_FALSE(is_shape_only(zeros({2}, {.device = Device::cpu()})) || is_shape_only(tensor({1.0, 2.0})));
  }
  EXPECT_FALSE(is_shape_only(zeros({2})));
  EXPECT_EQ(error_of([] { is_shape_only(Tensor()); }).code(), ErrorCode::InvalidArgument);
}

TEST(ShapeOnly, CompiledFunctionsInferShapes) {
  int runs = 0;
  auto f = compile([&runs](const Tensor& x, const Tensor& w) {
    ++runs;
    return relu(matmul(x, w)) + zeros({1});
  });
  const Tensor x = ones({2, 3}), w = ones({3, 4});
  f(x, w);
  EXPECT_EQ(runs, 1);
  auto g = compile([](const Tensor& a, const Tensor& b) { return relu(matmul(a, b)); });
  g(x, w);
  g.seal();
  const Tensor y = g(x.to(kShapes), w.to(kShapes));
  EXPECT_EQ(describe(y), "f32[2, 4]{4, 1}");
  EXPECT_TRUE(is_shape_only(y));
  EXPECT_EQ(g.stats().compilations, 1);
  EXPECT_EQ(error_of([&] { f(x.to(kShapes), w.to(kShapes)); }).code(), ErrorCode::DeviceMismatch);  // zeros is real
  {
    // In the scope zeros has no elements: what was compiled outside is not what the function means.
    const ShapeOnlyScope scope;
    EXPECT_TRUE(is_shape_only(f(x.to(kShapes), w.to(kShapes))));
    auto made = compile([](const Tensor& n) { return std::pair(n * 2, zeros({3})); });
    const auto [twice, none] = made(x);
    EXPECT_EQ(twice.to_vector<float>()[0], 2);
    EXPECT_TRUE(is_shape_only(none));
  }
  EXPECT_EQ(f(x, w).to_vector<float>()[0], 3);
  EXPECT_EQ(error_of([&] { f.warm_up(x.to(kShapes), w); }).code(), ErrorCode::InvalidArgument);
}

struct TwoWeights {
  Tensor w, b;
};

TEST(ShapeOnly, AFileOfWeightsMakesAModelReal) {
  const std::string file = ::testing::TempDir() + "shape_only_weights.safetensors";
  const TwoWeights real{arange(6).to(kFloat32).view({2, 3}), ones({3})};
  save_safetensors(file, real);
  TwoWeights shapes;
  {
    const ShapeOnlyScope scope;
    shapes = {zeros({2, 3}), zeros({3})};
  }
  ASSERT_TRUE(is_shape_only(shapes.w));
  EXPECT_EQ(error_of([&] { save_safetensors(file + "2", shapes); }).code(), ErrorCode::InvalidArgument);
  load_safetensors(file, shapes);
  EXPECT_FALSE(is_shape_only(shapes.w));
  EXPECT_TRUE(equal(shapes.w, real.w));
  EXPECT_TRUE(equal(shapes.b, real.b));
  TwoWeights others;
  {
    const ShapeOnlyScope scope;
    others = {zeros({2, 4}), zeros({3})};
  }
  EXPECT_THROW(load_safetensors(file, others), Error);
  EXPECT_TRUE(is_shape_only(others.w));
  std::remove(file.c_str());
}

TEST(ShapeOnly, GradientsAreShapeOnly) {
  const ShapeOnlyScope scope;
  nn::Linear layer(8, 4);
  layer.weight.requires_grad_();
  const Tensor x = empty({5, 8});
  const Tensor loss = gelu(layer(x)).pow(2.0).mean();
  EXPECT_TRUE(loss.requires_grad());
  loss.backward();
  const Tensor g = layer.weight.grad();
  ASSERT_TRUE(g.defined());
  EXPECT_TRUE(is_shape_only(g));
  EXPECT_EQ(describe(g), "f32[4, 8]{8, 1}");
}

}  // namespace
}  // namespace reprise::test
