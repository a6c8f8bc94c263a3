// Int, Bool and Scalar where they are symbolic.
#include "reprise/int.h"

#include <cmath>
#include <cstdio>
#include <ostream>

#include "base/errors.h"
#include "guards/shape_env_impl.h"
#include "reprise/scalar.h"

namespace reprise {

using guards::Expr;
using guards::ExprKind;
using guards::ShapeEnv;

namespace {

ShapeEnv& env_of(Int a, Int b) {
  ShapeEnv& env = (a.expr() ? a.expr() : b.expr())->env();
  REPRISE_CHECK(!a.expr() || !b.expr() || &a.expr()->env() == &b.expr()->env(), "an Int of another trace is used");
  return env;
}

const Expr* make(ExprKind kind, Int a, Int b) {
  ShapeEnv& env = env_of(a, b);
  const Expr* args[] = {env.simplify(env.of(a)), env.simplify(env.of(b))};
  return guards::bounded(env.simplify(env.make(kind, args)));
}

// A symbolic divisor that may be zero in another call is guarded against that.
std::int64_t checked_divisor(Int b) {
  if (b.hint() == 0) fail(ErrorCode::InvalidArgument, "Int", {}, "division by zero: the divisor ", b, b.is_symbolic() ? " is 0 in this call" : "");
  if (Bool not_zero = b != 0; not_zero.is_symbolic()) b.expr()->env().require(not_zero.expr(), {}, "divisor");
  return b.hint();
}

}  // namespace

Int::Int(const Expr* e) noexcept {
  if (e->is_const()) value_ = e->value();
  else expr_ = e;
}

Int Int::add(Int a, Int b) { return Int(make(ExprKind::Add, a, b)); }
Int Int::sub(Int a, Int b) { return a + mul(Int(-1), b); }  // either side may have become a number by now

Int Int::mul(Int a, Int b) {
  if (a.plain(b)) return Int(wrap(u(a) * u(b)));
  return Int(make(ExprKind::Mul, a, b));
}

Int Int::div(Int a, Int b) {
  if (a.plain(b)) return Int(guards::quotient(a.value_, checked_divisor(b)));
  checked_divisor(b);
  return Int(make(ExprKind::Div, a, b));
}

Int Int::mod(Int a, Int b) {
  if (a.plain(b)) return Int(guards::remainder(a.value_, checked_divisor(b)));
  checked_divisor(b);
  return Int(make(ExprKind::Mod, a, b));
}

Int Int::min(Int a, Int b) { return a.plain(b) ? Int(a.value_ < b.value_ ? a : b) : Int(make(ExprKind::Min, a, b)); }
Int Int::max(Int a, Int b) { return a.plain(b) ? Int(a.value_ < b.value_ ? b : a) : Int(make(ExprKind::Max, a, b)); }

std::int64_t Int::pin(SourceLoc loc) const { return expr_->env().pin(expr_, loc, "pinned to a number"); }
std::int64_t Int::hint_slow() const { return expr_->env().evaluate_hint(expr_); }
namespace guards {
namespace {
thread_local int t_show_hints = 0;
}
ShowHints::ShowHints() { ++t_show_hints; }
ShowHints::~ShowHints() { --t_show_hints; }
bool showing_hints() { return t_show_hints > 0; }
}  // namespace guards

std::string Int::str() const { return expr_ && guards::showing_hints() ? std::to_string(hint()) : expr_ ? guards::to_string(expr_) : std::to_string(value_); }
std::ostream& operator<<(std::ostream& s, Int i) { return s << i.str(); }

Bool::Bool(const Expr* e, SourceLoc loc) noexcept : loc_(loc) {
  if (e->is_const()) value_ = e->value() != 0;
  else expr_ = e;
}

bool Bool::decide() const { return expr_->env().decide(expr_, loc_, "branch"); }
bool Bool::hint_slow() const { return expr_->env().evaluate_hint(expr_) != 0; }
bool Bool::known_true() const { return expr_ ? expr_->env().prove(expr_) == std::optional<bool>(true) : value_; }

namespace {
Bool combine(ExprKind kind, Bool a, Bool b, bool absorbing) {
  if (!a.is_symbolic()) return a.hint() == absorbing ? a : b;
  if (!b.is_symbolic()) return b.hint() == absorbing ? b : a;
  REPRISE_CHECK(&a.expr()->env() == &b.expr()->env(), "a Bool of another trace is used");
  const Expr* args[] = {a.expr(), b.expr()};
  return Bool(a.expr()->env().make(kind, args), a.where());
}
}  // namespace

Bool operator&(Bool a, Bool b) { return combine(ExprKind::And, a, b, false); }
Bool operator|(Bool a, Bool b) { return combine(ExprKind::Or, a, b, true); }
Bool operator!(Bool a) {
  if (!a.is_symbolic()) return Bool(!a.hint());
  const Expr* args[] = {a.expr()};
  return Bool(a.expr()->env().make(ExprKind::Not, args), a.where());
}

namespace detail {

namespace {
Bool compare(ExprKind kind, Int a, Int b, SourceLoc loc, bool plain) {
  if (!a.is_symbolic() && !b.is_symbolic()) return Bool(plain);
  return Bool(make(kind, a, b), loc);
}
}  // namespace

Bool compare_eq(Int a, Int b, SourceLoc loc) { return compare(ExprKind::Eq, a, b, loc, !a.is_symbolic() && !b.is_symbolic() && a.hint() == b.hint()); }
Bool compare_lt(Int a, Int b, SourceLoc loc) { return compare(ExprKind::Lt, a, b, loc, !a.is_symbolic() && !b.is_symbolic() && a.hint() < b.hint()); }
Bool compare_le(Int a, Int b, SourceLoc loc) { return compare(ExprKind::Le, a, b, loc, !a.is_symbolic() && !b.is_symbolic() && a.hint() <= b.hint()); }

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
