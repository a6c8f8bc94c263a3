// What becomes of a graph for devices of blocks of threads: on the text of graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "guards/shape_env.h"
#include "kernels/gpu/kernels.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

Lowered for_gpu(std::string_view text) {
  graph::Graph g = graph::parse(text);
  passes::run_pipeline(g);
  return lower(g, Mode::Full, LaunchStyle::Gpu);
}

bool is_native(const Launch& l) { return std::holds_alternative<NativeLaunch>(l.what); }

// The host has one step, before everything: one graph follows.
TEST(GpuLowering, SamplingEndsInOneGraph) {
  Lowered l = for_gpu(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = softmax(%0, -1, None) : f32[s0, s1]
    %2 = multinomial(%1, 1, false, 7, 0) : i64[s0, 1]
    %3 = rand([s0, 1], float32, 'cpu', 7, 9) : f32[s0, 1]
    return user %2, user %3
  })");
  auto first_gpu = std::find_if_not(l.launches.begin(), l.launches.end(), is_native);
  EXPECT_EQ(first_gpu - l.launches.begin(), 2) << print(l);
  EXPECT_EQ(std::find_if(first_gpu, l.launches.end(), is_native), l.launches.end()) << print(l);
}

// A bias is added by the product's own kernels; nothing goes over the result again. On the host it becomes part of what follows.
TEST(GpuLowering, ABiasIsPartOfTheProduct) {
  auto text = [](const std::string& device) {
    return "graph f(%0 \"x\": f32[s0, 64]" + device + ", %1 \"w\": f32[32, 64]" + device + ", %2 \"b\": f32[32]" + device + R"() {
      %3 = linear(%0, %1, %2) : f32[s0, 32])" + device + R"(
      return user %3
    })";
  };
  Lowered l = for_gpu(text("@cuda:0"));
  ASSERT_FALSE(l.launches.empty());
  int described = 0;
  for (const Launch& x : l.launches) {
    const auto* gpu = std::get_if<GpuLaunch>(&x.what);
    ASSERT_TRUE(gpu) << print(l);
    described += gpu->product && gpu->product->has_bias;
  }
  EXPECT_EQ(described, 1) << "a library is told of the bias\n" << print(l);
  graph::Graph host = graph::parse(text(""));
  passes::run_pipeline(host);
  EXPECT_EQ(lower(host, Mode::Full).launches.size(), 2u);
}

// Which way several samples are drawn depends on how many there are: both are there, and the check of weights.
TEST(GpuLowering, SamplesWithoutReplacement) {
  Lowered l = for_gpu(R"(graph f(%0 "x": f32[s0], %1 "k": i64[s1]) {
    %2 = multinomial(%0, s1, false, 7, 0) : i64[s1]
    return user %2
  })");
  auto launches_of = [&](std::string_view kind) {
    return std::count_if(l.launches.begin(), l.launches.end(), [&](const Launch& x) {
      const auto* gpu = std::get_if<GpuLaunch>(&x.what);
      return gpu && gpu->code.kind == kind;
    });
  };
  for (const char* kind : {kGpuCheckWeights, kGpuCumsum, kGpuDraw, kGpuArrivals, kGpuOrder}) EXPECT_EQ(launches_of(kind), 1) << kind << "\n" << print(l);
  ASSERT_TRUE(l.fault_record);
  for (const Launch& x : l.launches)
    EXPECT_TRUE(!x.check || x.check->of == ValueCheck::Of::Weights);
}

std::string names(const Lowered& l) {
  std::string out;
  for (const Launch& x : l.launches) out += (out.empty() ? "" : " ") + x.name;
  return out;
}

// One block would do it all: chunks, what remains, and the sum of theirs.
TEST(GpuLowering, AFullReductionIsMadeOfChunks) {
  auto lowered = [](const char* sizes, const char* s0, std::vector<std::int64_t> admitted,
                    std::vector<std::int64_t> refused) {
    graph::Graph g = graph::parse(std::string("graph f(%0 \"x\": f32[") + sizes + "]) where s0 = " + s0 + R"( {
      %1 = sum(%0, None, false, None) : f32[]
      return user %1
    })");
    const std::string got = names(lower(g, Mode::Full, LaunchStyle::Gpu));
    EXPECT_LE(g.env->guards().size(), 1u) << sizes;
    const guards::GuardSet guards(*g.env);
    for (std::int64_t n : admitted) EXPECT_FALSE(guards.first_miss(&n)) << n << " of " << sizes;
    for (std::int64_t n : refused) EXPECT_TRUE(guards.first_miss(&n)) << n << " of " << sizes;
    return got;
  };
  constexpr std::int64_t kMany = std::int64_t{1} << 31;
  EXPECT_EQ(lowered("s0", "5000000", {0, 1, 100, 2000000000}, {kMany}), "sum_part sum_tail sum_rest");
  EXPECT_EQ(lowered("s0, 64", "100000", {0, 1, 30000000}, {kMany / 64}), "sum_part sum_tail sum_rest");
  EXPECT_EQ(lowered("1048576", "2", {}, {}), "sum_part sum_rest");
  // One kernel is not for a call of very many.
  EXPECT_EQ(lowered("s0", "5000", {0, 1, 100000}, {1000000}), "sum");
}

// Rows of a number that may change: there are as many chunks for each, so that the number is guarded.
TEST(GpuLowering, FewRowsInChunks) {
  graph::Graph g = graph::parse(R"(graph f(%0 "x": f32[s0, s1]) where s0 = 3, s1 = 5000000 {
    %1 = amax(%0, [1], false) : f32[s0]
    return user %1
  })");
  const Lowered l = lower(g, Mode::Full, LaunchStyle::Gpu);
  EXPECT_EQ(names(l), "amax_part amax_tail amax_rest");
  EXPECT_LE(g.env->guards().size(), 4u);
  EXPECT_TRUE(std::any_of(g.env->guards().begin(), g.env->guards().end(), [](const guards::Guard& guard) {
    return std::string_view(guard.why) == "a reduction of few in parts";
  }));
}

}  // namespace
}  // namespace reprise::kernels
