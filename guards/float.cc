// Floats and Scalars: plain and symbolic.
#include <cmath>
#include <cstdio>
#include <ostream>

#include "base/errors.h"
#include "guards/float_math.h"
#include "guards/shape_env_impl.h"
#include "reprise/scalar.h"

namespace reprise {

using guards::Expr;
using guards::ExprKind;
using guards::ShapeEnv;

namespace {

ExprKind kind_of(detail::FloatOp op) {
  using Op = detail::FloatOp;
  switch (op) {
    case Op::Add: return ExprKind::FAdd;
    case Op::Sub: return ExprKind::FSub;
    case Op::Mul: return ExprKind::FMul;
    case Op::Div: return ExprKind::FDiv;
    case Op::Pow: return ExprKind::FPow;
    case Op::Min: return ExprKind::FMin;
    case Op::Max: return ExprKind::FMax;
    case Op::Sqrt: return ExprKind::FSqrt;
    case Op::Exp: return ExprKind::FExp;
    case Op::Log: return ExprKind::FLog;
    case Op::Abs: return ExprKind::FAbs;
    case Op::Floor: return ExprKind::FFloor;
    case Op::Ceil: return ExprKind::FCeil;
  }
  return ExprKind::Real;
}

ExprKind kind_of(detail::FloatCompare c) {
  return c == detail::FloatCompare::Less     ? ExprKind::FLt
         : c == detail::FloatCompare::AtMost ? ExprKind::FLe
                                             : ExprKind::FEq;
}

/// The environment of what is symbolic among them.
ShapeEnv& env_of(Int a, Int b) {
  const Expr *x = a.living(), *y = b.living();
  if (x && y && &x->env() != &y->env())
    fail(ErrorCode::InvalidArgument, "Float", {},
         "two of different traces meet: a compiled function has left one of them in a variable of its surroundings, "
         "which another call reads");
  return (x ? x : y)->env();
}

const Expr* make(ExprKind kind, Int a, Int b) {
  ShapeEnv& env = env_of(a, b);
  const Expr* args[] = {env.simplify(env.of(a)), env.simplify(env.of(b))};
  return guards::bounded(env.simplify(env.make(
      kind, std::span<const Expr* const>(args, static_cast<std::size_t>(guards::float_kind(kind)->operands)))));
}

bool is_integer(const Scalar& s) { return !s.is_float(); }
SourceLoc either(const Float& a, const Float& b) { return a.where() ? a.where() : b.where(); }

}  // namespace

Float::Float(Int v, SourceLoc loc) {
  if (v.is_symbolic()) *this = of_bits(Int(make(ExprKind::Real, v, v)), loc);
  else f_ = static_cast<double>(v.hint());
}

std::string Float::str() const { return Scalar(*this).str(); }
std::ostream& operator<<(std::ostream& s, const Float& f) { return s << f.str(); }

namespace detail {

Float float_op(FloatOp op, const Float& a, const Float& b) {
  const Int x = a.bits(), y = b.bits();
  if (!a.is_symbolic() && !b.is_symbolic())
    return Float::of_bits(guards::float_value(kind_of(op), x.hint(), y.hint()), {});
  return Float::of_bits(Int(make(kind_of(op), x, y)), either(a, b));
}

Bool float_compare(FloatCompare c, const Float& a, const Float& b, SourceLoc loc) {
  const Int x = a.bits(), y = b.bits();
  if (!a.is_symbolic() && !b.is_symbolic()) return Bool(guards::float_value(kind_of(c), x.hint(), y.hint()) != 0);
  return Bool(make(kind_of(c), x, y), loc ? loc : either(a, b));
}

Scalar scalar_op(FloatOp op, const Scalar& a, const Scalar& b) {
  if (is_integer(a) && is_integer(b)) {
    const Int x = a.word(), y = b.word();
    switch (op) {
      case FloatOp::Add: return x + y;
      case FloatOp::Sub: return x - y;
      case FloatOp::Mul: return x * y;
      case FloatOp::Min: return Int::min(x, y);
      case FloatOp::Max: return Int::max(x, y);
      default: break;
    }
  }
  return float_op(op, a.to_float({}), b.to_float({}));
}

Bool scalar_compare(FloatCompare c, const Scalar& a, const Scalar& b, SourceLoc loc) {
  if (!is_integer(a) || !is_integer(b)) return float_compare(c, a.to_float({}), b.to_float({}), loc);
  const Int x = a.word(), y = b.word();
  return c == FloatCompare::Less     ? compare_lt(x, y, loc)
         : c == FloatCompare::AtMost ? compare_le(x, y, loc)
                                     : compare_eq(x, y, loc);
}

}  // namespace detail

std::string Scalar::str() const {
  if (kind_ == Kind::Bool) return i_.hint() ? "true" : "false";
  if (kind_ == Kind::Int) return i_.str();
  if (is_symbolic()) return guards::showing_hints() ? with_word(i_.hint()).str() : "float(" + i_.str() + ")";
  if (std::isnan(f_)) return "nan";
  if (std::isinf(f_)) return f_ > 0 ? "inf" : "-inf";
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {  // the shortest that reads back as the same number
    std::snprintf(text, sizeof text, "%.*g", digits, f_);
    if (std::strtod(text, nullptr) == f_) break;
  }
  std::string s = text;
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

}  // namespace reprise
