// Random programs of two or three features each, run eagerly and compiled on states that change from call to call.
// After each call everything that a caller can see is compared, derived, written, and compared again (check.cc).
//
// PAIRS_SECONDS (20), PAIRS_PROGRAMS (without a bound), PAIRS_SEED (0): how long, how many, from which; PAIRS_FAILURES
// (3) ends after so many; PAIRS_FEATURES="cond,tape": only these; PAIRS_TABLE=1 prints a count by pair; PAIRS_JSON=FILE
// writes programs, a line each.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/pairs/check.h"
#include "tests/pairs/known.h"

namespace reprise::pairs {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

std::vector<unsigned> chosen_features() {
  std::vector<unsigned> chosen;
  const char* v = std::getenv("PAIRS_FEATURES");
  const std::string only = v ? "," + std::string(v) + "," : "";
  for (unsigned f = 1; f < features().size(); ++f)
    if (only.empty() || only.find("," + std::string(features()[f].name) + ",") != std::string::npos)
      chosen.push_back(f);
  return chosen;
}

using Pairs = std::vector<std::pair<unsigned, unsigned>>;
/// Every pair of features.
Pairs all_pairs(const std::vector<unsigned>& chosen) {
  Pairs pairs;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    for (std::size_t j = i + 1; j < chosen.size(); ++j) pairs.emplace_back(chosen[i], chosen[j]);
  if (pairs.empty() && !chosen.empty()) pairs.emplace_back(chosen[0], chosen[0]);
  return pairs;
}

/// The features of a seed's program: pairs take turns, every third has one more.
std::vector<unsigned> features_of(std::uint64_t seed, const Pairs& pairs, const std::vector<unsigned>& chosen,
                                  std::mt19937& rng) {
  const auto [a, b] = pairs[(seed * 7919) % pairs.size()];
  std::vector<unsigned> drawn{a};
  if (b != a) drawn.push_back(b);
  const unsigned third = chosen[rng() % chosen.size()];
  if (rng() % 3 == 0 && third != a && third != b) drawn.push_back(third);
  std::shuffle(drawn.begin(), drawn.end(), rng);
  return drawn;
}

/// Of a failure: does a small difference of half types go when no kernels are fused? Fused code keeps float32 between
/// its operators, which shows where numbers cancel (docs/differences.md).
bool is_of_rounding(Program p, const std::vector<Call>& calls, const std::string& difference) {
  if (!p.has(kHalf) || difference.find(": element ") == std::string::npos ||
      difference.find("apart by 0.0") == std::string::npos || std::getenv("PAIRS_KNOWN_FAIL"))
    return false;
  p.mode = "no-fuse";
  Counts counts;
  return check(p, calls, counts).empty();
}

TEST(Pairs, EagerAndCompiledAgree) {
  const std::uint64_t first = from_environment("PAIRS_SEED", 0),
                      programs = from_environment("PAIRS_PROGRAMS", ~0ull - first);
  const std::uint64_t most_failures = from_environment("PAIRS_FAILURES", 3);
  const std::chrono::seconds budget(from_environment("PAIRS_SECONDS", std::getenv("PAIRS_PROGRAMS") ? 1'000'000 : 20));
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<unsigned> chosen = chosen_features();
  const Pairs pairs = all_pairs(chosen);
  std::map<std::pair<unsigned, unsigned>, Counts> by_pair;
  std::map<std::string, std::int64_t> known;
  Counts all;
  std::ofstream dump;
  if (const char* file = std::getenv("PAIRS_JSON")) dump.open(file);
  // Faults that need what an earlier program has left in the process: PAIRS_BEFORE is run first.
  const std::uint64_t before = from_environment("PAIRS_BEFORE", first);
  std::uint64_t failures = 0, seed = first;
  bool is_before = before != first;
  auto next = [&] { is_before ? void(is_before = false) : void(++seed); };
  for (; seed < first + programs && failures < most_failures && std::chrono::steady_clock::now() - begin < budget;
       next()) {
    const std::uint64_t drawn_by = is_before ? before : seed;
    std::mt19937 rng(static_cast<unsigned>(drawn_by));
    Program p = random_program(rng, features_of(drawn_by, pairs, chosen, rng), 3 + static_cast<int>(rng() % 4));
    std::vector<Call> calls = random_calls(rng, p);
    if (dump.is_open()) dump << json(p, calls, drawn_by) << std::endl;
    if (std::getenv("PAIRS_PRINT"))
      std::printf("seed %llu\n%s", static_cast<unsigned long long>(drawn_by), print(p, calls).c_str()),
          std::fflush(stdout);
    Counts counts;
    std::string d = check(p, calls, counts);
    all += counts;
    for (unsigned a : p.features)
      for (unsigned b : p.features)
        if (a < b || p.features.size() == 1) by_pair[{a, b}] += counts;
    if (d.empty()) continue;
    shrink(p, calls);
    Counts again;
    const std::string shrunk = check(p, calls, again), text = print(p, calls);
    if (const Known* k = known_kind(text, shrunk)) {
      ++known[k->name];
      continue;
    }
    if (is_of_rounding(p, calls, shrunk)) {
      ++known["values of half types that fused code rounds once, where they cancel"];
      continue;
    }
    ++failures;
    ADD_FAILURE() << "seed " << drawn_by << ": " << d << "\nshrunk: " << shrunk << "\n" << text;
  }
  std::printf(
      "%lld programs, %lld calls, %lld compiled, %lld refused by both, %lld writes, %lld walks, %lld derived twice, "
      "%lld prepared\n",
      static_cast<long long>(all.programs), static_cast<long long>(all.calls), static_cast<long long>(all.compiled),
      static_cast<long long>(all.refused), static_cast<long long>(all.writes), static_cast<long long>(all.derived),
      static_cast<long long>(all.derived_twice), static_cast<long long>(all.prepared));
  for (const auto& [name, n] : known)
    std::printf("known: %s: %lld programs\n", name.c_str(), static_cast<long long>(n));
  if (std::getenv("PAIRS_TABLE")) {
    for (const auto& [reason, n] : all.fallbacks)
      std::printf("%6lld served eagerly: %s\n", static_cast<long long>(n), reason.c_str());
    for (const auto& [pair, c] : by_pair)
      std::printf("%-16s %-16s %5lld programs %6lld calls %5.1f %% compiled\n", features()[pair.first].name,
                  features()[pair.second].name, static_cast<long long>(c.programs), static_cast<long long>(c.calls),
                  100.0 * static_cast<double>(c.compiled) / static_cast<double>(std::max<std::int64_t>(c.calls, 1)));
  }
  if (failures == most_failures) return;
  // Pairs take turns, so that each is drawn as often as the others; a pair of which nothing compiles tests nothing.
  const std::int64_t rounds = static_cast<std::int64_t>((seed - first) / pairs.size());
  constexpr std::int64_t kEnough = 10;
  constexpr double kCompiled = 0.1;
  for (const auto& pair : pairs) {
    const Counts& c = by_pair[pair];
    const std::string name = std::string(features()[pair.first].name) + " and " + features()[pair.second].name;
    EXPECT_GE(c.programs, rounds) << name;
    if (c.programs >= kEnough) {
      EXPECT_GE(static_cast<double>(c.compiled), kCompiled * static_cast<double>(c.calls))
          << name << " is hardly ever compiled";
    }
  }
  EXPECT_GT(all.calls, 3 * all.refused);
}

}  // namespace
}  // namespace reprise::pairs
