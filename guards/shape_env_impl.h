#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guards/polynomial.h"
#include "guards/shape_env.h"

namespace reprise::guards {

/// What stands behind a ShapeEnv: the interning table, the facts that guards have taught, and caches of what was derived.
struct ShapeEnv::Impl {
  // ---- interning
  std::deque<Expr> exprs;                                  // stable addresses
  std::deque<std::vector<const Expr*>> arg_lists;
  std::unordered_multimap<std::uint64_t, const Expr*> table;
  std::unordered_map<std::string, const Expr*> by_name;    // symbols made by symbol_named

  std::mutex after_freeze;                                 // guards the table once the trace is over

  // ---- facts, from guards; each is a canonical boolean known to hold
  std::unordered_set<const Expr*> known_true;
  std::vector<Polynomial> nonpositive;                     // p <= 0
  struct Divides { const Expr* value; std::int64_t by; };
  std::vector<Divides> divides;                            // value % by == 0
  std::unordered_map<const Expr*, const Expr*> substitution;  // symbol -> what it equals
  std::unordered_map<const Expr*, const Expr*> simplified; // cache; cleared when a substitution is learned
};

/// Its sum-of-products form; an atom is itself. (guards/canonical.cc)
Polynomial polynomial_of(const Expr*);

/// Arithmetic that stops at the ends of the 64-bit range: bounds never wrap.
inline std::int64_t saturate(__int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(v);
}

}  // namespace reprise::guards
