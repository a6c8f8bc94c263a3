// Which kernels of a device count in 32 bits, and what is guarded for that.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "guards/shape_env.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

struct Lowering {
  explicit Lowering(const std::string& text, LaunchStyle style = LaunchStyle::Gpu) : graph(graph::parse(text)) {
    const std::size_t before = graph.env->guards().size();
    lowered = lower(graph, Mode::Full, style);
    taken = graph.env->guards().size() - before;
    guards = guards::GuardSet(*graph.env);
  }
  std::vector<bool> narrow() const {
    std::vector<bool> out;
    for (const Launch& l : lowered.launches)
      if (auto* loop = std::get_if<LoopLaunch>(&l.what)) out.push_back(loop->kernel.narrow);
    return out;
  }
  bool admits(std::vector<std::int64_t> sizes) const { return !guards.first_miss(sizes.data()); }

  graph::Graph graph;
  Lowered lowered;
  guards::GuardSet guards;
  std::size_t taken = 0;  // guards that lowering asked for
};

constexpr std::int64_t kMany = 1 << 16;  // squared: more than 32 bits

std::string where(std::int64_t s0, std::int64_t s1) {
  return " where s0 = " + std::to_string(s0) + ", s1 = " + std::to_string(s1) + " {\n";
}

std::string add(std::int64_t s0, std::int64_t s1) {
  return R"(graph f(%0 "x": f32[s0, s1], %1 "y": f32[s1]))" + where(s0, s1) + R"(
    %2 = add(%0, %1, 1) : f32[s0, s1]
    return user %2
  })";
}

TEST(IndexWidth, OneGuardForSizesThatFit) {
  Lowering l(add(8, 8));
  EXPECT_EQ(l.narrow(), std::vector{true});
  EXPECT_EQ(l.taken, 1u);  // the number of points says it for every access
  EXPECT_TRUE(l.admits({8, 8}));
  EXPECT_TRUE(l.admits({0, kMany * kMany}));
  EXPECT_TRUE(l.admits({kMany, 30000}));
  EXPECT_FALSE(l.admits({kMany, kMany}));
  const std::vector<std::int64_t> many{kMany, kMany};
  EXPECT_NE(l.guards.explain(*l.guards.first_miss(many.data()), many.data()).find("32 bits"), std::string::npos);
}

TEST(IndexWidth, NothingIsGuardedForSizesThatDoNot) {
  Lowering l(add(kMany, kMany));
  EXPECT_EQ(l.narrow(), std::vector{false});
  EXPECT_EQ(l.taken, 0u);
  EXPECT_TRUE(l.admits({1, 1}));
}

TEST(IndexWidth, HostsAreNotAsked) {
  Lowering l(add(8, 8), LaunchStyle::Calls);
  EXPECT_EQ(l.narrow(), std::vector{false});
  EXPECT_EQ(l.taken, 0u);
}

TEST(IndexWidth, KnownSizesNeedNoGuard) {
  Lowering l(R"(graph f(%0 "x": f32[64, 128]) {
    %1 = softmax(%0, -1, None) : f32[64, 128]
    return user %1
  })");
  EXPECT_EQ(l.taken, 0u);
  for (bool narrow : l.narrow()) EXPECT_TRUE(narrow);
}

// Few elements of a large table are far apart.
TEST(IndexWidth, StridesAndTablesCount) {
  Lowering strided(R"(graph f(%0 "x": f32[s0, 4]{s1, 1}))" + where(8, 8) + R"(
    %1 = neg(%0) : f32[s0, 4]
    return user %1
  })");
  EXPECT_EQ(strided.narrow(), std::vector{true});
  EXPECT_TRUE(strided.admits({2, kMany * kMany / 4}));
  EXPECT_FALSE(strided.admits({2, kMany * kMany}));

  auto gather = [](std::int64_t rows) {
    return R"(graph f(%0 "table": f32[s0, 64], %1 "i": i64[s1]))" + where(rows, 3) + R"(
    %2 = embedding(%0, %1) : f32[s1, 64]
    return user %2
  })";
  };
  Lowering small(gather(1000)), large(gather(kMany * kMany));
  EXPECT_EQ(small.narrow(), std::vector{true});
  EXPECT_TRUE(small.admits({kMany, 3}));
  EXPECT_FALSE(small.admits({kMany * kMany, 3}));
  EXPECT_EQ(large.narrow(), std::vector{false});
  EXPECT_TRUE(large.admits({5, 3}));
}

// A sum over nothing still has all its kept points.
TEST(IndexWidth, KeptPointsCountWhenNothingIsReduced) {
  Lowering l(R"(graph f(%0 "x": f32[s0, s1]))" + where(8, 8) + R"(
    %1 = sum(%0, [1], false, None) : f32[s0]
    return user %1
  })");
  EXPECT_EQ(l.narrow(), std::vector{true});
  EXPECT_FALSE(l.admits({kMany * kMany, 0}));
  EXPECT_TRUE(l.admits({kMany, 0}));
}

}  // namespace
}  // namespace reprise::kernels
