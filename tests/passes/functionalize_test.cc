// Functionalization on text: a traced graph goes in, the functional graph comes out. Dead replays and equal nodes are
// removed as the pipeline would, so that the text says what is meant.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/text.h"
#include "passes/functionalize.h"
#include "passes/pass.h"
#include "reprise/error.h"

namespace reprise::passes {
namespace {

/// The graph is functional, verified, and as `after`; what it wants of the inputs is given back.
Functionalized expect(std::string_view before, std::string_view after, std::vector<TracedInput> facts = {}) {
  graph::Graph traced = graph::parse(before);
  facts.resize(traced.inputs.size());
  Functionalized made = functionalize(std::move(traced), facts);
  EXPECT_FALSE(made.wanted) << made.wanted->why;
  EXPECT_EQ(made.graph.form, graph::Form::Functional);
  EXPECT_NO_THROW(graph::verify(made.graph, "functionalize"));
  EXPECT_EQ(graph::print(made.graph, false), graph::print(graph::parse(after), false)) << "of\n" << before;
  return made;
}

Functionalized wanted(std::string_view before, std::vector<TracedInput> facts = {}) {
  graph::Graph traced = graph::parse(before);
  facts.resize(traced.inputs.size());
  Functionalized made = functionalize(std::move(traced), facts);
  EXPECT_TRUE(made.wanted) << graph::print(made.graph);
  return made;
}

TEST(Functionalize, NothingToDo) {
  const Functionalized made = expect(R"(graph f(%0 "x": f32[s0], %1 "y": f32[s0]) traced {
  %2 = add(%0, %1, 1) : f32[s0]
  %3, %4 = sort(%2, 0, false) : f32[s0], i64[s0]
  return user %3, user %4
})",
                                     R"(graph f(%0 "x": f32[s0], %1 "y": f32[s0]) {
  %2 = add(%0, %1, 1) : f32[s0]
  %3, %4 = sort(%2, 0, false) : f32[s0], i64[s0]
  return user %3, user %4
})");
  EXPECT_EQ(made.outputs, (std::vector<std::int32_t>{0, 1}));
}

TEST(Functionalize, WriteToAnInput) {
  expect(R"(graph f(%0 "x": f32[s0], %1 "y": f32[s0]) traced {
  add_(%0, %1, 1)  ; loop.cpp:3
  %2 = exp(%0) : f32[s0]
  return user %2
})",
         R"(graph f(%0 "x": f32[s0] mutates_data, %1 "y": f32[s0]) {
  %2 = add(%0, %1, 1) : f32[s0]
  %3 = exp(%2) : f32[s0]
  return user %3, new_value_of 0 %2
})");
}

// A result of another dtype is cast into the written tensor, a smaller one is spread over it.
TEST(Functionalize, WrittenValuesFit) {
  expect(R"(graph f(%0 "x": f32[s0, 3], %1 "y": f32[3]) traced {
  eq_(%0, %1)
  return
})",
         R"(graph f(%0 "x": f32[s0, 3] mutates_data, %1 "y": f32[3]) {
  %2 = eq(%0, %1) : bool[s0, 3]
  %3 = to(%2, f32) : f32[s0, 3]
  return new_value_of 0 %3
})");
}

TEST(Functionalize, ThroughSliceAndSelect) {
  expect(R"(graph f(%0 "x": f32[s0, 8], %1 "y": f32[4]) traced where s0 = 5 {
  %2 = select(%0, 0, 1) : f32[8]+8
  %3 = slice(%2, 0, 2, 6, 1) : f32[4]+10
  copy_(%3, %1)
  %4 = exp(%2) : f32[8]
  return user %4
})",
         R"(graph f(%0 "x": f32[s0, 8] mutates_data, %1 "y": f32[4]) where s0 = 5 {
  %2 = select(%0, 0, 1) : f32[8]+8
  %3 = slice(%2, 0, 2, 6, 1) : f32[4]+10
  %4 = copy(%3, %1) : f32[4]
  %5 = as_strided_scatter(%0, %4, [4], [1], 10) : f32[s0, 8]
  %6 = select(%5, 0, 1) : f32[8]+8
  %7 = exp(%6) : f32[8]
  return user %7, new_value_of 0 %5
})");
}

TEST(Functionalize, ThroughTransposeAndDiagonal) {
  expect(R"(graph f(%0 "x": f32[3, s0]) traced where s0 = 4 {
  %1 = permute(%0, [1, 0]) : f32[s0, 3]{1, s0}
  mul_(%1, 2)
  return
})",
         R"(graph f(%0 "x": f32[3, s0] mutates_data) where s0 = 4 {
  %1 = permute(%0, [1, 0]) : f32[s0, 3]{1, s0}
  %2 = mul(%1, 2) : f32[s0, 3]
  %3 = permute(%2, [1, 0]) : f32[3, s0]{1, 3}
  return new_value_of 0 %3
})");
  expect(R"(graph f(%0 "x": f32[s0, s0]) traced where s0 = 4 {
  %1 = diagonal(%0, 0, 0, 1) : f32[s0]{s0 + 1}
  fill_(%1, 0.0)
  return
})",
         R"(graph f(%0 "x": f32[s0, s0] mutates_data) where s0 = 4 {
  %1 = diagonal(%0, 0, 0, 1) : f32[s0]{s0 + 1}
  %2 = fill(%1, 0.0) : f32[s0]
  %3 = diagonal_scatter(%0, %2, 0, 0, 1) : f32[s0, s0]
  return new_value_of 0 %3
})");
}

// Part of what is seen in another order has places of its own: nothing is made of the size of the storage.
TEST(Functionalize, APartThroughATranspose) {
  expect(R"(graph f(%0 "x": f32[3, 4], %1 "y": f32[3]) traced {
  %2 = permute(%0, [1, 0]) : f32[4, 3]{1, 4}
  %3 = select(%2, 0, 2) : f32[3]{4}+2
  copy_(%3, %1)
  return
})",
         R"(graph f(%0 "x": f32[3, 4] mutates_data, %1 "y": f32[3]) {
  %2 = permute(%0, [1, 0]) : f32[4, 3]{1, 4}
  %3 = select(%2, 0, 2) : f32[3]{4}+2
  %4 = copy(%3, %1) : f32[3]
  %5 = as_strided_scatter(%0, %4, [3], [4], 2) : f32[3, 4]
  return new_value_of 0 %5
})");
}

// A view made before a write shows what was written; one that nobody reads again is not replayed.
TEST(Functionalize, ViewsMadeBeforeTheWrite) {
  expect(R"(graph f(%0 "x": f32[s0]) traced where s0 = 6 {
  %1 = clone(%0) : f32[s0]
  %2 = slice(%1, 0, 0, 2, 1) : f32[2]
  %3 = slice(%1, 0, 1, 3, 1) : f32[2]+1
  neg_(%2)
  %4 = exp(%3) : f32[2]
  return user %4
})",
         R"(graph f(%0 "x": f32[s0]) where s0 = 6 {
  %1 = clone(%0) : f32[s0]
  %2 = slice(%1, 0, 0, 2, 1) : f32[2]
  %3 = neg(%2) : f32[2]
  %4 = slice_scatter(%1, %3, 0, 0, 2, 1) : f32[s0]
  %5 = slice(%4, 0, 1, 3, 1) : f32[2]+1
  %6 = exp(%5) : f32[2]
  return user %6
})");
}

// `view` was possible on the strides that the program saw. What a write made is laid out otherwise.
TEST(Functionalize, ViewOfAWrittenTranspose) {
  expect(R"(graph f(%0 "x": f32[2, s0]) traced where s0 = 6 {
  %1 = clone(%0) : f32[2, s0]
  %2 = permute(%1, [1, 0]) : f32[s0, 2]{1, s0}
  neg_(%2)
  %3 = view(%1, [2*s0]) : f32[2*s0]
  %4 = exp(%3) : f32[2*s0]
  return user %4
})",
         R"(graph f(%0 "x": f32[2, s0]) where s0 = 6 {
  %1 = clone(%0) : f32[2, s0]
  %2 = permute(%1, [1, 0]) : f32[s0, 2]{1, s0}
  %3 = neg(%2) : f32[s0, 2]
  %4 = permute(%3, [1, 0]) : f32[2, s0]{1, 2}
  %5 = clone(%4) : f32[2, s0]
  %6 = view(%5, [2*s0]) : f32[2*s0]
  %7 = exp(%6) : f32[2*s0]
  return user %7
})");
}

TEST(Functionalize, PartOfAnExpandedTensor) {
  const char* part = R"(graph f(%0 "x": f32[s0]) traced where s0 = 5 {
  %1 = expand(%0, [3, s0]) : f32[3, s0]{0, 1}
  %2 = select(%1, 0, 0) : f32[s0]
  neg_(%2)  ; loop.cpp:7
  return
})";
  expect(part, R"(graph f(%0 "x": f32[s0] mutates_data) where s0 = 5 {
  %1 = expand(%0, [3, s0]) : f32[3, s0]{0, 1}
  %2 = select(%1, 0, 0) : f32[s0]
  %3 = neg(%2) : f32[s0]
  %4 = as_strided_scatter(%0, %3, [s0], [1], 0) : f32[s0]
  return new_value_of 0 %4
})");
  // Of an argument that does not show its storage, nobody knows the places.
  std::string strided = part;
  strided.replace(strided.find("f32[s0])"), 8, "f32[s0]{2})");
  strided.replace(strided.find("{0, 1}"), 6, "{0, 2}");
  strided.replace(strided.find("f32[s0]\n"), 8, "f32[s0]{2}\n");
  const Functionalized made = wanted(strided);
  EXPECT_EQ(made.wanted->input, 0u);
  EXPECT_STREQ(made.wanted->op, "write");
  EXPECT_EQ(made.wanted->loc.line, 7u);
}

TEST(Functionalize, AsStridedNeedsTheStorage) {
  const char* text = R"(graph f(%0 "x": f32[s0]) traced where s0 = 6 {
  %1 = slice(%0, 0, 1, 3, 1) : f32[2]+1
  %2 = as_strided(%1, [2], [2], None) : f32[2]{2}+1  ; loop.cpp:9
  neg_(%2)
  return
})";
  const Functionalized made = expect(text, R"(graph f(%0 "x": f32[s0] mutates_data) where s0 = 6 {
  %1 = as_strided(%0, [2], [2], 1) : f32[2]{2}+1
  %2 = neg(%1) : f32[2]
  %3 = as_strided_scatter(%0, %2, [2], [2], 1) : f32[s0]
  return new_value_of 0 %3
})");
  EXPECT_EQ(made.cover_storage, std::vector<std::uint32_t>{0});
  std::vector<TracedInput> part(1);
  part[0].covers_storage = false;
  const Functionalized not_all = wanted(text, part);
  EXPECT_EQ(not_all.wanted->input, 0u);
  EXPECT_STREQ(not_all.wanted->op, "as_strided");
  EXPECT_EQ(not_all.wanted->loc.line, 9u);
}

// Two arguments on one storage, which is an input itself: what is written through the one is seen through the other.
TEST(Functionalize, ArgumentsThatShareAStorage) {
  const char* text =
      R"(graph f(%0 "x": f32[4], %1 "y": f32[4], %2 "storage 0": f32[s0]) traced where s0 = 9, s1 = 0, s2 = 3 {
  %3 = as_strided(%2, [4], [1], s1) : f32[4]+(s1)
  neg_(%3)
  %4 = as_strided(%2, [4], [1], s2) : f32[4]+(s2)
  %5 = exp(%4) : f32[4]
  return user %5
})";
  graph::Graph g = graph::parse(text);
  std::vector<TracedInput> facts(3);
  facts[0].storage = facts[1].storage = 2, facts[2].is_storage = true;
  for (std::size_t i : {0, 1}) {
    facts[i].layout = Layout{{4}, {1}, g.env->symbol_named(i ? "s2" : "s1")};
    facts[i].handle = g.nodes[2 * i].results[0];
    facts[i].covers_storage = false;
  }
  const Functionalized made = functionalize(std::move(g), facts);
  ASSERT_FALSE(made.wanted);
  EXPECT_EQ(
      graph::print(made.graph),
      R"(graph f(%0 "x": f32[4], %1 "y": f32[4], %2 "storage 0": f32[s0] mutates_data) where s0 = 9, s1 = 0, s2 = 3 {
  %3 = as_strided(%2, [4], [1], s1) : f32[4]+(s1)
  %4 = neg(%3) : f32[4]
  %5 = as_strided_scatter(%2, %4, [4], [1], s1) : f32[s0]
  %6 = as_strided(%5, [4], [1], s2) : f32[4]+(s2)
  %7 = exp(%6) : f32[4]
  return user %7, new_value_of 2 %5
}
)");
  EXPECT_TRUE(made.cover_storage.empty()) << "a storage is all of itself";
}

// A handle on a storage that is an input: places count from where it began.
TEST(Functionalize, AHandleOnAStorageThatIsAnInput) {
  const char* text = R"(graph f(%0 "x": f32[4], %1 "storage 0": f32[s0]) traced where s0 = 9, s1 = 3 {
  %2 = as_strided(%1, [4], [1], s1) : f32[4]+(s1)
  %3 = slice(%2, 0, 1, 3, 1) : f32[2]+(s1 + 1)
  return user %2, handle_of 0 %3
})";
  graph::Graph g = graph::parse(text);
  std::vector<TracedInput> facts(2);
  facts[0].storage = 1, facts[1].is_storage = true;
  facts[0].layout = Layout{{4}, {1}, g.env->symbol_named("s1")};
  facts[0].handle = g.nodes[0].results[0];
  const Functionalized made = functionalize(std::move(g), facts);
  ASSERT_FALSE(made.wanted);
  EXPECT_EQ(graph::print(made.graph),
            R"(graph f(%0 "x": f32[4] mutates_metadata, %1 "storage 0": f32[s0]) where s0 = 9, s1 = 3 {
  return alias_of_input 1 [4] [1] (s1) by as_strided([4], [1], s1)
  metadata_of 0 [2] [1] 1
}
)");
}

// Strides of dimensions of size 0 and 1 lead nowhere, but the caller sees them: those of an input that follow from its
// sizes are made exact, as a tensor that is made has them, and views of it go on with these.
TEST(Functionalize, StridesThatLeadNowhere) {
  const char* text = R"(graph f(%0 "x": f32[s0, s1, 3]) traced where s0 = 2, s1 = 2 {
  %1 = permute(%0, [2, 0, 1]) : f32[3, s0, s1]{1, 3*s1, 3}
  return user %1
})";
  graph::Graph g = graph::parse(text);
  std::vector<TracedInput> facts(1);
  facts[0].strides_from_sizes = true;
  const Functionalized made = functionalize(std::move(g), facts);
  const Layout& l = made.graph.outputs.at(0).layout;
  EXPECT_TRUE(identical(l.strides[1], Int::max(made.graph.env->symbol_named("s1"), 1) * 3)) << graph::print(made.graph);
  EXPECT_EQ(made.strides_read, std::vector<std::uint32_t>{0});
}

// Two views of an input are two views of what the caller has; their strides are seen.
TEST(Functionalize, TwoViewsOfAnInput) {
  const Functionalized made = expect(R"(graph f(%0 "x": f32[s0, 3]) traced where s0 = 4 {
  %1 = permute(%0, [1, 0]) : f32[3, s0]{1, 3}
  neg_(%0)
  %2 = select(%0, 0, 1) : f32[3]+3
  return user %1, user %2
})",
                                     R"(graph f(%0 "x": f32[s0, 3] mutates_data) where s0 = 4 {
  %1 = neg(%0) : f32[s0, 3]
  return alias_of_input 0 [3, s0] [1, 3] 0 by permute([1, 0]), alias_of_input 0 [3] [1] 3 by select(0, 1), new_value_of 0 %1
})");
  EXPECT_EQ(made.strides_read, (std::vector<std::uint32_t>{0, 0}));
}

// A lone part of an intermediate is a result of its own; where two tensors show one storage, it is an output of which
// both are views.
TEST(Functionalize, ViewsOfAnIntermediate) {
  const Functionalized lone = expect(R"(graph f(%0 "x": f32[s0]) traced where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  %2 = slice(%1, 0, 0, 2, 1) : f32[2]
  return user %2
})",
                                     R"(graph f(%0 "x": f32[s0]) where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  %2 = slice(%1, 0, 0, 2, 1) : f32[2]
  return user_view %2
})");
  EXPECT_EQ(lone.outputs, std::vector<std::int32_t>{0});
  const Functionalized both = expect(R"(graph f(%0 "x": f32[s0]) traced where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  %2 = slice(%1, 0, 1, 3, 1) : f32[2]+1
  return user %1, user %2
})",
                                     R"(graph f(%0 "x": f32[s0]) where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  return intermediate %1, alias_of_output 0 [s0] [1] 0, alias_of_output 0 [2] [1] 1 by slice(0, 1, 3, 1)
})");
  EXPECT_EQ(both.outputs, (std::vector<std::int32_t>{1, 2}));
  // One value under two handles (set_): two tensors on one storage.
  const Functionalized twice = expect(R"(graph f(%0 "x": f32[s0]) traced {
  %1 = exp(%0) : f32[s0]
  return user %1, user %1
})",
                                      R"(graph f(%0 "x": f32[s0]) {
  %1 = exp(%0) : f32[s0]
  return intermediate %1, alias_of_output 0 [s0] [1] 0, alias_of_output 0 [s0] [1] 0
})");
  EXPECT_EQ(twice.outputs, (std::vector<std::int32_t>{1, 2}));
}

TEST(Functionalize, AHandleThatIsAnotherView) {
  expect(R"(graph f(%0 "x": f32[s0, 3]) traced where s0 = 4 {
  %1 = permute(%0, [1, 0]) : f32[3, s0]{1, 3}
  return handle_of 0 %1
})",
         R"(graph f(%0 "x": f32[s0, 3] mutates_metadata) where s0 = 4 {
  return
  metadata_of 0 [3, s0] [1, 3] 0
})");
  // There and back: as it was.
  expect(R"(graph f(%0 "x": f32[s0, 3]) traced where s0 = 4 {
  %1 = permute(%0, [1, 0]) : f32[3, s0]{1, 3}
  %2 = permute(%1, [1, 0]) : f32[s0, 3]
  return handle_of 0 %2
})",
         R"(graph f(%0 "x": f32[s0, 3]) where s0 = 4 {
  return
})");
}

TEST(Functionalize, AHandleOnAnotherStorage) {
  // set_ to the other argument.
  expect(R"(graph f(%0 "x": f32[s0], %1 "y": f32[s1]) traced where s0 = 4, s1 = 5 {
  neg_(%1)
  return handle_of 0 %1
})",
         R"(graph f(%0 "x": f32[s0] mutates_metadata, %1 "y": f32[s1] mutates_data) where s0 = 4, s1 = 5 {
  %2 = neg(%1) : f32[s1]
  return alias_of_input 1 [s1] [1] 0, new_value_of 1 %2
  metadata_of 0 [s1] [1] 0 from_output 0
})");
  // To what the function made, and wrote.
  const Functionalized made = expect(R"(graph f(%0 "x": f32[s0]) traced where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  neg_(%1)
  return handle_of 0 %1
})",
                                     R"(graph f(%0 "x": f32[s0] mutates_metadata) where s0 = 4 {
  %1 = exp(%0) : f32[s0]
  %2 = neg(%1) : f32[s0]
  return intermediate %2, alias_of_output 0 [s0] [1] 0
  metadata_of 0 [s0] [1] 0 from_output 1
})");
  EXPECT_EQ(made.written_anew, std::vector<std::uint32_t>{0});
}

// A storage that grows keeps its elements, in order, whatever view of it grew.
TEST(Functionalize, AStorageThatGrows) {
  expect(R"(graph f(%0 "x": f32[2, 3]) traced {
  %1 = permute(%0, [1, 0]) : f32[3, 2]{1, 3}
  %2 = as_strided(%1, [6], [1], 0) : f32[6]
  %3 = full([2], 0, f32, 'cpu') : f32[2]
  %4 = cat([%2, %3], 0) : f32[8]
  %5 = as_strided(%4, [2, 4], [4, 1], 0) : f32[2, 4]
  return handle_of 0 %5
})",
         R"(graph f(%0 "x": f32[2, 3] mutates_metadata) {
  %1 = full([2], 0, f32, 'cpu') : f32[2]
  %2 = view(%0, [6]) : f32[6]
  %3 = cat([%2, %1], 0) : f32[8]
  return intermediate %3, alias_of_output 0 [2, 4] [4, 1] 0 by as_strided([2, 4], [4, 1], 0)
  metadata_of 0 [2, 4] [4, 1] 0 from_output 1
})");
}

// as_strided_scatter of a view names places in the storage of that view.
TEST(Functionalize, ScatterIntoTheStorageOfAView) {
  const Functionalized made = expect(R"(graph f(%0 "x": f32[4, 3], %1 "y": f32[2]) traced {
  %2 = permute(%0, [1, 0]) : f32[3, 4]{1, 3}
  %3 = as_strided_scatter(%2, %1, [2], [3], 1) : f32[3, 4]
  return user %3
})",
                                     R"(graph f(%0 "x": f32[4, 3], %1 "y": f32[2]) {
  %2 = permute(%0, [1, 0]) : f32[3, 4]{1, 3}
  %3 = as_strided_scatter(%0, %1, [2], [3], 1) : f32[4, 3]
  %4 = permute(%3, [1, 0]) : f32[3, 4]{1, 3}
  %5 = clone(%4) : f32[3, 4]
  return user %5
})");
  EXPECT_EQ(made.cover_storage, std::vector<std::uint32_t>{0});
}

// 2,000 views of views, each written: every write puts back through its own chain, and reads replay what is stale once.
TEST(Functionalize, ManyWritesAreLinear) {
  std::string text = "graph f(%0 \"x\": f32[2000, 4]) traced {\n", end;
  for (int i = 0; i < 2000; ++i) {
    text += "  %" + std::to_string(i + 1) + " = select(%0, 0, " + std::to_string(i) + ") : f32[4]" +
            (i ? "+" + std::to_string(4 * i) : "") + "\n";
    text += "  neg_(%" + std::to_string(i + 1) + ")\n";
  }
  graph::Graph g = graph::parse_unverified(text + "  return\n}\n");
  const Functionalized made = functionalize(std::move(g), std::vector<TracedInput>(1));
  EXPECT_EQ(made.graph.nodes.size(), 3u * 2000u);  // select, neg, select_scatter
}

}  // namespace
}  // namespace reprise::passes
