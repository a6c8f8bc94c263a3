// Registered operators that write: those that name their functional form (Note [Named functional forms] in
// graph/functional_form.h), and those that write what they do not say.
#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"
#include "base/knobs.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/loop/formula_writer.h"
#include "kernels/plan/columns.h"
#include "reprise/reprise.h"
#include "tests/support/float_view.h"

namespace reprise {
namespace {

using graph::OpId;
using kernels::NativeArgs;
using kernels::TensorView;
using test::each;
using test::values_of;

Tensor grid(std::int64_t n, std::int64_t m = 3) { return arange(0, n * m, 1, {.dtype = kFloat32}).view({n, m}) * 0.5; }
void nothing(graph::RuleCtx&) {}
std::vector<Tensor> call(OpId op, std::initializer_list<graph::CallArg> args) {
  return graph::calln(op, args, SourceLoc::current());
}

int g_ran = 0;  // kernels of cube_out and shift_ themselves

// A function that fuses, and its form that writes: out = x * x * x.
OpId cube() {
  static const OpId op = graph::register_op(
      {.schema = "form::cube(Tensor x) -> Tensor", .cls = graph::OpClass::Pointwise, .shape = graph::rules::unary},
      {kernels::pointwise_formulas().fact(
          {.write = [](kernels::FormulaWriter& e) { return e.mul(e.mul(e.x(), e.x()), e.x()); }})});
  return op;
}
OpId cube_out() {
  cube();
  static const OpId op = graph::register_op({.schema = "form::cube_out(Tensor(a!) out, Tensor x) -> Tensor(a!)",
                                             .shape = nothing,
                                             .functional = "form::cube(Tensor x) -> Tensor"},
                                            {kernels::reference_kernels().fact({[](const NativeArgs& a) {
                                              ++g_ran;
                                              const std::vector<float> x = values_of(a.tensor(1));
                                              each(a.tensor(0), [&](float& v, std::int64_t i) {
                                                v = x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)] *
                                                    x[static_cast<std::size_t>(i)];
                                              });
                                            }})});
  return op;
}
// A function with a kernel of its own, and its in-place form: self = self + by, and gives self's first row as it was.
OpId shift() {
  static const OpId op = graph::register_op(
      {.schema = "form::shift(Tensor by, Tensor self) -> (Tensor, Tensor)",
       .shape =
           [](graph::RuleCtx& c) {
             c.result(c.tensor(1).dtype, c.tensor(1).layout.sizes);
             c.result(c.tensor(1).dtype, {c.tensor(1).size(1)});
           }},
      {kernels::reference_kernels().fact({[](const NativeArgs& a) {
        const std::vector<float> by = values_of(a.tensor(0)), x = values_of(a.tensor(1));
        each(a.result(0), [&](float& v, std::int64_t i) { v = x[static_cast<std::size_t>(i)] + by[0]; });
        each(a.result(1), [&](float& v, std::int64_t i) { v = x[static_cast<std::size_t>(i)]; });
      }})});
  return op;
}
OpId shift_inplace() {
  shift();
  static const OpId op =
      graph::register_op({.schema = "form::shift_(Tensor(a!) self, Tensor by) -> Tensor",
                          .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, {c.tensor(0).size(1)}); },
                          .functional = "form::shift"},
                         {kernels::reference_kernels().fact({[](const NativeArgs& a) {
                           ++g_ran;
                           const float by = values_of(a.tensor(1))[0];
                           const std::int64_t row = a.tensor(0).sizes[1];
                           std::vector<float> first;
                           each(a.tensor(0), [&](float& v, std::int64_t i) {
                             if (i < row) first.push_back(v);
                             v += by;
                           });
                           each(a.result(), [&](float& v, std::int64_t i) { v = first[static_cast<std::size_t>(i)]; });
                         }})});
  return op;
}

TEST(NamedForms, StandForTheOperatorInCompiledFunctions) {
  auto program = [](Tensor out, Tensor x, Tensor kv) {
    Tensor y = x + 1;
    Tensor same = call(cube_out(), {&out, &y})[0];
    Tensor row = kv.select(0, 1), half = y.select(0, 0) * 0.5;
    call(cube_out(), {&row, &half});
    return same * 2;
  };
  auto f = compile(program, {.name = "named"});
  for (int n : {2, 5, 9}) {
    Tensor out = zeros({n, 3}, {.dtype = kFloat32}), x = grid(n), kv = ones({4, 3}, {.dtype = kFloat32}),
           out2 = out.clone(), kv2 = kv.clone();
    const Tensor got = f(out, x, kv), want = program(out2, x, kv2);
    EXPECT_TRUE(allclose(got, want, 1e-6, 1e-6) && allclose(out, out2, 1e-6, 1e-6) && allclose(kv, kv2, 1e-6, 1e-6))
        << f.explain();
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
  const std::string text = f.explain();
  EXPECT_NE(text.find("form::cube("), std::string::npos) << text;
  EXPECT_EQ(text.find("cube_out"), std::string::npos) << text;
  EXPECT_EQ(text.find("native"), std::string::npos) << "it fuses\n" << text;
}

// Alone it is its own kernel: nothing could be fused.
TEST(NamedForms, AloneTheOperatorRunsItsOwnKernel) {
  Tensor out = zeros({2, 3}, {.dtype = kFloat32}), x = grid(2);
  const int before = g_ran;
  call(cube_out(), {&out, &x});
  EXPECT_EQ(g_ran, before + 1);
  EXPECT_TRUE(equal(out, x * x * x));
}

TEST(NamedForms, GoBackToTheKernelThatWritesInPlace) {
  auto program = [](Tensor x, Tensor by) {
    x.mul_(2);
    Tensor first = call(shift_inplace(), {&x, &by})[0];
    Tensor y = x * 3, part = y.slice(0, 1);
    call(shift_inplace(), {&part, &by});
    return std::tuple(first, y);
  };
  auto f = compile(program, {.name = "back"});
  for (int n : {3, 6}) {
    Tensor x = grid(n), x2 = x.clone(), by = full({1}, 0.25, {.dtype = kFloat32});
    const int before = g_ran;
    auto [first, y] = f(x, by);
    EXPECT_EQ(g_ran, before + 2) << f.explain();
    auto [first2, y2] = program(x2, by);
    EXPECT_TRUE(equal(x, x2) && equal(first, first2) && equal(y, y2)) << f.explain();
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
}

TEST(NamedForms, WhatDoesNotFitIsRefusedAndNothingIsRegistered) {
  cube(), shift();
  auto refused = [](const char* schema, const char* functional, graph::Effects effects = {}) {
    const std::size_t before = graph::op_count();
    std::string text = "registered";
    try {
      graph::register_op({.schema = schema, .shape = nothing, .effects = effects, .functional = functional});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      text = e.what();
    }
    EXPECT_EQ(graph::op_count(), before);
    return text;
  };
  auto expect = [&](const char* schema, const char* functional, const char* says, graph::Effects effects = {}) {
    const std::string text = refused(schema, functional, effects);
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_EQ(text.find("form::bad"), 0u) << text;
  };
  expect("form::bad(Tensor(a!) out, Tensor x) -> ()", "form::none", "'form::none' is not registered");
  expect("form::bad(Tensor(a!) out, Tensor x) -> ()", "form::cube(Tensor x, float by) -> Tensor",
         "is registered as \"form::cube(Tensor x) -> Tensor\"");
  expect("form::bad(Tensor(a!) out, Tensor y) -> ()", "form::cube", "takes 'x', which");
  expect("form::bad(Tensor(a!) out, float x) -> ()", "form::cube", "takes 'x' as Tensor, not float");
  expect("form::bad(Tensor(a!) out, Tensor x, Tensor y) -> ()", "form::cube", "does not take 'y'");
  expect("form::bad(Tensor(a!) out, Tensor x) -> Tensor", "form::cube", "has 1 results; 2 are wanted");
  expect("form::bad(Tensor(a!)[] out, Tensor x) -> ()", "form::cube", "has no result for the list 'out'");
  expect("form::bad(Tensor out, Tensor x) -> Tensor", "form::cube", "writes no argument");
  expect("form::bad(Tensor(a!) out, Tensor x) -> ()", "form::cube_out", "is no function");
  expect("form::bad(Tensor(a!) out, Tensor x) -> ()", "form::cube", "has other effects", {.may_fail = true});
  EXPECT_EQ(graph::find_op("form::bad"), nullptr);
}

TEST(NamedForms, AResultOfOtherSizesIsAnError) {
  auto program = [](Tensor out, Tensor x) {
    Tensor y = x + 1;
    call(cube_out(), {&out, &y});
    return y;
  };
  auto f = compile(program);
  Tensor out = zeros({3}, {.dtype = kFloat32}), x = grid(2);
  try {
    f(out, x);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch) << e.what();
    EXPECT_NE(
        std::string(e.what()).find(
            "form::cube_out: its functional form 'form::cube' gives float32 [2, 3] for 'out', which is float32 [3]"),
        std::string::npos)
        << e.what();
  }
  EXPECT_TRUE(equal(out, zeros({3}, {.dtype = kFloat32})));
}

// ---- what an operator writes and does not say

OpId sneaky() {  // writes x as well
  static const OpId op =
      graph::register_op({.schema = "form::sneaky(Tensor(a!) out, Tensor x, Tensor[] more) -> ()", .shape = nothing},
                         {kernels::reference_kernels().fact({[](const NativeArgs& a) {
                           each(a.tensor(0), [&](float& v, std::int64_t) { v = 1; });
                           each(a.tensor(1), [&](float& v, std::int64_t i) {
                             if (i == 1 && v > 5) v += 1;
                           });
                           each(a.tensors[a.args[2].first + 1], [&](float& v, std::int64_t) {
                             if (v < 0) v = 0;
                           });
                         }})});
  return op;
}

TEST(UndeclaredWrites, AreCaughtByTheirOperatorAndArgument) {
  Scoped verify(knobs().verify, 1);
  auto program = [](Tensor out, Tensor x, Tensor last) {
    Tensor part = x.t().select(0, 1), y = last * 2;
    std::vector<Tensor> more{out + 1, y};
    Tensor row = out.select(0, 0);
    call(sneaky(), {&row, &part, TensorArrayRef(more)});
    return y;
  };
  auto says = [&](auto&& f, Tensor x, Tensor last) {
    try {
      f(zeros({2, 3}, {.dtype = kFloat32}), x, last);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      return std::string(e.what());
    }
    return std::string();
  };
  auto f = compile(program, {.name = "sneaks"});
  const Tensor ones3 = ones({3}, {.dtype = kFloat32});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(says(f, grid(2, 3), ones3), "");
    EXPECT_EQ(says(program, grid(2, 3), ones3), "");
    for (const std::string& text : {says(f, grid(2, 3) + 10, ones3), says(program, grid(2, 3) + 10, ones3)})
      EXPECT_NE(text.find("form::sneaky: its kernel wrote 'x', and its schema does not say so"), std::string::npos)
          << text;
    for (const std::string& text : {says(f, grid(2, 3), ones3 * -1), says(program, grid(2, 3), ones3 * -1)})
      EXPECT_NE(text.find("form::sneaky: its kernel wrote tensor 1 of 'more'"), std::string::npos) << text;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise
