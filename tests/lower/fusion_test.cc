// What becomes one launch, what is written in place and what is copied: on the text of graphs.
#include <gtest/gtest.h>

#include <random>

#include "executor.h"
#include "kernels/plan/lower.h"
#include "kernels/plan/temp_plan.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

struct Program {
  graph::Graph g;
  Lowered l;
  explicit Program(std::string_view text, Mode mode = Mode::Full) : g(graph::parse(text)) {
    passes::run_pipeline(g);
    l = lower(g, mode);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Launch& x : l.launches) out.push_back(x.name);
    return out;
  }
  int count(Buffer::Kind k) const {
    int n = 0;
    for (const Buffer& b : l.buffers) n += b.kind == k;
    return n;
  }
};

std::string all(const Program& p) { return print(p.g, false) + print(p.l); }

// One kernel, no memory besides inputs and result.
void expect_one_kernel(std::string_view text) {
  Program p(text);
  EXPECT_EQ(p.l.launches.size(), 1u) << all(p);
  EXPECT_TRUE(std::holds_alternative<LoopLaunch>(p.l.launches[0].what)) << all(p);
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 0) << all(p);
}

TEST(Fusion, PointwiseChainIsOneKernel) {
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s1]) {
    %2 = add(%0, %1, 1) : f32[s0, s1]
    %3 = exp(%2) : f32[s0, s1]
    %4 = mul(%3, %0) : f32[s0, s1]
    %5 = permute(%4, [1, 0]) : f32[s1, s0]{1, s1}
    %6 = add(%5, 1, 1) : f32[s1, s0]
    return user %6
  })");
}

// A number of each row is stored on the way, and read again for the row's elements.
TEST(Fusion, QuantizationByRowsIsOneKernel) {
  const char* kQuantize = R"(
    %20 = abs(@) : f32[s0, s1]
    %21 = amax(%20, [-1], true) : f32[s0, 1]
    %22 = clamp(%21, 1e-08, None) : f32[s0, 1]
    %23 = div(%22, 127.0, None) : f32[s0, 1]
    %24 = div(@, %23, None) : f32[s0, s1]
    %25 = round(%24) : f32[s0, s1]
    %26 = to(%25, i8) : i8[s0, s1]
    return user %26, user %23
  })";
  auto number = [](std::string text, int first, int from) {  // %20.. become %from..
    for (int i = 0; i < 7; ++i)
      for (std::string was = "%" + std::to_string(20 + i); text.find(was) != std::string::npos;)
        text.replace(text.find(was), was.size(), "%" + std::to_string(from + i));
    for (std::size_t at; (at = text.find("@")) != std::string::npos;) text.replace(at, 1, "%" + std::to_string(first));
    return text;
  };
  expect_one_kernel("graph f(%0 \"x\": f32[s0, s1]) {" + number(kQuantize, 0, 1));
  expect_one_kernel(
      "graph f(%0 \"x\": f32[s0, s1], %1 \"w\": f32[s1]) {\n%2 = rms_norm(%0, [s1], %1, 1e-06) : f32[s0, s1]" +
      number(kQuantize, 2, 3));
  // A number that is made of no reduction over these rows keeps its own kernel.
  Program p(R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s0, 1]) {
    %2 = exp(%1) : f32[s0, 1]
    %3 = mul(%0, %2) : f32[s0, s1]
    return user %3, user %2
  })");
  EXPECT_EQ(p.l.launches.size(), 2u) << all(p);
}

// One row is one like the others, and so is a whole tensor, where it is small in the call that is compiled.
TEST(Fusion, QuantizationOfOneRowIsOneKernel) {
  for (const char* x : {"1, s0", "s0"}) {
    const std::string of = x, row = of == "s0" ? "1" : "1, 1", dim = of == "s0" ? "[0]" : "[-1]";
    expect_one_kernel((R"(graph f(%0 "x": f32[)" + of + R"(]) {
    %1 = abs(%0) : f32[)" +
                       of + R"(]
    %2 = amax(%1, )" + dim +
                       R"(, true) : f32[)" + row + R"(]
    %3 = mul(%2, 0.007874) : f32[)" +
                       row + R"(]
    %4 = div(%0, %3, None) : f32[)" +
                       of + R"(]
    %5 = to(%4, int8) : i8[)" +
                       of + R"(]
    return user %5, user %3
  })")
                          .c_str());
  }
}

// An argument is written in the last run over a row, when what was reduced of it is known.
TEST(Fusion, RowsAreWrittenWhereTheyAreRead) {
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1] mutates_data) {
    %1 = amax(%0, [-1], true) : f32[s0, 1]
    %2 = exp(%1) : f32[s0, 1]
    %3 = div(%0, %2, None) : f32[s0, s1]
    return user %2, new_value_of 0 %3
  })");
  expect_one_kernel(R"(graph f(%0 "residual": f32[s0, s1] mutates_data, %1 "x": f32[s0, s1], %2 "w": f32[s1]) {
    %3 = add(%0, %1, 1) : f32[s0, s1]
    %4 = rms_norm(%3, [s1], %2, 1e-06) : f32[s0, s1]
    return user %4, new_value_of 0 %3
  })");
  // A row of the new value needs a column of the old one.
  Program w(R"(graph f(%0 "x": f32[s0, s0] mutates_data) {
    %1 = permute(%0, [1, 0]) : f32[s0, s0]{1, s0}
    %2 = amax(%1, [-1], true) : f32[s0, 1]
    %3 = sub(%0, %2, 1) : f32[s0, s0]
    return new_value_of 0 %3
  })");
  EXPECT_GE(w.l.launches.size(), 2u) << all(w);
}

// What a row is reduced to, and then parts of the row: [s0, s1 * 128] seen as [s0, s1, 128].
TEST(Fusion, RowsAndPartsOfThemAreOneKernel) {
  struct Sizes {
    std::string row, parts, of;
  };
  for (const Sizes& s : {Sizes{"s1*128", "s1", "128"}, {"s1*s2", "s1", "s2"}, {"4096", "32", "128"}}) {
    const std::string whole = "[s0, " + s.row + "]", seen = "[s0, " + s.parts + ", " + s.of + "]",
                      part = "[s0, " + s.parts + ", 1]";
    for (const char* t : {"f32", "bf16"}) {
      const std::string type = t;
      const std::string quantize = R"(
    %5 = view(%4, )" + seen +
                                   ") : " + type + seen + R"(
    %6 = to(%5, f32) : f32)" + seen +
                                   R"(
    %7 = abs(%6) : f32)" + seen + R"(
    %8 = amax(%7, [-1], true) : f32)" +
                                   part + R"(
    %9 = clamp(%8, 1e-08, None) : f32)" +
                                   part + R"(
    %10 = div(%9, 448.0, None) : f32)" +
                                   part + R"(
    %11 = div(%6, %10, None) : f32)" +
                                   seen + R"(
    %12 = to(%11, f8e4m3fn) : f8e4m3fn)" +
                                   seen + "\n";
      const std::string given =
          "graph f(%0 \"x\": " + type + whole + ", %1 \"w\": " + type + "[" + s.row + "], %2 \"r\": " + type + whole;
      expect_one_kernel(given + ") {\n%3 = add(%2, %0, 1) : " + type + whole + "\n%4 = rms_norm(%3, [" + s.row +
                        "], %1, 1e-06) : " + type + whole + quantize + "return user %12, user %10\n}");
      expect_one_kernel(given + ") {\n%3 = add(%2, %0, 1) : " + type + whole + "\n%4 = layer_norm(%3, [" + s.row +
                        "], %1, None, 1e-06) : " + type + whole + quantize + "return user %12, user %10\n}");
      expect_one_kernel(given + " mutates_data) {\n%3 = add(%2, %0, 1) : " + type + whole + "\n%4 = rms_norm(%3, [" +
                        s.row + "], %1, 1e-06) : " + type + whole + quantize +
                        "return user %12, user %10, new_value_of 2 %3\n}");
    }
  }
  // A row's sum of what is made of its parts, and a mean of all of it beside.
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1, s2]) {
    %1 = amax(%0, [-1], true) : f32[s0, s1, 1]
    %2 = sub(%0, %1, 1) : f32[s0, s1, s2]
    %3 = exp(%2) : f32[s0, s1, s2]
    %4 = sum(%3, [1, 2], true, None) : f32[s0, 1, 1]
    %5 = div(%3, %4, None) : f32[s0, s1, s2]
    return user %5
  })");
  // Rows so long that there would be too little to do at once.
  Program p(R"(graph f(%0 "x": f32[2, 2048, 4096]) {
    %1 = amax(%0, [-1], true) : f32[2, 2048, 1]
    %2 = sub(%0, %1, 1) : f32[2, 2048, 4096]
    %3 = sum(%2, [1, 2], true, None) : f32[2, 1, 1]
    return user %3
  })");
  EXPECT_EQ(p.l.launches.size(), 2u) << all(p);
}

TEST(Fusion, SoftmaxIsOneKernel) {
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = softmax(%0, -1, None) : f32[s0, s1]
    return user %1
  })");
  expect_one_kernel(R"(graph f(%0 "x": bf16[s0, s1, s2]) {
    %1 = softmax(%0, 1, None) : bf16[s0, s1, s2]
    return user %1
  })");
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = log_softmax(%0, 0, None) : f32[s0, s1]
    return user %1
  })");
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = logsumexp(%0, [1], true) : f32[s0, 1]
    %2 = sub(%0, %1, 1) : f32[s0, s1]
    return user %2
  })");
}

TEST(Fusion, NormsAreOneKernelEach) {
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, 64], %1 "w": f32[64]) {
    %2 = rms_norm(%0, [64], %1, 1e-05) : f32[s0, 64]
    return user %2
  })");
  expect_one_kernel(R"(graph f(%0 "x": f32[s0, s1, 64], %1 "w": f32[64], %2 "b": f32[64]) {
    %3 = layer_norm(%0, [64], %1, %2, 1e-05) : f32[s0, s1, 64]
    %4 = relu(%3) : f32[s0, s1, 64]
    return user %4
  })");
}

// Rotary positions as they are usually written: halves that are rotated by a cat, positions' numbers alike for all
// heads.
TEST(Fusion, RotatedHalvesAreOneKernel) {
  for (const auto& [d, h] : {std::pair<std::string, std::string>{"64", "32"}, {"2*s3", "s3"}})
    for (const char* t : {"f32", "bf16"}) {
      const std::string type = t, whole = "[s0, s1, s2, " + d + "]", half = type + "[s0, s1, s2, " + h + "]";
      const std::string strides = "{s1*s2*" + d + ", s2*" + d + ", " + d + ", 1}";
      expect_one_kernel("graph f(%0 \"x\": " + type + whole + ", %1 \"cos\": " + type + "[s2, " + d +
                        "], %2 \"sin\": " + type + "[s2, " + d + "]) {\n" + "%3 = slice(%0, 3, 0, " + h +
                        ", 1) : " + half + strides + "\n%4 = slice(%0, 3, " + h + ", " + d + ", 1) : " + half +
                        strides + "+(" + h + ")\n%5 = neg(%4) : " + half + "\n%6 = cat([%5, %3], 3) : " + type + whole +
                        "\n%7 = mul(%6, %2) : " + type + whole + "\n%8 = mul(%0, %1) : " + type + whole +
                        "\n%9 = add(%8, %7, 1) : " + type + whole + "\nreturn user %9\n}");
    }
}

// The residual stream: the sum is stored by the kernel that normalises it, not computed twice and not on its own.
TEST(Fusion, ResidualAndNormShareAKernel) {
  Program p(R"(graph f(%0 "x": f32[s0, 64], %1 "y": f32[s0, 64], %2 "w": f32[64], %3 "m": f32[64, 64]) {
    %4 = add(%0, %1, 1) : f32[s0, 64]
    %5 = rms_norm(%4, [64], %2, 1e-05) : f32[s0, 64]
    %6 = linear(%5, %3, None) : f32[s0, 64]
    %7 = add(%4, %6, 1) : f32[s0, 64]
    return user %7
  })");
  ASSERT_EQ(p.l.launches.size(), 2u) << all(p);
  EXPECT_EQ(p.l.launches[0].name.substr(0, 3), "add") << all(p);
  EXPECT_EQ(p.names()[1], "linear_add");
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 1) << all(p);  // what is multiplied: the residual stands where the result will
}

TEST(Fusion, SiblingsOverOneSpaceShareAKernel) {
  Program p(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = exp(%0) : f32[s0, s1]
    %2 = neg(%0) : f32[s0, s1]
    %3 = sum(%0, [1], false, None) : f32[s0]
    %4 = amax(%0, [1], false) : f32[s0]
    return user %1, user %2, user %3, user %4
  })");
  EXPECT_EQ(p.l.launches.size(), 1u) << all(p);
}

// Rotary positions: both halves of the result are made in one kernel, which writes them where they belong.
TEST(Fusion, SiblingsThatShareWhatTheyAreMadeOf) {
  Program p(R"(graph f(%0 "x": f16[s0, s1, 64], %1 "cos": f32[s1, 32], %2 "sin": f32[s1, 32]) {
    %3 = slice(%0, 2, 0, 32, 1) : f16[s0, s1, 32]{64*s1, 64, 1}
    %4 = slice(%0, 2, 32, 64, 1) : f16[s0, s1, 32]{64*s1, 64, 1}+32
    %5 = mul(%3, %1) : f32[s0, s1, 32]
    %6 = mul(%4, %2) : f32[s0, s1, 32]
    %7 = sub(%5, %6, 1) : f32[s0, s1, 32]
    %8 = mul(%4, %1) : f32[s0, s1, 32]
    %9 = mul(%3, %2) : f32[s0, s1, 32]
    %10 = add(%8, %9, 1) : f32[s0, s1, 32]
    %11 = cat([%7, %10], 2) : f32[s0, s1, 64]
    %12 = to(%11, f16) : f16[s0, s1, 64]
    return user %12
  })");
  EXPECT_EQ(p.l.launches.size(), 1u) << all(p);
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 0) << all(p);
}

// However many layers there are that read the same angles, the other half of the same layer is found.
TEST(Fusion, SiblingsOfOneOfManyLayers) {
  constexpr int kLayers = 24;
  std::string text =
      "graph f(%0 \"x\": f32[s0, 64], %1 \"cos\": f32[s0, 32], %2 \"sin\": f32[s0, 32], %3 \"w\": f32[64, 64]) {\n";
  int x = 0, next = 4;
  for (int i = 0; i < kLayers; ++i) {
    const auto v = [&](int k) { return "%" + std::to_string(next + k); };
    const std::string half = " : f32[s0, 32]\n", in = "%" + std::to_string(x);
    text += v(0) + " = slice(" + in + ", 1, 0, 32, 1) : f32[s0, 32]{64, 1}\n" + v(1) + " = slice(" + in +
            ", 1, 32, 64, 1) : f32[s0, 32]{64, 1}+32\n";
    text += v(2) + " = mul(" + v(0) + ", %1)" + half + v(3) + " = mul(" + v(1) + ", %2)" + half + v(4) + " = sub(" +
            v(2) + ", " + v(3) + ", 1)" + half;
    text += v(5) + " = mul(" + v(1) + ", %1)" + half + v(6) + " = mul(" + v(0) + ", %2)" + half + v(7) + " = add(" +
            v(5) + ", " + v(6) + ", 1)" + half;
    text += v(8) + " = cat([" + v(4) + ", " + v(7) + "], 1) : f32[s0, 64]\n" + v(9) + " = linear(" + v(8) +
            ", %3, None) : f32[s0, 64]\n";
    x = next + 9, next += 10;
  }
  Program p(text + "return user %" + std::to_string(x) + "\n}");
  EXPECT_EQ(p.l.launches.size(), 2u * kLayers) << all(p);
}

TEST(Products, LinearsOfOneXAreOneLaunch) {
  Program p(R"(graph f(%0 "x": f32[s0, 8], %1 "q": f32[16, 8], %2 "k": f32[s1, 8], %3 "o": f32[8, 16]) {
    %4 = linear(%0, %1, None) : f32[s0, 16]
    %5 = linear(%0, %2, None) : f32[s0, s1]
    %6 = linear(%4, %3, None) : f32[s0, 8]
    return user %4, user %5, user %6
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"linear_linear", "linear"})) << all(p);
}

// The second product's weights are what the first one makes.
TEST(Products, ChainedLinearsStayApart) {
  Program p(R"(graph f(%0 "x": f32[8, 8], %1 "w": f32[8, 8]) {
    %2 = linear(%0, %1, None) : f32[8, 8]
    %3 = linear(%0, %2, None) : f32[8, 8]
    return user %3
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"linear", "linear"})) << all(p);
}

TEST(Fusion, WorkBetweenTwoUsersKeepsThemApart) {
  // %1 may not be made in the kernel of %3: the product stands between.
  Program p(R"(graph f(%0 "x": f32[s0, s0]) {
    %1 = exp(%0) : f32[s0, s0]
    %2 = mm(%1, %1) : f32[s0, s0]
    %3 = add(%1, %2, 1) : f32[s0, s0]
    return user %3
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"exp", "mm_add"})) << all(p);
}

TEST(Fusion, HeadsMergedByAViewDoNotEndAKernel) {
  Program p(R"(graph f(%0 "x": f32[s0, 4, 16]) {
    %1 = exp(%0) : f32[s0, 4, 16]
    %2 = view(%1, [s0, 64]) : f32[s0, 64]
    %3 = add(%2, 1, 1) : f32[s0, 64]
    return user %3
  })");
  EXPECT_EQ(p.l.launches.size(), 1u) << all(p);
}

TEST(Fusion, NoFuseGivesOneLaunchANode) {
  Program p(R"(graph f(%0 "x": f32[s0]) {
    %1 = exp(%0) : f32[s0]
    %2 = neg(%1) : f32[s0]
    return user %2
  })",
            Mode::NoFuse);
  EXPECT_EQ(p.names(), (std::vector<std::string>{"exp", "neg"}));
}

TEST(Fusion, ExpensiveBroadcastValueIsComputedOnce) {
  Program p(R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s1]) {
    %2 = exp(%1) : f32[s1]
    %3 = mul(%0, %2) : f32[s0, s1]
    return user %3
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"exp", "mul"})) << all(p);
}

TEST(Joins, ComputedPartsOfCatAreNotCopied) {
  Program p(R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s0, s2], %2 "w": f32[s1, 8]) {
    %3 = exp(%0) : f32[s0, s1]
    %4 = neg(%1) : f32[s0, s2]
    %5 = mm(%0, %2) : f32[s0, 8]
    %6 = cat([%3, %4, %5], 1) : f32[s0, s1 + s2 + 8]
    return user %6
  })");
  EXPECT_EQ(p.l.launches.size(), 3u) << all(p);
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 0) << all(p);
}

constexpr std::string_view kCache =
    R"(graph step(%0 "k": f32[1, 64, 8] mutates_data, %1 "x": f32[1, 1, 8], %2 "w": f32[8, 8], %3 "pos": i64[1]) {
    %4 = linear(%1, %2, None) : f32[1, 1, 8]
    %5 = slice_scatter(%0, %4, 1, s0, s0 + 1, 1) : f32[1, 64, 8]
    %6 = slice(%5, 1, 0, s0 + 1, 1) : f32[1, s0 + 1, 8]{512, 8, 1}
    %7 = scaled_dot_product_attention(%1, %6, %6, None, 0.0, false, None, false) : f32[1, 1, 8]
    return user %7, new_value_of 0 %5
  })";

TEST(InPlace, KeyValueCacheIsNeverCopied) {
  Program p(kCache);
  EXPECT_EQ(p.names(), (std::vector<std::string>{"linear", "scaled_dot_product_attention"})) << all(p);
  EXPECT_TRUE(p.l.outputs[1].in_place) << all(p);
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 0) << all(p);
}

// caches[layer].slice(...).copy_(k): two scatters, one in the other.
TEST(InPlace, LayerOfAStackedCacheIsNeverCopied) {
  Program p(R"(graph step(%0 "k": f32[4, 64, 8] mutates_data, %1 "x": f32[1, 8], %2 "w": f32[8, 8]) {
    %3 = mm(%1, %2) : f32[1, 8]
    %4 = select(%0, 0, 2) : f32[64, 8]{8, 1}+1024
    %5 = slice_scatter(%4, %3, 0, s0, s0 + 1, 1) : f32[64, 8]
    %6 = select_scatter(%0, %5, 0, 2) : f32[4, 64, 8]
    return new_value_of 0 %6
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"mm"})) << all(p);
  EXPECT_TRUE(p.l.outputs[0].in_place) << all(p);
}

TEST(InPlace, AddOneIsWrittenOverItsInput) {
  Program p(R"(graph f(%0 "x": f32[s0, s1] mutates_data) {
    %1 = add(%0, 1, 1) : f32[s0, s1]
    return new_value_of 0 %1
  })");
  ASSERT_EQ(p.l.launches.size(), 1u) << all(p);
  EXPECT_TRUE(p.l.outputs[0].in_place);
  EXPECT_EQ(p.count(Buffer::Kind::Output), 0);
}

TEST(InPlace, TransposedReadOfItselfGoesThroughTheEpilogue) {
  Program p(R"(graph f(%0 "x": f32[s0, s0] mutates_data) {
    %1 = permute(%0, [1, 0]) : f32[s0, s0]{1, s0}
    %2 = add(%0, %1, 1) : f32[s0, s0]
    return new_value_of 0 %2
  })");
  EXPECT_FALSE(p.l.outputs[0].in_place) << all(p);
  EXPECT_NE(p.l.outputs[0].why.find("other indices"), std::string::npos) << all(p);
}

// The old value is read where it is overwritten, in another order: the epilogue copies the slice, and only the slice.
TEST(InPlace, ShiftedSliceIsCopiedByTheEpilogue) {
  Program p(R"(graph f(%0 "x": f32[16, 8] mutates_data) {
    %1 = slice(%0, 0, 0, 2, 1) : f32[2, 8]
    %2 = slice_scatter(%0, %1, 0, 1, 3, 1) : f32[16, 8]
    return new_value_of 0 %2
  })");
  EXPECT_FALSE(p.l.outputs[0].in_place) << all(p);
  EXPECT_EQ(p.l.outputs[0].target.sizes[0].str(), "2") << all(p);
  ASSERT_EQ(p.count(Buffer::Kind::Output), 1);
  for (const Buffer& b : p.l.buffers) {
    if (b.kind != Buffer::Kind::Output) continue;
    EXPECT_EQ(b.bytes.str(), "64");
  }
}

TEST(InPlace, OldValueReadAfterTheNewOneIsKnown) {
  Program p(R"(graph f(%0 "x": f32[s0, 8] mutates_data, %1 "y": f32[8, 8]) {
    %2 = slice(%0, 0, 0, 1, 1) : f32[1, 8]
    %3 = mm(%2, %1) : f32[1, 8]
    %4 = slice_scatter(%0, %3, 0, 0, 1, 1) : f32[s0, 8]
    %5 = mm(%4, %1) : f32[s0, 8]
    %6 = add(%0, %5, 1) : f32[s0, 8]
    return user %6, new_value_of 0 %4
  })");
  EXPECT_FALSE(p.l.outputs[1].in_place) << all(p);
  // A read that does not depend on the new value simply runs first.
  Program before(R"(graph f(%0 "x": f32[s0, 8] mutates_data, %1 "y": f32[1, 8]) {
    %2 = slice_scatter(%0, %1, 0, 0, 1, 1) : f32[s0, 8]
    %3 = sum(%0, [0], true, None) : f32[1, 8]
    return user %3, new_value_of 0 %2
  })");
  EXPECT_TRUE(before.l.outputs[1].in_place) << all(before);
  EXPECT_EQ(before.names(), (std::vector<std::string>{"sum", "slice_scatter"})) << all(before);
}

// A cache written at computed places.
TEST(InPlace, IndexPutUpdatesItsInput) {
  Program p(R"(graph f(%0 "k": f32[s0, 2] mutates_data, %1 "i": i64[s1], %2 "v": f32[s1, 2]) {
    %3 = index_put(%0, [%1, None], %2, false) : f32[s0, 2]
    %4 = sum(%3, None, false, None) : f32[]
    return user %4, new_value_of 0 %3
  })");
  EXPECT_TRUE(p.l.outputs[1].in_place) << all(p);
  EXPECT_EQ(p.count(Buffer::Kind::Temp), 0) << all(p);
  Outcome out = execute(p.g, p.l, {3, 2}, {{1, 2, 3, 4, 5, 6}, {2, 0}, {7, 8, 9, 10}});
  EXPECT_EQ(out.inputs[0], (Elements{9, 10, 3, 4, 7, 8}));
  EXPECT_EQ(out.outputs[0], (Elements{41}));
  out = execute(p.g, p.l, {3, 2}, {{1, 2, 3, 4, 5, 6}, {2, 3}, {7, 8, 9, 10}});
  EXPECT_NE(out.fault, "");
  EXPECT_EQ(out.inputs[0], (Elements{1, 2, 3, 4, 5, 6}));
}

// An argument is as it was when a call fails: checks come before the first write.
TEST(InPlace, ChecksRunBeforeInputsAreWritten) {
  Program p(R"(graph f(%0 "x": f32[s0] mutates_data, %1 "t": f32[s1, 8], %2 "i": i64[s2]) {
    %3 = add(%0, 1, 1) : f32[s0]
    %4 = embedding(%1, %2) : f32[s2, 8]
    return user %4, new_value_of 0 %3
  })");
  EXPECT_EQ(p.names(), (std::vector<std::string>{"embedding_check", "add", "embedding"})) << all(p);
  EXPECT_TRUE(p.l.outputs[1].in_place);
  Outcome out = execute(p.g, p.l, {2, 3, 2}, {{1, 2}, Elements(24, 1.0), {0, 3}});
  EXPECT_EQ(out.fault, "index 3 at position [1] is out of range for dimension 0 of size 3");
  EXPECT_EQ(out.inputs[0], (Elements{1, 2}));
}

// What may fail needs the new value: then nothing is written before it has run.
TEST(InPlace, FailureAfterTheWriteForbidsIt) {
  Program p(R"(graph f(%0 "x": i64[s0] mutates_data, %1 "t": f32[s1, 8]) {
    %2 = add(%0, 1, 1) : i64[s0]
    %3 = embedding(%1, %2) : f32[s0, 8]
    return user %3, new_value_of 0 %2
  })");
  EXPECT_FALSE(p.l.outputs[1].in_place) << all(p);
  Outcome out = execute(p.g, p.l, {2, 3}, {{1, 2}, Elements(24, 1.0)});
  EXPECT_NE(out.fault, "");
  EXPECT_EQ(out.inputs[0], (Elements{1, 2}));
}

TEST(InPlace, TwoInputsSwapTheirValues) {
  Program p(R"(graph f(%0 "x": f32[s0] mutates_data, %1 "y": f32[s0] mutates_data) {
    return new_value_of 0 %1, new_value_of 1 %0
  })");
  EXPECT_NE(p.l.outputs[0].in_place, p.l.outputs[1].in_place) << all(p);
  Outcome out = execute(p.g, p.l, {2}, {{1, 2}, {3, 4}});
  EXPECT_EQ(out.inputs, (std::vector<Elements>{{3, 4}, {1, 2}}));
}

TEST(Outputs, PermutedResultKeepsItsStrides) {
  Program p(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = exp(%0) : f32[s0, s1]
    %2 = permute(%1, [1, 0]) : f32[s1, s0]{1, s1}
    return user %2
  })");
  EXPECT_EQ(p.l.launches.size(), 1u) << all(p);
  EXPECT_EQ(p.l.outputs[0].layout.strides[0].str(), "1") << all(p);
}

TEST(Outputs, OneValueTwiceGetsTwoBuffers) {
  Program p(R"(graph f(%0 "x": f32[s0]) {
    %1 = exp(%0) : f32[s0]
    return user %1, user %1, user %0
  })");
  EXPECT_EQ(p.count(Buffer::Kind::Output), 3) << all(p);
  Outcome out = execute(p.g, p.l, {2}, {{0, 0}});
  EXPECT_EQ(out.outputs, (std::vector<Elements>{{1, 1}, {1, 1}, {0, 0}}));
}

// What docs/validation.md leaves to this test: whatever the sizes, temporaries that live at the same time are apart.
TEST(TempPlan, RandomLivesThatOverlapShareNoByte) {
  std::mt19937 rng(7);
  auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng() % n); };
  for (int trial = 0; trial < 3000; ++trial) {
    const std::uint32_t n = 1 + below(24), steps = 1 + below(12);
    std::vector<TempLife> lives;
    std::vector<std::int64_t> bytes;
    for (std::uint32_t b = 0; b < n; ++b) {
      const std::uint32_t first = below(steps);
      lives.push_back({b, first, first + below(steps - first)});
      bytes.push_back(below(5) == 0 ? 0 : below(3) == 0 ? below(100'000) : 1 + below(200));
    }
    const TempPlan plan = plan_offsets(lives, bytes);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_GE(plan.offsets[i], 0);
      ASSERT_LE(plan.offsets[i] + bytes[i], plan.total);
      for (std::size_t j = 0; j < i; ++j) {
        const bool meet = bytes[i] && bytes[j] && lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        const bool apart =
            plan.offsets[i] + bytes[i] <= plan.offsets[j] || plan.offsets[j] + bytes[j] <= plan.offsets[i];
        ASSERT_TRUE(!meet || apart) << "trial " << trial << ": " << i << " and " << j;
      }
    }
  }
}

TEST(TempPlan, LivesThatOverlapShareNoByte) {
  std::vector<TempLife> lives{{0, 0, 1}, {1, 1, 2}, {2, 2, 3}, {3, 0, 3}, {4, 3, 4}};
  std::vector<std::int64_t> bytes{100, 1000, 100, 10, 0};
  TempPlan plan = plan_offsets(lives, bytes);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + bytes[i], plan.total);
    for (std::size_t j = 0; j < i; ++j) {
      bool meet = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
      bool apart = plan.offsets[i] + bytes[i] <= plan.offsets[j] || plan.offsets[j] + bytes[j] <= plan.offsets[i];
      EXPECT_TRUE(!meet || apart) << i << " and " << j;
    }
  }
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);  // one after the other in the same place
  EXPECT_EQ(plan.total, 1024 + 128 + 64);
}

}  // namespace
}  // namespace reprise::kernels
