#include "tensor/layout.h"

#include <gtest/gtest.h>

#include "guards/shape_env.h"

namespace reprise {
namespace {

using guards::ShapeEnv;

TEST(Layout, ContiguousStridesAndNumel) {
  Ints s = contiguous_strides({2, 0, 3});
  EXPECT_EQ(s[0].value(), 3);
  EXPECT_EQ(s[1].value(), 3);
  EXPECT_EQ(s[2].value(), 1);
  EXPECT_EQ(numel({2, 3, 4}).value(), 24);
  EXPECT_EQ(numel({}).value(), 1);
}

TEST(Layout, SymbolicContiguityIsKnownWithoutAGuard) {
  ShapeEnv env;
  Int s0 = env.new_symbol({0, "arg 0 .size(0)"}, 5, 0), s1 = env.new_symbol({1, "arg 0 .size(1)"}, 7, 0);
  Layout l{{s0, s1, 8}, contiguous_strides({s0, s1, 8}), 0};
  EXPECT_TRUE(identical(l.strides[0], s1 * 8));
  EXPECT_TRUE(known_contiguous(l));
  EXPECT_TRUE(is_contiguous(l));
  EXPECT_TRUE(env.guards().empty());
}

TEST(Layout, AskingASymbolicStrideGuards) {
  ShapeEnv env;
  Int s0 = env.new_symbol({0, "arg 0 .size(0)"}, 5, 0), t0 = env.new_symbol({1, "arg 0 .stride(0)"}, 8);
  Layout l{{s0, 8}, {t0, 1}, 0};
  EXPECT_FALSE(known_contiguous(l));
  EXPECT_TRUE(env.guards().empty());
  EXPECT_TRUE(is_contiguous(l));
  EXPECT_FALSE(env.guards().empty());
  Layout transposed{{s0, 8}, {1, s0}, 0};
  EXPECT_FALSE(known_contiguous(transposed));
  EXPECT_FALSE(is_contiguous(transposed));
}

}  // namespace
}  // namespace reprise
