// The in-place form: what is asked of memory, as text (passes/reinplace.cc), and what placement makes of it.
#include <gtest/gtest.h>

#include "graph/text.h"
#include "kernels/plan/lower.h"
#include "passes/functionalize.h"
#include "passes/pass.h"
#include "reprise/error.h"

namespace reprise::passes {
namespace {

using graph::Form;
using graph::Graph;

/// All the way from what a program did to what is asked, without the lines.
std::string asked(std::string_view traced) {
  Graph t = graph::parse(traced);
  std::vector<TracedInput> facts(t.inputs.size());
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i].handle = t.inputs[i].value;
  Graph g = functionalize(std::move(t), facts).graph;
  run_pipeline(g);
  EXPECT_EQ(g.form, Form::InPlace);
  const std::string text = graph::print(g);
  EXPECT_EQ(graph::print(graph::parse(text)), text);
  EXPECT_FALSE(reinplace(g)) << "twice changes nothing";
  return text;
}
std::string mistake(const std::string& text) {
  try {
    graph::parse(text);
  } catch (const Error& e) {
    return e.message();
  }
  return "accepted";
}

TEST(Reinplace, WhatIsWrittenIsAskedToLieThere) {
  EXPECT_EQ(asked(R"(graph f(%0 "x": f32[s0], %1 "y": f32[s0]) traced where s0 = 4 {
  add_(%0, %1, 1)  ; #0
  mul_(%0, 2)  ; #1
  %2 = exp(%1) : f32[s0]  ; #2
  neg_(%2)  ; #3
  return user %2
})"),
            R"(graph f(%0 "x": f32[s0] mutates_data, %1 "y": f32[s0]) in_place where s0 = 4 {
  %2 = add(%0, %1, 1) : f32[s0] in %0 keeps self  ; #0
  %3 = mul(%2, 2) : f32[s0] in %0 keeps self  ; #1
  %4 = exp(%1) : f32[s0]  ; #2
  %5 = neg(%4) : f32[s0] in %4 keeps self  ; #3
  return user %5, new_value_of 0 %3
}
)");
}

TEST(Reinplace, PartsAreWrittenIntoWhatTheyArePartsOf) {
  EXPECT_EQ(asked(R"(graph f(%0 "x": f32[s0, 3], %1 "y": f32[s0]) traced where s0 = 4 {
  %2 = select(%0, 1, 0) : f32[s0]{3}
  add_(%2, %1, 1)
  %3 = select(%0, 1, 2) : f32[s0]{3}+2
  copy_(%3, %1)
  return
})"),
            R"(graph f(%0 "x": f32[s0, 3] mutates_data, %1 "y": f32[s0]) in_place where s0 = 4 {
  %2 = select(%0, 1, 0) : f32[s0]{3}
  %3 = add(%2, %1, 1) : f32[s0] in %2 keeps self
  %4 = select_scatter(%0, %3, 1, 0) : f32[s0, 3] in %0 keeps self part
  %5 = select_scatter(%4, %1, 1, 2) : f32[s0, 3] in %0 keeps self
  return new_value_of 0 %5
}
)");
}

TEST(Reinplace, AFormOfItsOwn) {
  auto of = [](const std::string& form, const std::string& line) {
    return mistake("graph f(%0 \"x\": f32[4], %1 \"i\": i64[4]) " + form + " {\n  " + line + "\n  return user %2\n}\n");
  };
  EXPECT_EQ(of("in_place", "%2 = neg(%0) : f32[4] in %0"), "accepted");
  EXPECT_NE(
      of("", "%2 = neg(%0) : f32[4] in %0").find("only a graph with 'in_place' behind its inputs asks for places"),
      std::string::npos);
  EXPECT_NE(of("in_place", "%2 = neg(%0) : f32[4] in %1")
                .find("node 0 (neg): result 0 is float32 of sizes [4], and asked into the place of int64 of sizes [4]"),
            std::string::npos)
      << of("in_place", "%2 = neg(%0) : f32[4] in %1");
  EXPECT_NE(of("in_place", "%2 = neg(%0) : f32[4] in %2").find("%2 is used before it is defined"), std::string::npos)
      << of("in_place", "%2 = neg(%0) : f32[4] in %2");
  const std::string two = of("in_place", "%2, %3 = topk(%0, 4, -1, true, true) : f32[4] in %0, i64[4] in %0");
  EXPECT_NE(two.find("node 0 (topk): result 1 is int64"), std::string::npos) << two;
  EXPECT_NE(of("in_place", "%2, %3 = topk(%0, 4, -1, true, true) : f32[4] in %0, i64[4] keeps nothing")
                .find("wanted 'self' or 'part'"),
            std::string::npos);
  Graph g = graph::parse("graph f(%0 \"x\": f32[4]) in_place {\n  %1 = neg(%0) : f32[4] in %0\n  return user %1\n}\n");
  g.form = Form::Functional;
  ASSERT_TRUE(graph::first_mistake(g));
  EXPECT_NE(graph::first_mistake(g)->text.find("asks for a place, in a graph that is not in_place"), std::string::npos);
}

/// Placement does what is asked where it can prove it, and nothing that is not asked.
TEST(Reinplace, PlacementCarriesOutRequests) {
  auto place = [](const std::string& in, const std::string& part) {
    const kernels::Lowered l = kernels::lower(
        graph::parse(
            R"(graph f(%0 "x": f32[s0, 3] mutates_data, %1 "y": f32[s0, 3] mutates_data, %2 "z": f32[s0]) in_place where s0 = 4 {
  %3 = add(%0, %1, 1) : f32[s0, 3])" +
            in + R"(
  %4 = select_scatter(%1, %2, 1, 0) : f32[s0, 3])" +
            part + R"(
  return new_value_of 0 %3, new_value_of 1 %4
})"),
        kernels::Mode::Full);
    return std::pair(l.outputs[0], l.outputs[1]);
  };
  auto [x, y] = place(" in %0", " in %1");
  EXPECT_TRUE(x.in_place && y.in_place) << x.why << ", " << y.why;
  auto [x2, y2] = place("", " in %1");
  EXPECT_TRUE(!x2.in_place && y2.in_place) << y2.why;
  EXPECT_EQ(x2.why, "it is not asked to lie there");
  auto [x3, y3] = place(" in %0", "");
  EXPECT_TRUE(x3.in_place && !y3.in_place) << x3.why;
}

}  // namespace
}  // namespace reprise::passes
