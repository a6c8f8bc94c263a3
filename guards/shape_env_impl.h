#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "guards/polynomial.h"
#include "guards/shape_env.h"

namespace reprise::guards {

/// The value an expression had in the traced call, exact where 128 bits hold it; undefined where that would divide by
/// zero.
struct ExprHint {
  __int128 value;
  bool defined;
};

/// The expressions by their hashes: one array, probed from the place that a hash names to the first that is free. A
/// trace of a long program looks up millions of them, of which hardly any is near: with a list for each hash that is
/// three misses of the cache and not one.
class InterningTable {
 public:
  /// The first expression of this hash for which `is(e)`, or null.
  template <class Is>
  const Expr* find(std::uint64_t hash, Is&& is) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = start(hash); slots_[at].expr; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == hash && is(slots_[at].expr)) return slots_[at].expr;
    return nullptr;
  }
  void add(std::uint64_t hash, const Expr* e) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    ++count_;
    put({hash, e});
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const Expr* expr = nullptr;
  };
  /// Hashes of numbers that follow each other follow each other, too: spread, or they would stand in one long run.
  std::size_t start(std::uint64_t hash) const {
    return ((hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull >> 32) & (slots_.size() - 1);
  }
  void put(Slot s) {
    std::size_t at = start(s.hash);
    while (slots_[at].expr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = s;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.expr) put(s);
  }
  std::vector<Slot> slots_;  // a power of two of them, at least half of them free
  std::size_t count_ = 0;
};

/// What stands behind a ShapeEnv: the interning table, the facts that guards have taught, and caches of what was
/// derived.
struct ShapeEnv::Impl {
  // ---- interning
  struct Node : Expr {  // an Expr and what is computed when it is made
    ExprHint hint;
    std::uint16_t depth;  // bounded, so that recursion over expressions is
    // of its text, in leaves and operators, shared parts counted each time
    std::uint32_t length;
    bool of_data;  // a symbol of data is among its parts
    bool plain;    // sums and products of symbols: its form depends on no range
  };
  static const Node& node(const Expr* e) { return *static_cast<const Node*>(e); }
  std::deque<Node> exprs;  // stable addresses; an Expr's id is its index
  std::deque<std::vector<const Expr*>> arg_lists;
  InterningTable table;

  Mutex after_freeze;  // guards the table once the trace is over

  // ---- facts, from guards; each is a canonical boolean known to hold
  std::unordered_set<const Expr*> known_true;
  std::vector<const Expr*> facts;                                          // the same, in the order they were learned
  std::unordered_map<const Expr*, std::vector<std::uint32_t>> facts_with;  // by each part of them: which

  // What is asked of one question has a bound: facts are found by what stands in them, the latest first.
  std::vector<Polynomial> nonpositive;  // p <= 0; of those that differ by a number, the strictest
  // which are of data: they say nothing of the call's own numbers
  std::vector<bool> assumed_order;
  std::unordered_multimap<std::uint64_t, std::uint32_t> strictest;          // by hash_of() without the constant: which
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> with_term;  // by hash_of() of a term
  std::unordered_map<const Expr*, std::vector<std::int64_t>> divides;       // value -> numbers that divide it
  SourceLoc asked;                                                          // the latest line known to ask something

  void index_fact(const Expr* part, std::uint32_t fact);
  void remember_order(const Polynomial&, bool data);  // p <= 0; data: an assumption says so

  static std::uint64_t hash_of(const Polynomial::Term& t) {
    std::uint64_t h = hash_mix(kHashSeed, static_cast<std::uint64_t>(t.coefficient));
    for (const Expr* a : t.atoms) h = hash_mix(h, a->id());
    return h;
  }
  static std::uint64_t hash_of(const Polynomial& p) {
    std::uint64_t h = kHashSeed;
    for (const Polynomial::Term& t : p.terms)
      if (!t.atoms.empty()) h = hash_mix(h, hash_of(t));
    return h;
  }
  std::unordered_map<const Expr*, const Expr*> substitution;  // symbol, or what is not a sum -> what it equals

  // ---- caches of the tracing thread, by id; an entry counts only if it was made with the facts of now
  std::uint32_t generation = 1;  // goes up whenever something is learned
  struct Simplified {
    std::uint32_t generation = 0;
    const Expr* expr = nullptr;
  };
  std::vector<Simplified> simplified;
  struct Bounds {
    std::uint32_t generation = 0;
    std::int64_t lo = 0, hi = 0;
  };
  std::vector<Bounds> bounds;
  struct Made {
    std::uint32_t generation = 0;
    ExprKind kind{};
    const Expr *a = nullptr, *b = nullptr, *result = nullptr;
  };
  // direct-mapped: a trace asks for the same products again and again
  std::vector<Made> made = std::vector<Made>(1024);
  int simplify_depth = 0;

  bool claims_kept = false;
  std::vector<Claim> claims;
};

/// What Ints compute with from here on: e itself, or the number it has in this call where e is very long. What it is
/// made of, or e, is pinned then. (guards/canonical.cc)
const Expr* bounded(const Expr* e);

/// Its sum-of-products form; an atom is itself. (guards/canonical.cc)
Polynomial polynomial_of(const Expr*);

/// Arithmetic that stops at the ends of the 64-bit range: bounds never wrap.
inline std::int64_t saturate(__int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(v);
}
inline ShapeEnv::Range operator+(ShapeEnv::Range a, ShapeEnv::Range b) {
  return {a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : saturate(static_cast<__int128>(a.lo) + b.lo),
          a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : saturate(static_cast<__int128>(a.hi) + b.hi)};
}
/// An unbounded side stays unbounded unless the other factor is exactly zero.
ShapeEnv::Range operator*(ShapeEnv::Range a, ShapeEnv::Range b);
/// x / y and x % y as C++ has them, zero where y is zero, wrapping where the quotient overflows.
inline std::int64_t quotient(std::int64_t x, std::int64_t y) {
  return y == 0 ? 0 : y == -1 ? Polynomial::wrap_mul(x, -1) : x / y;
}
inline std::int64_t remainder(std::int64_t x, std::int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
inline bool in_64_bits(__int128 v) { return v >= INT64_MIN && v <= INT64_MAX; }
/// Modulo 2^64, as a signed number.
inline std::int64_t low_64_bits(__int128 v) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(v)); }

}  // namespace reprise::guards
