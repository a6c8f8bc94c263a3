#include "kernels/plan/kept_order.h"

#include <gtest/gtest.h>

#include <random>

namespace reprise::kernels {
namespace {

// Nodes and edges come in any order; what the order says of paths is what a search of everything says.
TEST(KeptOrder, AnswersAsASearchOfEverything) {
  std::mt19937 rng(7);
  for (int round = 0; round < 60; ++round) {
    KeptOrder order;
    std::vector<std::vector<std::uint32_t>> after;
    auto successors = [&](std::uint32_t u, auto&& f) {
      for (std::uint32_t w : after[u]) f(w);
    };
    auto leads_to = [&](std::uint32_t from, std::uint32_t to) {
      std::vector<bool> seen(after.size());
      std::vector<std::uint32_t> stack{from};
      while (!stack.empty()) {
        std::uint32_t u = stack.back();
        stack.pop_back();
        if (u == to) return true;
        if (seen[u]) continue;
        seen[u] = true;
        stack.insert(stack.end(), after[u].begin(), after[u].end());
      }
      return false;
    };
    auto any = [&] { return static_cast<std::uint32_t>(rng() % after.size()); };
    for (int step = 0; step < 200; ++step) {
      if (after.empty() || rng() % 4 == 0) {
        switch (after.empty() ? 0 : rng() % 3) {
          case 0: order.push_back(); break;
          case 1: order.push_front(); break;
          default: order.insert_before(any());
        }
        after.emplace_back();
        continue;
      }
      std::uint32_t a = any(), b = any();
      const std::uint32_t from[] = {b};
      const bool reached =
          a == b || (order.before(b, a) && order.reaches(
                                               from, a, [&](std::uint32_t w) { return w == a; }, successors));
      ASSERT_EQ(reached, leads_to(b, a));
      ASSERT_EQ(a != b && order.put_before(a, b, successors), !reached);
      if (!reached) after[a].push_back(b);
      for (std::uint32_t u = 0; u < after.size(); ++u)
        for (std::uint32_t w : after[u]) ASSERT_TRUE(order.before(u, w));
    }
  }
}

// Always the same place: the numbers between two nodes run out, and are given anew.
TEST(KeptOrder, HasRoomBetweenTwoNodesForAnyNumber) {
  KeptOrder order;
  std::uint32_t first = order.push_back(), last = order.push_back();
  std::uint32_t before = first;
  for (int i = 0; i < 500; ++i) {
    std::uint32_t made = order.insert_before(last);
    ASSERT_TRUE(order.before(before, made) && order.before(made, last));
    before = made;
  }
}

}  // namespace
}  // namespace reprise::kernels
