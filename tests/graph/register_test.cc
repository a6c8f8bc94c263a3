#include "graph/register_op.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "graph/graph.h"
#include "graph/interpreter.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/writers.h"
#include "reprise/error.h"

namespace reprise::graph {
namespace {

constinit OpColumn<int> g_numbers("number", {{OpId::add, 7}, {OpId::mul, 8}});
constinit OpColumn<const char*> g_words("word", {{OpId::exp, "e"}}, is_of<OpClass::Random>);

std::string message_of(NewOp n, const std::vector<OpFact>& facts = {}) {
  const std::size_t before = op_count();
  std::string text;
  try {
    register_op(std::move(n), facts);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
    text = e.what();
  }
  EXPECT_EQ(op_count(), before);
  return text;
}
void expect_refused(NewOp n, const char* why, const std::vector<OpFact>& facts = {}) {
  const std::string text = message_of(std::move(n), facts);
  EXPECT_NE(text.find(why), std::string::npos) << "wanted: " << why << "\ngot: " << text;
}

NewOp new_op(std::string schema) { return {.schema = std::move(schema), .shape = rules::unary}; }

TEST(OpColumn, HoldsFactsOfBuiltInOperators) {
  EXPECT_EQ(*g_numbers.find(OpId::add), 7);
  EXPECT_EQ(g_numbers.at(OpId::mul), 8);
  EXPECT_EQ(g_numbers.find(OpId::sub), nullptr);
  EXPECT_TRUE(g_words.has(OpId::exp));
  EXPECT_FALSE(g_words.has(static_cast<OpId>(60000)));
  EXPECT_TRUE(g_words.needed_by(op(OpId::rand)));
  EXPECT_FALSE(g_words.needed_by(op(OpId::exp)));
  try {
    g_words.at(OpId::rand);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(e.what(), "rand: has no word");
  }
}

TEST(RegisterOp, IsAnOperatorLikeOthers) {
  const std::size_t before = op_count();
  const OpId id = register_op({.schema = "test::twice(Tensor self, Scalar by=2, int[2] at=3) -> Tensor",
                               .shape = rules::unary,
                               .inplace = true},
                              {g_numbers.fact(42)});
  EXPECT_EQ(static_cast<std::size_t>(id), before);
  EXPECT_EQ(op_count(), before + 1);
  EXPECT_TRUE(is_op(id));
  const OpDef& o = op(id);
  EXPECT_EQ(o.name(), "test::twice");
  EXPECT_EQ(find_op("test::twice"), &o);
  EXPECT_EQ(g_numbers.at(id), 42);
  EXPECT_EQ(g_words.find(id), nullptr);
  EXPECT_EQ(std::get<Scalar>(o.defaults[1]).to_int().value(), 2);
  EXPECT_EQ(std::get<IntArrayRef>(o.defaults[2]).vec(), (Ints{3, 3}));
  bool listed = false;
  for (const OpDef& d : all_ops()) listed = listed || &d == &o;
  EXPECT_TRUE(listed);

  Graph g;
  TensorMeta m;
  m.layout = {Ints{2, 3}, Ints{3, 1}, 0};
  ValueId x = g.add_input(m, "x");
  ValueId y = g.add(id, {x, Scalar(3), Ints{1, 1}});
  EXPECT_EQ(g.meta(y).layout.sizes, (Ints{2, 3}));
  OutputSpec out;
  out.value = y;
  g.outputs.push_back(out);
  EXPECT_FALSE(first_mistake(g));
}

TEST(RegisterOp, RefusesWhatDoesNotFitAndLeavesNothing) {
  expect_refused(new_op("f(Tensr x) -> Tensor"), "column 3");
  expect_refused(new_op("add(Tensor self) -> Tensor"), "add: there is an operator of this name");
  expect_refused(new_op("add_(Tensor self) -> Tensor"), "is the twin of 'add'");
  expect_refused({.schema = "test::no_rule(Tensor self) -> Tensor"}, "has no shape rule");
  expect_refused(new_op("test::over.Tensor(Tensor self) -> Tensor"), "overload 'Tensor' needs a name of its own");
  expect_refused(new_op("test::none() -> Tensor"), "has no arguments");
  expect_refused(new_op("test::none(Tensor x) -> ()"), "has no results, writes nothing and has no effect");
  expect_refused({.schema = "test::none(Tensor x) -> ()", .cls = OpClass::Pointwise, .shape = rules::unary},
                 "must have results");
  expect_refused(new_op("test::lists(Tensor x) -> Tensor[]"), "gives a list of tensors");
  expect_refused(new_op("test::many(Tensor a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, "
                        "int l, int m) -> Tensor"),
                 "has 13 arguments, more than 12");
  expect_refused({.schema = "test::writes(Tensor(a!) x) -> Tensor", .cls = OpClass::Pointwise, .shape = rules::unary},
                 "writes 'x', as only operators of class Reference may");
  expect_refused({.schema = "test::writes(Tensor(a!) x) -> Tensor", .shape = rules::unary, .inplace = true},
                 "writes 'x' and cannot have a twin");
  expect_refused(new_op("test::writes(Tensor(a!)? x) -> Tensor"), "writes 'x', which may be missing");
  expect_refused(new_op("test::writes(Tensor(a! -> *) x) -> Tensor"), "writes 'x', of which it must say one alias set");
  expect_refused(new_op("test::writes(Tensor(a!) x, Tensor(a!) y) -> Tensor"), "writes 'x' and 'y' in one alias set");
  expect_refused(new_op("test::writes(Tensor(a!) x) -> Tensor(a)"), "has a result that shares memory");
  expect_refused(new_op("test::writes(Tensor(a!)[] x) -> Tensor(a!)"), "has a result that shares memory");
  expect_refused(new_op("test::shares(Tensor(a) x) -> Tensor(a)"), "is no view");
  expect_refused({.schema = "test::views(Tensor x) -> Tensor", .cls = OpClass::View, .shape = rules::unary},
                 "is a view, and no result shares");
  expect_refused({.schema = "test::twin(int n) -> Tensor", .shape = rules::unary, .inplace = true},
                 "has a twin, and no tensor");
  expect_refused({.schema = "test::prints(Tensor x) -> Tensor",
                  .cls = OpClass::Pointwise,
                  .shape = rules::unary,
                  .effects = {.lane = 1}},
                 "only operators of class Reference");
  expect_refused(new_op("test::twice_told(Tensor x) -> Tensor"), "is told its number twice",
                 {g_numbers.fact(1), g_numbers.fact(2)});

  // The second of its facts cannot be told: the first is forgotten, and the name stays free.
  OpFact fails = g_words.fact("w");
  fails.tell = [](OpId) { throw std::bad_alloc(); };
  EXPECT_THROW(register_op(new_op("test::half(Tensor x) -> Tensor"), {g_numbers.fact(5), fails}), std::bad_alloc);
  EXPECT_EQ(find_op("test::half"), nullptr);
  EXPECT_EQ(g_numbers.find(static_cast<OpId>(op_count())), nullptr);
  const OpId id = register_op(new_op("test::half(Tensor x) -> Tensor"));
  EXPECT_EQ(g_numbers.find(id), nullptr);
  expect_refused(new_op("test::half(Tensor x, int n) -> Tensor"), "test::half: there is an operator of this name");
}

// Note [Operators that write] in writers.h.
TEST(RegisterOp, OneThatWritesHasAFunctionalTwin) {
  const std::size_t before = op_count();
  auto rule = [](RuleCtx& c) { c.result(c.tensor(1).dtype, c.tensor(1).layout.sizes); };
  const OpId id =
      register_op({.schema = "test::put(Tensor(a!) cache, Tensor row, *, SymInt at=0) -> (Tensor(a!), Tensor)",
                   .shape = rule,
                   .effects = {.may_fail = true}},
                  {g_numbers.fact(9)});
  EXPECT_EQ(op_count(), before + 2);
  const OpDef &o = op(id), &twin = op(o.functional.value());
  EXPECT_EQ(o.writes, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(o.returns, (std::vector<std::int32_t>{0, -1}));
  EXPECT_EQ(o.n_made, 1);
  EXPECT_EQ(twin.schema.text, "test::put.functional(Tensor cache, Tensor row, *, SymInt at=0) -> (Tensor, Tensor)");
  EXPECT_EQ(find_op("test::put.functional"), &twin);
  EXPECT_EQ(twin.twin_of, id);
  EXPECT_TRUE(twin.effects.may_fail && twin.writes.empty());
  EXPECT_EQ(g_numbers.at(twin.id), 9);
  const OpId list =
      register_op({.schema = "test::put_all(Tensor(a!)[] caches, Tensor row) -> ()", .shape = [](RuleCtx&) {}});
  EXPECT_EQ(op(op(list).functional.value()).schema.text,
            "test::put_all.functional(Tensor[] caches, Tensor row) -> Tensor[]");

  const std::string traced = R"(graph f(%0 "cache": f32[s0, 3], %1 "row": f32[3]) traced where s0 = 4 {
  %2 = test::put(%0, %1, 2) : f32[3]  ; #0 a.cpp:3
  test::put_all([%0, %2], %1)  ; #1
  return user %2
}
)",
                    functional = R"(graph f(%0 "cache": f32[s0, 3], %1 "row": f32[3]) where s0 = 4 {
  %2, %3 = test::put.functional(%0, %1, 2) : f32[s0, 3], f32[3]  ; #0 a.cpp:3
  %4, %5 = test::put_all.functional([%2, %3], %1) : f32[s0, 3], f32[3]  ; #1 of #0
  return user %4, user %5
}
)";
  for (const std::string& text : {traced, functional}) EXPECT_EQ(print(parse(text)), text);
  auto refused = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    try {
      parse(text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused(traced, " traced", "").find("'test::put' writes its arguments, and only a traced graph may"),
            std::string::npos);
  EXPECT_NE(refused(traced, "%2 = test::put(", "test::put(").find("line 2, column 3: 'test::put' has results"),
            std::string::npos);
  EXPECT_NE(refused(traced, "  test::put_all([%0, %2], %1)", "  %3 = test::put_all([%0, %2], %1) : f32[3]")
                .find("'test::put_all' makes no results"),
            std::string::npos);
  EXPECT_NE(refused(functional, "%2, %3 = test::put.functional(%0, %1, 2) : f32[s0, 3], f32[3]",
                    "%2, %3 = test::put.functional(%0, %1, 2) : f32[s0, 2], f32[3]")
                .find("result 0 has sizes [s0, 2], its shape rule gives [s0, 3]"),
            std::string::npos);
  EXPECT_NE(refused(functional, "#1 of #0", "#x").find("wanted a number"), std::string::npos);

  // A pass may not leave one in a functional graph.
  Graph g = parse(functional);
  g.nodes[0].op = id;
  g.nodes[0].results.erase(g.nodes[0].results.begin());
  const auto mistake = first_mistake(g);
  ASSERT_TRUE(mistake);
  EXPECT_NE(mistake->text.find("writes its arguments, in a graph that is not traced"), std::string::npos)
      << mistake->text;
}

// Note [Written views] in writers.h.
TEST(RegisterOp, ATwinTakesViewsOfWhatIsWritten) {
  register_op(
      {.schema = "test::mix(Tensor(a!) x, Tensor y, Tensor(b!) z) -> (Tensor(a!), Tensor)", .shape = [](RuleCtx& c) {
         c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);  // as large as the view
       }});
  const std::string text = R"(graph f(%0 "x": f32[s0, 3, 2], %1 "y": f32[3], %2 "z": f32[8]) where s0 = 4, s1 = 1 {
  %3, %4, %5 = test::mix.functional(%0.select(0, s1).permute([1, 0]), %1, %2.as_strided([2, 2], [4, 1], 1)) : f32[s0, 3, 2], f32[8], f32[2, 3]
  %6, %7 = test::mix.functional(%3.slice(2, 0, 1, 1), %1, %3.slice(2, 1, 2, 1)) : f32[s0, 3, 2], f32[s0, 3, 1]
  %8, %9, %10 = test::mix.functional(%6, %1, %4.view([2, 2, 2]).select(0, 1)) : f32[s0, 3, 2], f32[8], f32[s0, 3, 2]
  return user %5, user %7, user %8, user %9
}
)";
  const Graph g = parse(text);
  EXPECT_EQ(print(g), text);
  Graph compacted = g;
  compacted.compact();
  EXPECT_EQ(print(compacted), text);
  EXPECT_EQ(symbols_of(g).all, (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(written_bases(op(g.nodes[1].op), g.nodes[1].args), (std::vector<ValueId>{g.nodes[0].results[0]}));
  auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    try {
      parse(other);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("parses");
  };
  EXPECT_NE(refused(", %1, %2.as", ", %1.slice(0, 0, 3, 1), %2.as")
                .find("line 2, column 3: node 0 (test::mix.functional): argument 'y' is a view, and nothing that the "
                      "functional twin"),
            std::string::npos);
  EXPECT_NE(refused("select(0, s1)", "select(0, 4)").find("argument 'x': select refuses: index 4 is out of range"),
            std::string::npos);
  EXPECT_NE(refused("select(0, s1)", "relu()").find("'relu' is no view operator"), std::string::npos);
  EXPECT_NE(refused("[4, 1], 1)", "[4, 1], 3)").find("argument 'z': as_strided refuses"), std::string::npos)
      << refused("[4, 1], 1)", "[4, 1], 3)");
  EXPECT_NE(
      refused("f32[8], f32[2, 3]", "f32[8], f32[3, 2]").find("result 2 has sizes [3, 2], its shape rule gives [2, 3]"),
      std::string::npos);
  EXPECT_NE(refused("%6, %7 = test::mix.functional(%3.slice(2, 0, 1, 1)",
                    "%6, %7 = test::mix.functional(%0.slice(2, 0, 1, 1)")
                .find("node 1 (test::mix.functional): has 2 results"),
            std::string::npos);
}

TEST(RegisterOp, ARuleThatGivesAnotherNumberOfResultsIsAnError) {
  const OpId id = register_op({.schema = "test::two(Tensor self) -> (Tensor, Tensor)", .shape = rules::unary});
  Graph g;
  TensorMeta m;
  m.layout = {Ints{2}, Ints{1}, 0};
  ValueId x = g.add_input(m, "x");
  try {
    g.add(id, {x});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(e.what()).find("its shape rule gives 1 results; its schema says 2"), std::string::npos)
        << e.what();
  }
  EXPECT_TRUE(g.nodes.empty());
}

// Readers see an operator and its facts whole, or not at all, while others register.
TEST(RegisterOp, ReadersTakeNoLock) {
  constexpr int kEach = 300;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  auto read = [&] {
    while (!stop.load()) {
      const std::size_t n = op_count();
      for (std::size_t i = kBuiltinOps; i < n; ++i) {
        const OpDef& o = op(static_cast<OpId>(i));
        if (!o.name().starts_with("test::many_")) continue;
        const int* fact = g_numbers.find(o.id);
        if (!fact || "test::many_" + std::to_string(*fact) != o.name()) ++wrong;
      }
      if (const OpDef* o = find_op("test::many_17"); o && g_numbers.at(o->id) != 17) ++wrong;
    }
  };
  auto write = [](int first) {
    for (int i = 0; i < kEach; ++i)
      register_op(new_op("test::many_" + std::to_string(first + i) + "(Tensor self) -> Tensor"),
                  {g_numbers.fact(first + i)});
  };
  std::thread reader(read), one(write, 0), other(write, kEach);
  one.join(), other.join();
  stop = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
  for (int i = 0; i < 2 * kEach; ++i) {
    const OpDef* o = find_op("test::many_" + std::to_string(i));
    ASSERT_TRUE(o) << i;
    EXPECT_EQ(g_numbers.at(o->id), i);
  }
}

}  // namespace
}  // namespace reprise::graph
