#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "guards/expr.h"
#include "reprise/source_location.h"

namespace reprise::guards {

struct ExprHint;
struct Maker;
struct Polynomial;

/// Where a symbol comes from: which 64-bit word of the call signature holds it, and how people name it.
struct Source {
  std::uint32_t word = 0;  ///< index into the CallSignature's words
  std::string name;        ///< "arg 0 .size(1)", "arg 3", "captured 1 .stride(0)", "rng seed"
  /// What the structure of the call makes sure of, and no guard checks: it is at most this, and so is the product of
  /// all symbols of one nonzero `group`, zeros taken as ones.
  std::int64_t at_most = INT64_MAX;
  std::uint32_t group = 0;
};

struct Symbol {
  const Expr* expr = nullptr;
  Source source;
  std::int64_t hint = 0;                        ///< value in the traced call
  std::int64_t lo = INT64_MIN, hi = INT64_MAX;  ///< inclusive; narrowed by guards taken and by mark_dynamic
  std::int64_t multiple_of = 1;
  bool of_data = false;  ///< a launch computes it: Note [Sizes that depend on data]
};

/// A condition this trace relies on. `why` is a static phrase: "broadcast", "branch", "pinned to a constant",
/// "mark_dynamic".
struct Guard {
  const Expr* condition = nullptr;  ///< boolean
  SourceLoc where;                  ///< the user's line, if known
  const char* why = "";
};

/// What was concluded from what was known: in each call that the guards admit `whole`, or where that is null `kind` of
/// `args`, has the value of `result`. Conditions have 0 or 1.
struct Claim {
  const Expr* whole = nullptr;
  ExprKind kind = ExprKind::Const;
  std::vector<const Expr*> args;
  const Expr* result = nullptr;
};

/// The symbols, expressions and guards of one trace.
///
/// Promise: if all `guards()` hold for other values of the symbols, then running the traced function on them takes the
/// same branches, so the same graph is right. Nothing is guarded that the trace did not observe.
/// Ownership: owns every Expr; Graphs share it. Threads: one thread while tracing; any after freeze().
class ShapeEnv {
 public:
  std::string function;  ///< whose trace it is, in logs
  ShapeEnv();
  ~ShapeEnv();
  ShapeEnv(const ShapeEnv&) = delete;

  /// A new symbol s<n>. Sizes get lo = 0. `lo == hi` yields a plain number, which a guard set checks all the same.
  Int new_symbol(Source, std::int64_t hint, std::int64_t lo = INT64_MIN, std::int64_t hi = INT64_MAX,
                 std::int64_t multiple_of = 1);
  /// One that no call has before a launch has computed it (Note [Sizes that depend on data] in guards/data_symbols.cc).
  /// `hint` decides nothing.
  Int new_data_symbol(std::string name, std::int64_t hint, std::int64_t lo, std::int64_t hi);
  /// Where it stands among a call's values.
  void place(const Expr* data_symbol, std::uint32_t word);
  /// Does the expression name such a symbol?
  bool of_data(const Expr*) const;
  /// From now on it is known, and no guard: a replay asks as soon as it has the data symbols in it, and the call is
  /// served eagerly where it does not hold. `always`: so are the symbols made, whatever the data.
  void assume(const Expr* condition, bool always = false);
  struct Assumption {
    const Expr* condition;
    bool always;
  };
  const std::vector<Assumption>& assumed() const { return assumed_; }
  const std::deque<Symbol>& symbols() const { return symbols_; }
  const std::vector<Guard>& guards() const { return guards_; }

  // ---- building, canonical
  const Expr* constant(std::int64_t);
  const Expr* make(ExprKind, std::span<const Expr* const>);  ///< simplified and interned
  const Expr* of(Int);                                       ///< a plain Int becomes a Const

  // ---- asking
  std::int64_t evaluate_hint(const Expr*) const;
  /// Under the guards taken so far, must it be true / false? nullopt if it may be either. Sound, not complete.
  std::optional<bool> prove(const Expr* boolean);
  /// Inclusive bounds of an integer expression from its symbols' ranges; INT64_MIN/MAX when unknown.
  struct Range {
    std::int64_t lo, hi;
  };
  Range range_of(const Expr*) const;
  /// The form after substituting equalities learned from guards (s1 == s0 makes s1 into s0).
  const Expr* simplify(const Expr*);

  /// Decides a boolean for this trace: proved ones cost nothing, otherwise its hint is taken and a guard recorded.
  bool decide(const Expr* boolean, SourceLoc, const char* why);
  /// Would an operator's decide() end the trace, because only data tell (Note [Sizes that depend on data])?
  bool leaves_open(const Expr* boolean);
  /// Requires it to hold; false (and no guard) if its hint is false.
  bool require(const Expr* boolean, SourceLoc, const char* why);
  /// Adds `e == hint` and returns the hint. Logged on channel `guards`.
  std::int64_t pin(const Expr* e, SourceLoc, const char* why);

  /// Makes sure that a result of the program's own arithmetic is what 64 bits hold: e where that is known or becomes a
  /// guard, wrap(e) where it is not so in the call being traced. See Note [Exact].
  const Expr* own(const Expr* e);

  /// From now on what is concluded is noted, for a proof of it (docs/validation.md). Costs memory and time.
  void keep_claims();
  std::vector<Claim> take_claims();  ///< in the order they were made; keeps no more of them
  /// Of a symbol: what new_symbol was told, before guards narrowed it.
  struct Declared {
    std::int64_t lo, hi, multiple_of;
  };
  const Declared& declared(const Symbol& s) const { return declared_[s.expr->symbol()]; }

  /// no more symbols and guards (InvalidArgument otherwise); expressions may still be built, from any thread
  void freeze();
  bool frozen() const { return frozen_; }
  std::uint64_t serial() const { return serial_; }  ///< of this trace alone
  static bool is_alive(std::uint64_t serial);

  // ---- text
  /// Reads what to_string writes, with this env's symbols by name; throws InvalidArgument at the offending column.
  const Expr* parse(std::string_view);
  /// For parsing graphs and tests: the symbol of that name, made (hint as given) when missing.
  Int symbol_named(std::string_view name, std::int64_t hint = 2);

 private:
  struct Impl;
  const Expr* make_interned(ExprKind, std::int64_t value, std::vector<const Expr*> args);
  ExprHint hint_of(const Expr&) const;
  const Expr* make_here(ExprKind, std::span<const Expr* const>);
  std::optional<bool> prove_here(const Expr*);
  void claim(Claim);
  const Expr* from(const Polynomial&);
  const Expr* simplify_here(const Expr*);
  void learn(const Expr* condition);  ///< facts that later questions use
  void learn_order(const Expr* condition);
  void learn_bound(const Expr* condition);
  void learn_equal(const Expr* condition);
  void learn_multiple(const Expr* value, std::int64_t by);
  void substitute(const Expr* from, const Expr* to);
  void tighten(Symbol&);
  Range bounds(const Polynomial&) const;
  bool fits(const Expr*) const;
  bool at_most_zero(const Polynomial&, int facts_left) const;
  std::optional<bool> prove_order(const Expr* left, const Expr* right, std::int64_t extra) const;
  bool divides(std::int64_t k, const Expr*) const;
  std::optional<bool> prove_float(const Expr*);
  bool known_multiple(const Expr* value, const Expr* of);
  void record(const Expr* condition, SourceLoc, const char* why);
  bool decide_of_data(const Expr* boolean, SourceLoc);
  [[noreturn]] void refuse_of_data(const Expr* asked, SourceLoc, bool is_pin = false) const;
  friend class GuardSet;
  friend class EnvArchive;
  friend struct Maker;
  std::unique_ptr<Impl> impl_;
  std::deque<Symbol> symbols_;
  std::vector<Declared> declared_;  ///< by symbol: what new_symbol was told, before guards narrowed it
  std::vector<Guard> guards_;
  std::vector<Assumption> assumed_;
  const std::uint64_t serial_;
  bool frozen_ = false;
};

/// Expressions flattened to straight-line code over numbered slots: common subexpressions once, no recursion.
/// Immutable after build(); evaluate() is thread-safe, does not allocate, and costs about a nanosecond an operation;
/// where a number does not fit 64 bits, it is done again in 128.
class ExprProgram {
 public:
  /// Returns the index in the result array at which this expression's value will stand. Equal expressions share one.
  std::uint32_t add(Int);
  std::uint32_t add(const Expr*);
  /// Where the value of what was added before stands.
  std::optional<std::uint32_t> find(const Expr*) const;
  /// From now on evaluate() throws InvalidArgument where the value does not fit 64 bits. (Of other values the low 64
  /// bits stand then.)
  void must_fit(std::uint32_t slot) { must_fit_.push_back(slot); }
  /// From now on evaluate() throws InvalidArgument, naming `op`, where elements of `item_size` bytes with these sizes
  /// are more bytes than 63 bits count.
  void add_size_check(const Ints& sizes, std::int64_t item_size, std::string op);
  /// The same for a view: IndexOutOfRange where it reaches beyond `elements`.
  void add_reach_check(const Ints& sizes, const Ints& strides, Int offset, Int elements, std::string op);
  /// The call's words that the results depend on, ascending.
  std::vector<std::uint32_t> words() const;
  std::size_t size() const { return n_slots_; }  ///< length of the array evaluate() fills
  /// `words`: the call signature (symbols read `words[source.word]`). `slots`: size() values are written.
  /// Division by zero yields 0 (a guard excludes it wherever the result is used).
  void evaluate(const std::int64_t* words, std::int64_t* slots) const;
  /// The same for conditions: one that cannot be evaluated in 128 bits does not hold. Needs slots[kMostConditions].
  void evaluate_conditions(const std::int64_t* words, std::int64_t* slots) const noexcept;
  static constexpr std::size_t kMostConditions = 256;

  /// What it does, for whoever proves something of it. `imm` is a constant operand; the quiet operations are modulo
  /// 2^64.
  enum Code : std::uint8_t {
    // imm: its ExprKind
    kConst,
    kWord,
    kAdd,
    kMul,
    kMulAddImm,
    kMulImm,
    kAddImm,
    kDiv,
    kMod,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kAnd,
    kOr,
    kNot,
    kFits,
    kQuietAdd,
    kQuietMul,
    kFloat
  };
  struct Op {
    std::uint8_t code;
    std::uint32_t dst, a, b;
    std::int64_t imm;
  };
  struct SizeCheck {
    std::vector<std::uint32_t> sizes;
    std::int64_t item_size;
    std::string op;
  };
  struct ReachCheck {
    std::vector<std::uint32_t> sizes, strides;
    std::uint32_t offset, elements;
    std::string op;
  };
  const std::vector<Op>& ops() const { return ops_; }
  const std::vector<std::uint32_t>& must_fit() const { return must_fit_; }
  const std::vector<SizeCheck>& size_checks() const { return size_checks_; }
  const std::vector<ReachCheck>& reach_checks() const { return reach_checks_; }

 private:
  template <class T>
  bool run(const std::int64_t* words, T* slots, bool* lost) const;
  std::uint32_t push(std::uint8_t code, std::uint32_t a, std::uint32_t b, std::int64_t imm = 0);
  std::uint32_t add_wrapping(const Expr*);
  void check_sizes(const std::int64_t* slots) const;
  void check_reach(const std::int64_t* slots) const;
  void evaluate_wide(const std::int64_t* words, std::int64_t* slots) const;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> must_fit_;
  std::vector<ReachCheck> reach_checks_;
  std::vector<SizeCheck> size_checks_;
  std::uint32_t n_slots_ = 0;
  std::unordered_map<const Expr*, std::uint32_t> slot_of_;
  std::unordered_map<std::int64_t, std::uint32_t> const_slot_;
};

}  // namespace reprise::guards
