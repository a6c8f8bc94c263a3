// Which launches become one around products of one row (kernels/plan/join_products.cc): on the text of graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/knobs.h"
#include "graph/graph.h"
#include "guards/shape_env.h"
#include "kernels/gpu/product_joined.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

Lowered for_gpu(const std::string& body, const std::string& rows = "1", const std::string& k = "64",
                Mode mode = Mode::Full) {
  const std::string row = "bf16[" + rows + ", " + k + "]", w = "bf16[32, " + k + "]";
  graph::Graph g =
      graph::parse("graph f(%0 \"x\": " + row + ", %1 \"norm\": bf16[" + k + "], %2 \"w\": " + w + ", %3 \"v\": " + w +
                   ", %4 \"r\": bf16[" + rows + ", 32], %5 \"u\": bf16[48, 32], %6 \"n\": bf16[32]) " +
                   (rows[0] == 's' ? "where " + rows + " = 1 " : "") + "{\n" + body + "\n}");
  passes::run_pipeline(g);
  return lower(g, mode, LaunchStyle::Gpu);
}
std::vector<const gpu::ProductJoined*> joined(const Lowered& l) {
  std::vector<const gpu::ProductJoined*> r;
  for (const Launch& launch : l.launches)
    if (const auto* gpu = std::get_if<GpuLaunch>(&launch.what))
      if (const auto* code = gpu->code.as<gpu::ProductJoined>()) r.push_back(code);
  return r;
}

const std::string kGate = R"(%7 = rms_norm(%0, [64], %1, 1e-06) : bf16[1, 64]
    %8 = linear(%7, %2, None) : bf16[1, 32]
    %9 = linear(%7, %3, None) : bf16[1, 32]
    %10 = silu(%8) : bf16[1, 32]
    %11 = mul(%10, %9) : bf16[1, 32])";

TEST(JoinedProducts, ANormAndAGate) {
  const Lowered l = for_gpu(kGate + "\nreturn user %11");
  ASSERT_EQ(l.launches.size(), 1u) << print(l);
  const auto all = joined(l);
  ASSERT_EQ(all.size(), 1u) << print(l);
  EXPECT_EQ(all[0]->depth, 64);
  EXPECT_EQ(all[0]->columns, 2) << "a point reads one of each";
  EXPECT_EQ(all[0]->row.size(), 1u);
  EXPECT_EQ(all[0]->parts.size(), 1u);
  EXPECT_TRUE(all[0]->early);
  EXPECT_TRUE(std::get<GpuLaunch>(l.launches[0].what).blocks.hint() == 8) << "32 points, a warp each";
  EXPECT_TRUE(joined(for_gpu(kGate + "\nreturn user %11", "1", "64", Mode::NoFuse)).empty())
      << "every operator by itself";
}

// A residual that is normalized for the next products: what adds it belongs to the one before, the norm to those
// behind.
TEST(JoinedProducts, AResidualBetweenTwo) {
  const Lowered l = for_gpu(R"(%7 = linear(%0, %2, None) : bf16[1, 32]
    %8 = add(%4, %7, 1) : bf16[1, 32]
    %9 = rms_norm(%8, [32], %6, 1e-06) : bf16[1, 32]
    %10 = linear(%9, %5, None) : bf16[1, 48]
    return user %8, user %10)");
  EXPECT_EQ(l.launches.size(), 2u) << print(l);
  const auto all = joined(l);
  ASSERT_EQ(all.size(), 2u) << print(l);
  EXPECT_TRUE(all[0]->row.empty());
  EXPECT_EQ(all[1]->row.size(), 1u);
}

TEST(JoinedProducts, MatricesOfOneRow) {
  const Lowered l = for_gpu(R"(%7 = linear(%0, %2, None) : bf16[1, 32]
    %8 = linear(%0, %3, %6) : bf16[1, 32]
    %9 = relu(%7) : bf16[1, 32]
    return user %9, user %8)");
  EXPECT_EQ(l.launches.size(), 1u) << print(l);
  ASSERT_EQ(joined(l).size(), 1u);
  EXPECT_EQ(joined(l)[0]->biased.size(), 2u);
  EXPECT_EQ(joined(l)[0]->parts.size(), 2u) << "the bias is added in the second";
}

TEST(JoinedProducts, NotWhereSeveralRowsMayCome) {
  EXPECT_TRUE(
      joined(for_gpu("%7 = linear(%0, %2, None) : bf16[2, 32]\n%8 = add(%4, %7, 1) : bf16[2, 32]\nreturn user %8", "2"))
          .empty());
  EXPECT_TRUE(
      joined(
          for_gpu("%7 = linear(%0, %2, None) : bf16[s0, 32]\n%8 = add(%4, %7, 1) : bf16[s0, 32]\nreturn user %8", "s0"))
          .empty());
}

TEST(JoinedProducts, NotWhereLinesAreNoMultipleOf16Bytes) {
  EXPECT_TRUE(
      joined(for_gpu("%7 = linear(%0, %2, None) : bf16[1, 32]\n%8 = add(%4, %7, 1) : bf16[1, 32]\nreturn user %8", "1",
                     "60"))
          .empty());
}

TEST(JoinedProducts, NotAlone) {
  EXPECT_TRUE(joined(for_gpu("%7 = linear(%0, %2, None) : bf16[1, 32]\nreturn user %7")).empty());
}

// The product is a result, too: what is computed of it reads it from memory.
TEST(JoinedProducts, NotWhatOthersRead) {
  const Lowered l =
      for_gpu("%7 = linear(%0, %2, None) : bf16[1, 32]\n%8 = add(%4, %7, 1) : bf16[1, 32]\nreturn user %8, user %7");
  EXPECT_TRUE(joined(l).empty()) << print(l);
}

TEST(JoinedProducts, NotWhereTheLibraryIsToServe) {
  const Scoped<std::string> library(knobs().cuda_products, "library");
  EXPECT_TRUE(joined(for_gpu(kGate + "\nreturn user %11")).empty());
}

}  // namespace
}  // namespace reprise::kernels
