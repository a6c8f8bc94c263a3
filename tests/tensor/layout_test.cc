#include "tensor/layout.h"

#include <gtest/gtest.h>

#include "guards/shape_env.h"
#include "tensor/memory_order.h"

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
  Int s0 = env.new_symbol({0, "arg 0 .size(0)"}, 5, 0), s1 = env.new_symbol({1, "arg 0 .size(1)"}, 7, 0, 1 << 20);
  Layout l{{s0, s1, 8}, contiguous_strides({s0, s1, 8}), 0};
  EXPECT_TRUE(identical(l.strides[0], s1 * 8));
  EXPECT_TRUE(known_contiguous(l));
  EXPECT_TRUE(is_contiguous(l));
  EXPECT_TRUE(env.guards().empty());
}

// Strides are written down before the guards that make their sizes equal to others, or numbers.
TEST(Layout, SymbolicContiguityIsKnownAfterSizesBecameEqualOrOne) {
  ShapeEnv env;
  auto size = [&](std::uint32_t word, std::int64_t hint) {
    return env.new_symbol({word, "arg 0 .size(" + std::to_string(word) + ")"}, hint, 0);
  };
  Int s0 = size(0, 5), s1 = size(1, 7), s2 = size(2, 5), s3 = size(3, 7), s4 = size(4, 1);
  Layout first{{s0, s1, 2}, contiguous_strides({s0, s1, 2}), 0},
      second{{s2, s3, 2}, contiguous_strides({s2, s3, 2}), 0};
  Layout mixed{{s0, s3, 2}, contiguous_strides({s2, s1, 2}), 0}, with_one{{s4, s0, 2}, {1, 2, 1}, 0},
      turned{{s2, s3}, {1, s2}, 0};
  EXPECT_FALSE(known_contiguous(mixed));
  EXPECT_FALSE(known_contiguous(with_one));
  EXPECT_TRUE(static_cast<bool>(s0 == s2) && static_cast<bool>(s3 == s1) && static_cast<bool>(s4 == 1));
  const std::size_t guards = env.guards().size();
  EXPECT_TRUE(known_contiguous(first));
  EXPECT_TRUE(known_contiguous(second));
  EXPECT_TRUE(known_contiguous(mixed));
  EXPECT_TRUE(known_contiguous(with_one));
  EXPECT_FALSE(known_contiguous(turned));
  EXPECT_EQ(env.guards().size(), guards);
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

TEST(MemoryOrder, DimensionsOfSizeOneStay) {
  EXPECT_EQ(memory_order({2, 3}, {3, 1}), (std::vector<int>{0, 1}));
  EXPECT_EQ(memory_order({3, 2}, {1, 3}), (std::vector<int>{1, 0}));
  EXPECT_EQ(memory_order({3, 1, 4}, {1, 7, 3}), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(memory_order({4, 1, 2, 3}, {1, 0, 12, 4}), (std::vector<int>{2, 1, 3, 0}));
  const Permutation p({2, 1, 3, 0});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(p.back[static_cast<std::size_t>(p.to[i].value())].value(), static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace reprise
