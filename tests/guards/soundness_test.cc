// Random traces against their naive meaning, on every value of a small domain: what is proved must be true, what is
// simplified must keep its value, and a guard set must admit exactly the calls that take the same branches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "guards/guard_set.h"
#include "reprise/error.h"

namespace reprise::guards {
namespace {

using Words = const std::int64_t*;
constexpr std::int64_t kLow = -3, kHigh = 6;

/// A value of the traced program: symbolic, and as plain C++ would compute it (nullopt: it divides by zero).
struct Value {
  Int symbolic;
  std::function<std::optional<std::int64_t>(Words)> naive;
};
struct Truth {
  Bool symbolic;
  std::function<std::optional<bool>(Words)> naive;
};

/// One random program over three symbols.
class Program {
 public:
  explicit Program(unsigned seed) : rng_(seed) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      std::int64_t lo = pick(3) == 0 ? INT64_MIN : pick(2) ? 0 : kLow + pick(5), hi = pick(2) ? INT64_MAX : kHigh - pick(3);
      std::int64_t multiple = pick(4) == 0 ? 2 : 1;
      do hint_[i] = kLow + pick(static_cast<int>(kHigh - kLow) + 1);
      while (hint_[i] < lo || hint_[i] > hi || hint_[i] % multiple != 0);
      if (pick(10) == 0) lo = hi = hint_[i];
      Int s = env.new_symbol({i, "arg " + std::to_string(i)}, hint_[i], lo, hi, multiple);
      symbols_.push_back({s, [i](Words w) { return std::optional<std::int64_t>(w[i]); }});
      declared_.push_back([=](Words w) { return w[i] >= lo && w[i] <= hi && w[i] % multiple == 0; });
    }
  }

  int pick(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  bool declared(Words w) const {
    for (const auto& d : declared_)
      if (!d(w)) return false;
    return true;
  }

  Value integer(int depth) {
    int what = pick(depth == 0 ? 3 : 10);
    if (what == 0) {
      std::int64_t c = pick(9) - 3;
      return {Int(c), [c](Words) { return std::optional<std::int64_t>(c); }};
    }
    if (what <= 2) return symbols_[static_cast<std::size_t>(pick(3))];
    Value a = integer(depth - 1), b = what < 8 || pick(2) ? integer(depth - 1) : nonzero();
    if (what >= 8 && b.symbolic.hint() == 0) what = 3;
    return {combine(what, a.symbolic, b.symbolic), [what, x = a.naive, y = b.naive](Words w) -> std::optional<std::int64_t> {
              std::optional<std::int64_t> l = x(w), r = y(w);
              if (!l || !r || (what >= 8 && *r == 0)) return std::nullopt;
              return combine(what, *l, *r);
            }};
  }

  Value nonzero() {
    std::int64_t c = pick(2) ? pick(4) + 1 : -1 - pick(3);
    return {Int(c), [c](Words) { return std::optional<std::int64_t>(c); }};
  }

  Truth condition(int depth) {
    int what = depth == 0 ? 3 + pick(9) : pick(12);
    if (what == 0) {
      Truth a = condition(depth - 1);
      return {!a.symbolic, [f = a.naive](Words w) -> std::optional<bool> {
                std::optional<bool> v = f(w);
                return v ? std::optional<bool>(!*v) : v;
              }};
    }
    if (what <= 2) {
      Truth a = condition(depth - 1), b = condition(depth - 1);
      bool both = what == 1;
      return {both ? a.symbolic & b.symbolic : a.symbolic | b.symbolic, [both, f = a.naive, g = b.naive](Words w) -> std::optional<bool> {
                std::optional<bool> l = f(w), r = g(w);
                if (!l || !r) return std::nullopt;
                return both ? *l && *r : *l || *r;
              }};
    }
    Value a = integer(2);
    if (what == 11) {  // divisibility
      std::int64_t k = pick(4) + 2;
      return {a.symbolic % k == 0, [f = a.naive, k](Words w) -> std::optional<bool> {
                std::optional<std::int64_t> v = f(w);
                return v ? std::optional<bool>(*v % k == 0) : std::nullopt;
              }};
    }
    Value b = integer(pick(3) ? 0 : 1);
    int op = what % 6;
    return {compare(op, a.symbolic, b.symbolic), [op, x = a.naive, y = b.naive](Words w) -> std::optional<bool> {
              std::optional<std::int64_t> l = x(w), r = y(w);
              if (!l || !r) return std::nullopt;
              return compare(op, *l, *r);
            }};
  }

  ShapeEnv env;
  Words hint() const { return hint_; }

 private:
  template <class T>
  static T combine(int what, T a, T b) {
    switch (what) {
      case 3: return a + b;
      case 4: return a - b;
      case 5: return a * b;
      case 6: if constexpr (std::same_as<T, Int>) return Int::min(a, b); else return std::min(a, b);
      case 7: if constexpr (std::same_as<T, Int>) return Int::max(a, b); else return std::max(a, b);
      case 8: return a / b;
      default: return a % b;
    }
  }
  template <class T>
  static std::conditional_t<std::same_as<T, Int>, Bool, bool> compare(int op, T a, T b) {
    switch (op) {
      case 0: return a == b;
      case 1: return a != b;
      case 2: return a < b;
      case 3: return a <= b;
      case 4: return a > b;
      default: return a >= b;
    }
  }
  std::mt19937 rng_;
  std::int64_t hint_[3];
  std::vector<Value> symbols_;
  std::vector<std::function<bool(Words)>> declared_;
};

template <class F>
void for_all_small(F f) {
  std::int64_t w[3];
  for (w[0] = kLow; w[0] <= kHigh; ++w[0])
    for (w[1] = kLow; w[1] <= kHigh; ++w[1])
      for (w[2] = kLow; w[2] <= kHigh; ++w[2]) f(static_cast<Words>(w));
}

struct Tally { int proved = 0, checks = 0, guards = 0; };

void run(unsigned seed, Tally& tally) {
  Program p(seed);
  std::vector<std::pair<Truth, bool>> taken;
  std::vector<Value> values;
  for (int i = 0; i < 5; ++i) {
    Truth t = p.condition(i % 2);
    bool took = static_cast<bool>(t.symbolic);
    ASSERT_EQ(took, t.naive(p.hint())) << "seed " << seed;
    taken.emplace_back(std::move(t), took);
    values.push_back(p.integer(3));
    ASSERT_EQ(values.back().symbolic.hint(), values.back().naive(p.hint())) << values.back().symbolic << " seed " << seed;
  }
  std::vector<std::pair<Truth, std::optional<bool>>> asked;
  for (int i = 0; i < 8; ++i) {
    Truth t = p.condition(1);
    std::optional<bool> answer = t.symbolic.is_symbolic() ? p.env.prove(t.symbolic.expr()) : t.symbolic.hint();
    tally.proved += answer.has_value();
    asked.emplace_back(std::move(t), answer);
  }
  GuardSet set(p.env);
  tally.checks += static_cast<int>(set.size());
  tally.guards += static_cast<int>(p.env.guards().size());
  ExprProgram program;
  std::vector<std::uint32_t> as_built, simplified;
  std::vector<ShapeEnv::Range> ranges;
  for (const Value& v : values) {
    const Expr* e = p.env.of(v.symbolic);
    as_built.push_back(program.add(e));
    simplified.push_back(program.add(p.env.simplify(e)));
    ranges.push_back(p.env.range_of(e));
  }
  std::vector<std::int64_t> slots(program.size());
  ASSERT_FALSE(set.first_miss(p.hint())) << set.explain(*set.first_miss(p.hint()), p.hint()) << " seed " << seed;
  for_all_small([&](Words w) {
    if (testing::Test::HasFatalFailure()) return;
    bool same = p.declared(w);
    for (auto& [t, took] : taken) same = same && t.naive(w) == took;
    for (const Value& v : values) same = same && v.naive(w).has_value();
    for (auto& [t, answer] : asked) same = same && t.naive(w).has_value();
    std::optional<std::uint32_t> miss = set.first_miss(w);
    ASSERT_EQ(!miss, same) << "at " << w[0] << " " << w[1] << " " << w[2] << " seed " << seed << (miss ? ": " + set.explain(*miss, w) : "");
    if (!same) return;
    for (auto& [t, answer] : asked)
      if (answer) {
        ASSERT_EQ(answer, t.naive(w)) << "at " << w[0] << " " << w[1] << " " << w[2] << " seed " << seed;
      }
    program.evaluate(w, slots.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t want = *values[i].naive(w);
      ASSERT_EQ(slots[as_built[i]], want) << values[i].symbolic << " seed " << seed;
      ASSERT_EQ(slots[simplified[i]], want) << values[i].symbolic << " seed " << seed;
      ASSERT_LE(ranges[i].lo, want) << values[i].symbolic << " seed " << seed;
      ASSERT_GE(ranges[i].hi, want) << values[i].symbolic << " seed " << seed;
    }
  });
}

TEST(Soundness, RandomTracesAgreeWithPlainArithmetic) {
  unsigned first = 0, last = 1500;
  if (const char* seeds = std::getenv("SOUNDNESS_SEEDS")) last = static_cast<unsigned>(std::atoi(seeds));
  Tally tally;
  for (unsigned seed = first; seed < last; ++seed) {
    run(seed, tally);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(tally.proved, 2 * static_cast<int>(last));  // a prover that never answers would be sound too
  RecordProperty("proved", tally.proved);
}

}  // namespace
}  // namespace reprise::guards
