#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "guards/guard_set.h"
#include "guards/shape_env.h"

namespace reprise::validate {

/// What the proof cannot speak of: a number that 128 bits do not hold, an operation that it does not know.
struct Unsupported {
  std::string what;
};

using Wide = __int128;
using AtomId = std::uint32_t;
std::string to_string(Wide);

/// A sum of products of atoms. Written apart from guards/polynomial.h, which is what shall be proved right.
struct Poly {
  std::map<std::vector<AtomId>, Wide> terms;  ///< atoms sorted; no zero coefficients

  Poly() = default;
  Poly(Wide constant) {
    if (constant != 0) terms[{}] = constant;
  }
  void add(const std::vector<AtomId>&, Wide);
  friend Poly operator+(const Poly&, const Poly&);
  friend Poly operator-(const Poly&, const Poly&);
  friend Poly operator*(const Poly&, const Poly&);
  bool operator==(const Poly&) const = default;
  bool operator<(const Poly& o) const { return terms < o.terms; }
  bool is_constant() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()); }
  Wide constant() const;
};

/// What is not a sum or a product. A quotient is 0 where the divisor is, as the code computes it; a remainder is
/// spelled with the quotient.
struct Atom {
  enum class Kind : std::uint8_t { Word, Div, Mod, Min, Max, Wrap, Float } kind;
  std::uint32_t what = 0;  ///< Word: which; Float: its ExprKind
  Poly a, b;
  bool operator<(const Atom& o) const { return std::tie(kind, what, a, b) < std::tie(o.kind, o.what, o.a, o.b); }
};

struct Formula;
using FormulaPtr = std::shared_ptr<const Formula>;
struct Formula {
  enum class Kind : std::uint8_t { True, False, AtMostZero, IsZero, And, Or, Not, Float } kind;
  Poly p{};                ///< AtMostZero, IsZero: of it. Float: the left operand
  Poly q{};                ///< Float: the right operand
  std::uint32_t what = 0;  ///< Float: its ExprKind
  FormulaPtr a{}, b{};
};
FormulaPtr truth(bool);
FormulaPtr at_most_zero(Poly);
FormulaPtr is_zero(Poly);
FormulaPtr both(FormulaPtr, FormulaPtr);
FormulaPtr either(FormulaPtr, FormulaPtr);
FormulaPtr negation(const FormulaPtr&);
bool equal(const Formula&, const Formula&);
struct Before {
  bool operator()(const FormulaPtr&, const FormulaPtr&) const;  ///< some order, the same for equal ones
};

/// What is known of the words of a call, in the form in which it can be looked up.
struct Bounds {
  static constexpr Wide kNone = Wide{1} << 100;
  Wide lo = -kNone, hi = kNone;
};

/// An expression's value, or whether a condition holds.
struct Meaning {
  std::optional<Poly> number;
  FormulaPtr condition;  ///< where there is no number
};

/// The mathematics of a guard set and of what is said under it. Interns atoms; knows bounds of words and equalities
/// between them, of which it makes use as it writes things down. One thread.
class Terms {
 public:
  // ---- first: what is known of words
  void bound(std::uint32_t word, Wide lo, Wide hi);
  void equal(std::uint32_t word, const Poly&);  ///< the word is that from now on, written of other words
  Poly again(const Poly&);                      ///< with what has become known since it was written down
  FormulaPtr again(const FormulaPtr&);
  /// The word is some times that. What it is times is a word of its own, which no call has.
  void divisible(std::uint32_t word, Wide by);
  static constexpr std::uint32_t kMadeWords = 1u << 30;
  const std::map<std::uint32_t, Poly>& equalities() const { return equal_; }
  /// The distinct words of one tensor's sizes, whose product is at most that, zeros taken as ones.
  void group(const std::vector<std::uint32_t>& words, Wide at_most);

  // ---- then: writing down
  Poly word(std::uint32_t);
  Poly div(const Poly&, const Poly&);
  Poly mod(const Poly&, const Poly&);
  Poly extreme(bool least, const Poly&, const Poly&);
  Poly wrap(const Poly&);
  FormulaPtr fits(const Poly&) const;
  Meaning of(const guards::Expr*);
  Meaning of(guards::ExprKind, const std::vector<const guards::Expr*>&);
  Poly number(const guards::Expr* e) { return number(of(e)); }
  Poly number(Int i) { return i.is_symbolic() ? number(i.expr()) : Poly(i.hint()); }
  FormulaPtr condition(const guards::Expr* e) { return condition(of(e)); }
  FormulaPtr condition(const guards::GuardSet&, const guards::GuardSet::Check&);
  /// All slots of a program.
  std::vector<Meaning> of(const guards::ExprProgram&);
  static Poly number(const Meaning&);
  static FormulaPtr condition(const Meaning&);

  // ---- asking, quickly
  Bounds bounds(const Poly&) const;
  bool nonnegative(const Poly&) const;  ///< known to be
  /// k, where the first is n / (k*d) and the second n / d, with n >= 0, d >= 1 and k >= 1.
  std::optional<Poly> coarser(AtomId, AtomId) const;
  /// Something that is at least as much, with no quotient in it of which that can be said.
  std::optional<Poly> without_quotients(const Poly&) const;
  /// The same of least numbers, each by the first of its two or by the second.
  Poly without_minima(const Poly&, bool first) const;
  const Atom& atom(AtomId i) const { return *atoms_[i]; }
  std::size_t atoms() const { return atoms_.size(); }
  Bounds bounds_of(AtomId) const;
  std::optional<Poly> equal_to(std::uint32_t word) const;
  struct Group {
    std::vector<std::uint32_t> words;
    Wide at_most;
  };
  const std::vector<Group>& groups() const { return groups_; }
  std::string text(const Poly&) const;
  std::string text(const Formula&) const;

  /// More bounds for as long as a question needs them, by word.
  std::map<std::uint32_t, Wide> at_least;

 private:
  AtomId intern(Atom);
  /// An operation on doubles (bits of 64 each): its number where the operands are numbers.
  Poly float_of(std::uint32_t kind, Poly a, Poly b);
  FormulaPtr float_condition(guards::ExprKind, Poly a, Poly b);
  Poly atom_of(Atom a) {
    Poly p;
    p.terms[{intern(std::move(a))}] = 1;
    return p;
  }
  std::uint32_t made_ = kMadeWords;
  std::map<std::uint32_t, Bounds> bounds_;
  std::map<std::uint32_t, Poly> equal_;
  std::vector<Group> groups_;
  std::map<Atom, AtomId> ids_;
  std::vector<const Atom*> atoms_;
  std::unordered_map<const guards::Expr*, Meaning> meaning_;
  std::map<std::pair<const guards::ExprProgram*, int>, std::vector<Meaning>> programs_;
};

}  // namespace reprise::validate
