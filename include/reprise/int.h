#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/small_vector.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace guards {
class Expr;  // guards/expr.h
}

class Bool;

template <class T>
concept IntegralNumber = std::integral<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, bool>;

/// An integer that may be symbolic. Outside a trace it is a plain 64-bit number and costs what one costs.
/// Inside a trace, sizes, strides and `Int` arguments are expressions over the symbols of the call
/// (`arg 0 .size(1)`); arithmetic stays symbolic, a comparison yields a `Bool`, and converting to
/// `std::int64_t` pins the value: it adds the guard "this expression equals its value in the trace", logged with its
/// line.
///
/// Division and remainder follow C++ (`/` truncates), and sums, differences and products wrap modulo 2^64, the same
/// outside a trace and inside. Trivially copyable; a symbolic Int is valid as long as its trace: used later (a compiled
/// function has left it in a variable of its surroundings), it throws InvalidArgument.
class Int {
 public:
  constexpr Int() noexcept = default;
  template <IntegralNumber T>
  constexpr Int(T v) noexcept : value_(static_cast<std::int64_t>(v)) {}
  /// Of a symbolic expression; a constant expression becomes a plain number. (guards/int.cc)
  explicit Int(const guards::Expr* e) noexcept;

  bool is_symbolic() const noexcept { return expr_ != nullptr; }
  /// The expression, or null for a plain number.
  const guards::Expr* expr() const noexcept { return expr_; }
  const guards::Expr* living() const;  ///< the same; throws InvalidArgument where its trace is gone

  /// The number. Of a symbolic Int: pins it (adds a guard) and returns the value seen while tracing.
  std::int64_t value(SourceLoc loc = SourceLoc::current()) const { return expr_ ? pin(loc) : value_; }
  explicit operator std::int64_t() const { return expr_ ? pin({}) : value_; }
  /// Likewise. A Float of it stays symbolic: `1.0 / sqrt(n)`, `0.5 * n`.
  explicit operator double() const { return static_cast<double>(expr_ ? pin({}) : value_); }
  /// The number it has in the call being traced; adds no guard. For heuristics and messages only.
  std::int64_t hint() const { return expr_ ? hint_slow() : value_; }

  friend Int operator+(Int a, Int b) { return a.plain(b) ? Int(wrap(u(a) + u(b))) : add(a, b); }
  friend Int operator-(Int a, Int b) { return a.plain(b) ? Int(wrap(u(a) - u(b))) : sub(a, b); }
  friend Int operator*(Int a, Int b) { return a.plain(b) ? Int(wrap(u(a) * u(b))) : mul(a, b); }
  friend Int operator/(Int a, Int b) { return div(a, b); }  ///< throws InvalidArgument when dividing by zero
  friend Int operator%(Int a, Int b) { return mod(a, b); }
  Int operator-() const { return Int(0) - *this; }
  Int& operator+=(Int o) { return *this = *this + o; }
  Int& operator-=(Int o) { return *this = *this - o; }
  Int& operator*=(Int o) { return *this = *this * o; }
  Int& operator/=(Int o) { return *this = *this / o; }
  Int& operator%=(Int o) { return *this = *this % o; }
  Int& operator++() { return *this += 1; }
  Int operator++(int) {
    Int old = *this;
    *this += 1;
    return old;
  }
  Int& operator--() { return *this -= 1; }

  static Int min(Int a, Int b);
  static Int max(Int a, Int b);
  /// ceil(a / b) for b > 0; (a + b - 1) / b otherwise.
  static Int ceil_div(Int a, Int b) {
    if (a.plain(b) && b.value_ > 0) return Int(a.value_ / b.value_ + (a.value_ % b.value_ > 0));  // a + b may wrap
    return ceil_div_slow(a, b);
  }

  /// Same number, or the same canonical expression. Never adds a guard: use `==` to ask.
  friend bool identical(Int a, Int b) noexcept { return a.expr_ == b.expr_ && (a.expr_ || a.value_ == b.value_); }

  std::string str() const;
  friend std::ostream& operator<<(std::ostream&, Int);

 private:
  bool plain(Int o) const noexcept { return !expr_ && !o.expr_; }
  static std::uint64_t u(Int a) noexcept { return static_cast<std::uint64_t>(a.value_); }
  static std::int64_t wrap(std::uint64_t v) noexcept { return static_cast<std::int64_t>(v); }
  static Int add(Int, Int);
  static Int sub(Int, Int);
  static Int mul(Int, Int);
  static Int div(Int, Int);
  static Int mod(Int, Int);
  static Int ceil_div_slow(Int, Int);
  std::int64_t pin(SourceLoc) const;
  std::int64_t hint_slow() const;

  std::int64_t value_ = 0;  ///< of a symbolic one, the number of its trace
  const guards::Expr* expr_ = nullptr;
};

/// A truth value that may be symbolic. Using it in an `if` (or converting it to bool) decides it for this trace
/// and adds the guard that the branch took, with the line of the comparison.
class Bool {
 public:
  constexpr Bool(bool v) noexcept : value_(v) {}
  Bool(const guards::Expr* e, SourceLoc loc) noexcept;  // (guards/int.cc)
  bool is_symbolic() const noexcept { return expr_ != nullptr; }
  const guards::Expr* expr() const noexcept { return expr_; }
  SourceLoc where() const noexcept { return loc_; }
  /// `bool big = n > 1024;` decides as well. To bool and to nothing that bool becomes: `int i = n > 2` does not
  /// compile.
  template <std::same_as<bool> B>
  operator B() const {
    return expr_ ? decide() : value_;
  }
  /// What it is in the call being traced; adds no guard.
  bool hint() const { return expr_ ? hint_slow() : value_; }
  /// True only if it must hold whatever the symbols are, under the guards taken so far. Adds no guard.
  bool known_true() const;
  const guards::Expr* living() const;  ///< the expression; throws InvalidArgument where its trace is gone
  friend Bool operator&(Bool a, Bool b);
  friend Bool operator|(Bool a, Bool b);
  friend Bool operator!(Bool a);

 private:
  bool decide() const;
  bool hint_slow() const;
  bool value_ = false;
  std::uint32_t trace_ = 0;
  const guards::Expr* expr_ = nullptr;
  SourceLoc loc_;
};

/// States that it holds in every call. Inside a trace what follows from it needs no guard of its own; a call in which
/// it does not hold throws InvalidArgument, which names the line, and so does a function that runs eagerly.
void assume(Bool condition, SourceLoc loc = SourceLoc::current());

/// An operand of a comparison: the Int and the line that compares (an implicit conversion evaluates its default
/// argument at the place of the expression).
struct LocInt {
  Int v;
  SourceLoc loc;
  LocInt(Int n, SourceLoc at = SourceLoc::current()) : v(n), loc(at) {}
  template <IntegralNumber T>
  LocInt(T n, SourceLoc at = SourceLoc::current()) : v(n), loc(at) {}
};

namespace detail {
Bool compare_eq(Int a, Int b, SourceLoc);
Bool compare_lt(Int a, Int b, SourceLoc);
Bool compare_le(Int a, Int b, SourceLoc);
/// The number of a plain Int (undefined for a symbolic one).
inline std::int64_t plain_value(Int a) { return a.hint(); }
template <class A, class B>
concept IntComparable = (std::same_as<std::remove_cvref_t<A>, Int> &&
                         (std::same_as<std::remove_cvref_t<B>, Int> || IntegralNumber<B>)) ||
                        (std::same_as<std::remove_cvref_t<B>, Int> && IntegralNumber<A>);
}  // namespace detail

inline Bool operator==(LocInt a, LocInt b) { return detail::compare_eq(a.v, b.v, a.loc); }
inline Bool operator!=(LocInt a, LocInt b) { return !detail::compare_eq(a.v, b.v, a.loc); }
inline Bool operator<(LocInt a, LocInt b) { return detail::compare_lt(a.v, b.v, a.loc); }
inline Bool operator<=(LocInt a, LocInt b) { return detail::compare_le(a.v, b.v, a.loc); }
inline Bool operator>(LocInt a, LocInt b) { return detail::compare_lt(b.v, a.v, a.loc); }
inline Bool operator>=(LocInt a, LocInt b) { return detail::compare_le(b.v, a.v, a.loc); }

/// Up to eight without a heap.
using Ints = SmallVec<Int, 8>;

/// A borrowed list of Ints: what operators take for sizes and dimensions. `x.view({b, -1})` works, and so does a single
/// number: `x.flip(0)`, `zeros(5)`.
class IntArrayRef {
 public:
  constexpr IntArrayRef() = default;
  template <IntegralNumber T>
  constexpr IntArrayRef(T one) : own_(one), p_(&own_), n_(1) {}
  constexpr IntArrayRef(const IntArrayRef& o) : own_(o.own_), p_(o.p_ == &o.own_ ? &own_ : o.p_), n_(o.n_) {
    if (o.all_) [[unlikely]]
      copy(o.all_);
  }
  constexpr IntArrayRef& operator=(const IntArrayRef& o) {
    if (this == &o) return *this;
    delete[] std::exchange(all_, nullptr);
    own_ = o.own_, p_ = o.p_ == &o.own_ ? &own_ : o.p_, n_ = o.n_;
    if (o.all_) [[unlikely]]
      copy(o.all_);
    return *this;
  }
  constexpr ~IntArrayRef() {
    if (all_) [[unlikely]]
      delete[] all_;
  }
  constexpr IntArrayRef(const Int* p, std::size_t n) : p_(p), n_(n) {}
  // lives as long as the full expression
  constexpr IntArrayRef(std::initializer_list<Int> l) { p_ = l.begin(), n_ = l.size(); }
  IntArrayRef(const Ints& v) : p_(v.data()), n_(v.size()) {}
  IntArrayRef(const std::vector<Int>& v) : p_(v.data()), n_(v.size()) {}
  IntArrayRef(const Int& one) : p_(&one), n_(1) {}
  /// Plain numbers are copied: `std::vector<int64_t> shape; zeros(shape)`.
  template <IntegralNumber T>
  IntArrayRef(const std::vector<T>& v) : n_(v.size()) {
    copy(v.data());
  }
  template <IntegralNumber T, std::size_t N>
  IntArrayRef(const std::array<T, N>& v) : n_(N) {
    copy(v.data());
  }
  template <IntegralNumber T, std::size_t N>
  IntArrayRef(std::span<T, N> v) : n_(v.size()) {
    copy(v.data());
  }
  const Int* begin() const { return p_; }
  const Int* end() const { return p_ + n_; }
  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const Int& operator[](std::size_t i) const { return p_[i]; }
  const Int& front() const { return p_[0]; }
  const Int& back() const { return p_[n_ - 1]; }
  Ints vec() const { return Ints(begin(), end()); }

 private:
  template <class T>
  constexpr void copy(const T* from) {
    all_ = new Int[n_];
    for (std::size_t i = 0; i < n_; ++i) all_[i] = from[i];
    p_ = all_;
  }
  Int* all_ = nullptr;  // owned: the numbers, where they were not Ints
  Int own_;             // the single number, when that is what it is of
  const Int* p_ = nullptr;
  std::size_t n_ = 0;
};

/// As "[2, 3]".
std::ostream& operator<<(std::ostream&, const Ints&);

}  // namespace REPRISE_VISIBLE
