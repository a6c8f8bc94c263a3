// What becomes of a graph for devices of blocks of threads: on the text of graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "guards/guard_set.h"
#include "guards/shape_env.h"
#include "kernels/gpu/rules.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"
#include "tests/support/error_of.h"

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
  EXPECT_EQ(std::count_if(l.launches.begin(), l.launches.end(), is_native), 0)
      << "seed and offset are words of the recording, no steps of the host";
}

// A bias is added by the product's own kernels; nothing goes over the result again. On the host it becomes part of what
// follows.
TEST(GpuLowering, ABiasIsPartOfTheProduct) {
  auto text = [](const std::string& device) {
    return "graph f(%0 \"x\": f32[s0, 64]" + device + ", %1 \"w\": f32[32, 64]" + device + ", %2 \"b\": f32[32]" +
           device + R"() {
      %3 = linear(%0, %1, %2) : f32[s0, 32])" +
           device + R"(
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
  EXPECT_EQ(lower(host, Mode::Full).launches.size(), 1u) << "on the host it is a fragment of the product";
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
      return gpu && gpu->code.kind() == kind;
    });
  };
  for (std::string_view kind :
       {gpu::CheckWeights::kKind, gpu::Cumsum::kKind, gpu::Draw::kKind, gpu::Arrivals::kKind, gpu::Order::kKind})
    EXPECT_EQ(launches_of(kind), 1) << kind << "\n" << print(l);
  ASSERT_TRUE(l.fault_record);
  for (const Launch& x : l.launches) EXPECT_TRUE(!x.check || x.check->of == ValueCheck::Of::Weights);
}

// A launch is read by the names of its kernel's arguments; how many blocks work is an expression as sizes are.
TEST(GpuLowering, LaunchesSayTheirArgumentsByName) {
  graph::Graph g = graph::parse(R"(graph f(%0 "x": f32[s0, 64], %1 "w": f32[32, 64]) where s0 = 3 {
    %2 = linear(%0, %1, None) : f32[s0, 32]
    %3 = argmax(%2, -1, false) : i64[s0]
    return user %3
  })");
  passes::run_pipeline(g);
  const std::string text = print(lower(g, Mode::Full, LaunchStyle::Gpu));
  for (const char* part :
       {"gpu linear(a=in0, b=in1, -> c=t", ") as product_dot(dtype=f32, m=1, bias=0) of (m=s0, n=32, k=64, a_offset=0,",
        ") as product(dtype=f32, a_lines=deep, b_lines=deep, row_dims=1, bias=0, tile_rows=64, tile_columns=64, "
        "tf32=0) of (m=s0,",
        "rows[0].size=s0",
        "as arg_reduce(dtype=f32, least=0, row_dims=1, dims=1, step=whole) of (rows=s0, n=32, chunks=1"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// Blocks as the kernels were given them before there were expressions of them: by the sizes of a call.
TEST(GpuLowering, BlocksFollowSizes) {
  for (std::int64_t m : {0, 1, 5, 8, 9, 200}) {
    graph::Graph g = graph::parse(
        "graph f(%0 \"x\": f32[s0, 64], %1 \"w\": f32[s1, 64]) where s0 = " + std::to_string(m) + R"(, s1 = 130 {
      %2 = linear(%0, %1, None) : f32[s0, s1]
      return user %2
    })");
    passes::run_pipeline(g);
    const Lowered l = lower(g, Mode::Full, LaunchStyle::Gpu);
    int working = 0;
    for (const Launch& x : l.launches) {
      const auto& launched = std::get<GpuLaunch>(x.what);
      const std::int64_t blocks = launched.blocks.hint();
      working += blocks > 0;
      if (const auto* dot = launched.code.as<gpu::ProductDot>(); dot && blocks > 0) {
        EXPECT_EQ(blocks, 130) << "a block makes a column";
        EXPECT_EQ(dot->m, m == 1 ? 1 : 0);
      } else if (launched.code.as<gpu::ProductTiles>() && blocks > 0) {
        EXPECT_GT(m, 8);
        EXPECT_EQ(blocks, (m + 63) / 64 * 3);
      }
    }
    EXPECT_EQ(working, m == 0 ? 0 : 1) << print(l);
  }
}

// Tiles that tensor cores make are as large as leaves no multiprocessor without one.
TEST(GpuLowering, TilesOfTensorCoresFollowSizes) {
  struct Case {
    std::int64_t m, n;
    int rows, columns;
    std::int64_t blocks;
  };
  for (const Case& c : {Case{4096, 4096, 128, 256, 512},
                        {2048, 2048, 128, 256, 128},
                        {1024, 1024, 128, 64, 128},
                        {128, 4096, 64, 64, 128},
                        {20, 32000, 64, 64, 500},
                        {512, 512, 64, 64, 64},
                        {9, 9, 64, 64, 1}}) {
    graph::Graph g =
        graph::parse("graph f(%0 \"x\": bf16[s0, 64], %1 \"w\": bf16[s1, 64]) where s0 = " + std::to_string(c.m) +
                     ", s1 = " + std::to_string(c.n) + R"( {
      %2 = linear(%0, %1, None) : bf16[s0, s1]
      return user %2
    })");
    passes::run_pipeline(g);
    const Lowered l = lower(g, Mode::Full, LaunchStyle::Gpu);
    std::string tiles;
    for (const Launch& x : l.launches) {
      const auto& launched = std::get<GpuLaunch>(x.what);
      if (launched.blocks.hint() == 0) continue;
      const auto* made = launched.code.as<gpu::ProductTiles>();
      ASSERT_TRUE(made) << print(l);
      tiles += std::to_string(made->tile_rows) + "x" + std::to_string(made->tile_columns) + ": " +
               std::to_string(launched.blocks.hint());
    }
    EXPECT_EQ(tiles, std::to_string(c.rows) + "x" + std::to_string(c.columns) + ": " + std::to_string(c.blocks))
        << c.m << " x " << c.n;
  }
}

TEST(LaunchOf, WantsEveryArgument) {
  auto copy = [](bool all) {
    LaunchOf l(gpu::CopyElements{DType::Float32, 1});
    l->n = 5, l->sizes = {5};
    l->x = {.buffer = 0, .offset = 0, .strides = {1}};
    if (all) l->y = {.buffer = 1, .offset = 0, .strides = {1}};
    return l.in(1);
  };
  EXPECT_EQ(copy(true).ints.size(), 6u);
  EXPECT_EQ(copy(true).written, (std::vector<bool>{false, true}));
  EXPECT_NE(test::error_of([&] { copy(false); }).message().find("copy was not told its buffer y.buffer"),
            std::string::npos);
  auto longer = [] {
    LaunchOf l(gpu::CopyElements{DType::Float32, 1});
    l->n = 5, l->sizes = {5, 1};
    l->x = {.buffer = 0, .offset = 0, .strides = {1, 0}}, l->y = {.buffer = 1, .offset = 0, .strides = {1, 0}};
    return l.in(1);
  };
  EXPECT_NE(test::error_of(longer).message().find("copy has 8 arguments, and was told 11"), std::string::npos)
      << test::error_of(longer).message();
}

// What code is has one text: equal parameters of another kind, or in other places, are other code.
TEST(KernelCode, IsItsText) {
  const KernelCode dot = gpu::ProductDot{DType::BFloat16, 4, true};
  EXPECT_EQ(dot.text(), "product_dot(dtype=bf16, m=4, bias=1)");
  EXPECT_EQ(dot, KernelCode(gpu::ProductDot{DType::BFloat16, 4, true}));
  EXPECT_FALSE(dot == KernelCode(gpu::ProductSum{DType::BFloat16, 4, true}));
  ASSERT_TRUE(dot.as<gpu::ProductDot>());
  EXPECT_EQ(dot.as<gpu::ProductDot>()->m, 4);
  EXPECT_FALSE(dot.as<gpu::ProductSum>());
  EXPECT_EQ(KernelCode(gpu::IndexOffsets{{DType::Int64, DType::Int32}, 2}).text(),
            "index_offsets(indices=[i64, i32], dims=2)");
  EXPECT_EQ(KernelCode(gpu::IndexLast{}).text(), "index_last()");
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
