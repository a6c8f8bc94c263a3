// Operators that are registered while the program runs, eagerly and compiled.
#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "kernels/loop/formula_writer.h"
#include "kernels/plan/columns.h"
#include "passes/decompose_builder.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using graph::OpClass;
using graph::OpId;
using kernels::NativeArgs;

Tensor call(OpId op, std::initializer_list<graph::CallArg> args, bool inplace = false) {
  return graph::call1(op, args, SourceLoc::current(), inplace);
}

TEST(Registered, APointwiseOperatorFusesAndHasATwin) {
  const OpId cube = graph::register_op({.schema = "test::cube(Tensor self, Scalar plus=1) -> Tensor",
                                        .cls = OpClass::Pointwise,
                                        .shape = graph::rules::unary_float,
                                        .inplace = true},
                                       {kernels::pointwise_formulas().fact({.write = [](kernels::FormulaWriter& e) {
                                         return e.add(e.mul(e.mul(e.x(), e.x()), e.x()), e.c(e.number(1)));
                                       }})});
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

// The shape rule speaks when an operator is compiled, not at every call.
TEST(Registered, ARepeatedCallAsksNoShapeRule) {
  static int asked;
  asked = 0;
  const OpId op = graph::register_op(
      {.schema = "test::asked(Tensor self, Tensor other) -> Tensor",
       .cls = OpClass::Pointwise,
       .shape = [](graph::RuleCtx& c) { ++asked, graph::rules::arithmetic_no_bool(c); },
       .inplace = true},
      {kernels::pointwise_formulas().fact({.write = [](kernels::FormulaWriter& e) { return e.add(e.x(0), e.x(1)); }})});
  Tensor x = ones({4, 3}), y = ones({4, 3});
  for (bool inplace : {true, false}) {
    for (int i = 0; i < 2; ++i) call(op, {&x, &y}, inplace);
    const int once = asked;
    for (std::int64_t n : {4, 5, 9, 4}) {
      Tensor a = ones({n, 3}), b = ones({n, 3});
      for (int i = 0; i < 5; ++i) call(op, {&a, &b}, inplace);
    }
    EXPECT_EQ(asked, once) << inplace;
  }
}

TEST(Registered, ACompositeIsTakenApart) {
  const OpId op = graph::register_op(
      {.schema = "test::mean_square(Tensor self) -> Tensor",
       .cls = OpClass::Composite,
       .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, {}); }},
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

// mode "interpret" and REPRISE_VERIFY=2 run every operator by its reference kernel; what is registered need not have
// one.
TEST(Registered, WhatHasNoReferenceKernelIsInterpretedByWhatItHas) {
  const OpId cube = graph::register_op({.schema = "test::cube_alone(Tensor self) -> Tensor",
                                        .cls = OpClass::Pointwise,
                                        .shape = graph::rules::unary_float,
                                        .inplace = true},
                                       {kernels::pointwise_formulas().fact({.write = [](kernels::FormulaWriter& e) {
                                         return e.mul(e.mul(e.x(), e.x()), e.x());
                                       }})});
  const OpId greatest =
      graph::register_op({.schema = "test::greatest(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                          .cls = OpClass::Reduction,
                          .shape = graph::rules::reduce_extreme},
                         {kernels::folds().fact({kernels::ReduceOp::Max})});
  auto composite = [](const char* schema, graph::ShapeRule shape, graph::ValueId (*write)(passes::Build&, DType)) {
    return graph::register_op({.schema = schema, .cls = OpClass::Composite, .shape = shape},
                              {passes::decompositions().fact({write})});
  };
  const OpId scaled =
      composite("test::scaled(Tensor self) -> Tensor", graph::rules::unary_float, [](passes::Build& b, DType) {
        auto x = b.tensor(0);
        return b.div(x, b.reduce(OpId::amax, x, {0}, true));
      });
  const OpId itself = composite("test::itself(Tensor self) -> Tensor", graph::rules::unary,
                                [](passes::Build& b, DType) { return b.tensor(0); });
  const OpId turned = composite(
      "test::turned(Tensor self) -> Tensor",
      [](graph::RuleCtx& c) {
        c.result(c.tensor(0).dtype, {c.tensor(0).size(1), c.tensor(0).size(0)});
      },
      [](passes::Build& b, DType) {
        return b.emit(OpId::permute, {b.tensor(0), Ints{1, 0}});
      });
  struct Program {
    const char* name;
    std::function<std::vector<Tensor>(Tensor)> run;
  };
  const Program programs[] = {
      {"in a row",
       [&](Tensor x) {
         return std::vector<Tensor>{call(cube, {&x}) + call(scaled, {&x}), call(greatest, {&x})};
       }},
      {"of views",
       [&](Tensor x) {
         Tensor row = x.select(0, 1), column = x.t().slice(0, 1);
         return std::vector<Tensor>{call(cube, {&row}), call(scaled, {&column}),
                                    call(greatest, {&column, IntArrayRef({1})})};
       }},
      {"what comes back",
       [&](Tensor x) {
         Tensor a = call(itself, {&x}), b = call(itself, {&a}), c = call(turned, {&x}),
                flat = call(turned, {&c}).view({-1});
         a.add_(1);
         return std::vector<Tensor>{a, b, c, flat, c.view({-1})};
       }},
      {"written",
       [&](Tensor x) {
         Tensor part = x.slice(0, 1), y = x * 2;
         call(cube, {&part}, true);
         call(cube, {&y}, true);
         Tensor z = call(itself, {&y});
         y.mul_(0.5);
         return std::vector<Tensor>{y, z};
       }},
  };
  for (const Program& p : programs)
    for (const char* mode : {"interpret", "no-fuse", "full"}) {
      SCOPED_TRACE(std::string(p.name) + ", " + mode);
      auto f = compile([&](Tensor x) { return p.run(x); }, {.mode = mode});
      for (std::int64_t n : {3, 4, 17}) {
        Tensor x = (arange(0, n * 5, 1, {.dtype = kFloat32}) * 0.25 - 3.1).view({n, 5}), y = x.clone();
        const std::vector<Tensor> got = f(x), want = p.run(y);
        EXPECT_TRUE(allclose(x, y)) << n;
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(allclose(got[i], want[i])) << n << " " << i;
          for (std::size_t j = 0; j < i; ++j)
            EXPECT_EQ(got[i].shares_storage_with(got[j]), want[i].shares_storage_with(want[j])) << i << " " << j;
        }
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0);
      EXPECT_EQ(f.stats().compilations, 1);
    }
}

int g_order[8];
int g_calls = 0;
template <int Which>
void note(const NativeArgs& a) {
  g_order[g_calls++ % 8] = Which;
  const float* in = reinterpret_cast<const float*>(a.tensor(0).data);
  float* out = reinterpret_cast<float*>(a.result().data);
  // small and dense: both are row-major here
  for (std::int64_t i = 0; i < a.result().numel(); ++i) out[i] = in[i] + Which;
}

// Operators of one lane happen in the order of the program, each as often as it is called, whether anybody reads the
// result or not.
TEST(Registered, EffectsOfALaneKeepTheirOrder) {
  const OpId one = graph::register_op(
      {.schema = "test::one(Tensor self) -> Tensor", .shape = graph::rules::unary, .effects = {.lane = 3}},
      {kernels::reference_kernels().fact({note<1>})});
  const OpId two = graph::register_op(
      {.schema = "test::two(Tensor self) -> Tensor", .shape = graph::rules::unary, .effects = {.lane = 3}},
      {kernels::reference_kernels().fact({note<2>})});
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

// ---- views

// Without the first and the last row.
Layout middle_layout(const graph::ViewCtx& v) {
  const Int n = v.in.sizes[0];
  if (!graph::require(v.le(2, n), "middle: two rows"))
    fail(ErrorCode::ShapeMismatch, v.name(), v.c.loc, "needs two rows, got ", n);
  Layout l = v.in;
  l.sizes[0] = n - 2;
  l.offset = l.offset + v.in.strides[0];
  return l;
}
OpId view_op(const char* schema, graph::ViewFacts facts) {
  return graph::register_op({.schema = schema, .cls = OpClass::View, .shape = graph::rules::view_rule},
                            {graph::view_facts().fact(facts)});
}

using Middle = std::function<Tensor(Tensor)>;
// Writes through it alone, over and under other views, reads of what it shares, a handle that stays.
std::vector<Tensor> write_through(const Middle& middle, Tensor x) {
  Tensor m = middle(x);
  m.mul_(2);                                   // an argument
  middle(x.t()).add_(m.t().sum());             // under a permutation
  middle(x.slice(0, 1)).select(1, 0).add_(1);  // of a part, and of it a part
  Tensor y = x * 3;
  middle(middle(y)).copy_(x.slice(0, 2, -2) + 0.5);  // twice
  middle(y.view({-1, 1})).sub_(0.25);                // of another shape
  middle(y).unsqueeze(0).mul_(m);
  return {m + 0, y, middle(y)};
}

TEST(Registered, AWriteThroughAViewIsPutBackAsItsColumnSays) {
  const OpId scatter =
      graph::register_op({.schema = "test::middle_scatter(Tensor self, Tensor src) -> Tensor",
                          .cls = OpClass::Composite,
                          .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes); }},
                         {passes::decompositions().fact({[](passes::Build& b, DType) {
                           auto self = b.tensor(0);
                           const Int n = b.meta(self).layout.sizes[0];
                           return b.emit(OpId::slice_scatter, {self, b.tensor(1), Int(0), Int(1), n - 1, Int(1)});
                         }})});
  const OpId by_scatter = view_op("test::middle(Tensor(a) self) -> Tensor(a)",
                                  {middle_layout, graph::PutBack::Scatter, graph::ViewOf::Operand, scatter});
  const OpId by_places =
      view_op("test::middle_places(Tensor(a) self) -> Tensor(a)", {middle_layout, graph::PutBack::Places});
  for (OpId op : {by_scatter, by_places}) {
    SCOPED_TRACE(graph::op(op).name());
    auto registered = [&](Tensor t) { return call(op, {&t}); };
    auto sliced = [](Tensor t) { return t.slice(0, 1, -1); };
    auto f = compile([&](Tensor x) { return write_through(registered, x); });
    for (std::int64_t n : {5, 6, 9, 40}) {
      Tensor x = arange(0, n * 7, 1, {.dtype = kFloat32}).view({n, 7}) * 0.125;
      Tensor eager = x.clone(), plain = x.clone();
      const std::vector<Tensor> got = f(x), want = write_through(registered, eager),
                                same = write_through(sliced, plain);
      EXPECT_TRUE(equal(x, eager)) << n;
      EXPECT_TRUE(equal(x, plain)) << n;
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(equal(got[i], want[i])) << n << " " << i;
        EXPECT_TRUE(equal(got[i], same[i])) << n << " " << i;
        EXPECT_EQ(got[i].strides(), want[i].strides()) << n << " " << i;
      }
      Tensor again = got[1], shown = got[2];
      again.fill_(7);
      EXPECT_TRUE(equal(shown, full({n - 2, 7}, 7.0, {.dtype = kFloat32}))) << "the view shows its storage";
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
    EXPECT_EQ(f.stats().compilations, 1);
    // A part of an expanded tensor would write one element several times.
    auto repeated = [&](Tensor x) { registered(x.expand({4, 3})).mul_(2); };
    for (int how = 0; how < 2; ++how) {
      Tensor one = ones({1, 3});
      try {
        how ? compile(repeated)(one) : repeated(one);
        ADD_FAILURE();
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::AliasConflict) << e.what();
      }
      EXPECT_TRUE(equal(one, ones({1, 3})));
    }
  }
}

TEST(Registered, ViewsOfAllElementsArePutBack) {
  const OpId turn = view_op("test::turn(Tensor(a) self, int[] dims) -> Tensor(a)",
                            {[](const graph::ViewCtx& v) {
                               Layout l = v.in;
                               for (std::size_t i = 0; i < l.sizes.size(); ++i) {
                                 const auto d = static_cast<std::size_t>(v.c.ints(1)[i].value(v.c.loc));
                                 l.sizes[i] = v.in.sizes[d], l.strides[i] = v.in.strides[d];
                               }
                               return l;
                             },
                             graph::PutBack::Permute});
  const OpId row = view_op("test::as_row(Tensor(a) self) -> Tensor(a)", {[](const graph::ViewCtx& v) {
                                                                           Layout l = v.in;
                                                                           l.sizes.insert(l.sizes.begin(), Int(1));
                                                                           l.strides.insert(l.strides.begin(), Int(1));
                                                                           return l;
                                                                         },
                                                                         graph::PutBack::Reshape});
  const OpId same = view_op("test::same(Tensor(a) self) -> Tensor(a)",
                            {[](const graph::ViewCtx& v) { return v.in; }, graph::PutBack::Same});
  auto g = [&](Tensor x) {
    Tensor t = call(turn, {&x, IntArrayRef({2, 0, 1})}), s = call(same, {&t}), r = call(row, {&s});
    r.select(1, 1).add_(5);
    s.mul_(2);
    r.slice(3, 1).sub_(x.sum());
    return r * 2;
  };
  auto f = compile(g);
  for (std::int64_t n : {2, 3, 8}) {
    Tensor x = arange(0, n * 20, 1, {.dtype = kFloat32}).view({n, 4, 5}), y = x.clone();
    EXPECT_TRUE(equal(f(x), g(y))) << n;
    EXPECT_TRUE(equal(x, y)) << n;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Registered, AWriteThroughAViewWithoutAWayBackIsNotCompiled) {
  const OpId op = view_op("test::middle_one_way(Tensor(a) self) -> Tensor(a)", {middle_layout});
  auto reads = compile([&](Tensor x) {
    Tensor m = call(op, {&x});
    x.add_(1);
    return m * 2;
  });
  Tensor x = ones({4, 2});
  EXPECT_TRUE(equal(reads(x), full({2, 2}, 4.0)));
  EXPECT_EQ(reads.stats().eager_fallbacks, 0);
  auto writes = compile([&](Tensor x) { call(op, {&x}).t().mul_(3); });
  writes(x);
  EXPECT_TRUE(equal(x, cat({full({1, 2}, 2.0), full({2, 2}, 6.0), full({1, 2}, 2.0)}, 0)));
  ASSERT_EQ(writes.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(writes.stats().fallbacks[0].reason, "no_inverse");
  const OpId none = graph::register_op({.schema = "test::lacks_layout(Tensor(a) self) -> Tensor(a)",
                                        .cls = OpClass::View,
                                        .shape = graph::rules::view_rule});
  for (int how = 0; how < 2; ++how) {
    try {
      how ? compile([&](Tensor a) { return call(none, {&a}) + 1; })(x) : call(none, {&x});
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
      EXPECT_NE(std::string(e.what()).find("test::lacks_layout"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("has no rule for layouts"), std::string::npos) << e.what();
    }
  }
}

// A rule that is wrong for some calls is an error of these calls, before anything is read or written there.
TEST(Registered, AViewStaysWithinItsOperand) {
  const OpId rows = view_op("test::rows(Tensor(a) self, SymInt from, SymInt count) -> Tensor(a)",
                            {[](const graph::ViewCtx& v) {
                               Layout l = v.in;
                               l.sizes[0] = v.c.integer(2);
                               l.offset = l.offset + v.c.integer(1) * v.in.strides[0];
                               return l;
                             },
                             graph::PutBack::Places});
  auto g = [&](Tensor x, Int from, Int count) {
    Tensor r = call(rows, {&x, from, count});
    r.mul_(2);
    return r + 1;
  };
  auto f = compile(g);
  auto same = [&](Tensor x, Int from, Int count) {
    Tensor y = x.clone(), all = x.clone();
    EXPECT_TRUE(equal(f(x, from, count), g(y, from, count)));
    EXPECT_TRUE(equal(x, y));
    all.slice(0, from, from + count).mul_(2);
    EXPECT_TRUE(equal(x, all));
  };
  auto refused = [&](auto&& run, ErrorCode code, const char* op, const char* what) {
    for (int how = 0; how < 2; ++how) {
      Tensor memory = ones({12, 4}), x = memory.slice(0, 2, 7);
      try {
        run(x, how == 1);
        ADD_FAILURE() << op << " " << what;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        EXPECT_EQ(std::string(e.what()).find(op), 0u) << e.what();
        EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
      }
      EXPECT_TRUE(equal(memory, ones({12, 4})));
    }
  };
  auto beyond = [&](Int from, Int count, const char* what) {
    refused([&](Tensor x, bool compiled) { compiled ? f(x, from, count) : g(x, from, count); },
            ErrorCode::IndexOutOfRange, "test::rows", what);
  };
  for (std::int64_t n : {5, 6, 8}) same(arange(0, n * 4, 1, {.dtype = kFloat32}).view({n, 4}), 1, n - 2);
  same(ones({5, 4}), 0, 5);
  EXPECT_EQ(f.stats().compilations, 1);
  // What stands in memory behind x is no element of it.
  beyond(1, 5, "reaches element 5 of dimension 0, which has 5");
  beyond(5, 1, "reaches element 5 of dimension 0, which has 5");
  beyond(-1, 2, "begins at element -1 of dimension 0");
  beyond(2, std::int64_t{1} << 40, "of dimension 0, which has 5");
  same(ones({5, 4}), 3, 2);
  same(ones({5, 4}), 7, 0);  // nothing, wherever it begins
  EXPECT_EQ(f.stats().eager_fallbacks, 0);

  struct Wrong {
    const char* schema;
    graph::ViewFacts facts;
    ErrorCode code;
    const char* what;
  };
  const Wrong wrong[] = {
      {"test::wide(Tensor(a) self) -> Tensor(a)",
       {[](const graph::ViewCtx& v) {
         Layout l = v.in;
         l.sizes[1] = l.sizes[1] + 1;
         return l;
       }},
       ErrorCode::IndexOutOfRange,
       "reaches element 4 of dimension 1, which has 4"},
      {"test::dense(Tensor(a) self) -> Tensor(a)",
       {[](const graph::ViewCtx& v) {
         Layout l = v.in;
         l.strides = contiguous_strides(l.sizes);
         return l;
       }},
       ErrorCode::InvalidArgument,
       "strides that do not follow"},
      {"test::backwards(Tensor(a) self) -> Tensor(a)",
       {[](const graph::ViewCtx& v) {
         Layout l = v.in;
         l.offset = l.offset + (l.sizes[0] - 1) * l.strides[0];
         l.strides[0] = 0 - l.strides[0];
         return l;
       }},
       ErrorCode::InvalidArgument,
       "negative stride"},
      {"test::more(Tensor(a) self) -> Tensor(a)",
       {[](const graph::ViewCtx& v) {
          return Layout{{numel(v.in.sizes) + 1}, {1}, v.in.offset};
        },
        graph::PutBack::Reshape, graph::ViewOf::JoinedDims},
       ErrorCode::ShapeMismatch,
       "has 21 elements, its operand 20"},
      {"test::apart(Tensor(a) self) -> Tensor(a)",
       {[](const graph::ViewCtx& v) {
          return Layout{{numel(v.in.sizes)}, {2}, v.in.offset};
        },
        graph::PutBack::Reshape, graph::ViewOf::JoinedDims},
       ErrorCode::IndexOutOfRange,
       "of the storage, its operand"},
      {"test::anywhere(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
       {[](const graph::ViewCtx&) {
          return Layout{{8}, {8}, 0};
        },
        graph::PutBack::Places, graph::ViewOf::Storage},
       ErrorCode::IndexOutOfRange,
       "reaches element 56 of a storage of 48"},
  };
  for (const Wrong& w : wrong) {
    const OpId op = view_op(w.schema, w.facts);
    auto reads = [&](Tensor x) {
      return w.facts.of == graph::ViewOf::Storage ? call(op, {&x, IntArrayRef({8}), IntArrayRef({8}), Int(0)}) * 2
                                                  : call(op, {&x}) * 2;
    };
    refused([&](Tensor x, bool compiled) { compiled ? compile(reads)(x) : reads(x); }, w.code,
            std::string(w.schema).substr(0, std::string(w.schema).find('(')).c_str(), w.what);
  }
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
