#include <gtest/gtest.h>

#include <bit>

#include <chrono>
#include <random>
#include <thread>

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
      {"s0 + s1", "s1 + s0"},
      {"s0 + s0", "2*s0"},
      {"(s0 + s1)*s2", "s0*s2 + s1*s2"},
      {"s0 - s0 + 3", "3"},
      {"s0*s1 / s1", "s0"},
      {"(4*s0 + 4*s1) / 4", "s0 + s1"},
      {"s0*s1 % s1", "0"},
      {"6*s0 % 3", "0"},
      {"s0 % 1", "0"},
      {"s0 / 1", "s0"},
      {"s0 / 2 / 3", "s0 / 6"},
      {"min(s0, s0)", "s0"},
      {"max(s0, s0 + 1)", "s0 + 1"},
      {"-7 / 2", "-3"},
      {"-7 % 2", "-1"},
      {"2*s0 == 2*s1", "s0 == s1"},
      {"s1 - s0 == 0", "s0 == s1"},
      {"2*s0 == 5", "0"},
      {"3*s0 < 7", "s0 <= 2"},
      {"s0 >= 2", "2 <= s0"},
      {"!(s0 < s1)", "s1 <= s0"},
      {"!(s0 == 1)", "s0 != 1"},
      {"s0 + 1 <= s1", "s0 < s1"},
      {"(4*s0 + 3) / 4", "s0"},
      {"s0 < 9223372036854775807", "s0 <= 9223372036854775806"},
      {"min(s0, 9223372036854775807)", "s0"},
      {"s0 <= 9223372036854775807", "1"},
      {"min(s2, min(s0, s1))", "min(min(s0, s1), s2)"},
      {"min(s0, min(s0 + 1, s1))", "min(s0, s1)"},
      {"s0 < s1 && s1 <= s0", "0"},
      {"s0 == 1 || s0 != 1", "1"},
      {"(s0 == 1 && s1 == 1) && s2 == 1", "s2 == 1 && (s1 == 1 && s0 == 1)"},
      {"!(s0 == 1 && s1 < 2)", "s0 != 1 || 2 <= s1"},
      {"0*s0", "0"},
      {"(s0 + s1) - s0", "s1"}};
  ShapeEnv env;
  for (auto [a, b] : same)
    EXPECT_EQ(env.parse(a), env.parse(b))
        << a << " is " << to_string(env.parse(a)) << ", " << b << " is " << to_string(env.parse(b));
  for (auto [a, b] : {std::pair("s1 + 2*s0", "2*s0 + s1"),
                      {"s1*s0 - 3 + s0", "s0*s1 + s0 - 3"},
                      {"3*s0 < 7", "s0 <= 2"},
                      {"!(s0 == 1)", "s0 != 1"}})
    EXPECT_EQ(canonical(a), b);
}

TEST(Canonical, TextReadsBack) {
  for (const char* t :
       {"s0 + 2*s1", "s0*s1 - 3", "(s0 + 1) / s1", "s0 % (s1 + 2)", "min(s0, s1 / 3)", "s0 < s1", "s0 != 4",
        "s0 < 3 || s1 == 2", "-s0 + s1", "fdiv(1.0, fsqrt(real(s0 + 1)))", "flt(-0.5, fmul(s1, real(s0)))",
        "!(fle(s1, inf))", "fmax(fpow(s0, 1e-300), s1)", "feq(s0, fadd(s1, 2.5)) && s0 != 3"}) {
    ShapeEnv env;
    const Expr* e = env.parse(t);
    EXPECT_EQ(env.parse(to_string(e)), e) << t << " became " << to_string(e);
  }
  ShapeEnv env;
  EXPECT_THROW(env.parse("s0 +"), Error);
  EXPECT_THROW(env.parse("x + 1"), Error);
  EXPECT_THROW(env.parse("99999999999999999999"), Error);
  EXPECT_THROW(env.parse("(s0 < 1) + 2"), Error);
  EXPECT_THROW(env.parse("s0 && s1 < 2"), Error);
  EXPECT_THROW(env.parse("!s0"), Error);
  EXPECT_THROW(env.parse(std::string(100000, '(')), Error);
  EXPECT_THROW(env.parse(std::string(100000, '-') + "s0"), Error);
  EXPECT_EQ(env.parse("-9223372036854775808"), env.constant(INT64_MIN));
  EXPECT_EQ(env.parse("fsqrt(real(9))"), env.constant(std::bit_cast<std::int64_t>(3.0)));
  EXPECT_THROW(env.parse("fadd(1.0, s0 < 2)"), Error);
  EXPECT_THROW(env.parse("fsqrt(1.0, 2.0)"), Error);
}

TEST(Facts, OfDoubles) {
  ShapeEnv env;
  env.symbol_named("s0", 2), env.symbol_named("s1", -7);
  auto known = [&](const char* t) { return env.prove(env.parse(t)); };
  EXPECT_TRUE(env.decide(env.parse("flt(0.0, fadd(real(s0), 1.0))"), {}, "branch"));
  EXPECT_EQ(known("flt(0.0, fadd(real(s0), 1.0))"), true);
  EXPECT_EQ(known("fle(0.0, fadd(real(s0), 1.0))"), true);
  EXPECT_EQ(known("flt(fadd(real(s0), 1.0), 0.0)"), false);
  EXPECT_EQ(known("feq(0.0, fadd(real(s0), 1.0))"), false);
  EXPECT_EQ(known("flt(1.0, fadd(real(s0), 1.0))"), std::nullopt);
  // That a number is not smaller does not make it larger or equal: it may be none.
  EXPECT_FALSE(env.decide(env.parse("flt(fsqrt(real(s1)), 0.0)"), {}, "branch"));
  EXPECT_EQ(known("fle(0.0, fsqrt(real(s1)))"), std::nullopt);
  const GuardSet set(env);
  for (std::int64_t a : {-3, -1, 0, 5})
    for (std::int64_t b : {-1, 4}) {
      const std::int64_t words[] = {a, b};
      EXPECT_EQ(set.first_miss(words).has_value(), a < 0) << a << " " << b;  // the root of -1 is not below 0
    }
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
  static constexpr ExprKind kinds[] = {ExprKind::Add, ExprKind::Mul, ExprKind::Min,
                                       ExprKind::Max, ExprKind::Div, ExprKind::Mod};
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

// What is asked of neighbouring words at once is what each check asks, and which of them failed is told in their order.
TEST(Sets, BlocksOfWordsAskWhatTheChecksAsk) {
  constexpr std::uint32_t kWords = 40;
  int held = 0, missed = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    ShapeEnv env;
    LibraryScope operators;
    // Shapes that repeat, as those of many tensors do, and some that do not.
    const std::uint32_t period = 1 + rng() % 4;
    std::vector<Int> symbols;
    std::vector<std::int64_t> hint;
    for (std::uint32_t i = 0; i < kWords; ++i) {
      hint.push_back(rng() % 16 ? 5 + i % period : static_cast<std::int64_t>(rng() % 9));
      symbols.push_back(env.new_symbol({i, "x .size(" + std::to_string(i) + ")"}, hint.back(), 0));
    }
    const std::uint32_t from = rng() % 4, kinds = rng() % 3;
    for (std::uint32_t i = from; i < kWords; ++i) {
      if (rng() % 8 == 0) continue;
      if (kinds != 1 && i >= from + period)
        static_cast<void>(
            static_cast<bool>(symbols[i] == symbols[rng() % 2 ? i - period : from + (i - from) % period]));
      if (kinds != 0 && rng() % 3) static_cast<void>(symbols[i].value());
      if (rng() % 16 == 0) static_cast<void>(static_cast<bool>(symbols[i] > 3));
      if (rng() % 16 == 0) static_cast<void>(static_cast<bool>(symbols[i] + symbols[rng() % kWords] > 9));
    }
    const GuardSet set(env);
    auto one = [](const GuardSet::Check& c, const std::vector<std::int64_t>& w) {
      switch (c.kind) {
        case GuardSet::kEqual: return w[c.a] == c.k;
        case GuardSet::kUnequal: return w[c.a] != c.k;
        case GuardSet::kAtLeast: return w[c.a] >= c.k;
        case GuardSet::kAtMost: return w[c.a] <= c.k;
        case GuardSet::kSameWords: return w[c.a] == w[c.b];
        case GuardSet::kDivisible: return w[c.a] % c.k == 0;
        case GuardSet::kLowBitsZero: return (w[c.a] & c.k) == 0;
        default: return true;  // a general one
      }
    };
    ASSERT_TRUE(set.hold(hint.data())) << "seed " << seed;
    for (int near = 0; near < 60; ++near) {
      std::vector<std::int64_t> w = hint;
      for (std::uint32_t k = rng() % 3; k-- > 0;) w[rng() % kWords] += static_cast<std::int64_t>(rng() % 3) - 1;
      if (rng() % 4 == 0)
        for (std::uint32_t i = rng() % period; i < kWords; i += period) ++w[i];  // all that may be alike, otherwise
      std::uint32_t first = 0;
      while (first < set.size() && one(set.checks()[first], w)) ++first;
      const std::optional<std::uint32_t> miss = set.first_miss(w.data());
      ASSERT_EQ(set.hold(w.data()), !miss) << "seed " << seed;
      if (first < set.size()) {
        ASSERT_EQ(miss, first) << "seed " << seed;
      } else if (miss) {
        ASSERT_EQ(set.checks()[*miss].kind, GuardSet::kGeneral) << "seed " << seed;
      }
      ++(miss ? missed : held);
    }
  }
  EXPECT_GT(held, 10000);
  EXPECT_GT(missed, 10000);
}

TEST(Facts, EqualityOrderAndDivisibilityAreUsed) {
  ShapeEnv env;
  LibraryScope operators;
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

TEST(Facts, QuotientsCommonFactorsAndMinima) {
  ShapeEnv env;
  LibraryScope operators;
  Int n = env.new_symbol({0, "n"}, 9, 0), m = env.new_symbol({1, "m"}, 4, 0), any = env.new_symbol({2, "k"}, 2),
      step = env.new_symbol({3, "step"}, 2);
  EXPECT_TRUE((n / 2 * 2 <= n).known_true());
  EXPECT_TRUE((n / 3 <= n).known_true());
  EXPECT_TRUE((n - n / 4 * 4 <= 3).known_true());
  EXPECT_FALSE((n - n / 4 * 4 <= 2).known_true());
  EXPECT_FALSE((any / 2 * 2 <= any).known_true());  // of -1 it is 0
  EXPECT_FALSE(((n - 3) / 2 * 2 <= n - 3).known_true());
  EXPECT_FALSE((m * 2 <= n * m).known_true());
  EXPECT_FALSE((Int::min(n, m) == m).known_true());
  ASSERT_TRUE(static_cast<bool>(n >= 3));
  EXPECT_TRUE(((n - 3) / 2 * 2 + 3 <= n).known_true());
  EXPECT_TRUE((m * 2 <= n * m).known_true());
  EXPECT_FALSE((m * 4 <= n * m).known_true());
  EXPECT_FALSE((any * 2 <= n * any).known_true());  // of -1 it is not so
  ASSERT_TRUE(static_cast<bool>(m <= n));
  EXPECT_TRUE((Int::min(n, m) == m).known_true());
  EXPECT_TRUE((Int::max(n, m) == n).known_true());
  EXPECT_FALSE((Int::min(n, m) == n).known_true());
  EXPECT_FALSE((n - m + step >= 0).known_true());
  EXPECT_FALSE(((n - m) / step >= 0).known_true());
  ASSERT_TRUE(static_cast<bool>(step > 0));
  EXPECT_TRUE(((n - m) / step >= 0).known_true());
  EXPECT_TRUE(((m - n) / -step >= 0).known_true());
  EXPECT_FALSE(((m - n) / step >= 0).known_true());
}

// A bound of one word that follows from what was asked of several is not asked again.
TEST(Sets, BoundsThatFollowFromOtherChecksAreDropped) {
  ShapeEnv env;
  LibraryScope operators;
  Int start = env.new_symbol({0, "start"}, 2), end = env.new_symbol({1, "end"}, 5),
      n = env.new_symbol({2, "x .size(0)"}, 9, 0);
  for (Int i : {end, start}) ASSERT_TRUE(static_cast<bool>(i >= 0));
  ASSERT_TRUE(static_cast<bool>(start <= end));
  ASSERT_TRUE(static_cast<bool>(end <= n));
  const GuardSet set(env);
  EXPECT_EQ(set.size(), 3u);
  for (std::int64_t w[3] = {-2, 0, 0}; w[0] < 4; ++w[0])
    for (w[1] = -2; w[1] < 5; ++w[1])
      for (w[2] = 0; w[2] < 5; ++w[2])
        EXPECT_EQ(set.hold(w), w[0] >= 0 && w[0] <= w[1] && w[1] <= w[2]) << w[0] << " " << w[1] << " " << w[2];
}

TEST(Facts, PinningGuardsOnce) {
  ShapeEnv env;
  LibraryScope operators;
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

TEST(Canonical, NumbersComeLastWheneverTheyWereMet) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "x .size(0)"}, 8, 0);
  EXPECT_EQ(to_string(Int::max(a, 1).expr()), "max(s0, 1)");
  Int b = env.new_symbol({1, "x .size(1)"}, 8, 0);
  EXPECT_EQ(to_string(Int::max(1, b).expr()), "max(s1, 1)");
  EXPECT_EQ(to_string(Int::min(5, Int::min(b, a)).expr()), "min(min(s0, s1), 5)");
}

TEST(Facts, ExactDivisionsAreUndone) {
  ShapeEnv env;
  Int n = env.new_symbol({0, "x .size(0)"}, 64, 0), heads = env.new_symbol({1, "x .size(1)"}, 8, 0);
  EXPECT_FALSE(identical(n / heads * heads, n));
  ASSERT_TRUE(static_cast<bool>(n % heads == 0));
  EXPECT_TRUE(identical(n / heads * heads, n));
  ASSERT_TRUE(static_cast<bool>(n % 4 == 0));
  EXPECT_TRUE(identical(n / 4 * 4, n));
  EXPECT_TRUE(identical(Int::max(n, 0), n));
}

TEST(Facts, APinnedOperandMakesPlainNumbers) {
  ShapeEnv env;
  LibraryScope operators;
  Int a = env.new_symbol({0, "x .size(0)"}, 8, 0), b = env.new_symbol({1, "x .size(1)"}, 3, 0);
  ASSERT_TRUE(static_cast<bool>(a == 8));
  EXPECT_EQ((10 - a).str(), "2");
  EXPECT_EQ((a - a).str(), "0");
  EXPECT_EQ((b - a).str(), "s1 - 8");
  EXPECT_EQ((a / 3).str(), "2");
  ASSERT_TRUE(static_cast<bool>(a * b == 24));
  EXPECT_EQ(b.value(), 3);  // follows
  EXPECT_EQ(env.guards().size(), 2u);
}

TEST(Facts, DivisionByASymbolIsGuardedAndByZeroRefused) {
  ShapeEnv env;
  LibraryScope operators;
  Int a = env.new_symbol({0, "x .size(0)"}, 8, 0), zero = env.new_symbol({1, "x .size(1)"}, 0, 0),
      b = env.new_symbol({2, "x .size(2)"}, 2, 0);
  EXPECT_THROW(a / zero, Error);
  EXPECT_THROW(a % zero, Error);
  EXPECT_TRUE(env.guards().empty());
  EXPECT_EQ((a / b).hint(), 4);
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(to_string(env.guards()[0].condition), "s2 != 0");
}

TEST(Sets, KeepOnlyWhatSaysSomething) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "x .size(0)"}, 16, 0), b = env.new_symbol({1, "x .size(1)"}, 16, 0),
      c = env.new_symbol({2, "n"}, 5, 2, 5);
  for (Bool condition : {a != 1, a > 3, a<100, b >= 2, a == b, a + b> 7}) ASSERT_TRUE(static_cast<bool>(condition));
  ASSERT_TRUE(static_cast<bool>(c == 5));
  GuardSet set(env);
  std::vector<std::string> kept;
  for (std::uint32_t i = 0; i < set.size(); ++i) kept.push_back(set.text(i).substr(0, set.text(i).find("  ;")));
  EXPECT_EQ(kept, (std::vector<std::string>{"4 <= s0", "s0 <= 99", "s0 == s1", "s2 == 5"}));
}

TEST(Sets, ADeclaredConstantIsChecked) {
  ShapeEnv env;
  EXPECT_EQ(env.new_symbol({0, "x .size(0)"}, 8, 8, 8).value(), 8);
  GuardSet set(env);
  std::int64_t good = 8, bad = 4;
  EXPECT_FALSE(set.first_miss(&good));
  EXPECT_TRUE(set.first_miss(&bad));
  EXPECT_THROW(env.new_symbol({1, "x .size(1)"}, 3, 4, 9), Error);
}

TEST(Sets, ExplainWhatFailedWhereItWasBornAndWhatToDo) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "arg 0 .size(0)"}, 16, 0), b = env.new_symbol({1, "arg 1 .size(2)"}, 4, 0);
  Bool ask = a != 1;
  ASSERT_TRUE(env.decide(ask.expr(), {"some/folder/loop.cpp", 41}, "broadcast"));
  ASSERT_TRUE(env.decide((b % 4 == 0).expr(), {"loop.cpp", 42}, "branch"));
  GuardSet set(env);
  std::int64_t words[] = {1, 4};
  EXPECT_EQ(set.explain(*set.first_miss(words), words),
            "arg 0 .size(0) is 1; wanted s0 != 1 where s0 = arg 0 .size(0) (16 when traced); guard born at loop.cpp:41 "
            "(broadcast)");
  EXPECT_EQ(set.remedy(*set.first_miss(words)),
            "where one of equal sizes is 1 it is broadcast, which is a compilation of its own: expand() it before the "
            "call to have one");
  EXPECT_EQ(set.text(0), "s0 != 1  ; broadcast, loop.cpp:41");
  words[0] = 2, words[1] = 6;
  EXPECT_EQ(set.remedy(*set.first_miss(words)),
            "pad arg 1 .size(2) to a multiple of 4 before the call; else each side is a compilation of its own");
}

TEST(Sets, HundredsOfGeneralGuards) {
  ShapeEnv env;
  LibraryScope operators;
  Int a = env.new_symbol({0, "x .size(0)"}, 7, 0), b = env.new_symbol({1, "x .size(1)"}, 11, 0);
  for (int i = 2; i < 300; ++i) ASSERT_TRUE(static_cast<bool>(a * a + b * i != 3 * i));
  GuardSet set(env);
  EXPECT_EQ(set.size(), 298u);
  for (std::int64_t w[2] = {0, 0}; w[0] < 30; ++w[0])
    for (w[1] = 0; w[1] < 4; ++w[1]) {
      bool holds = true;
      for (int i = 2; i < 300; ++i) holds = holds && w[0] * w[0] + w[1] * i != 3 * i;
      EXPECT_EQ(!set.first_miss(w), holds) << w[0] << " " << w[1];
    }
}

TEST(Depth, LongChainsAreNoTrouble) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "x .size(0)"}, 1 << 20, 0), h = a;
  for (int i = 0; i < 100; ++i) h = (h + 3) / 2;
  EXPECT_TRUE((h >= 0).known_true());
  ASSERT_TRUE(static_cast<bool>(a > 5));
  const std::uint32_t line = __LINE__ - 1;
  EXPECT_EQ((h + 1).hint(), h.hint() + 1);
  EXPECT_TRUE(h.is_symbolic());
  // Past a bound it is the number it has here, and what it was computed from is pinned, said with the line that asked
  // last.
  const std::size_t guards = env.guards().size();
  std::int64_t number = h.hint();
  for (int i = 0; i < 100000; ++i) h = (h + 3) / 2, number = (number + 3) / 2;
  EXPECT_FALSE(h.is_symbolic());
  EXPECT_EQ(h.hint(), number);
  ASSERT_EQ(env.guards().size(), guards + 1);
  EXPECT_EQ(to_string(env.guards().back().condition), "s0 == 1048576");
  EXPECT_EQ(env.guards().back().where.line, line);
  EXPECT_EQ(env.simplify(env.of(a)), env.constant(1 << 20));
  Int wide = 1;
  // 2^39 terms if multiplied out
  for (std::uint32_t i = 1; i < 40; ++i) wide *= env.new_symbol({i, "y .size(0)"}, 2, 0) + 1;
  EXPECT_EQ(wide.hint(), 4052555153018976267);  // 3^39
}

TEST(Facts, ComparisonsCarryTheLineOfTheUser) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "a"}, 8, 0);
  std::uint32_t line = __LINE__ + 1;
  if (a < 10) {
  }
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(env.guards()[0].where.line, line);
  EXPECT_STREQ(env.guards()[0].why, "branch");
}

TEST(Declared, RangesAndMultiplesAreChecked) {
  ShapeEnv env;
  env.new_symbol({0, "n"}, 8, 2, 64, 4);
  GuardSet set(env);
  for (std::int64_t n = -4; n < 80; ++n)
    EXPECT_EQ(!set.first_miss(&n).has_value(), n >= 2 && n <= 64 && n % 4 == 0) << n;
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

// The program's arithmetic is that of 64 bits: what is true of integers is taken only where it holds for them, too.
TEST(Overflow, IsNotProvedAway) {
  const auto conditions = {+[](Int n) { return n + 1 > n; }, +[](Int n) { return n * 2 / 2 == n; },
                           +[](Int n) { return (n + 5) - 3 >= n; }, +[](Int n) { return (-n <= 0) | (n < 0); }};
  for (const auto& condition : conditions) {
    ShapeEnv env;
    const bool took = static_cast<bool>(condition(env.new_symbol({0, "arg 0"}, 8)));
    EXPECT_TRUE(took);
    GuardSet set(env);
    for (std::int64_t n : {std::int64_t{8}, std::int64_t{0}, std::int64_t{-9}, INT64_MAX, INT64_MAX - 1, INT64_MIN,
                           INT64_MIN + 1, std::int64_t{1} << 62})
      if (!set.first_miss(&n)) {
        EXPECT_EQ(static_cast<bool>(condition(Int(n))), took) << n;
      }
    std::int64_t n = 1000;
    EXPECT_FALSE(set.first_miss(&n));
  }
}

// Sums that are moved to the other side of a comparison are not the program's, and may be more than 64 bits hold.
TEST(Overflow, ComparisonsAreExact) {
  ShapeEnv env;
  Int p = env.new_symbol({0, "arg 0"}, 1), q = env.new_symbol({1, "arg 1"}, 2),
      n = env.new_symbol({2, "x .size(0)"}, 8, 0);
  LibraryScope operators;
  ASSERT_TRUE(static_cast<bool>(p + q <= n));
  GuardSet set(env);
  for (auto [a, b] : {std::pair{INT64_MAX, INT64_MAX},
                      {std::int64_t{1} << 62, std::int64_t{1} << 62},
                      {INT64_MAX, std::int64_t{1}}}) {
    const std::int64_t words[] = {a, b, 8};
    EXPECT_TRUE(set.first_miss(words)) << a << " " << b;
  }
  const std::int64_t low[] = {INT64_MIN, INT64_MIN, 8}, fits[] = {5, 3, 8};
  EXPECT_FALSE(set.first_miss(low));
  EXPECT_FALSE(set.first_miss(fits));
}

// Sizes of one tensor are known to be few elements together: their products need no guard.
TEST(Overflow, SizesOfOneTensorNeedNoGuard) {
  ShapeEnv env;
  constexpr std::int64_t kMost = std::int64_t{1} << 44;
  Int a = env.new_symbol({0, "x .size(0)", kMost, 1}, 3, 0), b = env.new_symbol({1, "x .size(1)", kMost, 1}, 4, 0),
      c = env.new_symbol({2, "y .size(0)", kMost, 2}, 5, 0);
  Int used = a * b * 8 + 16 - a;
  EXPECT_EQ(used.hint(), 3 * 4 * 8 + 16 - 3);
  EXPECT_TRUE(env.guards().empty());
  used = a * c;
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(to_string(env.guards()[0].condition), "fits(s0*s2)");
  EXPECT_EQ(env.parse("fits(s0*s2)"), env.guards()[0].condition);
}

TEST(Overflow, WrapsWhereTheTracedCallDoes) {
  ShapeEnv env;
  Int n = env.new_symbol({0, "x .size(0)", std::int64_t{1} << 44, 1}, 8, 0);
  Int hash = n * 6364136223846793005 % 1000;
  EXPECT_EQ(hash.hint(), (Int(8) * 6364136223846793005 % 1000).value());
  EXPECT_TRUE(env.guards().empty());
  EXPECT_EQ(env.parse(hash.str()), hash.expr());
  ExprProgram program;
  const std::uint32_t at = program.add(hash);
  std::vector<std::int64_t> slots(program.size());
  for (std::int64_t v : {0, 1, 2, 1000, 12345}) {
    program.evaluate(&v, slots.data());
    EXPECT_EQ(slots[at], (Int(v) * 6364136223846793005 % 1000).value()) << v;
  }
}

TEST(Outlived, AnIntAndABoolSaySo) {
  Int i;
  Bool b = true;
  {
    ShapeEnv env;
    i = env.new_symbol({0, "x .size(0)"}, 8, 0);
    b = i > 3;
  }
  auto refused = [](auto f) {
    try {
      f();
    } catch (const Error& e) {
      return e.code() == ErrorCode::InvalidArgument;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { i.value(); }));
  EXPECT_TRUE(refused([&] { i + 1; }));
  EXPECT_TRUE(refused([&] { i.str(); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(i.hint()); }));
  EXPECT_TRUE(refused([&] { i > 2; }));
  EXPECT_TRUE(refused([&] { Int::ceil_div(i, 2); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(static_cast<bool>(b)); }));
  EXPECT_TRUE(refused([&] { !b; }));
  EXPECT_TRUE(refused([&] { b.known_true(); }));
}

TEST(Frozen, RefusesNewSymbolsAndGuards) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "a"}, 8, 0);
  env.freeze();
  EXPECT_EQ((a + 17).str(), "s0 + 17");
  EXPECT_THROW(env.new_symbol({1, "b"}, 2), Error);
  EXPECT_THROW(static_cast<void>(a.value()), Error);
}

TEST(Frozen, ExpressionsAreBuiltFromManyThreads) {
  ShapeEnv env;
  Int a = env.new_symbol({0, "x .size(0)"}, 8, 0), b = env.new_symbol({1, "x .size(1)"}, 5, 0);
  ASSERT_TRUE(static_cast<bool>(a > b));
  env.freeze();
  std::vector<Int> made[4];
  std::vector<std::thread> threads;
  for (auto& mine : made)
    threads.emplace_back([&mine, &env, a, b] {
      for (int i = 0; i < 500; ++i) {
        mine.push_back((a * i + b) / 3 + Int::max(a, i));
        EXPECT_EQ(env.evaluate_hint(mine.back().expr()), (8 * i + 5) / 3 + std::max(8, i));
        EXPECT_TRUE((a >= b).known_true());
        EXPECT_FALSE(mine.back().str().empty());
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < 500; ++i)
    for (auto& other : made) EXPECT_TRUE(identical(other[i], made[0][i]));
}

// Beside a size of 0 another may be anything but negative.
TEST(Program, NegativeSizesAreNone) {
  ShapeEnv env;
  const Int n = env.new_symbol({0, "n"}, 2), m = env.new_symbol({1, "m"}, 3);
  ExprProgram p;
  p.add_size_check({n, m}, 4, "zeros");
  std::vector<std::int64_t> slots(p.size());
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{0, INT64_MAX}, {INT64_MAX, 0}, {0, 0}, {5, 1}}) {
    const std::int64_t words[] = {a, b};
    EXPECT_NO_THROW(p.evaluate(words, slots.data())) << a << " " << b;
  }
  for (const auto& [a, b] :
       {std::pair<std::int64_t, std::int64_t>{0, -1}, {-1, 0}, {-2, -3}, {-1, 4}, {INT64_MIN, 0}}) {
    const std::int64_t words[] = {a, b};
    EXPECT_THROW(p.evaluate(words, slots.data()), Error) << a << " " << b;
  }
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
