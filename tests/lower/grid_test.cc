// What becomes of a graph for devices of blocks of threads: on the text of graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "kernels/grid_kernels.h"
#include "kernels/launch.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

Lowered for_grids(std::string_view text) {
  graph::Graph g = graph::parse(text);
  passes::run_pipeline(g);
  return lower(g, "full", LaunchStyle::Grids);
}

bool is_native(const Launch& l) { return std::holds_alternative<NativeLaunch>(l.what); }

// The host has one step, before everything: one graph follows.
TEST(Grids, SamplingEndsInOneGraph) {
  Lowered l = for_grids(R"(graph f(%0 "x": f32[s0, s1]) {
    %1 = softmax(%0, -1, None) : f32[s0, s1]
    %2 = multinomial(%1, 1, false, 7, 0) : i64[s0, 1]
    %3 = rand([s0, 1], float32, 'cpu', 7, 9) : f32[s0, 1]
    return user %2, user %3
  })");
  auto first_grid = std::find_if_not(l.launches.begin(), l.launches.end(), is_native);
  EXPECT_EQ(first_grid - l.launches.begin(), 2) << print(l);
  EXPECT_EQ(std::find_if(first_grid, l.launches.end(), is_native), l.launches.end()) << print(l);
}

// Which way several samples are drawn depends on how many there are: both are there, and the check of weights.
TEST(Grids, SamplesWithoutReplacement) {
  Lowered l = for_grids(R"(graph f(%0 "x": f32[s0], %1 "k": i64[s1]) {
    %2 = multinomial(%0, s1, false, 7, 0) : i64[s1]
    return user %2
  })");
  auto launches_of = [&](std::string_view kind) {
    return std::count_if(l.launches.begin(), l.launches.end(), [&](const Launch& x) {
      const auto* grid = std::get_if<GridLaunch>(&x.what);
      return grid && grid->code.kind == kind;
    });
  };
  for (const char* kind : {kGridCheckWeights, kGridCumsum, kGridDraw, kGridArrivals, kGridOrder}) EXPECT_EQ(launches_of(kind), 1) << kind << "\n" << print(l);
  ASSERT_TRUE(l.fault_record);
  for (const Launch& x : l.launches)
    EXPECT_TRUE(!x.check || x.check->of == ValueCheck::Of::Weights);
}

}  // namespace
}  // namespace reprise::kernels
