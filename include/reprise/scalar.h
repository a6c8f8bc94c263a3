#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

#include "reprise/dtype.h"
#include "reprise/int.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

class Float;
class Scalar;

namespace detail {
enum class FloatOp : std::uint8_t { Add, Sub, Mul, Div, Pow, Min, Max, Sqrt, Exp, Log, Abs, Floor, Ceil };
enum class FloatCompare : std::uint8_t { Less, AtMost, Equal };
Float float_op(FloatOp, const Float&, const Float&);
Bool float_compare(FloatCompare, const Float&, const Float&, SourceLoc);
Scalar scalar_op(FloatOp, const Scalar&, const Scalar&);
Bool scalar_compare(FloatCompare, const Scalar&, const Scalar&, SourceLoc);

template <class T, class... Of>
concept OneOf = (std::same_as<T, Of> || ...);
/// Of two operands: arithmetic gives a Float, where one is that, or an Int meets a C++ floating-point number.
template <class A, class B>
concept FloatPair = (OneOf<A, Float> && (OneOf<B, Float, Int> || std::is_arithmetic_v<B>)) ||
                    (OneOf<B, Float> && (OneOf<A, Int> || std::is_arithmetic_v<A>)) ||
                    (OneOf<A, Int> && std::floating_point<B>) || (OneOf<B, Int> && std::floating_point<A>);
template <class A, class B>
concept ScalarPair = (OneOf<A, Scalar> && (OneOf<B, Scalar, Float, Int> || std::is_arithmetic_v<B>)) ||
                     (OneOf<B, Scalar> && (OneOf<A, Float, Int> || std::is_arithmetic_v<A>));
}  // namespace detail

/// A double that may be symbolic, as Int is an integer that may be: `1.0 / sqrt(x.size(-1))`, the number of a Scalar,
/// and what is computed of them. Outside a trace it is a plain double. Inside, arithmetic (+ - * / and pow, min, max,
/// sqrt, exp, log, abs, floor, ceil) stays symbolic and is evaluated in each call, with no guard; a comparison yields a
/// Bool, and using that adds the guard which side it was. Converting to double makes it a constant of the compilation,
/// guarded and logged. Results are those of the C++ functions on doubles, the same outside a trace and inside. Valid as
/// long as its trace, like Int.
class Float {
 public:
  constexpr Float() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit constexpr Float(T v) : f_(static_cast<double>(v)) {}
  /// The double nearest to it.
  Float(Int v, SourceLoc loc = SourceLoc::current());
  /// Of a double's bits.
  static Float of_bits(Int bits, SourceLoc loc) {
    Float f;
    f.loc_ = loc;
    if (bits.is_symbolic()) f.bits_ = bits;
    else f.f_ = std::bit_cast<double>(bits.hint());
    return f;
  }
  bool is_symbolic() const { return bits_.is_symbolic(); }
  Int bits() const { return is_symbolic() ? bits_ : Int(std::bit_cast<std::int64_t>(f_)); }
  /// The number. Of a symbolic one: pins it (adds a guard) and returns the value seen while tracing.
  double value(SourceLoc loc = SourceLoc::current()) const {
    return is_symbolic() ? std::bit_cast<double>(bits_.value(loc)) : f_;
  }
  operator double() const { return value(loc_); }
  /// The number it has in the call being traced; adds no guard.
  double hint() const { return std::bit_cast<double>(bits().hint()); }
  SourceLoc where() const { return loc_; }  ///< the line that it came from, where that is known
  Float operator-() const;
  template <class T>
  requires detail::FloatPair<Float, T> Float& operator+=(const T& o) { return *this = *this + o; }
  template <class T>
  requires detail::FloatPair<Float, T> Float& operator-=(const T& o) { return *this = *this - o; }
  template <class T>
  requires detail::FloatPair<Float, T> Float& operator*=(const T& o) { return *this = *this * o; }
  template <class T>
  requires detail::FloatPair<Float, T> Float& operator/=(const T& o) { return *this = *this / o; }
  std::string str() const;
  friend std::ostream& operator<<(std::ostream&, const Float&);

 private:
  double f_ = 0;
  Int bits_ = 0;  ///< of a symbolic one
  SourceLoc loc_;
};

namespace detail {
/// An operand of a comparison of Scalars, and the line that compares (as LocInt).
template <class S>
struct Located {
  S v;
  SourceLoc loc;
  template <class T>
  requires std::convertible_to<T, S> Located(const T& number, SourceLoc at = SourceLoc::current())
      : v(number), loc(at) {}
};
/// Comparisons that only a Scalar among the operands finds.
template <class S>
struct Comparable {
  friend Bool operator==(Located<S> a, Located<S> b) { return scalar_compare(FloatCompare::Equal, a.v, b.v, a.loc); }
  friend Bool operator!=(Located<S> a, Located<S> b) { return !scalar_compare(FloatCompare::Equal, a.v, b.v, a.loc); }
  friend Bool operator<(Located<S> a, Located<S> b) { return scalar_compare(FloatCompare::Less, a.v, b.v, a.loc); }
  friend Bool operator<=(Located<S> a, Located<S> b) { return scalar_compare(FloatCompare::AtMost, a.v, b.v, a.loc); }
  friend Bool operator>(Located<S> a, Located<S> b) { return scalar_compare(FloatCompare::Less, b.v, a.v, a.loc); }
  friend Bool operator>=(Located<S> a, Located<S> b) { return scalar_compare(FloatCompare::AtMost, b.v, a.v, a.loc); }
};
}  // namespace detail

/// A number that is not a tensor: what `x + 2.5` and `full(sizes, 1)` take. Keeps the kind it came as, because
/// promotion depends on it: a float Scalar never changes a float tensor's dtype, and turns an integer tensor into
/// float32.
///
/// Inside a trace, Scalar arguments of the function are symbolic: run-time values of the kernels that read them, so
/// that a new value needs no new code. Scalars are computed with (two integers give an integer, but for `/`, which
/// gives a float as it does for tensors) and compared: a branch is guarded by the side that it took. A C++ double of
/// one (`to_double`) is a constant of the compilation, guarded.
class Scalar : private detail::Comparable<Scalar> {
 public:
  enum class Kind : std::uint8_t { Float, Int, Bool };
  constexpr Scalar() : kind_(Kind::Int) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : kind_(Kind::Float), f_(static_cast<double>(v)) {}
  template <IntegralNumber T>
  constexpr Scalar(T v) : kind_(Kind::Int), i_(v) {}
  Scalar(Int v) : kind_(Kind::Int), i_(v) {}
  Scalar(const Float& v) : kind_(Kind::Float) {
    if (v.is_symbolic()) i_ = v.bits();
    else f_ = v.value({});
  }
  template <std::same_as<bool> T>
  constexpr Scalar(T v) : kind_(Kind::Bool), i_(v ? 1 : 0) {}

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::Float; }
  bool is_symbolic() const { return i_.is_symbolic(); }
  /// The value as a Float, symbolic if it is.
  Float to_float(SourceLoc loc = SourceLoc::current()) const {
    if (kind_ != Kind::Float) return Float(i_, loc);
    return is_symbolic() ? Float::of_bits(i_, loc) : Float(f_);
  }
  /// The value as a double. Of a symbolic one: pins it.
  double to_double(SourceLoc loc = SourceLoc::current()) const {
    if (kind_ != Kind::Float) return static_cast<double>(i_.value(loc));
    return is_symbolic() ? std::bit_cast<double>(i_.value(loc)) : f_;
  }
  /// The value as an Int. A float is truncated, a symbolic one pinned.
  Int to_int(SourceLoc loc = SourceLoc::current()) const {
    return kind_ == Kind::Float ? Int(static_cast<std::int64_t>(to_double(loc))) : i_;
  }
  /// What it is at run time: the integer, or the bits of the double. Symbolic if it is.
  Int word() const { return kind_ == Kind::Float && !is_symbolic() ? Int(std::bit_cast<std::int64_t>(f_)) : i_; }
  /// One of the same kind whose word this is.
  Scalar with_word(Int word) const {
    Scalar s = *this;
    s.i_ = word;
    if (kind_ == Kind::Float && !word.is_symbolic()) s.f_ = std::bit_cast<double>(word.hint()), s.i_ = 0;
    return s;
  }
  /// The dtype a 0-dim tensor of it would have: float32, int64 or bool.
  DType dtype() const {
    return kind_ == Kind::Float ? DType::Float32 : kind_ == Kind::Int ? DType::Int64 : DType::Bool;
  }
  friend bool identical(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && identical(a.word(), b.word());
  }
  std::string str() const;  ///< round-trips: "2.5", "2", "true", "inf", "nan", "s0 + 1", "float(s1)"

 private:
  Kind kind_;
  double f_ = 0;  // Float that is not symbolic
  Int i_ = 0;     // Int, Bool; of a symbolic Float its bits
};

/// Arithmetic and comparisons where at least one number may be symbolic. Division by zero is that of doubles.
template <class A, class B>
requires detail::FloatPair<A, B> Float operator+(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Add, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar operator+(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Add, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Float operator-(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Sub, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar operator-(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Sub, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Float operator*(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Mul, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar operator*(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Mul, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Float operator/(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Div, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar operator/(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Div, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator==(const A& a, const B& b) {
  return detail::float_compare(detail::FloatCompare::Equal, Float(a), Float(b), {});
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator!=(const A& a, const B& b) {
  return !detail::float_compare(detail::FloatCompare::Equal, Float(a), Float(b), {});
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator<(const A& a, const B& b) {
  return detail::float_compare(detail::FloatCompare::Less, Float(a), Float(b), {});
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator<=(const A& a, const B& b) {
  return detail::float_compare(detail::FloatCompare::AtMost, Float(a), Float(b), {});
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator>(const A& a, const B& b) {
  return detail::float_compare(detail::FloatCompare::Less, Float(b), Float(a), {});
}
template <class A, class B>
requires detail::FloatPair<A, B> Bool operator>=(const A& a, const B& b) {
  return detail::float_compare(detail::FloatCompare::AtMost, Float(b), Float(a), {});
}
inline Float Float::operator-() const { return *this * -1.0; }
inline Scalar operator-(const Scalar& s) { return s * -1; }

}  // namespace REPRISE_VISIBLE
