#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "guards/shape_env.h"

namespace reprise::guards {

/// Expressions of one environment in the terms of another: some of its symbols stand for integers of that.
class Substitution {
 public:
  /// `from`: whose expressions are given; `to`: whose expressions are made. Both must outlive it.
  Substitution(const ShapeEnv& from, ShapeEnv& to) : from_(&from), to_(&to), bound_(from.symbols().size()) {}

  bool is_bound(std::uint32_t symbol) const { return symbol < bound_.size() && bound_[symbol].has_value(); }
  void bind(std::uint32_t symbol, Int);
  /// Nothing where a symbol of it is not bound. Plain numbers are what they are.
  std::optional<Int> of(Int) const;
  /// The same of a condition: whether it must hold under what is known in `to`. Adds no guard. False where a symbol is
  /// not bound.
  bool known(const Expr* condition) const;
  /// From now on it holds in `to`: known there, or a guard. False, and nothing is added, where a symbol is not bound or
  /// it does not hold for the hints.
  bool require(const Expr* condition, SourceLoc, const char* why) const;

 private:
  const Expr* made(const Expr*) const;  // null: not bound
  const ShapeEnv* from_;
  ShapeEnv* to_;
  std::vector<std::optional<Int>> bound_;  // by symbol
};

}  // namespace reprise::guards
