#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/words.h"
#include "guards/shape_env.h"

namespace reprise::guards {

/// The guards of one trace, compiled: word-against-constant, word-against-word, range, divisibility, and a general
/// ExprProgram for the rest. Checked in full on every call. Immutable; any thread.
class GuardSet {
 public:
  GuardSet() = default;
  /// Takes env's guards and its symbols' ranges; redundant ones are dropped. Those that ask for a word from number
  /// `words` on are left out: the set then admits more.
  explicit GuardSet(ShapeEnv& env, std::uint32_t words = UINT32_MAX);
  /// The same where another process has found which of them say something: kept() of a set that was made of the same
  /// guards. Proves nothing.
  GuardSet(ShapeEnv& env, const std::vector<std::uint32_t>& kept);
  /// By their numbers, what was declared of symbols first: those that are checked. Ascending.
  const std::vector<std::uint32_t>& kept() const { return kept_; }
  /// Do all of them hold for this call? No allocation, no text.
  bool hold(const std::int64_t* words) const noexcept { return is_short() ? short_hold(words) : more_hold(words); }
  /// Is short_hold() all that hold() is? It calls nothing.
  bool is_short() const noexcept { return !more_; }
  [[gnu::always_inline]] bool short_hold(const std::int64_t* words) const noexcept;
  /// Index of the first guard that does not hold for this call, or nullopt: exactly where hold() is true. Likewise.
  std::optional<std::uint32_t> first_miss(const std::int64_t* words) const noexcept;
  std::size_t size() const;
  /// What the call's words must at least be, one range for each word of which a check asks for one; of `most` such
  /// checks, the first ones.
  struct WordRange {
    std::uint32_t word;
    std::int64_t lo, hi;
  };
  std::vector<WordRange> word_ranges(std::size_t most) const;
  /// What a guard that does not hold is about: "arg 0 .size(0)", "1", "s0 != 1 where s0 = ...", "loop.cpp:41" (empty:
  /// nobody knows). Cold.
  struct Told {
    std::string names, seen, wanted, line;
  };
  Told told(std::uint32_t miss, const std::int64_t* words) const;
  /// "arg 0 .size(0) is 1, wanted s0 != 1; guard born at loop.cpp:41 (broadcast)". Cold.
  std::string explain(std::uint32_t miss, const std::int64_t* words) const;
  /// How far a call is from these guards: how many of them do not hold, and by how much its values are others than the
  /// traced ones there. Cold.
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

  /// The checks as they are carried out: words a and b, a number k. A general one asks slot a of program b, which must
  /// not be 0.
  enum CheckKind : std::uint8_t { kEqual, kUnequal, kAtLeast, kAtMost, kSameWords, kDivisible, kLowBitsZero, kGeneral };
  struct Check {
    std::uint8_t kind;
    std::uint32_t a, b;
    std::int64_t k;
  };
  const std::vector<Check>& checks() const { return checks_; }
  const std::vector<ExprProgram>& programs() const { return general_; }

 private:
  // What checks_ ask, as hold() asks it (Note [Blocks of words]): first, and in one piece, because every call looks at
  // it.
  /// each a head; then of the first equal_ ones the numbers that the words must be, of others the word from which on
  /// are those that they must be
  std::vector<std::int64_t> blocks_;
  std::uint32_t equal_ = 0, same_ = 0;     ///< how many there are of each
  bool more_ = false;                      ///< a block is long, or there is something in these two
  std::vector<Check> rest_;                ///< of one word each, and not whether it is a number
  std::vector<std::uint32_t> conditions_;  ///< general checks, by their indices
  std::vector<Check> checks_;

  void find_blocks();
  /// Do the blocks hold? same(a, b, n): are these words the same?
  template <class Same>
  [[gnu::always_inline]] bool blocks_hold(const std::int64_t* words, const Same& same) const noexcept;
  bool more_hold(const std::int64_t* words) const noexcept;
  /// of the general ones; the others hold
  std::optional<std::uint32_t> first_condition(const std::int64_t* words) const noexcept;
  /// What one check is about, for people; stands at the check's index.
  struct Seen {
    std::uint32_t word;
    std::string symbol, name;
    std::int64_t hint;
  };
  struct Said {
    std::string condition, why;
    SourceLoc where;
    std::vector<Seen> symbols;
  };
  struct Candidate;
  struct Candidates;
  static void find_needed(ShapeEnv&, Candidates&);
  void take_needed(ShapeEnv&, const Candidates&);
  static bool simple(const Expr* condition, Check& out);
  static bool holds(const Check&, const std::int64_t* words) noexcept;
  void take(ShapeEnv&, const Candidate&);
  std::vector<Said> said_;
  std::vector<std::uint32_t> kept_;
  std::vector<ExprProgram> general_;  ///< each fits first_miss's array; a general check names program b and slot a
};

template <class Same>
inline bool GuardSet::blocks_hold(const std::int64_t* w, const Same& same) const noexcept {
  const std::int64_t* at = blocks_.data();
  for (std::uint32_t i = equal_; i > 0; --i) {
    const auto head = static_cast<std::uint64_t>(*at++);
    const auto count = static_cast<std::uint32_t>(head >> 32);
    if (!same(w + static_cast<std::uint32_t>(head), at, count)) return false;
    at += count;
  }
  for (std::uint32_t i = same_; i > 0; --i, at += 2) {
    const auto head = static_cast<std::uint64_t>(*at);
    if (!same(w + static_cast<std::uint32_t>(head), w + at[1], static_cast<std::uint32_t>(head >> 32))) return false;
  }
  return true;
}

inline bool GuardSet::short_hold(const std::int64_t* w) const noexcept {
  return blocks_hold(
      w, [](const std::int64_t* a, const std::int64_t* b, std::size_t n)
             __attribute__((always_inline)) { return few_words_same(a, b, n); });
}

}  // namespace reprise::guards
