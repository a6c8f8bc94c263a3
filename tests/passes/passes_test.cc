// Passes on the graph's text: what goes in, what comes out, and that running again changes nothing.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "passes/pass.h"
#include "reprise/error.h"

namespace reprise::passes {
namespace {

std::string run(std::string_view names, std::string_view text) {
  graph::Graph g = graph::parse(text);
  run_passes(names, g);
  std::string once = graph::print(g, false);
  run_passes(names, g);
  EXPECT_EQ(graph::print(g, false), once) << "a second run changed something";
  return once;
}

std::string printed(std::string_view text) { return graph::print(graph::parse(text), false); }

void expect(std::string_view names, std::string_view before, std::string_view after) {
  EXPECT_EQ(run(names, before), printed(after));
}

TEST(MergeEqual, OneNodeForEqualNodes) {
  expect("merge_equal,remove_dead",
         R"(graph f(%0 "x": f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %2 = exp(%0) : f32[s0]
  %3 = add(%1, %2, 1) : f32[s0]
  return user %3
})",
         R"(graph f(%0 "x": f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %2 = add(%1, %1, 1) : f32[s0]
  return user %2
})");
}

TEST(MergeEqual, DifferentArgumentsStayApart) {
  const char* text = R"(graph f(%0 "x": f32[s0]) {
  %1 = mul(%0, 0.0) : f32[s0]
  %2 = mul(%0, -0.0) : f32[s0]
  %3 = add(%1, %2, 1) : f32[s0]
  return user %3
})";
  expect("merge_equal", text, text);
}

// Regions are equal by what they say, whatever lines they come from; the passes run in them, too.
TEST(Regions, PassesRunInThemAndEqualOnesMerge) {
  graph::Graph g = graph::parse(R"(graph f(%0 "x": f32[s0], %1 "p": bool[]) {
  %2 = cond(%1, region(%0 "": f32[s0]) {
    %1 = exp(%0) : f32[s0]  ; a.cpp:1
    %2 = exp(%0) : f32[s0]
    %3 = add(%1, %2, 1) : f32[s0]
    return user %3
  }, region(%0 "": f32[s0]) {
    %1 = alias(%0) : f32[s0]
    %2 = sin(%0) : f32[s0]
    return user %1
  }, [%0]) : f32[s0]
  %3 = cond(%1, region(%0 "": f32[s0]) {
    %1 = exp(%0) : f32[s0]  ; a.cpp:9
    %2 = add(%1, %1, 1) : f32[s0]
    return user %2
  }, region(%0 "": f32[s0]) {
    return user %0
  }, [%0]) : f32[s0]
  %4 = add(%2, %3, 1) : f32[s0]
  %5 = cond(%1, region(%0 "": f32[s0]) {
    return user %0
  }, region(%0 "": f32[s0]) {
    %1 = exp(%0) : f32[s0]
    return user %1
  }, [%4]) : f32[s0]
  return user %4
})");
  const std::string once = run("merge_equal,eliminate_noops,remove_dead,merge_equal,remove_dead", graph::print(g));
  EXPECT_EQ(once, printed(R"(graph f(%0 "x": f32[s0], %1 "p": bool[]) {
  %2 = cond(%1, region(%0 "": f32[s0]) {
    %1 = exp(%0) : f32[s0]
    %2 = add(%1, %1, 1) : f32[s0]
    return user %2
  }, region(%0 "": f32[s0]) {
    return user %0
  }, [%0]) : f32[s0]
  %3 = add(%2, %2, 1) : f32[s0]
  return user %3
})"));
}

// What may fail inside is part of the program's meaning.
TEST(Regions, OneThatMayFailStays) {
  const char* text = R"(graph f(%0 "x": f32[s0], %1 "i": i64[s1], %2 "p": bool[]) {
  %3 = cond(%2, region(%0 "": f32[s0], %1 "": i64[s1]) {
    %2 = index_select(%0, 0, %1) : f32[s1]
    %3 = sum(%2, [0], false, None) : f32[]
    return user %3
  }, region(%0 "": f32[s0], %1 "": i64[s1]) {
    %2 = sum(%0, [0], false, None) : f32[]
    return user %2
  }, [%0, %1]) : f32[]
  return user %0
})";
  expect("remove_dead", text, text);
}

// For devices: both regions and a choice, with what an operand's layout asks for; one that may fail must not run unless
// it is chosen.
TEST(Regions, AreInlinedForDevices) {
  graph::Graph g = graph::parse(R"(graph f(%0 "x": f32[s0, s1], %1 "p": bool[1], %2 "q": bool[]) {
  %3 = permute(%0, [1, 0]) : f32[s1, s0]{1, s1}
  %4, %5 = cond(%1, region(%0 "": f32[s1, s0]) {
    %1 = exp(%0) : f32[s1, s0]
    %2 = sum(%1, [0], false, None) : f32[s0]
    return user %1, user %2
  }, region(%0 "": f32[s1, s0]) {
    %1 = full([s0], 0.0, f32, 'cpu') : f32[s0]
    return user %0, user %1
  }, [%3]) : f32[s1, s0], f32[s0]
  %6 = cond(%2, region(%0 "": f32[s0], %1 "": bool[]) {
    %2 = cond(%1, region(%0 "": f32[s0]) {
      return user %0
    }, region(%0 "": f32[s0]) {
      %1 = sin(%0) : f32[s0]
      return user %1
    }, [%0]) : f32[s0]
    return user %2
  }, region(%0 "": f32[s0], %1 "": bool[]) {
    return user %0
  }, [%5, %2]) : f32[s0]
  return user %4, user %6
})");
  EXPECT_TRUE(inline_regions(g));
  graph::verify(g, "inline_regions");
  EXPECT_EQ(graph::print(g, false), printed(R"(graph f(%0 "x": f32[s0, s1], %1 "p": bool[1], %2 "q": bool[]) {
  %3 = permute(%0, [1, 0]) : f32[s1, s0]{1, s1}
  %4 = view(%1, []) : bool[]
  %5 = clone(%3) : f32[s1, s0]
  %6 = exp(%5) : f32[s1, s0]
  %7 = sum(%6, [0], false, None) : f32[s0]
  %8 = clone(%3) : f32[s1, s0]
  %9 = full([s0], 0.0, f32, 'cpu') : f32[s0]
  %10 = where(%4, %6, %8) : f32[s1, s0]
  %11 = where(%4, %7, %9) : f32[s0]
  %12 = sin(%11) : f32[s0]
  %13 = where(%2, %11, %12) : f32[s0]
  %14 = where(%2, %13, %11) : f32[s0]
  return user %10, user %14
})"));
  EXPECT_FALSE(inline_regions(g));
  graph::Graph fails = graph::parse(R"(graph f(%0 "x": f32[s0], %1 "i": i64[s0], %2 "p": bool[]) {
  %3 = cond(%2, region(%0 "": f32[s0], %1 "": i64[s0]) {
    %2 = index_select(%0, 0, %1) : f32[s0]
    return user %2
  }, region(%0 "": f32[s0], %1 "": i64[s0]) {
    return user %0
  }, [%0, %1]) : f32[s0]
  return user %3
})");
  try {
    inline_regions(fails);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::NotTraceable);
  }
}

// What a guard says after a size was written down reaches what was written.
TEST(UseKnownSizes, EqualitiesOfGuards) {
  graph::Graph g = graph::parse(R"(graph f(%0 "x": f32[s0, s1, s2], %1 "y": f32[s3]) where s0 = 1 {
  %2 = permute(%0, [1, 0, 2]) : f32[s1, s0, s2]{s2, s1*s2, 1}
  %3 = add(%2, %1, 1) : f32[s1, s0, s2]
  return user %3
})");
  Int s0 = g.env->symbol_named("s0", 1), s2 = g.env->symbol_named("s2"), s3 = g.env->symbol_named("s3");
  EXPECT_FALSE(use_known_sizes(g)) << graph::print(g);
  g.env->decide((s0 == 1).expr(), {}, "branch");
  g.env->decide((s2 == s3).expr(), {}, "broadcast");
  EXPECT_TRUE(use_known_sizes(g));
  for (const graph::Value& v : g.values)
    for (Int size : v.meta.layout.sizes) EXPECT_FALSE(identical(size, s0) || identical(size, s3)) << graph::print(g);
  EXPECT_EQ(g.meta({3}).layout.sizes[1].hint(), 1);
  EXPECT_FALSE(g.meta({3}).layout.sizes[1].is_symbolic());
  EXPECT_TRUE(identical(g.meta({1}).layout.sizes[0], g.meta({3}).layout.sizes[2])) << graph::print(g);
  EXPECT_FALSE(use_known_sizes(g)) << "a second run changed something";
}

TEST(CatLast, ElementwiseOperatorsOfTheWholeAreOfItsParts) {
  expect("cat_last,remove_dead",
         R"(graph f(%0 "x": f32[s0, 4], %1 "y": f32[s0, 8]) {
  %2 = cat([%0, %1], 1) : f32[s0, 12]
  %3 = mul(%2, 2.0) : f32[s0, 12]
  %4 = to(%3, f16) : f16[s0, 12]
  return user %4
})",
         R"(graph f(%0 "x": f32[s0, 4], %1 "y": f32[s0, 8]) {
  %2 = mul(%0, 2.0) : f32[s0, 4]
  %3 = mul(%1, 2.0) : f32[s0, 8]
  %4 = to(%2, f16) : f16[s0, 4]
  %5 = to(%3, f16) : f16[s0, 8]
  %6 = cat([%4, %5], 1) : f16[s0, 12]
  return user %6
})");
}

// Rotated halves: what stands beside the joined value is cut as it is, but where it has one number for all.
TEST(CatLast, OtherOperandsAreCut) {
  expect("cat_last,remove_dead",
         R"(graph f(%0 "x": bf16[s0, 64], %1 "cos": f32[64], %2 "sin": f32[64], %3 "g": f32[s0, 1]) {
  %4 = slice(%0, 1, 0, 32, 1) : bf16[s0, 32]{64, 1}
  %5 = slice(%0, 1, 32, 64, 1) : bf16[s0, 32]{64, 1}+32
  %6 = neg(%5) : bf16[s0, 32]
  %7 = cat([%6, %4], 1) : bf16[s0, 64]
  %8 = mul(%7, %2) : f32[s0, 64]
  %9 = mul(%8, %3) : f32[s0, 64]
  %10 = mul(%0, %1) : f32[s0, 64]
  %11 = add(%10, %9, 1) : f32[s0, 64]
  return user %11
})",
         R"(graph f(%0 "x": bf16[s0, 64], %1 "cos": f32[64], %2 "sin": f32[64], %3 "g": f32[s0, 1]) {
  %4 = slice(%0, 1, 0, 32, 1) : bf16[s0, 32]{64, 1}
  %5 = slice(%0, 1, 32, 64, 1) : bf16[s0, 32]{64, 1}+32
  %6 = neg(%5) : bf16[s0, 32]
  %7 = slice(%2, 0, 0, 32, 1) : f32[32]
  %8 = mul(%6, %7) : f32[s0, 32]
  %9 = slice(%2, 0, 32, 64, 1) : f32[32]+32
  %10 = mul(%4, %9) : f32[s0, 32]
  %11 = mul(%8, %3) : f32[s0, 32]
  %12 = mul(%10, %3) : f32[s0, 32]
  %13 = mul(%0, %1) : f32[s0, 64]
  %14 = slice(%13, 1, 0, 32, 1) : f32[s0, 32]{64, 1}
  %15 = add(%14, %11, 1) : f32[s0, 32]
  %16 = slice(%13, 1, 32, 64, 1) : f32[s0, 32]{64, 1}+32
  %17 = add(%16, %12, 1) : f32[s0, 32]
  %18 = cat([%15, %17], 1) : f32[s0, 64]
  return user %18
})");
}

// Rotary positions' derivative, and what then stands with heads inside: each part is written where the copy has it.
TEST(CatLast, CopiesInAnotherOrderAreOfParts) {
  expect("cat_last,remove_dead",
         R"(graph f(%0 "a": f32[s0, 4, s1, 32], %1 "b": f32[s0, 4, s1, 32]) {
  %2 = cat([%0, %1], -1) : f32[s0, 4, s1, 64]
  %3 = permute(%2, [0, 2, 3, 1]) : f32[s0, s1, 64, 4]{256*s1, 64, 1, 64*s1}
  %4 = clone(%3) : f32[s0, s1, 64, 4]
  return user %4
})",
         R"(graph f(%0 "a": f32[s0, 4, s1, 32], %1 "b": f32[s0, 4, s1, 32]) {
  %2 = permute(%0, [0, 2, 3, 1]) : f32[s0, s1, 32, 4]{128*s1, 32, 1, 32*s1}
  %3 = permute(%1, [0, 2, 3, 1]) : f32[s0, s1, 32, 4]{128*s1, 32, 1, 32*s1}
  %4 = cat([%2, %3], 2) : f32[s0, s1, 64, 4]
  return user %4
})");
  // The joined value, or the view, is wanted as well; a part is converted.
  const char* text = R"(graph f(%0 "a": f32[s0, 4], %1 "b": f32[s0, 4], %2 "c": f16[s0, 4]) {
  %3 = cat([%0, %1], 1) : f32[s0, 8]
  %4 = permute(%3, [1, 0]) : f32[8, s0]{1, 8}
  %5 = clone(%4) : f32[8, s0]
  %6 = cat([%1, %0], 1) : f32[s0, 8]
  %7 = permute(%6, [1, 0]) : f32[8, s0]{1, 8}
  %8 = clone(%7) : f32[8, s0]
  %9 = mm(%7, %3) : f32[8, 8]
  %10 = cat([%0, %2], 1) : f32[s0, 8]
  %11 = permute(%10, [1, 0]) : f32[8, s0]{1, 8}
  %12 = clone(%11) : f32[8, s0]
  return user %3, user %5, user %8, user %9, user %12
})";
  expect("cat_last", text, text);
}

// The joined value is wanted as it is, would grow, or the operator sees more than one of its elements.
TEST(CatLast, StaysWhereItIsWanted) {
  const char* text = R"(graph f(%0 "x": f32[s0, 4], %1 "y": f32[s0, 8], %2 "w": f32[12]) {
  %3 = cat([%0, %1], 1) : f32[s0, 12]
  %4 = neg(%3) : f32[s0, 12]
  %5 = cat([%0, %0], 1) : f32[s0, 8]
  %6 = to(%5, f64) : f64[s0, 8]
  %7 = cat([%1, %1], 1) : f32[s0, 16]
  %8 = sum(%7, [1], false, None) : f32[s0]
  %9 = cat([%0, %0, %0, %0, %0], 1) : f32[s0, 20]
  %10 = mul(%9, %9) : f32[s0, 20]
  %11 = cat([%1, %0], 1) : f32[s0, 12]
  %12 = mul(%11, %3) : f32[s0, 12]
  return user %3, user %4, user %6, user %8, user %10, user %11, user %12
})";
  expect("cat_last", text, text);
}

// Derivatives of slices: halves, and three parts of which the second comes last.
TEST(PaddedSums, PartsOfAllBecomeOneTensor) {
  expect("padded_sums,remove_dead",
         R"(graph f(%0 "a": f32[s0, 32], %1 "b": f32[s0, 16], %2 "c": f32[s0, 16]) {
  %3 = full([s0, 64], 0, f32, 'cpu') : f32[s0, 64]
  %4 = slice_scatter(%3, %0, 1, 0, 32, 1) : f32[s0, 64]
  %5 = slice_scatter(%3, %2, -1, 48, 64, 1) : f32[s0, 64]
  %6 = add(%5, %4, 1) : f32[s0, 64]
  %7 = slice_scatter(%3, %1, 1, 32, 48, 1) : f32[s0, 64]
  %8 = add(%6, %7, 1) : f32[s0, 64]
  return user %8
})",
         R"(graph f(%0 "a": f32[s0, 32], %1 "b": f32[s0, 16], %2 "c": f32[s0, 16]) {
  %3 = cat([%0, %1, %2], 1) : f32[s0, 64]
  return user %3
})");
}

// Some of it stays 0: nothing is added all the same.
TEST(PaddedSums, PartsOfSomeAreWrittenIntoOneAnother) {
  expect("padded_sums,remove_dead",
         R"(graph f(%0 "a": f32[s1, 4], %1 "b": f32[s0, 4]) {
  %2 = full([s0 + s1 + 1, 4], 0.0, f32, 'cpu') : f32[s0 + s1 + 1, 4]
  %3 = slice_scatter(%2, %0, 0, 0, s1, 1) : f32[s0 + s1 + 1, 4]
  %4 = slice_scatter(%2, %1, 0, s1, s0 + s1, 1) : f32[s0 + s1 + 1, 4]
  %5 = add(%3, %4, 1) : f32[s0 + s1 + 1, 4]
  return user %5
})",
         R"(graph f(%0 "a": f32[s1, 4], %1 "b": f32[s0, 4]) {
  %2 = full([s0 + s1 + 1, 4], 0.0, f32, 'cpu') : f32[s0 + s1 + 1, 4]
  %3 = slice_scatter(%2, %0, 0, 0, s1, 1) : f32[s0 + s1 + 1, 4]
  %4 = slice_scatter(%3, %1, 0, s1, s0 + s1, 1) : f32[s0 + s1 + 1, 4]
  return user %4
})");
}

// They overlap, or may; around them is no zero; each second row; another dimension; a factor; one is repeated.
TEST(PaddedSums, OtherSumsStay) {
  const char* text = R"(graph f(%0 "a": f32[s0, 32], %1 "b": f32[s0, 33], %2 "c": f32[1, 32], %3 "d": f32[1, 64]) {
  %4 = full([s0, 64], 0, f32, 'cpu') : f32[s0, 64]
  %5 = full([s0, 64], 1, f32, 'cpu') : f32[s0, 64]
  %6 = slice_scatter(%4, %0, 1, 0, 32, 1) : f32[s0, 64]
  %7 = slice_scatter(%4, %1, 1, 31, 64, 1) : f32[s0, 64]
  %8 = add(%6, %7, 1) : f32[s0, 64]
  %9 = slice_scatter(%5, %0, 1, 32, 64, 1) : f32[s0, 64]
  %10 = add(%6, %9, 1) : f32[s0, 64]
  %11 = slice_scatter(%4, %0, 1, 1, 64, 2) : f32[s0, 64]
  %12 = add(%6, %11, 1) : f32[s0, 64]
  %13 = slice_scatter(%4, %3, 0, 0, 1, 1) : f32[s0, 64]
  %14 = add(%6, %13, 1) : f32[s0, 64]
  %15 = slice_scatter(%4, %0, 1, 32, 64, 1) : f32[s0, 64]
  %16 = add(%6, %15, 2) : f32[s0, 64]
  %17 = full([1, 64], 0, f32, 'cpu') : f32[1, 64]
  %18 = slice_scatter(%17, %2, 1, 32, 64, 1) : f32[1, 64]
  %19 = add(%6, %18, 1) : f32[s0, 64]
  return user %8, user %10, user %12, user %14, user %16, user %19
})";
  expect("padded_sums", text, text);
}

TEST(RemoveDead, KeepsWhatMayFail) {
  expect("remove_dead",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": i64[s2]) {
  %2 = exp(%0) : f32[s0, s1]
  %3 = embedding(%0, %1) : f32[s2, s1]
  %4 = neg(%0) : f32[s0, s1]
  return user %4
})",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": i64[s2]) {
  %2 = embedding(%0, %1) : f32[s2, s1]
  %3 = neg(%0) : f32[s0, s1]
  return user %3
})");
}

TEST(EliminateNoops, ViewsCastsAndCopiesThatChangeNothing) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f32[s0, s1]) {
  %1 = permute(%0, [1, 0]) : f32[s1, s0]{1, s1}
  %2 = permute(%1, [1, 0]) : f32[s0, s1]
  %3 = to(%2, f32) : f32[s0, s1]
  %4 = clone(%3) : f32[s0, s1]
  %5 = unsqueeze(%4, 0) : f32[1, s0, s1]
  %6 = squeeze(%5, [0]) : f32[s0, s1]
  %7 = slice(%6, 0, 0, s0, 1) : f32[s0, s1]
  %8 = neg(%7) : f32[s0, s1]
  return user %8
})",
         R"(graph f(%0 "x": f32[s0, s1]) {
  %1 = neg(%0) : f32[s0, s1]
  return user %1
})");
}

// What stands for the copy is a permuted value with the sizes and strides of what is permuted again.
TEST(EliminateNoops, APermuteOfASquareStays) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f32[s0, s0], %1 "y": f32[s0, s0]) {
  %2 = permute(%0, [1, 0]) : f32[s0, s0]{1, s0}
  %3 = copy(%0, %2) : f32[s0, s0]
  %4 = permute(%3, [1, 0]) : f32[s0, s0]{1, s0}
  %5 = add(%4, %1, 1) : f32[s0, s0]
  %6 = clone(%2) : f32[s0, s0]
  %7 = copy(%1, %6) : f32[s0, s0]
  %8 = permute(%7, [1, 0]) : f32[s0, s0]{1, s0}
  %9 = sub(%8, %7, 1) : f32[s0, s0]
  return user %5, user %9
})",
         R"(graph f(%0 "x": f32[s0, s0], %1 "y": f32[s0, s0]) {
  %2 = permute(%0, [1, 0]) : f32[s0, s0]{1, s0}
  %3 = add(%0, %1, 1) : f32[s0, s0]
  %4 = clone(%2) : f32[s0, s0]
  %5 = permute(%4, [1, 0]) : f32[s0, s0]{1, s0}
  %6 = sub(%5, %4, 1) : f32[s0, s0]
  return user %3, user %6
})");
}

// By what they do to indices: also where a rewritten operand has other strides than the old one.
TEST(EliminateNoops, ViewsOfAPermutedValueThatChangeNothing) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[1, s2, 1, s3]) {
  %2 = permute(%0, [1, 0]) : f32[s1, s0]{1, s1}
  %3 = to(%2, f32) : f32[s1, s0]
  %4 = view(%3, [s1, s0]) : f32[s1, s0]
  %5 = slice(%4, 1, 0, s0, 1) : f32[s1, s0]
  %6 = expand(%5, [s1, s0]) : f32[s1, s0]
  %7 = unsqueeze(%6, 1) : f32[s1, 1, s0]
  %8 = squeeze(%7, [1]) : f32[s1, s0]
  %9 = exp(%8) : f32[s1, s0]
  %10 = permute(%1, [2, 1, 0, 3]) : f32[1, s2, 1, s3]
  %11 = exp(%10) : f32[1, s2, 1, s3]
  return user %9, user %11
})",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[1, s2, 1, s3]) {
  %2 = permute(%0, [1, 0]) : f32[s1, s0]{1, s1}
  %3 = exp(%2) : f32[s1, s0]
  %4 = exp(%1) : f32[1, s2, 1, s3]
  return user %3, user %4
})");
}

TEST(EliminateNoops, AWideningCastBetweenTwoCastsGoesAndANarrowingOneStays) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f16[s0]) {
  %1 = to(%0, f32) : f32[s0]
  %2 = to(%1, f64) : f64[s0]
  %3 = to(%2, f16) : f16[s0]
  return user %3
})",
         R"(graph f(%0 "x": f16[s0]) {
  return user %0
})");
  const char* narrowing = R"(graph f(%0 "x": f32[s0]) {
  %1 = to(%0, f16) : f16[s0]
  %2 = to(%1, f32) : f32[s0]
  return user %2
})";
  expect("eliminate_noops", narrowing, narrowing);
}

TEST(EliminateNoops, ReadingBackWhatWasJustWritten) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f32[s0], %1 "y": f32[2]) where s0 = 8 {
  %2 = slice_scatter(%0, %1, 0, 1, 3, 1) : f32[s0]
  %3 = slice(%2, 0, 1, 3, 1) : f32[2]+1
  %4 = exp(%3) : f32[2]
  return user %4
})",
         R"(graph f(%0 "x": f32[s0], %1 "y": f32[2]) {
  %2 = exp(%1) : f32[2]
  return user %2
})");
}

TEST(EliminateNoops, AViewOfACopyThatIsNowAnExpandedValueGetsACopyOfItsOwn) {
  expect("eliminate_noops,remove_dead",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s1]) {
  %2 = copy(%0, %1) : f32[s0, s1]
  %3 = view(%2, [s0*s1]) : f32[s0*s1]
  return user %3
})",
         R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s1]) {
  %2 = expand(%1, [s0, s1]) : f32[s0, s1]{0, 1}
  %3 = clone(%2) : f32[s0, s1]
  %4 = view(%3, [s0*s1]) : f32[s0*s1]
  return user %4
})");
}

TEST(FoldConstants, ArithmeticOnFilledTensorsInTheirOwnPrecision) {
  expect("fold_constants,remove_dead",
         R"(graph f(%0 "x": f32[s0]) {
  %1 = full([s0], 0.1, f32, 'cpu') : f32[s0]
  %2 = full([s0], 0.2, f32, 'cpu') : f32[s0]
  %3 = add(%1, %2, 1) : f32[s0]
  %4 = mul(%0, 1) : f32[s0]
  %5 = add(%3, %4, 1) : f32[s0]
  return user %5
})",
         R"(graph f(%0 "x": f32[s0]) {
  %1 = full([s0], 0.30000001192092896, f32, 'cpu') : f32[s0]
  %2 = add(%1, %0, 1) : f32[s0]
  return user %2
})");
  // x + 0.0 would turn -0.0 into 0.0: not a no-op.
  const char* zero = R"(graph f(%0 "x": f32[s0]) {
  %1 = add(%0, 0.0, 1) : f32[s0]
  return user %1
})";
  expect("fold_constants", zero, zero);
}

TEST(FoldConstants, APartOfAFilledTensorThatIsWrittenBackStaysAView) {
  // Rows of the frame: a constant of their own would be filled once more, and then copied into the frame.
  const char* frame = R"(graph f(%0 "x": f32[s0, s1]) {
  %1 = full([s0 + 2, s1 + 2], 0, f32, 'cpu') : f32[s0 + 2, s1 + 2]
  %2 = slice(%1, 0, 1, s0 + 1, 1) : f32[s0, s1 + 2]+(s1 + 2)
  %3 = slice(%2, 1, 1, s1 + 1, 1) : f32[s0, s1]{s1 + 2, 1}+(s1 + 3)
  %4 = copy(%3, %0) : f32[s0, s1]
  %5 = slice_scatter(%2, %4, 1, 1, s1 + 1, 1) : f32[s0, s1 + 2]
  %6 = slice_scatter(%1, %5, 0, 1, s0 + 1, 1) : f32[s0 + 2, s1 + 2]
  return user %6
})";
  expect("fold_constants", frame, frame);
}

TEST(Decompose, SoftmaxIsSixPrimitives) {
  expect("decompose",
         R"(graph f(%0 "x": f32[4, 8]) {
  %1 = softmax(%0, -1, None) : f32[4, 8]
  return user %1
})",
         R"(graph f(%0 "x": f32[4, 8]) {
  %1 = amax(%0, [1], true) : f32[4, 1]
  %2 = sub(%0, %1, 1) : f32[4, 8]
  %3 = exp(%2) : f32[4, 8]
  %4 = sum(%3, [1], true, None) : f32[4, 1]
  %5 = reciprocal(%4) : f32[4, 1]
  %6 = mul(%3, %5) : f32[4, 8]
  return user %6
})");
}

TEST(Decompose, HalfTypesAreSummedInFloat32AndRoundedOnce) {
  std::string out = run("decompose", R"(graph f(%0 "x": f16[s0, 8]) {
  %1 = mean(%0, [1], false, None) : f16[s0]
  return user %1
})");
  EXPECT_NE(out.find("to(%0, f32)"), std::string::npos) << out;
  EXPECT_NE(out.find("to(%3, f16)"), std::string::npos) << out;
}

TEST(Decompose, MatmulFoldsTheBatchOfTheLeftOperandIntoRows) {
  std::string out = run("decompose", R"(graph f(%0 "x": f32[2, 3, 4], %1 "y": f32[4, 5]) {
  %2 = matmul(%0, %1) : f32[2, 3, 5]
  return user %2
})");
  EXPECT_NE(out.find("mm(%2, %1) : f32[6, 5]"), std::string::npos) << out;
}

TEST(Pipeline, NamesItsPassesAndRefusesOthers) {
  graph::Graph g = graph::parse("graph f(%0 \"x\": f32[s0]) {\n  return user %0\n}");
  EXPECT_THROW(run_passes("no_such_pass", g), Error);
  std::vector<PassRecord> records = run_pipeline(g);
  EXPECT_EQ(records.size(), pipeline().size());
}

}  // namespace
}  // namespace reprise::passes
