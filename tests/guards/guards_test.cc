#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "guards/guard_set.h"
#include "reprise/error.h"
#include "reprise/scalar.h"

namespace reprise::guards {
namespace {

std::string canonical(std::string_view text) {
  ShapeEnv env;
  return to_string(env.parse(text));
}

TEST(Canonical, OneFormForEqualExpressions) {
  const std::pair<const char*, const char*> same[] = {
      {"s0 + s1", "s1 + s0"}, {"s0 + s0", "2*s0"}, {"(s0 + s1)*s2", "s0*s2 + s1*s2"}, {"s0 - s0 + 3", "3"},
      {"s0*s1 / s1", "s0"}, {"(4*s0 + 4*s1) / 4", "s0 + s1"}, {"s0*s1 % s1", "0"}, {"6*s0 % 3", "0"}, {"s0 % 1", "0"},
      {"s0 / 1", "s0"}, {"s0 / 2 / 3", "s0 / 6"}, {"min(s0, s0)", "s0"}, {"max(s0, s0 + 1)", "s0 + 1"}, {"-7 / 2", "-3"}, {"-7 % 2", "-1"},
      {"2*s0 == 2*s1", "s0 == s1"}, {"s1 - s0 == 0", "s0 == s1"}, {"2*s0 == 5", "0"}, {"3*s0 < 7", "s0 <= 2"}, {"s0 >= 2", "2 <= s0"},
      {"!(s0 < s1)", "s1 <= s0"}, {"!(s0 == 1)", "s0 != 1"}, {"s0 + 1 <= s1", "s0 < s1"}, {"(4*s0 + 3) / 4", "s0"}, {"(s0 + s1) - s0", "s1"}};
  for (auto [a, b] : same) EXPECT_EQ(canonical(a), canonical(b)) << a;
}

TEST(Canonical, TextReadsBack) {
  for (const char* t : {"s0 + 2*s1", "s0*s1 - 3", "(s0 + 1) / s1", "s0 % (s1 + 2)", "min(s0, s1 / 3)", "s0 < s1", "s0 != 4", "s0 < 3 || s1 == 2", "-s0 + s1"}) {
    ShapeEnv env;
    const Expr* e = env.parse(t);
    EXPECT_EQ(env.parse(to_string(e)), e) << t << " became " << to_string(e);
  }
  ShapeEnv env;
  EXPECT_THROW(env.parse("s0 +"), Error);
  EXPECT_THROW(env.parse("x + 1"), Error);
  EXPECT_THROW(env.parse("99999999999999999999"), Error);
}

// A random expression beside its naive meaning.
struct Naive {
  std::function<std::int64_t(const std::int64_t*)> at;
  const Expr* e;
};

Naive random_int(ShapeEnv& env, std::mt19937& rng, int depth) {
  auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(2)) {
      std::int64_t c = pick(9) - 3;
      return {[c](const std::int64_t*) { return c; }, env.constant(c)};
    }
    int s = pick(3);
    return {[s](const std::int64_t* v) { return v[s]; }, env.symbols()[static_cast<std::size_t>(s)].expr};
  }
  Naive a = random_int(env, rng, depth - 1), b = random_int(env, rng, depth - 1);
  static constexpr ExprKind kinds[] = {ExprKind::Add, ExprKind::Mul, ExprKind::Min, ExprKind::Max, ExprKind::Div, ExprKind::Mod};
  ExprKind k = kinds[pick(6)];
  if (k == ExprKind::Div || k == ExprKind::Mod) {
    std::int64_t c = pick(4) + 1;
    b = {[c](const std::int64_t*) { return c; }, env.constant(c)};
  }
  const Expr* args[] = {a.e, b.e};
  return {[=](const std::int64_t* v) -> std::int64_t {
            std::int64_t x = a.at(v), y = b.at(v);
            switch (k) {
              case ExprKind::Add: return x + y;
              case ExprKind::Mul: return x * y;
              case ExprKind::Min: return std::min(x, y);
              case ExprKind::Max: return std::max(x, y);
              case ExprKind::Div: return x / y;
              default: return x % y;
            }
          },
          env.make(k, args)};
}

Naive random_bool(ShapeEnv& env, std::mt19937& rng) {
  Naive a = random_int(env, rng, 2), b = random_int(env, rng, 1);
  static constexpr ExprKind kinds[] = {ExprKind::Eq, ExprKind::Ne, ExprKind::Lt, ExprKind::Le};
  ExprKind k = kinds[rng() % 4];
  const Expr* args[] = {a.e, b.e};
  return {[=](const std::int64_t* v) -> std::int64_t {
            std::int64_t x = a.at(v), y = b.at(v);
            return k == ExprKind::Eq ? x == y : k == ExprKind::Ne ? x != y : k == ExprKind::Lt ? x < y : x <= y;
          },
          env.make(k, args)};
}

template <class F>
void for_all_small(F f) {
  std::int64_t v[3];
  for (v[0] = 0; v[0] < 6; ++v[0])
    for (v[1] = 0; v[1] < 6; ++v[1])
      for (v[2] = 0; v[2] < 6; ++v[2]) f(v);
}

TEST(Properties, CanonicalFormsProgramsAndRangesAgreeWithTheNaiveMeaning) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    ShapeEnv env;
    for (std::uint32_t i = 0; i < 3; ++i) env.new_symbol({i, "x"}, 2, 0, 5);
    Naive e = random_int(env, rng, 3);
    ShapeEnv::Range range = env.range_of(e.e);
    ExprProgram program;
    std::uint32_t slot = program.add(e.e);
    std::vector<std::int64_t> slots(program.size());
    for_all_small([&](const std::int64_t* v) {
      std::int64_t want = e.at(v);
      program.evaluate(v, slots.data());
      ASSERT_EQ(slots[slot], want) << to_string(e.e) << " seed " << seed;
      ASSERT_LE(range.lo, want) << to_string(e.e) << " seed " << seed;
      ASSERT_GE(range.hi, want) << to_string(e.e) << " seed " << seed;
    });
  }
}

TEST(Properties, ProofsAreSoundUnderGuardsAndGuardSetsCheckAllOfThem) {
  int proved = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 rng(seed);
    ShapeEnv env;
    std::int64_t hint[3];
    for (std::uint32_t i = 0; i < 3; ++i) {
      hint[i] = static_cast<std::int64_t>(rng() % 6);
      env.new_symbol({i, "x"}, hint[i], 0, 5);
    }
    std::vector<std::pair<Naive, bool>> taken;
    for (int i = 0; i < 3; ++i) {
      Naive g = random_bool(env, rng);
      bool took = env.decide(g.e, {}, "branch");
      ASSERT_EQ(took, g.at(hint) != 0) << to_string(g.e) << " seed " << seed;
      taken.emplace_back(g, took);
    }
    std::vector<std::pair<Naive, std::optional<bool>>> asked;
    for (int i = 0; i < 6; ++i) {
      Naive q = random_bool(env, rng);
      asked.emplace_back(q, env.prove(q.e));
      proved += asked.back().second.has_value();
    }
    GuardSet set(env);
    for_all_small([&](const std::int64_t* v) {
      bool all = true;
      for (auto& [g, took] : taken) all = all && (g.at(v) != 0) == took;
      ASSERT_EQ(!set.first_miss(v).has_value(), all) << "seed " << seed;
      if (!all) return;
      for (auto& [q, answer] : asked)
        if (answer) {
          ASSERT_EQ(*answer, q.at(v) != 0) << to_string(q.e) << " seed " << seed;
        }
    });
  }
  EXPECT_GT(proved, 4000);  // a prover that never answers would be sound too
}

TEST(Facts, EqualityOrderAndDivisibilityAreUsed) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "a"}, 8, 0), b = env.new_symbol({1, "b"}, 8, 0), c = env.new_symbol({2, "c"}, 3, 0);
  EXPECT_FALSE((a == b).known_true());
  ASSERT_TRUE(static_cast<bool>(a == b));
  EXPECT_TRUE((a == b).known_true());
  EXPECT_TRUE(identical(a + c, b + c + 0));
  ASSERT_TRUE(static_cast<bool>(c > 2));
  EXPECT_TRUE((c != 1).known_true());
  EXPECT_TRUE((c >= 3).known_true());
  EXPECT_FALSE((c >= 4).known_true());
  ASSERT_TRUE(static_cast<bool>(a % 4 == 0));
  EXPECT_TRUE((a * c % 4 == 0).known_true());
  EXPECT_TRUE((a % 2 == 0).known_true());
  EXPECT_EQ(env.guards().size(), 3u);
  Int pos = env.new_symbol({3, "pos"}, 5), past = pos + 1;
  ASSERT_TRUE(static_cast<bool>(pos >= 0));
  ASSERT_TRUE(static_cast<bool>(past <= a));
  EXPECT_TRUE((pos <= a).known_true());
  EXPECT_TRUE((past >= 1).known_true());
  EXPECT_TRUE(identical(past - pos, Int(1)));
}

TEST(Facts, PinningGuardsOnce) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "arg 0 .size(0)"}, 8, 0);
  EXPECT_EQ((a + 1).value(), 9);
  EXPECT_EQ(a.value(), 8);  // follows from the first
  EXPECT_EQ(env.guards().size(), 1u);
  EXPECT_FALSE((a * 3).is_symbolic());
  std::int64_t word = 7;
  GuardSet set(env);
  auto miss = set.first_miss(&word);
  ASSERT_TRUE(miss);
  std::string text = set.explain(*miss, &word);
  EXPECT_NE(text.find("arg 0 .size(0)"), std::string::npos) << text;
  EXPECT_NE(text.find("is 7"), std::string::npos) << text;
  EXPECT_NE(text.find("guards_test.cc:"), std::string::npos) << text;
}

TEST(Facts, ComparisonsCarryTheLineOfTheUser) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "a"}, 8, 0);
  std::uint32_t line = __LINE__ + 1;
  if (a < 10) {}
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(env.guards()[0].where.line, line);
  EXPECT_STREQ(env.guards()[0].why, "branch");
}

TEST(Declared, RangesAndMultiplesAreChecked) {
  ShapeEnv env;
  env.new_symbol({0, "n"}, 8, 2, 64, 4);
  GuardSet set(env);
  for (std::int64_t n = -4; n < 80; ++n) EXPECT_EQ(!set.first_miss(&n).has_value(), n >= 2 && n <= 64 && n % 4 == 0) << n;
}

TEST(Plain, BehavesLikeSixtyFourBits) {
  Int a = 7, b = -2;
  EXPECT_EQ((a / b).value(), -3);
  EXPECT_EQ((a % b).value(), 1);
  EXPECT_EQ(Int::min(a, b).value(), -2);
  EXPECT_THROW(a / 0, Error);
  EXPECT_THROW(a % Int(0), Error);
  EXPECT_TRUE(static_cast<bool>(a > b));
  EXPECT_EQ((Int(INT64_MAX) + 1).value(), INT64_MIN);
  int turns = 0;
  for (Int i = 0; i < 5; i += 1) ++turns;
  EXPECT_EQ(turns, 5);
}

TEST(Frozen, RefusesNewSymbolsAndGuards) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "a"}, 8, 0);
  env.freeze();
  EXPECT_EQ((a + 17).str(), "s0 + 17");
  EXPECT_THROW(env.new_symbol({1, "b"}, 2), Error);
  EXPECT_THROW(static_cast<void>(a.value()), Error);
}

TEST(ScalarText, RoundTrips) {
  EXPECT_EQ(Scalar(2.5).str(), "2.5");
  EXPECT_EQ(Scalar(2.0).str(), "2.0");
  EXPECT_EQ(Scalar(2).str(), "2");
  EXPECT_EQ(Scalar(true).str(), "true");
  EXPECT_EQ(Scalar(0.1).str(), "0.1");
}

}  // namespace
}  // namespace reprise::guards
