// What the proofs' own mathematics says of quotients, against numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "validate/prover.h"

namespace reprise::validate {
namespace {

constexpr int kReach = 6;

TEST(Terms, BoundsOfQuotientsAreThoseOfNumbers) {
  for (int a = -kReach; a <= kReach; ++a)
    for (int b = a; b <= kReach; ++b)
      for (int c = 0; c <= kReach; ++c)
        for (int d = std::max(c, 1); d <= kReach; ++d) {
          Terms t;
          t.bound(0, a, b), t.bound(1, c, d);
          const Poly q = t.div(t.word(0), t.word(1));
          const Bounds known = t.bounds(q);
          Wide lo = 0, hi = 0;
          bool any = false;
          for (int x = a; x <= b; ++x)
            for (int y = c; y <= d; ++y) {
              const Wide z = y == 0 ? 0 : x / y;
              lo = any ? std::min(lo, z) : z, hi = any ? std::max(hi, z) : z, any = true;
            }
          const std::string of = "[" + std::to_string(a) + ", " + std::to_string(b) + "] / [" + std::to_string(c) +
                                 ", " + std::to_string(d) + "]";
          EXPECT_TRUE(known.lo <= lo && hi <= known.hi)
              << of << " is in [" << to_string(known.lo) << ", " << to_string(known.hi) << "]";
          if (c >= 1) {
            EXPECT_TRUE(known.lo == lo && known.hi == hi)
                << of << ": [" << to_string(known.lo) << ", " << to_string(known.hi) << "]";
          }
        }
}

// What is proved of n / d and n / (k*d), times a factor, holds of numbers; and what does hold of all of them is proved.
TEST(Terms, OneNumberDividedTwice) {
  for (const int d : {1, 2, 5})
    for (const int k : {2, 3})
      for (int times = 1; times <= k + 1; ++times)
        for (int more = -2; more <= k + 1; ++more) {
          Terms t;
          t.bound(0, 3, 1 << 30), t.bound(1, 0, 1 << 20);
          Prover prover(t, {});
          const Poly n = t.word(0) - Poly(3), w = t.word(1), fine = t.div(n, Poly(d)), coarse = t.div(n, Poly(k * d));
          bool below = true, above = true;
          for (int x = 0; x < 4 * k * d; ++x) {
            below = below && times * (x / (k * d)) <= x / d + more;
            above = above && x / d <= times * (x / (k * d)) + more;
          }
          const std::string of = std::to_string(times) + " * (n / " + std::to_string(k * d) + ") and n / " +
                                 std::to_string(d) + " + " + std::to_string(more);
          const bool below_proved = prover.quickly(at_most_zero(w * (Poly(times) * coarse - fine - Poly(more))));
          const bool above_proved = prover.quickly(at_most_zero(w * (fine - Poly(times) * coarse - Poly(more))));
          EXPECT_TRUE(below || !below_proved) << of;
          EXPECT_TRUE(above || !above_proved) << of;
          if (times == k) {
            EXPECT_EQ(below_proved, below) << of;
            EXPECT_EQ(above_proved, above) << of;
          }
        }
  // By a divisor that is no number, too; of a negative number it is the other way round.
  Terms t;
  t.bound(0, 0, 1 << 30), t.bound(1, 1, 1 << 10), t.bound(2, 1, 1 << 10);
  Prover prover(t, {});
  const Poly n = t.word(0), d = t.word(1), k = t.word(2);
  EXPECT_TRUE(prover.quickly(at_most_zero(k * t.div(n, k * d) - t.div(n, d))));
  EXPECT_FALSE(prover.quickly(at_most_zero(k * t.div(n, k * d) + Poly(1) - t.div(n, d))));
  const Poly below = n - Poly(100);
  EXPECT_FALSE(prover.quickly(at_most_zero(Poly(2) * t.div(below, Poly(6)) - t.div(below, Poly(3)))));
}

}  // namespace
}  // namespace reprise::validate
