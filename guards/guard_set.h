#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "guards/shape_env.h"

namespace reprise::guards {

/// The guards of one trace, compiled: word-against-constant, word-against-word, range, divisibility, and a general
/// ExprProgram for the rest. Checked in full on every call. Immutable; any thread.
class GuardSet {
 public:
  GuardSet() = default;
  /// Takes env's guards and its symbols' ranges; redundant ones are dropped. Those that ask for a word from number `words`
  /// on are left out: the set then admits more.
  explicit GuardSet(ShapeEnv& env, std::uint32_t words = UINT32_MAX);
  /// Index of the first guard that does not hold for this call, or nullopt. No allocation, no text.
  std::optional<std::uint32_t> first_miss(const std::int64_t* words) const noexcept;
  std::size_t size() const;
  /// What the call's words must at least be, one range for each word of which a check asks for one; of `most` such checks, the first ones.
  struct WordRange { std::uint32_t word; std::int64_t lo, hi; };
  std::vector<WordRange> word_ranges(std::size_t most) const;
  /// What a guard that does not hold is about: "arg 0 .size(0)", "1", "s0 != 1 where s0 = ...", "loop.cpp:41" (empty: nobody knows). Cold.
  struct Told { std::string names, seen, wanted, line; };
  Told told(std::uint32_t miss, const std::int64_t* words) const;
  /// "arg 0 .size(0) is 1, wanted s0 != 1; guard born at loop.cpp:41 (broadcast)". Cold.
  std::string explain(std::uint32_t miss, const std::int64_t* words) const;
  /// How far a call is from these guards: how many of them do not hold, and by how much its values are others than the traced ones there. Cold.
  struct Distance {
    std::uint32_t guards = 0;
    double values = 0;
    friend auto operator<=>(const Distance&, const Distance&) = default;
  };
  Distance distance(const std::int64_t* words) const;
  /// What the user can do about it, one phrase, which holds for such a call. Cold.
  std::string remedy(std::uint32_t miss) const;
  /// One guard as text: "s0 != 1  ; broadcast, loop.cpp:41". In order of checking.
  std::string text(std::uint32_t i) const;
  const std::string& condition(std::uint32_t i) const { return said_[i].condition; }
  const std::string& why(std::uint32_t i) const { return said_[i].why; }  ///< Guard::why

  /// The checks as they are carried out: words a and b, a number k. A general one asks slot a of program b, which must not be 0.
  enum CheckKind : std::uint8_t { kEqual, kUnequal, kAtLeast, kAtMost, kSameWords, kDivisible, kLowBitsZero, kGeneral };
  struct Check { std::uint8_t kind; std::uint32_t a, b; std::int64_t k; };
  const std::vector<Check>& checks() const { return checks_; }
  const std::vector<ExprProgram>& programs() const { return general_; }

 private:
  /// What one check is about, for people; stands at the check's index.
  struct Seen { std::uint32_t word; std::string symbol, name; std::int64_t hint; };
  struct Said { std::string condition, why; SourceLoc where; std::vector<Seen> symbols; };
  struct Candidate;
  static bool simple(const Expr* condition, Check& out);
  static bool holds(const Check&, const std::int64_t* words) noexcept;
  void take(ShapeEnv&, const Candidate&);
  std::vector<Check> checks_;
  struct Run { std::uint8_t kind; std::uint32_t begin, end; };
  std::vector<Run> runs_;              ///< of checks_: those of one kind that follow each other are gone through together
  std::vector<Said> said_;
  std::vector<ExprProgram> general_;   ///< each fits first_miss's array; a general check names program b and slot a
};

}  // namespace reprise::guards
