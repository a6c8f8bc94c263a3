// Operators that are registered while the program runs, eagerly and compiled.
#include <gtest/gtest.h>

#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/loop/formula_writer.h"
#include "kernels/plan/columns.h"
#include "passes/decompose_builder.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using graph::OpClass;
using graph::OpId;
using kernels::NativeArgs;

Tensor call(OpId op, std::initializer_list<graph::CallArg> args, bool inplace = false) { return graph::call1(op, args, SourceLoc::current(), inplace); }

TEST(Registered, APointwiseOperatorFusesAndHasATwin) {
  const OpId cube = graph::register_op(
      {.schema = "test::cube(Tensor self, Scalar plus=1) -> Tensor", .cls = OpClass::Pointwise, .shape = graph::rules::unary_float, .inplace = true},
      {kernels::pointwise_formulas().fact({.write = [](kernels::FormulaWriter& e) { return e.add(e.mul(e.mul(e.x(), e.x()), e.x()), e.c(e.number(1))); }})});
  Tensor x = arange(0, 6, 1, {.dtype = kFloat32}).view({2, 3});
  EXPECT_TRUE(allclose(call(cube, {&x}), x * x * x + 1));
  auto f = compile([&](Tensor a) { return sum(call(cube, {&a, Scalar(2)}) * 2, 1); }, {.name = "cubes"});
  EXPECT_TRUE(allclose(f(x), sum((x * x * x + 2) * 2, 1)));
  Tensor longer = arange(0, 40, 1, {.dtype = kFloat32}).view({8, 5}) * 0.1;
  EXPECT_TRUE(allclose(f(longer), sum((longer * longer * longer + 2) * 2, 1)));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  auto g = compile([&](Tensor a) { call(cube, {&a}, true); });
  Tensor y = x.clone(), z = x.clone();
  g(y);
  call(cube, {&z}, true);
  EXPECT_TRUE(equal(y, z));
  EXPECT_TRUE(allclose(y, x * x * x + 1));
}

TEST(Registered, ACompositeIsTakenApart) {
  const OpId op = graph::register_op({.schema = "test::mean_square(Tensor self) -> Tensor", .cls = OpClass::Composite, .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, {}); }},
                                     {passes::decompositions().fact({[](passes::Build& b, DType t) {
                                       auto x = b.tensor(0);
                                       Ints dims;
                                       for (int d = 0; d < b.dim(x); ++d) dims.push_back(d);
                                       return b.to(b.div(b.reduce(OpId::sum, b.mul(x, x), dims, false), Scalar(b.count(x, dims))), t);
                                     }})});
  Tensor x = randn({4, 7});
  EXPECT_TRUE(allclose(call(op, {&x}), (x * x).mean()));
  auto f = compile([&](Tensor a) { return call(op, {&a}); });
  EXPECT_TRUE(allclose(f(x), (x * x).mean()));
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

int g_order[8];
int g_calls = 0;
template <int Which>
void note(const NativeArgs& a) {
  g_order[g_calls++ % 8] = Which;
  const float* in = reinterpret_cast<const float*>(a.tensor(0).data);
  float* out = reinterpret_cast<float*>(a.result().data);
  for (std::int64_t i = 0; i < a.result().numel(); ++i) out[i] = in[i] + Which;  // small and dense: both are row-major here
}

// Operators of one lane happen in the order of the program, each as often as it is called, whether anybody reads the result or not.
TEST(Registered, EffectsOfALaneKeepTheirOrder) {
  const OpId one = graph::register_op({.schema = "test::one(Tensor self) -> Tensor", .shape = graph::rules::unary, .effects = {.lane = 3}}, {kernels::reference_kernels().fact({note<1>})});
  const OpId two = graph::register_op({.schema = "test::two(Tensor self) -> Tensor", .shape = graph::rules::unary, .effects = {.lane = 3}}, {kernels::reference_kernels().fact({note<2>})});
  auto g = [&](Tensor x, Tensor y) {
    Tensor a = call(two, {&y});
    call(one, {&x});
    call(one, {&x});
    Tensor b = call(two, {&x});
    return a + b;
  };
  auto f = compile(g);
  Tensor x = ones({5}), y = ones({5});
  g_calls = 0;
  Tensor want = g(x, y);
  ASSERT_EQ(g_calls, 4);
  for (int repeat = 0; repeat < 3; ++repeat) {
    g_calls = 0;
    Tensor r = f(x, y);
    ASSERT_EQ(g_calls, 4) << repeat;
    const int order[] = {2, 1, 1, 2};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(g_order[i], order[i]) << repeat << " " << i;
    EXPECT_TRUE(equal(r, want));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Registered, AMissingFactIsAnErrorThatNamesTheColumn) {
  struct Lack {
    OpClass cls;
    const char *schema, *column;
  };
  const Lack lacks[] = {
      {OpClass::Pointwise, "test::lacks_formula(Tensor self) -> Tensor", "pointwise formula"},
      {OpClass::Composite, "test::lacks_decomposition(Tensor self) -> Tensor", "decomposition"},
      {OpClass::Reference, "test::lacks_kernel(Tensor self) -> Tensor", "reference kernel"},
  };
  Tensor x = ones({3});
  for (const Lack& l : lacks) {
    const OpId op = graph::register_op({.schema = l.schema, .cls = l.cls, .shape = graph::rules::unary});
    auto f = compile([&](Tensor a) { return call(op, {&a}) + 1; });
    for (int how = 0; how < 2; ++how) {
      try {
        how ? f(x) : call(op, {&x});
        ADD_FAILURE() << l.schema;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
        EXPECT_EQ(std::string(e.what()).find("test::lacks_"), 0u) << e.what();
        EXPECT_NE(std::string(e.what()).find(std::string("has no ") + l.column), std::string::npos) << e.what();
      }
    }
  }
  EXPECT_TRUE(equal(x + 1, full({3}, 2.0)));  // what is whole goes on
}

}  // namespace
}  // namespace reprise
