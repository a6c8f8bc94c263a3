// Which results stand channels last, and how that is written (Note [Layouts] in passes/layouts.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <random>
#include <string>

#include "graph/graph.h"
#include "passes/layouts.h"
#include "passes/min_cut.h"
#include "reprise/convolution.h"

namespace reprise::passes {
namespace {

LayoutCost wants_last(const graph::Graph&, const graph::Node&, bool) { return {std::int64_t{1} << 30, 0}; }
LayoutCost wants_first(const graph::Graph&, const graph::Node&, bool) { return {0, std::int64_t{1} << 30}; }

graph::Graph parsed(std::string_view text) { return graph::parse(text); }

std::string laid_out(std::string_view text, LayoutCosts cost = wants_last, std::int64_t* count = nullptr) {
  graph::Graph g = parsed(text);
  PassRecord record;
  layouts(g, record, cost);
  graph::verify(g, "layouts");
  if (count) *count = record.patterns.empty() ? 0 : record.patterns[0].matches;
  std::string once = graph::print(g, false);
  PassRecord again;
  layouts(g, again, cost);
  EXPECT_EQ(graph::print(g, false), once) << "a second run changed something";
  EXPECT_EQ(graph::print(graph::parse(once), false), once);
  return once;
}

// An image that is given, convolutions with what stands between them, and what is given back: an image is copied once,
// as the cheapest of the places where it can be.
TEST(Layouts, WhatStandsBetweenConvolutionsFollowsThem) {
  EXPECT_EQ(laid_out(R"(graph f(%0 "x": f32[s0, 8, 16, 16], %1 "w": f32[8, 8, 3, 3], %2 "b": f32[8, 1, 1]) {
  %3 = convolution(%0, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[s0, 8, 16, 16]
  %4 = add(%3, %2, 1) : f32[s0, 8, 16, 16]
  %5 = relu(%4) : f32[s0, 8, 16, 16]
  %6 = convolution(%5, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[s0, 8, 16, 16]
  %7 = add(%6, %0, 1) : f32[s0, 8, 16, 16]
  %8 = mean(%7, [2, 3], false, None) : f32[s0, 8]
  return user %8
})"),
            R"(graph f(%0 "x": f32[s0, 8, 16, 16], %1 "w": f32[8, 8, 3, 3], %2 "b": f32[8, 1, 1]) {
  %3 = permute(%0, [0, 2, 3, 1]) : f32[s0, 16, 16, 8]{2048, 16, 1, 256}
  %4 = clone(%3) : f32[s0, 16, 16, 8]
  %5 = permute(%4, [0, 3, 1, 2]) : f32[s0, 8, 16, 16]{2048, 1, 128, 8}
  %6 = reprise::convolution_last(%5, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[s0, 16, 16, 8]
  %7 = unsqueeze(%2, 0) : f32[1, 8, 1, 1]
  %8 = permute(%7, [0, 2, 3, 1]) : f32[1, 1, 1, 8]{8, 1, 1, 1}
  %9 = add(%6, %8, 1) : f32[s0, 16, 16, 8]
  %10 = relu(%9) : f32[s0, 16, 16, 8]
  %11 = permute(%10, [0, 3, 1, 2]) : f32[s0, 8, 16, 16]{2048, 1, 128, 8}
  %12 = reprise::convolution_last(%11, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[s0, 16, 16, 8]
  %13 = permute(%12, [0, 3, 1, 2]) : f32[s0, 8, 16, 16]{2048, 1, 128, 8}
  %14 = add(%13, %0, 1) : f32[s0, 8, 16, 16]
  %15 = mean(%14, [2, 3], false, None) : f32[s0, 8]
  return user %15
}
)");
}

constexpr const char* kPadded = R"(graph f(%0 "x": f32[2, 8, 16, 16], %1 "w": f32[8, 8, 3, 3]) {
  %2 = convolution(%0, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[2, 8, 16, 16]
  %3 = full([2, 8, 18, 18], 0.0, f32, 'cpu') : f32[2, 8, 18, 18]
  %4 = slice(%3, 2, 1, 17, 1) : f32[2, 8, 16, 18]{2592, 324, 18, 1}+18
  %5 = slice_scatter(%4, %2, 3, 1, 17, 1) : f32[2, 8, 16, 18]
  %6 = slice_scatter(%3, %5, 2, 1, 17, 1) : f32[2, 8, 18, 18]
  %7 = slice(%6, 2, 0, 17, 1) : f32[2, 8, 17, 18]{2592, 324, 18, 1}
  %8 = slice(%6, 2, 1, 18, 1) : f32[2, 8, 17, 18]{2592, 324, 18, 1}+18
  %9 = maximum(%7, %8) : f32[2, 8, 17, 18]
  %10 = convolution(%9, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[2, 8, 17, 18]
  return user %10
})";

TEST(Layouts, PaddingAndWindowsAreMadeInTheOrderOfTheImage) {
  EXPECT_EQ(laid_out(kPadded),
            R"(graph f(%0 "x": f32[2, 8, 16, 16], %1 "w": f32[8, 8, 3, 3]) {
  %2 = permute(%0, [0, 2, 3, 1]) : f32[2, 16, 16, 8]{2048, 16, 1, 256}
  %3 = clone(%2) : f32[2, 16, 16, 8]
  %4 = permute(%3, [0, 3, 1, 2]) : f32[2, 8, 16, 16]{2048, 1, 128, 8}
  %5 = reprise::convolution_last(%4, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[2, 16, 16, 8]
  %6 = full([2, 18, 18, 8], 0.0, f32, 'cpu') : f32[2, 18, 18, 8]
  %7 = slice(%6, 1, 1, 17, 1) : f32[2, 16, 18, 8]{2592, 144, 8, 1}+144
  %8 = slice_scatter(%7, %5, 2, 1, 17, 1) : f32[2, 16, 18, 8]
  %9 = slice_scatter(%6, %8, 1, 1, 17, 1) : f32[2, 18, 18, 8]
  %10 = slice(%9, 1, 0, 17, 1) : f32[2, 17, 18, 8]{2592, 144, 8, 1}
  %11 = slice(%9, 1, 1, 18, 1) : f32[2, 17, 18, 8]{2592, 144, 8, 1}+144
  %12 = maximum(%10, %11) : f32[2, 17, 18, 8]
  %13 = permute(%12, [0, 3, 1, 2]) : f32[2, 8, 17, 18]{2448, 1, 144, 8}
  %14 = reprise::convolution_last(%13, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[2, 17, 18, 8]
  %15 = permute(%14, [0, 3, 1, 2]) : f32[2, 8, 17, 18]{2448, 1, 144, 8}
  %16 = clone(%15) : f32[2, 8, 17, 18]
  return user %16
}
)");
}

TEST(Layouts, NothingIsDoneForNothing) {
  EXPECT_EQ(laid_out(kPadded, wants_first), graph::print(parsed(kPadded), false));
  // What the convolution gains is less than what copies take.
  EXPECT_EQ(laid_out(kPadded,
                     [](const graph::Graph&, const graph::Node&, bool) {
                       return LayoutCost{100, 0};
                     }),
            graph::print(parsed(kPadded), false));
  // A result that is seen with its strides stays as it is: its convolution does, too.
  constexpr const char* kSeen = R"(graph f(%0 "x": f32[s0, 8, 16, 16], %1 "w": f32[8, 8, 3, 3]) {
  %2 = convolution(%0, %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : f32[s0, 8, 16, 16]
  %3 = permute(%2, [0, 2, 3, 1]) : f32[s0, 16, 16, 8]{2048, 16, 1, 256}
  return user_view %3
})";
  EXPECT_EQ(laid_out(kSeen), graph::print(parsed(kSeen), false));
}

std::string chain(std::int64_t nodes) {
  std::string text = "graph f(%0 \"x\": f32[s0, 8, 16, 16], %1 \"w\": f32[8, 8, 3, 3]) {\n";
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::string n = std::to_string(i + 2), before = i ? std::to_string(i + 1) : "0";
    text += "  %" + n + " = " +
            (i % 3 ? "exp(%" + before + ")"
                   : "convolution(%" + before + ", %1, None, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)") +
            " : f32[s0, 8, 16, 16]\n";
  }
  return text + "  return user %" + std::to_string(nodes + 1) + "\n}";
}

TEST(Layouts, TimeIsInProportion) {
  auto took = [](std::int64_t nodes, LayoutCosts cost) {
    const graph::Graph g = parsed(chain(nodes));
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      graph::Graph copy = g;
      PassRecord record;
      const std::clock_t start = std::clock();  // of this process alone
      layouts(copy, record, cost);
      best = std::min(best, static_cast<double>(std::clock() - start));
    }
    return best;
  };
  // Convolutions that want both, in turns: flow goes between neighbours.
  auto in_turns = [](const graph::Graph& g, const graph::Node& n, bool) {
    return (&n - g.nodes.data()) % 2 ? LayoutCost{1 << 14, 0} : LayoutCost{0, 1 << 14};
  };
  for (auto cost : {+wants_last, +in_turns}) {
    const double few = std::max(took(100, cost), 100.0);
    for (std::int64_t n : {1000, 10000}) EXPECT_LT(took(n, cost), 8 * few * static_cast<double>(n) / 100) << n;
  }
}

TEST(MinCut, TheLeastOfAllLabellings) {
  std::mt19937 random(7);
  auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<std::size_t>(1 + below(8));
    MinCut cut(n);
    struct Pair {
      std::size_t a, b;
      std::int64_t cost[2][2];
    };
    std::vector<std::array<std::int64_t, 2>> alone(n);
    std::vector<Pair> pairs;
    for (std::size_t v = 0; v < n; ++v) alone[v] = {below(10), below(10)}, cut.add(v, alone[v][0], alone[v][1]);
    for (std::int64_t i = below(16); i-- > 0;) {
      Pair p{static_cast<std::size_t>(below(static_cast<std::int64_t>(n))),
             static_cast<std::size_t>(below(static_cast<std::int64_t>(n))),
             {{below(6), below(6)}, {below(6), below(6)}}};
      const bool told = p.a != p.b && cut.add(p.a, p.b, p.cost);
      if (p.a != p.b) {
        EXPECT_EQ(told, p.cost[0][0] + p.cost[1][1] <= p.cost[0][1] + p.cost[1][0]);
      }
      if (told) pairs.push_back(p);
    }
    auto cost_of = [&](std::uint64_t labels) {
      std::int64_t sum = 0;
      for (std::size_t v = 0; v < n; ++v) sum += alone[v][labels >> v & 1];
      for (const Pair& p : pairs) sum += p.cost[labels >> p.a & 1][labels >> p.b & 1];
      return sum;
    };
    std::int64_t least = INT64_MAX;
    int ones = 64;
    for (std::uint64_t l = 0; l < std::uint64_t{1} << n; ++l)
      if (cost_of(l) < least || (cost_of(l) == least && std::popcount(l) < ones))
        least = cost_of(l), ones = std::popcount(l);
    const std::optional<std::vector<bool>> found = cut.solve();
    ASSERT_TRUE(found);
    std::uint64_t labels = 0;
    for (std::size_t v = 0; v < n; ++v) labels |= std::uint64_t{(*found)[v]} << v;
    EXPECT_EQ(cost_of(labels), least);
    EXPECT_EQ(std::popcount(labels), ones);
  }
}

}  // namespace
}  // namespace reprise::passes
