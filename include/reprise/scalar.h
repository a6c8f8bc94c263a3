#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <string>

#include "reprise/dtype.h"
#include "reprise/int.h"

namespace reprise {

/// A number that is not a tensor: what `x + 2.5` and `full(sizes, 1)` take. Keeps the kind it came as, because
/// promotion depends on it: a float Scalar never changes a float tensor's dtype, and turns an integer tensor into float32.
///
/// Inside a trace, Scalar arguments of the function are symbolic: run-time values of the kernels that read them, so that a
/// new value needs no new code. Asking for the number (`to_double`) makes it a constant of the compilation, guarded.
class Scalar {
 public:
  enum class Kind : std::uint8_t { Float, Int, Bool };
  constexpr Scalar() : kind_(Kind::Int) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : kind_(Kind::Float), f_(static_cast<double>(v)) {}
  template <IntegralNumber T>
  constexpr Scalar(T v) : kind_(Kind::Int), i_(v) {}
  Scalar(Int v) : kind_(Kind::Int), i_(v) {}
  template <std::same_as<bool> T>
  constexpr Scalar(T v) : kind_(Kind::Bool), i_(v ? 1 : 0) {}

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::Float; }
  bool is_symbolic() const { return i_.is_symbolic(); }
  /// The value as a double. Of a symbolic one: pins it.
  double to_double(SourceLoc loc = SourceLoc::current()) const {
    if (kind_ != Kind::Float) return static_cast<double>(i_.value(loc));
    return is_symbolic() ? std::bit_cast<double>(i_.value(loc)) : f_;
  }
  /// The value as an Int. A float is truncated, a symbolic one pinned.
  Int to_int(SourceLoc loc = SourceLoc::current()) const { return kind_ == Kind::Float ? Int(static_cast<std::int64_t>(to_double(loc))) : i_; }
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
  DType dtype() const { return kind_ == Kind::Float ? DType::Float32 : kind_ == Kind::Int ? DType::Int64 : DType::Bool; }
  friend bool identical(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && identical(a.word(), b.word());
  }
  std::string str() const;  ///< round-trips: "2.5", "2", "true", "inf", "nan", "s0 + 1", "float(s1)"

 private:
  Kind kind_;
  double f_ = 0;  // Float that is not symbolic
  Int i_ = 0;     // Int, Bool; of a symbolic Float its bits
};

}  // namespace reprise
