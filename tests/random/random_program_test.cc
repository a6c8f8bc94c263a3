// Random programs run eagerly and compiled, on sizes, layouts and sharing that change between calls. Everything a
// caller can see must be the same (compare.h): values, strides, who shares storage with whom, handles, versions, errors
// and what they leave. Then every result and argument is written through, and everything is compared again.
//
// Every eighth program also under other settings of the thread, which change from call to call (FUZZ_SETTINGS=1: all of
// them). Every sixteenth with patterns registered that exchange what comes to the same (FUZZ_PATTERNS=1: all of them).
// Every eighth is compiled with the images of its convolutions channels last, wherever they may be
// (FUZZ_CHANNELS_LAST=1: all of them). Every eighth is called with another layout each time (FUZZ_LAYOUTS=1: all of
// them). Of every sixteen, one is compared with the traced program (REPRISE_VERIFY=2) and one runs beside the function
// at every call (REPRISE_CHECK=1), unless the environment asks for one of these or for proofs: then all do.
// FUZZ_SECONDS ends before that many programs were drawn, a quarter of it for sizes of data.
// FUZZ_PROGRAMS (2,000) and FUZZ_SEED (0) run more, or one again; FUZZ_MODE one rung of the ladder; FUZZ_FAILURES (3)
// ends after so many; FUZZ_FAMILIES=1 draws mostly steps of the families of operators; every eighth is called with some
// of its arguments frozen, some of them written from outside between calls (FUZZ_FREEZE=1: all of them); FUZZ_OPEN=1
// draws the steps, too, that find what is known and not mended yet (kOpen). 100,000 before a release:
// FUZZ_PROGRAMS=100000 FUZZ_SEED=1000000 build/tests/test_random. A failing program is shrunk and printed as C++ that
// compiles on its own.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/bail.h"
#include "base/knobs.h"
#include "passes/layouts.h"
#include "passes/registered.h"
#include "reprise/patterns.h"
#include "tests/random/compare.h"
#include "tests/random/needed.h"
#include "tests/random/program.h"

namespace reprise::fuzz {
namespace {

// How far a float may be off, relative to the largest of its tensor. Fused reductions may be added up in another order;
// everything else is equal bit for bit, but for half precision, where a fused chain keeps float32 between its
// operators, and the reference interpreter, which takes tanh and the like from the C library.
double tolerance(const Program& p, const std::string& mode) {
  return p.has(kSums) ? 2e-5 : p.has(kHalf) ? 2e-2 : mode == "interpret" ? 2e-6 : 0;
}

// What may be served eagerly, and how many of a million calls: a bound on each, so that none grows unseen. Any other
// reason fails.
struct Allowance {
  Bail reason;
  std::int64_t of_a_million;
};
constexpr Allowance kAllowances[] = {
    {Bail::branch_throws, 5'000},     // one that the call does not take, of cond
    {Bail::branch_overlaps, 5'000},   // it writes to a part of what overlaps itself
    {Bail::branch_may_fail, 15'000},  // on a device
    {Bail::part_of_storage, 5'000},   // a storage grows, and all arguments leave it
    {Bail::catches_error, 25'000},    // which values decide, and no replay sees
};

/// While it lives, patterns are registered whose replacements give the same, bit for bit, in another way. What is
/// exchanged is found in every other program, with its operands written, returned and read elsewhere, and must change
/// nothing that can be seen.
struct Patterns {
  Patterns() {
    using T = const Tensor&;
    std::vector<std::tuple<Tensor, Tensor>> two;
    std::vector<std::tuple<Tensor>> one, floats;
    for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt32})
      for (const Ints& sizes : {Ints{3}, Ints{2, 3}, Ints{2, 3, 4}}) {
        two.emplace_back(zeros(sizes, {.dtype = t}), zeros(sizes, {.dtype = t}));
        one.emplace_back(zeros(sizes, {.dtype = t}));
        if (is_floating(t)) floats.push_back(one.back());
      }
    add(
        "sub", [](T a, T b) { return a - b; }, [](T a, T b) { return a + b.neg(); }, two);
    add(
        "mul_add", [](T a, T b) { return std::pair(a * b + a, a * b); },
        [](T a, T b) {
          Tensor m = b * a;
          return std::pair(a + m, m);
        },
        two);
    add(
        "mul", [](T a, T b) { return a * b; }, [](T a, T b) { return a.clone().mul_(b); }, two);
    add(
        "neg", [](T a) { return neg(a); }, [](T a) { return a.view({-1}).neg().view(a.sizes()); }, floats);
    add(
        "add_in_place", [](T a, T b) { a.add_(b); }, [](T a, T b) { a.copy_(b + a); }, two);
    add(
        "abs", [](T a) { return abs(a); }, [](T a) { return abs(abs(a)); }, one);
  }
  ~Patterns() {
    for (const char* n : names) unregister_pattern(n);
  }
  template <class... A>
  void add(const char* name, A&&... rest) {
    register_pattern(name, std::forward<A>(rest)...);
    names.push_back(name);
  }
  std::vector<const char*> names;
};

/// While it lives, convolutions would pay for anything but channels last (Note [Layouts] in passes/layouts.cc).
struct ChannelsLast {
  static constexpr const char* kName = "fuzz_channels_last";
  ChannelsLast() {
    passes::register_pass({kName,
                           {passes::Place::Point::Before, "layouts"},
                           [](graph::Graph& g) {
                             passes::PassRecord record;
                             return passes::layouts(g, record, [](const graph::Graph&, const graph::Node&, bool) {
                               return passes::LayoutCost{std::int64_t{1} << 40, 0};
                             });
                           },
                           {.normal_form = true}});
  }
  ~ChannelsLast() { passes::unregister_pass(kName); }
};

/// Compiled behind the calls' backs: every other one waits until that is done.
constexpr const char* kMeanwhile = "meanwhile";

/// What is done around a program's calls.
struct How {
  bool other_settings = false, freezes = false;
};

/// Compiled code that is compared while it runs: of some seeds, where the environment asks for nothing.
struct Watched {
  explicit Watched(std::uint64_t seed)
      : verify(knobs().verify, !asked() && seed % 16 == 6 ? 2 : knobs().verify),
        check(knobs().check, !asked() && seed % 16 == 12 ? 1 : knobs().check) {}

 private:
  static bool asked() {
    static const bool by_environment = knobs().validate || knobs().verify > 1 || knobs().check;
    return by_environment;
  }
  Scoped<std::int64_t> verify, check;
};

struct Tally {
  std::int64_t matches = 0;
  std::int64_t compared = 0, refused = 0, compilations = 0;
  std::map<Bail, std::int64_t> fallbacks;
  std::int64_t of_data = 0;  ///< served eagerly for what depends on data
  Needed needed;
};

/// One function, called eagerly and compiled with equal arguments.
class Pair {
 public:
  Pair(const Program& p, const std::string& mode, How how, Tally& tally)
      : p_(p), allowed_(tolerance(p, mode)), other_settings_(how.other_settings), freezes_(how.freezes), tally_(tally),
        compiled_([&p, this](Arguments a) { return run(p, a, got_.captured); },
                  {.name = "random",
                   .max_specializations = 64,
                   .mode = mode == kMeanwhile ? "full" : mode,
                   .on_miss = mode == kMeanwhile ? OnMiss::ServeMeanwhile : OnMiss::Wait,
                   .freeze = how.freezes ? Freeze::Captured : Freeze::Declared}) {}
  ~Pair() {
    tally_.compilations += compiled_.stats().compilations;
    if (compiled_.stats().specializations > 1) tally_.needed.add(compiled_.explain());
    else tally_.needed.specializations += compiled_.stats().specializations;
    for (const Stats::Match& m : compiled_.stats().matches) tally_.matches += m.matches;
  }

  /// Empty when they agree; otherwise what differs.
  std::string call(const Call& c) {
    // Numbers with a point among integers are then of more digits.
    const DefaultDTypeScope setting(other_settings_ && set_++ % 2 ? kFloat64 : kFloat32);
    const bool again = c.again && want_.arguments.x.defined();
    if (!again) want_ = make_arguments(c), got_ = make_arguments(c);
    if (freezes_) freeze_some(c, again);
    std::optional<Outcome> want, got;
    std::optional<ErrorCode> want_error;
    const std::vector<Version> want_versions = versions_of(want_.all()), got_versions = versions_of(got_.all());
    try {
      want = run(p_, want_.arguments, want_.captured);
    } catch (const Error& e) {
      want_error = e.code();
    }
    if (begun_++ % 2) compiled_.wait();
    const Stats before = compiled_.stats();
    try {
      got = compiled_(got_.arguments);
    } catch (const Error& e) {
      if (!want_error) return std::string("only compiled throws: ") + e.what();
      if (*want_error != e.code())
        return "eager throws " + std::string(error_code_name(*want_error)) + ", compiled " + e.what();
    }
    if (want_error && got) return std::string("only eager throws ") + std::string(error_code_name(*want_error));
    const Stats after = compiled_.stats();
    const bool eagerly = after.eager_fallbacks != before.eager_fallbacks;
    if (eagerly)
      if (std::string d = allow(before, after); !d.empty()) return d;
    if (want_error) {
      ++tally_.refused;
      std::string d;
      // A program that fails half-way has written some arguments eagerly; compiled, none of them.
      if (!eagerly && !again) {
        Given unwritten = make_arguments(c);
        d = difference(seen({}, unwritten.all(), versions_of(unwritten.all())), seen({}, got_.all(), got_versions), 0);
      }
      want_ = got_ = Given();
      return d.empty() ? d : "after an error, " + d;
    }
    ++tally_.compared;
    std::vector<bool> parts;
    for (unsigned r : p_.results) parts.push_back(p_.may_be_part(r));
    const Seen w = seen(want->tensors, want_.all(), want_versions, parts),
               g = seen(got->tensors, got_.all(), got_versions, parts);
    if (std::string d = difference(w, g, allowed_); !d.empty()) return d;
    if (want->number.value() != got->number.value())
      return "number: eager " + want->number.str() + ", compiled " + got->number.str();
    return difference_after_writes(w, g, allowed_, calls_++ == 0);
  }

 private:
  /// Which arguments are frozen follows from the call. One of them is written between two calls.
  void freeze_some(const Call& c, bool again) {
    const std::vector<Tensor> all = got_.all();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (c.data >> i & 1) freeze(all[i]);
    if (!again || !want_.arguments.y.is_floating_point()) return;
    for (Given* g : {&want_, &got_}) try {
        g->arguments.y.mul_(0.5);
      } catch (const Error&) {  // it shows an element twice
      }
  }
  /// Empty if the reason for which the call between the two was served eagerly may be one.
  std::string allow(const Stats& before, const Stats& after) {
    auto count = [](const Stats& s, Bail b) {
      for (const Stats::Fallback& f : s.fallbacks)
        if (f.reason == std::string_view(bail_name(b))) return f.calls;
      return std::int64_t{0};
    };
    if (count(after, Bail::compiled_meanwhile) != count(before, Bail::compiled_meanwhile)) return "";
    for (const Allowance& a : kAllowances)
      if (count(after, a.reason) != count(before, a.reason)) {
        ++tally_.fallbacks[a.reason];
        return "";
      }
    // What C++ decides by a size, or operators require of one.
    for (Bail b : {Bail::asks_of_data, Bail::reads_value, Bail::data_decides, Bail::replay_throws, Bail::throws})
      if (p_.of_data() && count(after, b) != count(before, b)) {
        ++tally_.of_data;
        return "";
      }
    return "served eagerly: " + after.last_fallback_reason;
  }

  const Program& p_;
  const double allowed_;
  const bool other_settings_, freezes_;
  Tally& tally_;
  Given want_, got_;
  int calls_ = 0, set_ = 0, begun_ = 0;
  decltype(compile(std::declval<std::function<Outcome(Arguments)>>())) compiled_;
};

std::string check(const Program& p, const std::vector<Call>& calls, const std::string& mode, How how, Tally& tally) {
  Pair pair(p, mode, how, tally);
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (std::string d = pair.call(calls[i]); !d.empty())
      return "call " + std::to_string(i) + " (" + calls[i].str() + "): " + d;
  return "";
}

/// Drops calls, steps (a dropped one gives its operand) and results while the program still fails.
void shrink(Program& p, std::vector<Call>& calls, const std::string& mode, How how) {
  auto fails = [&](const Program& q, const std::vector<Call>& c) {
    Tally tally;
    try {
      return !check(q, c, mode, how, tally).empty();
    } catch (const std::exception&) {
      return true;
    }
  };
  for (std::size_t i = calls.size(); i-- > 0;) {
    std::vector<Call> fewer = calls;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fewer.empty() && fails(p, fewer)) calls = fewer;
  }
  for (std::size_t i = p.steps.size(); i-- > 0;) {
    Program smaller = p;
    smaller.steps[i].row = Step::kDropped;
    if (fails(smaller, calls)) p = smaller;
  }
  for (std::size_t i = p.results.size(); i-- > 0;) {
    Program smaller = p;
    smaller.results.erase(smaller.results.begin() + static_cast<std::ptrdiff_t>(i));
    if (fails(smaller, calls)) p = smaller;
  }
  for (Call& c : calls) {
    const Call before = c;
    for (int* size : {&c.n, &c.m, &c.k})
      for (int smaller : {2, 3})
        if (const int had = *size; smaller < had) {
          *size = smaller;
          if (fails(p, calls)) break;
          *size = had;
        }
    c.again = false;
    if (!fails(p, calls)) c.again = before.again;
  }
}

/// A part of FUZZ_SECONDS.
class Budget {
 public:
  explicit Budget(double part) {
    if (const char* v = std::getenv("FUZZ_SECONDS"))
      end_ = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(std::strtod(v, nullptr) * part * 1000));
  }
  bool left() const { return !end_ || Clock::now() < *end_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end_;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

TEST(RandomPrograms, EagerAndCompiledAgree) {
  const std::uint64_t first = from_environment("FUZZ_SEED", 0), count = from_environment("FUZZ_PROGRAMS", 2000);
  const std::uint64_t most_failures = from_environment("FUZZ_FAILURES", 3);
  // Half of the programs through machine code, the others through the cheaper ladders that share tracing, guards,
  // lowering and epilogues with it.
  static const char* const modes[] = {"full", "interpret", "full", "no-fuse"};
  const char* forced = std::getenv("FUZZ_MODE");
  Tally tally;
  std::uint64_t failures = 0;
  const Budget budget(0.75);
  for (std::uint64_t seed = first; seed < first + count && failures < most_failures && budget.left(); ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    Program p = random_program(rng, 3 + static_cast<int>(seed % 9));
    std::vector<Call> calls = random_calls(rng, p, seed % 16 == 3 || seed % 16 == 8 || std::getenv("FUZZ_LAYOUTS"));
    const std::string mode = forced ? forced : seed % 32 == 14 ? kMeanwhile : modes[seed % 4];
    const How how{seed % 8 == 5 || std::getenv("FUZZ_SETTINGS"), seed % 8 == 2 || std::getenv("FUZZ_FREEZE")};
    const Watched watched(seed);
    std::optional<Patterns> patterns;
    if (seed % 16 == 9 || std::getenv("FUZZ_PATTERNS")) patterns.emplace();
    std::optional<ChannelsLast> last;
    if (seed % 8 == 4 || std::getenv("FUZZ_CHANNELS_LAST")) last.emplace();
    const std::string d = check(p, calls, mode, how, tally);
    if (d.empty()) continue;
    ++failures;
    shrink(p, calls, mode, how);
    Tally again;
    ADD_FAILURE() << "seed " << seed << " mode " << mode << ": " << d
                  << "\nshrunk: " << check(p, calls, mode, how, again)
                  << (how.other_settings ? " (every other call under DefaultDTypeScope(kFloat64))" : "")
                  << (patterns ? " (with patterns)" : "") << (how.freezes ? " (with frozen arguments)" : "")
                  << (last ? " (channels last)" : "") << "\n"
                  << print(p, calls);
  }
  std::printf("%lld calls compared, %lld refused by both, %lld compilations, %lld matches of patterns\n",
              static_cast<long long>(tally.compared), static_cast<long long>(tally.refused),
              static_cast<long long>(tally.compilations), static_cast<long long>(tally.matches));
  const Needed& needed = tally.needed;
  std::printf("%lld specializations, %lld of them as one before, %lld but for layouts\n",
              static_cast<long long>(needed.specializations), static_cast<long long>(needed.twice),
              static_cast<long long>(needed.but_for_layouts));
  for (const auto& [why, n] : needed.asked_by)
    std::printf("  %lld as one before: %s\n", static_cast<long long>(n), why.empty() ? "no other guard" : why.c_str());
  // What the model of needed.h holds against compilations: a bound, so that it grows no more unseen.
  constexpr double kTwice = 0.03, kButForLayouts = 0.09;
  if (const double made = static_cast<double>(needed.specializations); made >= 1000 && !std::getenv("FUZZ_LAYOUTS")) {
    EXPECT_LE(static_cast<double>(needed.twice), kTwice * made + 3 * std::sqrt(kTwice * made))
        << "compiled again for the same";
    EXPECT_LE(static_cast<double>(needed.but_for_layouts), kButForLayouts * made + 3 * std::sqrt(kButForLayouts * made))
        << "compiled again for another layout";
  }
  const std::int64_t calls = tally.compared + tally.refused;
  for (const Allowance& a : kAllowances) {
    const std::int64_t n = tally.fallbacks[a.reason];
    std::printf("%lld served eagerly (%.2f %%): %s\n", static_cast<long long>(n),
                100.0 * static_cast<double>(n) / static_cast<double>(std::max<std::int64_t>(calls, 1)),
                bail_name(a.reason));
    if (calls >= 2000) {
      const double expected = static_cast<double>(a.of_a_million * calls) * 1e-6;
      EXPECT_LE(static_cast<double>(n), expected + 3 * std::sqrt(expected))
          << "served eagerly more often than they were: " << bail_name(a.reason);
    }
  }
  // A generator that writes nonsense would make this test pass for nothing.
  EXPECT_GT(tally.compared, 3 * tally.refused);
}

// The same with sizes and numbers that depend on data. Bounds that operators ask for end many traces; what is compiled
// must be right.
TEST(RandomPrograms, EagerAndCompiledAgreeOnSizesOfData) {
  const std::uint64_t first = from_environment("FUZZ_SEED", 0), count = from_environment("FUZZ_PROGRAMS", 2000) / 4;
  const std::uint64_t most_failures = from_environment("FUZZ_FAILURES", 3);
  static const char* const modes[] = {"full", "full", "interpret", "full", "no-fuse"};
  const char* forced = std::getenv("FUZZ_MODE");
  Tally tally;
  std::uint64_t failures = 0;
  const Budget budget(0.25);
  for (std::uint64_t seed = first; seed < first + count && failures < most_failures && budget.left(); ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed) ^ 0xda7a);
    Program p = random_program(rng, 2 + static_cast<int>(seed % 6), true);
    std::vector<Call> calls = random_calls(rng, p, seed % 16 == 3);
    const std::string mode = forced ? forced : modes[seed % 5];
    const Watched watched(seed);
    const std::string d = check(p, calls, mode, {}, tally);
    if (d.empty()) continue;
    ++failures;
    shrink(p, calls, mode, {});
    Tally again;
    ADD_FAILURE() << "seed " << seed << " mode " << mode << ": " << d
                  << "\nshrunk: " << check(p, calls, mode, {}, again) << "\n"
                  << print(p, calls);
  }
  std::printf(
      "%lld calls compared, %lld refused by both, %lld compilations, %lld served eagerly for what depends on data\n",
      static_cast<long long>(tally.compared), static_cast<long long>(tally.refused),
      static_cast<long long>(tally.compilations), static_cast<long long>(tally.of_data));
  EXPECT_GT(tally.compared, 2 * tally.of_data);
}

}  // namespace
}  // namespace reprise::fuzz
