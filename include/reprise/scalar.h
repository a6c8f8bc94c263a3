#pragma once
#include <concepts>
#include <cstdint>
#include <string>

#include "reprise/dtype.h"
#include "reprise/int.h"

namespace reprise {

/// A number that is not a tensor: what `x + 2.5` and `full(sizes, 1)` take. Keeps the kind it came as, because
/// promotion depends on it: a float Scalar never changes a float tensor's dtype, and turns an integer tensor into float32.
/// An Int that is symbolic stays symbolic: in the graph it is a run-time value of the kernel.
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
  bool is_symbolic() const { return kind_ == Kind::Int && i_.is_symbolic(); }
  /// The value as a double; of a symbolic Int, its hint (no guard).
  double to_double() const { return kind_ == Kind::Float ? f_ : static_cast<double>(i_.hint()); }
  /// The value as an Int (a float is truncated).
  Int to_int() const { return kind_ == Kind::Float ? Int(static_cast<std::int64_t>(f_)) : i_; }
  /// The dtype a 0-dim tensor of it would have: float32, int64 or bool.
  DType dtype() const { return kind_ == Kind::Float ? DType::Float32 : kind_ == Kind::Int ? DType::Int64 : DType::Bool; }
  friend bool identical(const Scalar& a, const Scalar& b) {
    return a.kind_ == b.kind_ && (a.kind_ == Kind::Float ? a.f_ == b.f_ && (1 / a.f_ == 1 / b.f_ || a.f_ != 0) : identical(a.i_, b.i_));
  }
  std::string str() const;  ///< round-trips: "2.5", "2", "true", "inf", "nan", "s0 + 1"

 private:
  Kind kind_;
  double f_ = 0;
  Int i_ = 0;
};

}  // namespace reprise
