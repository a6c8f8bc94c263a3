#pragma once
#include "reprise/scalar.h"
#include "reprise/visible.h"

/// Mathematics of numbers that may be symbolic: those of C++ doubles, evaluated in each call (Float in
/// reprise/scalar.h).
namespace reprise REPRISE_VISIBLE {

namespace detail {
inline Float float_of(const Float& v) { return v; }
inline Float float_of(const Scalar& v) { return v.to_float({}); }
template <class T>
requires std::same_as<T, Int> Float float_of(const T& v) { return Float(v, {}); }
}  // namespace detail
/// Of one number.
#define REPRISE_FLOAT_FUNCTION(name, op, ...)                                   \
  template <class T>                                                            \
  requires detail::OneOf<T, __VA_ARGS__> Float name(const T& v) {               \
    return detail::float_op(detail::FloatOp::op, detail::float_of(v), Float()); \
  }
REPRISE_FLOAT_FUNCTION(sqrt, Sqrt, Float, Scalar, Int)
REPRISE_FLOAT_FUNCTION(exp, Exp, Float, Scalar, Int)
REPRISE_FLOAT_FUNCTION(log, Log, Float, Scalar, Int)
REPRISE_FLOAT_FUNCTION(abs, Abs, Float, Scalar)
REPRISE_FLOAT_FUNCTION(floor, Floor, Float, Scalar)
REPRISE_FLOAT_FUNCTION(ceil, Ceil, Float, Scalar)
#undef REPRISE_FLOAT_FUNCTION
/// Of two. min and max give b where a is no number.
template <class A, class B>
requires detail::FloatPair<A, B> Float pow(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Pow, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar pow(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Pow, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Float min(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Min, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar min(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Min, a, b);
}
template <class A, class B>
requires detail::FloatPair<A, B> Float max(const A& a, const B& b) {
  return detail::float_op(detail::FloatOp::Max, Float(a), Float(b));
}
template <class A, class B>
requires detail::ScalarPair<A, B> Scalar max(const A& a, const B& b) {
  return detail::scalar_op(detail::FloatOp::Max, a, b);
}

}  // namespace REPRISE_VISIBLE
