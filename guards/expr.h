#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reprise/int.h"

namespace reprise::guards {

class ShapeEnv;

/// Wrap: its argument modulo 2^64, as a signed number. Fits: is its argument, a sum or a product, one of 64 bits? (Note
/// [Exact]) From Real on, which is the double nearest to its argument: of doubles, given as their bits (Note [Floats]).
enum class ExprKind : std::uint8_t {
  Const,
  Symbol,
  Add,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Wrap,
  Real,
  FAdd,
  FSub,
  FMul,
  FDiv,
  FPow,
  FMin,
  FMax,
  FSqrt,
  FExp,
  FLog,
  FAbs,
  FFloor,
  FCeil,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,
  Not,
  Fits,
  FLt,
  FLe,
  FEq
};

/// Note [Exact]: an expression stands for a mathematical integer. Sums are moved to the other side of a comparison,
/// multiplied out and divided as integers are, and every evaluation is exact: where a number on the way does not fit 64
/// bits, it goes on in 128 (guards/expr_program.cc). The program's own arithmetic is that of 64 bits, though, and
/// wraps: its results are expressions only where they fit, which the guard `fits(e)` says unless the ranges do; in a
/// call where one does not fit it is `wrap(e)` from the beginning. What operators compute of sizes (LibraryScope) never
/// wraps: it is refused in the call being traced, and in later calls where the sizes of a value come out
/// (ExprProgram::evaluate).

/// Note [Floats]: an expression of a double is one of its 64 bits, as a signed integer. Integers become doubles (Real),
/// never the other way round: no size depends on a double. Nothing is known of such expressions but what a guard has
/// decided, and equal ones are the same pointer; they are evaluated by the same functions as the plain numbers of the
/// eager program (guards/float_math.h).

/// A hash-consed symbolic integer or truth value in canonical form: inside one ShapeEnv, equal expressions are the
/// same pointer (s0 + s1 and s1 + s0; 2*s0 and s0 + s0; (a+b)*c is multiplied out). Immutable; owned by its ShapeEnv.
class Expr {
 public:
  ExprKind kind() const { return kind_; }
  bool is_bool() const { return kind_ >= ExprKind::Eq; }
  /// what is computed as a double; a symbol may be one, too
  bool is_float() const { return kind_ >= ExprKind::Real && kind_ <= ExprKind::FCeil; }
  bool is_const() const { return kind_ == ExprKind::Const; }
  std::int64_t value() const { return value_; }  ///< of a Const
  /// of a Symbol: index into ShapeEnv::symbols
  std::uint32_t symbol() const { return static_cast<std::uint32_t>(value_); }
  std::span<const Expr* const> args() const { return {args_, n_args_}; }
  ShapeEnv& env() const { return *env_; }
  std::uint32_t id() const { return id_; }  ///< creation order; the deterministic sort key

 private:
  friend class ShapeEnv;
  ExprKind kind_;
  std::uint16_t n_args_ = 0;
  std::uint32_t id_ = 0;
  std::int64_t value_ = 0;
  const Expr* const* args_ = nullptr;
  ShapeEnv* env_ = nullptr;
};

/// "s0 + 2*s1", "s0 // 4" is written "s0 / 4"; fully parenthesised where precedence needs it; the parser reads it back.
std::string to_string(const Expr*);

/// While one lives on this thread, Int::str and << show the number an Int has in the call being traced instead of its
/// expression: what a user's error message must say ("sizes [2, 3] and [2, 4]", not "[s0, s1] and [s2, s3]").
class ShowHints {
 public:
  ShowHints();
  ~ShowHints();
  ShowHints(const ShowHints&) = delete;
};
bool showing_hints();
/// While one lives on this thread, they show expressions, whoever shows hints around it: a graph's text means the same
/// at every call.
class ShowExpressions {
 public:
  ShowExpressions();
  ~ShowExpressions();
  ShowExpressions(const ShowExpressions&) = delete;

 private:
  int before_;
};

/// While one lives on this thread, sums and products of Ints are an operator's, not the program's: see Note [Exact].
class LibraryScope {
 public:
  LibraryScope();
  ~LibraryScope();
  LibraryScope(const LibraryScope&) = delete;
};
bool in_library();

}  // namespace reprise::guards
