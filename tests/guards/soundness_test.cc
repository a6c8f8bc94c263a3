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
      std::int64_t lo = pick(3) == 0 ? INT64_MIN
                        : pick(2)    ? 0
                                     : kLow + pick(5),
                   hi = pick(2) ? INT64_MAX : kHigh - pick(3);
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
    return {combine(what, a.symbolic, b.symbolic),
            [what, x = a.naive, y = b.naive](Words w) -> std::optional<std::int64_t> {
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
      return {both ? a.symbolic & b.symbolic : a.symbolic | b.symbolic,
              [both, f = a.naive, g = b.naive](Words w) -> std::optional<bool> {
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
      case 6:
        if constexpr (std::same_as<T, Int>) return Int::min(a, b);
        else return std::min(a, b);
      case 7:
        if constexpr (std::same_as<T, Int>) return Int::max(a, b);
        else return std::max(a, b);
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

struct Tally {
  int proved = 0, checks = 0, guards = 0;
};

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
    ASSERT_EQ(values.back().symbolic.hint(), values.back().naive(p.hint()))
        << values.back().symbolic << " seed " << seed;
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
    ASSERT_EQ(!miss, same) << "at " << w[0] << " " << w[1] << " " << w[2] << " seed " << seed
                           << (miss ? ": " + set.explain(*miss, w) : "");
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

// ---- the ends of 64 bits: the program's arithmetic wraps, and so must whatever a guard set admits

const std::int64_t kHostile[] = {0,
                                 1,
                                 -1,
                                 2,
                                 3,
                                 -5,
                                 1 << 20,
                                 std::int64_t{1} << 31,
                                 std::int64_t{1} << 32,
                                 (std::int64_t{1} << 44) - 1,
                                 std::int64_t{1} << 62,
                                 -(std::int64_t{1} << 62),
                                 INT64_MAX - 1,
                                 INT64_MAX,
                                 INT64_MIN + 1,
                                 INT64_MIN,
                                 6364136223846793005};

std::int64_t wrapped(int what, std::int64_t a, std::int64_t b) {
  auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  switch (what) {
    case 0: return static_cast<std::int64_t>(u(a) + u(b));
    case 1: return static_cast<std::int64_t>(u(a) - u(b));
    case 2: return static_cast<std::int64_t>(u(a) * u(b));
    case 3: return b == -1 ? static_cast<std::int64_t>(-u(a)) : a / b;
    case 4: return b == -1 ? 0 : a % b;
    case 5: return std::min(a, b);
    case 6: return std::max(a, b);
    default: return b > 0 ? a / b + (a % b > 0) : wrapped(3, wrapped(1, wrapped(0, a, b), 1), b);
  }
}
Int symbolic(int what, Int a, Int b) {
  switch (what) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return a % b;
    case 5: return Int::min(a, b);
    case 6: return Int::max(a, b);
    default: return Int::ceil_div(a, b);
  }
}

struct Node {
  Int value;
  std::function<std::optional<std::int64_t>(Words)> naive;
};

std::string guards_of(const ShapeEnv& env, const GuardSet& set) {
  std::string s;
  for (const Guard& g : env.guards()) s += "\n  taken: " + to_string(g.condition) + "  ; " + g.why;
  for (std::uint32_t i = 0; i < set.size(); ++i) s += "\n  checked: " + set.text(i);
  return s;
}

void run_hostile(unsigned seed, std::int64_t& admitted) {
  std::mt19937_64 rng(seed);
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  ShapeEnv env;
  std::int64_t hint[3];
  std::vector<Node> nodes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const bool size = i == 2;
    do hint[i] = kHostile[pick(std::size(kHostile))];
    while (size && (hint[i] < 0 || hint[i] > std::int64_t{1} << 44));
    Source source{i, size ? "arg 2 .size(0)" : "arg " + std::to_string(i)};
    if (size) source.at_most = std::int64_t{1} << 44, source.group = 1;
    nodes.push_back({env.new_symbol(source, hint[i], size ? 0 : INT64_MIN),
                     [i](Words w) { return std::optional<std::int64_t>(w[i]); }});
  }
  std::vector<std::pair<std::function<std::optional<bool>(Words)>, bool>> branches;
  std::string said;  // for people
  for (int step = 0; step < 6; ++step) {
    auto any = [&]() -> Node {
      if (pick(4)) return nodes[pick(nodes.size())];
      const std::int64_t c = kHostile[pick(std::size(kHostile))];
      return {Int(c), [c](Words) { return std::optional<std::int64_t>(c); }};
    };
    Node a = any(), b = any();
    const int what = static_cast<int>(pick(8));
    const bool divides = what == 3 || what == 4 || what == 7;
    if (divides && b.naive(hint) == 0) continue;
    auto made = [what, divides, x = a.naive, y = b.naive](Words w) -> std::optional<std::int64_t> {
      std::optional<std::int64_t> l = x(w), r = y(w);
      if (!l || !r || (divides && *r == 0)) return std::nullopt;
      return wrapped(what, *l, *r);
    };
    said += "\n  " + std::to_string(what) + ": " + a.value.str() + ", " + b.value.str();
    nodes.push_back({symbolic(what, a.value, b.value), made});
    said += " -> " + nodes.back().value.str();
    ASSERT_EQ(nodes.back().value.hint(), made(hint))
        << "seed " << seed << " step " << step << ": " << nodes.back().value << said << "\nhints " << hint[0] << " "
        << hint[1] << " " << hint[2];
    if (pick(2)) continue;
    Node c = any(), d = any();
    const int order = static_cast<int>(pick(3));
    const Bool asked = order == 0 ? c.value < d.value : order == 1 ? c.value <= d.value : c.value == d.value;
    auto truth = [order, x = c.naive, y = d.naive](Words w) -> std::optional<bool> {
      std::optional<std::int64_t> l = x(w), r = y(w);
      if (!l || !r) return std::nullopt;
      return order == 0 ? *l < *r : order == 1 ? *l <= *r : *l == *r;
    };
    const bool took = static_cast<bool>(asked);
    ASSERT_EQ(took, truth(hint)) << "seed " << seed << " step " << step;
    said += "\n  asked: " + c.value.str() +
            (order == 0   ? " < "
             : order == 1 ? " <= "
                          : " == ") +
            d.value.str() + (took ? ": yes" : ": no");
    branches.emplace_back(truth, took);
  }
  GuardSet set(env);
  ExprProgram program;
  std::vector<std::uint32_t> slots;
  for (const Node& n : nodes) slots.push_back(program.add(n.value));
  std::vector<std::int64_t> results(program.size());
  ASSERT_FALSE(set.first_miss(hint)) << "seed " << seed << ": " << set.explain(*set.first_miss(hint), hint);
  std::int64_t w[3];
  for (std::int64_t p : kHostile)
    for (std::int64_t q : kHostile)
      for (std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 44}) {
        w[0] = p, w[1] = q, w[2] = n;
        if (set.first_miss(w)) continue;
        ++admitted;
        for (const auto& [truth, took] : branches)
          ASSERT_EQ(truth(w), took) << "at " << p << " " << q << " " << n << " seed " << seed << said
                                    << guards_of(env, set);
        program.evaluate(w, results.data());
        for (std::size_t i = 0; i < nodes.size(); ++i)
          ASSERT_EQ(results[slots[i]], nodes[i].naive(w))
              << nodes[i].value << " at " << p << " " << q << " " << n << " seed " << seed;
      }
}

TEST(Soundness, WhatIsAdmittedWrapsAsPlainArithmeticDoes) {
  unsigned last = 3000;
  if (const char* seeds = std::getenv("SOUNDNESS_SEEDS")) last = static_cast<unsigned>(std::atoi(seeds));
  std::int64_t admitted = 0;
  for (unsigned seed = 0; seed < last; ++seed) {
    run_hostile(seed, admitted);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(admitted, 10 * static_cast<std::int64_t>(last));  // a guard set that admits nothing would be sound too
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
