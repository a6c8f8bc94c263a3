#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "guards/expr.h"
#include "reprise/small_vector.h"

namespace reprise::guards {

/// A product of atoms (symbols, divisions, minima ...), sorted by id; empty is the number one.
using Monomial = SmallVec<const Expr*, 2>;

/// Sum of coefficient * monomial, sorted, no zero coefficients: equal polynomials are equal vectors. This is what makes
/// the expressions canonical. It stands for a mathematical integer, not for one of 64 bits: where a coefficient does
/// not fit 64 bits, `exact` is false, the coefficient is right modulo 2^64 only, and nothing may be concluded from the
/// polynomial.
struct Polynomial {
  struct Term {
    Monomial atoms;
    std::int64_t coefficient;
  };
  std::vector<Term> terms;
  bool exact = true;

  template <class Atoms>
  static bool before(const Atoms& a, const Atoms& b) {
    // Longer products first, then by age: constants stand last.
    if (a.size() != b.size()) return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const Expr* x, const Expr* y) { return x->id() < y->id(); });
  }
  void add(const Monomial& m, std::int64_t c) {
    if (terms.capacity() == 0) terms.reserve(4);  // few have more
    auto it = std::lower_bound(terms.begin(), terms.end(), m,
                               [](const Term& t, const Monomial& k) { return before(t.atoms, k); });
    if (it != terms.end() && it->atoms == m) {
      exact = !__builtin_add_overflow(it->coefficient, c, &it->coefficient) && exact;
      if (it->coefficient == 0) terms.erase(it);
    } else if (c != 0) {
      terms.insert(it, Term{m, c});
    }
  }
  void add(const Polynomial& p, std::int64_t factor) {
    exact = exact && p.exact;
    for (const Term& t : p.terms) add(t.atoms, product(t.coefficient, factor));
  }
  Polynomial times(const Polynomial& p) const {
    Polynomial out;
    out.exact = exact && p.exact;
    for (const Term& a : terms)
      for (const Term& b : p.terms) {
        Monomial m;
        std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), std::back_inserter(m),
                   [](const Expr* x, const Expr* y) { return x->id() < y->id(); });
        out.add(m, out.product(a.coefficient, b.coefficient));
      }
    return out;
  }
  std::int64_t constant() const { return !terms.empty() && terms.back().atoms.empty() ? terms.back().coefficient : 0; }
  /// Greatest common divisor of the coefficients of the terms that are not constant; 0 if there are none.
  std::int64_t content() const {
    std::int64_t g = 0;
    for (const Term& t : terms)
      if (!t.atoms.empty()) g = gcd(g, t.coefficient);
    return g;
  }
  Polynomial minus(const Polynomial& p) const {
    Polynomial out = *this;
    out.add(p, -1);
    return out;
  }

  /// a * b as a coefficient of this polynomial.
  std::int64_t product(std::int64_t a, std::int64_t b) {
    exact = !__builtin_mul_overflow(a, b, &a) && exact;
    return a;
  }

  /// std::gcd without its undefined case: 2^63 is not representable, and 1 divides as well.
  static std::int64_t gcd(std::int64_t a, std::int64_t b) {
    return a == INT64_MIN || b == INT64_MIN ? 1 : std::gcd(a, b);
  }

  static std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};

}  // namespace reprise::guards
