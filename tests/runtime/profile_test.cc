// What launches take, and what they move and compute (profile(true), REPRISE_PROFILE).
#include <gtest/gtest.h>

#include <string>

#include "base/knobs.h"
#include "base/watch.h"
#include "reprise/reprise.h"

namespace reprise::test {
namespace {

TEST(Profile, CountsCallsBytesAndOperations) {
  auto f = compile([](Tensor x, Tensor w) { return linear(x * 2.0 + 1.0, w); }, {.name = "profiled"});
  const Tensor w = ones({6, 8});
  f(ones({3, 8}), w);
  EXPECT_TRUE(f.stats().launches.empty()) << "nobody has asked";
  f.profile();
  for (int i = 0; i < 4; ++i) f(ones({3, 8}), w);
  f(ones({5, 8}), w);
  f.profile(false);
  f(ones({3, 8}), w);
  const std::vector<Stats::Launch> took = f.stats().launches;
  ASSERT_EQ(took.size(), 2u);
  for (const Stats::Launch& l : took) {
    EXPECT_EQ(l.specialization, "profiled/0");
    EXPECT_EQ(l.calls, 5);
    EXPECT_GT(l.ns, 0);
    EXPECT_NE(l.line.find("profile_test.cc:"), std::string::npos) << l.line;
    const std::int64_t rows = 4 * 3 + 5;
    if (l.operators.find("linear") != std::string::npos) {
      EXPECT_EQ(l.flops, 2 * rows * 8 * 6);
      EXPECT_EQ(l.bytes, 4 * (rows * 8 + 5 * 6 * 8 + rows * 6));
    } else {
      EXPECT_EQ(l.operators, "mul add");
      EXPECT_EQ(l.flops, 2 * rows * 8);
      EXPECT_EQ(l.bytes, 2 * 4 * rows * 8);
    }
  }
  EXPECT_GE(took[0].ns, took[1].ns);
}

TEST(Profile, CountsWhatIsTouched) {
  auto f = compile(
      [](Tensor cache, Tensor row, Tensor v) {
        cache.slice(0, 2, 3).copy_(row * 2.0);                     // a row of many
        return (v.unsqueeze(0).expand({100, -1}) + 1.0).sum({0});  // a row that is read a hundred times
      },
      {.name = "touched"});
  f.profile();
  f(zeros({1000, 16}), ones({1, 16}), ones({16}));
  std::int64_t bytes = 0;
  for (const Stats::Launch& l : f.stats().launches) bytes += l.bytes;
  EXPECT_EQ(bytes, 4 * (16 + 16) + 4 * (16 + 16));
}

TEST(Profile, IsShownAndGoesOnWithNewSpecializations) {
  auto f = compile([](Tensor x, int k) { return softmax(x * k, -1); }, {.name = "shown"});
  f.profile();
  f(ones({4, 5}), 1);
  f(ones({4, 5}), 2);
  const std::string told = f.explain(Detail::Times);
  EXPECT_NE(told.find("shown/1"), std::string::npos);
  EXPECT_NE(told.find("Gflop/s"), std::string::npos) << told;
  EXPECT_NE(told.find("profile_test.cc:"), std::string::npos) << told;
  EXPECT_EQ(told.find("graph \"shown"), std::string::npos) << told;
  EXPECT_EQ(f.stats().launches.size(), 2u);
  const std::string summary = f.explain(Detail::Summary);
  EXPECT_NE(summary.find("  profiled: "), std::string::npos) << summary;
  EXPECT_EQ(summary.find("Gflop/s"), std::string::npos);
  EXPECT_NE(f.explain().find("graph \"shown"), std::string::npos);
  f.reset();
  EXPECT_TRUE(f.stats().launches.empty());
}

TEST(Profile, OfAllFunctionsByASetting) {
  const Scoped all(knobs().profile, std::int64_t{1});
  {
    auto f = compile([](Tensor x) { return x.exp(); }, {.name = "set"});
    f(ones({3}));
    ASSERT_EQ(f.stats().launches.size(), 1u);
    EXPECT_EQ(f.stats().launches[0].calls, 1);
    EXPECT_TRUE(watchers::launches());
  }
}

TEST(Profile, NobodyWatchesAfterwards) {
  {
    auto f = compile([](Tensor x) { return x - 3; });
    f.profile();
    f.profile();
    f(ones({2}));
    f(ones({2, 2}));
    f.profile(false);
    f.profile();
    EXPECT_TRUE(watchers::launches());
  }
  auto g = compile([](Tensor x) { return x - 3; });
  g(ones({2}));
  EXPECT_TRUE(g.stats().launches.empty());
}

}  // namespace
}  // namespace reprise::test
