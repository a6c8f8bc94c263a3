// Operators that write through views, in the second form (Note [Written views] in graph/writers.h): how it is made, and
// what passes do with it.
#include <gtest/gtest.h>

#include "base/knobs.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "passes/functionalize.h"
#include "passes/pass.h"
#include "reprise/error.h"

namespace reprise::passes {
namespace {

using graph::Graph;

void operators() {
  static const bool once = [] {
    auto nothing = [](graph::RuleCtx&) {};
    graph::register_op({.schema = "pass::append(Tensor(a!) cache, Tensor row, SymInt at) -> ()", .shape = nothing});
    graph::register_op({.schema = "pass::swap(Tensor(a!) x, Tensor(b!) y) -> Tensor",
                        .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes); }});
    graph::register_op({.schema = "pass::count(Tensor(a!)[] list) -> ()", .shape = nothing});
    return true;
  }();
  ASSERT_TRUE(once);
}

std::string functional(std::string_view traced, std::string_view passes = "merge_equal,remove_dead") {
  Graph t = graph::parse(traced);
  std::vector<TracedInput> facts(t.inputs.size());
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i].handle = t.inputs[i].value;
  Graph g = functionalize(std::move(t), facts).graph;
  EXPECT_NO_THROW(graph::verify(g, "functionalize"));
  run_passes(passes, g);
  return graph::print(g);
}
std::string after(std::string_view text, std::string_view passes) {
  Graph g = graph::parse(text);
  run_passes(passes, g);
  return graph::print(g);
}

constexpr std::string_view kAppend = R"(graph f(%0 "kv": f32[s0, 8, 3], %1 "row": f32[3]) traced where s0 = 4, s1 = 2 {
  %2 = select(%0, 0, s1) : f32[8, 3]+(24*s1)
  %3 = slice(%2, 0, 4, 8, 1) : f32[4, 3]+(24*s1 + 12)
  pass::append(%3, %1, 1)
  %4 = sum(%2, [0], false, None) : f32[3]
  return user %4
})";

TEST(WrittenViews, TheSecondFormIsTheDefault) {
  operators();
  EXPECT_EQ(functional(kAppend),
            R"(graph f(%0 "kv": f32[s0, 8, 3] mutates_data, %1 "row": f32[3]) where s0 = 4, s1 = 2 {
  %2 = pass::append.functional(%0.select(0, s1).slice(0, 4, 8, 1), %1, 1) : f32[s0, 8, 3]
  %3 = select(%2, 0, s1) : f32[8, 3]+(24*s1)
  %4 = sum(%3, [0], false, None) : f32[3]
  return user %4, new_value_of 0 %2
}
)");
  Scoped first(knobs().writers, std::string("values"));
  const std::string text = functional(kAppend);
  EXPECT_NE(text.find("pass::append.functional(%3, %1, 1) : f32[4, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("as_strided_scatter(%0, %4, "), std::string::npos) << text;
}

TEST(WrittenViews, OneResultForABaseOfSeveral) {
  operators();
  EXPECT_EQ(functional(R"(graph f(%0 "x": f32[s0, 4], %1 "y": f32[s0]) traced where s0 = 4 {
  %2 = select(%0, 1, 0) : f32[s0]{4}
  %3 = select(%0, 1, 2) : f32[s0]{4}+2
  %4 = pass::swap(%2, %3) : f32[s0]
  %5 = pass::swap(%3, %1) : f32[s0]
  return user %4, user %5
})"),
            R"(graph f(%0 "x": f32[s0, 4] mutates_data, %1 "y": f32[s0] mutates_data) where s0 = 4 {
  %2, %3 = pass::swap.functional(%0.select(1, 0), %0.select(1, 2)) : f32[s0, 4], f32[s0]
  %4, %5, %6 = pass::swap.functional(%2.select(1, 2), %1) : f32[s0, 4], f32[s0], f32[s0]
  return user %3, user %6, new_value_of 0 %4, new_value_of 1 %5
}
)");
}

// A whole beside an empty part of it, elements of lists, and what is no view of the value row by row.
TEST(WrittenViews, TheFirstFormServesTheRest) {
  operators();
  for (std::string_view traced : {R"(graph f(%0 "x": f32[s0, 4]) traced where s0 = 4 {
  %1 = slice(%0, 0, 0, 0, 1) : f32[0, 4]
  %2 = pass::swap(%1, %0) : f32[0, 4]
  return user %2
})",
                                  R"(graph f(%0 "x": f32[s0, 4]) traced where s0 = 4 {
  %1 = select(%0, 1, 0) : f32[s0]{4}
  pass::count([%1])
  return
})",
                                  R"(graph f(%0 "x": f32[s0, 4]{1, s0}, %1 "row": f32[1]) traced where s0 = 4 {
  %2 = permute(%0, [1, 0]) : f32[4, s0]
  %3 = view(%2, [4*s0]) : f32[4*s0]
  pass::append(%3, %1, 1)
  return
})"}) {
    const std::string text = functional(traced);
    const std::size_t at = text.find(".functional(");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.substr(at, text.find(") :", at) - at).find(")."), std::string::npos) << text;
    EXPECT_NE(text.find("new_value_of 0"), std::string::npos) << text;
  }
}

TEST(WrittenViews, EqualBasesStayMemoryOfTheirOwn) {
  operators();
  EXPECT_EQ(after(R"(graph f(%0 "x": f32[s0, 4]) where s0 = 4 {
  %1 = mul(%0, 2) : f32[s0, 4]
  %2 = mul(%0, 2) : f32[s0, 4]
  %3, %4, %5 = pass::swap.functional(%1.select(1, 0), %2.select(1, 1)) : f32[s0, 4], f32[s0, 4], f32[s0]
  return user %3, user %4, user %5
})",
                  "merge_equal,eliminate_noops,remove_dead"),
            R"(graph f(%0 "x": f32[s0, 4]) where s0 = 4 {
  %1 = mul(%0, 2) : f32[s0, 4]
  %2 = clone(%1) : f32[s0, 4]
  %3, %4, %5 = pass::swap.functional(%1.select(1, 0), %2.select(1, 1)) : f32[s0, 4], f32[s0, 4], f32[s0]
  return user %3, user %4, user %5
}
)");
}

TEST(WrittenViews, EqualCallsMergeByTheirViews) {
  operators();
  const std::string text = after(R"(graph f(%0 "x": f32[s0, 4], %1 "row": f32[4]) where s0 = 4 {
  %2 = pass::append.functional(%0.slice(0, 0, 2, 1), %1, 0) : f32[s0, 4]
  %3 = pass::append.functional(%0.slice(0, 0, 2, 1), %1, 0) : f32[s0, 4]
  %4 = pass::append.functional(%0.slice(0, 1, 2, 1), %1, 0) : f32[s0, 4]
  %5 = pass::append.functional(%0.slice(0, 1, 2, 1), %1, 1) : f32[s0, 4]
  return user %2, user %3, user %4, user %5
})",
                                 "merge_equal");
  EXPECT_NE(text.find("return user %2, user %2, user %3, user %4"), std::string::npos) << text;
}

TEST(WrittenViews, StepsThatDoNothingGo) {
  operators();
  EXPECT_EQ(after(R"(graph f(%0 "x": f32[s0, 4], %1 "row": f32[4]) where s0 = 4 {
  %2 = pass::append.functional(%0.slice(0, 0, s0, 1).alias().select(1, 2).detach(), %1, 0) : f32[s0, 4]
  %3 = pass::append.functional(%2.alias(), %1, 0) : f32[s0, 4]
  return user %3
})",
                  "eliminate_noops"),
            R"(graph f(%0 "x": f32[s0, 4], %1 "row": f32[4]) where s0 = 4 {
  %2 = pass::append.functional(%0.select(1, 2), %1, 0) : f32[s0, 4]
  %3 = pass::append.functional(%2.alias(), %1, 0) : f32[s0, 4]
  return user %3
}
)");
}

TEST(WrittenViews, TheBaseIsAskedToStay) {
  operators();
  const std::string text = functional(
      kAppend, "use_known_sizes,merge_equal,eliminate_noops,decompose,fold_constants,cat_last,remove_dead,reinplace");
  EXPECT_NE(
      text.find(
          "%2 = pass::append.functional(%0.select(0, s1).slice(0, 4, 8, 1), %1, 1) : f32[s0, 8, 3] in %0 keeps self"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace reprise::passes
